# What the database cannot do is answered as a JSON error: 503 with Retry-After
# where the cause may pass, 500 where the statement failed, and the status and
# text of the schema's rule where a rule refused.  The log names the statement
# and the cause; the client learns nothing of the schema.

use lib 't/lib';
use Guildlog;

my $nginx  = Guildlog->new(http => 'guildlog_limit requests=100000;',
    allow => [qr/ failed, .* forged/]);
my $server = $nginx->server;
my $token  = $nginx->token($server);
my $at     = "/servers/$server";

# inserting a tag named "e" and an SQLSTATE fails with that SQLSTATE
$nginx->sql(<<'SQL');
    create function fail() returns trigger language plpgsql as $$
    begin
        raise exception using errcode = upper(substr(new.tag_name, 2, 5)),
            message = case when new.content = 'empty' then ''
                           else 'a secret of the schema' end,
            detail = 'and its detail', hint = 'and its hint';
    end $$
SQL
$nginx->sql('create trigger fail before insert on tag for each row execute'
    . ' function fail()');

my $later  = '{"error":"the database is not available, try again later",'
    . '"code":"database_away"}';
my $taken  = '{"error":"too many requests of this server at once, '
    . 'try again later","code":"busy"}';
my $failed = '{"error":"the request could not be carried out, '
    . 'try again later","code":"failed"}';


