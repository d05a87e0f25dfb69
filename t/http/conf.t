# Each directive checks its arguments: nginx -t refuses a wrong value with a
# message that names it.  Files of secrets may not be readable by everybody.  A
# location is never both the API's and the operator's.  nginx -t asks no
# database.

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(start => 0);
my $key   = 'guildlog_key HS256 main.key sign;';
my $api   = 'location /api/ { guildlog_api; }';

$nginx->file('second.key', 'a second secret, as good as the first', 0600);
$nginx->file('open.key', 'a secret that everybody may read, alas', 0644);
$nginx->file('group.key', 'a secret that a group may read, too', 0640);
$nginx->file('empty.key', '', 0600);
$nginx->file('short.key', 'short', 0600);
$nginx->file('open.password', 'open', 0644);
$nginx->file('group.password', 'open', 0640);
$nginx->file('nul.password', "a\0b");
$nginx->file('empty.password', "\n");
$nginx->file('long.password', 'x' x 300);
my %pair = map { $_ => $nginx->key_pair($_) } qw(RS256 ES256);

for (['loose.pem', 'public', 0666], ['naked.pem', 'private', 0644]) {
    my ($name, $half, $mode) = @$_;
    open my $in, '<', $pair{RS256}{$half} or die;
    $nginx->file($name, do { local $/; <$in> }, $mode);
}


# the http block: $http, and a server with $server in it
sub test {
    my ($http, $server) = @_;

    $nginx->configure(conf => "$http server { listen unix:%%PREFIX%%/s;"
        . " $server }");
    return $nginx->test_conf;
}


