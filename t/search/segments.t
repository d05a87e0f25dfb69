# What is found is the same whatever part of a server's entries stands in
# segments: those of runs and of days, half of the past, all or nothing; with
# what a worker keeps of them and without.  The judge is a server without an
# index, at which nginx looks at every document.  Each statement of a search has
# a moment of its own: what goes between two of them leads to a right answer.
#
# GUILDLOG_SEED repeats a run.

use lib 't/lib';
use Guildlog;
use Guildlog::Index;
use Guildlog::Random;

use constant DAY => 86_400_000;

my $seed = $ENV{GUILDLOG_SEED} // 1;
srand $seed;
note "GUILDLOG_SEED=$seed";

my $api   = 'guildlog_limit off;';
my $nginx = Guildlog->new(api => $api, keeper => 'on interval=5ms',
    http => 'guildlog_page_cache 0;');
my %other = map { $_ => Guildlog->new(dbname => $nginx->dbname, api => $api,
    http => "guildlog_page_cache 0; guildlog_search_cache $_;") } qw(off 20k);
my $guild = $nginx->server(plan => 'pro');
my %as    = (token => $nginx->token($guild));
index_hold($nginx);


# entries

my @days = map { $_ * DAY } 0 .. 12;

sub record {
    my ($n, @ago) = @_;

    my $now    = int(time * 1000);
    my $answer = $nginx->operator('POST', "/servers/$guild/logs", [ map { {
        %{ random_entry() }, timestamp => $now - 60_000 - pick(@ago)
            - int rand 40_000_000,
    } } 1 .. $n ]);
    die $answer->text if $answer->json->{recorded} != $n;
    return @{ $answer->json->{ids} };
}


# queries

my @times = map { int(time * 1000) - $_ } 1.5 * DAY, 3.2 * DAY, 7 * DAY;
my @queries = ({ search => 'hello' }, { search => 'hello world' },
    { search => 'a' }, { search => '%' }, { search => "\x{6771}" },
    { search => 'nothing at all' }, { role => 'm' }, { role => '%' },
    { member => "$people[0]" }, { channel => "$channels[0]" },
    { member => "$people[1]", memberRole => 'target', channel => "$channels[1]" },
    map({ { search => 'i', after => $_ } } @times),
    map({ { search => 'hello', before => $_ } } @times),
    { search => 'o', after => $times[2], before => $times[0] },
    { search => 'o', type => [5, 7] }, { role => 'a', category => ['categoryText'] },
    { search => 'name', category => ['categoryText'], type => [5] });
until (@queries > 60) {
    my $q = random_query(qw(categoryText categoryVoice categoryServer));
    push @queries, $q if grep { defined $q->{$_} } qw(search role member channel);
}


# all pages of a query: their totals, counts and ids
sub found {
    my ($from, $q) = @_;

    my (@found, $cursor);
    for (1 .. 4) {
        my $answer = $from->get("/servers/$guild/logs?" . query_string({ %$q,
            limit => 17, defined $cursor ? (cursor => $cursor) : () }), %as);
        return 'status ' . $answer->status if $answer->status != 200;
        my $page = $answer->json;
        push @found, join ' ', $page->{total},
            json->encode($page->{categoryCounts}),
            map { $_->{id} } @{ $page->{entries} };
        $cursor = $page->{cursor} // last;
    }
    return join "\n", @found;
}


