# GET /logs/histogram: "the filters of /logs without limit and cursor, and buckets
# 1..200 (default 60)", "oldest first, empty ones left out, exact, as total would
# count".  t/search/property.t holds it against any entries and filters.

use lib 't/lib';
use Guildlog;
use List::Util qw(sum0);

use constant { MINUTE => 60_000, DAY => 86_400_000 };

my $nginx  = Guildlog->new(openapi => 1,
    api => 'guildlog_limit requests=100000;');
my $server = $nginx->server;
my %as     = (token => $nginx->token($server));
my $now    = int(time * 1000);
my $next   = 0;


sub record {
    my ($guild, @entries) = @_;

    my $answer = $nginx->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . $next++, type => 5, %$_ } } @entries])->json;
    is $answer->{recorded}, @entries, 'recorded';
}


sub ask {
    my ($query, %option) = @_;
    my $guild = $option{server} // $server;
    return $nginx->get("/servers/$guild/logs/histogram?" . ($query // ''), %as,
        %option);
}


sub total {
    my ($query) = @_;
    return $nginx->get("/servers/$server/logs?limit=1&$query", %as)
        ->json->{total};
}


# each bucket is a page, and all of them are one
sub as_pages {
    my ($query, $what) = @_;

    my $it = ask($query)->json;
    my $filter = $query =~ s/\b(?:after|before|buckets)=\d+&?//gr;
    my @odd;

    for my $bucket (@{ $it->{buckets} }) {
        my ($from, $to) = ($bucket->{at}, $bucket->{at} + $it->{step});
        $to = $it->{to} if $to > $it->{to};
        my $page = $nginx->get("/servers/$server/logs?limit=1&after="
            . ($from - 1) . "&before=$to&$filter", %as)->json;
        push @odd, "$from: $page->{total}"
            if $page->{total} != sum0(values %{ $bucket->{counts} })
            || grep { $page->{categoryCounts}{$_} != $bucket->{counts}{$_} }
                keys %{ $bucket->{counts} };
    }
    is "@odd", '', "$what: each bucket has what a page of it has";
    is sum0(map { values %{ $_->{counts} } } @{ $it->{buckets} }),
        total('after=' . ($it->{from} - 1) . "&before=$it->{to}&$filter"),
        '... and all have what one page has';
    return $it;
}


# nothing

$nginx->no_entries($server);
{
    my $it = ask('')->json;
    is_deeply $it->{buckets}, [], 'no entries, no buckets';
    is $it->{step}, 43_200_001, 'sixty of them, unless it is said';
    is $it->{to} - $it->{from}, 30 * DAY + 1, '... from the window on until now';
    ok !$it->{walled}, '... which nobody asked to exceed';
}

# a few, with borders that are asked for

my $from = $now - 30 * MINUTE;
record($server,
    (map { { timestamp => $from + $_ } } 0, 999, 1000, 5000, 5999),
    { timestamp => $from + 5500, type => 39 },
    { timestamp => $from + 10_000 });
is_deeply ask('after=' . ($from - 1) . '&before=' . ($from + 10_000)
    . '&buckets=10')->json, {
    from => $from, to => $from + 10_000, step => 1000,
    walled => JSON::PP::false, buckets => [
        { at => $from, counts => { categoryText => 2 } },
        { at => $from + 1000, counts => { categoryText => 1 } },
        { at => $from + 5000,
          counts => { categoryModlog => 1, categoryText => 2 } }],
}, 'from the first millisecond to the last one, oldest first';
is_deeply ask('after=' . ($from - 1) . '&before=' . ($from + 10_001)
    . '&buckets=10')->json->{step}, 1001, 'a step is long enough for all';
is_deeply ask('after=' . ($from - 1) . '&before=' . ($from + 3)
    . '&buckets=200')->json, { from => $from, to => $from + 3, step => 1,
    walled => JSON::PP::false,
    buckets => [{ at => $from, counts => { categoryText => 1 } }] },
    'no step is shorter than a millisecond';
is_deeply [@{ ask('category=categoryModlog&buckets=1')->json->{buckets}[0]
    {counts} }{qw(categoryModlog categoryText)}], [1, undef],
    'the category filter applies';

for my $empty ('after=5&before=5', 'after=' . $now . '&before=' . ($now - 5),
    'after=' . ($now + 10 * DAY), 'after=9007199254740991',
    'before=-9007199254740991', "search=x&after=$now&before=$now")
{
    my $it = ask($empty);
    is $it->status, 200, "200: $empty";
    is_deeply $it->json->{buckets}, [], '... is empty';
    cmp_ok $it->json->{step}, '>=', 1, '... and has a step';
}

# ahead, by a clock that is

record($server, { timestamp => int(time * 1000) + 30_000, type => 6 });
{
    my $it = ask('type=6&after=' . ($now - MINUTE))->json;
    is sum0(map { values %{ $_->{counts} } } @{ $it->{buckets} }), 1,
        'what lies ahead is counted';
    cmp_ok $it->{to}, '>', $it->{buckets}[0]{at}, '... and inside of it';
}

# the window

{
    ok ask('after=' . ($now - 31 * DAY))->json->{walled}, 'more than 30 days';
    my $free = $nginx->server(plan => 'free');
    my %of = (server => $free, token => $nginx->token($free));
    $nginx->no_entries($free);
    record($free, { timestamp => $now - 90 * MINUTE },
        { timestamp => $now - 10 * MINUTE });
    my $it = ask('', %of)->json;
    is sum0(map { values %{ $_->{counts} } } @{ $it->{buckets} }), 1,
        'one hour without Pro';
    cmp_ok abs($it->{from} - $now + 60 * MINUTE), '<', MINUTE, '... from then on';
    ok !$it->{walled}, '... which is no wall';
    ok ask('after=5', %of)->json->{walled}, '... but for who asks for more';
}

# over what is hot, in blocks, and both

my $n = 0;
my @many = map { {
    timestamp => $now - 29 * DAY + int(($_ / 900) ** 0.5 * 28.9 * DAY),
    type => (5, 5, 39, 60)[$n++ % 4], content => "w$_ every",
    executor => { id => '' . ($n % 3 + 1), name => 'n' },
} } 1 .. 900;

sub all_ways {
    my ($what) = @_;

    for my $buckets (1, 4, 29, 60, 200) {
        as_pages("buckets=$buckets&after=" . ($now - 30 * DAY + MINUTE),
            "$what, $buckets buckets");
    }
    as_pages('buckets=13&category=categoryText&after=' . ($now - 20 * DAY)
        . '&before=' . ($now - 3 * DAY), "$what, some days of a category");
    as_pages('buckets=7&search=every&after=' . ($now - 25 * DAY),
        "$what, a search");
    as_pages('buckets=100&member=2&type=5&after=' . ($now - 25 * DAY),
        "$what, what somebody did");
}

record($server, @many[grep { $_ % 2 } 0 .. $#many]);
all_ways('hot');
$nginx->blocks($server);
all_ways('in blocks');
record($server, @many[grep { !($_ % 2) } 0 .. $#many]);
all_ways('some hot, late ones among them');
$nginx->some_blocks($server, 100);
all_ways('mixed');

# a block that was divided has the entries of its days alone, however read
is sum0(map { values %{ $_->{counts} } }
    @{ ask('search=every')->json->{buckets} }), 900, 'a search finds all';

# who asks

is ask('', token => 'x')->status, 401, 'no token, no histogram';
is ask('', token => $nginx->new_token($server, kind => 'read')->{token})
    ->status, 200, 'a token that only reads does';
my $gone = $nginx->new_token($server);
is $nginx->delete("/servers/$server/auth?tokenId=$gone->{unique_id}", %as)
    ->status, 200, 'a token is revoked';
for my $query ('', 'search=every') {
    is ask($query, token => $gone->{token})->status, 401, "401: '$query'";
}

for my $bad (qw(buckets=0 buckets=201 buckets=x buckets=1&buckets=2 after=x
    category=x type=102 memberRole=x))
{
    my $answer = ask($bad);
    is $answer->status, 400, "400: $bad";
    my ($name) = split /=/, $bad;
    like $answer->json->{error}, qr/^\Q$name\E: /, '... with its name';
}

done_testing;
