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
    first_log_at => undef }, 'with nothing but defaults';

$answer = op('PUT', "/servers/$server", { name => 'Ünï', plan => 'pro',
    owner_id => '200000000000000001', locale => 'ja' });
is $answer->status, 200, 'it is changed';
is_deeply [@{ $answer->json }{qw(name plan owner_id locale retentionMs)}],
    ['Ünï', 'pro', '200000000000000001', 18, 2_592_000_000], 'in every field';
is_deeply [@{ op('PUT', "/servers/$server", { plan => 'pro_lite' })->json }
    {qw(name plan locale)}], ['Ünï', 'pro_lite', 18],
    'a field that is absent stays';
is op('PUT', "/servers/$server", {})->json->{plan}, 'pro_lite',
    'and so do all';
is $nginx->sql('select count(*) from log_entry where guild_id = ?', $server),
    0, 'the operator makes no log entries of his own';

for my $id ('99999999999999999', '100000000000000000000',
    '1000000000000000', '9223372036854775808', '123', 'x')
{
    my $ok = $id eq '99999999999999999';
    is op('PUT', "/servers/$id", {})->status, $ok ? 201 : 400, "server $id";
}
like op('PUT', '/servers/123', {})->json->{error}, qr/^guild_id: /,
    'the error names it';
is op('PUT', '/servers/9223372036854775807', {})->status, 201,
    'the largest one there is';
is op('GET', "/servers/$server")->status, 405, 'a server is read by its token';
is op('GET', "/servers/$server")->header('Allow'), 'PUT, DELETE', 'says Allow';
is op('PUT', '/servers', {})->status, 404, 'there are no more paths';

my @answers = sort { $a <=> $b } at_once(4, sub {
    op('PUT', '/servers/100000000000000779', { plan => 'pro' })->status;
}, $nginx => 'server');
is "@answers", '200 200 200 201', 'of four that create it, one does';

# tokens

my $token;
my $entry = one_change($nginx, $server, 72, 'making a token', sub {
    my $answer = op('POST', "/servers/$server/tokens",
        { permissions => 1, creator => '200000000000000001' });
    is $answer->status, 201, 'a token is made';
    $token = $answer->json;
});
is $entry->{name}, $token->{unique_id}, 'the entry names it';
is_deeply [sort keys %$token], [qw(expires_at token unique_id)],
    'the token, its id, its end';

my ($header, $claims) = map { json->decode(MIME::Base64::decode_base64url($_)) }
    (split /\./, $token->{token})[0, 1];
is $header->{alg}, 'HS256', 'a JWT by the key that signs';
is $header->{kid}, 'main', 'which it names';
is_deeply [sort keys %$claims], [qw(bot exp iat iss jti kind sub)],
    'its claims';
is_deeply [@$claims{qw(iss sub jti bot kind)}],
    ['guildlog', $server, $token->{unique_id}, 'main', 'admin'],
    'say what it is for';
is $claims->{exp} - $claims->{iat}, 90 * 86_400, '90 days';
is $claims->{exp} * 1000, $token->{expires_at}, 'as it was told';
ok abs($claims->{iat} - time) < 60, 'from now on';

is $nginx->get("/servers/$server", token => $token->{token})->status, 200,
    'it works';

my ($part) = (split /\./, $token->{token})[2];
is scalar(grep { $nginx->sql("select count(*) from $_ t where t::text like ?",
    "%$part%") } qw(token notification log_entry)), 0, 'and is stored nowhere';
unlike $nginx->error_log . $nginx->access_log, qr/\Q$part\E/, 'or logged';

my $basic = op('POST', "/servers/$server/tokens",
    { permissions => 2, creator => '1', bot => 'pro' })->json;
$claims = json->decode(MIME::Base64::decode_base64url(
    (split /\./, $basic->{token})[1]));
is_deeply [@$claims{qw(bot kind)}], ['pro', 'basic'], 'a Basic one, of Pro';

# at most 5

my @tokens = ($token, $basic, map { $nginx->new_token($server,
    bot => $_ % 2 ? 'pro' : 'main') } 1 .. 3);
no_change($nginx, $server, 'a sixth token', sub {
    for my $bot (qw(main pro)) {
        my $answer = op('POST', "/servers/$server/tokens",
            { permissions => 2, creator => '1', bot => $bot });
        is $answer->status, 409, "a sixth token, of $bot";
        like $answer->json->{error}, qr/\b5\b/, 'the error says the limit';
    }
});
is $nginx->delete("/servers/$server/auth?tokenId=$tokens[2]{unique_id}"
    . '&bot=pro', token => $token->{token})->status, 200, 'one is revoked';
$tokens[2] = $nginx->new_token($server);
ok $tokens[2], 'and makes room';

$nginx->sql('update token set expires_at = now() where token_id = ?',
    $tokens[3]{unique_id});
ok $nginx->new_token($server), 'so does one that expired';

my $crowd = $nginx->server;
@answers = sort { $a <=> $b } at_once(8, sub {
    op('POST', "/servers/$crowd/tokens", { permissions => 1, creator => '1',
        bot => $_[0] % 2 ? 'pro' : 'main' })->status;
}, $nginx => 'token');
is "@answers", '201 201 201 201 201 409 409 409', 'of eight at once, five';
is $nginx->sql('select count(*) from log_entry where guild_id = ?', $crowd),
    5, 'and five are told';

