# "Read the server"; "token-related read" and "revoke"; "reset the server": a
# bot's configuration and its tokens are deleted at once, and nothing else.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });

my @own = qw(logging_channels logging_options logging_type ignore_entry
    active_ignore tag filter access);

# the numbers of a bot's rows in the tables of its configuration
sub stored {
    my ($server, $bot) = @_;
    return join ' ', map { scalar $nginx->sql("select count(*) from $_"
        . ' where guild_id = ? and bot = ?', $server, $bot) } @own;
}


# read

my %hour = (free => 3_600_000, pro_lite => 3_600_000, pro => 2_592_000_000);

for my $plan (sort keys %hour) {
    my $server = $nginx->server(plan => $plan, name => "Der $plan \x{1f600}",
        owner_id => '200000000000000042', locale => 'hu');
    my $it = $nginx->get("/servers/$server",
        token => $nginx->token($server))->json;

    ok abs(delete($it->{created_at}) - time * 1000) < 60_000, 'created now';
    ok abs(delete($it->{first_log_at}) - time * 1000) < 60_000,
        'making the token is the first log entry';
    is_deeply $it, { id => $server, name => "Der $plan \x{1f600}",
        owner_id => '200000000000000042', plan => $plan, locale => 17,
        retentionMs => $hour{$plan} }, "a server with the plan $plan";
}

my $server = $nginx->server;
my $admin = $nginx->new_token($server, creator => '200000000000000043');
my $basic = $nginx->new_token($server, kind => 'basic');
my $pro = $nginx->new_token($server, bot => 'pro');
my %as = (token => $admin->{token});

is $nginx->get("/servers/$server?bot=pro", %as)->json->{name}, 'Test',
    'a token of the main bot reads for the Pro bot';
is $nginx->get("/servers/$server", token => $pro->{token})->status, 200,
    'a token of the Pro bot reads for the main bot';
is $nginx->head("/servers/$server", %as)->status, 200, 'HEAD';

# tokens

my %row = map { $_->{unique_id} => $_ }
    @{ $nginx->get("/servers/$server/auth", %as)->json };
is_deeply [sort keys %row],
    [sort $admin->{unique_id}, $basic->{unique_id}],
        'the tokens of the main bot';

my $row = $row{ $admin->{unique_id} };
is $row->{permissions}, 1, 'an Admin token';
is $row{ $basic->{unique_id} }{permissions}, 2, 'a Basic token';
is $row->{creator}, '200000000000000043', 'the creator is listed';
is $row->{id}, $server, 'the server is listed';
is $row->{expires_at}, $admin->{expires_at}, 'the time of expiry is listed';
is $row->{expires_at} - $row->{created_at}, 90 * 86_400_000,
    'a token expires after 90 days';
is_deeply [map { $_->{unique_id} }
    @{ $nginx->get("/servers/$server/auth?bot=pro", %as)->json }],
    [$pro->{unique_id}], 'the Pro bot has its own tokens';
unlike $nginx->get("/servers/$server/auth", %as)->text,
    qr/\Q@{[substr $admin->{token}, -20]}\E/, 'a token is not shown again';


sub revoke {
    my ($query) = @_;
    return $nginx->delete("/servers/$server/auth$query", %as);
}


no_change($nginx, $server, 'revoking nothing', sub {
    for my $bad ('', '?tokenId=', '?tokenId=' . 'x' x 65,
        '?tokenId=a&tokenId=b', '?tokenid=a')
    {
        my $answer = revoke($bad);
        is $answer->status, 400, "no token: $bad";
        like $answer->json->{error}, qr/^tokenId: /,
            'the error names the parameter';
    }
    is revoke('?tokenId=nothing')->status, 404, 'an unknown token';
    is revoke("?tokenId=$pro->{unique_id}")->status, 404,
        'a token of the Pro bot is unknown to the main bot';
    is revoke('?tokenId=' . $nginx->new_token($nginx->server)->{unique_id})
        ->status, 404, 'so is a token of another server';
});

my $entry = one_change($nginx, $server, 71, 'revoking', sub {
    my $answer = revoke("?tokenId=$basic->{unique_id}");
    is $answer->status, 200, 'a token is revoked';
    is $answer->text, '{}', 'with an empty object';
});
is $entry->{name}, $basic->{unique_id}, 'the log entry names the token';
no_change($nginx, $server, 'revoking again', sub {
    is revoke("?tokenId=$basic->{unique_id}")->status, 404,
        'a revoked token is unknown';
});
is @{ $nginx->get("/servers/$server/auth", %as)->json }, 1,
    '... and is not listed';

my $answer = $nginx->post("/servers/$server/active/ignore/executors",
    token => $basic->{token}, json => { id => '1' });
is $answer->status, 401, 'a revoked token is refused at once';
like $answer->header('WWW-Authenticate'), qr/error="invalid_token"/,
    '... with the challenge';

one_change($nginx, $server, 71, 'revoking one of the Pro bot', sub {
    is revoke("?bot=pro&tokenId=$pro->{unique_id}")->status, 200, 'bot=pro';
}, bot => 'pro');
is $nginx->get("/servers/$server/auth?bot=pro", %as)->status, 404,
    'the Pro bot has no token any more';

my $at_once = $nginx->new_token($server)->{unique_id};
my @answers = sort { $a <=> $b }
    at_once(4, sub { revoke("?tokenId=$at_once")->status }, $nginx => 'token');
