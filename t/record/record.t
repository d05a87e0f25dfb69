# The operator's endpoint for recording: entries as a JSON array or NDJSON, for
# one server or for many.  "One bad entry does not sink the batch, it is
# reported by index"; "the same one twice in 24 h is stored once".

use lib 't/lib';
use Guildlog;

my $nginx  = Guildlog->new(openapi => 1);
my $server = $nginx->server;
my $other  = $nginx->server;
my $now    = int(time * 1000);
my $next   = 0;


sub entry {
    return { event_id => 'e' . $next++, type => 5, @_ };
}


sub line {
    return json->encode(entry(@_));
}


sub send_text {
    my ($path, $type, $text) = @_;

    return Guildlog::Client->new(unix => $nginx->{operator})->request('POST',
        $path, body => $text, headers => ['Content-Type', $type]);
}


sub record {
    return $nginx->operator('POST', "/servers/$server/logs", [@_]);
}


# records an entry with these fields; returns its error or its other outcome
sub fate {
    my $answer = record(entry(@_))->json;
    return $answer->{errors}[0]{error} // ($answer->{recorded}
        ? 'recorded' : (keys %{ $answer->{dropped} })[0]);
}


# the formats

my $answer = record(entry(content => 'Ünï'), entry(), entry(type => 7));
is $answer->status, 200, 'an array';
is $answer->header('Content-Type'), 'application/json', '... is answered';
is_deeply { %{ $answer->json }, ids => 0 }, { recorded => 3, duplicates => 0,
    dropped => {}, errors => [], ids => 0 },
        '... with the outcome of each entry';
my @ids = @{ $answer->json->{ids} };
is_deeply [map { scalar $nginx->sql(
    'select type from entries where id = ?', $_) } @ids], [5, 5, 7],
    '... with an ID for each, in their order';
like $nginx->sql('select doc from entries where id = ?', $ids[0]),
    qr/"content":"Ünï"/, 'text is stored unchanged';

my @lines = map { line() } 1 .. 3;
my $at = "/servers/$server/logs";
for my $form (
    ['lines', 'application/x-ndjson', join("\n", @lines)],
    ['lines that end', 'application/x-ndjson; charset=utf-8',
        join('', map { "$_\n" } map { line() } 1 .. 3)],
    ['blank ones', 'application/x-ndjson',
        join("\r\n\n \t\n", map { line() } 1 .. 3)],
    ['under another name', 'application/json',
        join("\n", map { line() } 1 .. 3)],
) {
    my ($name, @form) = @$form;
    is send_text($at, @form)->json->{recorded}, 3, "NDJSON: $name";
}

$answer = send_text($at, 'application/x-ndjson',
    join "\n", line(), '{"broken', line(), '[]', '5',
    '{"event_id": "a", "event_id": "b", "type": 5}', line());
is $answer->json->{recorded}, 3, 'a line that is not JSON is a bad entry';
is_deeply [map { $_->{index} } @{ $answer->json->{errors} }], [1, 3, 4, 5],
    '... reported with its index';
is_deeply [map { defined ? 1 : 0 } @{ $answer->json->{ids} }],
    [1, 0, 1, 0, 0, 0, 1], '... without an id';
like $answer->json->{errors}[3]{error}, qr/^event_id: given twice$/,
    'a field that occurs twice is refused';
is send_text($at, 'application/x-ndjson', "\n \n")->json->{recorded}, 0,
    'no lines, no entries';
is_deeply $nginx->operator('POST', $at, [])->json, { recorded => 0,
    duplicates => 0, dropped => {}, errors => [], ids => [] },
    'an empty array';

