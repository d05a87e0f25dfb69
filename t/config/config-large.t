# A large GET /config or GET /config/tags is sent part by part, so that a slow
# reader costs a worker at most 1 MiB.  The parts together are the same body as
# the database function returns in one piece.

use lib 't/lib';
use Guildlog;
use Guildlog::Export;
use Digest::MD5 qw(md5_hex);
use Socket qw(SOL_SOCKET SO_RCVBUF);

my $plain = ($ENV{GUILDLOG_BUILD} || '') !~ /^asan/;   # which keeps memory
my $mib   = 1 << 20;

my $nginx = Guildlog->new(workers => 1, listen => 'sndbuf=32k',
    api => 'guildlog_limit requests=100000; send_timeout 600s;');
my $server = $nginx->server(plan => 'pro');
my %as     = (token => $nginx->token($server));
my $at     = "/servers/$server";

# a configuration of the largest size: 1,000 tags (some of which grow six times
# as JSON), seven ignore lists of 1,000 entries, 200 people with access

$nginx->sql(q(insert into tag select ?::bigint, 0, g::text, 'tag ' || g,
    case when mod(g, 4) = 0 then repeat(chr(1), 4095)
         else repeat(chr(128512 + mod(g, 50)), 4095) end,
    g, 'https://example.com/' || g from generate_series(1, 1000) g), $server);
$nginx->sql(q(insert into ignore_entry select ?::bigint, 0, t,
    case when t = 4 then repeat(chr(1), 96) || (1000 + g)
         else repeat(chr(128512), 96) || (1000 + g) end
    from generate_series(0, 6) t, generate_series(1, 1000) g), $server);
$nginx->sql(q(insert into access select ?::bigint, 0, g, 'view'
    from generate_series(1, 200) g), $server);


# size and digest of the body that the function returns without parts
sub at_once {
    my ($function) = @_;

    return @{ ($nginx->sql("select octet_length(body), md5(body)
        from (select (guildlog.$function(t.token_id, t.guild_id, 0::smallint,
                                         1::smallint)).body
                from token t where t.guild_id = $server limit 1) f"))[0] };
}


# connections, each of which has sent a request and got a part of its answer
sub readers {
    my ($path, $n, $token) = @_;

    my @readers = map {
        my $client = $nginx->connection(timeout => 120);
        setsockopt $client->socket, SOL_SOCKET, SO_RCVBUF, 65536;
        $client->send("GET /api$path HTTP/1.1\r\nHost: x\r\n"
            . "Authorization: Bearer $token\r\n\r\n");
        $client;
    } 1 .. $n;
    wait_for { $_->readable || return 0 for @readers; 1 } 300,
        'all answers begin';
    wait_for { !$nginx->sql(q(select count(*) from pg_stat_activity
        where usename = 'guildlog' and datname = current_database()
          and state <> 'idle')) } 300, 'the database has nothing to do';
    return @readers;
}


for my $part (['config', 'config_get', 20], ['config/tags', 'tags_get', 15]) {
    my ($path, $function, $least) = @$part;
    my ($size, $digest) = at_once($function);
    cmp_ok $size, '>', $least * $mib, "$path is large";

    my $before  = memory($nginx);
    my @readers = readers("$at/$path", 30, $as{token});
    my $memory  = memory($nginx);
    cmp_ok $memory - $before, '<', 30 * 1024,
        '... 30 slow readers cost 1 MiB each at most' if $plain;

    for (0, 1) {
        my $answer = $readers[$_]->response;
        is $answer->status, 200, '... it is answered with 200';
        is md5_hex($answer->text), $digest, '... with the same body';
    }
    $_->close for @readers;
}

# each part is the body of its own read

my $config = $nginx->connection(timeout => 120)->request('GET',
    "/api$at/config", %as)->json;
for (['logging/ignore/0', 'serverlogConfigIgnoreStandard', 0, 999],
    ['logging/ignore/6', 'serverlogConfigIgnoreStandard', 6000, 6999],
    ['access', 'access', 0, 199], ['guilds', 'guilds', 0, 0])
{
    my ($path, $key, $from, $to) = @$_;
    is_deeply [@{ $config->{$key} }[$from .. $to]],
        $nginx->get("$at/config/$path", %as)->json,
            "$path is in it, as its own read returns it";
}
is @{ $config->{tags} }, 1000, 'all tags are in it';

# revoking the token ends the answer

my $other = $nginx->new_token($server);
for my $path ('config', 'config/tags') {
    my ($reader) = readers("$at/$path", 1, $other->{token});
    $nginx->sql('update token set revoked_at = now() where token_id = ?',
        $other->{unique_id});
    my $answer = $reader->response;
    is $answer->status, 200, "the answer of $path had begun";
    is $answer->truncated, 1,
        '... it ends unfinished after the token is revoked';
    is $nginx->get("$at/$path", token => $other->{token})->status, 401,
        '... a new request is refused';
    $nginx->sql('update token set revoked_at = null where token_id = ?',
        $other->{unique_id});
}

# HEAD returns only the headers

is $nginx->request('HEAD', "$at/config", %as)->status, 200, 'HEAD';

done_testing;
