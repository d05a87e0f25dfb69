#!/usr/bin/perl
# What the platform answers to a message, and what becomes of its entries: the
# kinds of answers that t/delivery/delivery.t does not have.  (t/unit/platform.c has what
# each code means.)

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


# a server with messages already, so that nothing is the first of its lane
sub settled {
    my ($guild, $token, $to) = server();
    becomes($guild, $token, (record($guild, 1))[0], 'delivered', 'one before');
    return { guild => $guild, token => $token, to => $to };
}


sub is_now {
    my ($it, $id, $word, $why, $seconds) = @_;
    becomes(@$it{qw(guild token)}, $id, $word, $why, $seconds);
}


# its lanes wait no longer
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


# each in a channel of its own: what is answered, what the entry becomes
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
    ['a success that says nothing',  'delivered',
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
        '... and that is what the channel has';
}
my ($long) = grep { $case[$_][0] eq 'a long answer' } 0 .. $#case;
is delivery(@{ $its[$long] }{qw(guild token)}, $ids[$long])->{messageId},
    '300000000000000007', 'a long answer is read to its end';
is scalar $platform->webhooks($its[0]{to}), 1,
    'an invalid token: registered anew, as the one that is listed';


subtest 'several that are too large' => sub {
    my $it = settled();
    $platform->faults({ call => 'execute', channel => $it->{to}, times => 2,
        action => 'answer', status => 413, body => '<html>' });
    my @ids = record($it->{guild}, 8);
    is_now($it, $ids[-1], 'delivered', 'the last is delivered');
    my @sizes = map { scalar $platform->entries_in($_) }
        $platform->messages($it->{to});
    is_deeply [@sizes[-4 .. -1]], [2, 2, 2, 2], 'in quarters';
};


subtest 'what waits for too long' => sub {
    my $it = settled();
    my %limited = (action => 'answer', status => 429,
        headers => { 'X-RateLimit-Scope' => 'user' },
        body => { message => 'limited', retry_after => 3600 });
    $platform->faults({ call => 'execute', channel => $it->{to}, %limited });
    my ($id) = record($it->{guild}, 1);
    is_now($it, $id, 'not_delivered retrying', 'it is refused for now');

    my $yesterday = $g->sql('select ?::bigint - (90000000::bigint << 22)', $id);
    $g->sql('update log_entry set id = ?, doc = replace(doc, ?, ?)
        where guild_id = ? and id = ?', $yesterday, $id, $yesterday,
        $it->{guild}, $id);
    $g->sql('delete from log_event where guild_id = ?', $it->{guild});
    wake($it->{guild});
    is_now($it, $yesterday, 'not_delivered expired', 'a day later it ends');
    is times_applied($it->{to}, $yesterday), 0, 'and was never applied';
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
    cmp_ok $at[1] - $at[0], '>=', 500, 'it waits as long as it was told';
    cmp_ok $at[$_ + 1] - $at[$_], '>=', 1950, 'then it goes slowly'
        for 1 .. $#at - 1;
};


# so much of the address is paused, and not of one lane
sub pauses {
    my ($why, %fault) = @_;

    my ($it, $other) = map { settled() } 1 .. 2;
    $platform->faults({ call => 'execute', channel => $it->{to}, %fault });
    my ($id) = record($it->{guild}, 1);
    is_now($it, $id, 'not_delivered retrying', "$why: refused");
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
    is_now($other, $next, 'delivered', 'another one is delivered');
    cmp_ok +(posts($other->{to}))[-1]{at} - $at, '>=', 6000,
        'when the limit is over, by whichever worker';
    is_now($it, $id, 'delivered', 'and so is the one that was refused');
};

for my $case (['a page of HTML', status => 403, body => '<html>no</html>'],
    ['code 40333', code(403, 40333)])
{
    my ($why, @answer) = @$case;

    my ($it, $id, $other, $next) = pauses($why, action => 'answer', @answer);
    ok eval { wait_for { $g->error_log =~ /address to pause for 600000 ms/ } },
        "$why: the address is blocked";
    is word(@$other{qw(guild token)}, $next), 'not_delivered queued',
        "$why: nobody sends";
    wake($it->{guild});
    $g->stop;
    $g->start;
    is_now($_->[0], $_->[1], 'delivered', "$why: nothing is lost")
        for [$it, $id], [$other, $next];
}

done_testing;
