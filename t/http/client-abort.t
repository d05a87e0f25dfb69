# A client may close its connection at any moment: while its body is read, while
# its query waits for a connection, while the query runs, while the answer is
# sent, by HTTP/1.1 or HTTP/2.  Other clients notice nothing, nothing is held
# for the client that left, and a query that still waited for it does not run.

use lib 't/lib';
use Guildlog;
use Guildlog::H2;

my $h2 = free_port;
my $nginx = Guildlog->new(
    database => { connections => 1, depth => 1 },
    listen   => 'sndbuf=4k',
    http     => <<"CONF",
        guildlog_limit requests=100000;
        log_format mark '\$arg_mark \$status';
        access_log logs/mark.log mark;
        server {
            listen 127.0.0.1:$h2 http2 sndbuf=4k;
            location /api/ {
                guildlog_api;
            }
        }
CONF
    locations => <<'CONF',
        location = /connections {
            stub_status;
        }
CONF
);

my $server = $nginx->server;
my $token  = $nginx->token($server);
my $at     = "/servers/$server";
my $count  = 0;

my $filler = 'a filler that makes the answer longer than all of the buffers';
$nginx->sql(<<'SQL', $server, $filler);
    insert into ignore_entry (guild_id, bot, ignore_type, ignore_value)
    select ?, 0, 2, ? || n from generate_series(1, 20000) n
SQL


sub lock_server {
    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('lock table server in access exclusive mode');
    return $lock;
}


sub unlock {
    my ($lock) = @_;
    $lock->rollback;
    $lock->disconnect;
}


# waits until that many queries of clients wait for the lock
sub wait_locked {
    my ($number) = @_;
    return wait_for { $nginx->waiting('server_get|tag_create') == $number } 30,
        'locked';
}


sub gauge {
    return $nginx->get('/status', raw_path => 1)->json->{"database_$_[0]"};
}


sub wait_gauge {
    my ($name, $value) = @_;
    return wait_for { gauge($name) == $value } 30, "$name is $value";
}


# nginx's connections, without the one that asks for this figure
sub others {
    return $nginx->get('/connections', raw_path => 1)->text
        =~ /^Active connections: (\d+)/ ? $1 - 1 : undef;
}


sub all_gone {
    my ($what) = @_;
    my $gone = eval { wait_for { others() == 0 && gauge('busy') == 0 } 30 };
    ok $gone, "$what: nothing is held for it"
        or diag others(), ' connections, busy ', gauge('busy');
}


sub log_has {
    my ($line, $what) = @_;

    ok eval { wait_for {
        open my $in, '<', $nginx->prefix . '/logs/mark.log' or return;
        scalar grep { $_ eq "$line\n" } <$in>;
    } 30 }, $what;
}


# the two protocols; for each: how to open a request (with an argument: a body
# of that many bytes follows), how to send a part of the body, how to leave
sub http1 {
    my ($how) = @_;
    my $client;

    return {
        name => "HTTP/1.1, $how",
        open => sub {
            my ($method, $path, $more) = @_;
            $client = $nginx->connection;
            $client->send("$method /api$path HTTP/1.1\r\nHost: localhost\r\n"
                . "Authorization: Bearer $token\r\n"
                . ($more ? "Content-Type: application/json\r\n"
                    . "Content-Length: $more\r\n" : '') . "\r\n");
        },
        body => sub { $client->send($_[0]) },
        wait => sub { $client->readable(30) },
        go   => sub {
            $how eq 'half closed' ? shutdown $client->socket, 1
                                  : $client->close(reset => $how eq 'reset');
        },
    };
}


sub http2 {
    my ($how) = @_;
    my ($client, $stream);

    return {
        name => "HTTP/2, $how",
        open => sub {
            my ($method, $path, $more) = @_;
            $client = Guildlog::H2->new(port => $h2);
            $stream = $client->open($method, "/api$path", more => $more,
                token => $token, headers => ['content-type',
                $more ? 'application/json' : 'text/plain']);
        },
        body => sub { $client->data($stream, $_[0], more => $_[1]) },
        wait => sub { $client->client->readable(30) },
        go   => sub {
            $client->reset($stream) if $how eq 'stream reset';
            $client->client->close(reset => $how eq 'reset')
                if $how ne 'stream reset';
        },
        after => sub { $client->client->close },
    };
}


