#!/usr/bin/perl
# "The service sends logs into chat-platform channels through a webhook it
# registers per channel; each entry records a delivery status."

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

deliver_with($g, $platform);


subtest 'a channel that is set has a webhook' => sub {
    my ($guild, $token, $to) = server();
    wait_for { webhook($to) } 60, 'webhook';
    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'delivered', 'an entry is delivered');

    my $it = delivery($guild, $token, $id);
    is $it->{channelId}, $to, 'to that channel';
    my ($message) = grep { $_->{id} eq $it->{messageId} }
        $platform->messages($to);
    ok scalar(grep { $_ eq $id } $platform->entries_in($message)),
        "its messageId is that message's";
    is_deeply $message->{allowed_mentions}, { parse => [] },
        '... which mentions nobody';
    is scalar $platform->webhooks($to), 1, 'the channel has one webhook';
};


subtest 'many entries are delivered in their order, ten a message' => sub {
    my ($guild, $token, $to) = server();
    my @ids = record($guild, 35);
    becomes($guild, $token, $ids[-1], 'delivered', 'the last is delivered');

    my @messages = $platform->messages($to);
    my @sent = map { $platform->entries_in($_) } @messages;
    is_deeply [grep { my $id = $_; grep { $_ eq $id } @ids } @sent], \@ids,
        'each once, in their order';
    cmp_ok scalar @messages, '<=', 7, 'in few messages';
};


subtest 'a held entry is delivered after its release' => sub {
    my ($guild, $token, $to) = server(active_ignore => JSON::PP::true);
    my $id;
    ok wait_for {
        ($id) = record($guild, 1);
        word($guild, $token, $id) eq 'not_delivered held';
    }, 'it is held';
    becomes($guild, $token, $id, 'delivered', 'then delivered');
};


subtest 'the bots have webhooks of their own' => sub {
    my ($guild, $token, $to) = server();
    $g->patch("/servers/$guild/config/logging/channels?bot=pro",
        token => $token, json => { main_channel => $to });
    wait_for { $platform->webhooks($to) == 2 } 60, 'two webhooks';
    is_deeply [sort map { $_->{application_id} } $platform->webhooks($to)],
        [map { 400000000000000001 + $_ } 0, 1], 'one for each bot';
};


subtest 'a rate limit delays' => sub {
    my ($guild, $token, $to) = server();
    my ($first) = record($guild, 1);
    becomes($guild, $token, $first, 'delivered', 'the first');
    $platform->faults({ call => 'execute', channel => $to, action => 'answer',
        status => 429, body => { message => 'limited', retry_after => 5,
            global => JSON::PP::false },
        headers => { 'Retry-After' => 5, 'X-RateLimit-Scope' => 'user' } });

    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'not_delivered retrying', 'it is refused');
    becomes($guild, $token, $id, 'delivered', 'and sent again');

    my @posts = grep { $_->{event} eq 'request' && $_->{call} eq 'execute'
        && $_->{channel} eq $to } $platform->ledger($to);
    cmp_ok $posts[-1]{at} - $posts[-2]{at}, '>=', 5000,
        'no sooner than the platform said';
};


subtest 'limits are respected before the platform refuses' => sub {
    $platform->config(webhook_limit => [5, 2]);
    my ($guild, $token, $to) = server(buttons => ['userID']);
    my @ids = record($guild, 12);
    becomes($guild, $token, $ids[-1], 'delivered', 'all are delivered', 60);
    is scalar(grep { $_->{status} == 429 && $_->{channel} eq $to }
        $platform->answers('execute')), 0, 'no message was refused';
    $platform->config(webhook_limit => undef);
};


subtest 'one bad entry does not stop the entries beside it' => sub {
    my ($guild, $token, $to) = server();
    $platform->faults({ call => 'execute', match => 'of poison',
        channel => $to, action => 'poison', times => 99 });
    my @ids = record($guild, 1);
    becomes($guild, $token, $ids[0], 'delivered', 'there is a webhook');

    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => 7,
        content => $_ == 4 ? 'of poison' : "content $_" } } 1 .. 9]);
    @ids = @{ $answer->json->{ids} };
    becomes($guild, $token, $ids[8], 'delivered', 'the last is delivered');
    is_deeply [map { word($guild, $token, $_) } @ids],
        [('delivered') x 3, 'not_delivered rejected', ('delivered') x 5],
        'the bad one is rejected';

    $platform->faults({ call => 'execute', match => 'of poison', times => 99,
        channel => $to, action => 'answer', status => 400,
        body => { code => 200000, message => 'blocked' } });
    $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => 7,
        content => $_ == 6 ? 'of poison' : "content $_" } } 1 .. 9]);
    @ids = @{ $answer->json->{ids} };
    becomes($guild, $token, $ids[8], 'delivered', 'without being told which');
    is_deeply [map { word($guild, $token, $_) } @ids],
        [('delivered') x 5, 'not_delivered rejected', ('delivered') x 3],
        "the bad one is found without the platform's help";
    $platform->faults;
};


subtest 'a webhook that is gone is never used again' => sub {
    my ($guild, $token, $to) = server();
    my ($first) = record($guild, 1);
    becomes($guild, $token, $first, 'delivered', 'the first');

    my $old = webhook($to)->{id};
    my $asked = posts($to);
    $platform->delete_webhook($old);
    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'delivered', 'the next has another one');
    isnt webhook($to)->{id}, $old, 'it is indeed another one';
    is scalar(grep { $_->{event} eq 'request'
        && $_->{path} =~ m{/webhooks/$old/} } $platform->ledger), $asked + 1,
        'the old one was used once more';

    $platform->delete_webhook(webhook($to)->{id});
    ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'not_delivered webhook_404',
        'a second loss within an hour is final');
    ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'not_delivered webhook_404',
        'also for later entries');

    set_channel($guild, $token, $to);
    ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'delivered', 'until the channel is set again');
};


