# A search finds segments and entries by their keys, also with plans that were
# made while the tables were empty, and whatever other servers have.

use lib 't/lib';
use Guildlog;
use Guildlog::Plan;

use List::Util qw(min);

my $nginx   = Guildlog->new;
my $session = session($nginx);
my $guild   = $nginx->server;
my $token   = $nginx->new_token($guild)->{unique_id};
my $me      = "'$token', $guild, 0::smallint, 1::smallint";
my $max     = '9223372036854775807';
my $now     = int(time * 1000);
my $next    = 0;


# records that many entries, a hundred a second
sub record {
    my ($n) = @_;

    $nginx->sql('select record(?::bigint, 0::smallint, (?::text)::jsonb)',
        $guild, json->encode([map { {
            event_id  => 'e' . ++$next,
            type      => 5,
            timestamp => $now - 3_600_000 + 10 * $next,
            executor  => { id => '20000' . $_ % 500, name => 'Ann' },
            channel   => { id => '30000' . $_ % 50, name => 'general' },
        } } 1 .. $n]));
}


# so many segments of a server, of each of the last 30 days
sub segments {
    my ($server, $n) = @_;

    $nginx->sql(<<~'SQL', $server, $n);
        insert into search_segment (guild_id, bot, day, key, whole, n, kinds,
                                    dir, body)
        select $1, 0, search_closed() - d, nextval('search_key'), true, 1,
               '\x0501000000', decode(repeat('00', 1000), 'hex'),
               decode(repeat('00', 3000), 'hex')
          from generate_series(1, 30) d, generate_series(1, $2) n
        SQL
}


# an arrival
sub arrival {
    return $nginx->sql('select arrival from log_head where guild_id = ?
        and bot = 0', $guild);
}


my %calls = (
    search_open => sub {
        "select * from search_open($me, $now - 86400000 * 3::bigint,
                                   $now - 86400000 * 2::bigint, null)" },
    search_slices => sub {
        my ($day, $key) = @{ ($nginx->sql('select day, key from search_segment
            where guild_id = ? order by key limit 1', $guild))[0] // [0, 0] };
        "select * from search_slices($me, array[$day], array[$key]::bigint[],
                                     '{0}', '{7}')" },
    'search_tail by arrival' => sub {
        my $arrival = arrival();
        "select * from search_tail($me, true, 0, $max, $arrival - 100,
                                   $arrival, null, null, null, null, 1000000)"
        },
    'search_tail by id' => sub {
        "select * from search_tail($me, false, id_at($now - 3600000), $max, 0,
                                   $max, id_at($now - 3599000), null, null,
                                   null, 1000000)" },
    'search_tail of a channel' => sub {
        my $arrival = arrival();
        "select * from search_tail($me, true, 0, $max, $arrival - 100,
                                   $arrival, null, 300007, null, null,
                                   1000000)" },
);

# plans are made
record(3);
$nginx->sql('select keeper_searchable(20000)');
for my $call (sort keys %calls) {
    blocks($session, $calls{$call}->()) for 1 .. 6;
}

# a large server, and many others
segments($guild, 40);
segments($_, 20) for 1 .. 100;
record(1000) for 1 .. 20;
$nginx->blocks($guild);
$nginx->sql("update search_head set back_id = 0, arrival = 1
    where guild_id = $guild");

# a partition without such entries is two blocks, too
my $partitions = $nginx->sql(
    "select count(*) from pg_inherits where inhparent = 'log_arrival'::regclass");

for my $call (sort keys %calls) {
    my $rows = $session->selectall_arrayref($calls{$call}->());
    cmp_ok scalar @$rows, '>', 0, "$call: has rows";

    # autovacuum may cause a new plan, which reads the catalog
    cmp_ok min(map { blocks($session, $calls{$call}->()) } 1 .. 3), '<',
        60 + 2 * $partitions + @$rows, '... found by their keys';
}

done_testing;
