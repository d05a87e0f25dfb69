# Every request carries "Authorization: Bearer" and a JWT that is well formed,
# signed by a key of the configuration with that key's algorithm, of the right
# issuer, not expired and not revoked; else 401 {} and WWW-Authenticate, which
# says error="invalid_token" where a token was sent.  A token of another
# server, or a Basic one where an Admin token is needed: 403 {}.

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(
    api  => 'add_header X-Cause $guildlog_auth_status always;',
    http => 'guildlog_limit requests=100000;',
);

my %pair = map { $_ => $nginx->key_pair($_) } qw(RS256 ES256);
my $stranger = $nginx->key_pair('RS256', 'stranger');
my $mallory  = $nginx->key_pair('ES256', 'mallory');
my $hs512 = 'sixty-four bytes or more, as the longest of the hashes needs it: so';

$nginx->file('hs512.key', $hs512, 0600);
$nginx->configure(keys => [
    'HS256 main.key kid=main sign',
    'HS512 hs512.key kid=long',
    "RS256 $pair{RS256}{public} kid=rsa",
    "ES256 $pair{ES256}{public} kid=ec",
]);
$nginx->reload;

my $server = $nginx->server;
my $other  = $nginx->server;
my $made   = $nginx->new_token($server);
my $token  = $made->{token};
my $basic  = $nginx->token($server, kind => 'basic');
my $at     = "/servers/$server";


sub claims {
    return $nginx->claims($server, jti => $made->{unique_id}, @_);
}


sub refused {
    my ($cause, $what, @request) = @_;

    my $answer = ref $request[0] ? $request[0]
                                 : $nginx->get($at, @request);
    my $invalid = $cause eq 'missing' ? '' : ', error="invalid_token"';

    is join("\n", $answer->status, $answer->text,
            $answer->header('WWW-Authenticate'), $answer->header('X-Cause')),
        qq(401\n{}\nBearer realm="guildlog"$invalid\n$cause), $what;
}


sub accepted {
    my ($what, @request) = @_;

    my $answer = $nginx->get($at, @request);
    is $answer->status, 200, $what;
    is $answer->header('WWW-Authenticate'), undef, '... and not challenged';
}


# the header

accepted 'a token', token => $token;
accepted "\"$_\"", headers => [Authorization => "$_$token"]
    for 'bearer ', 'BEARER ', 'Bearer   ';

refused missing => 'no header';
refused missing => 'in the query', $nginx->get("$at?access_token=$token");

refused missing => "\"$_\"", headers => [Authorization => $_]
    for '', 'B', 'Bearer', 'Bearer ', "Basic $token", "Token $token", $token,
        'Basic dTpw';

refused malformed => "\"$_\"", headers => [Authorization => $_]
    for "Bearer $token $token", "Bearer $token,", "Bearer\t$token",
        "Bearer$token", "Bearer \"$token\"";

refused malformed => "two headers, $_->[0]",
    headers => [map { (Authorization => $_) } @$_[1, 2]]
    for ['both good',  "Bearer $token", "Bearer $token"],
        ['good first', "Bearer $token", 'Basic dTpw'],
        ['good last',  'Basic dTpw',    "Bearer $token"];