for my $bad (
    ['nothing', 'application/json', '', 400],
    ['text', 'text/plain', '[]', 415],
    ['a broken array', 'application/json', '[{"event_id": "x"', 400],
    ['a string', 'application/json', '"x"', 400],
    ['a field twice', 'application/json',
        '[{"event_id": "x", "event_id": "y", "type": 5}]', 400],
    ['too deep', 'application/json', '[' x 20 . ']' x 20, 400],
    ['no UTF-8', 'application/json', "[{\"event_id\": \"\xff\"}]", 400],
    ['1001 entries', 'application/json',
        '[' . join(',', map { line() } 1 .. 1001) . ']', 400],
    ['1001 lines', 'application/x-ndjson',
        join("\n", map { line() } 1 .. 1001), 400],
    ['9 MB', 'application/json', '[' . ' ' x 9_000_000 . ']', 413],
) {
    my ($name, $type, $text, $status) = @$bad;
    is send_text($at, $type, $text)->status, $status, "$name: $status";
}
is record(map { entry() } 1 .. 1000)->json->{recorded}, 1000, '1000 entries';


# the fields of an entry and their rules

for my $rule (
    ['event_id: must be 1 to 64 characters long', event_id => ''],
    ['event_id: must be 1 to 64 characters long', event_id => 'x' x 65],
    ['event_id: must be a string', event_id => undef],
    ['type: must be an integer from 0 to 101', type => 102],
    ['type: must be an integer from 0 to 101', type => '5'],
    ['recorded', type => 101],
    ['timestamp: must be within the last 30 days and at most 60 s ahead',
        timestamp => $now + 600_000],
    ['timestamp: must be within the last 30 days and at most 60 s ahead',
        timestamp => $now - 30 * 86_400_000 - 1000],
    ['recorded', timestamp => $now + 50_000],
    ['recorded', timestamp => $now - 30 * 86_400_000 + 60_000],
    ['timestamp: must be an integer from 0 to 9007199254740991',
        timestamp => 1.5],
    ['colour: unknown field', colour => 1],
    ['server: unknown field', server => $server],
    ['executor: must be an object', executor => '1'],
    ['executor.id: is required', executor => { name => 'x' }],
    ['executor.id: must be a string of 1 to 20 digits, '
        . 'from 0 to 9223372036854775807', executor => { id => 'x' }],
    ['executor.nick: unknown field', executor => { id => '1', nick => 1 }],
    ['recorded', executor => { id => '0', name => 'API' }],
    ['executor.bot: must be true or false',
        executor => { id => '1', bot => 1 }],
    ['target.roles[1]: must be a string of 1 to 20 digits, '
        . 'from 1 to 9223372036854775807',
        target => { id => '1', roles => ['1', 'x'] }],
    ['channel.id: must be a string of 1 to 20 digits, '
        . 'from 1 to 9223372036854775807',
        channel => { id => '9223372036854775808' }],
    ['recorded', channel => { id => '9223372036854775807', name => '',
        parent => '1', category => '2' }],
    ['executor.name: must be at most 100 characters long',
        executor => { id => '1', name => 'ü' x 101 }],
    ['recorded', executor => { id => '1', name => 'ü' x 100 }],
    ['role: must be at most 100 characters long', role => 'x' x 101],
    ['reason: must be at most 512 characters long', reason => 'x' x 513],
    ['recorded', reason => '日' x 512],
    ['content: must be at most 4000 characters long', content => 'x' x 4001],
    ['recorded', content => '😀' x 4000],
    ['messages: must be an array', messages => {}],
    ['messages[1]: must be an object', messages => [{}, 1]],
    ['messages[3].content: must be at most 4000 characters long',
        messages => [{}, {}, {}, { content => 'x' x 4001 }]],
    ['messages[0].attachments[1].name: must be a string',
        messages => [{ attachments => [{}, { name => 1 }] }]],
    ['messages[0].attachments[0].url: unknown field',
        messages => [{ attachments => [{ url => 'x' }] }]],
    ['recorded', messages => [map { {} } 1 .. 150]],
    ['emoji.animated: must be true or false', emoji => { animated => 'x' }],
    ['recorded', emoji => { id => undef, name => '👍' }],
    ['entry: must be at most 65536 bytes',
        messages => [map { { content => 'x' x 3900 } } 1 .. 17]],
    ['recorded', messages => [map { { content => 'x' x 3900 } } 1 .. 16]],
    ['changes: must be an array', changes => {}],
    ['changes: must have at most 25 items',
        changes => [map { { key => 'nick' } } 1 .. 26]],
    ['recorded', changes => [map { { key => 'nick' } } 1 .. 25]],
    ['changes[1]: must be an object', changes => [{ key => 'nick' }, 'x']],
    ['changes[0].key: is required', changes => [{ old => 1 }]],
    ['changes[3].key: must be 1 to 64 characters long',
        changes => [(map { { key => 'nick' } } 1 .. 3), { key => '' }]],
    ['changes[0].before: unknown field',
        changes => [{ key => 'nick', before => 1 }]],
    ['changes[0].old: must be null, a string, a number, a boolean '
        . 'or an array of strings', changes => [{ key => 'x', old => {} }]],
    ['changes[0].old: must be at most 1024 characters long',
        changes => [{ key => 'x', old => 'ü' x 1025 }]],
    ['recorded', changes => [{ key => 'x', old => 'ü' x 1024 }]],
    ['changes[0].new: must have at most 100 items',
        changes => [{ key => 'x', new => [('a') x 101] }]],
    ['recorded', changes => [{ key => 'x', new_value => [('a') x 100] }]],
    ['recorded', changes => [{ key => 'x', new_value => [('a') x 101] }]],
    ['recorded', changes => [{ key => 'x', old_value => { a => [{}, 1.5] } }]],
    ['changes[0].old_value: must not contain NUL',
        changes => [{ key => 'x', old_value => "a\0" . 'b' x 2000 }]],
    ['changes[0].new[2]: must be a string, or an object with id and name',
        changes => [{ key => 'x', new => ['a', 'b', 1] }]],
    ['changes[0].new[1].id: must be a string of 1 to 20 digits, '
        . 'from 1 to 9223372036854775807',
        changes => [{ key => '$add', new => ['a', { id => 'x' }] }]],
    ['changes[0].new[0].id: is required',
        changes => [{ key => '$add', new => [{ name => 'Mod' }] }]],
    ['changes[0].new[0].colour: unknown field',
        changes => [{ key => '$add', new => [{ id => '1', colour => 1 }] }]],
    ['until: must be an integer from 0 to 9007199254740991',
        until => '2026-11-24T00:00:00Z'],
    ['role_id: must be a string of 1 to 20 digits, '
        . 'from 1 to 9223372036854775807', role_id => 5],
    ['image: must be an object', image => 'https://cdn.example/a.png'],
    ['image.before: must be an https URL',
        image => { before => 'http://cdn.example/a.png' }],
    ['image.after: must be 1 to 512 characters long',
        image => { after => 'https://cdn.example/' . 'x' x 493 }],
    ['recorded', image => { after => 'https://cdn.example/' . 'x' x 492 }],
    ['image.size: unknown field', image => { size => 1 }],
    ['recorded', map { $_ => undef } qw(timestamp executor target channel role
        name reason count content contentAfter messages emoji action value
        changes until role_id image proxied)],
) {
    my ($expected, @fields) = @$rule;
    is fate(@fields), $expected, "$fields[0]: $expected";
}
is_deeply send_text($at, 'application/json', '[' . join(',', line(),
        '{"event_id": "a", "type": 5, "count": 99999999999999999999}',
        '{"event_id": "\u0000", "type": 5}', line()) . ']')->json->{errors},
    [{ index => 1, error => 'count: the number is out of range',
       code => 'out_of_range', field => 'count' },
     { index => 2, error => 'event_id: must not contain NUL',
       code => 'has_nul', field => 'event_id' }],
    'values that cannot be stored';
