# A worker that dies is replaced, and only its own requests are lost.  A reload
# and a binary upgrade lose no request.  nginx's other processes, a full table
# of connections and a server without a master process do no harm.

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


# all of nginx is killed (out of memory, a power cut): the operator's socket
# stays, and the next nginx starts

{
    my $nginx = make(name => 'socket', workers => 2,
        allow => [qr/operator\.sock/, qr/still could not bind/]);
    my $socket = $nginx->{operator};
    my $answers = sub { $nginx->operator('GET', "/servers/$server/lanes") };

    $nginx->kill_all;
    ok -S $socket, 'the socket is left behind';
    my ($valid) = $nginx->test_conf;
    ok $valid && -S $socket, 'nginx -t finds nothing wrong, and removes nothing';
    $nginx->start;
    is $answers->()->status, 200, 'the next nginx starts, and listens on it';
    like $nginx->error_log, qr/nobody listened on "unix:\Q$socket\E"/,
        'and says that it removed the old one';

    $nginx->reload;
    is $answers->()->status, 200, 'a reload leaves it alone';

    # one that somebody listens on is theirs
    my $second = Guildlog->new(name => 'second', start => 0,
        allow => [qr/operator\.sock/, qr/still could not bind/]);
    $second->{operator} = $socket;
    $second->configure;
    my $started = eval { $second->start };
    ok !$started, 'a second nginx does not start with the same socket';
    like $@, qr/bind\(\) to unix:\Q$socket\E failed \(98: /, 'and says so';
    is $answers->()->status, 200, 'the first one goes on';
    delete $second->{pid};

    # a file is nobody's socket
    $nginx->stop;
    $nginx->file('kept', 'data');
    rename $nginx->prefix . '/kept', $socket or die "rename: $!";
    ok !eval { $nginx->start }, 'nginx does not start where a file is';
    is -s $socket, 4, 'which is left as it was';
    delete $nginx->{pid};
    unlink $socket;
}


# a worker is killed

{
    my $nginx = make(name => 'killed', workers => 2, listen => 'reuseport',
        http => 'guildlog_limit off;', allow => [qr/exited on signal 9/],
        database => { connections => 4, queue_timeout => '30s' });
    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('lock table server in access exclusive mode');

    # both workers get requests: one worker alone has two connections for them
    my @clients;
    wait_for {
        push @clients, my $client = $nginx->connection;
        $client->send("GET /api$at HTTP/1.1\r\nHost: localhost\r\n"
            . "Authorization: Bearer $token\r\n\r\n");
        $nginx->waiting('server_get') > 2;
    } 60, 'both workers have requests';

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
        'requests of the killed worker are reset, the others are answered';
    is $end{200} + $end{reset}, scalar @clients, '... none is missing';
    served $nginx, 'the next requests are served' for 1 .. 8;

    ok eval { wait_for {
        my $status = $nginx->get('/status', raw_path => 1)->json;
        $status->{database_busy} == 0
            && $status->{database_connections} == sessions($nginx);
    } 30 }, 'connections of the killed worker are not counted';

    $nginx->signal('KILL', $nginx->workers);
    wait_for { $nginx->workers == 2 };
    ok wait_for { eval { $nginx->get($at, token => $token)->status == 200 } },
        'both workers may be killed';
    ok wait_for { sessions($nginx) <= 8 },
        'the sessions of killed workers end in the database';
}


# a request whose body comes after a reload

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
    is $slow->response->status, 201,
        'the old worker reads its body and answers';
    $slow->close;
    ok wait_for { !grep { $old{$_} } $nginx->workers },
        'then the old workers exit';
    is $nginx->sql('select count(*) from tag'), 1, 'the change was made once';

    # a configuration with a mistake is not taken
    $nginx->configure(api => 'guildlog_max_body nonsense;');
    $nginx->reload(nowait => 1);
    ok wait_for { $nginx->error_log =~ /invalid value/ },
        'a mistake in the configuration is logged';
    served $nginx, '... and the old configuration is still served';
    $nginx->{option}{allow} = [qr/"guildlog_max_body" directive invalid/];
}


# a binary upgrade

{
    my $nginx = make(name => 'upgraded', workers => 1, start => 1);
    my ($good, $bad) = (0, 0);
    my $pid_file = $nginx->prefix . '/nginx.pid';

    # nginx must be a daemon: it refuses an upgrade while its parent started it
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

    is $bad, 0, 'a binary upgrade loses no request';
    cmp_ok $good, '>', 10, '... of many';
    isnt $new, $old, 'the new process serves';
    $nginx->stop;
    ok !kill(0, $new), '... and stops';
}


sub served_quietly {
    my ($nginx) = @_;
    my $answer = eval { $nginx->get($at, token => $token) };
    return $answer && $answer->status == 200;
}


# nginx's cache manager and cache loader run beside the workers

{
    my $nginx = make(name => 'cached', workers => 1, http => <<'CONF');
        proxy_cache_path %%PREFIX%%/cache keys_zone=cache:1m
                         loader_threshold=50ms;
CONF
    my $master = $nginx->pid;
    ok eval { wait_for {
        open my $in, '<', "/proc/$master/task/$master/children" or die;
        (my @processes = split ' ', <$in>) > 1;
    } }, 'there is a cache manager';
    served $nginx, 'the worker serves beside it';
    ok eval { wait_for {
        sessions($nginx) == $nginx->get('/status', raw_path => 1)
            ->json->{database_connections};
    } }, 'only the worker has connections to the database';
}


# nginx without a master process

{
    my $nginx = make(name => 'single', master_process => 0);
    served $nginx, 'master_process off' for 1 .. 3;
    is $nginx->post("$at/tags", token => $token,
        json => { tag_name => 'a', content => 'b' })->status, 201,
        '... takes a body';
    is $nginx->get('/status', raw_path => 1)->status, 200,
        '... and has a status';
}


# worker_connections are used up

{
    my $nginx = make(name => 'full', workers => 1, connections => 12,
        database => { queue_timeout => '1s' },
        allow => [qr/worker_connections are not enough/]);

    # closes all connections to the database
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
        'a request is answered or its connection is closed'
        or diag explain \%answers;
    cmp_ok 20 - $answers{closed}, '>', 0, '... some requests are answered';

    $_->close for @idle;
    ok wait_for { served_quietly($nginx) },
        'requests are served again afterwards';
}

done_testing;