is "@answers", '200 404 404 404', 'four clients revoke the same token';

is revoke("?tokenId=$admin->{unique_id}")->status, 200,
    'a token may revoke itself';
is $nginx->get("/servers/$server", %as)->status, 401, '... and is refused then';

# reset


# a server with something in each part, for both bots
sub full_server {
    my $it = $nginx->server;
    my $token = $nginx->token($it);

    for my $query ('', '?bot=pro') {
        my %request = (
            'config/logging/channels' => [patch => { main_channel => '1' }],
            'config/logging/settings' => [patch =>
                { spoilers => JSON::PP::true }],
            'config/logging/settings/5' => [patch => { color => 1 }],
            'config/logging/ignore/1' => [post => { value => 'x' }],
            'active/ignore/executors' => [post => { id => '1' }],
            'tags' => [post => { tag_name => 'a', content => 'b' }],
            'filters/links' => [patch => { enabled => JSON::PP::true }],
            'config/access/1' => [put => { level => 'view' }],
            'config/settings' => [patch => { locale => 'ja' }],
        );
        for my $path (sort keys %request) {
            my ($method, $body) = @{ $request{$path} };
            $nginx->$method("/servers/$it/$path$query", token => $token,
                json => $body);
        }
    }
    return ($it, $token);
}


for my $bot ('main', 'pro') {
    my ($it, $token) = full_server();
    my $other = $nginx->token($it, bot => 'pro');
    my ($gone, $stays) = $bot eq 'pro' ? (1, 0) : (0, 1);
    my $query = $bot eq 'pro' ? '?bot=pro' : '';

    is stored($it, $_), '1 1 1 1 1 1 1 1', "bot $_ has something in each part"
        for 0, 1;
    my $entries = $nginx->sql('select count(*) from entries'
        . ' where guild_id = ?', $it);

    my $entry = one_change($nginx, $it, 78, "resetting $bot", sub {
        my $answer = $nginx->delete("/servers/$it$query", token => $token);
        is $answer->status, 202, "$bot is reset";
        is $answer->text, '{}', 'with an empty object';
    }, bot => $bot);

    is stored($it, $gone), '0 0 0 0 0 0 0 0',
        'each part of this bot is deleted';
    is stored($it, $stays), '1 1 1 1 1 1 1 1',
        'no part of the other bot is deleted';
    is $nginx->sql('select count(*) from entries where guild_id = ?', $it),
        $entries + 1, 'the log entries stay, and there is one more';

    my %status = map { $_ => $nginx->get("/servers/$it",
        token => $_)->status } $token, $other;
    is $status{ $bot eq 'pro' ? $other : $token }, 401,
        "the bot's token is refused";
    is $status{ $bot eq 'pro' ? $token : $other }, 200,
        "the other bot's token works";

    my $next = $bot eq 'pro' ? $token : $other;
    is $nginx->get("/servers/$it/config/logging/channels$query",
        token => $next)->status, 404,
            'with a new token, a read finds nothing stored';
    is $nginx->get("/servers/$it/config/settings$query", token => $next)
        ->json->[0]{locale}, 18, "the server's language stays";
    is $nginx->patch("/servers/$it/config/logging/channels$query",
        token => $next, json => { main_channel => '2' })->status, 202,
        'the bot can be configured again';
}

# a reset while other clients change the configuration

my ($it, $token) = full_server();
my $tokens = [$token, map { $nginx->token($it) } 1 .. 3];

@answers = at_once(4, sub {
    my $mine = $tokens->[$_[0] - 1];
    return $_[0] == 1
        ? $nginx->delete("/servers/$it", token => $mine)->status
        : join ' ', map {
            $nginx->patch("/servers/$it/config/logging/settings/$_[0]",
                token => $mine, json => { color => $_ })->status
        } 1 .. 20;
});
is shift @answers, 202, 'a reset among changes is accepted';
is scalar(grep { !/^(?:202 ?)*(?:401 ?)*\z/ } @answers), 0,
    'changes succeed until the reset, and are refused after it';
is stored($it, 0), '0 0 0 0 0 0 0 0', 'no change is stored after the reset';

@answers = sort { $a <=> $b } at_once(3, sub {
    my ($server, $token) = @{ $tokens->[3] };
    return $nginx->delete("/servers/$server", token => $token)->status;
}) if $tokens = [undef, undef, undef, [full_server()]];
is "@answers", '202 401 401', 'of three resets one succeeds';

# the plan of a server that is made without one, as the configuration says it

my ($old, $own, $made) = map { $_ + 9_000_000_000 } $server .. $server + 2;
my $put = sub {
    my ($server, %fields) = @_;
    return $nginx->operator('PUT', "/servers/$server", { %fields })->json->{plan};
};
is $put->($old), 'free', 'without a word the plan is free';
$nginx->configure(operates => 'plan=pro');
$nginx->reload;
is $put->($old, name => 'Old'), 'free', 'a server that is there keeps its plan';
is $put->($made), 'pro', 'a new one has that of the configuration';
is $put->($own, plan => 'pro_lite'), 'pro_lite', 'and another if it is said';
$nginx->configure(operates => 'plan=pro', operator => 'limit_except GET { allow all; }');
$nginx->reload;
is $put->($made + 1), 'pro', '... also inside of limit_except';

done_testing;
