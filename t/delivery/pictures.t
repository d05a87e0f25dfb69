#!/usr/bin/perl
# "executor.avatar, target.avatar: hashes, optional in recorded entries; NamedId
# in answers stays as it is": a message shows the picture, and nothing else has
# it.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;
use Guildlog::Stream;

my $g = Guildlog->new(start => 0, openapi => 1,
    api => 'guildlog_limit requests=100000;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(keeper => 'on', http => $platform->directives($g))->start;
deliver_with($g, $platform);

my ($ann, $bob) = ('500000000000000001', '500000000000000002');
my ($hash, $other) = ('a_' . 'ab' x 16, '0f' x 16);
my ($guild, $token, $to) = server(ignore_bot_executors => JSON::PP::false);
my %as = (token => $token);


# the author of the entry's embed
sub author {
    my ($id) = @_;
    becomes($guild, $token, $id, 'delivered', 'it is in the channel');
    my ($embed) = grep { $_->{footer}{text} eq $id }
        map { @{ $_->{embeds} } } $platform->messages($to);
    return $embed->{author};
}


sub picture { "https://cdn.discordapp.com/avatars/$_[0]/$_[1].png?size=64" }


my $stream = Guildlog::Stream->new($g, $guild, $token, '');
my %ban = (type => 39, content => undef,
    executor => { id => $ann, name => 'Ann', avatar => $other },
    target => { id => $bob, name => 'Bob', avatar => $hash });
my ($id) = record($guild, 1, %ban);
is_deeply author($id), { name => 'Bob', icon_url => picture($bob, $hash),
    url => "https://discord.com/users/$bob" }, 'the person it is about';

# a person of two entries: the one who did it, where nobody else is in it

my ($edit) = record($guild, 1, executor => $ban{executor});
is author($edit)->{icon_url}, picture($ann, $other), 'or who did it';

# of what a filter masks, and of who acted by a bot

$g->patch("/servers/$guild/filters/emails", %as,
    json => { enabled => JSON::PP::true });
my ($masked) = record($guild, 1, %ban, reason => 'a@b.example');
is author($masked)->{icon_url}, picture($bob, $hash), 'a masked entry has it';

my ($by) = record($guild, 1, type => 23, content => undef, name => 'abc',
    executor => { %{ $ban{executor} }, bot => JSON::PP::true },
    reason => "[$bob] for Bob");
is author($by), undef, "whom a bot names has not the bot's";

# answers have names and ids, and nothing else

my $named = [{ id => $ann, name => 'Ann' }, { id => $bob, name => 'Bob' }];
my ($row) = grep { $_->{id} eq $id } @{ $g->get("/servers/$guild/logs", %as)
    ->json->{entries} };
is_deeply [@$row{qw(executor target)}], $named, 'a page';
is_deeply [@{ $g->get("/servers/$guild/logs/$id", %as)->json }
    {qw(executor target)}], $named, 'an entry';
unlike $g->get("/servers/$guild/logs/export?format=$_", %as)->text,
    qr/$hash|$other|avatar/, "an export, $_" for qw(csv ndjson);
unlike $g->get("/servers/$guild/logs?search=bob", %as)->text,
    qr/$hash|avatar/, 'a search';
is_deeply [@{ ($stream->events(1))[0][1] }{qw(executor target)}], $named,
    'a live tail';

# a text that looks like one stays

my $looks = 'x","avatar":"y","z":"';
my ($like) = record($guild, 1, content => $looks, executor => { id => $ann,
    name => $looks });
my $entry = $g->get("/servers/$guild/logs/$like", %as)->json;
is_deeply [$entry->{content}, $entry->{executor}],
    [$looks, { id => $ann, name => $looks }], 'texts are as they were';

# blocks are as what has just arrived

$g->some_blocks($guild);
is_deeply [@{ $g->get("/servers/$guild/logs/$id", %as)->json }
    {qw(executor target)}], $named, 'in a block';

# packets tell it

$g->operator('POST', '/events', [{ t => 'GUILD_MEMBER_ADD', d => {
    guild_id => $guild, joined_at => '2026-11-29T00:00:00.000000+00:00',
    roles => [], user => { id => $bob, username => 'bob', avatar => $hash } } }]);
my ($joined) = map { $_->{id} } grep { $_->{type} == 1 }
    @{ $g->get("/servers/$guild/logs", %as)->json->{entries} };
is author($joined)->{icon_url}, picture($bob, $hash), 'who joins';

# what is no hash is refused

my $bad = $g->operator('POST', "/servers/$guild/logs", [{ event_id => 'bad',
    type => 1, target => { id => $bob, avatar => '../x' } }])->json;
is $bad->{errors}[0]{error}, 'target.avatar: must be 1 to 64 letters, digits or '
    . 'underscores', 'a path is no hash';

# who is forgotten has no picture either

$g->operator('DELETE', "/servers/$guild/members/$bob/logs");
$g->keeper_is_due;
wait_for { $g->sql(<<~"SQL") == 0 } 60, 'all of it is gone';
    select (select count(*) from log_arrival where doc like '%$hash%')
         + (select count(*) from log_block where docs like '%$hash%')
         + (select count(*) from directory where avatar = '$hash')
    SQL
pass 'a forgotten person leaves no picture';

done_testing;
