# "Read the server"; "token-related read" and "revoke"; "reset the server": a
# bot's configuration and tokens go, at once, and nothing else does.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });

my @own = qw(logging_channels logging_options logging_type ignore_entry
    active_ignore tag filter access);

# rows of a bot in each table of its configuration
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
        'the token is the first log';
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
    'a token is for both bots';
is $nginx->get("/servers/$server", token => $pro->{token})->status, 200,
    'whichever lists it';
is $nginx->head("/servers/$server", %as)->status, 200, 'HEAD';

# tokens

my %row = map { $_->{unique_id} => $_ }
    @{ $nginx->get("/servers/$server/auth", %as)->json };
is_deeply [sort keys %row],
    [sort $admin->{unique_id}, $basic->{unique_id}], 'the tokens of the bot';

my $row = $row{ $admin->{unique_id} };
is $row->{permissions}, 1, 'an Admin token';
is $row{ $basic->{unique_id} }{permissions}, 2, 'a Basic one';
is $row->{creator}, '200000000000000043', 'who made it';
is $row->{id}, $server, 'for which server';
is $row->{expires_at}, $admin->{expires_at}, 'until when';
is $row->{expires_at} - $row->{created_at}, 90 * 86_400_000,
    '90 days from when';
is_deeply [map { $_->{unique_id} }
    @{ $nginx->get("/servers/$server/auth?bot=pro", %as)->json }],
    [$pro->{unique_id}], 'those of the Pro bot are its own';
unlike $nginx->get("/servers/$server/auth", %as)->text,
    qr/\Q@{[substr $admin->{token}, -20]}\E/, 'no token is shown again';


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
        like $answer->json->{error}, qr/^tokenId: /, 'says the error';
    }
    is revoke('?tokenId=nothing')->status, 404, 'an unknown token';
    is revoke("?tokenId=$pro->{unique_id}")->status, 404,
        'one of the Pro bot is none of the main bot';
    is revoke('?tokenId=' . $nginx->new_token($nginx->server)->{unique_id})
        ->status, 404, 'nor is one of another server';
});

my $entry = one_change($nginx, $server, 71, 'revoking', sub {
    my $answer = revoke("?tokenId=$basic->{unique_id}");
    is $answer->status, 200, 'a token is revoked';
    is $answer->text, '{}', 'with an empty object';
});
is $entry->{name}, $basic->{unique_id}, 'the entry names it';
no_change($nginx, $server, 'revoking again', sub {
    is revoke("?tokenId=$basic->{unique_id}")->status, 404, 'it is gone';
});
is @{ $nginx->get("/servers/$server/auth", %as)->json }, 1, 'and not listed';

my $answer = $nginx->post("/servers/$server/active/ignore/executors",
    token => $basic->{token}, json => { id => '1' });
is $answer->status, 401, 'it stopped at once';
like $answer->header('WWW-Authenticate'), qr/error="invalid_token"/,
    'says the challenge';

one_change($nginx, $server, 71, 'revoking one of the Pro bot', sub {
    is revoke("?bot=pro&tokenId=$pro->{unique_id}")->status, 200, 'bot=pro';
}, bot => 'pro');
is $nginx->get("/servers/$server/auth?bot=pro", %as)->status, 404,
    'the Pro bot has none';

my $at_once = $nginx->new_token($server)->{unique_id};
my @answers = sort { $a <=> $b }
    at_once(4, sub { revoke("?tokenId=$at_once")->status }, $nginx => 'token');
is "@answers", '200 404 404 404', 'four clients revoke the same token';

is revoke("?tokenId=$admin->{unique_id}")->status, 200, 'a token of its own';
is $nginx->get("/servers/$server", %as)->status, 401, 'is its last request';

# reset


# a server with something of everything, for both bots
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

    is stored($it, $_), '1 1 1 1 1 1 1 1', "bot $_ has something of all"
        for 0, 1;
    my $entries = $nginx->sql('select count(*) from log_entry'
        . ' where guild_id = ?', $it);

    my $entry = one_change($nginx, $it, 78, "resetting $bot", sub {
        my $answer = $nginx->delete("/servers/$it$query", token => $token);
        is $answer->status, 202, "$bot is reset";
        is $answer->text, '{}', 'with an empty object';
    }, bot => $bot);

    is stored($it, $gone), '0 0 0 0 0 0 0 0', 'everything is gone';
    is stored($it, $stays), '1 1 1 1 1 1 1 1', 'but nothing of the other bot';
    is $nginx->sql('select count(*) from log_entry where guild_id = ?', $it),
        $entries + 1, 'the log entries stay';

    my %status = map { $_ => $nginx->get("/servers/$it",
        token => $_)->status } $token, $other;
    is $status{ $bot eq 'pro' ? $other : $token }, 401, 'its token stops';
    is $status{ $bot eq 'pro' ? $token : $other }, 200,
        'that of the other bot goes on';

    my $next = $bot eq 'pro' ? $token : $other;
    is $nginx->get("/servers/$it/config/logging/channels$query",
        token => $next)->status, 404, 'a read finds nothing';
    is $nginx->get("/servers/$it/config/settings$query", token => $next)
        ->json->[0]{locale}, 18, 'the language stays';
    is $nginx->patch("/servers/$it/config/logging/channels$query",
        token => $next, json => { main_channel => '2' })->status, 202,
        'and it can be set up anew';
}

# a reset and everybody else

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
is shift @answers, 202, 'a reset amid changes';
is scalar(grep { !/^(?:202 ?)*(?:401 ?)*\z/ } @answers), 0,
    'each client succeeds until it, and never after';
is stored($it, 0), '0 0 0 0 0 0 0 0', 'nothing slipped in behind it';

@answers = sort { $a <=> $b } at_once(3, sub {
    my ($server, $token) = @{ $tokens->[3] };
    return $nginx->delete("/servers/$server", token => $token)->status;
}) if $tokens = [undef, undef, undef, [full_server()]];
is "@answers", '202 401 401', 'of three resets one is the last';

done_testing;
