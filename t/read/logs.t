# "Returns the server's logs, newest first": the parameters and their rules, the
# page, its cursor, and who may read.  t/search/property.t tests that pages and
# counts are right for any entries.

use lib 't/lib';
use Guildlog;

my $nginx  = Guildlog->new(openapi => 1, workers => 2);
my $server = $nginx->server;
my %as     = (token => $nginx->token($server));
my $logs   = "/servers/$server/logs";
my $next   = 0;


sub record {
    my (@entries) = @_;

    my $answer = $nginx->operator('POST', $logs, [map { {
        event_id => 'e' . $next++, type => 5, %$_,
    } } @entries]);
    $nginx->stored($server);
    return $answer->json->{ids};
}


sub page {
    my ($query, %option) = @_;

    my $answer = $nginx->get("$logs?" . ($query // ''), %as, %option);
    is $answer->status, 200, "200: $query";
    return $answer->json;
}


sub refused {
    my ($query, $name) = @_;

    my $answer = $nginx->get("$logs?$query", %as);
    is $answer->status, 400, "400: $query";
    like $answer->json->{error}, qr/^\Q$name\E: /,
        'the error names the parameter';
}


$nginx->no_entries($server);

# no entries

is_deeply page(''), {
    entries => [], total => 0, retentionMs => 30 * 86_400_000,
    walled => JSON::PP::false, cursor => undef, categoryCounts => {},
}, 'an empty page';

# an entry with every field

my $now = int(time * 1000);
my %full = (
    type => 5, timestamp => $now - 1000,
    executor => { id => '101', name => 'Ann "A"' },
    target   => { id => '102', name => 'Bén' },
    channel  => { id => '103', name => '' },
    role => 'Mods', name => 'name', reason => "a\nb\\", count => 3,
    content => "é\t\x{1F600}", contentAfter => 'after',
    messages => [{ id => '7', content => 'm', authorId => '102',
        timestamp => $now, attachments => [{ name => 'a.png', size => 5 }] }],
    emoji => { id => '9', name => 'x', animated => JSON::PP::true },
    action => 'act', value => 'val', until => $now + 5,
    changes => [{ key => 'nick', old => undef, new => "\x{1F600} \"x\"" },
        { key => 'volume', old => 0.25, new => 1 },
        { key => '$add', old => JSON::PP::false,
          new => [{ id => '4', name => 'Mod' }, 'Helper'] }],
    role_id => '4', image => { before => undef, after => 'https://x.y/z' },
);
my ($id) = @{ record(\%full) };
my $page = page('');

is_deeply $page->{entries}, [{
    %full, id => $id, messagesTruncated => undef,
    delivery => { status => 'not_delivered', reason => 'no_channel',
        channelId => undef, messageId => undef },
}], 'an entry is what was recorded';
is_deeply $nginx->get("$logs/$id", %as)->json, $page->{entries}[0],
    '... by its id, too';
is_deeply [@$page{qw(total cursor categoryCounts)}],
    [1, undef, { categoryText => 1 }], 'it is counted';

my ($bare) = @{ record({ type => 101, timestamp => $now - 2000 }) };
is_deeply page('type=101')->{entries}, [{
    (map { $_ => undef } keys %full), id => $bare, type => 101,
    timestamp => $now - 2000, messages => [], messagesTruncated => undef,
    delivery => { status => 'not_delivered', reason => 'no_channel',
        channelId => undef, messageId => undef },
}], 'every field is present, also those without a value';

# the delivery, for types with and without a channel

$nginx->patch("/servers/$server/config/logging/channels", %as,
    json => { main_channel => '555', category_modlog => '0' });
record({ type => 7 }, { type => 39 });
is_deeply page('type=7')->{entries}[0]{delivery},
    { status => 'not_delivered', reason => 'queued', channelId => '555',
      messageId => undef }, 'queued, where the type has a channel';
is_deeply page('type=39')->{entries}[0]{delivery},
    { status => 'not_delivered', reason => 'off', channelId => undef,
      messageId => undef }, 'off, where it has none';

# pages

record(map { { type => 1, content => "$_", timestamp => $now - 10_000 } }
    1 .. 25);
$page = page('type=1&limit=10');
my @names = map { $_->{content} } @{ $page->{entries} };
is $page->{total}, 25, "the first page's total counts all";
my $second = page("type=1&limit=10&cursor=$page->{cursor}");
push @names, map { $_->{content} } @{ $second->{entries} };
is $second->{total}, 15, "the second page's total counts the rest";
is_deeply $second->{categoryCounts}, $page->{categoryCounts},
    'categoryCounts covers the whole window';
record({ type => 1, content => 'new' });
my $third = page("type=1&limit=10&cursor=$second->{cursor}");
push @names, map { $_->{content} } @{ $third->{entries} };
is_deeply [@$third{qw(total cursor)}], [5, undef], 'the last page';
is_deeply [sort { $a <=> $b } @names], [1 .. 25],
    'entries of the same millisecond come once each';
is_deeply page('type=1&limit=10')->{entries}[0]{content}, 'new',
    'new entries come first';
is page('type=1&limit=26')->{cursor}, undef,
    'no cursor on the last page';

my $other = $nginx->server;
my $answer = $nginx->get("/servers/$other/logs?cursor=$page->{cursor}",
    token => $nginx->token($other));
is $answer->status, 200, 'a cursor of another server is only a position';
is_deeply $answer->json->{entries}, [], "... in the own server's entries";
is_deeply page("type=7&limit=10&cursor=$page->{cursor}")->{entries}, [],
    'a cursor of another query is only a position, too';

# parameters

is page('search=%20%09')->{total}, page('')->{total},
    'white space is no search';
is page('role=%20%09')->{total}, page('')->{total}, '... and no role';
is page('unknown=1&limit=1&Limit=x')->{total}, page('')->{total},
    'unknown parameters are ignored';
is page('memberRole=target')->{total}, page('')->{total},
    'memberRole has no effect without a member';
is page('member=101&memberRole=executor')->{total}, 1, 'a member';
is page('member=101&memberRole=target')->{total}, 0, '... on one side';
is page('type=5&type=101&type=5')->{total}, 2, 'types, repeated';
is page('category=categoryModlog&category=categoryService&type=101')->{total},
    1, 'categories, repeated';
is page('search=b%C3%A9N')->{total}, 1, 'a part of a name';
is page('search=' . ('%F0%9F%98%80' x 200))->{total}, 0,
    '200 characters of a search';
is page('role=' . ('%C3%A4' x 100))->{total}, 0, '100 of a role';
is page("after=$now&before=" . ($now - 1))->{total}, 0,
    '"before" is earlier than "after"';
is page('bot=pro')->{total}, 0, 'the Pro bot has its own log';

refused(@$_) for
    ['search=' . 'a' x 201, 'search'], ['search=%ff', 'search'],
    ['search=%00', 'search'], ['search=a&search=b', 'search'],
    ['after=x', 'after'], ['after=1.5', 'after'], ['after=', 'after'],
    ['after=9007199254740992', 'after'], ['before=now', 'before'],
    ['category=text', 'category'], ['category=', 'category'],
    ['type=102', 'type'], ['type=-1', 'type'], ['type=5&type=a', 'type'],
    ['channel=abc', 'channel'], ['channel=1&channel=2', 'channel'],
    ['member=99999999999999999999', 'member'],
    ['memberRole=both', 'memberRole'], ['role=' . 'a' x 101, 'role'],
    ['limit=0', 'limit'], ['limit=201', 'limit'], ['limit=1&limit=1', 'limit'],
    ['limit=1000000000', 'limit'], ['limit=1e9', 'limit'],
    ['limit=-1', 'limit'], ['limit=1.0', 'limit'], ['limit=', 'limit'],
    ['limit=%D9%A3', 'limit'], ['limit=18446744073709551617', 'limit'],
    ['cursor=', 'cursor'], ['cursor=x', 'cursor'],
    ['cursor=AAAAAAAAAAAA', 'cursor'],
    ['cursor=' . substr($page->{cursor}, 1), 'cursor'],
    ['cursor=B' . substr($page->{cursor}, 1), 'cursor'],
    ['cursor=' . substr($page->{cursor}, 0, 6) . '*'
        . substr($page->{cursor}, 7), 'cursor'],
    ['cursor=' . $page->{cursor} . 'A', 'cursor'], ['bot=main', 'bot'];

# what people try first, and what they are told

for (['category=categoryText,categoryModlog',
        'category: must be one value: repeat the parameter for more'],
    ['type=5,101', 'type: must be one value: repeat the parameter for more'],
    map { ["after=$_", qr/^after: must be an integer .* milliseconds/] }
        '2026-11-01', '1795477172.071')
{
    my ($query, $expected) = @$_;
    my $error = $nginx->get("$logs?$query", %as)->json->{error};
    ref $expected ? like $error, $expected, $query
                  : is $error, $expected, $query;
}

is page('limit=200')->{total}, page('')->{total}, 'the largest limit';
is page('limit=1')->{total}, page('')->{total}, 'the smallest limit';

# each character of a search for a part of a name stands for itself

record(map { { type => 40, name => $_ } } '100% _off_', 'a"b\\c', "it's *so*",
    "\x{5e9}\x{5dc}\x{5d5}\x{5dd} \x{202e}x");
for (['%25%20_', 1], ['%25%25', 0], ['%22', 1], ['%5C', 1], ['%27', 1],
    ['%D7%A9%D7%9C', 1], ['%E2%80%AE', 1])
{
    my ($search, $n) = @$_;
    is page("type=40&search=$search")->{total}, $n, "found $n: $search";
}
for my $letter (qw[%25 _ * %22 %27 %5C ( %7C %D7%A9 %E2%80%AE], '[') {
    my $page = page('search=' . $letter x 200);
    is_deeply [@$page{qw(total entries)}], [0, []], "200 of it: $letter";
}

# HEAD, and who may ask

$answer = $nginx->get($logs, %as);
my $head = $nginx->head($logs, %as);
is $head->status, 200, 'HEAD';
is $head->header('Content-Length'), length $answer->text,
    'HEAD has the length of GET';
is $answer->header('Content-Type'), 'application/json', 'JSON';
is $answer->header('Cache-Control'), 'no-store', 'the answer may not be cached';

for my $path ($logs, "$logs/actors", "$logs/export", "$logs/stream") {
    is $nginx->get($path)->status, 401, "no token: $path";
    is $nginx->get($path, token => $nginx->token($other))->status, 403,
        'the token of another server';
    is $nginx->get($path, token => $nginx->token($server, kind => 'basic'))
        ->status, 403, 'a Basic token';
    is $nginx->post($path, %as)->status, 405, 'POST';
    is $nginx->get($path, token => $nginx->sign($nginx->claims($server)))
        ->status, 401, 'a revoked token';
    $nginx->sql('update token set revoked_at = now()
        where guild_id in (?, ?) and permissions = 2', $server, $other);
}

# the window of the plan

record({ type => 2, timestamp => $now - 7_200_000 },
    { type => 2, timestamp => $now - 3_000_000 });
is page('type=2')->{total}, 2, 'Pro reads 30 days';
for my $plan (qw(free pro_lite)) {
    $nginx->operator('PUT', "/servers/$server", { plan => $plan });
    my $page = page('type=2');
    is_deeply [@$page{qw(total retentionMs walled)}],
        [1, 3_600_000, JSON::PP::false], "$plan: one hour";
    $page = page('type=2&after=' . ($now - 3_700_000));
    is_deeply [@$page{qw(total walled)}], [1, JSON::PP::true],
        '"after" before the window: "walled" is true';
    $page = page('type=2&after=' . ($now - 3_500_000));
    is_deeply [@$page{qw(total walled)}], [1, JSON::PP::false],
        '"after" in the window: "walled" is false';
}

# one entry

{
    my ($mine, $old, $held) = @{ record(
        { type => 2, name => 'n', value => '"image":null' },
        { type => 2, timestamp => $now - 7_200_000 }) };
    my $answer = $nginx->get("$logs/$mine", %as);
    is $answer->status, 200, 'an entry by its id';
    is_deeply $answer->json, page('type=2&limit=1')->{entries}[0],
        '... is that of the page';
    is_deeply [map { $answer->json->{$_} } qw(changes until role_id image)],
        [(undef) x 4], '... with null for what it has not';
    is $nginx->head("$logs/$mine", %as)->status, 200, 'HEAD';
    my $none = $nginx->get("$logs/$old", %as);
    is $none->status, 404, 'behind the window there is none';
    is_deeply $none->json, {}, '... and no more is said';
    $nginx->operator('PUT', "/servers/$server", { plan => 'pro' });
    is $nginx->get("$logs/$old", %as)->status, 200, '... inside it there is';
    is $nginx->get("$logs/$_", %as)->status, 404, "404: $_"
        for $mine + 1, 1, '9223372036854775807', '9223372036854775808', "0$mine",
        'x';
    is $nginx->get("$logs/$mine?bot=pro", %as)->status, 404,
        'the Pro bot has another log';
    my $other = $nginx->server;
    is $nginx->get("/servers/$other/logs/$mine", token => $nginx->token($other))
        ->status, 404, 'as has another server';
}

# an ID is a number: what stood before a block was made is found as it is behind

record({ executor => { id => '00808' }, channel => { id => '0909' } },
    { executor => { id => '808' }, channel => { id => '909' } });
is page($_)->{total}, 2, "$_: zeros in front change nothing"
    for qw(member=808 member=00808 channel=909 channel=0000909);

# as some clients send lists

is_deeply page('type[]=5&type%5B%5D=101')->{categoryCounts},
    page('type=5&type=101')->{categoryCounts}, 'type[]';
refused('category[]=x', 'category');

# the list of actors

$nginx->operator('PUT', "/servers/$server", { plan => 'pro' });
record({ executor => { id => '1', name => 'old' }, timestamp => $now - 5000 },
    { executor => { id => '1', name => 'new' }, timestamp => $now - 4000 },
    { executor => { id => '2', name => '"' }, timestamp => $now - 4500 });
my %actor = map { $_->{id} => $_->{name} }
    @{ $nginx->get("$logs/actors", %as)->json->{actors} };
is_deeply { map { $_ => $actor{$_} } 1, 2 }, { 1 => 'new', 2 => '"' },
    'actors, with their latest names';
is_deeply $nginx->get("$logs/actors?bot=pro", %as)->json, { actors => [] },
    'the Pro bot has none';

done_testing;
