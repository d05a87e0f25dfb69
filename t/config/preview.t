#!/usr/bin/perl
# POST /preview: "the body that the webhook would be sent for it with the
# server's settings and language now; nothing is stored or sent."

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, openapi => 1, api => 'guildlog_limit requests=100000;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g, more => <<'CONF'))->start;
    guildlog_links viewer=https://log.example/ support=https://help.example/;
CONF
deliver_with($g, $platform);

my $ann  = { id => '500000000000000001', name => 'Ann' };
my $bob  = { id => '500000000000000002', name => "B*b \x{1f600}",
    avatar => 'a_' . '0f' x 16 };
my $hall = { id => '600000000000000000', name => 'hall' };

my %entry = (
    'a ban' => { type => 39, executor => $ann, target => $bob,
        reason => 'see https://a.example/x' },
    'a deletion' => { type => 5, executor => $ann, target => $bob,
        channel => $hall, content => "hi\n**there** discord.gg/abc",
        messages => [{ id => '700000000000000001', content => "hi\n**there** "
                . 'discord.gg/abc', authorId => $bob->{id},
            timestamp => 1_754_000_000_000,
            attachments => [{ name => 'a.png', size => 2048 }] }] },
    'a change' => { type => 29, executor => $ann, channel => $hall,
        changes => [{ key => 'topic', old_value => 'x', new_value => 'y' },
            { key => 'nsfw', old => JSON::PP::false, new => JSON::PP::true }] },
    'an act of a bot' => { type => 41, executor => { %$ann,
            bot => JSON::PP::true }, target => $bob,
        reason => "[$bob->{id}] on behalf" },
    'huge numbers' => { type => 29, executor => $ann, channel => $hall,
        changes => [{ key => 'topic', old => 1e20, new => -1.5e300 }] },
    'many messages' => { type => 3, executor => $ann, channel => $hall,
        messages => [map { { id => 700000000000000000 + $_ . '',
            content => "line $_", authorId => $bob->{id} } } 1 .. 110] },
);

my ($guild, $token, $to);


