# A body is a JSON object of at most 64 KiB, however it is sent: 413 over the
# limit, 415 where it is not application/json, 400 where it is no object, has
# duplicate keys, invalid UTF-8, NUL or nesting over 16.  An endpoint without a
# body discards the body that comes, and never reads it as a request.

use lib 't/lib';
use Guildlog;
use Guildlog::H2;
use IPC::Open3;

my $h2 = free_port;
my $nginx = Guildlog->new(
    server => 'client_body_buffer_size 1k;',
    http   => <<"CONF",
        guildlog_limit requests=100000;
        keepalive_requests 100000;
        server {
            listen 127.0.0.1:$h2 http2;
            client_body_buffer_size 1k;
            location /api/ {
                guildlog_api;
            }
        }
CONF
    locations => <<'CONF',
        location /small/ {
            guildlog_api;
            guildlog_max_body 100;
        }

        location /large/ {
            guildlog_api;
            guildlog_max_body 200k;
            client_max_body_size 1k;
        }

        location /slow/ {
            guildlog_api;
            client_body_timeout 200ms;
        }

        location /bare/ {
            guildlog_api;
            error_page 404 /nothing;
        }

        location /mirrored/ {
            guildlog_api;
            mirror /copy;
        }

        location = /copy {
            internal;
            return 204;
        }

        location /twice/ {
            guildlog_api;
            mirror /again;
        }

        location = /again {
            internal;
            rewrite ^ /api/servers/$arg_server/tags break;
            guildlog_api /api;
        }

        location /fallback/ {
            client_body_in_file_only clean;
            proxy_pass http://127.0.0.1:1;
            proxy_intercept_errors on;
            error_page 502 = @fallback;
        }

        location @fallback {
            rewrite ^/fallback(.*) /api$1 break;
            guildlog_api /api;
        }
CONF
);

my $server = $nginx->server;
my $token  = $nginx->token($server);
my $at     = "/servers/$server";
my $tags   = "$at/tags";
my $count  = 0;


# a body that makes a tag, and its length
sub tag {
    my ($length) = @_;

    my $text = sprintf '{"tag_name":"t%d","content":"x"}', ++$count;
    $text .= ' ' x ($length - length $text) if $length;
    return $text;
}


sub head {
    my ($method, $path, @headers) = @_;

    return join "\r\n", "$method /api$path HTTP/1.1", 'Host: localhost',
        "Authorization: Bearer $token", @headers, '', '';
}


sub chunks {
    my ($body, $size) = @_;

    return join '', map({ sprintf "%x\r\n%s\r\n", length, $_ }
        unpack "(a$size)*", $body), "0\r\n\r\n";
}


sub error_is {
    my ($answer, $status, $error, $what) = @_;

    is $answer->status, $status, $what;
    is $answer->header('Content-Type'), 'application/json', '... in JSON';
    ref $error ? like $answer->text, $error, '... the body says why'
               : is $answer->text, $error, '... the body is right';
}

# the rest of the body is not read, so the connection cannot go on
sub closes {
    my ($answer, $status, $what, $error) = @_;

    error_is $answer, $status, $error // '{}', $what;
    is $answer->header('Connection'), 'close', '... the connection ends';
}


my @json = ('Content-Type: application/json');
my @chunked = (@json, 'Transfer-Encoding: chunked');
my $not_object = qr/^\{"error":"body: [^"]+","code":"\w+","field":"body"[^}]*\}$/;


my $too_large = '{"error":"body: must be at most 65536 bytes long",'
    . '"code":"too_large","field":"body","max":65536}';
my $malformed = '{"error":"malformed request, or a header is too large",'
    . '"code":"malformed"}';
my $not_json = '{"error":"Content-Type: must be application/json",'
    . '"code":"wrong_media_type","field":"Content-Type"}';


# how a body may be sent

is $nginx->post($tags, token => $token, json => tag)->status, 201,
    'all at once';
is $nginx->post($tags, token => $token, json => tag(60000))->status, 201,
    'larger than the buffer';
is $nginx->post($tags, token => $token, json => tag(65536))->status, 201,
    'as large as the limit';

for my $type ('application/json; charset=utf-8', 'Application/JSON',
              'application/json ;x=y', "application/json\t")
{
    is $nginx->post($tags, token => $token, body => tag,
        headers => ['Content-Type', $type])->status, 201, $type;
}

