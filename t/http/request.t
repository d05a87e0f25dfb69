# A request is checked in a fixed order, and the first check that fails gives
# the answer: token, rate limit, path, method, guild_id, server and kind of the
# token, parameters and body, whether the token is still valid in the database.
# No answer is HTML or empty; the rate limit's headers are on every answer.
use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(locations => <<'CONF');
    location /few/ {
        guildlog_api;
        guildlog_limit requests=2 window=60s;
    }

    location /rewritten/ {
        rewrite ^/rewritten/([^/]*)$
                /api/servers/$1/config/settings?a=%2f&bot=pro break;
        guildlog_api /api;
    }

    location /v2/here/ {
        guildlog_api /v2/here/;
    }

    location /if/ {
        guildlog_api;
        if ($http_x_test) {
            set $test 1;
        }
        limit_except GET {
            allow all;
        }
    }
CONF

my $server  = $nginx->server;
my $other   = $nginx->server;
my $token   = $nginx->token($server);
my $basic   = $nginx->token($server, kind => 'basic');
my $revoked = $nginx->new_token($server);
my $spent   = $nginx->token($server);
my $at      = "/servers/$server";
my $tags    = "$at/tags";

is $nginx->request('DELETE', "$at/auth?tokenId=$revoked->{unique_id}",
    token => $token)->status, 200, 'a token is revoked';


sub answers {
    my ($what, $status, $body, $answer) = @_;

    subtest $what => sub {
        is $answer->status, $status, 'status';
        is $answer->header('Content-Type'), 'application/json', 'JSON';
        ok defined $answer->header($_), $_
            for qw(X-RateLimit-Limit X-RateLimit-Remaining);
        is scalar(my @n = $answer->header('X-RateLimit-Limit')), 1,
            '... once';
        ref $body ? like $answer->text, $body, 'body'
                  : is $answer->text, $body, 'body';
        is !!$answer->header('WWW-Authenticate'), $status == 401,
            'a challenge, for 401 only';
        is !!$answer->header('Allow'), $status == 405, 'Allow';
        is !!$answer->header('Retry-After'), $status =~ /^(?:429|503)$/,
            'Retry-After';
    };
    return $answer;
}


sub error_of {
    my ($field) = @_;
    return qr/^\{"error":"\Q$field\E[^"]+","code":"\w+"[^}]*\}$/;
}


# two things are wrong at once: the check that comes first answers

for my $path ('/nothing', "/servers/12/auth", "/servers/$other", $tags,
              "$at/auth?bot=x")
{
    answers "no token before all of $path", 401, '{}',
        $nginx->request('PUT', $path, json => '{');
}

{
    my @spend = map { $nginx->get("/few$at", token => $spent, raw_path => 1) }
        1 .. 2;
    is $spend[1]->status, 200, 'the first two requests are allowed';

    answers "429 before all of $_", 429, '{}',
        $nginx->request('PUT', "/few$_", token => $spent, raw_path => 1,
            json => '{')
        for '/nothing', '/servers/12/auth', "/servers/$other", $tags;
}

answers '404 before 400', 404, '{}',
    $nginx->get('/servers/12/nothing', token => $token);
answers '404 before 403', 404, '{}',
    $nginx->get("/servers/$other/nothing", token => $token);
answers '404 before the body', 404, '{}',
    $nginx->post("$at/nothing", token => $token, json => '{');

is answers('405 before 400', 405, '{}',
        $nginx->patch('/servers/12/tags', token => $token))->header('Allow'),
    'POST', 'Allow has what the path allows: POST';
is answers('405 before 403', 405, '{}',
        $nginx->put("/servers/$other/auth", token => $token))
    ->header('Allow'), 'GET, HEAD, POST, DELETE',
        'Allow has all that the path allows';
answers '405 before the body', 405, '{}',
    $nginx->post("$at/config", token => $token, body => 'x' x 70000);
answers '405 for a method that nginx does not know', 405, '{}',
    $nginx->request('BREW', $at, token => $token);

