# Two instances of a bot hear the same at moments of their own, and one of them may
# post it minutes later, when all that waited has ended: it is recorded once. What
# has no moment of its own on the platform, voice and leaving, is told by what is
# known by then. Batches of one bot may be on their way for longer or shorter, and
# its clock may be wrong: its packets stay in their order.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Packets qw(iso);
use Guildlog::PairClock;

use Time::HiRes qw(time);

my $nginx = Guildlog->new;
my $clock = Guildlog::PairClock->new($nginx);
my $guild = '111111111111111111';
my %key = map { (split /\t/)[0, 1] }
    grep { /^\d/ } split /\n/, slurp('conf/viewer/log-types.tsv');
my $start = int(time * 1000) - 600_000;
my ($hall, $stage) = qw(200000000000000001 200000000000000002);

post([0, 'GUILD_CREATE', created()]);

# each packet: seconds after the beginning, its name, what it tells

for (
    [   'a change of channel, both changes at once',
        [[1, voice(1, $hall)], [1.4, voice(1, $stage)]],
        { voiceJoin => 1, voiceSwitch => 1 }
    ],
    [   'somebody who came and went',
        [[11, voice(2, $hall)], [14, voice(2, undef)]],
        { voiceJoin => 1, voiceLeave => 1 }
    ],
    [   'who came, went and came back',
        [[21, voice(3, $hall)], [24, voice(3, undef)], [27, voice(3, $hall)]],
        { voiceJoin => 2, voiceLeave => 1 }
    ],
    [ 'a leaving', [[31, left(4)]], { memberLeave => 1 } ],
    [   'who left, came back and left again',
        [[41, left(5)], [61, joined(5, 61)], [81, left(5)]],
        { memberLeave => 2, memberJoin => 1 }
    ],
    [   'a server that loses a level of boosts, and has it again',
        [[91, level(2)], [93, level(1)], [95, level(2)]],
        { boostTierChange => 2 }
    ],
    [   'who left voice and the server at once, and has a picture of their own here',
        [[96, pictured(voice(8, $hall))], [98, pictured(voice(8, undef))],
            [98.01, left(8)]],
        { voiceJoin => 1, voiceLeave => 1, memberLeave => 1 }
    ],
) {
    my ($what, $packets, $types) = @$_;
    is_deeply heard(0, $packets), $types, "$what: the first one is heard";
    is_deeply heard(.03, $packets), {}, "$what: the second one tells nothing new";
    is_deeply heard(.06, [$_]), {}, "$what: nor does any packet by itself" for @$packets;
}

# a second one that came late finds in its GUILD_CREATE who has left meanwhile

is_deeply heard(0, [[101, voice(6, $hall)], [105, voice(6, undef)]]),
    { voiceJoin => 1, voiceLeave => 1 }, 'somebody came and went';
post([103, 'GUILD_CREATE', created({ user_id => id(6), channel_id => $hall })]);
is_deeply heard(0, [[131, voice(6, $hall)]]), { voiceJoin => 1 },
    'who had left comes again, whatever an older list says';

# but what it finds is true of whom nobody has spoken since

post([141, 'GUILD_CREATE', created({ user_id => id(7), channel_id => $hall })]);
is_deeply heard(0, [[161, voice(6, $stage)], [162, voice(7, undef)]]),
    { voiceJoin => 1, voiceLeave => 1 },
    'of a newer list, who is not in it has gone, and who is in it leaves';

# ms: how far a clock is ahead, and how long each of two batches takes

my $n = 10;

