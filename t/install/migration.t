# "No request waits for a migration": a release that adds columns, makes an index
# of all blocks and one of what arrived, changes a function and takes a column away
# is installed while requests are served, blocks are made, and somebody reads a
# table for long.  Each answer is right at each moment.

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
my %as   = (token => $g->token($server));
my $at   = "/servers/$server";
my $done = $g->prefix . '/done';
my $tree = $g->prefix . '/sql';
my $said = $g->prefix . '/said';


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
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as \$\$
begin
    return (select row(200, json_build_object('place', s.$column))::answer
              from server s where s.guild_id = guild);
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

migration('9005_index', $adds, <<"SQL");
\\set index server_site
\\set table server
\\set keys '(site)'
\\ir ../index.sql
SQL
migration('9004_arrivals', $adds, <<'SQL');
\set index log_arrival_doc
\set table log_arrival
\set keys '(guild_id, md5(doc))'
\ir ../index.sql
SQL
migration('9003_blocks', $adds, <<'SQL');
\set index log_block_docs
\set table log_block
\set keys '(guild_id, md5(docs))'
\ir ../index.sql
SQL
migration('9002_site', $adds, <<'SQL');
\set tables '{server,log_arrival,log_block}'
\ir ../lock.sql
alter table server add column site text not null default 'here';
alter table log_arrival add column mark smallint;
alter table log_block add column mark smallint;
SQL
migration('9006_place', $takes, <<'SQL');
\set tables '{server}'
\ir ../lock.sql
alter table server drop column place;
SQL
$g->file('sql/functions/place.sql', place('site'));


# entries of the last three weeks in blocks, and those of the last three days as
# they arrived, one partition a day

past($g, 3);
$g->sql(<<'SQL', $server, $entries);
    insert into log_block (guild_id, first_id, last_id, kinds0, kinds1, day,
                           bot, n, lost, types, ids, said, docs)
    select ?::bigint + 1, min(e.id), max(e.id), kinds_low(7),
           kinds_high(7), e.day, 0, count(*), false,
           repeat(chr(33), count(*)::int), array_agg(e.id order by e.id),
           string_agg('0 roff', e'\n'),
           string_agg('{"id":"' || e.id || '","type":7,"timestamp":'
                      || id_time(e.id) || ',"content":"' || repeat(
                      md5(e.id::text), 8) || '"', e'\n' order by e.id)
      from (select x.id, day_of(x.id) as day, row_number() over (
                       partition by day_of(x.id) order by x.id) / 64 as part
              from (select time_id(ms(now()) - (i * (21 * 86400000.0 / n)
                               )::bigint) as id
                      from (select ?::bigint) x (n), generate_series(1, n) i
                   ) x) e
     group by e.day, e.part
SQL
$g->sql(<<'SQL', $server);
    insert into log_arrival (guild_id, arrival, recorded_at, id, bot, type,
                             dstatus, dreason, event_id, doc)
    select s + 1, row_number() over (order by k.first_id, u.id),
           to_timestamp(id_time(u.id) / 1000.0), u.id, 0, 7, 0, 'off', u.id,
           u.doc
      from (select ?::bigint) x (s)
      join log_block k on k.guild_id = s + 1
     cross join lateral unnest(k.ids, string_to_array(k.docs, e'\n')) u (id, doc)
     where u.id >= day_low(day_now() - 3)
SQL

# what an installation that was cut off has left

my $part = $g->sql("select relid from pg_partition_tree('log_arrival')
    where isleaf order by relid::regclass::text limit 1");
$g->sql('create index log_arrival_doc on only log_arrival (guild_id, md5(doc))');
$g->sql("create index ${part}_log_arrival_doc on $part (id)");


# the load

$g->operator('POST', "$at/logs", [map { { type => 7, event_id => "e$_" } }
    1 .. 100]);
$g->blocks($server);
my $blocks = $g->sql('select count(*) from log_block where guild_id = ?', $server);
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
        $reader->do('select from server, log_arrival, log_block limit 1');

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
     where c.relname in ('log_arrival_doc', 'log_block_docs', 'server_site')
       and x.indisvalid)), 3,
    'the indexes are there';
is $g->sql(q(select count(*) from pg_partition_tree('log_arrival') p
    where p.isleaf and not exists (select from pg_index x
        join pg_inherits h on h.inhrelid = x.indexrelid
       where x.indrelid = p.relid and x.indisvalid
         and h.inhparent = 'log_arrival_doc'::regclass))), 0,
    'each partition has its own';

is $g->sql('select count(*) from keeper where errors > 0'), 0, 'no task failed'
    or diag explain [$g->sql('select * from keeper')];
cmp_ok $g->sql('select count(*) from log_block where guild_id = ?', $server),
    '>', $blocks, 'blocks were made meanwhile';
is join("\n", map { "@$_" } $g->sql('select * from guildlog.check(?)', $server)),
    '', 'all fits';

# how long whoever writes would have waited

if ($entries >= 1_000_000) {
    my $from = time;
    $g->sql('create index on log_block (guild_id, md5(docs))');
    my $took = time - $from;
    my ($longest) = sort { $b <=> $a } map { $_->[0] } @seen;
    diag sprintf 'the longest request took %.2f s, the index %.2f s', $longest,
        $took;
    cmp_ok $longest, '<', 1, 'no request took a second';
}

done_testing;
