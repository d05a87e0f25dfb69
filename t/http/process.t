# A worker that dies is replaced and takes only its own requests along; a
# reload and a binary upgrade lose none; other processes of nginx, a full
# table of connections and a server without a master do no harm.

use lib 't/lib';
use Guildlog;

my ($server, $token, $at);


sub make {
    my (%option) = @_;

    my $nginx = Guildlog->new(%option);
    $server = $nginx->server;
    $token  = $nginx->token($server);
    $at     = "/servers/$server";
    return $nginx;
}


sub served {
    my ($nginx, $what) = @_;
    is $nginx->get($at, token => $token)->status, 200, $what;
}


sub sessions {
    my ($nginx) = @_;
    return $nginx->sql('select count(*) from pg_stat_activity'
        . " where usename = 'guildlog' and datname = current_database()");
}


# a worker is killed

{
    my $nginx = make(name => 'killed', workers => 2, listen => 'reuseport',
        http => 'guildlog_limit off;', allow => [qr/exited on signal 9/],
        database => { connections => 4, queue_timeout => '30s' });
    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('lock table server in access exclusive mode');

    # requests in both of them: one alone gives a server two connections
    my @clients;
    wait_for {
        push @clients, my $client = $nginx->connection;
        $client->send("GET /api$at HTTP/1.1\r\nHost: localhost\r\n"
            . "Authorization: Bearer $token\r\n\r\n");
        $nginx->waiting('server_get') > 2;
    } 20, 'both work';

    my @before = $nginx->workers;
    $nginx->signal('KILL', $before[0]);
    wait_for { my @now = $nginx->workers; @now == 2 && "@now" ne "@before" };
    $lock->rollback;
    $lock->disconnect;

    my %end;
    for my $client (@clients) {
        my $answer = eval { $client->response };
        $end{$answer ? $answer->status : 'reset'}++;
    }
    is join(' ', sort keys %end), '200 reset',
        'its requests end, those of the other are answered';
    is $end{200} + $end{reset}, scalar @clients, '... all of them';
    served $nginx, 'the next ones are served' for 1 .. 8;

    ok eval { wait_for {
        my $status = $nginx->get('/status', raw_path => 1)->json;
        $status->{database_busy} == 0
            && $status->{database_connections} == sessions($nginx);
    } 30 }, 'the dead hold no connection';

    $nginx->signal('KILL', $nginx->workers);
    wait_for { $nginx->workers == 2 };
    ok wait_for { eval { $nginx->get($at, token => $token)->status == 200 } },
        'all of them may be killed';
    ok wait_for { sessions($nginx) <= 8 },
        'what the dead had open at the database goes, too';
}


# a request meets a reload

{
    my $nginx = make(name => 'reloaded', workers => 2);
    my $body  = '{"tag_name":"a","content":"b"}';
    my $slow  = $nginx->connection;

    $slow->send("POST /api$at/tags HTTP/1.1\r\nHost: localhost\r\n"
        . "Authorization: Bearer $token\r\nContent-Type: application/json\r\n"
        . 'Content-Length: ' . length($body) . "\r\n\r\n"
        . substr $body, 0, 9);
    served $nginx, 'before';

    my %old = map { $_ => 1 } $nginx->workers;
    $nginx->configure(api => 'add_header X-New 1;');
    $nginx->reload(nowait => 1);
    wait_for {
        eval { $nginx->get($at, token => $token)->header('X-New') };
    } 30, 'the new workers serve';

    $slow->send(substr $body, 9);
    is $slow->response->status, 201, 'its body comes to the old worker';
    $slow->close;
    ok wait_for { !grep { $old{$_} } $nginx->workers }, 'which goes then';
    is $nginx->sql('select count(*) from tag'), 1, 'it was done once';

    # a configuration with a mistake changes nothing
    $nginx->configure(api => 'guildlog_max_body nonsense;');
    $nginx->reload(nowait => 1);
    ok wait_for { $nginx->error_log =~ /invalid value/ },
        'a mistake is told to the log';
    served $nginx, '... and the old configuration serves on';
    $nginx->{option}{allow} = [qr/"guildlog_max_body" directive invalid/];
}


