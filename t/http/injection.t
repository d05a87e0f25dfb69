# SQL in a path, a parameter or a body is text.  It is stored and read back
# unchanged, or refused by the rule of its field.  It never runs.

use lib 't/lib';
use Guildlog;
use Guildlog::Cases;
use Guildlog::OpenAPI;

my $openapi = Guildlog::OpenAPI->shared;
my $nginx   = Guildlog->new(api => 'guildlog_limit requests=1000000;');
my $server  = $nginx->server;
my $victim  = $nginx->server(name => 'victim');
my $made    = $nginx->new_token($server);
my $token   = $made->{token};
my $at      = "/servers/$server";

my @attacks = (
    "'", "''", '"', '\\', "\\'", '$1', '$$', '$a$', '%', '_', ';', '--', '/*',
    "' or '1'='1", "' or 1=1 --", '1 or 1=1', "x'; drop table tag; --",
    'x"; drop table tag; --', "\\'; drop table tag; --",
    "'; delete from server where name = 'victim'; --",
    "'; update token set revoked_at = now(); --", "');commit;drop table tag",
    "' union select secret from token --", "'||(select version())||'",
    "1; select pg_sleep(20)", "'; copy tag to program 'id'; --",
    '{"a":1}', '{1,2}', "E'\\x27'", "\x{2019} or 1=1", "(select 1)", 'null',
    "'::jsonb", '@>', ':*', "a' | !'b", 'NaN', '1e9', "a\nb", "\t",
);


# what an attack may not change: rows of the other server and the schema
sub untouched {
    my @tables = map { $_->[0] } $nginx->sql(<<'SQL');
        select c.oid::regclass::text from pg_class c
          join pg_attribute a on a.attrelid = c.oid and a.attname = 'guild_id'
         where c.relkind in ('r', 'p') and not c.relispartition
           and c.relnamespace = 'guildlog'::regnamespace order by 1
SQL
    my @rows = map {
        "$_: " . $nginx->sql("select count(*) || ' '"
            . " || coalesce(md5(string_agg(t::text, '|' order by t::text)),"
            . " '') from $_ t where guild_id = ?", $victim)
    } @tables;
    push @rows, scalar $nginx->sql(<<'SQL');
        select string_agg(name, ' ' order by name) from (
            select oid::regclass::text as name from pg_class
             where relnamespace = 'guildlog'::regnamespace
            union all
            select oid::regprocedure::text from pg_proc
             where pronamespace = 'guildlog'::regnamespace
        ) all_of_it
SQL
    return join "\n", @rows;
}


my $before = untouched();
my $client = $nginx->connection;


# returns a status that is not expected.  Only the head of a stream is read: a
# stream has no end
sub attack {
    my ($it, $path, %option) = @_;

    my $status;
    if (($it->{responses}{200}{content} || {})->{'text/event-stream'}) {
        my $stream = $nginx->connection;
        $stream->send("GET /api$path HTTP/1.1\r\nHost: localhost\r\n"
            . "Authorization: Bearer $token\r\n\r\n");
        ($status) = ($stream->line // '') =~ / (\d+) /;

    } else {
        my $answer = eval {
            $nginx->request($it->{method}, $path, token => $token,
                connection => $client, %option);
        };
        $status = $answer && $answer->status;
        $client = $nginx->connection
            if !$answer || ($answer->header('Connection') // '') eq 'close';
    }

    return ($status // '') =~ /^(?:2\d\d|40[0-4]|409)$/ ? ()
        : $status // 'no answer';
}


my %piece = (guild_id => $server, log_id => 5, ignore_type => 4, user_id => 1,
    filter_id => 'words', tag_id => 1, alert_id => 1, notification_id => 1,
    session_id => 'a', id => 5);

for my $it ($openapi->operations) {
    next if $it->{id} eq 'server_reset';

    my @wrong;
    my @body = $it->{example} ? (json => $it->{example}) : ();

    for my $attack (@attacks) {
        my $text = escape($attack);

        for my $attacked ($it->{path} =~ /\{(\w+)\}/g) {
            my %now = (%piece, $attacked => $text);
            my $path = $it->{path} =~ s{\{(\w+)\}}{$now{$1} // die $1}ger;
            push @wrong, map { "$attacked $attack: $_" }
                attack($it, $path, @body);
        }

        my $path = $it->{path} =~ s{\{(\w+)\}}{$piece{$1} // die $1}ger;
        for my $name (map { $_->{in} eq 'query' ? $_->{name} : () }
                      @{ $it->{parameters} })
        {
            push @wrong, map { "$name $attack: $_" }
                attack($it, "$path?$name=$text", @body);
        }

        for my $field (keys %{ $it->{example} || {} }) {
            push @wrong, map { "$field $attack: $_" } attack($it, $path,
                json => { %{ $it->{example} }, $field => $attack }),
                attack($it, $path,
                    json => { %{ $it->{example} }, $field => [$attack] });
        }
    }
    is join("\n", @wrong), '',
        "$it->{id}: every attack gets an expected status";
}

for my $attack (@attacks) {
    my $jti = $nginx->sign($nginx->claims($server, jti => $attack));
    is $nginx->get($at, token => $jti)->status, 401,
        "the id of a token $attack";
}

is untouched(), $before, 'the other server and the schema are unchanged';
is $nginx->get($at, token => $token)->status, 200, 'the token still works';


# fields that take any text store an attack as text

for my $attack (grep { length > 1 } @attacks) {
    $nginx->sql('delete from tag where guild_id = ?', $server);
    my $answer = $nginx->post("$at/tags", token => $token,
        json => { tag_name => substr($attack, 0, 31), content => $attack });
    is $answer->status, 201, "a tag $attack";

    my ($row) = @{ $nginx->get("$at/config/tags", token => $token)->json };
    is $row->{content}, $attack, '... is read back';
    is $row->{tag_name}, lc substr($attack, 0, 31), '... with its name';

    is $nginx->post("$at/config/logging/ignore/5", token => $token,
        json => { value => $attack })->status, 202, 'an entry of a list';
    ok scalar(grep { $_->{ignore_value} eq $attack } @{ $nginx->get(
        "$at/config/logging/ignore/5", token => $token)->json }),
        '... is read back';
    is $nginx->delete("$at/config/logging/ignore/5", token => $token,
        json => { value => $attack })->status, 202, '... and can be deleted';
}

is $nginx->get("$at/config/logging/ignore/5", token => $token)->status, 404,
    'all of them are deleted';
unlike $nginx->error_log, qr/SQLSTATE/, 'no statement failed';
is untouched(), $before, 'the other server and the schema are still unchanged';

done_testing;
