package Guildlog::Bench::Partners;

# from the POST of the first packet of an act to the first byte of its message
# in the channel: of messages deleted, people cut off from voice, those who
# leave, are kicked or banned; where the audit log's entry comes soon, nearly
# too late, or never. One worker; the peer is that of delivery

use strict;
use warnings;
use utf8;

use List::Util qw(max);
use Time::HiRes qw(sleep time);

use Guildlog::Bench;
use Guildlog::Bench::Delivery;
use Guildlog::File;
use Guildlog::Packets qw(id_at iso);

use constant {
    SERVERS => 150,
    EVERY   => 7,        # s: an act of a server spoils no other for so long
    CHANNEL => 300_000_000_000_000_000,
    PERSON  => 200_000_000_000_000_000,
    AUDIT   => 'GUILD_AUDIT_LOG_ENTRY_CREATE',
};

# [what, s asked for, packets as [s behind the first one, what makes it]…]
my @acts = (
    ['a deletion, its audit entry 0.3 s later', 2.5,
        [0, \&deletion], [0.3, \&deletion_audit]],
    ['a deletion, 1.3 s later', 2.5,
        [0, \&deletion], [1.3, \&deletion_audit]],
    ['a deletion, the audit entry first', 2.5,
        [0, \&deletion_audit], [0.3, \&deletion]],
    ['a deletion without an audit entry', 2.5, [0, \&deletion]],
    ['cut off from voice, the audit entry 0.3 s later', 2.5,
        [0, \&hangup], [0.3, \&hangup_audit]],
    ['cut off from voice, 1.3 s later', 2.5,
        [0, \&hangup], [1.3, \&hangup_audit]],
    ['somebody hangs up', 2.5, [0, \&hangup]],
    ['somebody leaves', 6, [0, \&leaving]],
    ['a kick, the audit entry 1.3 s later', 6,
        [0, \&leaving], [1.3, \&kick]],
    ['a kick, the audit entry first', 6, [0, \&kick], [0.3, \&leaving]],
    ['a ban, the audit entry 0.3 s later', 6,
        [0, \&ban], [0, \&leaving], [0.3, \&ban_audit]],
);


sub run {
    my $servers = option('smoke') ? 2 : SERVERS;
    my $nginx   = start(workers => 1, start => 0, api => $no_limit);
    my $port    = Guildlog::Bench::Delivery::peer($nginx, '7\d+');
    $nginx->configure(http => Guildlog::Bench::Delivery::directives($nginx,
        $port));
    $nginx->start;

    my @guilds = map { server($nginx, $_) } 0 .. $servers - 1;
    settled($nginx);
    for my $act (@acts) {
        my @ms = map { 1000 * $_ } acted($nginx, \@guilds, $act);
        my $asked = 1000 * $act->[1];
        once { [p99(@ms), $asked], [median(@ms), $asked], [max(@ms), $asked] }
            "$act->[0], to the first byte of its message, p99 ms; asked for",
            '  p50', '  max';
    }
}


# one of which a channel for logs is known, and for each act somebody who has
# written and is in voice
sub server {
    my ($nginx, $n) = @_;

    my $guild  = $nginx->server;
    my $answer = $nginx->patch("/servers/$guild/config/logging/channels",
        token => $nginx->token($guild), json => { main_channel => log_of($n) });
    die $answer->text if $answer->status != 202;

    my $it = { n => $n, guild => $guild, said => [] };
    for (0 .. $#acts) {
        $it->{act} = $_;
        post($nginx, said($it), voice($it, channel($it)));
    }
    return $it;
}


