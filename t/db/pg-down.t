# PostgreSQL restarts: requests that read are still answered.  PostgreSQL is
# down: requests wait for it for their time in the queue; after some failures
# they are refused at once.  As soon as it is back it is used.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;
use Time::HiRes qw(time sleep);

my $cluster = Guildlog::Cluster->new;
my $nginx = Guildlog->new(cluster => $cluster,
    http => 'guildlog_limit off;',
    database => { queue_timeout => '60s', timeout => '30s' });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));


sub counter {
    my ($name) = @_;
    return $nginx->get('/status', raw_path => 1)->json->{"database_$name"};
}


# seconds and status of one request
sub timed {
    my $start = time;
    my $status = $nginx->get("/servers/$server", %as)->status;
    return (time - $start, $status);
}


# restart under load

my $stop = $nginx->prefix . '/stop';
my $outages = 3;    # the restart in a read, the killed backend, the stop


# the number of answers by status, and the seconds that the longest one took
sub restart {
    my ($mode) = @_;

    $outages++;
    unlink $stop;
    defined(my $restart = fork) or die "fork: $!";
    if (!$restart) {
        sleep 0.5;
        $cluster->stop($mode);
        $cluster->start;
        sleep 0.5;
        $nginx->file('stop', '');
        POSIX::_exit(0);
    }

    my %count;
    my $longest = 0;
    for my $one (at_once(8, sub {
        my %seen;
        my $most = 0;
        until (-e $stop) {
            my ($took, $status) = timed();
            $seen{$status}++;
            $most = $took if $took > $most;
        }
        return [\%seen, $most];
    })) {
        my ($seen, $most) = @$one;
        $count{$_} += $seen->{$_} for keys %$seen;
        $longest = $most if $most > $longest;
    }
    waitpid $restart, 0;
    return (\%count, $longest);
}


for my $mode ('fast', 'immediate') {
    my ($count, $longest);

    # where nginx had no connection for 2 s, as on a slow machine, requests are
    # refused, but those before them have waited for as long
    for (1 .. 3) {
        ($count, $longest) = restart($mode);
        last if $longest < 1.5;
    }
    cmp_ok $count->{200}, '>', 10, "$mode restart: requests are served";
    delete $count->{503} if $longest >= 1.5;
    is_deeply [keys %$count], [200], "$mode restart: every read is answered";
}

cmp_ok counter('lost_total'), '>', 0, 'connections were lost';


# the server stops in the middle of a read

{
    my $lock = $cluster->connect($nginx->dbname);
    $lock->{InactiveDestroy} = 1;   # it ends with the server
    $lock->begin_work;
    $lock->do('lock table server in access exclusive mode');

    my $retries = counter('retries_total');
    my $client  = $nginx->connection;
    $client->send("GET /api/servers/$server HTTP/1.1\r\nHost: localhost\r\n"
        . "Authorization: Bearer $as{token}\r\n\r\n");
    wait_for { $nginx->waiting('server_get') } 30, 'the read waits';
    delete $nginx->{dbh};
    $cluster->stop('immediate');
    $cluster->start;
    is $client->response->status, 200, 'a read is answered after a restart';
    is counter('retries_total'), $retries + 1,
        'the statement was sent once more';
}


# a backend is killed: the server restarts all backends

my ($backend) = map { @$_ } $nginx->sql(
    "select pid from pg_stat_activity where application_name = 'guildlog'
     and usename = 'guildlog' limit 1");
kill 'KILL', $backend;
is((timed())[1], 200, 'after kill -9 of a backend a read is answered');
delete $nginx->{dbh};


# the server is down

$nginx->configure(database => { queue_timeout => '30s' });
$nginx->reload;
$cluster->stop('fast');
wait_for { (timed())[0] < 15 } 60, 'requests do not wait any more';

my ($took, $status) = timed();
is $status, 503, 'a request is refused';
cmp_ok $took, '<', 15, '... before its time in the queue';
is $nginx->get('/status', raw_path => 1)->status, 200,
    'the status page is served';

my ($from, $before) = (time, counter('connect_failures_total'));
wait_for { counter('connect_failures_total') >= $before + 4 } 60, 'probes';
cmp_ok time - $from, '>', 1, 'nginx tries to connect about once a second';

my @errors = grep { /\[error\].*connect failed/ } split /\n/,
    $nginx->error_log;
cmp_ok scalar @errors, '<=', $outages, 'the log has a line for each outage';

$cluster->start;
wait_for { (timed())[1] == 200 } 60, 'requests are served again';
pass 'the server is used again';

wait_for { counter('queued') == 0 && counter('busy') == 0 };
is counter('queued'), 0, 'nothing is left in the queue';

done_testing;
