# guildlog_auth and guildlog_limit guard any location as they guard the API, and
# work together with nginx's own access modules.  Logs, maps and headers learn
# from the variables who asks.

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(
    http => <<'CONF',
        map $guildlog_kind $level {
            default nobody;
            admin   high;
            basic   low;
            read    mere;
        }

        log_format guard '$arg_mark$http_mark|$guildlog_token_id|$guildlog_server|'
            '$guildlog_kind|$guildlog_bot|$guildlog_auth_status|'
            '$guildlog_limit_status|$guildlog_endpoint|$level|'
            '$guildlog_statement|$guildlog_db_time';
        access_log logs/guard.log guard;

        server {
            listen unix:%%PREFIX%%/backend.sock;
            set $told "$http_x_server/$http_x_kind/$http_x_token";
            return 200 "$told/$http_authorization";
        }
CONF
    api       => 'guildlog_limit window=1h;',
    server    => 'root %%PREFIX%%/files;',
    locations => <<'CONF',
        location /any/ {
            guildlog_auth on;
            guildlog_limit requests=1000;
        }

        location /admin/ {
            guildlog_auth on admin;

            location /admin/open/ {
                guildlog_auth off;
            }
        }

        location /limited/ {
            guildlog_limit requests=2 window=1h;
        }

        location /proxied/ {
            guildlog_auth on;
            proxy_pass http://unix:%%PREFIX%%/backend.sock:/;
            proxy_set_header X-Server $guildlog_server;
            proxy_set_header X-Kind $guildlog_kind;
            proxy_set_header X-Token $guildlog_token_id;
            proxy_set_header Authorization "";
        }

        location /unguarded/ {
            proxy_pass http://unix:%%PREFIX%%/backend.sock:/;
            proxy_set_header X-Server $guildlog_server;
            proxy_set_header X-Kind $guildlog_kind;
            proxy_set_header X-Token $guildlog_token_id;
        }

        location /either/ {
            satisfy any;
            guildlog_auth on;
            auth_basic "basic";
            auth_basic_user_file users;
        }

        location /address/ {
            satisfy any;
            guildlog_auth on;
            allow 127.0.0.2;
            deny all;
        }

        location /both/ {
            guildlog_auth on;
            allow 127.0.0.2;
            deny all;
        }

        location /api-any/ {
            satisfy any;
            allow all;
            guildlog_api;
        }

        location /guarded/ {
            guildlog_auth on admin;

            location /guarded/asks/ {
                auth_request /guarded/judge;
            }

            location = /guarded/judge {
                internal;
                return 204;
            }
        }

        location /switched/ {
            guildlog_api;
            if ($arg_away) {
                proxy_pass http://unix:%%PREFIX%%/backend.sock;
            }
            if ($arg_here) {
                set $here 1;
            }
        }

        location /loud/ {
            guildlog_limit requests=1;
            guildlog_limit_log_level warn;
        }

        location /asks-any/ {
            satisfy any;
            guildlog_auth on;
            auth_request /granted;
        }

        location = /granted {
            internal;
            return 204;
        }

        location /live/ {
            guildlog_auth on;
            auth_request /lives;
        }

        location = /lives {
            internal;
            rewrite ^ /api/servers/$guildlog_server break;
            guildlog_api /api;
        }

        location /pages/ {
            guildlog_auth on;
            guildlog_limit requests=2 window=2h;
            error_page 401 /open/401;
            error_page 403 = @fallback;
            error_page 429 =200 /open/429;

            location /pages/admin/ {
                guildlog_auth on admin;
            }
        }

        location @fallback {
            return 200 "fallback $guildlog_kind $guildlog_server";
        }

        location /json/ {
            guildlog_auth on admin;
            guildlog_limit requests=1 window=1h;
            error_page 401 403 429 /api/;
        }

        location /included/ {
            ssi on;
            ssi_types *;
        }

        location /headers/ {
            guildlog_auth on;
            add_header X-Who
                "$guildlog_server/$guildlog_kind/$level/$guildlog_bot" always;
        }

        location /other-keys/ {
            guildlog_key HS256 other.key;
            guildlog_issuer somebody;
            guildlog_auth on;
        }

        location /third-keys/ {
            guildlog_key HS256 third.key;
            guildlog_auth on;
        }

        location /redirects/ {
            guildlog_auth on;
            try_files /nothing /any/file;
        }

        location /redirects/other {
            guildlog_auth on;
            try_files /nothing /other-keys/file;
        }

        location /redirects/third {
            guildlog_auth on;
            try_files /nothing /third-keys/file;
        }
CONF
    start => 0,
);

