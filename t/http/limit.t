# A window of N requests lets exactly N in, on all workers together.  Each
# answer has the headers of the limit; 429 has Retry-After (at least 1).
# Requests are counted per token over all locations, per client address where
# the token is bad, or by a key that the operator chose.  Each request counts
# once, and windows go on through a reload.
#
# GUILDLOG_WINDOWS is the number of windows that connections race for (200).

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(
    workers => 4,
    listen  => 'reuseport',
    http    => <<'CONF',
        keepalive_requests 1000000;
        guildlog_limit_zone other:1m;
        guildlog_limit_zone tiny:32k;
        guildlog_database name=dead host=/nonexistent connect_timeout=100ms
                          queue_timeout=100ms;
        set_real_ip_from 127.0.0.3;
        real_ip_header X-Client;
        log_format limit '$arg_mark $guildlog_limit_status '
                         '$guildlog_limit_limit $guildlog_limit_remaining '
                         '$guildlog_limit_reset';
        access_log logs/limit.log limit;
CONF
    locations => <<'CONF',
        location /race/ {
            guildlog_api /api;
            guildlog_limit key=$arg_w requests=10 window=1h;
        }

        location /race-too/ {
            guildlog_api /api;
            guildlog_limit key=$arg_w requests=10 window=1h;
        }

        location /other-race/ {
            guildlog_api /api;
            guildlog_limit key=$arg_v requests=10 window=1h;
        }

        location /short/ {
            guildlog_api;
            guildlog_limit requests=5 window=300ms;
        }

        location /few/ {
            guildlog_api;
            guildlog_limit requests=3 window=1h;
        }

        location /few-too/ {
            guildlog_api;
            guildlog_limit requests=3 window=1h;
        }

        location /four/ {
            guildlog_api;
            guildlog_limit requests=4 window=1h;
        }

        location /elsewhere/ {
            guildlog_api;
            guildlog_limit zone=other requests=3 window=1h;
        }

        location /tiny/ {
            guildlog_api;
            guildlog_limit zone=tiny key=$arg_w requests=1 window=1h;
        }

        location /dry/ {
            guildlog_api;
            guildlog_limit requests=3 window=1h dry_run;
        }

        location /dead/ {
            guildlog_api database=dead;
        }

        location /off/ {
            guildlog_api;
            guildlog_limit off;
        }

        location /guarded/ {
            guildlog_auth on;
            guildlog_limit requests=3 window=1h;
            alias %%PREFIX%%/files/;
            ssi on;
            ssi_types *;
            index index.html;
        }

        location /redirected/ {
            guildlog_auth on;
            guildlog_limit requests=3 window=1h;
            alias %%PREFIX%%/files/;
            error_page 404 /few/servers/none;
        }

        location /checked/ {
            guildlog_limit requests=3 window=1h;
            auth_request /check;
            alias %%PREFIX%%/files/;
        }

        location = /check {
            internal;
            guildlog_api /check;
        }

        location /page/ {
            guildlog_limit key=$arg_w requests=1 window=1h;
            alias %%PREFIX%%/files/;
            error_page 429 /page/busy;
        }
CONF
);

$nginx->file('files/index.html', 'index');
$nginx->file('files/busy', 'busy');
$nginx->file('files/ssi', join '',
    map { "<!--# include virtual=\"/few/servers/$_\" -->" } 1 .. 4);

my $server = $nginx->server;
my $at     = "/servers/$server";
my $basic  = $nginx->token($server, kind => 'basic');
my @tokens;


# a token that nobody has used yet; a server has at most five valid tokens
sub token {
    my $guild = @tokens % 4 ? $tokens[-1][0] : $nginx->server;
    push @tokens, [$guild, $nginx->token($guild)];
    return @{ $tokens[-1] }[1, 0];
}


sub get {
    my ($path, $token, %option) = @_;
    return $nginx->get($path, raw_path => 1, token => $token, %option);
}


sub status {
    my ($path, $token, $times, %option) = @_;
    return join ' ', map { get($path, $token, %option)->status } 1 .. $times;
}


sub counter {
    return $nginx->get('/status', raw_path => 1)->json->{$_[0]};
}


