#!/usr/bin/perl
# "50 refusals of the platform in ten minutes rest a server's lanes (state
# paused, reason refused) until they are over; those of one server never keep
# others waiting."
#
# What this mends: repeating the same change sent a request for each refused
# channel at once, until the platform had refused so often that the address was
# blocked and nothing was delivered.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2,
    api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);

my @fields = qw(main_channel category_modlog category_members category_actions
    category_text category_voice category_files category_server category_roles
    category_channels category_service);


# a server and eleven channels in which the bot may not make webhooks
sub refused {
    my $guild = $g->server(plan => 'free');
    my @channels = map { ++$channel . '' } @fields;
    my %set;
    @set{@fields} = @channels;
    return { guild => $guild, token => $g->token($guild), set => \%set,
        channels => \@channels };
}


sub set {
    my ($it, $body) = @_;
    my $answer = $g->patch("/servers/$it->{guild}/config/logging/channels",
        token => $it->{token}, json => $body);
    return $answer->status;
}


sub fix {
    my ($it, $to) = @_;
    return $g->post("/servers/$it->{guild}/troubleshoot/fix",
        token => $it->{token}, json => { kind => 'register_webhook',
            channelId => $to })->status;
}


sub pacing {
    my ($it) = @_;
    return @{ $g->get("/servers/$it->{guild}/config/logging/pacing",
        token => $it->{token})->json->{channels} };
}


sub notes {
    my ($it) = @_;
    return @{ $g->get("/servers/$it->{guild}/notifications",
        token => $it->{token})->json };
}