sub preview {
    my ($entry, %more) = @_;
    return $g->post("/servers/$guild/preview" . (delete $more{query} // ''),
        token => delete $more{token} // $token,
        json => { entry => { event_id => 'p', %$entry }, %more });
}


# the JSON that the webhook was sent for an entry
sub sent {
    my ($id) = @_;
    my ($text) = grep { /"$id"|-# $id/ } map { $_->{sent} } posts($to);
    return $text =~ /\A--guildlog/
        ? $text =~ /payload_json.*?\r\n\r\n(.*?)\r\n--guildlog/s ? $1 : ''
        : $text;
}


# the same entry has the same message, byte for byte but for its own id

sub alike {
    my ($what) = @_;

    # what the changes have logged is in the channel before them
    my ($last) = record($guild, 1);
    becomes($guild, $token, $last, 'delivered', "$what: changes");

    for my $name (sort keys %entry) {
        my $entry = { content => undef, timestamp => (1_000 * time) - 5000,
            %{ $entry{$name} } };
        my $answer = preview($entry);
        my ($message) = $answer->text =~ /\A\{"message":(.*)\}\z/s;
        my ($own) = $message =~ /(?:"footer":\{"text":"|-# )(\d+)/
            or return fail "$what, $name: " . $answer->text;
        my ($id) = record($guild, 1, %$entry);

        becomes($guild, $token, $id, 'delivered', "$what, $name");
        is $message =~ s/$own/ID/gr, sent($id) =~ s/$id/ID/gr, '... is so';
    }
}


for my $format (0 .. 3) {
    ($guild, $token, $to) = server(format_type => $format,
        ignore_bot_executors => JSON::PP::false,
        buttons => [$format ? 'customise' : qw(userID supportServer)]);
    alike("format $format");
}

$g->patch("/servers/$guild/config/settings", token => $token,
    json => { locale => 'ja' });
$g->patch("/servers/$guild/config/logging/settings", token => $token,
    json => { spoilers => JSON::PP::true, format_type => 0 });
$g->patch("/servers/$guild/config/logging/settings/39", token => $token,
    json => { format_type => 2, color => 255 });
$g->patch("/servers/$guild/filters/$_", token => $token,
    json => { enabled => JSON::PP::true }) for qw(links invites);
alike('Japanese, spoilers, filters, a type of its own');

# nothing is stored or sent, however often the same event is shown

my $before = $g->sql('select count(*) from log_arrival');
my $posts  = () = $platform->ledger;
my $ban    = { %{ $entry{'a ban'} }, timestamp => 1_754_000_000_000 };
is preview($ban)->text, preview($ban)->text, 'the same again';
is $g->sql('select count(*) from log_arrival'), $before, 'nothing is stored';
is scalar(() = $platform->ledger), $posts, 'and the platform is not asked';

# what would be set, in place of what is

sub message { return preview(@_)->json->{message} }

ok message($ban)->{content}, 'this type is plain text';
my $other = message($ban, settings => { format_type => 0, color => 7,
    buttons => ['supportServer'] });
is $other->{embeds}[0]{color}, 7, 'with another color';
is_deeply [map { $_->{url} } @{ $other->{components}[0]{components} }],
    ['https://help.example/'], '... and other buttons';
is message($ban, settings => { format_type => 1, color => undef })
    ->{embeds}[0]{color}, 0xed4245, '... or the usual color';
is message($ban)->{content}, message($ban, settings => {})->{content},
    'which is not kept';
like message($entry{'a deletion'}, settings => { spoilers => JSON::PP::false })
    ->{embeds}[0]{description}, qr/\nhi\n/, 'nor are spoilers';

# the other bot has settings of its own

like message($ban, bot => 'pro')->{embeds}[0]{title}, qr/^Member banned$/,
    'the Pro bot speaks English, and makes embeds';
is_deeply message($ban, bot => 'pro'), preview($ban, query => '?bot=pro')
    ->json->{message}, 'by the query, too';
is_deeply message($ban, bot => 'main', query => '?bot=pro'), message($ban),
    'but the body says it last';

# mistakes are told by the field

my @bad = (
    [{}, 'entry: is required'],
    [{ entry => 1 }, 'entry: must be an object'],
    [{ entry => { type => 5 } }, 'entry.event_id: is required'],
    [{ entry => { event_id => 'a' } }, 'entry.type: is required'],
    [{ entry => { event_id => 'a', type => 102 } },
        'entry.type: must be an integer from 0 to 101'],
    [{ entry => { event_id => 'a', type => 5, executor => { name => 'x' } } },
        'entry.executor.id: is required'],
    [{ entry => { event_id => 'a', type => 5, content => 'x' x 4001 } },
        'entry.content: must be at most 4000 characters long'],
    [{ entry => { event_id => 'a', type => 5, messages => [{ id => 'x' }] } },
        qr/^entry\.messages\[0\]\.id: must be a string of 1 to 20 digits/],
    (map { [{ entry => { event_id => 'a', type => 5, timestamp => $_ } },
        'entry.timestamp: must be the time of an entry'] } 1, 9_007_199_254_740_991),
    [{ entry => { event_id => 'a', type => 5, x => 1 } },
        'entry.x: unknown field'],
    [{ entry => { event_id => 'a', type => 5 }, bot => 'other' },
        'bot: must be one of main, pro'],
    [{ entry => { event_id => 'a', type => 5 }, settings => 1 },
        'settings: must be an object'],
    [{ entry => { event_id => 'a', type => 5 }, settings => { color => -1 } },
        'settings.color: must be an integer from 0 to 16777215'],
    [{ entry => { event_id => 'a', type => 5 }, settings => { buttons => ['x'] } },
        qr/^settings\.buttons\[0\]: must be one of userID/],
    [{ entry => { event_id => 'a', type => 5 }, more => 1 },
        'more: unknown field'],
);

for (@bad) {
    my ($body, $why) = @$_;
    my $answer = $g->post("/servers/$guild/preview", token => $token,
        json => $body);
    is $answer->status, 400, 'a mistake';
    ref $why ? like $answer->json->{error}, $why, '... told'
        : is $answer->json->{error}, $why, '... told';
}

# where nobody delivers, the default of guildlog_colors is the same

$g->configure;
$g->reload;
is message($ban, settings => { format_type => 1, color => undef })
    ->{embeds}[0]{color}, 0xed4245, 'the usual color without delivery';

# who may

is preview($ban, token => $g->new_token($guild, kind => $_)->{token})->status,
    403, "no $_ token suffices" for qw(basic read);

my $other_token = $token;
($guild) = server();
is preview($ban, token => $other_token)->status, 403,
    'nor one of another server';

done_testing;