# the headers of every answer

for (
    [200, sub { get("/api$at", $nginx->token($server)) }],
    [401, sub { get("/api$at") }],
    [403, sub { get("/api$at", $basic) }],
    [404, sub { get("/api$at/nothing", $basic) }],
    [405, sub { $nginx->put($at, token => $basic) }],
    [413, sub { $nginx->post("$at/active/ignore/targets", token => $basic,
        json => ' ' x 70000) }],
    [415, sub { $nginx->post("$at/active/ignore/targets", token => $basic,
        body => 'x') }],
    [400, sub { get('/api/servers/12', $basic) }],
    [503, sub { $nginx->post("/dead$at/active/ignore/executors",
        raw_path => 1, token => $basic,
        json => { id => '300000000000000001' }) }],
    [429, sub { get('/race/?w=full') for 1 .. 10; get('/race/?w=full') }],
) {
    my ($status, $request) = @$_;
    my $answer = $request->();
    my %header = map {
        my @value = $answer->header($_);
        $_ => @value == 1 ? $value[0] : scalar @value;
    } qw(X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset
        X-RateLimit-Reset-After RateLimit
         RateLimit-Policy Retry-After);

    is $answer->status, $status, "status $status";
    is $header{'X-RateLimit-Limit'}, $status == 429 ? 10 : 500, 'Limit';
    like $header{'X-RateLimit-Remaining'}, $status == 429 ? qr/^0$/
        : qr/^4\d\d$/, 'Remaining';
    is $header{'X-RateLimit-Reset-After'}, $header{'X-RateLimit-Reset'},
        'Reset-After';
    like $header{'X-RateLimit-Reset'}, $status == 429 ? qr/^3[56]\d\d$/
        : qr/^(?:[1-9]|10)$/, 'Reset';
    is $header{'RateLimit-Policy'}, $status == 429
        ? '"default";q=10;w=3600' : '"default";q=500;w=10', 'policy';
    is $header{RateLimit}, qq("default";r=$header{'X-RateLimit-Remaining'})
        . ";t=$header{'X-RateLimit-Reset'}", '... also in the one-line header';
    is $header{'Retry-After'}, $status == 429 ? $header{'X-RateLimit-Reset'}
        : $status == 503 ? 1 : 0, 'Retry-After';
}

is get("/off$at", $basic)->header('X-RateLimit-Limit'), undef,
    '"off": no headers';


# sixteen connections race for the places of each window