# requests about these channels, and those that were refused
sub asked {
    my ($it) = @_;
    my %its = map { $_ => 1 } @{ $it->{channels} };
    return grep { $_->{event} eq 'request' && $its{ $_->{channel} // '' } }
        $platform->ledger;
}


sub refusals {
    my ($it) = @_;
    my %its = map { $_ => 1 } @{ $it->{channels} };
    return grep { $_->{event} eq 'answer' && $its{ $_->{channel} // '' }
        && $_->{status} >= 400 } $platform->ledger;
}


# its channels about which the platform was asked within ten seconds of their
# first refusal
sub early {
    my ($it) = @_;
    my %refused;
    $refused{ $_->{channel} } //= $_->{at} for refusals($it);
    return grep { my $at = $refused{$_->{channel}};
        $at && $_->{at} > $at && $_->{at} < $at + 10_000 } asked($it);
}


my ($victim, $their) = server();
becomes($victim, $their, (record($victim, 1))[0], 'delivered', 'a neighbour');


subtest 'a repeated change asks the platform nothing' => sub {
    my $it = refused();
    $platform->config(forbidden => $it->{channels});
    is set($it, $it->{set}), 202, 'eleven channels are set';
    wait_for { 11 == grep { $_->{stateReason} } pacing($it) } 60;
    my $asked = asked($it);
    my $notes = notes($it);

    is scalar(grep { $_ != 202 } map { set($it, $it->{set}) } 1 .. 10), 0,
        'they are set again ten times';
    is scalar(grep { $_ !~ /^(?:200|404)$/ }
        map { fix($it, $_) } @{ $it->{channels} }), 0,
        'the fix registers their webhooks again';
    is notes($it), $notes, 'no notification is made';

    # what was set again is tried once, a moment later, and notified once

    wait_for { asked($it) >= $asked + 11 } 60, 'each channel is tried';
    is_deeply [map { $_->{channel} } early($it)], [],
        'the platform gets no request for ten seconds';
    wait_for { 11 == grep { $_->{stateReason} } pacing($it) } 90;
    is notes($it), $notes, 'a known reason makes no second notification';
    my $then = asked($it);

    # a find under way may have read a lane, called for again meanwhile, just
    # before it was told to wait: then it is tried once more

    cmp_ok $then, '<=', $asked + 22, 'no channel was tried for each change';
    set($it, $it->{set}) for 1 .. 20;
    is asked($it), $then, 'no channel is tried again within a minute';
};


subtest 'after a repair the next change is tried at once' => sub {
    my $it = refused();
    my $to = $it->{channels}[0];
    $platform->config(forbidden => [$to]);
    set($it, { main_channel => $to });
    wait_for { grep { $_->{stateReason} } pacing($it) } 60;
    my ($id) = record($it->{guild}, 1);
    $platform->config(forbidden => []);
    is set($it, { main_channel => $to }), 202, 'it is set again';
    becomes(@$it{qw(guild token)}, $id, 'delivered', 'and delivers', 30);
};


subtest 'fifty refusals' => sub {
    my $it = refused();
    $platform->config(forbidden => $it->{channels});

    # new channels each time, because a refused one is not tried again soon

    for my $round (1 .. 9) {
        last if $g->sql('select n >= 50 from refusal where guild_id = ?',
            $it->{guild});
        my @more = map { ++$channel . '' } @fields;
        push @{ $it->{channels} }, @more;
        $platform->config(forbidden => $it->{channels});
        my %set;
        @set{@fields} = @more;
        is set($it, \%set), 202, "other channels, time $round";
        my $deadline = time + 60;
        wait_for { ($g->sql('select n >= 50 from refusal where guild_id = ?',
                $it->{guild}))
            || 11 <= grep { $_->{stateReason} } pacing($it) } 60;
    }
    wait_for { !grep { $_->{state} ne 'paused' } pacing($it) } 60;
    is_deeply [map { $_->{stateReason} } pacing($it)], [('refused') x 11],
        "the server's lanes rest";
    wait_for { $g->get('/status', raw_path => 1)->json
        ->{delivery_lanes}{refused} >= 11 } 60,
        'and the status page counts them';
    cmp_ok scalar(refusals($it)), '<=', 60, 'after fifty, and what was under '
        . 'way';

    my $refused = refusals($it);
    my @mine = map { record($it->{guild}, 1) } 1 .. 3;
    my ($their_id) = record($victim, 1);
    becomes($victim, $their, $their_id, 'delivered', 'another server delivers');
    set($it, { $fields[$_] => ++$channel . '' }) for 0 .. 10;
    my $report = $g->get("/servers/$it->{guild}/troubleshoot",
        token => $it->{token})->json;
    is scalar(grep { /not asked$/ } @{ $report->{summary}{incomplete} }), 11,
        'a report asks the platform nothing';
    is $g->post("/servers/$it->{guild}/troubleshoot/test-log",
        token => $it->{token}, json => {})->json->{ok}, json->decode('false'),
        'a test message is not sent';
    becomes($victim, $their, (record($victim, 1))[0], 'delivered',
        'another server goes on');
    is refusals($it), $refused, 'meanwhile the platform got no request';
    is scalar(grep { word(@$it{qw(guild token)}, $_)
        !~ /^not_delivered (?:queued|retrying)$/ } @mine), 0,
        "the server's entries wait";

    $platform->config(forbidden => []);
    $g->sql(q{update refusal set since = now() - interval '9 min 50 s'
        where guild_id = ?}, $it->{guild});
    becomes(@$it{qw(guild token)}, $mine[-1], 'delivered',
        'and are delivered when the ten minutes are over', 90);
    is scalar(grep { $_->{stateReason} && $_->{stateReason} eq 'refused' }
        pacing($it)), 0, 'no channel rests any more';
};


subtest 'refused reports and test messages count, too' => sub {
    my $it = refused();
    set($it, { main_channel => $it->{channels}[0] });
    wait_for { grep { $_->{state} eq 'active' } pacing($it) } 60;
    wait_for { $g->sql('select count(*) = 0 from lane_ready where
        guild_id = ?', $it->{guild}) } 60;
    $platform->config(forbidden => [$it->{channels}[0]]);
    $g->get("/servers/$it->{guild}/troubleshoot", token => $it->{token});
    is $g->sql('select n from refusal where guild_id = ?', $it->{guild}), 1,
        'a refused report counts';
    $platform->config(forbidden => []);
    $platform->delete_webhook($_->{id})
        for $platform->webhooks($it->{channels}[0]);
    is $g->post("/servers/$it->{guild}/troubleshoot/test-log",
        token => $it->{token}, json => {})->json->{stage}, 'webhook_404',
        'a test message is refused';
    is $g->sql('select n from refusal where guild_id = ?', $it->{guild}), 2,
        'a refused test message counts';
};


subtest 'a channel of a type without webhooks' => sub {
    my $it = refused();
    my $to = $it->{channels}[0];
    $platform->faults({ call => 'list', channel => $to, times => 99,
        action => 'answer', status => 400,
        body => { code => 50035, message => 'Invalid Form Body' } });
    set($it, { main_channel => $to });
    wait_for { grep { $_->{state} eq 'broken' } pacing($it) } 60;
    is((pacing($it))[0]{stateReason}, 'channel_gone',
        'its reason is channel_gone');
    my ($finding) = grep { $_->{id} eq 'CHANNEL_GONE' } @{ $g->get(
        "/servers/$it->{guild}/troubleshoot?live=0", token => $it->{token})
        ->json->{findings} };
    ok $finding, 'the report has a finding';
    is scalar(grep { $_->{call} eq 'list' } asked($it)), 1,
        'it took one request';
    $platform->faults;
};


# A closed lane that was never used is deleted.  The number of other lanes is
# bounded.

subtest 'lanes of channels that are set and left' => sub {
    my $it = refused();
    $g->operator('POST', "/servers/$it->{guild}/pause");
    my @status;
    for (1 .. 30) {
        my %set;
        @set{@fields} = map { ++$channel . '' } @fields;
        push @status, set($it, \%set);
    }
    is_deeply [grep { $_ != 202 } @status], [],
        'channels are set and left again';
    cmp_ok $g->sql('select count(*) from lane where guild_id = ?',
        $it->{guild}), '<=', 60, 'lanes without entries are deleted';

    my $last;
    for (1 .. 340) {
        $last = $g->patch("/servers/$it->{guild}/config/logging/channels",
            token => $it->{token}, json => { category_service => ++$channel
                . '' });
        last if $last->status != 202;
    }
    is $last->status, 429, 'too many lanes are refused';
    like $last->json->{error}, qr/try again later/, 'with an error';
    ok $last->header('Retry-After'), 'Retry-After says when to try again';
    is $g->sql(q{select count(*) from lane where guild_id = ?
        and state <> 'closed'}, $it->{guild}), 300,
            'a server has at most 300 lanes';
    is set($it, { category_service => undef }), 202,
        'removing a channel is always allowed';
};

done_testing;