for my $way (http1('closed'), http1('reset'), http1('half closed'),
             http2('closed'), http2('reset'), http2('stream reset'))
{
    my $name = $way->{name};
    my $mark = ++$count;
    my $body = sprintf '{"tag_name":"t%d","content":"x"}', $mark;
    my $done = sub {
        my ($what) = @_;
        $way->{after}->() if $way->{after};
        all_gone("$name, $what");
        is $nginx->get($at, token => $token)->status, 200,
            '... the next request is served';
    };

    # while its body is read
    $way->{open}->('POST', "$at/tags?mark=body$mark", length $body);
    $way->{body}->(substr($body, 0, 10), 1);
    $way->{go}->();
    $done->('reading its body');

    # while it waits, and a query of another client runs
    {
        my $lock  = lock_server();
        my $first = $nginx->connection;
        $first->send("GET /api$at HTTP/1.1\r\nHost: localhost\r\n"
            . "Authorization: Bearer $token\r\nConnection: close\r\n\r\n");
        wait_locked(1);

        $way->{open}->('POST', "$at/tags?mark=queue$mark", length $body);
        $way->{body}->($body);
        wait_gauge(queued => 1);
        $way->{go}->();
        ok wait_gauge(queued => 0), "$name, waiting: it waits no longer";

        unlock($lock);
        is $first->response->status, 200,
            '... the client before it is answered';
        log_has("queue$mark 499", '... it is logged with status 499');
        $done->('waiting');
    }
    is $nginx->sql('select count(*) from tag where tag_name = ?', "t$mark"),
        0, '... its change was not made';

    # while its query runs
    {
        my $lock = lock_server();
        $way->{open}->('GET', "$at?mark=query$mark");
        wait_locked(1);
        $way->{go}->();
        log_has("query$mark 499", "$name, query running: logged at once");
        unlock($lock);
        $done->('asking');
    }

    # while its answer is sent
    $way->{open}->('GET', "$at/config/logging/ignore/2?mark=answer$mark");
    $way->{wait}->();
    $way->{go}->();
    $done->('being answered');
}


# the client left before the worker accepted its connection

{
    my $lock = lock_server();
    my @workers = $nginx->workers;
    kill 'STOP', @workers;
    my $client = $nginx->connection;
    $client->send("GET /api$at?mark=early HTTP/1.1\r\nHost: localhost\r\n"
        . "Authorization: Bearer $token\r\n\r\n");
    $client->close;
    kill 'CONT', @workers;

    log_has('early 499', 'left before it was accepted: logged at once');
    unlock($lock);
    all_gone('left before it was accepted');
}


# many clients leave at random moments

{
    my @clients;
    my $lock = lock_server();

    for my $n (1 .. 150) {
        my $body = sprintf '{"tag_name":"m%03d","content":"x"}', $n;
        my $request = "POST /api$at/tags HTTP/1.1\r\nHost: localhost\r\n"
            . "Authorization: Bearer $token\r\nContent-Length: "
            . length($body)
            . "\r\nContent-Type: application/json\r\n\r\n$body";
        my $client = $nginx->connection;
        $client->send(substr $request, 0, length($request) - 75 + $n);
        push @clients, $client;
    }
    wait_for { gauge('queued') > 10 } 30, 'some requests wait';
    $_->close(reset => int rand 2) for splice @clients, 0, 75;
    unlock($lock);
    $_->close(reset => int rand 2) for @clients;

    all_gone('150 clients');
    is $nginx->get($at, token => $token)->status, 200,
        'the next request is served';
}

is $nginx->get('/status', raw_path => 1)->json->{database_lost_total}, 0,
    'no connection to the database was lost';

done_testing;