sub refused {
    my ($message, $http, $server) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    $server //= '';
    my ($ok, $said) = test($http, $server);
    my ($line) = grep { /\[emerg\]/ } split /\n/, $said;
    ok !$ok && ($line // '') =~ $message, "$http $server" =~ s/\s+/ /gr
        or diag "status ", $ok ? 'good' : 'bad', ": $said";
}


# it is accepted, and the operator is told of this
sub warned {
    my ($message, $http, $server) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($ok, $said) = test($http, $server);
    my ($line) = grep { /\[warn\]/ } split /\n/, $said;
    ok $ok && ($line // '') =~ $message, "$http warns" =~ s/\s+/ /gr
        or diag $said;
}


sub accepted {
    my ($what, $http, $server) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($ok, $said) = test($http, $server);
    ok $ok, $what or diag $said;
    unlike $said, qr/\[(?:warn|error|alert|crit)\]/, '... without a warning';
}


# guildlog_database

my $here = "guildlog_database password_file=database.password";

accepted 'defaults', "guildlog_database; $key", $api;
accepted 'all parameters of guildlog_database', <<"CONF", $api;
    guildlog_database name=default host=127.0.0.1,%%PREFIX%%,::1 port=1
        dbname=d user=u password_file=%%PREFIX%%/database.password
        sslmode=disable connections=1 long_connections=1 depth=1 queue=1
        connect_timeout=1ms timeout=1s long_timeout=1m queue_timeout=1h
        prepare=off;
    $key
CONF

refused qr/"pasword_file=x", it takes name=, host=, port=, .*, password_file=, /,
    "guildlog_database pasword_file=x; $key", $api;
refused qr/invalid parameter "port=x" in/, "guildlog_database port=x; $key", $api;

# that is an address for documents
warned qr/"default" is reached over TCP without TLS: .* goes to "192\.0\.2\.1"/,
    "guildlog_database host=$_; $key", $api
    for '192.0.2.1', '%%PREFIX%%,192.0.2.1';

refused qr/invalid parameter "$_"/, "guildlog_database $_; $key", $api
    for 'port=0', 'port=65536', 'port=x', 'port=', 'host=', 'host=a,,b',
        'host=,a', 'connections=0', 'connections=-1', 'connections=x',
        'connections=1000001', 'long_connections=0', 'depth=0', 'queue=0',
        'connect_timeout=0', 'timeout=-1s', 'timeout=x', 'long_timeout=1x',
        'queue_timeout=', 'prepare=yes', 'prepare=ON', 'nonsense',
        'nonsense=1', 'name', 'dbname', 'user=', 'HOST=a', 'password=secret';

refused qr/takes sslmode=disable or sslmode=verify-full/,
    "guildlog_database sslmode=$_; $key", $api
    for qw(prefer require allow verify-ca VERIFY-FULL);
refused qr/with sslmode=verify-full needs sslrootcert/,
    "guildlog_database sslmode=verify-full; $key", $api;

refused qr/is duplicate/, "$here; $here; $key", $api;
refused qr/is duplicate/, "$here name=a; $here name=a; $key";
refused qr/could not read "[^"]+nothing" \(2: No such file/,
    "guildlog_database password_file=nothing; $key", $api;
refused qr/does not hold a password/,
    "guildlog_database password_file=$_.password; $key", $api
    for qw(empty long nul);
refused qr/directive is not allowed here/, $key, "$here;";


# guildlog_keeper

accepted 'a keeper', "$here; guildlog_keeper $_; $key", $api
    for 'off', 'on', 'on budget=256 interval=1ms',
        'on interval=1h budget=1000000';
refused qr/invalid parameter "$_"/, "$here; guildlog_keeper on $_; $key", $api
    for 'budget=255', 'budget=1000001', 'budget=x', 'budget=', 'interval=0',
        'interval=61m', 'interval=-1s', 'nonsense=1', 'budget', 'off',
        'hours';
{
    my ($ok, $said) = test("$here; guildlog_keeper on hours=2-5; $key", $api);
    ok $ok, 'hours of the night, as version 0.1 had them';
    like $said, qr/\[warn\].* "hours" of "guildlog_keeper" is obsolete/,
        '... are not needed, which is said';
}
refused qr/duplicate parameter "database=a"/, "$here name=a; $here; $key"
    . ' guildlog_keeper on database=a budget=300 database=a;', $api;
refused qr/takes "off", or "on" and its parameters/,
    "$here; guildlog_keeper $_; $key", $api
    for 'yes', 'off budget=1000', 'budget=1000';
refused qr/is duplicate/,
    "$here; guildlog_keeper on; guildlog_keeper off; $key", $api;


# delivery

$nginx->file('bot', 'NDAwMDAwMDAwMDAwMDAwMDAx.AbCdEf.secret', 0600);
$nginx->file('open.bot', 'NDAwMDAwMDAwMDAwMDAwMDAx.AbCdEf.secret', 0644);
$nginx->file('empty.bot', "\n", 0600);
$nginx->file('two.bot', 'two words', 0600);
$nginx->file('delivery.key', '0f' x 32, 0600);
$nginx->file('base64.key', 'Dw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8=', 0600);
$nginx->file('open.delivery.key', '0f' x 32, 0644);
$nginx->file('long.delivery.key', '0f' x 33, 0600);
$nginx->file('huge.delivery.key', '0f' x 300, 0600);

my $delivers = "$here; $key guildlog_delivery secret=delivery.key;";
my $platform = 'guildlog_platform http://127.0.0.1:1/api/v10;';

accepted 'a delivery', "$platform guildlog_bot_token main bot; $delivers", $api;
warned qr/"guildlog_delivery" has no "guildlog_bot_token"/, "$platform $delivers",
    $api;
accepted 'all parameters of guildlog_delivery', <<"CONF", $api;
    $here;
    $here name=second;
    $key
    guildlog_platform https://127.0.0.1/api;
    guildlog_platform_rate 100000;
    guildlog_bot_token main bot;
    guildlog_bot_token pro bot;
    guildlog_delivery secret=base64.key database=second node=a-machine
                      connections=100;
    guildlog_delivery_unproved resend;
CONF
accepted 'a platform without delivery', "$here; $key $platform "
    . 'guildlog_platform_rate off; guildlog_bot_token main bot; '
    . 'guildlog_delivery_unproved keep;', $api;

refused qr/"guildlog_delivery" needs a "guildlog_platform"/, $delivers;
refused qr/needs "secret=file"/, "$here; $platform guildlog_delivery $_; $key"
    for 'node=a', 'database=default';
refused qr/invalid parameter "$_"/,
    "$here; $platform guildlog_delivery secret=delivery.key $_; $key"
    for 'nonsense', 'nonsense=1', 'node=', 'node=a/b', 'SECRET=a',
        'node=' . 'x' x 101, 'secret=', 'database=', 'connections=0', 'connections=101',
        'connections=a', 'connections=';
refused qr/no "guildlog_database" is named "second"/,
    "$here; $platform guildlog_delivery secret=delivery.key database=second; "
    . $key;
refused qr/could not read "[^"]+nothing"/,
    "$here; $platform guildlog_delivery secret=nothing; $key";