# a new binary takes over

{
    my $nginx = make(name => 'upgraded', workers => 1, start => 1);
    my ($good, $bad) = (0, 0);
    my $pid_file = $nginx->prefix . '/nginx.pid';

    # an nginx that stays with its parent takes no upgrade
    $nginx->stop;
    local $ENV{ASAN_OPTIONS} = $nginx->_sanitizer_options;
    system($nginx->_command) == 0 or die 'nginx';
    wait_for { -s $pid_file && served_quietly($nginx) };
    my $old = $nginx->{pid} = $nginx->pid;

    my $ask = sub {
        my $answer = eval { $nginx->get($at, token => $token) };
        $answer && $answer->status == 200 ? $good++ : $bad++;
    };

    kill 'USR2', $old;
    my $new = wait_for {
        $ask->();
        my $pid = $nginx->pid // $old;
        $pid != $old && $nginx->workers && $pid;
    };
    kill 'QUIT', $old;
    wait_for { $ask->(); !kill 0, $old };
    $ask->() for 1 .. 10;

    is $bad, 0, 'no request is lost';
    cmp_ok $good, '>', 10, '... of many';
    isnt $new, $old, 'the new one serves';
    $nginx->stop;
    ok !kill(0, $new), '... and ends';
}


sub served_quietly {
    my ($nginx) = @_;
    my $answer = eval { $nginx->get($at, token => $token) };
    return $answer && $answer->status == 200;
}


# a cache manager and a cache loader beside the workers

{
    my $nginx = make(name => 'cached', workers => 1, http => <<'CONF');
        proxy_cache_path %%PREFIX%%/cache keys_zone=cache:1m
                         loader_threshold=50ms;
CONF
    my $master = $nginx->pid;
    my @processes = split ' ', do {
        open my $in, '<', "/proc/$master/task/$master/children" or die;
        <$in>;
    };
    cmp_ok scalar @processes, '>', 1, 'there is a cache manager';
    served $nginx, 'the worker serves beside it';
    ok eval { wait_for {
        sessions($nginx) == $nginx->get('/status', raw_path => 1)
            ->json->{database_connections};
    } }, 'nobody but the worker has connections to the database';
}


# no master

{
    my $nginx = make(name => 'single', master_process => 0);
    served $nginx, 'master_process off' for 1 .. 3;
    is $nginx->post("$at/tags", token => $token,
        json => { tag_name => 'a', content => 'b' })->status, 201,
        '... takes a body';
    is $nginx->get('/status', raw_path => 1)->status, 200,
        '... and has a status';
}


# no connections left

{
    my $nginx = make(name => 'full', workers => 1, connections => 12,
        database => { queue_timeout => '1s' },
        allow => [qr/worker_connections are not enough/]);

    # all connections to the database are gone
    $nginx->sql("select pg_terminate_backend(pid) from pg_stat_activity"
        . " where usename = 'guildlog' and datname = current_database()");
    wait_for { sessions($nginx) == 0 };

    my @idle = map { eval { $nginx->connection } || () } 1 .. 20;
    wait_for { $nginx->error_log =~ /worker_connections are not enough/ };

    my %answers;
    for my $client (@idle) {
        my $answer = eval {
            $client->request('GET', "/api$at", token => $token);
        };
        $answers{$answer ? $answer->status : 'closed'}++;
        die 'not JSON' if $answer && !ref $answer->json;
    }
    like join(' ', sort keys %answers), qr/^(?:200 )?(?:503 )?closed$/,
        'requests are answered or their connections closed'
        or diag explain \%answers;
    cmp_ok 20 - $answers{closed}, '>', 0, '... some answered';

    $_->close for @idle;
    ok wait_for { served_quietly($nginx) }, 'and later all is well again';
}

done_testing;
