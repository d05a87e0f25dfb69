#!/usr/bin/perl
# "Other lanes are unaffected by a hung, limited, failing or lost lane": entries
# of good lanes are delivered while the bad lanes stand still.
#
# GUILDLOG_SECONDS is the length of a run.

use lib 't/lib';
use Guildlog;
use Guildlog::Platform;
use JSON::PP;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{GUILDLOG_SECONDS} || 30;
my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my ($channel, $event) = (300000000000000000, 0);
my %bad = (
    hung    => { action => 'hang' },
    limited => { action => 'answer', status => 429, headers =>
        { 'Retry-After' => 3, 'X-RateLimit-Scope' => 'user' },
        body => { message => 'limited', retry_after => 2.5,
            global => JSON::PP::false } },
    failing => { action => 'answer', status => 500, body => {} },
);


# a server with that many channels: {guild, token, channels}
sub server {
    my @channels = map { ++$channel . '' } 1 .. shift;

    my $guild = $g->server;
    my $token = $g->token($guild);
    my %to;
    @to{qw(main_channel category_text category_modlog)} = @channels;
    delete @to{ grep { !defined $to{$_} } keys %to };
    $g->patch("/servers/$guild/config/logging/settings", token => $token,
        json => { buttons => [] });
    $g->patch("/servers/$guild/config/logging/channels", token => $token,
        json => \%to);
    return { guild => $guild, token => $token, channels => \@channels };
}


# records an entry; returns its id
sub record {
    my ($it) = @_;

    my $answer = $g->operator('POST', "/servers/$it->{guild}/logs", [{
        event_id => 'e' . ++$event, type => (7, 40, 17)[rand 3],
        content => 'it' }]);
    die $answer->text if $answer->status != 200;
    return $answer->json->{ids}[0];
}


sub statuses {
    my ($it) = @_;

    return map { $_->{id} => $_->{delivery}{status} } @{ $g->get(
        "/servers/$it->{guild}/logs?limit=200", token => $it->{token})
        ->json->{entries} };
}


my @good = map { server(3) } 1 .. 20;
my %worse = map { $_ => server(1) } 'lost', sort keys %bad;
wait_for { $platform->webhooks == 64 } 20, 'all lanes have webhooks';
my ($lost) = $platform->webhooks($worse{lost}{channels}[0]);
$platform->delete_webhook($lost->{id});
$platform->faults(map { { %{ $bad{$_} }, call => 'execute', times => 1000,
    channel => $worse{$_}{channels}[0] } } sort keys %bad);

my (%acked, @ill);
my $end = time + $seconds;
for (my $n = 0; time < $end; $n++) {
    my $it = $good[rand @good];
    my $id = record($it);
    $acked{$id} = [$it, time];
    push @ill, map { [$_, record($worse{$_})] } sort keys %worse
        if $n % 20 == 0;
    sleep 0.03;
}

my %is;
eval { wait_for { %is = map { statuses($_) } @good;
    !grep { ($is{$_} // '') ne 'delivered' } keys %acked } 10 };
is scalar(grep { ($is{$_} // '') ne 'delivered' } keys %acked), 0,
    'all entries of the good lanes are delivered';
my %was = map { statuses($_) } values %worse;
is scalar(grep { $_->[0] ne 'lost' && $was{ $_->[1] } eq 'delivered' } @ill),
    0, '... while the bad lanes stand still';

my @late = sort { $a <=> $b } map {
    my $message = $_;
    map { $message->{at} / 1000 - $acked{$_}[1] }
        grep { $acked{$_} } $platform->entries_in($message->{message});
} grep { $_->{event} eq 'message' } $platform->ledger;
note(sprintf 'G7: %d entries in 60 good lanes beside 4 bad ones: sent after '
    . '%.3f s (median), %.3f s (p99), %.3f s (latest)', scalar @late,
    @late[@late / 2, @late * 0.99, -1]);

# the lane whose webhook was deleted gets another one

my $gone = 0;
my @after = grep { $gone ||= $_->{event} eq 'delete'; $gone } $platform->ledger;
is scalar(grep { $_->{event} eq 'request'
    && $_->{path} =~ m{/webhooks/$lost->{id}/} } @after), 1,
    'the deleted webhook is used once';

$platform->faults;
eval { wait_for { %was = map { statuses($worse{$_}) } sort keys %worse;
    !grep { $was{ $_->[1] } ne 'delivered' } @ill } 60 };
is scalar(grep { $was{ $_->[1] } ne 'delivered' } @ill), 0,
    'after the repair all entries of the bad lanes are delivered';

done_testing;
