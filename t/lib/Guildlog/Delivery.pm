package Guildlog::Delivery;

# What the tests of delivery share: servers with channels, entries, and the
# outcome of their delivery.

use strict;
use warnings;

use Cpanel::JSON::XS ();
use Exporter 'import';
use Test::More;

use Guildlog ();

our @EXPORT = qw(deliver_with server set_channel record delivery word becomes
    webhook times_applied posts $channel $event);

our $channel = 300000000000000000;    # the channel that was made last
our $event   = 0;

my ($g, $platform);


# sets the nginx and the stand-in that the functions below use
sub deliver_with {
    ($g, $platform) = @_;
}


# a server whose main channel is a new one: (guild, token, channel)
sub server {
    my (%options) = @_;

    my $guild = $g->server;
    my $token = $g->token($guild);
    my $to    = ++$channel . '';
    my $answer = $g->patch("/servers/$guild/config/logging/settings",
        token => $token, json => { buttons => [], %options });
    die $answer->text if $answer->status != 200;
    set_channel($guild, $token, $to);
    return ($guild, $token, $to);
}


sub set_channel {
    my ($guild, $token, $to) = @_;

    $platform->belong($guild, $to);
    my $answer = $g->patch("/servers/$guild/config/logging/channels",
        token => $token, json => { main_channel => $to });
    die $answer->text if $answer->status != 202;
}


# records that many entries; returns their ids
sub record {
    my ($guild, $n, %entry) = @_;

    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => 7,
        executor => { id => '500000000000000001', name => 'Ann' },
        content => "content of $_", %entry } } 1 .. $n]);
    die $answer->text if $answer->status != 200;
    return @{ $answer->json->{ids} };
}


# the outcome of an entry by the API, "status reason"
sub delivery {
    my ($guild, $token, $id) = @_;

    my $page = $g->get("/servers/$guild/logs?limit=200", token => $token)->json;
    my ($entry) = grep { $_->{id} eq $id } @{ $page->{entries} };
    return $entry->{delivery};
}


sub word {
    my $it = delivery(@_);
    return join ' ', $it->{status}, $it->{reason} // ();
}


sub becomes {
    my ($guild, $token, $id, $word, $why, $seconds) = @_;

    my $is = '';
    eval { Guildlog::wait_for(sub { ($is = word($guild, $token, $id)) eq $word },
        $seconds || 60) };
    is $is, $word, $why;
}


sub webhook {
    my ($to) = @_;
    return ($platform->webhooks($to))[0];
}


# how often an entry is in the channel
sub times_applied {
    my ($to, $id) = @_;
    return scalar grep { $_ eq $id } map { $platform->entries_in($_) }
        $platform->messages($to);
}


# the requests that send messages to a channel
sub posts {
    my ($to) = @_;
    return grep { $_->{event} eq 'request' && $_->{call} eq 'execute'
        && $_->{channel} eq $to } $platform->ledger($to);
}


1;