# nothing waits, nothing is to be delivered
sub settled {
    my ($nginx) = @_;

    Guildlog::wait_for(sub {
        !$nginx->sql("select (select count(*) from pair where state = 0)
            + (select count(*) from lane_ready)
            + (select count(*) from lane where state <> 'active')")
    }, 300, 'messages');
}


# the same of all servers, one after another: how long it took, s
sub acted {
    my ($nginx, $guilds, $act) = @_;

    my (undef, undef, @packets) = @$act;
    my ($index) = grep { $acts[$_] == $act } 0 .. $#acts;
    my $every   = option('smoke') ? 0.1 : EVERY;
    my $from    = time;
    my %before = times_of($nginx);
    my (%first, @due);

    for my $it (@$guilds) {
        $it->{act} = $index;
        my $at = $from + $every * $it->{n} / @$guilds;
        push @due, map { [$at + $_->[0], $it, $_->[1]] } @packets;
    }
    for my $due (sort { $a->[0] <=> $b->[0] } @due) {
        my ($at, $it, $packet) = @$due;
        sleep max 0, $at - time;
        $first{ $it->{n} } //= time;
        post($nginx, $packet->($it));
    }

    my %times;
    Guildlog::wait_for(sub {
        %times = times_of($nginx);
        !grep { @{ $times{$_} // [] } <= @{ $before{$_} // [] } } keys %first
    }, 60, 'messages');
    settled($nginx);
    return map { $times{$_}[@{ $before{$_} // [] }] - $first{$_} }
        keys %first;
}


# when the messages of each server began to come
sub times_of {
    my ($nginx) = @_;

    my %times;
    for (split /\n/, slurp($nginx->prefix . '/logs/times.log')) {
        my ($end, $took, $n) = m{^(\S+) (\S+) .*/webhooks/7(\d+)/} or die "$_\n";
        push @{ $times{ $n - CHANNEL } }, $end - $took;
    }
    return %times;
}


sub post {
    my ($nginx, @packets) = @_;

    my $answer = $nginx->operator('POST', '/events', \@packets);
    die $answer->text if $answer->status != 200
        || @{ $answer->json->{errors} };
}


# packets

sub packet {
    my ($it, $t, %d) = @_;
    return { t => $t, d => { guild_id => $it->{guild}, %d } };
}


sub said {
    my ($it) = @_;

    my $at = int(time * 1000);
    $it->{said}[$it->{act}] = id_at($at);
    return packet($it, 'MESSAGE_CREATE', id => $it->{said}[$it->{act}],
        channel_id => channel($it), author => user($it), content => 'hello',
        timestamp => iso($at), type => 0, attachments => [], embeds => []);
}


sub deletion {
    my ($it) = @_;
    return packet($it, 'MESSAGE_DELETE', id => $it->{said}[$it->{act}],
        channel_id => channel($it));
}


sub deletion_audit {
    my ($it) = @_;
    return audit($it, 72, options => { channel_id => channel($it),
        count => '1' });
}


sub voice {
    my ($it, $channel) = @_;
    return packet($it, 'VOICE_STATE_UPDATE', user_id => person($it),
        session_id => 'x', channel_id => $channel,
        member => { user => user($it), roles => [] });
}


sub hangup { return voice($_[0], undef) }


sub hangup_audit {
    my ($it) = @_;
    return audit($it, 27, target_id => undef, options => { count => '1' });
}


sub leaving   { return packet($_[0], 'GUILD_MEMBER_REMOVE', user => user($_[0])) }
sub kick      { return audit($_[0], 20) }
sub ban       { return packet($_[0], 'GUILD_BAN_ADD', user => user($_[0])) }
sub ban_audit { return audit($_[0], 22) }


sub audit {
    my ($it, $action, %more) = @_;
    return packet($it, AUDIT, id => id_at(int(time * 1000)),
        action_type => $action, user_id => PERSON . '',
        target_id => person($it), %more);
}


sub log_of  { return '' . (CHANNEL + $_[0]) }
sub channel { return '' . (CHANNEL + 1_000_000 + $_[0]{act}) }
sub person  { return '' . (PERSON + 1 + $_[0]{act}) }

sub user {
    my ($it) = @_;
    return { id => person($it), username => "name$it->{act}" };
}


1;
