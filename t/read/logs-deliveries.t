# "delivery: what became of it": a page has the outcome of each entry's
# delivery.  nginx makes it from two things: the outcome of each message, which
# covers a range of places in a lane, and the places of the entries.  Where
# these are not enough, the page is asked for once more, with what became of each
# entry.  Both ways must agree on every entry, be it in a block or not.
#
# GUILDLOG_SEED repeats a run.

use lib 't/lib';
use Guildlog;
use List::Util qw(max min);

my $seed = $ENV{GUILDLOG_SEED} // 1;
srand $seed;
note "GUILDLOG_SEED=$seed";

# this test changes outcomes back, which the page cache would not notice
my $nginx = Guildlog->new(workers => 1, api => 'guildlog_limit off;',
    status => 'allow all;', http => 'guildlog_page_cache 0;');
my $next  = 0;
my ($server, %as, %lanes);


sub chance { return rand() < $_[0] }
sub pick   { return $_[rand @_] }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1) }


# a server whose entries of three types go to three channels
sub new_server {
    $server = $nginx->server;
    %as     = (token => $nginx->token($server));
    $nginx->patch("/servers/$server/config/logging/channels", %as,
        json => { main_channel => '10' });
    $nginx->patch("/servers/$server/config/logging/settings/$_->[0]", %as,
        json => { log_channel => $_->[1] }) for [1, '11'], [2, '12'];
    $nginx->no_entries($server);
    return;
}


# records that many entries; the function returns the age of each in ms
sub record {
    my ($n, $age, %more) = @_;

    my $now = int(time * 1000);
    for my $from (map { $_ * 500 } 0 .. ($n - 1) / 500) {
        $nginx->operator('POST', "/servers/$server/logs", [map { {
            event_id => 'e' . $next++, type => pick(0, 0, 1, 2),
            timestamp => $now - ($age ? $age->($_) : 0), %more,
        } } $from .. min($n, $from + 500) - 1]);
    }
    return;
}