subtest 'a channel that is gone' => sub {
    my $to = $channel + 1;
    $platform->config(gone => ["$to"]);
    my ($guild, $token) = server();
    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'not_delivered channel_gone', 'is final');
    is delivery($guild, $token, $id)->{channelId}, $to, 'its ID is still shown';
    $platform->config(gone => []);
};


subtest 'a permission that is missing' => sub {
    my $to = $channel + 1;
    $platform->config(forbidden => ["$to"]);
    my ($guild, $token) = server();
    my ($id) = record($guild, 1);
    wait_for { $g->sql('select reason from guildlog.lane
        where guild_id = ?', $guild) } 60, 'a reason';
    $g->sql(q{select guildlog.lane_wake(guild_id, lane) from guildlog.lane
        where guild_id = ?}, $guild);
    becomes($guild, $token, $id, 'not_delivered retrying', 'is waited for');
    $platform->config(forbidden => []);
    set_channel($guild, $token, "$to");
    becomes($guild, $token, $id, 'delivered', 'and given');

    $platform->faults({ call => 'execute', channel => "$to", times => 99,
        action => 'answer', status => 403,
        body => { code => 50013, message => 'Missing Permissions' } });
    ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'not_delivered retrying', 'also of a webhook');
    $g->sql(q{update guildlog.lane set forbidden_at = now() - interval '61 min'
        where guild_id = ?}, $guild);
    $g->sql(q{select guildlog.lane_wake(guild_id, lane) from guildlog.lane
        where guild_id = ?}, $guild);
    becomes($guild, $token, $id, 'not_delivered forbidden',
        'after an hour it is final');
    $platform->faults;
};


subtest 'an answer that never came' => sub {
    my ($guild, $token, $to) = server();
    my ($first) = record($guild, 1);
    becomes($guild, $token, $first, 'delivered', 'the first');

    my @cases = (
        [{ action => 'apply-reset' }, 'delivered', 'it was applied'],
        [{ action => 'reset' }, 'delivered', 'it was not'],
        [{ action => 'apply-answer', status => 502, body => 'oops' },
            'delivered', 'it was applied, and the answer says nothing'],
        [{ action => 'answer', status => 503, body => 'oops' },
            'delivered', 'it was not applied, and the answer says nothing'],
    );
    my @channels = map { [server()] } @cases;
    for my $i (0 .. $#cases) {
        my ($id) = record($channels[$i][0], 1);
        becomes(@{ $channels[$i] }[0, 1], $id, 'delivered', "first of $i");
    }
    $platform->faults(map { { call => 'execute',
        channel => $channels[$_][2], %{ $cases[$_][0] } } } 0 .. $#cases);
    my @ids = map { (record($channels[$_][0], 1))[0] } 0 .. $#cases;
    becomes(@{ $channels[0] }[0, 1], $ids[0], 'unknown in_flight',
        'the outcome is not known yet');

    for my $i (0 .. $#cases) {
        becomes(@{ $channels[$i] }[0, 1], $ids[$i], $cases[$i][1],
            $cases[$i][2], 60);
        is scalar(grep { $_ eq $ids[$i] } map { $platform->entries_in($_) }
            $platform->messages($channels[$i][2])), 1, 'once';
    }

    $platform->config(no_history => [$to]);
    $platform->faults({ call => 'execute', channel => $to,
        action => 'apply-reset' });
    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'unknown in_flight', 'sent');
    my ($next) = record($guild, 1);
    becomes($guild, $token, $id, 'unknown unconfirmed',
        'without the permission to read the channel it stays unknown', 60);
    becomes($guild, $token, $next, 'delivered', 'what follows does not');
    $platform->config(no_history => []);
};


subtest 'a channel that is not used any more' => sub {
    my ($guild, $token, $to) = server();
    wait_for { webhook($to) } 60, 'webhook';
    set_channel($guild, $token, my $other = ++$channel . '');
    wait_for { webhook($other) } 60, 'another webhook';
    wait_for { !webhook($to) } 60, 'the old webhook is deleted';
    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'delivered', 'the new one serves');
    set_channel($guild, $token, $to);
    ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'delivered', 'and the old channel anew');
    is delivery($guild, $token, $id)->{channelId}, $to,
        '... in the old channel';

    $g->delete("/servers/$guild", token => $token);
    wait_for { !$platform->webhooks($to) } 60, 'a reset deletes all webhooks';
    pass 'a reset deletes all webhooks';
};


subtest 'the platform is down' => sub {
    my ($guild, $token, $to) = server();
    my ($first) = record($guild, 1);
    becomes($guild, $token, $first, 'delivered', 'the first');
    $platform->stop;
    my ($id) = record($guild, 1);
    becomes($guild, $token, $id, 'not_delivered retrying', 'entries wait');
    $platform->start;
    becomes($guild, $token, $id, 'delivered', 'and are delivered', 60);
};


subtest 'webhooks are secrets' => sub {
    my @tokens = map { $_->{webhook}{token} }
        grep { $_->{event} eq 'webhook' } $platform->ledger;
    cmp_ok scalar @tokens, '>', 5, 'there were some webhooks';
    my $log = $g->error_log . $g->access_log;
    is scalar(grep { index($log, $_) >= 0 } @tokens), 0,
        'no secret is in a log';
    my $rows = join '', map { $_->[0] // '' }
        $g->sql('select lane::text from guildlog.lane');
    is scalar(grep { index($rows, $_) >= 0
        || index($rows, unpack 'H*', $_) >= 0 } @tokens), 0,
        'no secret is readable in the database';
};

done_testing;