refused qr/must not be readable by everybody/,
    "$here; $platform guildlog_delivery secret=open.delivery.key; $key";
refused qr/does not hold 32 bytes/,
    "$here; $platform guildlog_delivery secret=$_; $key"
    for qw(short.key empty.key long.delivery.key huge.delivery.key);
refused qr/invalid number of arguments/, "$here; guildlog_delivery; $key";

refused qr/takes "main" or "pro", and a file/,
    "guildlog_bot_token $_ bot;" for qw(both MAIN);
refused qr/could not read "[^"]+nothing"/, 'guildlog_bot_token main nothing;';
refused qr/must not be readable by everybody/,
    'guildlog_bot_token main open.bot;';
refused qr/does not hold a bot's token/, "guildlog_bot_token main $_;"
    for qw(empty.bot two.bot huge.delivery.key);
refused qr/invalid number of arguments/, 'guildlog_bot_token main;';

refused qr/takes a number of requests a second, or "off"/,
    "guildlog_platform_rate $_;" for qw(0 -1 x 100001 on 1.5);
refused qr/invalid value "[^"]*"/, "guildlog_delivery_unproved $_;"
    for qw(on drop);
refused qr/is duplicate/, "$_ $_" for $platform, 'guildlog_platform_rate 5;',
    'guildlog_bot_token main bot;', 'guildlog_delivery_unproved keep;',
    'guildlog_delivery secret=delivery.key;';

