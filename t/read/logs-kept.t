# A worker keeps a page that is asked for again, and asks the database only
# whether the page is still right.  The test compares each answer with that of a
# second nginx on the same database, which keeps no pages.

use lib 't/lib';
use Guildlog;
use Socket qw(SOL_SOCKET SO_RCVBUF);

my $nginx = Guildlog->new(workers => 1, status => 'allow all;',
    api => 'guildlog_limit off;');
my $plain = Guildlog->new(name => 'plain', cluster => $nginx->cluster,
    dbname => $nginx->dbname, http => 'guildlog_page_cache 0;',
    api => 'guildlog_limit off;');

our $server = $nginx->server;
our %as     = (token => $nginx->token($server));
my $next    = 0;


sub page {
    my ($query, $from) = @_;
    return ($from || $nginx)->get("/servers/$server/logs" . ($query // ''),
        %as);
}


sub record {
    my $answer = $nginx->operator('POST', "/servers/$server/logs", [
        map { { event_id => 'e' . $next++, type => 5, %$_ } } @_ ]);
    return $answer->json->{recorded};
}


# the number of pages that were answered from memory
sub kept {
    return $nginx->get('/status', raw_path => 1)
        ->json->{page_cache_hits_total};
}


# asks four times, compares with the other nginx, and returns how many answers
# came from memory: 3, or 2 where this page is asked for the first time
sub again {
    my ($query) = @_;

    my $before = kept();
    for (1 .. 4) {
        my ($got, $want) = (page($query), page($query, $plain));
        return 'another' if $got->text ne $want->text;
    }
    return kept() - $before;
}


# the number of entries of an executor on the first page
sub by {
    my ($executor) = @_;
    return scalar grep { ($_->{executor}{id} // '') eq $executor }
        @{ page()->json->{entries} };
}


# gives all entries their final outcome
sub settle {
    my ($status, $reason) = @_;

    $nginx->sql('update log_arrival set dstatus = ?, dreason = ?
        where guild_id = ? and dstatus is null', $status, $reason, $server);
    return;
}


# which requests share a page

is record(map { { executor => { id => "$_" } } } 1 .. 30), 30, '30 entries';
is again(), 2, 'a page that is asked for again is kept';
my $page = page('?limit=9')->json;
for my $query ('?limit=7', "?limit=7&cursor=$page->{cursor}", '?limit=8',
    '?after=' . $page->{entries}[3]{timestamp},
    '?before=' . (time + 86400) * 1000,
    '?bot=pro', "?cursor=$page->{cursor}")
{
    is again($query), 2, "$query has a page of its own";
}
for my $query (qw(type=5 category=categoryMembers member=3 search=7 search=7&type=5
    channel=1 type=5&limit=3))
{
    is again("?$query"), 2, "$query has a page of its own";
}
is $nginx->head("/servers/$server/logs", %as)->header('Content-Length'),
    length(page()->text), 'HEAD has its length';

{
    local $server = $nginx->server;
    local %as     = (token => $nginx->token($server));
    is again(), 2, 'another server has a page of its own';
    is record({ executor => { id => '88' } }), 1,
        'an entry of the other server';
    is by('88'), 1, '... is on that page';
}

# what changes a page

is record({ executor => { id => '99' } }), 1, 'a new entry';
is by('99'), 1, '... is on the page';
is record({ timestamp => (time - 86400) * 1000, executor => { id => '98' } }),
    1, 'an entry with an earlier time';
is by('98'), 1, '... is on the page';
is again(), 4, 'the page is kept again';

for my $plan ('free', 'pro', 'free', 'pro') {
    $nginx->operator('PUT', "/servers/$server", { plan => $plan });
    is again(), 3, "the plan changes to $plan";
}

$nginx->patch("/servers/$server/config/logging/channels", %as,
    json => { main_channel => '10' });
$nginx->patch("/servers/$server/config/logging/settings", %as,
    json => { active_ignore => \1 });
settle(0, 'off');
is record({ executor => { id => '77' } }), 1, 'a held entry';
$nginx->sql("update log_arrival set held_to = now() + interval '5 min'
    where held_to is not null");
is again(), 0, 'a page with a held entry is not kept';
$nginx->post("/servers/$server/active/ignore/executors", %as,
    json => { id => '77' });
is by('77'), 0, 'the entry is removed';
$nginx->patch("/servers/$server/config/logging/settings", %as,
    json => { active_ignore => \0 });
settle(0, 'off');

# entries leave the page when they leave the window of the plan

{
    my $stay   = page()->json->{total};
    my $window = 30 * 86400 * 1000;
    is record(map { { timestamp => time * 1000 - $window + $_ } }
        12_000, 12_500, 13_000), 3,
            'three entries are about to leave the window';
    settle(0, 'off');
    ok wait_for {
        my ($before, $got, $after) = map { $_->json->{total} }
            page(undef, $plain), page(), page(undef, $plain);
        die "$got, but it was $before and is $after\n"
            if $got > $before || $got < $after;
        $after == $stay;
    }, 'they leave one after another';
    like again(), qr/^[34]$/, 'then the page is kept again';
}

# deliveries

is record({}), 1, 'a queued entry';
is again(), 0, 'a page with a queued entry is not kept';
settle(0, 'webhook_404');
is again(), 3, 'a page with a failed entry is kept';
is $nginx->operator('POST', "/servers/$server/replay",
    { ids => [page()->json->{entries}[0]{id}] })->json->{replayed}, 1,
    'the entry is sent again';
is page()->json->{entries}[0]{delivery}{reason}, 'queued',
    '... the page shows it as queued';
is again(), 0, '... and is not kept';

# blocks are made of what is on a page, which stays the same

{
    $nginx->sql('delete from replay where guild_id = ?', $server);
    settle(0, 'off');
    is again(), 3, 'a page of what has just come';
    my $before = page()->text;
    for my $make (sub { $nginx->some_blocks($server, 20) },
        sub { $nginx->blocks($server) })
    {
        $make->();
        is page()->text, $before, 'blocks are made: the page is the same';
        like again(), qr/^[34]$/, '... and kept again';
    }
}

# a token that is revoked

{
    my $new = $nginx->new_token($server);
    local %as = (token => $new->{token});
    $nginx->sql('delete from replay where guild_id = ?', $server);
    settle(0, 'off');
    is again(), 3, 'a kept page for another token';
    $nginx->sql('update token set revoked_at = now() where token_id = ?',
        $new->{unique_id});
    is page()->status, 401, '... is refused after the token is revoked';
}

# a slow reader gets the page as it was when the request came

{
    record(map { { content => 'x' x 3000, executor => { id => '55' } } }
        1 .. 100);
    settle(0, 'off');
    is again(), 3, 'a long page';
    my $want = page(undef, $plain)->text;
    my $before = kept();
    my @slow = map {
        my $client = $nginx->connection;
        setsockopt $client->socket, SOL_SOCKET, SO_RCVBUF, 4096;
        $client->send("GET /api/servers/$server/logs HTTP/1.1\r\n"
            . "Host: localhost\r\nAuthorization: Bearer $as{token}\r\n\r\n");
        $client;
    } 1 .. 3;
    ok wait_for { kept() == $before + 3 }, 'the requests have come';
    for (1 .. 5) {
        record({ executor => { id => '56' } });
        page();
    }
    setsockopt $_->socket, SOL_SOCKET, SO_RCVBUF, 1 << 20 for @slow;
    is scalar(grep { $_->response->text eq $want } @slow), 3,
        'entries that came later are not in the answer';
}

done_testing;