answers 'guild_id before server and kind', 400, error_of('guild_id: '),
    $nginx->get('/servers/1234567890123456', token => $basic);
answers 'guild_id before parameters', 400, error_of('guild_id: '),
    $nginx->get('/servers/12?bot=x', token => $token);
answers "$_ is no guild_id", 400, error_of('guild_id: '),
    $nginx->get("/servers/$_", token => $token)
    for '9223372036854775808', '123456789012345678901', "${server}x", '-1',
        '%E2%82%AC';

answers 'server before kind, parameters and body', 403, '{}',
    $nginx->post("/servers/$other/tags?bot=x", token => $token, json => '[');
answers 'kind before parameters and body', 403, '{}',
    $nginx->post("$tags?bot=x", token => $basic, json => '[');
answers 'an ID with leading zeros is another server', 403, '{}',
    $nginx->get("/servers/0$server", token => $token);

answers 'parameters before the body', 400, error_of('bot: '),
    $nginx->post("$tags?bot=x", token => $token, json => '[');
answers 'parameters before a revoked token', 400, error_of('bot: '),
    $nginx->get("$at?bot=x", token => $revoked->{token});
answers 'the body before a revoked token', 400, error_of('tag_name: '),
    $nginx->post($tags, token => $revoked->{token}, json => { content => 'x' });
answers 'a revoked token before the work', 401, '{}',
    $nginx->delete("$tags/nothing", token => $revoked->{token});


# paths

answers "404 for $_", 404, '{}', $nginx->get($_, token => $token)
    for "$at/", "$at/config/", "$at/config%2Fsettings",
        "/servers/$server%2Fconfig", "/servers%2f$server", '/', '/servers',
        '/servers/', "$at/config/logging/ignore/7",
        "$at/config/logging/settings/102", "$at/config/logging/settings/01",
        "$at/Config", '/status', "$at//config", '//servers', "/$at",
        "$at/config//settings";

# an empty ID in a path does not select the whole list
is $nginx->post("$at/notifications//acknowledge", token => $token)->status,
    404, 'slashes are not merged around an empty piece';
is $nginx->post("$at/notifications/$_/acknowledge", token => $token)->status,
    404, "nor is $_ left out of the path" for '.', '%2e', 'x/..', 'x/%2E.';
is $nginx->get("$at/config/settings?a=//", token => $token)->status, 404,
    'slashes in the query are not part of the path';

is $nginx->get("/servers/$server/con%66ig", token => $token)->status, 200,
    'a letter of the path may be escaped';
is $nginx->get("$at/config/settings?a=%2f", token => $token)->status, 404,
    '%2F in the query is not part of the path';
is $nginx->get("$at?a=b/c%2fd", token => $token)->status, 200,
    '%2F in the query does not change the path';
is $nginx->get("/rewritten/$server", token => $token, raw_path => 1)
    ->status, 404, 'a query that a rewrite made longer';
is $nginx->get("/rewritten/$server%2f", token => $token, raw_path => 1)
    ->text, '{}', '... and that begins with %2F';
is $nginx->get("/v2/here$at", token => $token, raw_path => 1)->status, 200,
    'a location with another prefix';


# parameters

is $nginx->get("$at?nothing=1&nothing=2&x", token => $token)->status, 200,
    'unknown parameters are ignored';
answers 'given twice', 400, error_of('bot: '),
    $nginx->get("$at?bot=pro&bot=pro", token => $token);
answers "?$_", 400, error_of('bot: '), $nginx->get("$at?$_", token => $token)
    for 'bot=', 'bot', 'bot=main', 'bot=PRO', 'bot=pro%00', 'bot=%ff';
answers 'a parameter missing', 400, error_of('tokenId: '),
    $nginx->delete("$at/auth", token => $token);
is $nginx->get("$at?%62ot=pro", token => $token)->status, 200,
    "a parameter's name may be escaped";


# HEAD

