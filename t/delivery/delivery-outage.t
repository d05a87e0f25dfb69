#!/usr/bin/perl
# While the platform is down, waiting lanes take little memory: 8,192 lanes, the
# most that a worker keeps, take less than 50 MB, however large their entries
# are.  With sanitizers memory is different, so they skip this test.

use lib 't/lib';
BEGIN { $ENV{GUILDLOG_BUILD} = 'plain' }
use Guildlog;
use Guildlog::Bench;
use Guildlog::Delivery;
use Guildlog::Platform;
use Time::HiRes qw(sleep time);

use constant LANES => 8192;
use constant MOST  => 50 << 10;    # KB

my $g = Guildlog->new(start => 0, connections => 4096,
    api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g, rate => 50))->start;
deliver_with($g, $platform);


# a lane that works, and copies of it, each of another server.  The secret is
# sealed for the number of the lane, which is the same for all

my ($guild, $token) = server();
becomes($guild, $token, (record($guild, 1))[0], 'delivered', 'one lane');
wait_for { !$g->sql('select count(*) from lane_ready') } 60, 'its work is done';
$g->stop;

$g->sql('insert into server (guild_id) select n from generate_series(1, ?) n',
    LANES);
$g->sql('insert into lane (guild_id, lane, bot, channel_id, shard, state,
        webhook_id, secret)
    select n, l.lane, 0, n, mod(n, 64), l.state, l.webhook_id, l.secret
      from lane l, generate_series(1, ?) n where l.guild_id = ?', LANES, $guild);
$g->sql('insert into lane_tail (guild_id, lane) select guild_id, lane from lane
    where guild_id <> ?', $guild);
$g->sql('insert into lane_head (guild_id, lane) select guild_id, lane from lane
    where guild_id <> ?', $guild);


# stores that many entries for each lane, of that length, as not yet delivered
sub entries {
    my ($n, $length) = @_;

    $g->sql("delete from $_ where guild_id <> ?", $guild)
        for qw(log_arrival log_head);
    $g->sql('insert into log_head (guild_id, bot, arrival)
        select guild_id, 0, ? from server where guild_id <> ?', $n, $guild);
    $g->sql('insert into log_arrival (guild_id, id, arrival, recorded_at, lane,
            seq, dchannel_id, bot, type, event_id, doc)
        select l.guild_id, next_id(ms(clock_timestamp())), n,
               clock_timestamp(), l.lane, n, l.channel_id, 0, e.type, n,
               regexp_replace(e.doc,
                   \'"content":"[^"]*"\', \'"content":"\' || repeat(\'w\', ?)
                   || \'"\')
          from lane l
         cross join generate_series(1, ?) n
         cross join (select * from entries where guild_id = ? and type = 7
                      limit 1) e
         where l.guild_id <> ?', $length, $n, $guild, $guild);
    $g->sql('update log_head set last_at = now() where guild_id <> ?', $guild);
    $g->sql('update lane_tail set tail = ? where guild_id <> ?', $n, $guild);
}


# gives all lanes something to do
sub ready {
    $g->sql('delete from lane_ready');
    $g->sql('update lane_head set head = 0, upto = 0, step = step + 1,
        attempts = 0, attempt_at = null, not_before = null, refused_to = 0
        where guild_id <> ?', $guild);
    $g->sql('insert into lane_ready select guild_id, lane, shard,
        clock_timestamp() from lane where guild_id <> ?', $guild);
}


sub executes {
    my ($dir) = @_;
    return scalar grep { /"call":"execute"/ && /"event":"request"/ }
        $platform->ledger_tail(100000);
}


my %answer = (
    limited => { action => 'answer', status => 429,
        headers => { 'X-RateLimit-Scope' => 'global',
            'X-RateLimit-Global' => 'true' },
        body => { message => 'limited', retry_after => 20,
            global => JSON::PP::true } },
    hanging => { action => 'hang' },
);

for my $size ([ordinary => 20, 300], [maximal => 3, 60_000]) {
    my ($name, @entries) = @$size;
    entries(@entries);

    for my $outage ('refused', 'limited', 'hanging') {
        $platform->faults({ call => 'execute', times => 1_000_000,
            %{ $answer{$outage} } }) if $answer{$outage};
        $platform->stop if $outage eq 'refused';

        $g->sql('delete from lane_ready');
        $g->start;
        wait_for { $g->sql('select count(*) from shard_lease
            where owner is not null') == 64 } 60, 'leases';
        my ($worker) = $g->workers;
        my $before = Guildlog::Bench::rss($worker);
        ready();

        # waits until all lanes were found and memory has not grown for a while

        my $found = sub { $g->get('/status', raw_path => 1)->json
            ->{statement_seconds}{delivery_find}{count} // 0 };
        my $finds = $found->();
        my ($most, $since) = (0, time);
        wait_for {
            my $now = Guildlog::Bench::rss($worker);
            ($most, $since) = ($now, time) if $now > $most + 1024;
            $found->() > $finds + 8 && time > $since + 5;
        } 300, 'memory stops growing';

        cmp_ok $most - $before, '<', MOST, "$name entries, $outage: KB";
        note "$name, $outage: ", $most - $before, " KB more than $before";

        $g->stop;
        $platform->start if $outage eq 'refused';
        $platform->faults;
    }
}

# the lanes go on when the platform is back

entries(1, 10);
$g->start;
ready();
wait_for { $g->sql('select count(*) from lane_head where guild_id <> ?
    and head > 0', $guild) > 50 } 120, 'messages';
pass 'the waiting lanes go on';

done_testing;
