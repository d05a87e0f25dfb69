# "No request waits for a migration": a release that adds a column, makes an index
# of all entries, changes a function and takes a column away is installed while
# requests are served, and while somebody reads a table for long.  Each answer is
# right at each moment.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;
use Guildlog::Days;
use Guildlog::File;
use Time::HiRes qw(time);

my $entries = $ENV{GUILDLOG_ENTRIES} || 20_000;

my $g = Guildlog->new(workers => 2, api => 'guildlog_limit off;',
    keeper => 'on interval=20ms',
    database => { timeout => '60s', queue_timeout => '60s' });
my $server = $g->server;
my %as   = (token => $g->token($server), connect => { timeout => 90 });
my $at   = "/servers/$server";
my $done = $g->prefix . '/done';
my $tree = $g->prefix . '/sql';
my $said = $g->prefix . '/said';
my $keys = '(guild_id, md5(doc))';


# The release before has a column that this one gives another name.  So it is
# there twice for a while.

system('cp', '-r', "$Guildlog::TOP/sql", $tree) == 0 or die 'cp';
chmod 0755, $tree;


# a migration that stands behind a line of install.sql
sub migration {
    my ($name, $behind, $text) = @_;

    $g->file("sql/migrations/$name.sql", $text);
    change('install.sql', qr/(?<=^$behind\n)/m,
        "\\set migration $name\n\\ir migrate.sql\n");
}


# replaces something in a file of the copy
sub change {
    my ($file, $from, $to) = @_;

    my $text = slurp("$tree/$file");
    $text =~ s/$from/$to/ or die "$file: $from";
    $g->file("sql/$file", $text);
}


# installs what is in the copy: is it well?
sub install {
    local $ENV{PGPASSWORD} = 'owner';
    return system('sh', '-c', 'out=$1; shift; exec "$@" > "$out" 2>&1', 'sh',
        $said, 'psql', '-X', '-q', '-v', 'operator=guildlog', '-v',
        'worker=guildlog', '-h', $g->cluster->socket_dir, '-p',
        $g->cluster->port, '-U', 'guildlog_owner', '-d', $g->dbname, '-f',
        "$tree/install.sql") == 0;
}


sub place {
    my ($column) = @_;

    return <<"SQL";
create or replace function server_get(token text, guild bigint, bot smallint,
    kind smallint, out status int, out body text)
language plpgsql stable security definer set search_path = guildlog, pg_temp
as \$\$
begin
    select 200, json_build_object('place', s.$column) into status, body
      from server s where s.guild_id = guild;
end \$\$;
SQL
}


my $adds  = quotemeta '-- what they leave. See "How to add something" in README.md.';
my $takes = quotemeta '\set whole off';

migration('9001_place', $adds, <<'SQL');
\set tables '{server}'
\ir ../lock.sql
alter table server add column place text not null default 'here';
SQL
$g->file('sql/functions/place.sql', place('place'));
change('install.sql', qr/^(?=\\ir comments\.sql)/m,
    "\\ir functions/place.sql\n");
ok install(), 'a release is installed';
is $g->get($at, %as)->text, '{"place" : "here"}', 'and is there';

migration('9004_index', $adds, <<"SQL");
\\set index server_site
\\set table server
\\set keys '(site)'
\\ir ../index.sql
SQL
migration('9003_index', $adds, <<"SQL");
\\set index log_entry_doc
\\set table log_entry
\\set keys '$keys'
\\ir ../index.sql
SQL
migration('9002_site', $adds, <<'SQL');
\set tables '{server,log_entry}'
\ir ../lock.sql
alter table server add column site text not null default 'here';
alter table log_entry add column mark smallint;
SQL
migration('9005_place', $takes, <<'SQL');
\set tables '{server}'
\ir ../lock.sql
alter table server drop column place;
SQL
$g->file('sql/functions/place.sql', place('site'));


# entries of the last three weeks, one partition a day

month($g);
$g->sql(<<'SQL', $entries, $server);
    insert into log_entry (guild_id, id, arrival, bot, type, executor_id, doc)
    select s.guild, time_id(ms(now()) - (i * (21 * 86400000.0 / n))::bigint), i,
           0, 7, 500 + i % 100, '{"content":"' || i || '"'
      from (select ?::bigint as n, ?::bigint as s) x (n, s),
           lateral (select s + 1 as guild) s, generate_series(1, n) i
SQL

# what an installation that was cut off has left

