# A page that is asked for again is kept by a worker, and the database says only
# whether it is still what it was.  So beside this nginx stands another one on
# the same database that keeps nothing: whatever happens, both say the same.

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


# pages that were answered from memory
sub kept {
    return $nginx->get('/status', raw_path => 1)
        ->json->{page_cache_hits_total};
}


# how many of four requests were, if all say what the other nginx says: all but
# the first, or but the second too if this page had never been asked for
sub again {
    my ($query) = @_;

    my $before = kept();
    for (1 .. 4) {
        my ($got, $want) = (page($query), page($query, $plain));
        return 'another' if $got->text ne $want->text;
    }
    return kept() - $before;
}


# of the entries of that executor on the first page
sub by {
    my ($executor) = @_;
    return scalar grep { ($_->{executor}{id} // '') eq $executor }
        @{ page()->json->{entries} };
}


# whatever is to become of entries has become of them
sub settle {
    my ($status, $reason) = @_;

    $nginx->sql('update log_entry set dstatus = ?, dreason = ?
        where guild_id = ? and dstatus is null', $status, $reason, $server);
    return;
}


# what is kept, and by what

is record(map { { executor => { id => "$_" } } } 1 .. 30), 30, '30 entries';
is again(), 2, 'a page asked for twice is kept';
my $page = page('?limit=9')->json;
for my $query ('?limit=7', "?limit=7&cursor=$page->{cursor}", '?limit=8',
    '?after=' . $page->{entries}[3]{timestamp},
    '?before=' . (time + 86400) * 1000,
    '?bot=pro', "?cursor=$page->{cursor}")
{
    is again($query), 2, "of $query its own";
}
for my $query (qw(type=5 category=categoryMembers member=3 search=7 search=7&type=5
    channel=1 type=5&limit=3))
{
    is again("?$query"), 2, "and of $query";
}
is $nginx->head("/servers/$server/logs", %as)->header('Content-Length'),
    length(page()->text), 'its head';

{
    local $server = $nginx->server;
    local %as     = (token => $nginx->token($server));
    is again(), 2, 'another server has another';
    is record({ executor => { id => '88' } }), 1, 'an entry of its own';
    is by('88'), 1, '... is there';
}

# what changes it

is record({ executor => { id => '99' } }), 1, 'one more';
is by('99'), 1, 'is on the page';
is record({ timestamp => (time - 86400) * 1000, executor => { id => '98' } }),
    1, 'one that comes late';
is by('98'), 1, 'as well';
is again(), 4, 'and that page is kept';

for my $plan ('free', 'pro', 'free', 'pro') {
    $nginx->operator('PUT', "/servers/$server", { plan => $plan });
    is again(), 3, "the plan is $plan now";
}

$nginx->patch("/servers/$server/config/logging/channels", %as,
    json => { main_channel => '10' });
$nginx->patch("/servers/$server/config/logging/settings", %as,
    json => { active_ignore => \1 });
settle(0, 'off');
is record({ executor => { id => '77' } }), 1, 'an entry that is held';
$nginx->sql("update held_entry set until = now() + interval '5 min'");
is again(), 0, 'may change by itself, and is not kept';
$nginx->post("/servers/$server/active/ignore/executors", %as,
    json => { id => '77' });
is by('77'), 0, 'it is taken back';
$nginx->patch("/servers/$server/config/logging/settings", %as,
    json => { active_ignore => \0 });
settle(0, 'off');

# what leaves the window leaves the page

{
    my $stay   = page()->json->{total};
    my $window = 30 * 86400 * 1000;
    is record(map { { timestamp => time * 1000 - $window + $_ } }
        12_000, 12_500, 13_000), 3, 'three are about to go';
    settle(0, 'off');
    ok wait_for {
        my ($before, $got, $after) = map { $_->json->{total} }
            page(undef, $plain), page(), page(undef, $plain);
        die "$got, but it was $before and is $after\n"
            if $got > $before || $got < $after;
        $after == $stay;
    }, 'they go, one by one';
    like again(), qr/^[34]$/, 'then it is kept again';
}

# deliveries

is record({}), 1, 'one that waits to be sent';
is again(), 0, 'is not kept';
settle(0, 'webhook_404');
is again(), 3, 'one that failed is';
is $nginx->operator('POST', "/servers/$server/replay",
    { ids => [page()->json->{entries}[0]{id}] })->json->{replayed}, 1,
    'until it is sent again';
is page()->json->{entries}[0]{delivery}{reason}, 'queued', '... it says so';
is again(), 0, '... and is not kept';

# who may not read it any more

{
    my $new = $nginx->new_token($server);
    local %as = (token => $new->{token});
    $nginx->sql('delete from replay where guild_id = ?', $server);
    settle(0, 'off');
    is again(), 3, 'a page for another token';
    $nginx->sql('update token set revoked_at = now() where token_id = ?',
        $new->{unique_id});
    is page()->status, 401, 'which reads nothing once it is revoked';
}

# who is slow to read gets the page that was when he came

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
    ok wait_for { kept() == $before + 3 }, 'they have come';
    for (1 .. 5) {
        record({ executor => { id => '56' } });
        page();
    }
    setsockopt $_->socket, SOL_SOCKET, SO_RCVBUF, 1 << 20 for @slow;
    is scalar(grep { $_->response->text eq $want } @slow), 3,
        'whatever came after it';
}

done_testing;