refused qr/must begin with http:\/\/ or https:\/\//,
    "guildlog_platform $_;" for qw(127.0.0.1 ftp://a unix:/a);
refused qr/may only have a host, a port and a path/,
    "guildlog_platform $_;" for 'http://a?b', 'http://a@b', 'http://a/b#c';
refused qr/must be https:\/\/ for trusted=/,
    'guildlog_platform http://127.0.0.1 trusted=a;';
refused qr/invalid parameter "$_"/, "guildlog_platform https://127.0.0.1 $_;"
    for qw(trusted= trusted nonsense=1);
refused qr/invalid parameter "agent_url=\Q$_\E"/,
    "guildlog_platform http://127.0.0.1 'agent_url=$_';"
    for 'a.example', 'ftp://a', 'https://', 'https://a b', 'https://a,)',
        'https://a/#b';
accepted 'a platform that is told who asks',
    "$here; $key guildlog_platform http://127.0.0.1 agent_url=https://a.example/who;",
    $api;


# guildlog_login

{
    my $platform = 'guildlog_platform http://127.0.0.1:1/api;';
    my $at = sub { "location /login { guildlog_login $_[0]; }" };
    my $good = 'client=1 secret=main.key';
    my $here = "guildlog_database; $platform";

    accepted 'a sign-in', $here, $at->("$good scope=identify"
        . ' redirect=https://a.example/login/callback secret=second.key');
    refused qr/needs "client=" and "secret="/, $here, $at->($_)
        for 'client=1 scope=x', 'secret=main.key scope=x';
    refused qr/invalid parameter "$_"/, $here, $at->("$good $_")
        for 'redirect=/login', 'redirect=ftp://a', 'redirect=https://a/#b',
            'other=x';
    refused qr/must not be readable by everybody/, $here,
        $at->('client=1 secret=open.key');
    refused qr/does not hold a client's secret/, $here,
        $at->('client=1 secret=empty.key');
    refused qr/needs a "guildlog_platform"/, 'guildlog_database;', $at->($good);
    refused qr/a server has one/, $here, $at->($good)
        . "location /other { guildlog_login $good; }";
    refused qr/has another handler/, $here,
        "location /login { guildlog_status; guildlog_login $good; }";
    refused qr/has another handler beside "guildlog_login"/, $here,
        "location /login { guildlog_login $good; proxy_pass http://127.0.0.1; }";
    refused qr/needs a location by a prefix/, $here,
        "location $_ { guildlog_login $good; }"
        for '/login/', '/', '= /login', '~ /login', '@login';
}


# guildlog_viewer

accepted 'a viewer', '', 'location /viewer/ { guildlog_viewer; }';
accepted 'one that others may frame', '', 'location /viewer/ { guildlog_viewer'
    . ' frame-ancestors=https://a.example frame-ancestors=http://[::1]:8080; }';
refused qr/invalid parameter "\Q$_\E"/, '',
    "location /viewer/ { guildlog_viewer '$_'; }"
    for 'on', 'frame-ancestors=*', 'frame-ancestors=https://a.example/',
        'frame-ancestors=https://a/x', 'frame-ancestors=https://a; default-src *',
        'frame-ancestors=https://', 'frame-ancestors=a.example';
refused qr/is duplicate/, '',
    'location /viewer/ { guildlog_viewer; guildlog_viewer; }';
accepted 'pictures', 'guildlog_viewer_images on;',
    'location /viewer/ { guildlog_viewer; guildlog_viewer_images off; }';
refused qr/invalid value "yes"/, 'guildlog_viewer_images yes;';


# guildlog_links, guildlog_webhook, guildlog_colors

$nginx->file('avatar.png', "\x89PNG\r\n\x1a\n" . 'x' x 1000);
$nginx->file('large.png', "\x89PNG\r\n\x1a\n" . 'x' x 262_144);
$nginx->file('text.png', 'a text');

accepted 'what channels see', <<"CONF", $api;
    $here; $key
    guildlog_links viewer=https://a.example/viewer/ support=http://b.example/?x=1;
    guildlog_webhook "name=Our log" avatar=avatar.png;
    guildlog_colors category;
CONF
accepted 'a part of it', "$here; $key guildlog_links support=https://a.example; "
    . 'guildlog_webhook name=L\xc3\xb6g; guildlog_colors kind;', $api;
refused qr/invalid parameter "viewer=\Q$_\E"/, "guildlog_links 'viewer=$_';"
    for 'a.example', 'javascript:x', 'https://', 'https://a b', 'https://a/(x)',
        'https://a/#x', 'https://' . 'x' x 400;
refused qr/invalid parameter "$_"/, "guildlog_links $_;"
    for qw(nonsense=1 viewer= support);
refused qr/invalid parameter "name=$_"/, "guildlog_webhook \"name=$_\";"
    for 'Clyde', 'my discord', 'a@b', 'a#b', 'a:b', ' a', 'a ', 'x' x 77,
        'Everyone', "\xff";
refused qr/could not read "[^"]+nothing"/, 'guildlog_webhook avatar=nothing;';
refused qr/is no PNG, JPEG or GIF of at most 256 KiB/,
    "guildlog_webhook avatar=$_.png;" for qw(large text);
refused qr/invalid value "red"/, 'guildlog_colors red;';
refused qr/is duplicate/, "$_ $_" for 'guildlog_colors kind;',
    'guildlog_links viewer=https://a;', 'guildlog_webhook name=a;';
refused qr/invalid number of arguments/, "$_;"
    for qw(guildlog_links guildlog_webhook guildlog_colors);

refused qr/directive is not allowed here/, "$here; $key", "$_"
    for $platform, 'guildlog_colors kind;', 'guildlog_delivery secret=delivery.key;';


# guildlog_key

accepted 'several keys', <<"CONF", $api;
    $here;
    guildlog_key HS256 main.key kid=a sign;
    guildlog_key HS512 second.key kid=b;
    guildlog_key RS256 $pair{RS256}{public} kid=c;
    guildlog_key ES256 $pair{ES256}{public};
CONF
accepted 'a group may read a key', <<"CONF", $api;
    $here;
    guildlog_key HS256 group.key;
CONF
accepted 'private keys sign', <<"CONF", $api;
    $here;
    guildlog_key ES256 $pair{ES256}{private} kid=a sign;
CONF