is_deeply record(entry(), 5, entry())->json->{errors},
    [{ index => 1, error => 'entry: must be a JSON object',
       code => 'wrong_type', field => 'entry' }],
    'an entry that is not an object';
is record({ type => 5 })->json->{errors}[0]{error},
    'event_id: is required',
    'a required field is missing';


# nginx makes the document of an entry; the SQL function makes it for callers
# without nginx.  Both make the same bytes

for my $fields (
    {},
    { map { $_ => undef } qw(executor target channel role name reason count
        content contentAfter messages emoji action value) },
    { executor => { id => '007', name => "A\"\\/\b\f\n\r\t\x01\x1f\x7f" },
        target => { id => '0', name => undef }, channel => { id => '3' },
        role => '', name => 'ü 日 😀', reason => "\x{2028}", count => 0,
        content => '\u0041 {"id":"', contentAfter => ' ', action => 'a',
        value => "'\$1" },
    { messages => [] },
    { messages => [{}, { id => '1', content => undef, authorId => '2',
        timestamp => 9007199254740991, attachments => [] },
        { attachments => [{ size => 5, name => "\t" }, {}] }] },
    { messages => [map { { id => "$_", content => "m$_" } } 1 .. 100] },
    { messages => [map { { id => "$_", content => "m$_" } } 1 .. 103] },
    { emoji => {} },
    { emoji => { animated => \0, name => 'e', id => '1' } },
    { emoji => { animated => undef, name => undef, id => undef } },
    { changes => undef, until => undef, role_id => undef, image => undef },
    { until => 1795478400000 }, { role_id => '400000000000000001' },
    { image => {} }, { image => { before => 'https://cdn.example/a.png' } },
    { changes => [] },
    { changes => [{ key => 'nick', old => 'chia', new => "Chiara\n\"B\"" },
        { key => 'topic' }, { key => 'a', old_value => \0, new_value => 5 },
        { key => 'volume', old => 1, new => 0.25, new_value => 'x' },
        { key => 'b', old => undef, old_value => 'y', new => \1 },
        { key => '$add', new_value => [{ name => 'Mod', id => '42' },
            { id => '43' }, 'Helper'] }], until => 1 },
    { changes => [{ key => 'topic', old_value => 'é' x 1025,
        new_value => 'x' x 1024 }] },
    { changes => [{ key => 'a', old => 1e20, new => -1.5e300 },
        { key => 'b', old_value => 0.5e22, new_value => 0.25 },
        { key => 'c', old => 9223372036854775807, new => -9223372036854775807 }] },
) {
    my $entry = entry(timestamp => $now, %$fields);
    my $id = record($entry)->json->{ids}[0];
    utf8::decode(my $text = json->encode([$entry]));
    my $sql = $nginx->sql('select record(?::bigint, 0::smallint, ?::jsonb)'
        . q{ #>> '{ids,0}'}, $other, $text);
    my ($http, $same) = map { scalar $nginx->sql('select doc from entries '
        . 'where guild_id = ? and id = ?', @$_) } [$server, $id],
        [$other, $sql];
    s/^\{"id":"\d+"// for $http, $same;
    is $http, $same, 'a document of ' . (join(', ', sort keys %$fields)
        || 'nothing');
}


# the audit log's own names of values take whatever it has

my $overwrite = { id => '400000000000000001', type => 0, allow => '1024' };
my $given = record(entry(type => 27, changes => [
    { key => 'permission_overwrites', new_value => [$overwrite] },
    { key => 'trigger_metadata', old_value => { keyword_filter => ['a'] },
        new_value => {} },
    { key => 'topic', old_value => 'é' x 3000, new_value => [1, 2] },
    { key => 'tags', new_value => [map { { name => "tag $_" } } 1 .. 99] },
]));
utf8::encode(my $doc = $nginx->sql(q[select doc || '}' from entries
    where guild_id = ? and id = ?], $server, $given->json->{ids}[0]));
my $kept = json->decode($doc)->{changes};
is_deeply [map { json->decode($_) } $kept->[0]{new}, $kept->[1]{old},
    $kept->[1]{new}, $kept->[2]{new}],
    [[$overwrite], { keyword_filter => ['a'] }, {}, [1, 2]],
    'objects are kept as the text of their JSON';
is length $kept->[2]{old}, 1024, 'what is too long is cut';
like $kept->[3]{new}, qr/^\[\{"name":"tag 1"\},.{1000,}$/,
    'the text of a long array, too';
is length $kept->[3]{new}, 1024, '... is cut';


# ... a number beyond 64 bits, too: PostgreSQL would write all of its digits as
# soon as an entry goes through its JSON, and then no export could be made

my $huge = record(entry(type => 29, reason => "[$other] renamed",
    executor => { id => '7', bot => \1 },
    changes => [{ key => 'nick', old => 1e20, new => -1.5e300 }]));
my $exported = $nginx->get("/servers/$server/logs/export?type=29",
    token => $nginx->token($server));
is $exported->status, 200, 'an entry with huge numbers is exported';
like $exported->text, qr/1e\+20 .+ -1\.5e\+300\r\n\z/, '... with both';
is $nginx->get("/servers/$server/logs/" . $huge->json->{ids}[0],
    token => $nginx->token($server))->json->{executor}{id}, $other,
    '... although its prefix was read';


# the same event twice

my $same = entry();
my $first = record($same)->json->{ids}[0];
$answer = record($same, entry(), $same)->json;
is $answer->{duplicates}, 2, 'the same event is not stored again';
is_deeply [@{ $answer->{ids} }[0, 2]], [$first, $first],
    '... the answer has its first ID';

my @pids;
for my $n (1 .. 4) {
    my $pid = fork // die "fork: $!";
    next if push(@pids, $pid) && $pid;
    record(map { { event_id => "at-once-$_", type => 5 } } 1 .. 100);
    POSIX::_exit(0);
}
waitpid $_, 0 for @pids;
is $nginx->sql(q{select count(*) from log_arrival where guild_id = ?
    and event_id like 'at-once-%'}, $server), 100,
    'the same events at once in four batches are stored once';


# a body whose connection closes in the middle

my $count = $nginx->sql('select count(*) from log_arrival');
my @whole = map { line(event_id => "cut-$_") } 1 .. 50;
for my $form (
    ['an array', 'application/json', '[' . join(',', @whole) . ']'],
    ['lines', 'application/x-ndjson', join("\n", @whole) . "\n"],
) {
    my ($name, $type, $text) = @$form;
    my $half = substr $text, 0, length($text) / 2;

    for my $head (['a length', "Content-Length: " . length $text, $half],
        ['chunks', 'Transfer-Encoding: chunked',
         sprintf("%x\r\n%s\r\n", length $half, $half)])
    {
        my $client = Guildlog::Client->new(unix => $nginx->{operator});
        $client->send("POST $at HTTP/1.1\r\nHost: x\r\n"
            . "Content-Type: $type\r\n$head->[1]\r\n\r\n$head->[2]");
        shutdown $client->socket, 1;
        $client->closed(10);
        is $nginx->sql('select count(*) from log_arrival'), $count,
            "$name by $head->[0]: a part of a body records nothing";
    }
}
is send_text($at, 'application/json', '[' . join(',', @whole[0 .. 9]))->status,
    400, 'an array without an end';
is $nginx->sql('select count(*) from log_arrival'), $count, '... records nothing';


# rules that drop entries, and the counts of them

is fate(executor => { id => '1', bot => \1 }), 'bot_executor',
    'a rule drops an entry';
$answer = record(entry(executor => { id => '1', bot => \1 }),
    entry(target => { id => '1', bot => \1 }), entry())->json;
is_deeply $answer->{dropped}, { bot_executor => 1, bot_target => 1 },
    '... and the answer names the rule';


# the Pro bot

is $nginx->operator('POST', "$at?bot=pro", [entry()])->json->{recorded}, 1,
    'bot=pro';
is $nginx->sql('select count(*) from entries where guild_id = ? and bot = 1',
    $server), 1, '... is recorded for the Pro bot';
is $nginx->operator('POST', "$at?bot=main", [])->status, 400,
    '... and is the only one in its log';


# many servers

$answer = $nginx->operator('POST', '/logs', [
    entry(server => $other), entry(server => $server),
    entry(server => $server, bot => 'pro'), entry(),
    entry(server => '100000000000000001'), entry(server => '1'),
    entry(server => $other, executor => { id => '1', bot => \1 }),
    entry(server => $other, bot => 'other'),
]);
is $answer->status, 200, 'entries of many servers';
is $answer->json->{recorded}, 3, '... are recorded';
is_deeply $answer->json->{dropped}, { bot_executor => 1 },
    '... or dropped by a rule';
is_deeply { map { $_->{index} => $_->{error} } @{ $answer->json->{errors} } },
    { 3 => 'server: is required', 4 => 'server: unknown',
      5 => 'server: must be a string of 1 to 20 digits, '
          . 'from 10000000000000000 to 9223372036854775807',
      7 => 'bot: must be one of main, pro' }, '... or bad, with their index';
is $nginx->sql('select guild_id from entries where id = ?',
    $answer->json->{ids}[0]), $other, '... for the server that each names';
is $nginx->operator('POST', '/servers/100000000000000001/logs',
    [entry()])->status, 404, 'a server that does not exist';
is $nginx->operator('GET', '/logs')->status, 405, 'recording takes only POST';

my $status = $nginx->get('/status', raw_path => 1)->json;
ok $status->{entries_total}{bot_executor} >= 3
    && $status->{entries_total}{duplicate} >= 302
    && $status->{entries_total}{recorded} > 1000,
    'the status page counts entries by their outcome';

# "IDs are strings of 1 to 20 digits, at most 9223372036854775807"

$answer = record(entry(type => 7, executor => { id => '00200000000000000009',
    name => 'Zoe' }));
is $answer->json->{recorded}, 1, 'leading zeros of an ID are accepted';
is $nginx->sql('select executor_id from entries where id = ?',
    $answer->json->{ids}[0]), '200000000000000009', '... and dropped';

# a batch of megabytes is read in slices; other requests run between them

my @long = map { entry(content => "$_ " . 'x' x 3900) } 1 .. 1000;
$answer = record(@long);
is $answer->json->{recorded}, 1000, 'a long batch is recorded';
is $nginx->sql('select count(*) from unnest(?::bigint[]) with ordinality '
    . 'i (id, n) join entries e on e.id = i.id '
    . "where e.guild_id = ? and (e.doc || '}')::json ->> 'content' "
    . "like i.n || ' %'", '{' . join(',', @{ $answer->json->{ids} }) . '}',
    $server), 1000, '... each entry with the ID at its index';

my $text = json->encode(\@long);
my $gone = Guildlog::Client->new(unix => $nginx->{operator});
ok $gone->send("POST /servers/$server/logs HTTP/1.1\r\nHost: localhost\r\n"
    . "Content-Type: application/json\r\nContent-Length: " . length($text)
    . "\r\n\r\n$text"), 'a batch whose client leaves';
$gone->close;
is fate(type => 5), 'recorded', '... does not delay the next one';

# a plan made while the partitions are empty is kept for later executions

$nginx->sql('begin');
$nginx->sql('truncate log_arrival, log_block, log_day');
$nginx->sql('analyze log_arrival, log_block, log_day');
my %scans = map { @$_ } $nginx->sql(
    'select relname, seq_scan from pg_stat_xact_user_tables');
$nginx->sql('select record(?, 0::smallint, ?)', $server,
    json->encode([entry(), entry()]));
is_deeply [grep { $scans{$_->[0]} < $_->[1] } $nginx->sql(
    'select relname, seq_scan from pg_stat_xact_user_tables')], [],
    'no table is read by a sequential scan';

# ... and does not read all of the server's events in an index for each entry

sub known {
    return $nginx->sql('select sum(pg_stat_get_xact_tuples_returned('
        . "x.indexrelid)) from pg_index x where x.indrelid in (select relid "
        . "from pg_partition_tree('log_arrival'))");
}

$nginx->sql('select record(?, 0::smallint, ?)', $server,
    json->encode([map { entry() } 1 .. 300]));
my $known = known();
$nginx->sql('select record(?, 0::smallint, ?)', $server,
    json->encode([entry()]));
is known(), $known, 'an event is found by its key';
$nginx->sql('rollback');

done_testing;