$nginx->file("files/$_", "content of $_") for map({ "$_/file" } qw(any admin
    admin/open limited either address both guarded/asks asks-any live json
    headers keys other-keys third-keys pages pages/admin)), 'open/401', 'open/429';
$nginx->file('files/included/file',
    'before <!--# include virtual="/any/file" --> after');
$nginx->file('users', "u:{PLAIN}p\n");
$nginx->file('other.key', 'the key of somebody else, for others', 0600);
$nginx->file('third.key', 'the key of a third, for others again', 0600);
$nginx->start;

my $server = $nginx->server;
my $made   = $nginx->new_token($server);
my $admin  = $made->{token};
my $basic  = $nginx->token($server, kind => 'basic', bot => 'pro');
my $reads  = $nginx->token($server, kind => 'read');
my $at     = "/servers/$server";
my @basic_auth = (headers => [Authorization => 'Basic dTpw']);


sub get {
    my ($path, @option) = @_;
    return $nginx->get($path, raw_path => 1, @option);
}


# checks the status and the body; of nginx's own pages only the status
sub is_answer {
    my ($path, $option, $want, $what) = @_;

    my $answer = get($path, @$option);
    my $body = $answer->text =~ /<html>/ ? '' : ' ' . $answer->text;
    is $answer->status . $body, $want, $what;
    return $answer;
}


# a file

my $answer = is_answer '/any/file', [], 401, 'no token';
is $answer->header('WWW-Authenticate'), 'Bearer realm="guildlog"',
    '... gets a challenge';
is $answer->header('X-RateLimit-Limit'), 1000, '... counts against the limit';
is $answer->header('X-RateLimit-Remaining'), 999, '... once';

$answer = is_answer '/any/file', [token => "${admin}x"], 401, 'a bad token';
is $answer->header('WWW-Authenticate'),
    'Bearer realm="guildlog", error="invalid_token"',
        '... gets a challenge that says so';

$answer = is_answer '/any/file', [token => $admin],
    '200 content of any/file', 'an Admin token';
is $answer->header('X-RateLimit-Remaining'), 999, '... has its own window';
is $answer->header('WWW-Authenticate'), undef, '... and no challenge';

is_answer '/any/file', [token => $basic], '200 content of any/file',
    'a Basic token';
is_answer '/any/file', [token => $reads], '200 content of any/file',
    'a Read token';
is_answer '/admin/file', [token => $reads], 403, '"on admin": a Read token';
is_answer '/admin/file', [token => $admin], '200 content of admin/file',
    '"on admin": an Admin token';
$answer = is_answer '/admin/file', [token => $basic], 403,
    '"on admin": a Basic token';
is $answer->header('WWW-Authenticate'), undef, '... which gets no challenge';
is_answer '/admin/file', [], 401, '"on admin": no token';
is_answer '/admin/open/file', [], '200 content of admin/open/file', '"off"';
is_answer '/admin/nothing', [], 401,
    'a file that does not exist: strangers get 401';
is_answer '/admin/nothing', [token => $admin], 404, '... an Admin gets 404';

{
    my $client = $nginx->connection;
    my @status = map {
        $client->request('GET', '/admin/file', token => $_)->status
    } $basic, $admin, undef, $admin, "${admin}x", $basic, $admin;
    is "@status", '403 200 401 200 401 403 200',
        'one connection, several tokens';
}

is join(' ', map { get('/limited/file')->status } 1 .. 4), '200 200 429 429',
    'a limit without authentication';
like get('/limited/file')->header('Retry-After'), qr/^3[56]\d\d$/,
    '... says when to come back';


# a proxy

is_answer '/proxied/', [token => $admin],
    "200 $server/admin/$made->{unique_id}/", 'the backend learns who asks';
is_answer '/proxied/', [token => $admin, headers => ['X-Server', 'forged',
    'X-Kind', 'forged', 'X-Token', 'forged']],
    "200 $server/admin/$made->{unique_id}/",
        '... and forged headers do not reach it';
is_answer '/proxied/', [], 401,
    '... a request without a token does not reach it';
