# "200 text/csv, 204 when nothing matches; filters of /logs without limit and
# cursor; streamed, constant memory, no row cap": RFC 4180, newest first.  A
# reader that stalls holds no connection to the database.  An export that cannot
# be finished does not look complete.

use lib 't/lib';
use Guildlog;
use Guildlog::Export;

# other programs may keep this machine busy
my $nginx = Guildlog->new(openapi => 1, api => 'send_timeout 60s;',
    database => { queue_timeout => '20s' });
my $server = $nginx->server;
my %as     = (token => $nginx->token($server));
my $export = "/servers/$server/logs/export";
my $now    = int(time * 1000);
my $next   = 0;


sub record {
    my (@entries) = @_;

    my $answer = $nginx->operator('POST', "/servers/$server/logs", [map { {
        event_id => 'e' . $next++, type => 5, timestamp => $now - $next, %$_,
    } } @entries]);
    $nginx->stored($server);
    return $answer->json->{ids};
}


# rows of cells; dies if the text is not RFC 4180
sub csv {
    my ($text) = @_;

    my (@rows, @row);
    utf8::decode($text);
    while ($text =~ /\G(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gc) {
        my ($quoted, $plain, $end) = ($1, $2, $3);
        push @row, defined $quoted ? $quoted =~ s/""/"/gr : $plain;
        next if $end eq ',';
        push @rows, [@row];
        @row = ();
    }
    die 'not CSV at ', pos $text if (pos $text // 0) < length $text || @row;
    return @rows;
}


my @columns = qw(timestamp log_id log_type log_name summary executor_id
    executor_name target_id target_name channel_id channel_name role name
    reason count content content_after delivered delivery_reason action value
    changes);

sub export {
    my ($query) = @_;

    my $answer = $nginx->get("$export?$query", %as);
    is $answer->status, 200, "200: $query";
    my ($head, @rows) = csv($answer->text);
    is_deeply $head, \@columns, 'the header row';
    return map { my %row; @row{@columns} = @$_; \%row } @rows;
}


is $nginx->get("$export?type=50", %as)->status, 204, 'nothing matches';
is $nginx->get("$export?type=50", %as)->text, '', '... without a header row';

# a row

my ($id) = @{ record({
    executor => { id => '101', name => '=Ann' },
    target   => { id => '102', name => 'Bén "B"' },
    channel  => { id => '103', name => 'a,b' },
    role => '+r', name => '-n', reason => "@\r\nx", count => 5,
    content => "line\nfeed", contentAfter => "\t=1", action => '@a',
    value => 'v', until => 5, changes => [
        { key => 'nsfw', old_value => JSON::PP::false(), new_value => 1 },
        { key => 'topic', new => "a; b\nc" },
        { key => 'permissions', old => '8', new => '2048' }],
}) };

my ($row) = export('type=5');
is_deeply $row, {
    timestamp => iso($now - 1), log_id => $id, log_type => 5,
    log_name => 'Message deleted',
    summary => q('=Ann deleted a message by Bén "B" in #a,b),
    executor_id => 101, executor_name => "'=Ann",
    target_id => 102, target_name => 'Bén "B"',
    channel_id => 103, channel_name => 'a,b', role => "'+r", name => "'-n",
    reason => "'@\r\nx", count => 5, content => "line\nfeed",
    content_after => "'\t=1", delivered => 'not_delivered',
    delivery_reason => 'no_channel', action => "'\@a", value => 'v',
    changes => "Age-restricted: no → 1; Topic: a; b\nc; "
        . 'Permissions: + Send Messages, − Administrator',
}, 'every cell is right, and none is a formula';

# a program that also separates by semicolons and tabs, as an import does that
# guesses, sees the same cells, because such cells are quoted

record({ type => 6, content => $_ })
    for 'a;=1+1;b', "a\t=1+1", ';@x', "a;\"\n;=1";
my @lines = $nginx->get("$export?type=6", %as)->text =~
    /\G((?:[^"\r]|"(?:[^"]|"")*")*)\r\n/g;
is @lines, 5, 'a header row and four entries';
for my $line (@lines) {
    my @cells = $line =~ /\G("(?:[^"]|"")*"|[^";,\t]*)(?:[;,\t]|\z)/g;
    pop @cells if @cells > @columns;
    is @cells, @columns, 'the number of cells is the same for each separator';
    is scalar(grep { /^"?[=+\-@\t\r\n]/ } @cells), 0,
        '... no cell is a formula';
}

like((export('type=5&locale=de'))[0]{summary},
    qr/^'=Ann hat eine Nachricht von Bén "B" in #a,b gelöscht$/, 'a German summary');
like((export('type=5&locale=de'))[0]{changes}, qr/^Mit Altersbeschränkung: nein/,
    'changes in German');
like((export('type=5&locale=ja'))[0]{summary},
    qr/^'=Annが#a,bでBén "B"のメッセージを削除しました$/, 'a Japanese one');

like((export('type=5&locale=fr'))[0]{summary}, qr/^'=Ann a supprimé/, 'a French one');
is((export('type=5&locale=en-US'))[0]{summary}, (export('type=5'))[0]{summary},
    'English is that of the United States');

# for spreadsheets

my $marked = $nginx->get("$export?type=5&bom=1&ids=text", %as)->text;
is substr($marked, 0, 12), "\xef\xbb\xbftimestamp", 'a byte order mark';
like $marked, qr/,"=""$id""",5,.*,"=""101""",.*,"=""102""",.*,"=""103""",/s,
    'ids as texts';
unlike $nginx->get("$export?type=5&bom=0", %as)->text, qr/\xef\xbb\xbf/,
    'none of it unless it is asked for';
is $nginx->get("$export?$_", %as)->status, 400, "400: $_"
    for qw(bom=2 ids=number format=xml);
like $nginx->get("$export?format=xml", %as)->json->{error},
    qr/^format: must be one of csv, ndjson$/, 'the format is named';

# a LogEntry a line

{
    my $answer = $nginx->get("$export?type=5&format=ndjson", %as);
    is $answer->status, 200, 'NDJSON';
    is $answer->header('Content-Type'), 'application/x-ndjson; charset=utf-8',
        '... by its type';
    like $answer->header('Content-Disposition'), qr/\.ndjson"$/, '... a file';
    my $page = $nginx->get("/servers/$server/logs?type=5", %as)->json;
    my @lines = split /\n/, $answer->text, -1;
    is pop @lines, '', '... with a newline behind each line';
    is_deeply [map { Cpanel::JSON::XS->new->utf8->decode($_) } @lines],
        $page->{entries}, '... the entries of the log';
    is $page->{entries}[0]{changes}[1]{new}, "a; b\nc", '... with changes';
    is $nginx->get("$export?type=50&format=ndjson", %as)->status, 204,
        '204 where nothing matches';
    $answer = $nginx->get("$export?format=ndjson&search=B%C3%A9n", %as);
    is_deeply [map { Cpanel::JSON::XS->new->utf8->decode($_)->{id} }
        split /\n/, $answer->text], [$id], '... searched';
}

is((export('type=5&locale=de'))[0]{log_name}, 'Message deleted',
    'the title stays in English');
is $nginx->get("$export?locale=xx", %as)->status, 400,
    'an unknown language is refused';
is $nginx->get("$export?limit=x&cursor=x&type=5", %as)->status, 200,
    'limit and cursor are unknown here, and ignored';

my $answer = $nginx->get("$export?type=5", %as);
like $answer->header('Content-Type'), qr{^text/csv}, 'the type is text/csv';
like $answer->header('Content-Disposition'),
    qr/^attachment; filename="[\w.-]+\.csv"$/, 'a file';
my $head = $nginx->head("$export?type=5", %as);
is $head->status, 200, 'HEAD';
is $head->header('Content-Disposition'),
    $answer->header('Content-Disposition'), 'has the headers of GET'
    if $head->header('Date') eq $answer->header('Date');


sub iso {
    my ($ms) = @_;
    my @t = gmtime int($ms / 1000);
    return sprintf '%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', $t[5] + 1900,
        $t[4] + 1, @t[3, 2, 1, 0], $ms % 1000;
}


# many chunks

fill($nginx, $server, $now, 20_000);
my @rows = export('type=7');
is @rows, 20_000, 'all rows come, for any size of a chunk';
is $nginx->get("$export?type=7&format=ndjson", %as)->text =~ tr/\n//, 20_000,
    '... and all lines';
is_deeply [map { $_->{log_id} } @rows],
    [sort { $b <=> $a } map { $_->{log_id} } @rows], 'newest first';
is export('type=7&after=' . ($now - 1201)), 200, 'exactly one chunk';
is export('type=7&after=' . ($now - 1202)), 201, 'one row more than a chunk';

# a reader that stalls

my @tokens  = ($as{token}, map { $nginx->token($server) } 1 .. 4);
my @stalled = map { my $token = $_;
    map {
        my $client = ask($nginx, $export, $token);
        wait_for { $client->readable } 60, 'the export begins';
        $client;
    } 1 .. 4 } @tokens;
my $before = memory($nginx);
is $nginx->get("/servers/$server/logs?limit=1", %as)->status, 200,
    'others are served while 20 exports are stalled';
my $else = $nginx->server;
is $nginx->get("/servers/$else/logs/export?type=5",
    token => $nginx->token($else))->status, 204, 'so are their exports';
ok eval { wait_for {
    !$nginx->sql(q(select count(*) from pg_stat_activity
        where usename = 'guildlog' and datname = current_database()
          and state <> 'idle'))
} 30 }, 'stalled exports hold no connection to the database';

my $rest = $stalled[0]->response;
ok !$rest->truncated, 'one stalled reader goes on';
my $stored = $nginx->sql('select count(*) from entries where guild_id = ?',
    $server);
is scalar(my @got = csv($rest->text)), $stored + 1, '... and gets everything';
cmp_ok memory($nginx) - $before, '<', 30_000, "the worker's memory is constant"
    if ($ENV{GUILDLOG_BUILD} || '') !~ /^asan/;   # which keeps what is freed
$_->close(reset => 1) for @stalled;

# an export that cannot be finished

my $connection = ask($nginx, $export, $as{token});
wait_for { $connection->readable } 30, 'the export begins';
$nginx->sql('revoke execute on function logs_export from guildlog');
ok $connection->response->truncated,
    'an error of the database ends it unfinished';
like $nginx->error_log, qr/"logs_export" failed, SQLSTATE 42501/,
    '... the log has the cause';
$nginx->sql('grant execute on function logs_export to guildlog');

$connection = ask($nginx, $export, $as{token});
wait_for { $connection->readable } 30, 'another export begins';
$nginx->sql('update token set revoked_at = now() where guild_id = ?', $server);
$answer = $connection->response;
is $answer->status, 200, 'the answer had begun';
ok $answer->truncated, 'a revoked token ends it unfinished';

done_testing;
