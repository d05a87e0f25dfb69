# The operator location: servers, tokens and the directory, for the bot and the
# dashboard's backend. "A server can have at most 5 tokens"; a token "is shown
# once at creation and is not stored by the service".

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });


sub op {
    return $nginx->operator(@_);
}


# servers

my $server = '100000000000000777';
my $answer = op('PUT', "/servers/$server", {});
is $answer->status, 201, 'a server is created';
my $it = $answer->json;
ok abs(delete($it->{created_at}) - time * 1000) < 60_000, 'now';
is_deeply $it, { id => $server, name => '', owner_id => undef,
    plan => 'free', locale => 0, retentionMs => 3_600_000,
    first_log_at => undef }, 'a new server has the defaults';

$answer = op('PUT', "/servers/$server", { name => 'Ünï', plan => 'pro',
    owner_id => '200000000000000001', locale => 'ja' });
is $answer->status, 200, 'it is changed';
is_deeply [@{ $answer->json }{qw(name plan owner_id locale retentionMs)}],
    ['Ünï', 'pro', '200000000000000001', 18, 2_592_000_000],
        'a PUT changes every field';
is_deeply [@{ op('PUT', "/servers/$server", { plan => 'pro_lite' })->json }
    {qw(name plan locale)}], ['Ünï', 'pro_lite', 18],
    'a field that is absent stays';
is op('PUT', "/servers/$server", {})->json->{plan}, 'pro_lite',
    'an empty PUT changes nothing';
is $nginx->sql('select count(*) from entries where guild_id = ?', $server),
    0, "the operator's changes are not logged";

for my $id ('99999999999999999', '100000000000000000000',
    '1000000000000000', '9223372036854775808', '123', 'x')
{
    my $ok = $id eq '99999999999999999';
    is op('PUT', "/servers/$id", {})->status, $ok ? 201 : 400, "server $id";
}
like op('PUT', '/servers/123', {})->json->{error}, qr/^guild_id: /,
    'the error names guild_id';
is op('PUT', '/servers/9223372036854775807', {})->status, 201,
    'the largest ID is accepted';
is op('GET', "/servers/$server")->status, 405,
    'the operator location does not read a server';
is op('GET', "/servers/$server")->header('Allow'), 'PUT, DELETE',
    'Allow has the methods';
is op('PUT', '/servers', {})->status, 404, 'no list of servers exists';

my @answers = sort { $a <=> $b } at_once(4, sub {
    op('PUT', '/servers/100000000000000779', { plan => 'pro' })->status;
}, $nginx => 'server');
is "@answers", '200 200 200 201', 'of four clients one creates the server';

# tokens

my $token;
my $entry = one_change($nginx, $server, 72, 'making a token', sub {
    my $answer = op('POST', "/servers/$server/tokens",
        { permissions => 1, creator => '200000000000000001' });
    is $answer->status, 201, 'a token is made';
    $token = $answer->json;
});
is $entry->{name}, $token->{unique_id}, 'the log entry names the token';
is_deeply [sort keys %$token], [qw(expires_at token unique_id)],
    'the answer has the token, its ID and its expiry';

my ($header, $claims) = map { json->decode(MIME::Base64::decode_base64url($_)) }
    (split /\./, $token->{token})[0, 1];
is $header->{alg}, 'HS256', 'a JWT, signed by the key with "sign"';
is $header->{kid}, 'main', '... whose kid it has';
is_deeply [sort keys %$claims], [qw(bot exp iat iss jti kind sub)],
    'the JWT has these claims and no others';
is_deeply [@$claims{qw(iss sub jti bot kind)}],
    ['guildlog', $server, $token->{unique_id}, 'main', 'admin'],
    '... for this server, bot and kind';
is $claims->{exp} - $claims->{iat}, 90 * 86_400, '90 days';
is $claims->{exp} * 1000, $token->{expires_at},
    'it expires when the answer says';
ok abs($claims->{iat} - time) < 60, 'it is issued now';

is $nginx->get("/servers/$server", token => $token->{token})->status, 200,
    'it is accepted';