my $part = $g->sql("select relid from pg_partition_tree('log_entry')
    where isleaf limit 1");
$g->sql("create index log_entry_doc on only log_entry $keys");
$g->sql("create index ${part}_log_entry_doc on $part (id)");


# the load

$g->operator('POST', "$at/logs", [map { { type => 7, event_id => "e$_" } }
    1 .. 100]);
my @work = (
    sub { $g->get($at, %as) },
    sub { $g->patch("$at/config/settings", %as,
        json => { locale => rand() < 0.5 ? 'de' : 'fr' }) },
    sub { $g->get("$at/logs?limit=20", %as) },
    sub { $g->get("$at/logs?search=word", %as) },
    sub { $g->get("$at/logs/export?type=7", %as) },
    sub { $g->operator('POST', "$at/logs", [map { { type => 5,
        event_id => rand() . $$, content => 'a word' } } 1 .. 5]) },
);


# sends requests until it is told to stop, and writes a byte to a file for each.
# What they said, and the longest time that one took
sub client {
    my ($i) = @_;

    my (%seen, $longest);
    open my $did, '>>:unix', $g->prefix . "/client.$i" or die $!;
    until (-e $done) {
        my $from   = time;
        my $answer = eval { $work[$i - 1]->() };
        my $took   = time - $from;
        $longest = $took if $took > ($longest // 0);
        $seen{!$answer ? 'lost' : $i == 1 ? $answer->text : $answer->status}++;
        print {$did} '.';
    }
    return [$longest, sort keys %seen];
}


sub did { return map { -s $g->prefix . "/client.$_" // 0 } 1 .. @work }


# after each client has answered some more, no request of before is running
sub some_work {
    my @before = did();
    wait_for { my @now = did();
        !grep { $now[$_] < $before[$_] + 3 } 0 .. $#now } 60;
}


sub migrated {
    return scalar $g->sql('select count(*) from schema_version
        where version = ?', @_);
}


defined(my $installer = fork) or die "fork: $!";
if (!$installer) {
    my $ok = eval {
        some_work();

        # as pg_dump does
        my $reader = $g->cluster->connect($g->dbname);
        $reader->begin_work;
        $reader->do('select from server, log_entry limit 1');

        defined(my $pid = fork) or die "fork: $!";
        POSIX::_exit(!install()) if !$pid;
        wait_for { $g->sql("select count(*) from pg_locks
            where relation = 'server'::regclass
              and mode = 'ShareUpdateExclusiveLock'") } 60, 'it has begun';
        my $queued = 0;
        wait_for {
            $queued += $g->sql("select count(*) from pg_locks
                where locktype = 'relation' and not granted and mode in (
                      'AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
                  and database = (select oid from pg_database
                                   where datname = current_database())");
            -s $said;
        } 60, 'it says that it waits';
        some_work();
        die 'others waited with it' if $queued;
        die 'it did not wait' if migrated(9002);

        $reader->commit;
        waitpid $pid, 0;
        die 'it failed' if $?;
        some_work();
        1;
    };
    diag $@ if !$ok;
    $g->file('done', '');
    POSIX::_exit(!$ok);
}

my @seen = at_once(scalar @work, \&client);
waitpid $installer, 0;
is $?, 0, 'requests are answered while a migration waits, then it is done';
like slurp($said), qr/process \d+ \(.*\), since .* has a table that is to be/,
    'it said for whom it waited';
is_deeply [map { join ' ', @$_[1 .. $#$_] } @seen],
    ['{"place" : "here"}', 202, (200) x 4], 'every answer was right'
    or diag explain \@seen;

is_deeply [map { @$_ } $g->sql(q(select attname from pg_attribute
    where attrelid = 'server'::regclass and attname in ('place', 'site')))],
    ['site'], 'the column has its new name';
is $g->sql(q(select count(*) from pg_index x
      join pg_class c on c.oid = x.indexrelid
     where c.relname in ('log_entry_doc', 'server_site') and x.indisvalid)), 2,
    'the indexes are there';
is $g->sql(q(select count(*) from pg_partition_tree('log_entry') p
    where p.isleaf and not exists (select from pg_index x
        join pg_inherits h on h.inhrelid = x.indexrelid
       where x.indrelid = p.relid and x.indisvalid
         and h.inhparent = 'log_entry_doc'::regclass))), 0,
    'each partition has its own';

# how long whoever writes would have waited

if ($entries >= 1_000_000) {
    my $from = time;
    $g->sql("create index on log_entry $keys");
    my $took = time - $from;
    my ($longest) = sort { $b <=> $a } map { $_->[0] } @seen;
    diag sprintf 'the longest request took %.2f s, the index %.2f s', $longest,
        $took;
    ok $longest < $took / 2, 'no request waited as long as an index takes';
}

done_testing;