sub race {
    my ($children, $work) = @_;

    my @pipes;
    for my $child (1 .. $children) {
        pipe my $in, my $out or die;
        defined(my $pid = fork) or die;
        if (!$pid) {
            close $in;
            print {$out} join ' ', $work->($child);
            close $out;
            POSIX::_exit(0);
        }
        close $out;
        push @pipes, [$in, $pid];
    }
    return map {
        my ($in, $pid) = @$_;
        my $line = do { local $/; <$in> };
        waitpid $pid, 0;
        [split ' ', $line // ''];
    } @pipes;
}

{
    my $windows = $ENV{GUILDLOG_WINDOWS} || 200;
    my %sum;

    my @results = race(4, sub {
        my @clients = map { $nginx->connection } 1 .. 4;
        my @accepted;

        for my $window (1 .. $windows) {
            my $request = "GET /race/?w=$window HTTP/1.1\r\n"
                . "Host: localhost\r\n\r\n";
            $_->send($request x 2) for @clients;
            my $accepted = 0;
            for my $client (@clients, @clients) {
                $accepted++ if $client->response->status == 401;
            }
            push @accepted, $accepted;
        }
        return @accepted;
    });

    for my $accepted (@results) {
        $sum{$_} += $accepted->[$_] // 0 for 0 .. $windows - 1;
    }
    my @wrong = grep { $sum{$_} != 10 } 0 .. $windows - 1;
    is "@wrong", '', "10 of 32 requests get into each of $windows windows";
}


# windows that end

{
    my $token = $nginx->token($server);
    my $began = Time::HiRes::time();
    my $until = $began + 3;
    my (%accepted, $refused);

    # each goes on until it was refused and got in again, but not for ever
    for my $result (race(4, sub {
        my @clients = map { $nginx->connection } 1 .. 4;
        my (@seen, $full, $again);
        while (Time::HiRes::time() < ($again ? $until : $until + 60)) {
            $_->send("GET /short/ HTTP/1.1\r\nHost: localhost\r\n"
                . "Authorization: Bearer $token\r\n\r\n") for @clients;
            for (@clients) {
                my $answer = $_->response;
                $again ||= $full && $answer->status != 429;
                push @seen, $answer->status == 429 ? 'refused'
                    : $answer->header('X-RateLimit-Remaining');
                push @seen, 'early' if $answer->status == 429
                    && $answer->header('Retry-After') != 1;
            }
            $full ||= grep { $_ eq 'refused' } @seen;
        }
        return @seen;
    })) {
        $accepted{$_}++ for @$result;
    }

    $refused = delete $accepted{refused};
    is join(' ', sort keys %accepted), '0 1 2 3 4',
        'each window counts down to 0';
    my @counts = @accepted{reverse 0 .. 4};
    cmp_ok $counts[0], '<=', (Time::HiRes::time() - $began) / 0.3 + 1,
        'there are no more windows than the time has';
    cmp_ok $counts[0], '>=', 2, 'there are at least two windows';
    is join(' ', sort { $b <=> $a } @counts), "@counts",
        'no place was given twice';
    cmp_ok $refused, '>', 0, 'further requests were refused';
    ok wait_for { get('/short/', $token)->status == 404 },
        'after the window ends a request gets in';
}


# which requests share a window

{
    my ($token, $guild) = token();

    is get("/few/servers/$guild", $token)->header('X-RateLimit-Remaining'),
        2, 'a new token has all places but one';
    is get("/few-too/servers/$guild", $token)
        ->header('X-RateLimit-Remaining'), 1, 'two locations share a window';
    is get('/guarded/index.html', $token)->header('X-RateLimit-Remaining'),
        0, 'a static file counts in it, too';
    is status('/few/', $token, 1), 429, 'the window is full';
    is status('/guarded/', $token, 1), 429, '... in each of its locations';
    is status('/four/', $token, 1), 404, 'another limit has another window';
    is status('/elsewhere/', $token, 1), 404, 'another zone has another window';
    is status('/few/', (token())[0], 1), 404,
        'another token has another window';
}


# windows of client addresses

{
    my $bad = 'x.y.z';

    is status('/few/', $bad, 4, connect => { from => '127.0.0.2' }),
        '401 401 401 429', 'bad tokens of one address are limited';
    is status('/few/', undef, 1, connect => { from => '127.0.0.2' }), 429,
        'a request without a token counts in the same window';
    is status('/few/', (token())[0], 3, connect => { from => '127.0.0.2' }),
        '404 404 404', 'a good token from that address is not limited';
    is status('/few/', $bad, 1, connect => { from => '127.0.0.4' }), 401,
        'another address is not limited';
    is status('/few/', $bad, 1, connect => { from => '127.0.0.2' },
        headers => ['X-Client', '127.0.0.5', 'X-Forwarded-For', '127.0.0.6']),
        429, 'X-Forwarded-For does not change the address';

    my $by = sub {
        my ($address, $times) = @_;
        return status('/few/', $bad, $times, headers => ['X-Client', $address],
            connect => { from => '127.0.0.3' });
    };
    is $by->('2001:db8:1:2::1', 2), '401 401', 'an address of IPv6';
    is $by->('2001:db8:1:2:ffff::2', 2), '401 429',
        'its /64 network shares one window';
    is $by->('2001:db8:1:3::1', 1), 401, 'the next network has another window';
    is $by->('::ffff:192.0.2.1', 3), '401 401 401', 'IPv4 in IPv6';
    is $by->('192.0.2.1', 1), 429, '... shares the window of the IPv4 address';
    is $by->('192.0.2.2', 1), 401, '... other IPv4 addresses do not share it';
}


# windows of a key that the operator chose

is status('/race/?w=x', undef, 11), '401 ' x 10 . 429, 'by a key';
is status('/race/?w=y', undef, 1), 401, 'another key';
is status('/race/?w=' . 'y' x 3000 . $_, undef, 11), '401 ' x 10 . 429,
    'long keys that differ at the end' for 1, 2;
is status('/race-too/?w=x', undef, 1), 429, 'the same key in another location';
is status('/other-race/?v=x', undef, 1), 401,
    'another variable with the same value';
is status('/race/', undef, 12), '401 ' x 11 . 401,
    'an empty key is not limited';
is get('/race/')->header('X-RateLimit-Limit'), undef, '... and has no headers';


# each request counts once

{
    my ($token, $guild) = token();
    is get('/guarded/', $token)->header('X-RateLimit-Remaining'), 2,
        'an internal redirect to the index counts once';
    is get('/redirected/nothing', $token)->status, 404, 'an error page';
    my $answer = get('/guarded/index.html', $token);
    is $answer->header('X-RateLimit-Remaining'), 0, '... counts once';
    is scalar(my @h = $answer->header('X-RateLimit-Remaining')), 1,
        '... has the header once';
}

{
    my ($token) = token();
    my $answer = get('/guarded/ssi', $token);
    my $error  = get('/off/servers/1', $token)->text;
    is $answer->status, 200, 'subrequests of SSI';
    is $answer->text, $error x 4, '... are answered';
    is $answer->header('X-RateLimit-Remaining'), 2, '... count as one request';
    is get('/guarded/index.html', $token)->header('X-RateLimit-Remaining'),
        1, '... indeed';
}

{
    # the location's own limit by address, the check's by token
    my ($token) = token();
    my $answer = get('/checked/index.html', $token,
        connect => { from => '127.0.0.7' });
    is $answer->status, 500, 'auth_request does not take a 404';
    is status('/checked/index.html', $token, 3,
        connect => { from => '127.0.0.7' }), '500 500 429',
        '... a refused check counts in the limit by address';
}

is get('/page/index.html?w=p')->text, 'index', 'the first request of a window';
{
    my $answer = get('/page/index.html?w=p');
    is $answer->status, 429, '... the next one is refused';
    is $answer->text, 'busy', 'the limit does not refuse its own error page';
    like $answer->header('Retry-After'), qr/^3[56]\d\d$/, 'Retry-After';
}


# dry run

{
    my ($token) = token();
    my $before = counter('limited_dry_run_total');

    is status('/dry/?mark=dry', $token, 5), '404 404 404 404 404',
        'a dry run refuses nothing';
    is get('/dry/', $token)->header('Retry-After'), undef,
        '... has no Retry-After';
    is counter('limited_dry_run_total') - $before, 3,
        '... counts what it would refuse';

    my ($log) = wait_for {
        open my $in, '<', $nginx->prefix . '/logs/limit.log' or return;
        my @lines = grep /^dry /, <$in>;
        return @lines == 5 && join '', sort @lines;
    };
    like $log, qr/^(dry\ limited_dry_run\ 3\ 0\ 3[56]\d\d\n){2}
                   dry\ passed\ 3\ 0\ 3[56]\d\d\n
                   dry\ passed\ 3\ 1\ 3[56]\d\d\n
                   dry\ passed\ 3\ 2\ 3600\n$/x,
        '... and logs it';
}


# a full zone

{
    my $client = $nginx->connection;
    my @refused = grep {
        $client->request('GET', "/tiny/?w=$_")->status != 401
    } 1 .. 2000;

    is "@refused", '', 'no request is refused because the zone is full';
    cmp_ok counter('limit_evicted_total'), '>', 1000,
        'the least recently used windows were dropped';
    is status('/tiny/?w=2000', undef, 1), 429, 'the last window is kept';
    is status('/tiny/?w=1', undef, 1), 401, 'the first window was dropped';
    is scalar(my @said = $nginx->error_log =~
        /limit zone "guildlog_limit_tiny" is full/g), 1, 'this is logged once';
}


# reload

{
    my ($token) = token();
    my $limited = counter('limited_total');

    is status('/few/', $token, 2), '404 404', 'two requests before a reload';
    $nginx->reload;
    is status('/few/', $token, 2), '404 429', 'the window goes on after it';
    is counter('limited_total') - $limited, 1, 'the counters go on, too';
}

done_testing;