my ($part) = (split /\./, $token->{token})[2];
is scalar(grep { $nginx->sql("select count(*) from $_ t where t::text like ?",
    "%$part%") } qw(token notification log_arrival log_block)), 0,
    'it is not stored in a table';
unlike $nginx->error_log . $nginx->access_log, qr/\Q$part\E/,
    'it is not in a log file';

my $basic = op('POST', "/servers/$server/tokens",
    { permissions => 2, creator => '1', bot => 'pro' })->json;
$claims = json->decode(MIME::Base64::decode_base64url(
    (split /\./, $basic->{token})[1]));
is_deeply [@$claims{qw(bot kind)}], ['pro', 'basic'],
    'a Basic token for the Pro bot';

is op('POST', "/servers/$server/tokens",
    { permissions => $_, creator => '1' })->status, 400, "no kind: $_"
    for 0, 4, -1, 1.5, '"3"';

# at most 5

my @tokens = ($token, $basic, map { $nginx->new_token($server,
    bot => $_ % 2 ? 'pro' : 'main', kind => $_ == 2 ? 'read' : 'admin') }
    1 .. 3);
no_change($nginx, $server, 'a sixth token', sub {
    for my $bot (qw(main pro)) {
        my $answer = op('POST', "/servers/$server/tokens",
            { permissions => $bot eq 'pro' ? 2 : 3, creator => '1',
              bot => $bot });
        is $answer->status, 409, "a sixth token, of $bot";
        like $answer->json->{error}, qr/\b5\b/, 'the error names the limit';
    }
});
is $nginx->delete("/servers/$server/auth?tokenId=$tokens[2]{unique_id}"
    . '&bot=pro', token => $token->{token})->status, 200, 'one is revoked';
$tokens[2] = $nginx->new_token($server);
ok $tokens[2], 'a revoked token makes room for one';

$nginx->sql('update token set expires_at = now() where token_id = ?',
    $tokens[3]{unique_id});
ok $nginx->new_token($server), 'an expired token makes room for one';

my $crowd = $nginx->server;
@answers = sort { $a <=> $b } at_once(8, sub {
    op('POST', "/servers/$crowd/tokens", { permissions => 1, creator => '1',
        bot => $_[0] % 2 ? 'pro' : 'main' })->status;
}, $nginx => 'token');
is "@answers", '201 201 201 201 201 409 409 409',
    'of eight clients five get a token';
is $nginx->sql('select count(*) from entries where guild_id = ?', $crowd),
    5, 'five tokens are logged';

is op('POST', '/servers/100000000000000778/tokens',
    { permissions => 1, creator => '1' })->status, 404,
    'a server that does not exist gets no token';

# the directory

my %as = (token => $token->{token});


sub directory {
    my ($kind) = @_;
    return [$nginx->sql('select id, name, bot, roles, type, parent, position,'
        . ' color, avatar from directory where guild_id = ? and kind = ? order by id',
        $server, $kind)];
}