{
    my $client = $nginx->connection;
    my $body   = tag;

    $client->send_slowly(head('POST', $tags, @json,
        'Content-Length: ' . length $body) . $body, pause => 0.0005);
    is $client->response->status, 201, 'byte by byte';

    $client->send(head('POST', $tags, @chunked) . chunks(tag(60000), 1000));
    is $client->response->status, 201, 'in chunks';

    $client->send_slowly(head('POST', $tags, @chunked) . chunks(tag, 3),
        pause => 0.0005);
    is $client->response->status, 201, 'in chunks of 3 bytes, byte by byte';

    $client->send(head('POST', $tags, @chunked) . chunks(tag(65536), 65536));
    is $client->response->status, 201, 'in one chunk as large as the limit';

    $body = tag;
    $client->send(head('POST', $tags, @json, 'Expect: 100-continue',
        'Content-Length: ' . length $body));
    is $client->some(15), "HTTP/1.1 100 Continue\r\n\r\n",
        'the client is asked for the body';
    $client->send($body);
    is $client->response->status, 201, '... and its body is accepted';

    is $client->request('GET', "/api$at", token => $token)->status, 200,
        'all these on one connection';
}

{
    my $client = $nginx->connection;
    my $body   = tag(30000);

    $client->send(head('POST', $tags, @json, 'Content-Length: 30000') . $body
        . head('GET', $at) . head('GET', "$at/nothing"));
    is join(' ', map { $client->response->status } 1 .. 3), '201 200 404',
        'what follows a body is read as a request';
}


# too large

error_is $nginx->post($tags, token => $token, json => tag(65537)), 413, $too_large,
    'over the limit by a byte';

{
    my $client = $nginx->connection;

    $client->send(head('POST', $tags, @json, 'Content-Length: 65537'));
    error_is $client->response, 413, $too_large,
        'the length is refused before the body comes';
    $client->send('GET ' x 16384 . 'G' . head('GET', $at));
    is $client->response->status, 200, '... the body is discarded then';

    $client->send(head('POST', $tags, @json, 'Content-Length: 99999999999',
        'Expect: 100-continue'));
    like $client->some(15), qr/^HTTP\/1\.1 413 .*\r\n\r\n\Q$too_large\E$/s,
        'a client that waits is not asked for so large a body';
    ok $client->closed(30), '... and the connection ends';

    $client = $nginx->connection;
    $client->send(head('POST', $tags, @chunked));
    $client->send(sprintf "%x\r\n%s\r\n", 70000, ' ' x 70000);
    closes $client->response, 413,
        'chunks over the limit, which have not ended yet', $too_large;

    $client = $nginx->connection;
    $client->send(head('POST', $tags, @chunked)
        . "fffffffffffffffff\r\nx");
    is $client->response->status, 400, 'a chunk size beyond all numbers';

    $client = $nginx->connection;
    $client->send(head('POST', $tags, @chunked) . "nonsense\r\n");
    error_is $client->response, 400, $malformed, 'invalid chunks';
}

{
    my $client = $nginx->connection;
    $client->send("POST /slow$tags HTTP/1.1\r\nHost: localhost\r\n"
        . "Authorization: Bearer $token\r\nContent-Length: 20\r\n"
        . "Content-Type: application/json\r\n\r\n{");
    closes $client->response, 408, 'a body that never comes';
    ok $client->closed(30), '... ends the connection';
}

error_is $nginx->post("/small$tags", token => $token, raw_path => 1,
    json => tag(101)), 413, $too_large =~ s/65536/100/gr,
    'a smaller limit of the location';
is $nginx->post("/small$tags", token => $token, raw_path => 1,
    json => tag(100))->status, 201, '... lets a body of its size in';
is $nginx->post("/large$tags", token => $token, raw_path => 1,
    json => tag(200_000))->status, 201,
    'a larger limit, which client_max_body_size does not lower';


# not JSON

for my $type (undef, 'text/plain', 'application/jsonp', 'application/js',
              'application/json charset=utf-8',
              'application/x-www-form-urlencoded')
{
    error_is $nginx->post($tags, token => $token, body => tag,
        headers => [defined $type ? ('Content-Type', $type) : ()]), 415,
        $not_json, $type // 'no Content-Type';
}

error_is $nginx->post($tags, token => $token), 400, $not_object, 'no body';
error_is $nginx->post($tags, token => $token, json => ''), 400, $not_object,
    'an empty body';

{
    my $client = $nginx->connection;
    $client->send(head('POST', $tags, @chunked) . "0\r\n\r\n");
    error_is $client->response, 400, $not_object, 'chunks without data';
}