is_answer '/unguarded/', [token => $admin, headers => ['X-Server', 'forged',
    'X-Kind', 'forged', 'X-Token', 'forged']], "200 ///Bearer $admin",
    'without guildlog_auth the variables are empty';


# satisfy

is_answer '/either/file', [token => $admin], '200 content of either/file',
    'satisfy any: a token';
$answer = is_answer '/either/file', \@basic_auth,
    '200 content of either/file', 'satisfy any: a password';
is $answer->header('WWW-Authenticate'), undef, '... and no challenge';
$answer = is_answer '/either/file', [], 401, 'satisfy any: neither';
is join(', ', sort $answer->header('WWW-Authenticate')),
    'Basic realm="basic", Bearer realm="guildlog"', '... gets both challenges';
is_answer '/address/file', [token => $admin], '200 content of address/file',
    'satisfy any: a token';
$answer = is_answer '/address/file', [connect => { from => '127.0.0.2' }],
    '200 content of address/file', 'satisfy any: an address';
is $answer->header('WWW-Authenticate'), undef, '... and no challenge';
like is_answer('/address/file', [], 401, 'satisfy any: neither')
    ->header('WWW-Authenticate'), qr/^Bearer/, '... gets a challenge';
is_answer '/both/file', [token => $admin], 403, 'satisfy all: a token';
is_answer '/both/file', [connect => { from => '127.0.0.2' }], 401,
    'satisfy all: an address';
is_answer '/both/file', [token => $admin,
    connect => { from => '127.0.0.2' }], '200 content of both/file',
    'satisfy all: both';
is_answer "/api-any$at", [], '401 {}',
    'the API takes only tokens, whatever "satisfy" says';


# subrequests

is_answer '/guarded/asks/file', [token => $admin],
    '200 content of guarded/asks/file', 'auth_request and guildlog_auth';
is_answer '/guarded/asks/file', [], 401, '... both are needed';
is_answer '/asks-any/file', [], '200 content of asks-any/file',
    'satisfy any: auth_request';

is_answer '/live/file', [token => $admin], '200 content of live/file',
    'auth_request to the API: a token that is alive';
is_answer '/live/file', [], 401, '... no token';

{
    my $doomed = $nginx->new_token($server);
    is_answer '/live/file', [token => $doomed->{token}],
        '200 content of live/file', 'a token before it is revoked';
    is $nginx->delete("$at/auth?tokenId=$doomed->{unique_id}",
        token => $admin)->status, 200, '... it is revoked';
    like is_answer('/live/file', [token => $doomed->{token}], 401,
        '... it is refused at once')->header('WWW-Authenticate'),
        qr/error="invalid_token"/, '... with a challenge';
}

is_answer '/included/file', [], '200 before content of any/file after',
    'a subrequest is not checked, as with auth_basic';


# "if" in a location of the API

is_answer "/switched$at/nothing?away=1", [], '200 ///',
    '"if" with a handler of its own';
is_answer "/switched$at/nothing?here=1", [], '401 {}', '... without a handler';
is_answer "/switched$at/nothing", [token => $admin], '404 {}',
    '... whose condition is false';


# guildlog_limit_log_level

get('/loud/') for 1, 2;
like $nginx->error_log, qr/\[warn\] .*rate limited/,
    'a refusal is logged at the level that was configured';


# redirects and error pages

is_answer '/pages/file', [token => $basic], '200 content of pages/file',
    'no error';
$answer = is_answer '/pages/file', [], '401 content of open/401',
    'an error page for 401';
like $answer->header('WWW-Authenticate'), qr/^Bearer/,
    '... keeps the challenge';
is $answer->header('X-RateLimit-Remaining'), 1,
    '... keeps the headers of the limit';
is_answer '/pages/admin/file', [token => $basic], "200 fallback basic $server",
    'a fallback for 403 knows who asks';
$answer = is_answer '/pages/admin/file', [token => $basic],
    '200 content of open/429', 'an error page for 429';
is $answer->header('X-RateLimit-Remaining'), 0,
    '... keeps the headers of the limit';
like $answer->header('Retry-After'), qr/^7[12]\d\d$/, '... and Retry-After';

$answer = is_answer '/json/file', [], '401 {}',
    'the API as the error page for 401';
is scalar(my @c = $answer->header('WWW-Authenticate')), 1,
    '... with one challenge';
is scalar(my @l = $answer->header('X-RateLimit-Limit')), 1,
    '... and one set of headers';
is_answer '/json/file', [token => $basic], '403 {}', '... for 403';

