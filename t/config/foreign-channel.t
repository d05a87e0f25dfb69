#!/usr/bin/perl
# "A channel belongs to one server: what the platform or the directory knows
# under another one is refused (400) or ends the lane with foreign_channel
# (final, like channel_gone); nothing is ever made, adopted or deleted there."
#
# What this mends: an administrator could set another server's channel.  Entries
# went into it through that server's webhook.  The webhook was deleted when the
# channel was changed again, and doing that twice within an hour ended the other
# server's log.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2,
    api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


# a server that delivers to a channel of its own, and a new channel
sub victim {
    my ($guild, $token, $to) = server(@_);
    becomes($guild, $token, (record($guild, 1))[0], 'delivered',
        'a server has a log');
    return { guild => $guild, token => $token, to => $to };
}


sub evil {
    my $guild = $g->server(plan => 'free');
    return { guild => $guild, token => $g->token($guild) };
}


# PATCHes a path below /config/logging; returns the answer
sub set {
    my ($it, $what, $body) = @_;
    return $g->patch("/servers/$it->{guild}/config/logging/$what",
        token => $it->{token}, json => $body);
}


sub post {
    my ($it, $what, $body) = @_;
    return $g->post("/servers/$it->{guild}/troubleshoot/$what",
        token => $it->{token}, json => $body);
}


sub is_now {
    my ($it, $id, @more) = @_;
    becomes(@$it{qw(guild token)}, $id, @more);
}


sub channel_of {
    my ($it) = @_;
    return $g->get("/servers/$it->{guild}/config/logging/pacing",
        token => $it->{token})->json->{channels}[0];
}


# the requests that changed something in a channel, except for the messages of
# its own server
sub changes_in {
    my ($to) = @_;
    return join ' ', map { $_->{call} } grep { $_->{event} eq 'request'
        && $_->{call} =~ /^(?:create|delete)$/ } $platform->ledger($to);
}


sub messages_in {
    my ($to) = @_;
    my @all = $platform->messages($to);
    return scalar @all;
}


# the other server is unharmed: it has one webhook, made once, and delivers
sub unharmed {
    my ($victim, $webhook, $messages) = @_;
    is changes_in($victim->{to}), 'create',
        'the channel has only its own webhook, which was never deleted';
    is webhook($victim->{to})->{id}, $webhook, 'the webhook still exists';
    my ($id) = record($victim->{guild}, 1);
    is_now($victim, $id, 'delivered', 'the other server still delivers');
    is messages_in($victim->{to}), $messages + 1,
        'the channel has no message of another server';
}