for (
    ['an array',            '[{"tag_name":"a","content":"x"}]'],
    ['a string',            '"x"'],
    ['a number',            '1'],
    ['null',                'null'],
    ['two objects',         tag() . tag()],
    ['trailing garbage',    tag() . 'x'],
    ['a trailing NUL',      tag() . "\0"],
    ['a NUL before all',    "\0" . tag()],
    ['an escaped NUL',      '{"tag_name":"a","content":"\u0000"}'],
    ['a NUL in a key',      '{"tag_name":"a","content":"x","a\u0000":1}'],
    ['a comma too many',    '{"tag_name":"a","content":"x",}'],
    ['no end',              '{"tag_name":"a","content":"x"'],
    ['a key twice',         '{"tag_name":"a","content":"x","content":"y"}'],
    ['a key twice, escaped',
        '{"tag_name":"a","content":"x","\u0063ontent":"y"}'],
    ['invalid UTF-8',       "{\"tag_name\":\"a\",\"content\":\"\xff\"}"],
    ['half a character',    "{\"tag_name\":\"a\",\"content\":\"\xc3\"}"],
    ['an overlong slash',   "{\"tag_name\":\"a\",\"content\":\"\xc0\xaf\"}"],
    ['a surrogate',         '{"tag_name":"a","content":"\ud800"}'],
    ['UTF-16',              "\xff\xfe{\0}\0"],
    ['depth 17',            '{"tag_name":' . '[' x 16 . ']' x 16 . '}'],
    ['depth 30,000',        '[' x 30000],
    ['a huge number',       '{"tag_name":"a","content":"x","color":1e999}'],
) {
    my ($what, $body) = @$_;
    my $answer = $nginx->post($tags, token => $token, json => $body);
    is $answer->status, 400, $what;
    like $answer->text, qr/^\{"error":"[^"]+","code":"\w+"[^}]*\}$/, '... the body says why';
}