sub fail_with {
    my ($sqlstate, $text) = @_;
    return $nginx->post("$at/tags", token => $token,
        json => { tag_name => "e$sqlstate", content => $text // 'x' });
}


sub is_json {
    my ($answer, $status, $body, $what, $after) = @_;

    is $answer->status, $status, $what;
    is $answer->text, $body, '... the text is for the client';
    is $answer->header('Content-Type'), 'application/json', '... in JSON';
    is $answer->header('Retry-After'),
        $after // { 429 => 60, 503 => 1 }->{$status},
        '... Retry-After stands where the cause may pass';
    ok defined $answer->header('X-RateLimit-Remaining'),
        '... the headers of the rate limit are there';
}


for (
    ['08006', 503, 'connection failure'],
    ['25006', 503, 'a read-only server'],
    ['40001', 503, 'a serialization failure'],
    ['40P01', 503, 'a deadlock'],
    ['53100', 503, 'disk full'],
    ['53200', 503, 'out of memory'],
    ['55006', 429, 'a log that others of its server have'],
    ['55P03', 503, 'a lock not available'],
    ['58030', 503, 'an input or output error'],
    ['42P01', 500, 'no such table'],
    ['42501', 500, 'no privilege'],
    ['22012', 500, 'division by zero'],
    ['23502', 500, 'a null'],
    ['54000', 500, 'too complex'],
    ['25001', 500, 'an active transaction'],
    ['XX000', 500, 'an internal error'],
    ['XX001', 500, 'corrupted data'],
    ['P0001', 500, 'raised'],
    ['GL000', 500, 'a refusal with status 000'],
    ['GL200', 500, 'a refusal with status 200'],
    ['GLABC', 500, 'a refusal whose status is not a number'],
) {
    my ($sqlstate, $status, $what) = @$_;
    my $log = length $nginx->error_log;

    is_json fail_with($sqlstate), $status,
        { 429 => $taken, 503 => $later }->{$status} // $failed,
        "$sqlstate, $what", $status == 429 ? 1 : undef;
    like substr($nginx->error_log, $log),
        qr/"tag_create" failed, SQLSTATE $sqlstate: a secret of the schema/,
        '... and the log says why';
}

is_json fail_with('57014'), 500, $failed, 'a statement that was cancelled';

for my $status (400, 402, 403, 404, 409, 429) {
    is_json fail_with("GL$status"), $status,
        '{"error":"a secret of the schema","code":"refused"}', "GL$status has its own text";
    is_json fail_with("GL$status", 'empty'), $status, '{}',
        '... or has no body';
}

unlike $nginx->error_log, qr/SQLSTATE GL4/,
    'a refusal of a rule is not logged';


# a change waits for a second at most.  It is for its server's own requests if
# they have the log or the server; a table that somebody locks is no fault of
# the server

{
    my $db = $nginx->cluster->connect($nginx->dbname);

    for (
        ['select record_begin(?, 0::smallint, 0)', [$server], 429, $taken,
            'a change beside a slow batch of its server'],
        ['lock table log_head', [], 503, $later,
            'a change while the table is locked'],
        ['select from server where guild_id = ? for no key update', [$server],
            429, $taken, 'a change beside a slow one of its server'],
        ['lock table server', [], 503, $later,
            'a change while the table of servers is locked'],
    ) {
        my ($sql, $values, $status, $body, $what) = @$_;

        $db->begin_work;
        $db->do($sql, undef, @$values);
        is_json $nginx->patch("$at/config/logging/settings",
            token => $token, json => { spoilers => \1 }), $status, $body,
            $what, 1;

        if ($sql =~ /for no key update/) {
            is $nginx->operator('PUT', "$at/members/5", { name => 'x' })
                ->status, 429, '... so is the directory';
            is $nginx->operator('DELETE', $at)->status, 429,
                '... and who forgets the server';
        }

        $db->rollback;
    }
}


# answers that no function of guildlog gives

sub replace_server_get {
    my ($out, $result) = @_;
    my $rows = $result =~ /where/ ? 'returns setof record' : '';

    $nginx->sql('drop function server_get');
    $nginx->sql("create function server_get(token text, guild bigint,"
        . " bot smallint, kind smallint, out $out) $rows language sql"
        . " as \$\$ select $result \$\$");
    $nginx->sql('grant execute on function server_get to guildlog');
}


for (
    ['no status', 'status int, out body text', "null::int, '{}'"],
    ['a status below all', 'status int, out body text', "99, '{}'"],
    ['a status above all', 'status int, out body text', "600, '{}'"],
    ['a status that is no number', 'status text, out body text',
        "'x'::text, '{}'"],
    ['no row', 'status int, out body text', "1, '{}' where false"],
    ['three columns', 'status int, out body text, out more int',
        "200, '{}', 1"],
) {
    my ($what, $out, $result) = @$_;

    replace_server_get($out, $result);

    my $answer = $nginx->get($at, token => $token);
    if ($what eq 'three columns') {
        # the statement selects the two columns by their names
        is $answer->status, 200, $what;
    } else {
        is_json $answer, 500, $failed, $what;
    }
}

replace_server_get('status int, out body text', '200, null');
is $nginx->get($at, token => $token)->text, '{}', 'a body of null becomes {}';

# pieces of a page

sub replace_pieces {
    my (@rows) = @_;

    my $definition = $nginx->sql('select pg_get_functiondef(oid) from pg_proc'
        . " where oid = 'guildlog.logs_pieces'::regproc");
    $definition =~ s/^AS \$.*//ms;
    $definition =~ s/^ LANGUAGE \w+/ LANGUAGE sql/m;
    $nginx->sql("$definition as \$\$ values " . join(', ', map {
        my ($n, $what, $doc) = @$_;
        "($n\::bigint, '$what', null, '$doc', '0 roff')"
    } @rows) . ' $$');
}


for (
    ['a page without its first row', [7, 'h', '{}']],
    ['a page with what is no piece', [200, 'H', '"walled":false'],
        [7, 'x', '{}']],
    ['a page with what is no entry', [200, 'H', '"walled":false'],
        [3, 'd', '{897}'], [1, 'h', '{}']],
    ['a page with fewer entries than it says', [200, 'H', '"walled":false'],
        [3, 'd', '{897}'], [7, 'h', '{"id":"1"']],
) {
    my ($what, @rows) = @$_;

    replace_pieces(@rows);
    is_json $nginx->get("$at/logs", token => $token), 500, $failed, $what;
}


# a message of several lines is one line of the log, for requests and keeper

$nginx->sql(<<'SQL');
    create or replace function fail() returns trigger language plpgsql as $$
    begin
        raise exception e'of a tag\n2026/01/01 [alert] forged';
    end $$
SQL
is_json $nginx->post("$at/tags", token => $token,
    json => { tag_name => 'lines', content => 'x' }), 500, $failed,
    'a message of several lines is answered as any failure';

$nginx->sql(<<'SQL');
    create or replace function keeper_step(budget int default 1,
        from_hour int default 2, to_hour int default 5, out status int,
        out body text)
    language plpgsql as $$
    begin
        raise exception e'of a step\n2026/01/01 [alert] forged';
    end $$
SQL
my $keeps = Guildlog->new(name => 'keeps', cluster => $nginx->cluster,
    dbname => $nginx->dbname, keeper => 'on interval=20ms',
    allow => [qr/ failed.* forged/]);
wait_for { $keeps->error_log =~ /of a step/ };

is_deeply [grep { /^2026\/01\/01/ } map { split /\n/, $_->error_log }
    $nginx, $keeps], [], '... and is one line of the log';

done_testing;
