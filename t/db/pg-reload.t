# A reload under load loses no request.  No old worker stays when its requests
# end.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;
use FakePostgres;
use Time::HiRes qw(time sleep);

my $nginx = Guildlog->new(workers => 2, http => 'guildlog_limit off;');
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $stop = $nginx->prefix . '/stop';


# memory of the master process, KB
sub rss {
    open my $in, '<', '/proc/' . $nginx->pid . '/status' or return 0;
    return (map { /^VmRSS:\s+(\d+)/ } <$in>)[0];
}


defined(my $reloader = fork) or die "fork: $!";
if (!$reloader) {
    for (1 .. 50) {
        $nginx->signal('HUP');
        sleep 0.1;
    }
    $nginx->file('stop', '');
    POSIX::_exit(0);
}

my %count;
for my $one (at_once(6, sub {
    my %seen;
    until (-e $stop) {
        my $answer = eval { $nginx->get("/servers/$server", %as,
            headers => [Connection => 'close']) };
        $seen{$answer ? $answer->status : 'lost'}++;
    }
    return \%seen;
})) {
    $count{$_} += $one->{$_} for keys %$one;
}
waitpid $reloader, 0;

is_deeply [keys %count], [200], 'fifty reloads: every request is answered'
    or diag explain \%count;
cmp_ok $count{200}, '>', 5, 'and there were many';
wait_for { $nginx->workers == 2 } 60, 'the old workers exit';
pass 'the old workers exit';
wait_for {
    $nginx->sql("select count(*) from pg_stat_activity
        where datname = current_database() and application_name = 'guildlog'")
        <= 12;
};
pass 'their connections end';

my $before = rss();
for (1 .. 10) {
    $nginx->reload;
}
cmp_ok rss() - $before, '<', 8000, "the master's memory does not grow";


# a running request keeps its worker until it is answered

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        $peer->outlast('slow');
        return { body => '{"answer":1}' };
    });
}, mode => 'slow');
my $slow = $fake->nginx(name => 'slow',
    database => { connections => 1, depth => 1, queue_timeout => '10s' });

my $running = $fake->ask($slow, 'PATCH');
wait_for { $fake->count('execute') == 1 };
my $queued = $fake->ask($slow, 'PATCH');
wait_for {
    $slow->get('/status', raw_path => 1)->json->{database_queued} == 1
};
my ($old) = $slow->workers;
$slow->reload(nowait => 1);
wait_for { my ($new) = grep { $_ != $old } $slow->workers; $new };
sleep 0.2;
ok kill(0, $old), 'the old worker waits';
$fake->mode('fast');
is $running->response->text, '{"answer":1}', 'its running request is answered';
is $queued->response->text, '{"answer":1}', 'and the one that was queued';
wait_for { !grep { $_ == $old } $slow->workers };
pass 'then the old worker exits';


# a database that hangs delays a worker for worker_shutdown_timeout at most

my $hanging = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->hang if $peer->mode eq 'startup';
    $peer->welcome;
    $peer->serve(execute => sub { $peer->hang });
});

for my $at ('execute', 'startup') {
    $hanging->mode($at);
    my $stuck = $hanging->nginx(name => "stuck-$at",
        main => 'worker_shutdown_timeout 500ms;',
        database => { timeout => '60s', connect_timeout => '60s',
            queue_timeout => '60s' });
    my $hangs = $hanging->count('hang');
    my @client = map { $hanging->ask($stuck, $_) } qw(PATCH GET);
    wait_for { $hanging->count('hang') > $hangs };
    my ($old) = $stuck->workers;
    my $start = time;
    $stuck->reload(nowait => 1);
    wait_for { !grep { $_ == $old } $stuck->workers } 60,
        'the old worker exits';
    cmp_ok time - $start, '<', 30, "a hanging $at holds no worker";
    for my $answer (map { scalar $_->response } @client) {
        is $answer && $answer->status, 503, 'its requests are answered';
        ok $answer && $answer->json->{error} && $answer->header('Retry-After'),
            '... with an error, and when to try again';
    }
}

# it delays neither a fast shutdown nor nginx without a master

for my $master (1, 0) {
    $hanging->mode('execute');
    my $stuck = $hanging->nginx(name => "term-$master",
        master_process => $master,
        database => { timeout => '60s', queue_timeout => '60s' });
    my $hangs = $hanging->count('hang');
    my @client = map { $hanging->ask($stuck, $_) } qw(PATCH GET);
    wait_for { $hanging->count('hang') > $hangs };
    my $start = time;
    $stuck->stop('TERM');
    cmp_ok time - $start, '<', 30, "TERM, master_process $master: it ends";
}

done_testing;
