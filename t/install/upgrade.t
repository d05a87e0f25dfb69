# "Upgrade without losing a request": the schema is installed, which drops and
# makes every function, while requests are served.  The running module works
# with functions that have more arguments and columns than it knows.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

# statements wait while the schema is installed, longer on a busy machine
my $g = Guildlog->new(workers => 2, api => 'guildlog_limit off;',
    keeper => 'on interval=20ms',
    database => { timeout => '60s', queue_timeout => '60s' });
my $server = $g->server;
my %as = (token => $g->token($server));
my $at = "/servers/$server";
my $done = $g->prefix . '/done';


sub install {
    my ($user, $password) = @_;

    local $ENV{PGPASSWORD} = $password || 'owner';
    return system('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o',
        '/dev/null', '-h', $g->cluster->socket_dir, '-p', $g->cluster->port,
        '-U', $user || 'guildlog_owner', '-d', $g->dbname, '-f',
        "$Guildlog::TOP/sql/install.sql") == 0;
}


my @work = (
    sub { $g->get($at, %as) },
    sub { $g->get("$at/config", %as) },
    sub { $g->patch("$at/config/settings", %as, json =>
        { locale => rand() < 0.5 ? 'de' : 'fr' }) },
    sub { $g->get("$at/logs?limit=20", %as) },
    sub { $g->get("$at/logs?search=word", %as) },
    sub { $g->get("$at/logs/export?type=7", %as) },
    sub { $g->operator('POST', "$at/logs", [map { { type => 5,
        event_id => rand() . $$, content => 'a word' } } 1 .. 5]) },
    sub { $g->operator('GET', "$at/undelivered?limit=10") },
);
$g->operator('POST', "$at/logs", [map { { type => 7, event_id => "e$_" } }
    1 .. 100]);


# sends requests until it is told to stop; each writes one byte to a file
sub client {
    my ($i) = @_;

    my %seen;
    open my $did, '>>:unix', $g->prefix . "/client.$i" or die $!;
    until (-e $done) {
        my $answer = eval { $work[$i - 1]->() };
        $seen{$answer ? $answer->status : 'lost'}++;
        print {$did} '.';
    }
    return \%seen;
}


sub did { return map { -s $g->prefix . "/client.$_" // 0 } 1 .. @work }


# after each client has answered once more, no request of before is running
sub some_work {
    my @before = did();
    wait_for { my @now = did();
        !grep { $now[$_] < $before[$_] + 3 } 0 .. $#now } 60;
}


defined(my $installer = fork) or die "fork: $!";
if (!$installer) {
    my $ok = eval {
        some_work();
        for (1 .. 3) {
            install() or die 'it failed';
            some_work();
        }
        1;
    };
    $g->file('done', '');
    POSIX::_exit(!$ok);
}

my @seen = at_once(scalar @work, \&client);
waitpid $installer, 0;
is $?, 0, 'the schema was installed three times';
is_deeply [map { join ' ', sort keys %$_ } @seen],
    [map { $_ == 2 ? 202 : 200 } 0 .. $#work],
    'every request was answered' or diag explain \@seen;


# An installation that is nearly done holds no lock that a request waits for,
# whoever installs.  The comment on this table is among the last of what it does.

for my $who (['guildlog_owner', 'owner'],
    ['postgres', $g->cluster->password])
{
    my $other = $g->cluster->connect($g->dbname);
    $other->begin_work;
    $other->do('lock table keeper in share update exclusive mode');
    defined($installer = fork) or die "fork: $!";
    POSIX::_exit(!install(@$who)) if !$installer;
    wait_for { $g->sql(<<'SQL') } 60;
        select count(*) from pg_stat_activity
         where wait_event_type = 'Lock'
           and query like 'comment on table keeper%'
SQL
    is_deeply [map { $_->()->status } @work],
        [map { $_ == 2 ? 202 : 200 } 0 .. $#work],
        "requests wait for nothing that $who->[0] has changed";
    $other->commit;
    waitpid $installer, 0;
    is $?, 0, "$who->[0] installed the schema once more";
}


# the schema of a later version

$g->sql('begin');
$g->sql('drop function guildlog.server_get');
$g->sql(<<'SQL');
    create function guildlog.server_get(token text, guild bigint,
        bot smallint, kind smallint, what text default 'new',
        out more int, out status int, out body text)
    language plpgsql security definer set search_path = guildlog, pg_temp
    as $$ begin
        status := 200;
        body := json_build_object('what', what);
    end $$
SQL
$g->sql('grant execute on function guildlog.server_get to guildlog');
$g->sql('commit');
my @answers = map { $g->get($at, %as) } 1 .. 10;
is_deeply [map { $_->text } @answers], [('{"what" : "new"}') x 10],
    'the module works with a function that has more arguments and columns';

done_testing;