for my $ahead (0, 400, 900, 1000, 1100, 5000, -300, -1000, -90_000_000) {
    for my $ways ([400, 0], [0, 400], [700, 0]) {
        my ($who, $from) = ($n++, 200 + $n * 5);
        my @sent = map { { ahead => $ahead, way => $_ } } @$ways;
        my @packets = ([$from, voice($who, $hall)], [$from + .1, voice($who, $stage)],
            [$from + .2, voice($who, $hall)], [$from + .21, voice($who, $stage)]);
        my $what = "a clock $ahead ms ahead, batches for @$ways ms on their way";

        my $last = last_arrival();
        post($sent[0], @packets[0, 1]);
        post($sent[1], @packets[2, 3]);
        is_deeply recorded($last), { voiceJoin => 1, voiceSwitch => 3 }, $what;
        is_deeply [map { $key{ $_->[0] } } $nginx->sql('select type from log_arrival
            where arrival > ? order by id', $last)],
            [qw(voiceJoin voiceSwitch voiceSwitch voiceSwitch)], '... in their order';

        $last = last_arrival();
        post($sent[1], @packets);
        post($sent[0], @packets);
        is_deeply recorded($last), {}, '... sent once more they tell nothing new';
    }
}

# who is back within some ms, in a batch that was on its way for so much less that
# both moments of some of them are the same once they are corrected

{
    my ($from, @who) = (205 + $n * 5, $n .. $n + 15);
    my $last = last_arrival();
    post({ ahead => 0, way => 8 },
        map { ([$from, voice($_, $hall)], [$from, voice($_, $stage)]) } @who);
    post({ ahead => 0, way => 0 },
        map { [$from + ($_ - $n + 1) / 1000, voice($_, $hall)] } @who);
    is_deeply recorded($last), { voiceJoin => 16, voiceSwitch => 32 },
        'who is back within some ms has moved twice';
    $n += 16;
}

# a second one hears late, each time, who came and went again at once

{
    my $who = $n++;
    my $from = 205 + $n * 5;
    my ($came, $came_again) = map { [joined($who, $_)] } $from, $from + .7;
    my $count = count_at($from - 1);

    is_deeply heard(0, [[$from, @$came], [$from + .5, left($who)]]),
        { memberJoin => 1, memberLeave => 1 }, 'somebody came and went at once';
    is_deeply heard(0, [[$from + .6, @$came]]), {}, 'a late joining is told already';
    is count_at($from + .65), $count, '... and makes nobody a member again';
    is_deeply heard(0, [[$from + .68, left($who)]]), {}, 'nor do they leave once more';
    is_deeply heard(0, [[$from + .7, @$came_again], [$from + .75, left($who)]]),
        { memberJoin => 1, memberLeave => 1 }, 'who comes back has come, and leaves';
    is_deeply heard(0, [[$from + .8, @$came], [$from + .81, @$came_again]]), {},
        'the first joining is late, or both are';
    is count_at($from + .9), $count, '... all the same';
}

# another instance hears it at the same time by another clock

for my $ahead (2000, -2000, 86_400_000) {
    my ($who, $from) = ($n++, 200 + $n * 5);
    my @packets = ([$from, voice($who, $hall)], [$from + 3, voice($who, $stage)]);

    my $last = last_arrival();
    post({ ahead => 0 }, @packets);
    post({ ahead => $ahead, way => 100 }, @packets);
    is_deeply recorded($last), { voiceJoin => 1, voiceSwitch => 1 },
        "another clock, $ahead ms ahead";
}

# of a bot that does not say when, the place in the batch does; what comes now has
# greater ids than all above

{
    my $who = $n++;
    my $last = last_arrival();
    my $answer = $nginx->operator('POST', '/events', [
        map { my ($t, $d) = @$_; { t => $t, d => $d } }
            [voice($who, $hall)], [voice($who, $stage)], [voice($who, $hall)],
            [voice($who, $stage)], [voice($who, undef)], [voice($who, $hall)],
            [voice($who, undef)]
    ]);
    is_deeply [$answer->status, $answer->json->{duplicates}], [200, 0],
        'a batch without moments is taken';
    is_deeply recorded($last), { voiceJoin => 2, voiceSwitch => 3, voiceLeave => 2 },
        'each of its acts is told';
    is_deeply [map { $key{ $_->[0] } } $nginx->sql('select type from log_arrival
        where arrival > ? order by id', $last)],
        [qw(voiceJoin), (qw(voiceSwitch)) x 3, qw(voiceLeave voiceJoin voiceLeave)],
        '... in its order';
}

done_testing;


# ahead: ms, what the bot's clock is; way: ms, how long the batch takes
sub post {
    my $by = ref $_[0] eq 'HASH' ? shift : undef;

    my $query = $by ? '?sent=' . (int(time * 1000) + $by->{ahead} - ($by->{way} // 0)) : '';
    my $answer = $nginx->operator('POST', "/events$query",
        [map { +{ at => int($start + $_->[0] * 1000 + .5) + ($by ? $by->{ahead} : 0),
            t => $_->[1], d => $_->[2] } } @_]);
    is_deeply [$answer->status, $answer->json->{errors}], [200, []], 'a batch is taken'
        or diag $answer->text;
    return;
}


# posts them in one batch, and lets all time pass: what was recorded, by type
sub heard {
    my ($later, $packets) = @_;

    my $last = last_arrival();
    post(map { my ($at, @rest) = @$_; [$at + $later, @rest] } @$packets);
    return recorded($last);
}


# how many members there are, as the joining of somebody else tells
sub count_at {
    my ($at) = @_;

    my $last = last_arrival();
    my $who = $n++;
    post([$at, joined($who, $at)]);
    my $doc = $nginx->sql('select doc from log_arrival where arrival > ?', $last);
    post([$at + .001, left($who)]);
    recorded($last);
    return json->decode("$doc}")->{count} - 1;
}


sub last_arrival {
    return $nginx->sql('select coalesce(max(arrival), 0) from log_arrival');
}


# ... when all time is over
sub recorded {
    my ($last) = @_;

    $clock->pass;
    $nginx->sql('delete from pair where state = 1');
    return { map { $key{ $_->[0] } => $_->[1] } $nginx->sql('select type, count(*)
        from log_arrival where arrival > ? group by type', $last) };
}


sub id {
    return '' . (300_000_000_000_000_000 + shift);
}


sub user {
    my ($n) = @_;
    return { id => id($n), username => "user$n" };
}


sub voice {
    my ($n, $channel) = @_;
    return 'VOICE_STATE_UPDATE', {
        guild_id => $guild, user_id => id($n), channel_id => $channel,
        member => { user => user($n), roles => [] }
    };
}


sub pictured {
    my ($name, $d) = @_;
    return ($name, { %$d, member => { %{ $d->{member} }, avatar => '0' x 32 } });
}


sub left {
    my ($n) = @_;
    return 'GUILD_MEMBER_REMOVE', { guild_id => $guild, user => user($n) };
}


sub joined {
    my ($n, $at) = @_;
    return 'GUILD_MEMBER_ADD', {
        guild_id => $guild, user => user($n), roles => [],
        joined_at => iso($start + $at * 1000)
    };
}


sub level {
    my ($n) = @_;
    return 'GUILD_UPDATE', {
        id => $guild, name => 'A server', owner_id => id(1), premium_tier => $n,
        premium_subscription_count => 7 * $n
    };
}


sub created {
    my @states = @_;
    return {
        premium_tier => 2, premium_subscription_count => 14,
        id => $guild, name => 'A server', owner_id => id(1), member_count => 7,
        roles => [], threads => [], voice_states => \@states,
        channels => [map { +{ id => $_, name => "c$_", type => 2 } } $hall, $stage],
        members => [map { +{ user => user($_), roles => [],
            joined_at => '2026-01-01T00:00:00.000000+00:00' } } 1 .. 7]
    };
}
