# "Returns one object holding every part of the configuration that the
# single-part /config/... reads return; a part with nothing stored is null."

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(openapi => 1);
my $server = $nginx->server(owner_id => '200000000000000007');
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/config";

my @parts = qw(guilds serverlogConfigChannels serverlogConfigOptions
    serverlogConfigCustomOptions serverlogConfigIgnoreStandard settingsConfig
    tags access alerts);


sub config {
    my ($query) = @_;
    return $nginx->get($path . ($query // ''), %as)->json;
}


sub part {
    my ($single, $query) = @_;
    return $nginx->get("$path/$single" . ($query // ''), %as)->json;
}


# a new server

my $new = config();
is_deeply [sort keys %$new], [sort @parts], 'every part is there';
is_deeply [grep { defined $new->{$_} } @parts], ['guilds'],
    'a part with nothing stored is null';

my $first = $nginx->sql('select first_log_at from log_head'
    . ' where guild_id = ? and bot = 0', $server);
is_deeply part('guilds'), [{ id => $server,
    owner_id => '200000000000000007', first_log_at => $first }],
    '"guilds" always has the server';
is_deeply $new->{guilds}, part('guilds'), '... as its own read returns it';

# all parts, for both bots

for my $bot ('', '?bot=pro') {
    my $value = $bot ? '300000000000000002' : '300000000000000001';

    $nginx->patch("$path/logging/channels$bot", %as,
        json => { main_channel => $value });
    $nginx->patch("$path/logging/settings$bot", %as,
        json => { spoilers => JSON::PP::true });
    $nginx->patch("$path/logging/settings/$_$bot", %as,
        json => { log_channel => $value }) for 9, 5;
    $nginx->post("$path/logging/ignore/$_$bot", %as,
        json => { value => $value }) for 3, 1;
    $nginx->patch("$path/settings$bot", %as, json => { locale => 'ja' });
    $nginx->post("/servers/$server/tags$bot", %as,
        json => { tag_name => $_, content => $value }) for qw(b a);
    $nginx->put("$path/access/$_$bot", %as, json => { level => 'view' })
        for $value, '1';
}

my %single = (
    guilds => 'guilds', settingsConfig => 'settings', tags => 'tags',
    access => 'access', serverlogConfigChannels => 'logging/channels',
    serverlogConfigOptions => 'logging/settings',
);

for my $bot ('', '?bot=pro') {
    my $whole = config($bot);
    my $value = $bot ? '300000000000000002' : '300000000000000001';

    for my $part (sort keys %single) {
        is_deeply $whole->{$part}, part($single{$part}, $bot),
            "$part$bot is what its own read returns";
    }
    is_deeply $whole->{serverlogConfigCustomOptions},
        [map { @{ part("logging/settings/$_", $bot) } } 5, 9],
        "each customised log type is in it$bot";
    is_deeply $whole->{serverlogConfigIgnoreStandard},
        [map { @{ part("logging/ignore/$_", $bot) } } 1, 3],
        "each ignore list is in it$bot";
    is $whole->{serverlogConfigChannels}[0]{main_channel}, $value,
        "... with the entries of this bot$bot";
}

# no secrets

$nginx->patch("/servers/$server/filters/words", %as,
    json => { words => ['geheim'] });
unlike $nginx->get($path, %as)->text, qr/webhook|token|secret|geheim/i,
    'no secret is in it';

is $nginx->get($path, token => $nginx->token($server, kind => 'basic'))
    ->status, 403, 'a Basic token may not read it';
is $nginx->get("$path/$_", %as)->status, 404, "there is no $_"
    for qw(logging logging/ nothing tags/ settings/1 guilds/1);

done_testing;
