#!/usr/bin/perl
# What becomes of entries for each kind of the platform's answer to a message;
# t/delivery/delivery.t has the other kinds.  (t/unit/verdict.c has the meaning
# of each code.)

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


# a server that has messages already, so that none is the first of its lane
sub settled {
    my ($guild, $token, $to) = server();
    becomes($guild, $token, (record($guild, 1))[0], 'delivered', 'one before');
    return { guild => $guild, token => $token, to => $to };
}


sub is_now {
    my ($it, $id, $word, $why, $seconds) = @_;
    becomes(@$it{qw(guild token)}, $id, $word, $why, $seconds);
}


# ends the waiting time of its lanes
sub wake {
    my ($guild) = @_;
    $g->sql('update lane_head set not_before = null where guild_id = ?',
        $guild);
    $g->sql('select lane_wake(guild_id, lane) from lane where guild_id = ?',
        $guild);
}


sub code {
    my ($status, $code) = @_;
    return (action => 'answer', status => $status,
        body => { code => $code, message => 'no' });
}


# each case has a channel: the answer, and the outcome of the entry
my @case = (
    ['an invalid webhook token',     'delivered', code(401, 50027)],
    ['a channel of the wrong type',  'not_delivered channel_gone',
        code(400, 50024)],
    ['a guild that is gone',         'not_delivered channel_gone',
        code(404, 10004)],
    ['one entry that is too large',  'not_delivered rejected',
        code(400, 50045), times => 9],
    ['a harmful link',               'not_delivered rejected',
        code(400, 240000), times => 9],
    ['an error, applied',            'delivered',
        action => 'apply-answer', status => 500, body => {}],
    ['a time-out, not applied',      'delivered',
        action => 'answer', status => 504, body => '<html>'],
    ['a long answer',                'delivered',
        action => 'apply-answer', status => 200, body => { content =>
            'x' x 1_000_000, id => '300000000000000007' }],
    ['a success without a message',  'delivered',
        action => 'apply-answer', status => 200, body => 'oops'],
);
my @its = map { settled() } @case;
$platform->faults(map {
    my (undef, undef, %fault) = @{ $case[$_] };
    { call => 'execute', channel => $its[$_]{to}, %fault };
} 0 .. $#case);
my @ids = map { (record($_->{guild}, 1))[0] } @its;
for my $i (0 .. $#case) {
    my ($why, $word) = @{ $case[$i] };
    is_now($its[$i], $ids[$i], $word, $why, 60);
    is times_applied($its[$i]{to}, $ids[$i]), $word eq 'delivered' ? 1 : 0,
        '... and the channel has it as often as that says';
}
my ($long) = grep { $case[$_][0] eq 'a long answer' } 0 .. $#case;
is delivery(@{ $its[$long] }{qw(guild token)}, $ids[$long])->{messageId},
    '300000000000000007', 'a long answer is read to its end';
is scalar $platform->webhooks($its[0]{to}), 1,
    'an invalid token: registered anew, as the one that is listed';


subtest 'messages that are too large' => sub {
    my $it = settled();
    $platform->faults({ call => 'execute', channel => $it->{to}, times => 2,
        action => 'answer', status => 413, body => '<html>' });
    my @ids = record($it->{guild}, 8);
    is_now($it, $ids[-1], 'delivered', 'the last is delivered');
    my @sizes = map { scalar $platform->entries_in($_) }
        $platform->messages($it->{to});
    is_deeply [@sizes[-4 .. -1]], [2, 2, 2, 2], 'each half is halved again';
};


subtest 'an entry that waits for more than a day' => sub {
    my $it = settled();
    my %limited = (action => 'answer', status => 429,
        headers => { 'X-RateLimit-Scope' => 'user' },
        body => { message => 'limited', retry_after => 3600 });
    $platform->faults({ call => 'execute', channel => $it->{to}, %limited });
    my ($id) = record($it->{guild}, 1);
    is_now($it, $id, 'not_delivered retrying', 'it is refused for now');

    my $yesterday = $g->sql('select ?::bigint - (90000000::bigint << 22)', $id);
    $g->sql('update log_arrival set id = ?, doc = replace(doc, ?, ?)
        where guild_id = ? and id = ?', $yesterday, $id, $yesterday,
        $it->{guild}, $id);
    $g->days_pass(2, 'guild_id = ? and id = ?', $it->{guild}, $yesterday);
    wake($it->{guild});
    is_now($it, $yesterday, 'not_delivered expired', 'after a day it expires');
    is times_applied($it->{to}, $yesterday), 0, 'it was never applied';
};


subtest 'a limit that others share' => sub {
    my $it = settled();
    $platform->faults({ call => 'execute', channel => $it->{to},
        action => 'answer', status => 429,
        headers => { 'X-RateLimit-Scope' => 'shared' },
        body => { message => 'limited', retry_after => 0.5 } });
    my $before = posts($it->{to});
    for (1 .. 3) {
        is_now($it, (record($it->{guild}, 1))[0], 'delivered', "message $_");
    }
    my @at = map { $_->{at} } posts($it->{to});
    splice @at, 0, $before;
    cmp_ok $at[1] - $at[0], '>=', 500,
        'the lane waits as long as the platform says';
    cmp_ok $at[$_ + 1] - $at[$_], '>=', 1950, 'then it sends slowly'
        for 1 .. $#at - 1;
};


# pauses for the whole address, not for one lane
sub pauses {
    my ($why, %fault) = @_;

    my ($it, $other) = map { settled() } 1 .. 2;
    my $told = sub { scalar(() = $g->error_log =~ /address to pause for/g) };
    my $before = $told->();
    $platform->faults({ call => 'execute', channel => $it->{to}, %fault });
    my ($id) = record($it->{guild}, 1);
    wait_for { $told->() > $before } 60, "$why: the pause";
    my ($answer) = grep { ($_->{channel} // '') eq $it->{to}
        && $_->{status} == $fault{status} } $platform->answers('execute');
    my ($next) = record($other->{guild}, 1);
    return ($it, $id, $other, $next, $answer->{at});
}

subtest 'a limit for all' => sub {
    my ($it, $id, $other, $next, $at) = pauses('global', action => 'answer',
        status => 429, headers => { 'X-RateLimit-Scope' => 'global' },
        body => { message => 'limited', retry_after => 6,
            global => JSON::PP::true });
    $g->reload;
    is_now($other, $next, 'delivered', 'the other entry is delivered');
    cmp_ok +(posts($other->{to}))[-1]{at} - $at, '>=', 6000,
        '... after the limit is over, by any worker';
    is_now($it, $id, 'delivered', 'so is the entry that was refused');
};

for my $case (['a page of HTML', status => 403, body => '<html>no</html>'],
    ['code 40333', code(403, 40333)])
{
    my ($why, @answer) = @$case;

    my ($it, $id, $other, $next) = pauses($why, action => 'answer', @answer);
    is_now($it, $id, 'not_delivered retrying', "$why: refused");
    like $g->error_log, qr/address to pause for 600000 ms/,
        "$why: the address is blocked";
    is word(@$other{qw(guild token)}, $next), 'not_delivered queued',
        "$why: no worker sends";
    wake($it->{guild});
    $g->stop;
    $g->start;
    is_now($_->[0], $_->[1], 'delivered', "$why: nothing is lost")
        for [$it, $id], [$other, $next];
}

done_testing;