{
    my $client = $nginx->connection;
    my $get  = $client->request('GET', "/api$at", token => $token);
    my $head = $client->request('HEAD', "/api$at", token => $token);

    is $head->status, 200, 'HEAD as GET';
    is $head->header('Content-Length'), length $get->text,
        "HEAD has the length of GET's body";
    $head = $client->request('HEAD', "/api$at/nothing", token => $token);
    is $head->status, 404, 'HEAD of a path that does not exist';
    is $head->header('Content-Length'), 2, '... has the length of {}';
    is $client->request('GET', "/api$at", token => $token)->text, $get->text,
        'no body of HEAD was sent';
}


# the module handles requests also inside "if" and limit_except

is $nginx->get("/if$at", token => $token, raw_path => 1,
    headers => ['X-Test', 1])->status, 200, 'in "if"';
answers 'in "if" without a token', 401, '{}',
    $nginx->get("/if$at", raw_path => 1, headers => ['X-Test', 1]);
answers 'in limit_except', 401, '{}',
    $nginx->post("/if$tags", raw_path => 1, json => {});


# many requests on one connection are answered in their order

{
    my $client = $nginx->connection;
    my @wanted = map { (200, 404, 401, 400, 405) } 1 .. 20;
    my %request = (
        200 => ['GET',  $at,               $token],
        404 => ['GET',  "$at/nothing",     $token],
        401 => ['GET',  $at,               'nonsense'],
        400 => ['GET',  '/servers/12',     $token],
        405 => ['POST', "$at/config",      $token],
    );
    $client->send(join '', map {
        my ($method, $path, $bearer) = @{ $request{$_} };
        "$method /api$path HTTP/1.1\r\nHost: localhost\r\n"
            . "Authorization: Bearer $bearer\r\n\r\n";
    } @wanted);
    is join(' ', map { $client->response->status } @wanted), "@wanted",
        'a hundred requests sent at once';
}


# nginx itself refuses these requests; error_page leads them to the API

my ($sample, $used) = map {
    open my $in, '<', $_ or die "$_: $!";
    my $text = do { local $/; <$in> };
    $text =~ /^ *(error_page +[\d ]+ \/api\/;)/m ? $1 =~ s/ +/ /gr : undef;
} "$Guildlog::TOP/conf/guildlog.conf", $nginx->prefix . '/nginx.conf';
ok defined $sample, 'the sample configuration has error_page';
is $used, $sample, '... the same as these tests';

sub raw {
    my ($bytes) = @_;

    my $client = $nginx->connection;
    $client->send($bytes);
    return $client->response;
}

is raw("GET http://localhost/api$at HTTP/1.1\r\nHost: localhost\r\n"
    . "Authorization: Bearer $token\r\n\r\n")->status, 200,
    'an absolute URL as the path';
is raw("GET /api$at HTTP/1.0\r\nAuthorization: Bearer $token\r\n\r\n")
    ->status, 200, 'HTTP/1.0';

my $authorized = "Host: localhost\r\nAuthorization: Bearer $token\r\n";

answers 'TRACE without a token', 401, '{}', raw(
    "TRACE /api$at HTTP/1.1\r\nHost: localhost\r\n\r\n");
is answers('TRACE', 405, '{}', raw(
        "TRACE /api$tags?x=1 HTTP/1.1\r\n$authorized\r\n"))->header('Allow'),
    'POST', 'TRACE gets 405 with what the path allows';
answers 'TRACE of a path that does not exist', 404, '{}', raw(
    "TRACE /api/nothing HTTP/1.1\r\n$authorized\r\n");
