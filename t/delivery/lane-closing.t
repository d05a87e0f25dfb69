#!/usr/bin/perl
# An entry that is recorded while its channel's lane closes gets a place in the
# next lane.  In the closed one it would be queued for ever.

use lib 't/lib';
use Guildlog;

my $g = Guildlog->new(api => 'guildlog_limit off;');
my $guild = $g->server;
my $token = $g->token($guild);
my ($text, $other) = ('300000000000000001', '300000000000000002');

my $answer = $g->patch("/servers/$guild/config/logging/channels",
    token => $token, json => { main_channel => $other, category_text => $text });
is $answer->status, 202, 'two channels are set';


sub close_lane {
    my ($channel) = @_;
    $g->sql(q{update lane set state = 'closed' where guild_id = ?
        and channel_id = ? and state <> 'closed'}, $guild, $channel);
}


# Race: one session opens a lane for the other channel and does not commit.
# Recording waits for it, and has seen before that the first channel has a lane

close_lane($other);
my $opener = $g->cluster->connect($g->dbname);
$opener->begin_work;
$opener->do("select lanes_open($guild, 0::smallint, array[$other])");

my $recorder = Guildlog::Client->new(unix => $g->{operator});
my $entries = json->encode([
    { event_id => 'text', type => 7, content => 'it' },
    { event_id => 'ban', type => 40 }]);
$recorder->send("POST /servers/$guild/logs HTTP/1.1\r\nHost: localhost\r\n"
    . "Content-Type: application/json\r\nContent-Length: "
    . length($entries) . "\r\n\r\n$entries");
wait_for { $g->waiting } 60, 'recording waits';

close_lane($text);
$opener->commit;

$answer = $recorder->response('POST');
is $answer->status, 200, 'both are recorded';
my @places = $g->sql(q{select l.channel_id, l.state, e.seq
    from entries e
    left join lane l on l.guild_id = e.guild_id and l.lane = e.lane
   where e.guild_id = ? and e.id = any (?) order by e.id}, $guild,
    $answer->json->{ids});
is_deeply [map { $_->[0] } @places], [$text, $other],
    'each entry is in the lane of its channel';
is scalar(grep { ($_->[1] // '') eq 'closed' } @places), 0,
    'none of these lanes is closed';
is scalar(grep { !defined $_->[2] } @places), 0,
    'each entry has its place in its lane';


# Race: a lane is called for while a step finds it empty.  The step must not
# remove that call

my $lane = $g->sql(q{select lane from lane where guild_id = ?
    and channel_id = ? and state <> 'closed'}, $guild, $text);
$g->sql(q{update lane set state = 'active' where lane = ?}, $lane);
$g->sql(q{update lane_head h set head = t.tail, upto = t.tail from lane_tail t
    where h.lane = ? and t.lane = h.lane and t.guild_id = h.guild_id}, $lane);
my $rest = q{select delivery_rest(jsonb_populate_record(null::delivery_work,
    jsonb_build_object('guild', ?::bigint, 'lane', ?::bigint)))};
my $changer = $g->cluster->connect($g->dbname);
$changer->begin_work;
$changer->do(q{update lane set state = 'closing' where lane = ?}, undef, $lane);
is $g->sql($rest, $guild, $lane), 'ok',
    'the call of a lane that is locked stays';
$changer->rollback;
is $g->sql($rest, $guild, $lane), 'empty', 'without the lock it is removed';

# Race: a channel is set again while its lane closes.  The change had locked the
# lane and waited for its tail, the end of the lane locked them in the other
# order, and one of the two failed with a deadlock.

$g->sql(q{update lane set state = 'closing', webhook_id = 7 where lane = ?},
    $lane);
$g->sql('update logging_channels set category_text = null where guild_id = ?',
    $guild);
my $closer = $g->cluster->connect($g->dbname);
$closer->begin_work;
$closer->do('select from lane_tail where guild_id = ? and lane = ? for update',
    undef, $guild, $lane);

my $client = $g->connection;
my $body = json->encode({ category_text => $text });
$client->send("PATCH /api/servers/$guild/config/logging/channels HTTP/1.1\r\n"
    . "Host: localhost\r\nAuthorization: Bearer $token\r\n"
    . "Content-Type: application/json\r\nContent-Length: " . length($body)
    . "\r\n\r\n$body");
wait_for { $g->waiting('channels_patch') } 60, 'the change waits';
ok eval { $closer->do('select from lane where guild_id = ? and lane = ?
    for update', undef, $guild, $lane) }, 'the closing session locks the lane';
$closer->commit;
is $client->response('PATCH')->status, 202, 'then the channel is set again';
is $g->sql('select state from lane where lane = ?', $lane), 'registering',
    'its lane registers again';

done_testing;