is op('POST', '/servers/100000000000000778/tokens',
    { permissions => 1, creator => '1' })->status, 404,
    'a server that is not there has no tokens';

# the directory

my %as = (token => $token->{token});


sub directory {
    my ($kind) = @_;
    return [$nginx->sql('select id, name, bot, roles, type, parent'
        . ' from directory where guild_id = ? and kind = ? order by id',
        $server, $kind)];
}


my @kinds = (
    [members => 0, { name => 'Ada', bot => JSON::PP::true,
        roles => ['11', '12'] }, ['5', 'Ada', 1, [11, 12], undef, undef]],
    [channels => 1, { name => 'general', type => 2, parent => '77' },
        ['5', 'general', 0, [], 2, '77']],
    [roles => 2, { name => 'Mods' }, ['5', 'Mods', 0, [], undef, undef]],
);
for (@kinds) {
    my ($path, $kind, $object, $row) = @$_;

    $answer = op('PUT', "/servers/$server/$path/5", $object);
    is $answer->status, 200, "$path: put";
    is $answer->text, '{}', 'with an empty object';
    is_deeply directory($kind), [$row], 'is there in every field';

    is op('PUT', "/servers/$server/$path/5", {})->status, 200, 'put nothing';
    is_deeply directory($kind), [$row], 'and every field stays';

    op('PUT', "/servers/$server/$path/5", { name => '' });
    is directory($kind)->[0][1], '', 'a field changes';
    is_deeply [@{ directory($kind)->[0] }[2 .. 5]], [@$row[2 .. 5]],
        'the rest stays';

    is op('PUT', "/servers/$server/$path/1", $object)->status, 200,
        'the smallest id';
    is op('PUT', "/servers/$server/$path/$_", $object)->status, 404,
        "no id $_" for '0', '01', '1x', '-1', '1' x 21;
    is op('PUT', "/servers/$server/$path/9223372036854775807", $object)
        ->status, 200, 'the largest';
    is op('PUT', "/servers/$server/$path/9223372036854775808", $object)
        ->status, 404, 'one beyond';

    is op('DELETE', "/servers/$server/$path/5")->status, 200, 'deleted';
    is op('DELETE', "/servers/$server/$path/5")->status, 404, 'only once';
    is op('PUT', "/servers/100000000000000778/$path/5", $object)->status, 404,
        'a server that is not there';
    is op('GET', "/servers/$server/$path/1")->status, 405, 'no read';

    # many

    $answer = op('PUT', "/servers/$server/$path", [
        { %$object, id => '1', name => 'new' },
        { id => '6', name => 'first' }, { id => '6', name => 'second' }]);
    is $answer->status, 200, "$path: put many";
    is_deeply [map { $_->[1] } @{ directory($kind) }],
        ['new', 'second', $object->{name}],
        'new ones, changed ones, and of one that is there twice the last';

    my $before = directory($kind);
    $answer = op('PUT', "/servers/$server/$path",
        [{ id => '7', name => 'good' }, { id => '8', name => 5 }]);
    is $answer->status, 400, 'one bad item';
    like $answer->json->{error}, qr/^body\[1\]\.name: /,
        'is named by its place';
    is_deeply directory($kind), $before, 'and nothing is applied';

    for my $bad ([], {}, [[]], [1], [{}], [{ name => 'x' }],
        [{ id => '' }], [{ id => '0' }], [{ id => '1', x => 1 }])
    {
        is op('PUT', "/servers/$server/$path", $bad)->status, 400,
            'refused: ' . json->encode($bad);
    }
    is op('PUT', "/servers/$server/$path", [map {
        { id => "$_", name => "\x{1f600}" x 100 } } 1 .. 1000])->status, 200,
        'a thousand, with the longest of names';
    is op('PUT', "/servers/$server/$path", [map { { id => "$_" } } 1 .. 1001])
        ->status, 400, 'one more';
}

op('PUT', "/servers/$server/channels/5", { parent => '77' });
op('PUT', "/servers/$server/channels/5", { parent => undef });
is directory(1)->[4][5], undef, 'a channel may lose its parent';

op('PUT', "/servers/$server/members/21", { name => 'Zoe' });
is $nginx->get("/servers/$server/search/members?query=zoe", %as)
    ->json->[0]{id}, '21', 'what is put is found';

@answers = at_once(4, sub {
    op('PUT', "/servers/$server/roles",
        [map { { id => "$_", name => "by $_[0]" } }
            $_[0] % 2 ? 1 .. 300 : reverse 1 .. 300])->status;
}, $nginx => 'directory');
is "@answers", '200 200 200 200', 'four batches at once, in any order';
is $nginx->sql('select count(distinct name) from directory where guild_id = ?'
    . ' and kind = 2 and id between 1 and 300', $server), 1,
    'and the last one wins';

# the API is not here, nor this there

is op('GET', "/servers/$server/config")->status, 404,
    'the operator location serves no API';
is $nginx->post("/servers/$server/tokens", %as, json =>
    { permissions => 1, creator => '1' })->status, 404,
    'the API makes no tokens';
is $nginx->put("/servers/$server", %as, json => {})->status, 405,
    'and no servers';

done_testing;