{
    my $left = sub {
        get("/api$at/nothing", token => $basic)
            ->header('X-RateLimit-Remaining');
    };
    my $before = $left->();
    $answer = is_answer '/json/file', [token => $basic,
        headers => [Mark => 'g']], '429 {}', '... for 429';
    is $answer->header('X-RateLimit-Limit'), 1,
        '... with the headers of the limit that refused';
    is $answer->header('X-RateLimit-Remaining'), 0, '... and nothing left';
    like $answer->header('RateLimit'), qr/^"default";r=0;t=3[56]\d\d$/,
        '... also in the one-line header';
    like $answer->header('Retry-After'), qr/^3[56]\d\d$/,
        '... and Retry-After until the window ends';
    is $left->(), $before - 1, "... and the API's own is not charged for it";
    is_answer '/json/file', [], '429 {}', '... also without a token';
}

is_answer '/redirects/', [token => $admin], '200 content of any/file',
    'an internal redirect into another location';
is_answer "/redirects/$_", [token => $admin], 401,
    '... tokens of other keys are refused before it' for qw(other third);
is_answer '/other-keys/file', [token => $nginx->sign(
    $nginx->claims($server, iss => 'somebody'), kid => undef,
    key => 'the key of somebody else, for others')],
    '200 content of other-keys/file',
    "tokens of the location's own keys are accepted";
is_answer '/any/file', [token => $nginx->sign(
    $nginx->claims($server, iss => 'somebody'), kid => undef,
    key => 'the key of somebody else, for others')], 401, '... and no others';


# the variables

is get('/headers/file', token => $admin)->header('X-Who'),
    "$server/admin/high/main", 'the variables in a header and a map: Admin';
is get('/headers/file', token => $basic)->header('X-Who'),
    "$server/basic/low/pro", '... Basic';
is get('/headers/file', token => $reads)->header('X-Who'),
    "$server/read/mere/main", '... Read';
is get('/headers/file')->header('X-Who'), '//nobody/', '... no token';

get('/any/file?mark=a', token => $admin);
get('/any/file?mark=b');
get('/any/file?mark=c', token => $nginx->sign(
    $nginx->claims($server, exp => 1)));
get("/api$at?mark=d", token => $admin);
get("/api$at/nothing?mark=e", token => $admin);
get('/open/401?mark=f', token => $admin);

my %log;
wait_for {
    open my $in, '<', $nginx->prefix . '/logs/guard.log' or return;
    %log = map { /^-?([a-g])-?\|(.*)$/ ? ($1, $2) : () } <$in>;
    return keys %log == 7;
};
my $who = "$made->{unique_id}|$server|admin|main|ok|passed";

is $log{a}, "$who|-|high|-|-", 'the variables in the log: a guarded file';
is $log{b}, '-|-|-|-|missing|passed|-|nobody|-|-', '... no token';
is $log{c}, '-|-|-|-|expired|passed|-|nobody|-|-', '... an expired token';
like $log{d}, qr/^\Q$who|server_get|high|server_get|\E\d+\.\d{6}$/, 'the API';
is $log{e}, "$who|-|high|-|-", '... the API, no such endpoint';
is $log{f}, '-|-|-|-|-|-|-|nobody|-|-', '... a location without guildlog_auth';
like $log{g}, qr/\|basic\|pro\|ok\|limited\|-\|low\|-\|-$/, '... a 429 of the API';


# guildlog_key in a location, guildlog_auth above it

$nginx->configure(conf => <<'CONF');
    server {
        listen unix:%%PREFIX%%/strict.sock;
        guildlog_auth on;
        root %%PREFIX%%/files;

        location /open/ {
            guildlog_auth off;
        }

        location /keys/ {
            guildlog_key HS256 main.key kid=main;
        }
    }
CONF
$nginx->reload;

my $strict = sub {
    my ($path, @option) = @_;
    return Guildlog::Client->new(unix => $nginx->prefix . '/strict.sock')
        ->request('GET', $path, @option);
};
is $strict->('/keys/file', token => $admin)->text, 'content of keys/file',
    'the keys of a location';
is $strict->('/keys/file')->status, 401, '... need a token';
is $strict->('/open/401')->text, 'content of open/401',
    'a location without guildlog_auth needs no keys';
is $strict->('/any/file', token => $admin)->status, 500,
    'a location without keys lets nobody in';

done_testing;