subtest 'the platform tells the server of a channel' => sub {
    my ($victim, $evil) = (victim(), evil());
    my $webhook = webhook($victim->{to})->{id};
    my $messages = messages_in($victim->{to});

    for my $round (1 .. 2) {
        is set($evil, 'channels', { main_channel => $victim->{to} })->status,
            202, "the channel is set, time $round";
        wait_for { channel_of($evil)->{state} eq 'broken' } 60;
        is channel_of($evil)->{stateReason}, 'foreign_channel',
            'its lane ends with that reason';
        my ($id) = record($evil->{guild}, 1);
        is_now($evil, $id, 'not_delivered foreign_channel',
            'the entries end with that reason');
        is_now($evil, $id, 'not_delivered foreign_channel',
            'later entries, too');
        is delivery(@$evil{qw(guild token)}, $id)->{channelId}, $victim->{to},
            'the error log names the channel';
        is set($evil, 'channels', { main_channel => undef })->status, 202,
            'the channel is removed from the settings';
        wait_for { !$g->sql('select count(*) from lane where guild_id = ?
            and state <> ?', $evil->{guild}, 'closed') } 60;
    }
    unharmed($victim, $webhook, $messages);
    is scalar(grep { $_->{event} eq 'request' && $_->{call} eq 'list'
        && $_->{channel} eq $victim->{to} } $platform->ledger), 1,
        'its webhooks are not listed for another server';
};


subtest 'a channel of one log type' => sub {
    my ($victim, $evil) = (victim(), evil());
    my $webhook = webhook($victim->{to})->{id};
    my $messages = messages_in($victim->{to});
    is set($evil, 'settings/7', { log_channel => $victim->{to} })->status, 202,
        'the channel is set for a type';
    my ($id) = record($evil->{guild}, 1);
    is_now($evil, $id, 'not_delivered foreign_channel',
        'the entry is not delivered');
    unharmed($victim, $webhook, $messages);
};


subtest 'test message, report, fixes and replay' => sub {
    my ($victim, $evil) = (victim(), evil());
    my $webhook = webhook($victim->{to})->{id};
    my $messages = messages_in($victim->{to});
    set($evil, 'channels', { main_channel => $victim->{to} });
    wait_for { channel_of($evil)->{state} eq 'broken' } 60;

    my $test = post($evil, 'test-log', {})->json;
    ok !$test->{ok}, 'a test message is not sent';
    is $test->{stage}, 'channel_parked', 'because its channel is parked';
    like $test->{detail}, qr/another server/, '... the detail says why';

    my $report = $g->get("/servers/$evil->{guild}/troubleshoot",
        token => $evil->{token})->json;
    my ($finding) = grep { $_->{id} eq 'CHANNEL_GONE' }
        @{ $report->{findings} };
    like $finding->{detail}, qr/another server/, 'the report says so';
    is $finding->{fix}{kind}, 'clear_log_channel', '... and which fix helps';
    is_deeply $report->{summary}{incomplete}, ["channel $victim->{to}: not "
        . 'asked'], 'the platform is not asked about the channel';

    post($evil, 'fix', { kind => 'register_webhook',
        channelId => $victim->{to} });
    my ($id) = record($evil->{guild}, 1);
    is_now($evil, $id, 'not_delivered foreign_channel',
        'resetting the webhook does not help');

    my $replayed = $g->operator('POST', "/servers/$evil->{guild}/replay",
        { ids => [$id] })->json;
    is_deeply $replayed->{skipped}, { lane_broken => 1 },
        'a replay does not send the entries';

    is post($evil, 'fix', $finding->{fix})->status, 200, 'the fix is applied';
    wait_for { !$g->sql('select count(*) from lane where guild_id = ?
        and state <> ?', $evil->{guild}, 'closed') } 60;
    unharmed($victim, $webhook, $messages);

    my ($note) = grep { $_->{notificationData}{description}
        =~ /foreign_channel/ } @{ $g->get(
        "/servers/$evil->{guild}/notifications", token => $evil->{token})
        ->json };
    ok $note, 'the administrators are notified';
};


subtest 'a platform that tells the server of webhooks only' => sub {
    my ($victim, $evil) = (victim(), evil());
    my $webhook = webhook($victim->{to})->{id};
    my $messages = messages_in($victim->{to});
    $platform->config(untold => [$victim->{to}]);
    set($evil, 'channels', { main_channel => $victim->{to} });
    my ($id) = record($evil->{guild}, 1);
    is_now($evil, $id, 'not_delivered foreign_channel',
        'an existing webhook tells the server');
    unharmed($victim, $webhook, $messages);

    my $empty = ++$channel . '';
    $platform->belong($victim->{guild}, $empty);
    $platform->config(no_looks => 1);
    set($evil, 'channels', { main_channel => $empty });
    ($id) = record($evil->{guild}, 1);
    is_now($evil, $id, 'not_delivered foreign_channel',
        'a new webhook tells the server');
    is scalar $platform->webhooks($empty), 0, '... it is deleted at once';
    is messages_in($empty), 0, '... before a message is sent';
    $platform->config(untold => [], no_looks => 0);
};


subtest 'a platform that tells no server' => sub {
    my $it = evil();
    my $to = ++$channel . '';
    set($it, 'channels', { main_channel => $to });
    is_now($it, (record($it->{guild}, 1))[0], 'delivered',
        "a channel of unknown server is taken as the server's own");

    $to = ++$channel . '';
    $platform->config(no_looks => 1);
    set($it, 'channels', { main_channel => $to });
    is_now($it, (record($it->{guild}, 1))[0], 'delivered',
        'also where the platform does not answer for the channel');
    $platform->config(no_looks => 0);
    is scalar(grep { $_->{state} eq 'active' } channel_of($it)), 1,
        'the lane is active';
};


subtest 'the directory tells the server of a channel' => sub {
    my ($victim, $evil) = (victim(), evil());
    my $to = ++$channel . '';
    $g->operator('PUT', "/servers/$victim->{guild}/channels",
        [map { { id => $_, name => 'logs' } } $to, $victim->{to}]);
    my $asked = () = $platform->ledger($to);

    my $answer = set($evil, 'channels', { category_text => $to,
        main_channel => '300000000000009999' });
    is $answer->status, 400, 'a channel of another server is refused';
    is $answer->json->{error}, 'category_text: belongs to another server',
        'the error names the field';
    is $g->get("/servers/$evil->{guild}/config/logging/channels",
        token => $evil->{token})->status, 404, 'nothing is stored';
    $answer = set($evil, 'settings/7', { log_channel => $to });
    is $answer->status, 400, 'the channel of a type is refused';
    like $answer->json->{error}, qr/^log_channel: /,
        '... the error names the field';
    $answer = post($evil, 'fix', { kind => 'register_webhook',
        channelId => $to });
    is $answer->status, 400, 'the channel of a fix is refused';
    is scalar(() = $platform->ledger($to)), $asked,
        'the platform is not asked about it';

    is set($victim, 'channels', { main_channel => $to })->status, 202,
        "the channel's own server may set it";
    $g->operator('PUT', "/servers/$evil->{guild}/channels/$to", {});
    is set($evil, 'settings/7', { log_channel => $to })->status, 202,
        'so may a server that has the channel in its directory, too';
};


subtest 'a webhook that another lane uses is not deleted' => sub {
    my ($it, $other) = (evil(), victim());
    my $to = ++$channel . '';
    set($it, 'channels', { main_channel => $to });
    is_now($it, (record($it->{guild}, 1))[0], 'delivered', 'a lane');
    $g->sql('update lane set webhook_id = ? where channel_id = ?',
        webhook($to)->{id}, $other->{to});
    set($it, 'channels', { main_channel => undef });
    wait_for { !$g->sql('select count(*) from lane where guild_id = ?
        and state <> ?', $it->{guild}, 'closed') } 60;
    is changes_in($to), 'create', 'the webhook is not deleted';
};


# A store of before knows of no lane that it is verified.

subtest 'lanes of before are verified' => sub {
    my ($victim, $good, $late) = (victim(), victim(), evil());
    my $webhook = webhook($victim->{to})->{id};
    my $own = ++$channel . '';
    set($late, 'channels', { main_channel => $own });
    is_now($late, (record($late->{guild}, 1))[0], 'delivered', 'a lane');
    my $messages = messages_in($victim->{to});

    $g->stop;
    $platform->belong($victim->{guild}, $own);
    $g->sql('update lane set verified_at = null');
    $g->start;

    is_now($late, (record($late->{guild}, 1))[0],
        'not_delivered foreign_channel',
        'a lane ends, where the platform names another server');
    is_now($good, (record($good->{guild}, 1))[0], 'delivered',
        'the other lanes deliver');
    is scalar(grep { $_->{event} eq 'request' && $_->{call} eq 'webhook' }
        $platform->ledger($good->{to})), 1,
            '... after one request about their webhook';
    is_now($good, (record($good->{guild}, 1))[0], 'delivered',
        'they deliver again');
    is scalar(grep { $_->{event} eq 'request' && $_->{call} eq 'webhook' }
        $platform->ledger($good->{to})), 1, '... without another request';
    is changes_in($own), 'create', 'no webhook is deleted';
    unharmed($victim, $webhook, $messages);
};

done_testing;