# the lane of a channel and the last place in it
sub lane {
    my ($channel) = @_;
    return @{ ($nginx->sql('select l.lane, t.tail from lane l
        join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
        where l.guild_id = ? and l.channel_id = ?', $server, $channel))[0] };
}


# stores an outcome for a range of places, that many ms after its last entry
sub decide {
    my ($lane, $from, $to, $late, $status, $reason) = @_;

    $nginx->sql(q(insert into lane_batch (guild_id, lane, seq_from, seq_to,
        message_id, done_at, attempts, status, reason)
        select guild_id, lane, ?::bigint, ?::bigint, ?::bigint,
               to_timestamp((max(id_time(id)) + ?) / 1000.0), 1, ?, ?
          from entries where guild_id = ? and lane = ? and seq between ? and ?
         group by 1, 2), $from, $to, $status == 2 ? 10**6 + $next++ : undef,
        $late, $status, $reason, $server, $lane, $from, $to);
    return;
}


# sets the place up to which a lane is delivered
sub comes {
    my ($lane, $head, $upto, $refused) = @_;
    $nginx->sql('update lane_head set head = ?, upto = ?, refused_to = ?
        where guild_id = ? and lane = ?', $head, $upto, $refused, $server,
        $lane);
    return;
}


# stores an outcome for all places of a channel but the last ones, in messages
# of that many entries
sub decide_all {
    my ($channel, $size, $late, $stay, @as) = @_;

    my ($lane, $tail) = lane($channel);
    my $head = max(0, $tail - $stay);
    for (my $from = 1; $from <= $head;) {
        my $to = min($head, $from - 1 + (ref $size ? $size->() : $size));
        decide($lane, $from, $to, ref $late ? $late->() : $late,
            ref $as[0] ? @{ pick(@as) } : @as);
        $from = $to + 1;
    }
    comes($lane, $head, $head, 0);
    return ($lane, $head, $tail);
}


# {id: the outcome that is stored for this entry alone}
sub truth {
    return map { shift(@$_) => $_ } $nginx->sql('select e.id, delivery_word(d.status),
        d.reason, d.channel_id, d.message_id
        from entries_within($1, 0::smallint, 0, 9223372036854775807, null,
            null) e
        cross join lateral delivery_of($1, 0::smallint, e) d', $server);
}


# reads all pages: how often one was asked for once more, and {id: outcome}
sub told {
    my (@limits) = @_;

    my ($cursor, %told);
    my $pages = 0;
    my $before = asked();
    do {
        my $page = $nginx->get("/servers/$server/logs?limit=" . pick(@limits)
            . ($cursor ? "&cursor=$cursor" : ''), %as)->json;
        ++$pages;
        for my $entry (@{ $page->{entries} }) {
            die "twice: $entry->{id}\n" if $told{ $entry->{id} };
            $told{ $entry->{id} } = [@{ $entry->{delivery} }{
                qw(status reason channelId messageId)}];
        }
        $cursor = $page->{cursor};
    } while ($cursor);
    return (asked() - $before - $pages, %told);
}


sub asked {
    my $metrics = $nginx->get('/status?format=prometheus', raw_path => 1)->text;
    return $metrics =~ /seconds_count\{statement="logs_pieces"\} (\d+)/ ? $1 : 0;
}


# compares pages of these sizes with the entries; counts each outcome
sub same {
    my ($what, $again, @limits) = @_;

    my %truth = truth();
    my ($asked, %told) = told(@limits ? @limits : (50));
    my @wrong = grep { join('|', map { $_ // '' } @{ $truth{$_} })
        ne join '|', map { $_ // '' } @{ $told{$_} || [] } } keys %truth;
    is scalar(keys %told), scalar(keys %truth), "$what: all of them";
    is_deeply \@wrong, [], '... each has its outcome'
        or diag explain { truth => $truth{ $wrong[0] },
            told => $told{ $wrong[0] } };
    $again eq 'never' ? is $asked, 0, '... at once'
        : $again eq 'asks' ? isnt $asked, 0,
            '... asked for once more' : ();
    my %how;
    $how{ $_->[1] // $_->[0] }++ for values %told;
    return join ' ', map { "$_ $how{$_}" } sort keys %how;
}


# outcomes that came soon after their entries

new_server();
record(200, sub { 60_000 - 30 * $_[0] });
is same('nothing was sent', 'never'), 'queued 200', 'all are queued';

decide_all($_, 10, 500, 0, 2, undef) for 10 .. 12;
is same('messages of ten', 'never', 7, 50, 100), 'delivered 200', 'delivered';

my ($lane, $tail) = lane(10);
comes($lane, $tail - 20, $tail - 10, $tail - 5);
$nginx->sql('delete from lane_batch where guild_id = ? and lane = ?
    and seq_to > ?', $server, $lane, $tail - 20);
decide($lane, int(($tail - 20) / 10) * 10 + 1, $tail - 20, 100, 2, undef)
    if ($tail - 20) % 10;
is same('some under way', 'never', 30), sprintf('delivered 180 in_flight 10 '
    . 'queued 5 retrying 5'), 'each as it is';

# an outcome for many entries at once, and failures

new_server();
record(300, sub { 60_000 - 20 * $_[0] });
decide_all(10, 70, 1000, 3, 0, 'webhook_404');
decide_all(11, 1, 1000, 0, [2, undef], [1, 'unconfirmed'], [0, 'rejected']);
decide_all(12, sub { between(1, 9) }, 1000, 30, [2, undef], [0, 'expired']);
same('failures', 'never', 1 .. 20);

# outcomes that came late or have no time

new_server();
record(100, sub { 3_600_000 + 60_000 - 30 * $_[0] });
record(100, sub { 60_000 - 30 * $_[0] });
decide_all($_, 10, 3_000_000, 0, 2, undef) for 10 .. 12;
is same('an hour late', 'asks'), 'delivered 200', 'delivered';

($lane, $tail) = lane(10);
$nginx->sql('delete from lane_batch where guild_id = ? and lane = ?
    and seq_from between 11 and 40', $server, $lane);
same('a gap', 'asks');

# outcomes that are stored with the entry

new_server();
record(60, sub { 30_000 - 30 * $_[0] });
decide_all($_, 10, 100, 5, 2, undef) for 10 .. 12;
$nginx->sql(q(update log_arrival set dstatus = 2, lane = null,
    seq = null where guild_id = ? and id % 3 = 0), $server);
$nginx->sql(q(update log_arrival set dstatus = 0, dreason = 'off', lane = null,
    seq = null, dchannel_id = null where guild_id = ? and id % 3 = 1
    and id % 4 = 0), $server);
same('some in the entries', 'never');

$nginx->sql(q(update log_arrival set lane = null, seq = null,
    held_to = now() + interval '1 h' where guild_id = $1 and id in (
        select id from entries where guild_id = $1 and dstatus is null
         order by id desc limit 3)), $server);
like same('some held', 'never'), qr/held 3/, '... three are held';

$nginx->sql('update log_arrival set held_to = null');
$nginx->sql(q(insert into replay select guild_id, bot, id, ?, ? + 1, now()
    from entries where guild_id = ? and dreason = 'off' limit 1),
    lane(10), $server);
same('one sent again', 'never');

# many entries are deleted: then a page covers several ranges

new_server();
record(400, sub { 60_000 - 30 * $_[0] });
decide_all($_, 10, 100, 5, 2, undef) for 10 .. 12;
$nginx->take_back($server, map { @$_ } $nginx->sql('select id from entries
    where guild_id = ? and id % 7 > 0', $server));
like same('taken back', 'never', 30, 60), qr/delivered/,
    'the remaining ones have their outcome';

# in blocks they are told of by their places, until these are settled

sub settled {
    $nginx->sql('update log_block set settle = 0 where guild_id = ?
        and settle is not null', $server);
    return $nginx->sql('select blocks_settle(?, 0::smallint, 1000)', $server);
}

new_server();
record(300, sub { 60_000 - 30 * $_[0] });
decide_all($_, 10, 500, 0, [2, undef], [1, 'unconfirmed'], [0, 'expired'])
    for 10, 11;
decide_all(12, 10, 500, 7, 2, undef);
my $how = same('hot', 'never');
$nginx->some_blocks($server, 150);
is same('half in blocks', 'never', 30, 200), $how, 'the same';
cmp_ok settled(), '>', 1, 'what is decided is settled';
is same('half of them settled', 'never', 30, 200), $how, 'the same';
$nginx->blocks($server);
is same('in blocks', 'never', 30, 200), $how, 'the same';
settled();
$nginx->sql('delete from lane_batch where guild_id = ?', $server);
is same('settled', 'never', 30, 200), $how, 'the same, of blocks alone';

# random outcomes

for (1 .. 6) {
    new_server();
    my $days = pick(0.01, 1, 6);
    record(between(50, 400), sub { int rand $days * 86_400_000 });
    for my $channel (10 .. 12) {
        my ($lane, $head, $tail) = decide_all($channel,
            sub { chance(0.9) ? between(1, 10) : between(10, 60) },
            sub { chance(0.9) ? between(-50_000, 5000) : between(0, 10**7) },
            between(0, 30), [2, undef], [2, undef], [1, 'unconfirmed'],
            [0, 'expired']);
        my $upto = between($head, $tail);
        comes($lane, $head, $upto, chance(0.5) ? between(0, $tail) : 0);
    }
    $nginx->some_blocks($server, between(1, 300)) if chance(0.7);
    settled() if chance(0.3);
    same('anything', 'perhaps', between(1, 30), between(30, 200));
}

done_testing;
