#!/usr/bin/perl
# "When a channel is no longer used, its lane drains and the webhook is deleted
# at the platform": also when the channel had no webhook yet, and when it is not
# known whether it has one.

use lib 't/lib';
use Guildlog;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 1, api => 'guildlog_limit off;',
    allow => [qr/exited on signal 9/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my $guild = $g->server;
my $token = $g->token($guild);
my $channel = 300000000000000000;
my $event = 0;


sub set_channel {
    my ($to) = @_;

    my $answer = $g->patch("/servers/$guild/config/logging/channels",
        token => $token, json => { main_channel => $to });
    die $answer->text if $answer->status != 202;
}


sub record {
    my $answer = $g->operator('POST', "/servers/$guild/logs", [{
        event_id => 'e' . ++$event, type => 7, content => 'it' }]);
    die $answer->text if $answer->status != 200;
    return $answer->json->{ids}[0];
}


sub delivery {
    my ($id) = @_;

    my ($entry) = grep { $_->{id} eq $id } @{ $g->get(
        "/servers/$guild/logs?limit=200", token => $token)->json->{entries} };
    return $entry->{delivery};
}


sub state {
    my ($of) = @_;
    return $g->sql('select state from lane where channel_id = ?
        order by lane desc limit 1', $of);
}


# requests of one kind for one channel
sub asked {
    my ($to, $call) = @_;
    return grep { $_->{event} eq 'request' && $_->{call} eq $call }
        $platform->ledger($to);
}


# this test is the first: the id of the application is still unknown

subtest 'an application with another id than its bot' => sub {
    my ($first, $second) = map { ++$channel . '' } 1 .. 2;
    $platform->config(applications => { '400000000000000001' => '5' x 18 });
    $platform->faults({ call => 'create', channel => $first,
        action => 'apply-reset' });
    set_channel($first);
    eval { wait_for { state($first) eq 'active' } 60 };
    my ($it, @more) = $platform->webhooks($first);
    is "$it->{application_id} @more", '5' x 18 . ' ',
        'its webhook is found again';

    set_channel($second);
    eval { wait_for { state($second) eq 'active' } 60 };
    $channel++;
    $platform->create_webhook("$channel", $it->{name});
    set_channel("$channel");
    eval { wait_for { state("$channel") eq 'active' } 60 };
    is join(' ', sort map { $_->{application_id} }
            $platform->webhooks("$channel")), '4' . '0' x 16 . '2 ' . '5' x 18,
        'webhooks of the same name that others made are left alone';
};


subtest 'entries that wait for a webhook are delivered before it closes' => sub {
    my $to = ++$channel . '';
    $platform->faults({ call => 'create', channel => $to, times => 1,
        action => 'answer', status => 500, body => {} });
    set_channel($to);
    wait_for { !$platform->faults_left } 60, 'no webhook';
    my $id = record();
    set_channel('300000000000000999');

    my $it = {};
    eval { wait_for { ($it = delivery($id))->{status} eq 'delivered' } 60 };
    is $it->{status}, 'delivered', 'the entry is delivered';
    is $it->{channelId}, $to,
        'it goes to the channel that was set when it was recorded';
    eval { wait_for { state($to) eq 'closed' } 60 };
    is state($to), 'closed', 'then the lane closes';
    is scalar $platform->webhooks($to), 0, 'and the webhook is deleted';
};


subtest 'a webhook is deleted though its creation had no answer' => sub {
    my $to = ++$channel . '';
    $platform->faults({ call => 'create', channel => $to,
        action => 'apply-reset' });
    set_channel($to);
    wait_for { !$platform->faults_left } 60, 'a webhook';
    set_channel('300000000000000999');

    eval { wait_for { state($to) eq 'closed' } 60 };
    is state($to), 'closed', 'the lane closes';
    is scalar $platform->webhooks($to), 0, 'the webhook is deleted';
};


# the platform makes the webhook after a list that did not have it yet
for my $how (
    ['its creation had no answer', action => 'late', ms => 3000],
    ['its worker died',            action => 'late', ms => 3000, kill => 1],
    ['it was not in the list',     action => 'after-read'],
    ['a gateway timed out',        action => 'late', ms => 3000, status => 504])
{
    my ($why, %fault) = @$how;
    subtest "a webhook is made once though $why" => sub {
        my $to = ++$channel . '';
        $fault{kill} = [$g->workers] if $fault{kill};
        $platform->faults({ call => 'create', channel => $to, %fault });
        set_channel($to);
        eval { wait_for { state($to) eq 'active' } 60 };
        is state($to), 'active', 'the lane uses it';
        is scalar $platform->webhooks($to), 1, 'the channel has one webhook';
        is scalar asked($to, 'create'), 1, 'one was asked for';
        cmp_ok scalar asked($to, 'list'), '>', 1,
            'the lane lists the webhooks again';
        ok $g->sql('select asked_at is null from lane where channel_id = ?',
            $to), 'no webhook is expected any more';
    };
}


subtest 'a webhook that may not be deleted is left' => sub {
    my $to = ++$channel . '';
    set_channel($to);
    wait_for { state($to) eq 'active' } 60, 'a webhook';
    $platform->faults({ call => 'delete', channel => $to, times => 99,
        action => 'answer', status => 403,
        body => { code => 50013, message => 'Missing Permissions' } });
    set_channel('300000000000000999');

    eval { wait_for { state($to) eq 'closed' } 60 };
    is state($to), 'closed', 'the lane closes';
    is scalar asked($to, 'delete'), 1, 'it was tried once';
    $platform->faults;
};


subtest 'a channel that is set again while its webhook is deleted' => sub {
    my $to = ++$channel . '';
    set_channel($to);
    wait_for { state($to) eq 'active' } 60, 'a webhook';
    my ($old) = $platform->webhooks($to);
    my $by_old = sub {
        scalar grep { $_->{path} =~ /$old->{id}/ } asked($to, 'execute');
    };
    $platform->faults({ call => 'delete', channel => $to,
        action => 'apply-hang' });
    set_channel('300000000000000999');
    wait_for { !$platform->webhooks($to) } 60, 'a deletion';
    my $before = $by_old->();
    set_channel($to);

    my $id = record();
    eval { wait_for { delivery($id)->{status} eq 'delivered' } 60 };
    is delivery($id)->{status}, 'delivered',
        'an entry of the set channel is delivered';
    is $by_old->(), $before, 'not by the deleted webhook';
    ok $g->sql('select lost_at is null from lane where channel_id = ?', $to),
        'the deleted webhook does not count as lost';
    is scalar $platform->webhooks($to), 1, 'by a new webhook';
};


subtest 'a webhook that could not be listed is not made twice' => sub {
    my $to = ++$channel . '';
    $platform->create_webhook($to, 'Guildlog Pro');
    $platform->faults({ call => 'list', channel => $to, action => 'answer',
        status => 200, body => [{}] });
    my $answer = $g->patch("/servers/$guild/config/logging/channels?bot=pro",
        token => $token, json => { main_channel => $to });
    is $answer->status, 202, 'a channel with a webhook is set';
    eval { wait_for { state($to) eq 'active' } 60 };
    is state($to), 'active', 'the lane uses the webhook';
    cmp_ok scalar asked($to, 'list'), '>', 1, '... after a list succeeded';
    is scalar $platform->webhooks($to), 1, 'no second webhook is made';
};


subtest 'a webhook that cannot be deleted now is deleted later' => sub {
    my $to = ++$channel . '';
    set_channel($to);
    wait_for { $g->sql("select l.state = 'active' and h.head = t.tail
            and t.tail > 0 and not exists (select from lane_ready r
                where r.guild_id = l.guild_id and r.lane = l.lane)
        from lane l join lane_head h using (guild_id, lane)
        join lane_tail t using (guild_id, lane)
        where channel_id = ?", $to) } 60, 'a webhook, and its first message';
    $platform->faults(map { { call => 'delete', channel => $to,
        action => 'answer', %$_ } }
        { status => 429, headers => { 'X-RateLimit-Scope' => 'user' },
            body => { message => 'limited', retry_after => 2 } },
        { status => 500, body => {} });
    set_channel('300000000000000999');

    eval { wait_for { state($to) eq 'closed' } 60 };
    is state($to), 'closed', 'the lane closes';
    is scalar $platform->webhooks($to), 0, 'the webhook is deleted';
    my @at = map { $_->{at} } asked($to, 'delete');
    cmp_ok scalar @at, '>', 2, '... by the third try';
    cmp_ok $at[1] - $at[0], '>=', 2000,
        '... no sooner than the platform allowed';
};

done_testing;