refused $_->[0], "$here; guildlog_key $_->[1];", $api
    for [qr/unknown key algorithm "HS257"/, 'HS257 main.key'],
        [qr/unknown key algorithm "none"/, 'none main.key'],
        [qr/unknown key algorithm "hs256"/, 'hs256 main.key'],
        [qr/unknown key algorithm "PS257"/, "PS257 $pair{RS256}{public}"],
        [qr/nothing\.key" .*No such file/, 'HS256 nothing.key'],
        [qr/open\.key" is readable by everyone/, 'HS256 open.key'],
        [qr/loose\.pem" is writable by everyone/, 'RS256 loose.pem'],
        [qr/naked\.pem" is readable by everyone/, 'RS256 naked.pem'],
        [qr/empty\.key" is empty/, 'HS256 empty.key'],
        [qr/short\.key" holds a secret of less than 32/, 'HS256 short.key'],
        [qr/main\.key" holds no PEM/, 'RS256 main.key'],
        [qr/holds a key of another type/, "ES256 $pair{RS256}{public}"],
        [qr/holds a key of another type/, "RS256 $pair{ES256}{public}"],
        [qr/holds a key on another curve/, "ES384 $pair{ES256}{public}"],
        [qr/holds PEM, not a secret/, "HS256 $pair{RS256}{public}"],
        [qr/holds no private key/, "RS256 $pair{RS256}{public} sign"],
        [qr/invalid parameter "nonsense", it takes kid=, sign/,
            'HS256 main.key nonsense'],
        [qr/"kid" must be|invalid parameter "kid="/, 'HS256 main.key kid='],
        [qr/invalid number of arguments/, 'HS256'],
        [qr/invalid number of arguments/, 'HS256 main.key kid=a sign more'];

refused qr/duplicate kid "a"/, <<"CONF", $api;
    $here;
    guildlog_key HS256 main.key kid=a;
    guildlog_key HS256 second.key kid=a;
CONF
refused qr/sign/, <<"CONF", $api;
    $here;
    guildlog_key HS256 main.key kid=a sign;
    guildlog_key HS256 second.key kid=b sign;
CONF

refused qr/"guildlog_api" needs a "guildlog_key"/, "$here;", $api;
refused qr/"guildlog_operator" needs a "guildlog_key"/, "$here;",
    'location / { guildlog_operator; }';
refused qr/"guildlog_auth" needs a "guildlog_key"/, "$here;",
    'location / { guildlog_auth on; }';
accepted 'a key in the location is enough', '',
    "guildlog_auth on; location / { $key } location /a { guildlog_auth off; }";
refused qr/"guildlog_auth" needs a "guildlog_key"/, '',
    'guildlog_auth on; location / { }';
refused qr/"guildlog_limit_log_level" directive|invalid value "loud"/, $key,
    'guildlog_limit_log_level loud;';
accepted 'a key in the location is enough', "$here;",
    "location /api/ { $key guildlog_api; }";


# guildlog_issuer, guildlog_auth

accepted 'the keeper for one of two databases', "$here name=a; $here; $key"
    . ' guildlog_keeper on database=a budget=300;', $api;
refused qr/no "guildlog_database" is named "b"/,
    "$here; $key guildlog_keeper on database=b;", $api;

refused qr/"guildlog_issuer" directive is duplicate/,
    "$here; $key guildlog_issuer a; guildlog_issuer b;", $api;
refused qr/"guildlog_auth" directive takes "off", "on" or "on admin"/,
    "$here; $key", "location / { guildlog_auth $_; }"
    for 'yes', 'ON', 'off admin', 'on basic', 'admin';
refused qr/invalid number of arguments in "guildlog_auth"/,
    "$here; $key", "location / { guildlog_auth $_; }"
    for '', 'on admin more';
refused qr/"guildlog_auth" directive is duplicate/,
    "$here; $key", 'location / { guildlog_auth on; guildlog_auth off; }';


# guildlog_limit_zone, guildlog_limit

accepted 'zones and limits', <<"CONF", <<"SERVER";
    $here; $key
    guildlog_limit_zone guildlog:1m;
    guildlog_limit_zone other:64k;
    guildlog_limit requests=10;
CONF
    location /a/ { guildlog_api; guildlog_limit off; }
    location /b/ { guildlog_api; guildlog_limit zone=other window=1m dry_run; }
    location /c/ { guildlog_limit zone=other key=\$arg_a\$remote_addr; }
SERVER

refused qr/(?:invalid|too small).*zone/, "guildlog_limit_zone $_; $key"
    for 'other', 'other:', ':1m', 'other:x', 'other:-1m', 'other:1k',
        'other:0';
refused qr/no "guildlog_limit_zone" is named "nothing", which a "guildlog_limit" uses/,
    "$here; $key", 'location / { guildlog_limit zone=nothing; }';
refused qr/zone "guildlog_limit_a"/,
    'guildlog_limit_zone a:1m; guildlog_limit_zone a:2m;', '';
refused qr/invalid parameter "\Q$_\E"/, "$here; $key",
    "location / { guildlog_limit $_; }"
    for 'requests=0', 'requests=-1', 'requests=x', 'requests=1.5',
        'requests=', 'window=0', 'window=x', 'window=-1s', 'zone=', 'key=',
        'on', 'off=1', 'dry_run=1', 'burst=5';
refused qr/unknown "nothing" variable/, "$here; $key",
    'location / { guildlog_limit key=$nothing; }';
refused qr/is duplicate/, "$here; $key",
    'location / { guildlog_limit off; guildlog_limit requests=1; }';
refused qr/invalid parameter "off"/, "$here; $key",
    'location / { guildlog_limit requests=1 off; }';


# guildlog_api, guildlog_operator, guildlog_max_body, guildlog_status

refused qr/must not share a location/, "$here; $key",
    "location /a/ { $_ }"
    for 'guildlog_api; guildlog_operator;',
        'guildlog_operator; guildlog_api;';
refused qr/is duplicate/, "$here; $key", "location /a/ { $_; $_; }"
    for 'guildlog_api', 'guildlog_operator', 'guildlog_status';
refused qr/another handler/, "$here; $key", "location /a/ { $_ }"
    for 'guildlog_api; guildlog_status;', 'guildlog_status; guildlog_api;',
        'guildlog_api; proxy_pass http://127.0.0.1;',
        'stub_status; guildlog_api;';
refused qr/invalid parameter "api"/, "$here; $key",
    'location /a/ { guildlog_api api; }';
refused qr/invalid parameter "\/b"/, "$here; $key",
    'location /a/ { guildlog_api /a /b; }';
refused qr/invalid parameter "(?:database=)"/, "$here; $key",
    'location /a/ { guildlog_api database=; }';
refused qr/no "guildlog_database" is named "other"/, "$here; $key",
    "location /a/ { guildlog_api $_=other; }" for 'database', 'reads';

# a standby that is read

my $both = "$here; $here name=b target=any; $key";
accepted 'a standby', $both, <<'SERVER';
    location /a/ { guildlog_api reads=b; limit_except GET { allow all; } }
    location /b/ { guildlog_api /b database=default reads=b max_lag=1s; }
SERVER
refused qr/has target=any, which is for "reads" only/, $both, $_
    for 'location /a/ { guildlog_api database=b; }',
        'location /a/ { guildlog_operator database=b; }';
refused qr/has target=any, which is for "reads" only/,
    "$both guildlog_keeper on database=b;", $api;
refused qr/"reads" needs target=any of the "guildlog_database" "default"/,
    $both, 'location /a/ { guildlog_api reads=default; }';
refused qr/is read for two databases, "default" and "c"/,
    "$both $here name=c;", <<'SERVER';
    location /a/ { guildlog_api reads=b; }
    location /c/ { guildlog_api database=c reads=b; }
SERVER
refused qr/with target=any takes one host/,
    "guildlog_database host=/a,/b target=any; $key", '';
refused qr/invalid parameter "target=$_"/,
    "guildlog_database target=$_; $key", '' for 'standby', 'ANY';
refused qr/with max_lag needs reads/, $both,
    'location /a/ { guildlog_api max_lag=5s; }';
refused qr/invalid parameter "max_lag=$_"/, $both,
    "location /a/ { guildlog_api reads=b max_lag=$_; }" for '999ms', 'x';
refused qr/invalid parameter "$_"/, $both,
    "location /a/ { guildlog_operator $_; }" for 'reads=b', 'max_lag=5s';
refused qr/"pln=pro", it takes a prefix, database=, plan=, open/, "$here; $key",
    'location /a/ { guildlog_operator pln=pro; }';
refused qr/"max-lag=1s", it takes a prefix, database=, reads=, max_lag=/,
    "$here; $key", 'location /a/ { guildlog_api max-lag=1s; }';
refused qr/no "guildlog_database" is named "default"/,
    "$here name=other; $key", $api;
refused qr/location "[^"]+" does not tell the prefix/, "$here; $key",
    "location $_ { guildlog_api; }"
    for '~ ^/api/', '~ /api/', '~* /api', '@api';
accepted 'a pattern, and its prefix', "$here; $key",
    'location ~ ^/api/ { guildlog_api /api; }';
refused qr/directive is not allowed here/, "$here; $key", "$_;"
    for 'guildlog_api', 'guildlog_operator', 'guildlog_status';
refused qr/"guildlog_max_body" directive invalid value/, "$here; $key",
    "location /a/ { guildlog_api; guildlog_max_body $_; }"
    for 'x', '-1', '1x';
refused qr/is duplicate/, "$here; $key",
    'location /a/ { guildlog_max_body 1k; guildlog_max_body 2k; }';

# the operator's location is not left open over TCP

my $tcp = "listen 127.0.0.1:1;";
refused qr/"guildlog_operator" in location "\/o\/" can be reached over TCP/,
    "$here; $key", "$tcp $_ location /o/ { guildlog_operator; }"
    for '', 'satisfy any;', 'allow 127.0.0.1; deny all;',
        'auth_basic operators; auth_basic_user_file users;';
refused qr/can be reached over TCP/,
    "$here; $key server { location / { guildlog_operator; } }";
refused qr/can be reached over TCP/, "$here; $key",
    "$tcp location /o/ { guildlog_operator; if (\$arg_a) { set \$a 1; } }";
accepted 'explicitly "open"', "$here; $key",
    "$tcp location /o/ { guildlog_operator $_; }"
    for 'open', 'open /o', '/o open database=default';
accepted 'a unix socket needs no other fence', "$here; $key",
    'location /o/ { guildlog_operator; }';
refused qr/invalid parameter "open"/, "$here; $key",
    "$tcp location /o/ { $_ }" for 'guildlog_api open;',
    'guildlog_operator open open;';

accepted 'guildlog_status without a database', '',
    'location = /status { guildlog_status; }';
accepted 'no directive of the module', '', 'location / { return 204; }';


# nginx -t neither asks a database nor opens a connection

accepted 'a database that does not exist', <<"CONF", $api;
    guildlog_database host=/nonexistent password_file=database.password;
    $key
CONF

{
    my ($ok, $said) = test("guildlog_database host=nobody.invalid"
        . " password_file=database.password; $key", $api);
    ok $ok, 'a host name that does not resolve';
    like $said, qr/\[warn\] .*nobody\.invalid/, '... is a warning';
}

{
    my ($ok, $said) = test('guildlog_database host=/nonexistent'
        . " password_file=open.password; $key", $api);
    ok $ok, 'a password file that everybody may read';
    like $said, qr/\[warn\] .*open\.password" should not be readable/,
        '... is a warning';
}

accepted 'a password file that a group may read', 'guildlog_database'
    . " host=/nonexistent password_file=group.password; $key", $api;

{
    my ($ok, $said) = test("$here nonsense; $key", $api);
    unlike $said, qr/module|a secret of the tests/, 'no message has a secret';
}


# two locations, two databases

{
    my $second = Guildlog::Cluster->shared->create_database;
    my $both = Guildlog->new(
        name => 'both',
        http => <<"CONF",
            guildlog_database name=second dbname=$second user=guildlog
                host=@{[ $nginx->cluster->socket_dir ]}
                port=@{[ $nginx->cluster->port ]}
                password_file=database.password;
CONF
        locations => <<'CONF',
            location /second/ {
                guildlog_api database=second;
            }

            location /desk/ {
                guildlog_operator database=second open;
            }
CONF
    );

    my $server = $both->server(name => 'first');
    my $token  = $both->token($server);
    is $both->put("/desk/servers/$server", raw_path => 1,
        json => { name => 'second' })->status, 201, 'a server in the second';

    is $both->get("/servers/$server", token => $token)->json->{name}, 'first',
        'the first database knows its own token';
    is $both->get("/second/servers/$server", token => $token, raw_path => 1)
        ->status, 401, 'the second one does not know it';

    my $answer = $both->post("/desk/servers/$server/tokens", raw_path => 1,
        json => { permissions => 1, creator => '1' });
    is $both->get("/second/servers/$server", raw_path => 1,
        token => $answer->json->{token})->json->{name}, 'second',
        '... and knows its own';
}

done_testing;
