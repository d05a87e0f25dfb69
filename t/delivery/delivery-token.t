#!/usr/bin/perl
# "Failures appear on the channel's state, as a notification, in the
# troubleshooter": a bot without a token, a token that the platform refuses, a
# channel without room for a webhook.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
my $directives = $platform->directives($g);
$g->configure(http => $directives =~ s/guildlog_bot_token pro bot.pro;//r)
    ->start;
deliver_with($g, $platform);


# what three places say of a bot's channel: its state, the finding of the
# troubleshooter, the notifications
sub said {
    my ($guild, $token, $to, $bot) = @_;

    my %as = (token => $token);
    my ($channel) = grep { $_->{channelId} eq $to } @{ $g->get(
        "/servers/$guild/config/logging/pacing?$bot", %as)->json->{channels} };
    my ($finding) = grep { $_->{id} =~ /WEBHOOK/ } @{ $g->get(
        "/servers/$guild/troubleshoot?live=0&$bot", %as)->json->{findings} };
    my @told = grep { $_->{notificationData}{title}
        eq 'A log channel does not work' }
        @{ $g->get("/servers/$guild/notifications?$bot", %as)->json };
    return { state => join(' ', map { $_ // '-' }
            @$channel{qw(state stateReason)}),
        found => $finding && $finding->{detail},
        told  => join ',', map { $_->{notificationData}{description} } @told };
}


sub is_said {
    my ($server, $bot, $reason, $why) = @_;

    my ($guild, $token, $to) = @$server;
    wait_for { $g->sql('select reason from lane where guild_id = ? and
        reason = ?', $guild, $reason) } 60, $reason;
    my $said = said(@$server, $bot);
    is $said->{state}, "registering $reason", "$why: on the channel's state";
    like $said->{found}, qr/\Q($reason)\E/, "$why: in the troubleshooter";
    is $said->{told}, "channel $to: $reason", "$why: as a notification, once";
}


sub wake {
    my ($guild) = @_;
    $g->sql('select lane_wake(guild_id, lane) from lane where guild_id = ?',
        $guild);
}


# no token

my @server = server();
$g->patch("/servers/$server[0]/config/logging/channels?bot=pro",
    token => $server[1], json => { main_channel => $server[2] });
is_said(\@server, 'bot=pro', 'no_bot_token', 'without a token');
wake($server[0]);
wait_for { $g->sql('select not_before > now() from lane_head h join lane l
    using (guild_id, lane) where guild_id = ? and bot = 1', $server[0]) } 60,
    'another try';
is_said(\@server, 'bot=pro', 'no_bot_token', 'still');

$g->configure(http => $directives);
$g->reload;
wake($server[0]);
wait_for { $platform->webhooks($server[2]) == 2 } 60, 'webhooks';
wait_for { said(@server, 'bot=pro')->{state} eq 'active -' } 60, 'its state';
is said(@server, 'bot=pro')->{found}, undef, 'with a token the finding is gone';

# a token that the platform refuses

$platform->config(bad_tokens => [$platform->token(0)]);
@server = server();
my ($id) = record($server[0], 1);
is_said(\@server, '', 'bad_bot_token', 'with a bad token');
is word(@server[0, 1], $id), 'not_delivered queued', 'entries wait';
$g->sql(q{update lane set since = now() - interval '61 min'
    where guild_id = ?}, $server[0]);
wake($server[0]);
wait_for { $g->sql('select not_before > now() from lane_head
    where guild_id = ?', $server[0]) } 60, 'another try';
is word(@server[0, 1], $id), 'not_delivered queued', 'for more than an hour';

$platform->config(bad_tokens => []);
wake($server[0]);
becomes(@server[0, 1], $id, 'delivered',
    'with a good token they are delivered');

# a channel that has as many webhooks as the platform allows

my $full = $channel + 1 . '';
$platform->create_webhook($full, "of others $_") for 1 .. 15;
@server = server();
($id) = record($server[0], 1);
is_said(\@server, '', 'webhook_limit', 'in a channel that is full');
like word(@server[0, 1], $id), qr/^not_delivered (?:queued|retrying)$/,
    'entries wait';
$platform->delete_webhook(($platform->webhooks($full))[0]{id});
wake($server[0]);
becomes(@server[0, 1], $id, 'delivered',
    'with room for a webhook they are delivered');

done_testing;
