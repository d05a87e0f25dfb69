# GET /config and GET /config/tags are sent part by part where they are large,
# so that one who is slow to read them costs a worker 1 MiB at most. What comes
# is what comes at once where there are no parts.

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

# as large as it may be: 1,000 tags (some of which grow six times as JSON), seven
# ignore lists of 1,000, 200 people with access

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


# size and digest of what the function says to a module that knows of no parts
sub at_once {
    my ($function) = @_;

    return @{ ($nginx->sql("select octet_length(body), md5(body)
        from (select (guildlog.$function(t.token_id, t.guild_id, 0::smallint,
                                         1::smallint)).body
                from token t where t.guild_id = $server limit 1) f"))[0] };
}


# connections that asked, and have the beginning of an answer each
sub readers {
    my ($path, $n, $token) = @_;

    my @readers = map {
        my $client = $nginx->connection(timeout => 120);
        setsockopt $client->socket, SOL_SOCKET, SO_RCVBUF, 65536;
        $client->send("GET /api$path HTTP/1.1\r\nHost: x\r\n"
            . "Authorization: Bearer $token\r\n\r\n");
        $client;
    } 1 .. $n;
    wait_for { $_->readable || return 0 for @readers; 1 } 300, 'all began';
    wait_for { !$nginx->sql(q(select count(*) from pg_stat_activity
        where usename = 'guildlog' and datname = current_database()
          and state <> 'idle')) } 300, 'the database rests';
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
        is $answer->status, 200, '... it is answered';
        is md5_hex($answer->text), $digest, '... by all of it';
    }
    $_->close for @readers;
}

# each part is what its own read gives

my $config = $nginx->connection(timeout => 120)->request('GET',
    "/api$at/config", %as)->json;
for (['logging/ignore/0', 'serverlogConfigIgnoreStandard', 0, 999],
    ['logging/ignore/6', 'serverlogConfigIgnoreStandard', 6000, 6999],
    ['access', 'access', 0, 199], ['guilds', 'guilds', 0, 0])
{
    my ($path, $key, $from, $to) = @$_;
    is_deeply [@{ $config->{$key} }[$from .. $to]],
        $nginx->get("$at/config/$path", %as)->json, "$path is in it";
}
is @{ $config->{tags} }, 1000, 'all tags are, too';

# a token that is revoked ends the answer

my $other = $nginx->new_token($server);
for my $path ('config', 'config/tags') {
    my ($reader) = readers("$at/$path", 1, $other->{token});
    $nginx->sql('update token set revoked_at = now() where token_id = ?',
        $other->{unique_id});
    my $answer = $reader->response;
    is $answer->status, 200, "$path had begun";
    is $answer->truncated, 1, '... a revoked token does not get the rest';
    is $nginx->get("$at/$path", token => $other->{token})->status, 401,
        '... nor another one';
    $nginx->sql('update token set revoked_at = null where token_id = ?',
        $other->{unique_id});
}

# HEAD says no more than the headers

is $nginx->request('HEAD', "$at/config", %as)->status, 200, 'HEAD';

done_testing;
