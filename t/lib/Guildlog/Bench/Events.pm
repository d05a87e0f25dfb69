package Guildlog::Bench::Events;

# packets in batches of 200 through POST /events, 7 of 10 of them new
# messages: how many, and what one costs, of 60 servers and of 500 whose
# members are known, and of 500 whose members are all new at first

use strict;
use warnings;
use utf8;

use Time::HiRes qw(time);

use Guildlog::Bench;
use Guildlog::Packets qw(id_at iso);

use constant {
    SIZE     => 200,
    MEMBERS  => 400,
    CHANNELS => 50,
};

# of 100 packets, those up to that one; what is left is a message
my @acts = ([8, \&edit], [11, \&removal], [19, \&voice], [23, \&member],
    [26, \&leaving], [28, \&audit], [30, \&reaction]);
my @said;


# one client, which sends a batch when the one before it was answered
sub run {
    my $known = option('smoke') ? 10 : MEMBERS;
    my @of    = ([60, $known], [500, $known], [500, 0]);
    my @nginx;
    for my $of (@of) {
        my $nginx = start(workers => 1, database => { connections => 4 });
        create($nginx, $_, $of->[1]) for 1 .. $of->[0];
        push @nginx, $nginx;
    }

    figures {
        my ($few, $many, $new) = map { sent($nginx[$_], $of[$_][0]) } 0 .. 2;
        (map { [$few->[$_], $many->[$_]] } 0 .. 2),
            map { [$new->[$_], $many->[$_]] } 1, 2;
    } 'packets in batches of 200 of 60 servers, packets/s; of 500',
      'PostgreSQL CPU for a packet of 60 servers, µs; of 500',
      'nginx CPU for a packet of 60 servers, µs; of 500',
      'PostgreSQL CPU for a packet of 500, all members new, µs; all known',
      'nginx CPU for a packet of 500, all members new, µs; all known';
}


# a server of which so many members are known
sub create {
    my ($nginx, $n, $known) = @_;

    post($nginx, [{ t => 'GUILD_CREATE', d => { id => guild($n), name => "g$n",
        owner_id => person(0), roles => [], member_count => MEMBERS,
        members => [map { { %{ of($_) }, user => user($_) } } 0 .. $known - 1],
        channels => [map { { id => channel($n, $_), name => "c$_",
            type => 0 } } 1 .. CHANNELS] } }]);
}


# (packets a second, µs of PostgreSQL's CPU for one, µs of nginx's)
sub sent {
    my ($nginx, $servers) = @_;

    my @before = (cpu($nginx), postgres_cpu($nginx));
    my ($from, $n) = (time, 0);
    @said = ();
    do {
        post($nginx, [map { packet($servers) } 1 .. SIZE]);
        $n += SIZE;
    } while (time < $from + option('seconds'));

    return [$n / (time - $from), map { $_ / $n * 1e6 }
        postgres_cpu($nginx) - $before[1], cpu($nginx) - $before[0]];
}


sub post {
    my ($nginx, $packets) = @_;

    my $answer = $nginx->operator('POST', '/events', $packets);
    die $answer->text if $answer->status != 200
        || @{ $answer->json->{errors} };
}


sub packet {
    my ($servers) = @_;

    my $at    = int(time * 1000);
    my $guild = 1 + int rand $servers;
    my $pick  = rand 100;
    for my $act (@acts) {
        return { at => $at, $act->[1]->($guild, $at) } if $pick < $act->[0];
    }
    return { at => $at, message($guild, $at) };
}


sub message {
    my ($guild, $at) = @_;

    my $id = id_at($at);
    my $who = int rand MEMBERS;
    push @said, [$guild, $id, channel($guild, 1 + rand CHANNELS), $who];
    return (t => 'MESSAGE_CREATE', d => { text(@{ $said[-1] }),
        timestamp => iso($at), type => 0, tts => \0, mentions => [],
        mention_roles => [] });
}


sub text {
    my ($guild, $id, $channel, $who) = @_;

    return (id => $id, channel_id => $channel, guild_id => guild($guild),
        author => user($who), member => of($who), attachments => [],
        embeds => [], content => 'lorem ipsum ' x (1 + rand 8) . $id);
}


sub edit {
    my ($guild, $at) = @_;

    return message($guild, $at) if !@said;
    my $it = $said[rand @said];
    return (t => 'MESSAGE_UPDATE', d => { text(@$it),
        edited_timestamp => iso($at) });
}


sub removal {
    my ($guild, $at) = @_;

    return message($guild, $at) if !@said;
    my $it = $said[rand @said];
    return (t => 'MESSAGE_DELETE', d => { id => $it->[1],
        channel_id => $it->[2], guild_id => guild($it->[0]) });
}


sub voice {
    my ($guild) = @_;

    my $who = int rand MEMBERS;
    return (t => 'VOICE_STATE_UPDATE', d => { guild_id => guild($guild),
        user_id => person($who), session_id => 'x',
        channel_id => rand() < .5 ? undef : channel($guild, 1 + rand CHANNELS),
        member => { %{ of($who) }, user => user($who) } });
}


sub member {
    my ($guild) = @_;

    my $who = int rand MEMBERS;
    return (t => 'GUILD_MEMBER_UPDATE', d => { guild_id => guild($guild),
        user => user($who), %{ of($who) } });
}


sub leaving {
    my ($guild, $at) = @_;

    my $who = int rand MEMBERS;
    return (t => rand() < .5 ? 'GUILD_MEMBER_REMOVE' : 'GUILD_MEMBER_ADD',
        d => { guild_id => guild($guild), user => user($who), %{ of($who) },
            joined_at => iso($at) });
}


sub audit {
    my ($guild, $at) = @_;

    return (t => 'GUILD_AUDIT_LOG_ENTRY_CREATE', d => {
        guild_id => guild($guild), id => id_at($at), action_type => 24,
        user_id => person(int rand MEMBERS),
        target_id => person(int rand MEMBERS),
        changes => [{ key => 'nick', old_value => 'a', new_value => 'b' }] });
}


sub reaction {
    my ($guild, $at) = @_;

    return (t => 'MESSAGE_REACTION_REMOVE', d => { guild_id => guild($guild),
        user_id => person(int rand MEMBERS), message_id => id_at($at),
        channel_id => channel($guild, 1), emoji => { id => undef,
            name => 'x' } });
}


sub guild  { return '' . (1_000_000_000_000_000_000 + $_[0]) }
sub person { return '' . (200_000_000_000_000_000 + $_[0]) }

sub channel {
    my ($guild, $n) = @_;
    return '' . (300_000_000_000_000_000 + $guild * 1000 + int $n);
}

sub user {
    return { id => person($_[0]), username => "name$_[0]",
        discriminator => '0' };
}

sub of {
    return { roles => ['400000000000000001'], nick => undef, flags => 0,
        joined_at => '2024-03-01T10:00:00.000000+00:00' };
}


1;
