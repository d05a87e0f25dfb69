# "A page ends after 1 MiB (at least one entry; cursor goes on)".  A block of an
# export ends there, too.  So an answer takes no more memory of a worker than
# that, however long its entries are and however slow its reader is.

use lib 't/lib';
use Guildlog;
use Guildlog::Export;
use Socket qw(SOL_SOCKET SO_RCVBUF);

my $plain  = ($ENV{GUILDLOG_BUILD} || '') !~ /^asan/;   # which keeps memory
my $mib    = 1 << 20;
my $longest = 64 << 10;

my $nginx = Guildlog->new(workers => 1, listen => 'sndbuf=32k',
    api => 'guildlog_limit requests=100000; send_timeout 60s;');
my $server = $nginx->server;
our %as    = (token => $nginx->token($server));
my $next   = 0;


sub record {
    my $answer = $nginx->operator('POST', "/servers/$server/logs", [
        map { { event_id => 'e' . $next++, type => 3, %$_ } } @_ ]);
    die $answer->text if ($answer->json->{recorded} // 0) != @_;
    return map { "$_" } @{ $answer->json->{ids} };
}


# a bulk deletion of some 60 KB; with an argument, of that many KB
sub bulk {
    my ($content, $size) = @_;
    return { channel => { id => '9', name => 'general' },
        executor => { id => '7', name => 'Ann' }, role => 'Moderator',
        content => $content, messages => [ map { {
            id => "$_", authorId => '8', content => 'x' x 2000,
        } } 1 .. ($size // 60) / 2 ] };
}


# reads a query page by page with the cursors: the ids in order, the bytes and
# the total of each page.  It reads with regular expressions, because decoding
# many pages of a megabyte is slow
sub walk {
    my ($query) = @_;

    my (@ids, @sizes, @totals, %counts, $cursor);
    for (1 .. 1000) {
        my $answer = $nginx->get("/servers/$server/logs?$query"
            . (defined $cursor ? "&cursor=$cursor" : ''), %as);
        is $answer->status, 200, $query or last if $answer->status != 200;
        my $text = $answer->text;
        my @page = $text =~ /\{"id":"(\d+)","type":/g;
        my ($total, $counts) = $text =~
            /^\{"total":(\d+),.*?"categoryCounts":(\{.*?\})/;
        push @ids, @page;
        push @sizes, length $text;
        push @totals, $total - @page;
        $counts{$counts}++;
        ($cursor) = $text =~ /"cursor":"([^"]+)"\}$/ or last;
        die 'a page has no entry' if !@page;
    }
    return { ids => \@ids, sizes => \@sizes, rest => \@totals,
        counts => \%counts };
}


sub largest { (sort { $b <=> $a } @_)[0] }


# 200 bulk deletions among short entries

my @ids = map { record(map { bulk("word $_") } 1 .. 10) } 1 .. 20;
@ids = reverse @ids;

# first a server without waiting entries, then one with some
for my $state ('settled', 'with lanes') {
    if ($state eq 'with lanes') {
        $nginx->patch("/servers/$server/config/logging/channels", %as,
            json => { main_channel => '10' });
        push @ids, record(map { bulk("word $_") } 1 .. 3);
        @ids = sort { $b <=> $a } @ids;
    }
    for my $query ('', 'type=3&', 'channel=9&', 'member=7&type=3&',
        $state eq 'settled' ? ('category=categoryText&', 'member=7&',
            'role=mod&', 'search=word&', 'channel=9&member=7&') : ())
    {
        my $walk = walk("${query}limit=200&type=3");
        $walk = walk('limit=200') if $query eq '';
        my @got = $query eq '' ? grep { my $id = $_; grep { $_ eq $id } @ids }
            @{ $walk->{ids} } : @{ $walk->{ids} };
        is_deeply \@got, \@ids,
            "$state, '$query': each entry once, in order";
        cmp_ok largest(@{ $walk->{sizes} }), '<=', $mib + $longest,
            '... no page is larger than it may be';
        cmp_ok scalar(@{ $walk->{sizes} }), '>', 10, '... there are many pages';
        cmp_ok scalar(grep { $_ < $mib / 2 } @{ $walk->{sizes} }), '<=', 1,
            '... at most one page is small';
        is $walk->{rest}[-1], 0, '... and the total is exact';
        is keys %{ $walk->{counts} }, 1, '... and is the same on each page';
    }
}

# a page of one entry, and pages of ordinary ones

is scalar @{ walk('limit=1&type=3')->{ids} }, scalar @ids,
    'pages of one entry have all entries';
record(map { { type => 5, content => "short $_" } } 1 .. 300);
is @{ $nginx->get("/servers/$server/logs?limit=200", %as)->json->{entries} },
    200, 'a page has 200 short entries';
is @{ $nginx->get("/servers/$server/logs?limit=200&type=5", %as)
    ->json->{entries} }, 200, '... also with a filter';

# entries just above and below their share of a page

record(map { bulk("edge $_", 10) } 1 .. 100);
is scalar @{ walk('limit=100&search=edge')->{ids} }, 100,
    'a page has 100 entries of the largest size that fits';
cmp_ok largest(@{ walk('limit=100')->{sizes} }), '<=', $mib + $longest,
    '... and is within the bound';

# blocks of an export

my $total = $nginx->get("/servers/$server/logs?limit=1", %as)
    ->json->{total};
for my $query ('', '?type=3', '?search=word', '?role=mod&type=3') {
    my $want = $query eq '?search=word' ? @ids
             : $query                   ? @ids + 100
             :                            $total;
    is drain(ask($nginx, "/servers/$server/logs/export$query", $as{token},
        '1.0'))->{rows}, $want, "an export has all rows: $query";
}

# the page cache keeps large pages and answers the same

my $first = $nginx->get("/servers/$server/logs?limit=200&type=3", %as)->text;
is ref eval { json->decode($first) }, 'HASH',
    'a page that was cut is valid JSON';
is $nginx->get("/servers/$server/logs?limit=200&type=3", %as)->text, $first,
    'the same question has the same answer' for 1 .. 3;

# slow readers

# the KB by which a worker grows while 30 slow readers read this answer; all of
# them get all of it
sub slow_readers {
    my ($path, $from, @tokens) = @_;

    my @slow = map {
        my $client = $from->connection;
        setsockopt $client->socket, SOL_SOCKET, SO_RCVBUF, 4096;
        $client->send("GET /api$path HTTP/1.1\r\nHost: x\r\n"
            . "Authorization: Bearer $_\r\n\r\n");
        $client;
    } @tokens;
    wait_for { $_->readable || return 0 for @slow; 1 } 60, 'all answers begin';
    wait_for { !$from->sql(q(select count(*) from pg_stat_activity
        where usename = 'guildlog' and datname = current_database()
          and state <> 'idle')) } 60, 'the database has nothing to do';
    my $memory = memory($from);
    setsockopt $_->socket, SOL_SOCKET, SO_RCVBUF, 1 << 20 for @slow;
    my @texts = map { my $answer = $_->response;
        $answer->truncated ? 'truncated' : $answer->text } @slow;
    $_->close for @slow;
    return ($memory, @texts);
}

my $before = memory($nginx);
my ($memory, @texts) = slow_readers("/servers/$server/logs?limit=200&type=3",
    $nginx, ($as{token}) x 30);
is scalar(grep { length > $mib / 2 } @texts), 30,
    '30 slow readers get their page';
cmp_ok $memory - $before, '<', 30 * ($mib + $longest) / 1024 + 20_000,
    '... the worker holds one page for each' if $plain;

done_testing;