error_is $nginx->post($tags, token => $token,
        json => '{"tag_name":' . '[' x 15 . ']' x 15 . '}'), 400,
    qr/^\{"error":"tag_name: /,
        'a body of depth 16 is read; its mistake is another';


# a body for an endpoint that takes none

my $smuggled = "DELETE /api$at HTTP/1.1\r\nHost: localhost\r\n"
    . "Authorization: Bearer $token\r\n\r\n";

for my $method (qw(GET HEAD DELETE)) {
    my $path = $method eq 'DELETE' ? "$at/auth?tokenId=nothing" : $at;
    my $status = $method eq 'DELETE' ? 404 : 200;

    for (
        ['with its length', ['Content-Length: ' . length $smuggled],
            $smuggled],
        ['in chunks', ['Transfer-Encoding: chunked'], chunks($smuggled, 50)],
        ['larger than all buffers', ['Content-Length: 100000'],
            $smuggled . ' ' x (100000 - length $smuggled)],
    ) {
        my ($what, $headers, $body) = @$_;
        my $client = $nginx->connection;

        $client->send(head($method, $path, @$headers) . $body
            . head('GET', "$at/nothing"));
        is $client->response($method)->status, $status, "$method $what";
        is $client->response->status, 404, '... is not read as a request';
    }

    my $client = $nginx->connection;
    $client->send(head($method, $path, 'Content-Length: 20'));
    is $client->response($method)->status, $status,
        "$method is answered before its body comes";
    $client->send("GET / HTTP/1.1\r\n\r\n  " . head('GET', "$at/nothing"));
    is $client->response->status, 404, '... which is discarded';
}

{
    my $client = $nginx->connection;
    my $length = length $smuggled;

    $client->send("GET /api$at HTTP/1.1\r\nHost: localhost\r\n"
        . "Content-Length: $length\r\n\r\n$smuggled" . head('GET', $at));
    is $client->response->status, 401, 'a body without a token';
    is $client->response->status, 200, '... is not read as a request';

    $client->send(head('POST', "$at/notifications/acknowledge", @chunked)
        . chunks($smuggled, 7) . head('GET', $at));
    is $client->response->status, 200, 'POST to an endpoint without a body';
    is $client->response->status, 200, '... its body is not read as a request';

    $client->send(head('GET', $at, 'Expect: 100-continue',
        'Content-Length: 5'));
    is $client->response->status, 200, 'GET with "Expect: 100-continue"';
}

{
    # the body comes while the database is at work
    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('lock table server in access exclusive mode');

    my $client = $nginx->connection;
    $client->send(head('GET', $at, 'Content-Length: 20'));
    wait_for { $nginx->waiting('server_get') } 30, 'the query runs';
    $client->send("GET / HTTP/1.1\r\n\r\n  " . head('GET', "$at/nothing"));
    $lock->rollback;
    $lock->disconnect;

    is $client->response->status, 200, 'a slow query';
    is $client->response->status, 404,
        '... the body that came meanwhile is discarded';
}

for my $path ("/api$at", "/bare$at") {
    my $client = $nginx->connection;
    $client->send("GET $path HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:"
        . " chunked\r\nAuthorization: Bearer $token\r\n\r\nnonsense\r\n");
    error_is $client->response, 400, $malformed, "invalid chunks, GET $path";
    ok $client->closed(30), '... end the connection';
}

is $nginx->get($at, token => $token)->status, 200, 'nothing was deleted';


# a body that another module has read already

is $nginx->post("/mirrored$tags", token => $token, raw_path => 1,
    json => tag(50000))->status, 201,
        'a body in a file, read by a mirror before';

{
    my $asked = sub {
        $nginx->get('/status', raw_path => 1)
            ->json->{statement_seconds}{tag_create}{count};
    };
    my $before = $asked->();
    my $first  = $nginx->post("/twice$tags?server=$server", raw_path => 1,
        token => $token, json => tag(50000));
    like $first->status, qr/^(?:201|409)$/, 'a request mirrored into the API';
    ok eval { wait_for { $asked->() == $before + 2 } },
        '... is answered as often as its body is read';
    is $nginx->sql('select count(*) from tag where tag_name = ?',
        "t$count"), 1, '... and stored it once';
}

is $nginx->post("/fallback$tags", token => $token, raw_path => 1,
    json => tag(50000))->status, 201, 'a body in a file, the API as a fallback';
is $nginx->post("/fallback$tags", token => $token, raw_path => 1,
    json => tag(70000))->status, 413, '... the limit holds there, too';
is $nginx->post("/fallback$tags", token => $token, raw_path => 1,
    json => tag)->status, 201, '... a small body';


# HTTP/2

sub curl {
    my ($body, @arguments) = @_;

    my $file = $nginx->file('body', $body);
    my $pid = open3(my $in, my $out, undef, 'curl', '-sS', '-m', 20,
        '--http2-prior-knowledge', '-H', "Authorization: Bearer $token",
        '-H', 'Content-Type: application/json', '--data-binary', "\@$file",
        '-w', '\n%{http_code}', @arguments);
    close $in;
    my $text = do { local $/; <$out> };
    waitpid $pid, 0;
    return $text =~ /^(.*)\n(\d+)$/s ? "$2 $1" : $text;
}

my $url = "http://127.0.0.1:$h2/api$tags";

like curl(tag, $url), qr/^201 /, 'curl by HTTP/2';
like curl(tag(60000), $url), qr/^201 /, '... larger than the buffer';
like curl(tag(60000), '-H', 'Content-Length:', $url), qr/^201 /,
    '... without a length';
like curl('{', $url), qr/^400 \{"error":/, '... not JSON';

my $frames = Guildlog::H2->new(port => $h2);
my @type   = ('content-type', 'application/json');

for (
    ['a length over the limit',
        ['POST', $tags, token => $token,
         headers => [@type, 'content-length', 65537], body => tag(65537)],
        413],
    ['a length far over the limit',
        ['POST', $tags, token => $token,
         headers => [@type, 'content-length', 3e6], body => tag(3e6)], 413],
    ['no length, and over the limit',
        ['POST', $tags, token => $token, headers => \@type,
         body => tag(70000)], 413],
    ['no token', ['POST', $tags, headers => \@type, body => tag(70000)], 401],
    ['no type', ['POST', $tags, token => $token, body => tag(70000)], 415],
    ['GET with a body', ['GET', "$at/nothing", token => $token,
        body => tag(70000)], 404],
) {
    my ($what, $request, $status) = @$_;
    my ($method, $path, @option) = @$request;

    my $answer = $frames->request($method, "/api$path", @option);
    is $answer->{status}, $status, "HTTP/2, $what";
    is $answer->{body}, $status == 413 ? $too_large
        : $status == 415 ? $not_json : '{}', '... the answer is whole';
    ok $answer->{ended}, '... and ended';
}

{
    my $stream = $frames->open('POST', "/api$tags", token => $token,
        headers => \@type, more => 1);
    my $body = tag;
    $frames->data($stream, $_, more => 1) for split //, $body;
    $frames->data($stream, ' ');
    is $frames->response($stream)->{status}, 201, 'HTTP/2, byte by byte';
}

is $nginx->sql("select count(*) from tag where tag_name !~ '^t[0-9]+\$'"), 0,
    'no refused body was stored';

done_testing;