sub segments {
    return @{ ($nginx->sql('select count(*) filter (where not whole),
        count(*) filter (where whole) from search_segment
        where guild_id = ? and bot = 0', $guild))[0] };
}


sub head {
    my ($column) = @_;
    return scalar $nginx->sql("select $column from search_head
        where guild_id = ? and bot = 0", $guild);
}


# what is found without an index
sub scanned {
    my $format = head('format');
    $nginx->sql('update search_head set format = 0 where guild_id = ?', $guild);
    my @scanned = map { found($nginx, $_) } @queries;
    $nginx->sql('update search_head set format = ? where guild_id = ?',
        $format, $guild) if defined $format;
    return @scanned;
}


# twice, for some of it is kept then
sub same {
    my ($state) = @_;

    my @scanned = scanned();
    for ($nginx, $nginx, values %other) {
        my $from  = $_;
        my @wrong = grep { found($from, $queries[$_]) ne $scanned[$_] }
            0 .. $#queries;
        is_deeply [map { query_string($queries[$_]) } @wrong], [],
            "$state: as without an index, " . $from->prefix =~ s{.*/}{}r;
    }
    return @scanned;
}


# the states

record(100, @days) for 1 .. 6;
my @nothing = same('no index');
cmp_ok scalar(grep { /^[1-9]/ } @nothing), '>', 40, 'most queries find some';

index_begin($nginx, $guild);
same('nothing is indexed');
index_some($nginx, $guild, 4);
cmp_ok head('back_id'), '<', 9_000_000_000_000_000_000, 'some is indexed';
cmp_ok head('back_id'), '>', 0, '... and some is not';
same('half of the past is indexed');

index_all($nginx, $guild);
is head('back_id'), 0, 'all is indexed';
same('all is indexed');

my @late = map { record(40, @days[0 .. 3]) } 1 .. 3;
same('a tail');
for (1 .. 4) {
    record(30, @days);
    index_some($nginx, $guild, 1);
}
cmp_ok +(segments())[0], '>', 3, 'segments of runs';
same('runs and days');

my @gone = record(40, @days);
my $with = join "\n", same('a tail behind runs');
$nginx->take_back($guild, @gone[0 .. 20]);
isnt join("\n", same('entries are gone')), $with, '... and found no more';
record(50, @days);
same('others came');

$nginx->some_blocks($guild, 300);
same('some are in blocks');
$nginx->blocks($guild);
same('all are in blocks');

index_all($nginx, $guild);
same('days were made once more');
$nginx->sql('select search_begin(?, 0::smallint)', $guild);
same('begun anew');
index_all($nginx, $guild);
my @right = same('made anew');


# exports

for my $q (@queries[0, 2, 6, 8, 9]) {
    my %q = %$q;
    delete $q{limit};
    my $csv = $nginx->get("/servers/$guild/logs/export?" . query_string(\%q),
        %as)->text;
    my $rows = () = $csv =~ /^[^,]+,\d+,\d+,/mg;
    is $rows, (split ' ', found($nginx, $q))[0],
        'an export has all of it: ' . query_string($q);
}


# what goes between two statements

my $node = $nginx->node($guild);
my @steps = qw(search_open search_tail search_slices);


# each call of the function is counted, and waits for a lock of its name
for my $step (@steps) {
    $node->do("create sequence public.of_$step");
    $node->do("grant usage on sequence public.of_$step to public");
    my $text = text_of($step);
    $text =~ s{^begin$}{begin
        perform nextval('public.of_$step'),
                pg_advisory_xact_lock_shared(hashtext('$step'));}m or die $text;
    $nginx->sql($text);
}


sub text_of {
    my ($function) = @_;
    return scalar $nginx->sql(
        "select pg_get_functiondef('$function'::regproc)");
}


# since the last look
sub calls {
    my ($step) = @_;

    my $n = $node->selectrow_array("select last_value - (not is_called)::int
        from public.of_$step");
    $node->do("select setval('public.of_$step', 1, false)");
    return $n;
}


# asks, and does that while a step waits; the page, with its status
sub meanwhile {
    my ($step, $query, $code) = @_;

    calls($_) for @steps;
    $node->do("select pg_advisory_lock(hashtext('$step'))");
    my $client = $nginx->connection;
    $client->send("GET /api/servers/$guild/logs?limit=200&$query HTTP/1.1\r\n"
        . "Host: localhost\r\nAuthorization: Bearer $as{token}\r\n\r\n");
    wait_for { $nginx->waiting($step) } 20, "$step waits";
    $code->();
    $node->do("select pg_advisory_unlock(hashtext('$step'))");
    return answered($client->response);
}


sub answered {
    my ($answer) = @_;

    my $page = $answer->status == 200 ? $answer->json : {};
    return { status => $answer->status, total => $page->{total},
        ids => [map { $_->{id} } @{ $page->{entries} || [] }],
        retry => scalar $answer->header('Retry-After') };
}


sub page {
    my ($query) = @_;
    return answered($nginx->get("/servers/$guild/logs?limit=200&$query", %as));
}


# an entry that is found, and may be taken back
sub hello {
    return $nginx->operator('POST', "/servers/$guild/logs", [{ %{ random_entry() },
        type => 7, content => 'hello' }])->json->{ids}[0];
}


record(1, 0);
my $before = page('search=hello');
my $page = meanwhile('search_tail', 'search=hello', sub {
    $nginx->sql('select search_begin(?, 0::smallint)', $guild);
});
is_deeply $page, $before, 'all segments went: the answer is right';
is calls('search_open'), 2, '... for it was begun again';

index_all($nginx, $guild);
my $gone = hello();
$before = page('search=hello');
$page = meanwhile('search_slices', 'search=hello', sub {
    $nginx->take_back($guild, $gone);
});
is_deeply [@$page{qw(status total)}, scalar grep { $_ == $gone } @{ $page->{ids} }],
    [200, $before->{total} - 1, 0], 'an entry went: the answer is without it';
is calls('search_open'), 2, '... for it was begun again';

$nginx->sql('update search_head set format = 0 where guild_id = ?', $guild);
$gone = hello();
$page = meanwhile('search_tail', 'search=hello', sub {
    $nginx->take_back($guild, $gone);
});
is_deeply [@$page{qw(status total)}, scalar grep { $_ == $gone } @{ $page->{ids} }],
    [200, $before->{total} - 1, 0], 'without an index, too';
cmp_ok calls('search_open'), '>', 1, '... for it was begun again';

# segments that always go

$nginx->sql('select keeper_searchable(20000)');
index_all($nginx, $guild);
my $text = text_of('search_slices');
$nginx->sql($text =~ s/^begin$/begin\n    return;/mr);
calls('search_open');
$page = page('search=hello');
is $page->{status}, 503, 'segments that always go: the answer is 503';
cmp_ok $page->{retry}, '>', 0, '... with Retry-After';
is calls('search_open'), 4, '... after three more tries';
my $export = $nginx->get("/servers/$guild/logs/export?search=hello", %as);
is $export->status, 503, 'an export, too';
$nginx->sql($text);
@right = same('they are there again');


# bodies that are not as they must be

my %bad = (
    'a body of other bytes' => q(body = decode(repeat('ff',
        octet_length(body)), 'hex')),
    'a body of zeros'       => q(body = decode(repeat('00',
        octet_length(body)), 'hex')),
    'a body that is cut'    => q(body = substring(body from 1
        for octet_length(body) / 2)),
    'no body'               => q(body = ''),
    'another directory'     => q(dir = decode(repeat('fe',
        octet_length(dir)), 'hex')),
    'no directory'          => q(dir = ''),
    'other types'           => q(kinds = '\xff00000000'),
    'a wrong number'        => q(n = n + 1),
);

for my $what (sort keys %bad) {
    $nginx->sql("update search_segment set $bad{$what} where guild_id = ?",
        $guild);
    my @wrong = grep { $_ ne '200' && $_ ne '503' }
        map { page(query_string($_))->{status} } @queries;
    is_deeply \@wrong, [], "$what: answers or refusals";
    is head('format'), 0, '... the index is to be made anew';
    is_deeply [map { found($nginx, $_) } @queries], \@right,
        '... and meanwhile all is right';
    $nginx->sql('select keeper_searchable(20000)');
    index_all($nginx, $guild);
    is_deeply [map { found($nginx, $_) } @queries], \@right, '... and then';
}

# any byte may be wrong

for (1 .. 40) {
    $nginx->sql(q(update search_segment
        set body = set_byte(body, (?::float8 * (octet_length(body) - 1))::int,
                            ?) where guild_id = ?), rand, int rand 256, $guild);
}
for my $from ($nginx, $other{off}) {
    my @wrong = grep { $_ ne '200' && $_ ne '503' } map {
        $from->get("/servers/$guild/logs?" . query_string($_), %as)->status
    } @queries;
    is_deeply \@wrong, [], 'whatever the bytes are, each question is answered';
}

done_testing;