{
    my $long = $nginx->get($at, token => 'a' x 7000);
    refused malformed => 'a token of 7 KB', $long;

    $long = $nginx->get($at, token => 'a' x 1_000_000);
    is $long->status, 400, 'nginx refuses a token of 1 MB by itself';
    like $long->text, qr/^\{"error":/, '... with JSON as the body';
}


# the shape

refused malformed => "\"$_\"", token => $_
    for '.', '..', '...', 'x', '.x.', 'x..', '..x', 'x.y.z', 'xx.xx',
        'xx.xx.xx.xx', "$token.", ".$token", "$token=", "$token.$token",
        $token =~ s/\./../r, $token =~ s/\..*\./../r, $token =~ s/^[^.]*//r,
        substr($token, 0, -1) . "\x{e9}";

my ($header, $payload, $signature) = split /\./, $token;

for (
    ['a header that is not JSON', base64url('{"alg":"HS256"') . ".$payload"],
    ['a header that is an array', base64url('["HS256"]') . ".$payload"],
    ['the same key twice in the header',
     base64url('{"alg":"HS256","kid":"main","alg":"HS256"}') . ".$payload"],
    ['a critical extension',
     base64url('{"alg":"HS256","kid":"main","crit":["x"]}') . ".$payload"],
    ['another type', base64url('{"alg":"HS256","typ":"JWE"}') . ".$payload"],
    ['a deep header',
     base64url('{"a":' . '[' x 500 . ']' x 500 . '}') . ".$payload"],
    ['a header of NULs', base64url("\0" x 12) . ".$payload"],
    ['claims that are not JSON', "$header." . base64url('{"sub":')],
    ['claims that are a string', "$header." . base64url('"sub"')],
) {
    my ($what, $input) = @$_;
    refused malformed => $what, token => "$input.$signature";
}

refused malformed => "a good signature over $_->[0]",
    token => $nginx->sign($_->[1])
    for ['the same claim twice',
         '{"sub":"' . $server . '","sub":"' . $server . '"}'],
        ['deep claims', '{"a":' . '[' x 500 . ']' x 500 . '}'],
        ['a NUL', '{"sub":"' . $server . '\u0000"}'],
        ['invalid UTF-8', "{\"sub\":\"\xff\"}"];


# keys and algorithms

accepted 'HS256, signed by the test', token => $nginx->sign(claims);
accepted 'HS256 without kid', token => $nginx->sign(claims, kid => undef);
accepted 'HS512', token => $nginx->sign(claims, alg => 'HS512', kid => 'long',
    key => $hs512);
accepted "$_ by its private key", token => $nginx->sign(claims, alg => $_,
    kid => $_ eq 'RS256' ? 'rsa' : 'ec', key => $pair{$_}{private})
    for qw(RS256 ES256);

refused algorithm => "\"$_\", unsigned",
    token => $nginx->sign(claims, alg => 'none',
        header => { alg => $_, typ => 'JWT' }) . base64url('x')
    for qw(none None NONE nOnE), '', 'HS257', 'hs256', ' HS256', 'PS256',
        'EdDSA';

refused malformed => '"none" without a signature',
    token => $nginx->sign(claims, alg => 'none');
refused algorithm => '"none" with a good signature',
    token => $nginx->sign(claims, header => { alg => 'none', kid => 'main' });
refused algorithm => 'alg is a number',
    token => $nginx->sign(claims, header => { alg => 256, kid => 'main' });
refused algorithm => 'no alg',
    token => $nginx->sign(claims, header => { kid => 'main' });

for my $alg (qw(HS256 HS384 HS512)) {
    for my $kid (undef, 'rsa', 'ec', 'main') {
        my $file = $pair{($kid // '') eq 'ec' ? 'ES256' : 'RS256'}{public};
        open my $in, '<', $file or die;
        my $pem = do { local $/; <$in> };

        my $answer = $nginx->get($at, token => $nginx->sign(claims,
            alg => $alg, kid => $kid, key => $pem));
        is $answer->status, 401,
            "$alg with the public key as the secret is refused, "
            . ($kid ? "kid $kid" : 'no kid');
    }
}

refused algorithm => 'HS384 with the secret of HS256',
    token => $nginx->sign(claims, alg => 'HS384', kid => 'main');
refused signature => 'another secret',
    token => $nginx->sign(claims, key => 'guessed');
refused signature => 'an empty secret', token => $nginx->sign(claims,
    key => '');
refused signature => 'the key of somebody else', token => $nginx->sign(claims,
    alg => 'RS256', kid => 'rsa', key => $stranger->{private});
refused signature => 'a key of another curve', token => $nginx->sign(claims,
    alg => 'ES256', kid => 'ec', key => $mallory->{private});
refused key => 'an unknown kid', token => $nginx->sign(claims, kid => $_)
    for 'Main', 'main ', '../main.key', 'x' x 100;
refused malformed => 'a kid that is not a string', token => $nginx->sign(claims,
    header => { alg => 'HS256', kid => $_ })
    for ['main'], 1, '', 'x' x 1000;
refused algorithm => 'the kid of another key', token => $nginx->sign(claims,
    kid => 'rsa');
refused signature => 'another payload', token => join '.', $header,
    base64url(json->encode(claims(kind => 'admin', exp => time + 9e6))),
    $signature;
refused signature => 'a shortened signature',
    token => substr $token, 0, length($token) - 3;


# claims

refused issuer => 'another issuer', token => $nginx->sign(claims(iss => $_))
    for 'somebody', 'guildlog ', 'Guildlog', '', undef;
refused expired => 'expired', token => $nginx->sign(claims(exp => time - 1));
refused expired => 'a token that is not valid yet',
    token => $nginx->sign(claims(nbf => time + 60));
refused claims => 'exp ' . ($_->[0] // 'missing'),
    token => $nginx->sign($_->[1])
    for [undef, claims(exp => undef)],
        ['a string', claims(exp => '1999999999')],
        ['an object', claims(exp => {})],
        ['true', claims(exp => JSON::PP::true())];
refused claims => "$_->[0] ", token => $nginx->sign(claims(@$_))
    for [sub => undef], [sub => 12], [sub => ''], [sub => '12'],
        [sub => "${server}0000"], [sub => "$server "], [sub => [$server]],
        [sub => '9223372036854775808'], [jti => undef], [jti => ''],
        [jti => 'x' x 65], [jti => 12], [kind => undef], [kind => 'owner'],
        [kind => 'Admin'], [bot => 'both'], [bot => 1];

is $nginx->get($at, token => $nginx->sign(
    json->encode(claims(exp => 0)) =~ s/"exp":0/"exp":1e400/r))->status, 401,
    'exp is not a finite number';

is $nginx->get($at, token => $nginx->sign(claims(jti => $_)))->status, 401,
    'well signed, but never issued'
    for 'unknown', "' or 1=1 --", '*';


# time passes

{
    my $short;
    ok wait_for {
        $short = $nginx->sign(claims(exp => int(time) + 2));
        $nginx->get($at, token => $short)->status == 200;
    }, 'a token about to expire';
    ok wait_for { $nginx->get($at, token => $short)->status == 401 },
        'it expired';
    refused expired => 'it is still refused later', token => $short;
}


# server and kind

my $answer = $nginx->get("/servers/$other", token => $token);
is $answer->status, 403, 'the token of another server is refused with 403';
is $answer->text, '{}', '{}';
is $answer->header('WWW-Authenticate'), undef, '... without a challenge';

$answer = $nginx->get($at, token => $basic);
is $answer->status, 403, 'a Basic token where an Admin token is needed';
is $answer->text, '{}', '{}';

is $nginx->post("$at/active/ignore/executors", token => $_,
    json => { id => '300000000000000001' })->status, 200,
    'a Basic token where any token is enough'
    for $basic, $token;
is $nginx->post("/servers/$other/active/ignore/executors", token => $basic,
    json => { id => '300000000000000001' })->status, 403,
    'the token of another server, where any kind is enough';

is $nginx->get("$at?bot=pro", token => $token)->status, 200,
    'a token works for both bots';


# an answer does not depend on earlier requests of the connection

{
    my $client = $nginx->connection;
    my @status = map {
        $client->request('GET', "/api$at", token => $_)->status
    } $token, "${token}x", $token, undef, $token, $basic, $token,
      $nginx->sign(claims, alg => 'none', header => { alg => 'none' }) . 'x',
      $nginx->sign(claims(exp => 1)), $token;

    is "@status", '200 401 200 401 200 403 200 401 401 200',
        'good and bad tokens on one connection';
}


# errors of other requests in OpenSSL's queue do no harm to a TLS client

{
    my ($key, $crt) = map { $nginx->prefix . "/tls.$_" } qw(key crt);
    system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256"
        . " -nodes -subj /CN=localhost -keyout $key -out $crt 2>/dev/null") == 0
        or die 'openssl';

    my $port = free_port;
    $nginx->configure(http => <<"CONF");
        guildlog_limit requests=100000;
        server {
            listen 127.0.0.1:$port ssl;
            ssl_certificate $crt;
            ssl_certificate_key $key;
            error_page 497 /api/;
            location /api/ {
                guildlog_api;
            }
        }
CONF
    $nginx->reload;

    my $client = Guildlog::Client->new(port => $port, tls => 1);
    for my $i (1 .. 3) {
        $nginx->get($at, token => $nginx->sign(claims, alg => 'RS256',
            kid => 'rsa', key => $stranger->{private}));
        is $client->request('GET', "/api$at", token => $token)->status, 200,
            'TLS works after a bad signature';
    }
    is $client->request('GET', "/api$at", token => $nginx->sign(claims,
        alg => 'ES256', kid => 'ec', key => $mallory->{private}))->status,
        401, 'a bad signature by TLS';
    is $client->request('GET', "/api$at", token => $token)->status, 200,
        'a good one on the same connection';

    my $answer = Guildlog::Client->new(port => $port)
        ->request('GET', "/api$at", token => $token);
    is $answer->status, 400, 'plain HTTP on a TLS port is refused';
    like $answer->text, qr/^\{"error":/, '... with JSON as the body';
}


# a reload adds and removes keys

$nginx->file('next.key', 'the next secret, long enough for it', 0600);
$nginx->configure(keys => ['HS256 next.key kid=next sign',
                           'HS256 main.key kid=main']);
$nginx->reload;

my $next = $nginx->token($server);
is json->decode(MIME::Base64::decode_base64url((split /\./, $next)[0]))->{kid},
    'next', 'new tokens are signed by the new key';
accepted 'a new token', token => $next;
accepted 'an old token', token => $token;
refused algorithm => 'a token of the removed RSA key',
    token => $nginx->sign(claims,
    alg => 'RS256', kid => 'rsa', key => $pair{RS256}{private});

$nginx->configure(keys => ['HS256 next.key kid=next sign']);
$nginx->reload;
refused key => 'a token of a removed key', token => $token;
accepted 'a token of the remaining key', token => $next;

$nginx->file('next.key', 'the same name, another secret for it', 0600);
$nginx->reload;
refused signature => 'a file with another secret', token => $next;

# a token that no key can sign is not made: it would count for its server

$nginx->configure(keys => ['HS256 main.key kid=main']);
$nginx->reload;

{
    my $lonely = $nginx->server;
    my $answer = $nginx->operator('POST', "/servers/$lonely/tokens",
        { permissions => 1, creator => '200000000000000001' });
    is $answer->status, 500, 'without a signing key no token is made';
    like $answer->json->{error}, qr/signs/, '... the answer says why';
    like $nginx->error_log, qr/no "guildlog_key" has "sign"/,
        '... the log says why';
    is $nginx->sql('select count(*) from token where guild_id = ?', $lonely),
        0, '... no row of it is left';
}

$nginx->configure(keys => ['HS256 main.key kid=main sign']);
$nginx->reload;


# a revoked token is refused at once by every machine

{
    my $second = Guildlog->new(dbname => $nginx->dbname);
    my $doomed = $nginx->new_token($server);

    for my $machine ($nginx, $second) {
        is $machine->get($at, token => $doomed->{token})->status, 200,
            'a token that will be revoked';
    }
    is $second->delete("$at/auth?tokenId=$doomed->{unique_id}",
        token => $token)->status, 200, 'revoked';

    refused revoked => 'a revoked token is refused here',
        token => $doomed->{token};
    my $answer = $second->get($at, token => $doomed->{token});
    is $answer->status, 401, 'a revoked token is refused by another nginx';
    is $answer->header('WWW-Authenticate'),
        'Bearer realm="guildlog", error="invalid_token"',
        '... with a challenge';

    is $second->delete($at, token => $token)->status, 202, 'a server is reset';
    refused revoked => 'a token from before the reset', token => $token;
}

done_testing;