my @kinds = (
    [members => 0, { name => 'Ada', bot => JSON::PP::true,
        roles => ['11', '12'], avatar => 'a_1f' },
        ['5', 'Ada', 1, [11, 12], (undef) x 4, 'a_1f']],
    [channels => 1, { name => 'general', type => 2, parent => '77',
        position => 2147483647 },
        ['5', 'general', 0, [], 2, '77', 2147483647, undef, undef]],
    [roles => 2, { name => 'Mods', color => 16777215, position => 0 },
        ['5', 'Mods', 0, [], undef, undef, 0, 16777215, undef]],
);
for (@kinds) {
    my ($path, $kind, $object, $row) = @$_;

    $answer = op('PUT', "/servers/$server/$path/5", $object);
    is $answer->status, 200, "$path: put";
    is $answer->text, '{}', 'with an empty object';
    is_deeply directory($kind), [$row], 'every field is stored';

    is op('PUT', "/servers/$server/$path/5", {})->status, 200, 'an empty PUT';
    is_deeply directory($kind), [$row], '... changes nothing';

    op('PUT', "/servers/$server/$path/5", { name => '' });
    is directory($kind)->[0][1], '', 'one field changes';
    is_deeply [@{ directory($kind)->[0] }[2 .. 8]], [@$row[2 .. 8]],
        'the other fields stay';

    is op('PUT', "/servers/$server/$path/1", $object)->status, 200,
        'the smallest ID';
    is op('PUT', "/servers/$server/$path/$_", $object)->status, 404,
        "no id $_" for '0', '01', '1x', '-1', '1' x 21;
    is op('PUT', "/servers/$server/$path/9223372036854775807", $object)
        ->status, 200, 'the largest ID';
    is op('PUT', "/servers/$server/$path/9223372036854775808", $object)
        ->status, 404, 'an ID above the largest';

    is op('DELETE', "/servers/$server/$path/5")->status, 200, 'deleted';
    is op('DELETE', "/servers/$server/$path/5")->status, 404,
        'a second time: 404';
    is op('PUT', "/servers/100000000000000778/$path/5", $object)->status, 404,
        'a server that does not exist';
    is op('GET', "/servers/$server/$path/1")->status, 405,
        'a read is not allowed';

    # many at once

    $answer = op('PUT', "/servers/$server/$path", [
        { %$object, id => '1', name => 'new' },
        { id => '6', name => 'first' }, { id => '6', name => 'second' }]);
    is $answer->status, 200, "$path: put many";
    is_deeply [map { $_->[1] } @{ directory($kind) }],
        ['new', 'second', $object->{name}],
        'they are added or changed; of two with one ID the last counts';

    my $before = directory($kind);
    $answer = op('PUT', "/servers/$server/$path",
        [{ id => '7', name => 'good' }, { id => '8', name => 5 }]);
    is $answer->status, 400, 'one bad item refuses the batch';
    like $answer->json->{error}, qr/^body\[1\]\.name: /,
        'the error has its index';
    is_deeply directory($kind), $before, 'nothing of the batch is stored';

    for my $bad ([], {}, [[]], [1], [{}], [{ name => 'x' }],
        [{ id => '' }], [{ id => '0' }], [{ id => '1', x => 1 }])
    {
        is op('PUT', "/servers/$server/$path", $bad)->status, 400,
            'refused: ' . json->encode($bad);
    }
    is op('PUT', "/servers/$server/$path", [map {
        { id => "$_", name => "\x{1f600}" x 100 } } 1 .. 1000])->status, 200,
        'a thousand items with names of the largest length';
    is op('PUT', "/servers/$server/$path", [map { { id => "$_" } } 1 .. 1001])
        ->status, 400, 'a thousand and one';
}

op('PUT', "/servers/$server/channels/5", { parent => '77' });
op('PUT', "/servers/$server/channels/5", { parent => undef });
is directory(1)->[4][5], undef, 'a channel may lose its parent';

for ([members => { avatar => 'a/b' }], [members => { position => 1 }],
    [channels => { position => -1 }], [channels => { position => 2147483648 }],
    [channels => { color => 1 }], [roles => { color => 16777216 }],
    [roles => { position => undef }], [roles => { avatar => 'a' }])
{
    my ($path, $bad) = @$_;
    is op('PUT', "/servers/$server/$path/5", $bad)->status, 400,
        "$path: refused: " . json->encode($bad);
}

op('PUT', "/servers/$server/members/21", { name => 'Zoe' });
is $nginx->get("/servers/$server/search/members?query=zoe", %as)
    ->json->[0]{id}, '21', 'a search finds what was put';

@answers = at_once(4, sub {
    op('PUT', "/servers/$server/roles",
        [map { { id => "$_", name => "by $_[0]" } }
            $_[0] % 2 ? 1 .. 300 : reverse 1 .. 300])->status;
}, $nginx => 'directory');
is "@answers", '200 200 200 200', 'four batches at once, in different orders';
is $nginx->sql('select count(distinct name) from directory where guild_id = ?'
    . ' and kind = 2 and id between 1 and 300', $server), 1,
    'the last one is stored as a whole';

# neither location serves the other's endpoints

is op('GET', "/servers/$server/config")->status, 404,
    'the operator location does not serve the API';
is $nginx->post("/servers/$server/tokens", %as, json =>
    { permissions => 1, creator => '1' })->status, 404,
    'the API does not make tokens';
is $nginx->put("/servers/$server", %as, json => {})->status, 405,
    'the API does not make servers';

done_testing;