answers 'no Host', 400, qr/^\{"error":/, raw(
    "GET /api$at HTTP/1.1\r\nAuthorization: Bearer $token\r\n\r\n");
answers 'two Hosts', 400, qr/^\{"error":/, raw(
    "GET /api$at HTTP/1.1\r\n${authorized}Host: localhost\r\n\r\n");
answers 'a bad length and no token', 401, '{}', raw(
    "POST /api$tags HTTP/1.1\r\nHost: localhost\r\nContent-Length: -2\r\n\r\n");
answers 'a length and chunks', 400, qr/^\{"error":/, raw(
    "POST /api$tags HTTP/1.1\r\n${authorized}Content-Length: 2\r\n"
    . "Transfer-Encoding: chunked\r\n\r\n{}");
answers 'an unknown Transfer-Encoding', 501, '{}', raw(
    "POST /api$tags HTTP/1.1\r\n${authorized}Transfer-Encoding: x\r\n\r\n");
answers 'a bad length', 400, qr/^\{"error":/, raw(
    "POST /api$tags HTTP/1.1\r\n${authorized}Content-Length: -2\r\n\r\n");
answers 'a long header', 400, qr/^\{"error":/, raw(
    "GET /api$at HTTP/1.1\r\n${authorized}X-A: " . 'a' x 20000 . "\r\n\r\n");

# where nginx refused before it read the token, there is no challenge

is answers('two Hosts before the token', 400, qr/^\{"error":/, raw(
        "GET /api$at HTTP/1.1\r\nHost: localhost\r\n$authorized\r\n"))
    ->header('WWW-Authenticate'), undef, '... gets no challenge';
answers 'a long header before the token', 400, qr/^\{"error":/, raw(
    "GET /api$at HTTP/1.1\r\nX-A: " . 'a' x 20000 . "\r\n$authorized\r\n");
answers 'a long request line', 414, '{}', raw(
    "GET /api$at?" . 'a' x 20000 . " HTTP/1.1\r\n$authorized\r\n");
answers 'a NUL in the path', 400, qr/^\{"error":/, raw(
    "GET /api$at/config/settings%00 HTTP/1.1\r\n$authorized\r\n");
answers 'a broken percent-encoding in the path', 400, qr/^\{"error":/, raw(
    "GET /api$at/%zz HTTP/1.1\r\n$authorized\r\n");
answers 'no request line', 400, qr/^\{"error":/, raw("nonsense\r\n\r\n");
answers 'HTTP/9.9', 505, '{}', raw("GET /api$at HTTP/9.9\r\n$authorized\r\n");

my $operator = Guildlog::Client->new(
    unix => $nginx->prefix . '/operator.sock');

# answers have no ETag and no date.  nginx's filter would answer 412 in HTML,
# after the work was done, or 304 to a client that has nothing

for my $condition (
    ['If-None-Match' => '*'],
    ['If-Match' => '"x"'],
    ['If-Unmodified-Since' => 'Sun, 06 Nov 1994 08:49:37 GMT'],
) {
    answers "$condition->[0] of a read", 200, qr/^\{"total":/,
        $nginx->get("$at/logs", token => $token, headers => $condition);
    answers "$condition->[0] of a change", 200, '{}',
        $nginx->patch("$at/config/logging/settings", token => $token,
            headers => $condition, json => { spoilers => \1 });
    like $nginx->get("$at/logs/export", token => $token,
        headers => $condition)->text, qr/^timestamp,/,
        "$condition->[0] of an export";
    is $operator->request('PUT', $at, headers => $condition,
        json => { name => 'a' })->status, 200,
        "$condition->[0] at the operator's";
}


# "error_page 400 = /api/" hides the status from the module

$nginx->configure(http => <<'CONF');
    server {
        listen unix:%%PREFIX%%/hidden.sock;
        error_page 400 = /api/;
        location /api/ {
            guildlog_api;
        }
    }
CONF
$nginx->reload;

for my $head ("${authorized}Content-Length: -2", "Host: a\r\nHost: b") {
    my $client = Guildlog::Client->new(
        unix => $nginx->prefix . '/hidden.sock');
    $client->send("POST /api$tags HTTP/1.1\r\n$head\r\n\r\n");
    answers 'a status that error_page hides', 400, qr/^\{"error":/,
        $client->response;
}

done_testing;
