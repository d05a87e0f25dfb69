# While somebody holds a snapshot, as a dump does, nothing goes of what each
# batch has changed.  Nobody passes all of that again and again: a batch, a
# page, the look of a tail and a step of delivery cost at the end of the dump
# what they cost at the beginning.

use lib 't/lib';
use Guildlog;

use List::Util qw(min);

my $nginx = Guildlog->new;
my @guilds = map { $nginx->server } 1 .. 20;
for my $guild (@guilds) {
    my $answer = $nginx->patch("/servers/$guild/config/logging/channels",
        token => $nginx->token($guild),
        json => { main_channel => '400000000000000001' });
    like $answer->status, qr/^2/, 'its logs go to a channel';
}

# a store of few servers would be read as a whole
$nginx->sql("insert into $_ select 500000000000000000 + i, 0
    from generate_series(1, 300) i") for 'log_head (guild_id, bot)',
    'lane_tail (guild_id, lane)';

my $dbh = $nginx->cluster->connect($nginx->dbname);
$dbh->do('set plan_cache_mode = force_generic_plan');
my $events = 0;


# the rows of a statement, and what of log_head, log_made and lane_tail was
# passed for it: entries of their indexes, and pages
sub passed {
    my ($statement, @values) = @_;

    $dbh->begin_work;    # a session has its own counts until it ends
    my $before = looked_at();
    my $rows   = $dbh->selectall_arrayref($statement, undef, @values);
    my $passed = looked_at() - $before;
    $dbh->commit;
    return $passed, scalar @$rows;
}


sub looked_at {
    return ($dbh->selectrow_array(q(select sum(case relkind
                   when 'i' then pg_stat_get_xact_tuples_returned(oid)
                   else pg_stat_get_xact_blocks_fetched(oid) end)
          from pg_class
         where relname ~ '^(log_head|log_made|lane_tail)'
           and relkind in ('i', 'r'))))[0];
}


# records so many batches of 100 for each, and returns what is passed for one
sub recorded {
    my ($batches) = @_;

    my $passed = 0;
    for my $guild ((@guilds) x $batches) {
        $passed += (passed('select record(?, 0::smallint, ?)', $guild,
            '[' . join(',', map {
                sprintf '{"event_id":"%d","type":0}', ++$events } 1 .. 100)
            . ']'))[0];
    }
    return $passed / $batches / @guilds;
}


# what is passed to make blocks of a batch that 70 people did
sub made {
    my ($guild) = @_;

    $dbh->do('select record(?, 0::smallint, ?)', undef, $guild,
        '[' . join(',', map { sprintf '{"event_id":"%d","type":0,'
            . '"executor":{"id":"%d"}}', $events, 1 + $events++ % 250 } 1 .. 70)
        . ']');
    return (passed("select block_make($guild, 0::smallint)"))[0];
}


recorded(1);
$nginx->cluster->connect($nginx->dbname, 'postgres')->do('vacuum analyze');
my $holder = $nginx->cluster->connect($nginx->dbname);
$holder->begin_work;
$holder->do('set transaction isolation level repeatable read');
$holder->do('select count(*) from server');

recorded(80);

# some looks, each of which passes a turn of 512 entries at most

my $passed = recorded(5);
cmp_ok $passed, '<', 45, "little is passed for a batch ($passed)";


made($guilds[2]) for 1 .. 120;
$passed = min(map { made($guilds[2]) } 1 .. 3);
cmp_ok $passed, '<', 80, "little is passed to make blocks ($passed)";


# what reads, each with the rows that it answers, as a test of itself

my $guild = $guilds[0];
my $token = $nginx->new_token($guild)->{unique_id};
my $me    = "'$token', $guild, 0::smallint, 1::smallint";
my $last  = $nginx->sql('select arrival from log_head where guild_id = ?',
    $guild);

$dbh->do(q(select delivery_lease('a/1/1', '{}', '{}', false)));
$dbh->do(q(update lane set state = 'active', webhook_id = 1));
my $work = $nginx->sql(q(select json_agg(json_build_object('guild', l.guild_id,
           'lane', l.lane, 'shard', l.shard, 'fence', s.fence, 'step', h.step,
           'changes', false, 'refused', false, 'peek', 0, 'most', 10))
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
      join shard_lease s on s.shard = l.shard
     where l.guild_id = ?), $guild);

$nginx->sql('delete from log_head where guild_id = ?', $guilds[1]);

my @looks = (
    ['a page', 6, "logs_pieces($me, null, null, null, null, 100, null)"],
    ['a search', 1, "search_open($me, null, null, null)"],
    ['a histogram', 2, "logs_histogram($me, null, null, 60, true)"],
    ['who looks for news', 1, "logs_news('{$guild}', '{0}', '{0}')"],
    ['a tail', 101, "logs_tail($guild, 0::smallint, $last - 100, 100,
        '$token')"],
    ['a log that is empty, beside one that went,', 0,
        "head_of($guilds[1], 1::smallint)"],
    ['a step of delivery', 11, "delivery_step('a/1/1', '$work')"],
);

for (@looks) {
    my ($name, $rows, $call) = @$_;

    passed("select * from $call");
    my ($passed, $n) = passed("select * from $call");
    is $n, $rows, "$name has its rows";
    cmp_ok $passed, '<', 30, "$name passes little ($passed)";
}

$holder->disconnect;

done_testing;
