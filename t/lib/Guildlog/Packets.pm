package Guildlog::Packets;

# Packets of a few servers, as the platform's gateway could send them, and what
# really happened. The same seed makes the same stream.
#
# stream(seed => , packets => , guilds => , start => , apart => 0):
# {packets, truths}. apart: ms that nobody does two things of voice within, nor
# comes or goes
#
# apart(packets, ms): without the audit entries that would be about another event
# if something had been heard that much earlier or later
#
# packets: in the order of "at", the first one of each server its GUILD_CREATE.
# truths: one for each audit entry that waits for a partner: {audit, kind, guild,
# by}, and of whom it is about person, channel, message or messages; late: ms
# behind the event. An entry with that event_id names this person or message, or
# none.

use strict;
use warnings;

use Exporter 'import';
use JSON::PP ();    # its booleans

our @EXPORT_OK = qw(stream apart id_at iso);

my $EPOCH = 1_420_070_400_000;
my $AUDIT = 'GUILD_AUDIT_LOG_ENTRY_CREATE';
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);
my ($start, $now, $apart, $ids, @queue, @truths, @people, @guilds);

my @texts = (
    'hello',
    'who climbs on Saturday?',
    'FREE NITRO https://scam.example',
    "two\nlines",
    "\x{1f9d7} up",
    '',
    'see https://example.org',
    'call me at 555 0100',
    'w' x 300,
    '"quoted\\"'
);

# how often each is
my @acts = (
    [44,  \&say],
    [8,   \&edit],
    [4,   \&unfurl],
    [6,   \&delete_own],
    [5,   \&delete_other],
    [2,   \&delete_unseen],
    [1,   \&purge],
    [7,   \&voice_join],
    [5,   \&voice_leave],
    [4,   \&voice_switch],
    [2,   \&voice_moved],
    [2,   \&voice_cut],
    [3,   \&voice_change],
    [4,   \&join_server],
    [2,   \&leave_server],
    [1.5, \&kick],
    [1,   \&ban],
    [.5,  \&unban],
    [2,   \&give_role],
    [1,   \&nick],
    [1,   \&timeout],
    [1,   \&react],
    [1,   \&channel_act],
    [1,   \&thread_act],
    [.7,  \&role_act],
    [.5,  \&boost],
    [.5,  \&avatar],
    [.5,  \&pin],
    [4,   \&noise],
    [.3,  \&unknown],
    [.3,  \&poll],
);


sub stream {
    my (%option) = @_;

    my $most = $option{packets};
    $start = $now = $option{start};
    $apart = $option{apart} // 0;
    $ids   = 0;
    @queue = @truths = ();
    srand $option{seed};

    # people: [id, name, a bot?]; all servers have some of them
    @people = map { [old_id($_), name($_), $_ % 12 == 11] } 1 .. 48;
    @guilds = map { guild_of($_) } 1 .. $option{guilds};

    my $weight = 0;
    $weight += $_->[0] for @acts;

    push_packet($_, 0, 'GUILD_CREATE', created($_)) for @guilds;
    $now += 1000;

    while (@queue < $most + 400) {
        $now += 1 + int(-log(1 - rand()) * 180);
        my $guild = $guilds[int(@guilds * rand()**1.7)];
        my $pick  = rand $weight;
        for my $act (@acts) {
            next if ($pick -= $act->[0]) >= 0;
            $act->[1]->($guild);
            last;
        }
    }

    my @sorted =
      (sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @queue)[0 .. $most - 1];
    my %told = map { $_->[2]{d}{id} => 1 } grep { $_->[2]{t} eq $AUDIT } @sorted;
    return {
        packets => [map { $_->[2] } @sorted],
        truths  => [grep { $told{ $_->{audit} } } @truths],
    };
}


# kinds of what waits: [event, action, ms before it, ms behind it]
my @pairs = (
    [VOICE_STATE_UPDATE  => [26, 27],         [-500, 1500, 4500]],
    [MESSAGE_DELETE      => [72],             [-500, 1500, 10_000]],
    [MESSAGE_DELETE_BULK => [73],             [-500, 1500, 10_000]],
    [GUILD_MEMBER_REMOVE => [20, 22],         [-2000, 5000]],
    [GUILD_CREATE        => [26, 27, 72, 73], [-10_000, 10_000]],
);


# ban: GUILD_BAN_ADD; what has no moment of its own counts as one for 10 s
sub apart {
    my ($packets, $ms) = @_;

    my @left;
    for my $packet (@$packets) {
        my ($t, $d, $at) = @$packet{qw(t d at)};
        my $action = $t eq $AUDIT ? $d->{action_type} : $t eq 'GUILD_BAN_ADD' ? 22 : 0;
        my $near   = $t eq 'MESSAGE_REACTION_REMOVE'
          && ($at % 10_000 < $ms || $at % 10_000 > 10_000 - $ms);
        for my $pair (@pairs) {
            my ($event, $actions, $borders) = @$pair;
            next if !grep { $_ == $action } @$actions;
            for my $other (grep { $_->{t} eq $event } @$packets) {
                next if ($other->{d}{guild_id} // $other->{d}{id}) ne $d->{guild_id};
                $near ||= grep { abs($at - $other->{at} - $_) < $ms } @$borders;
            }
        }
        push @left, $packet if !$near;
    }
    return \@left;
}


# packets

sub push_packet {
    my ($guild, $after, $t, $d) = @_;
    $d->{guild_id} //= $guild->{id} unless $t =~ /^GUILD_(?:CREATE|UPDATE|DELETE)\z/;
    my $at = $now + $after;
    push @queue, [$at, scalar @queue, { t => $t, d => $d, at => $at }];
    return;
}


# an entry of the audit log, made so many ms from now; the gateway brings it a little later
sub audit {
    my ($guild, $after, $action, $by, $target, %more) = @_;
    my $id = id_at($now + $after);
    push_packet(
        $guild,
        $after + int rand 40,
        $AUDIT,
        {
            id          => $id,
            action_type => $action,
            user_id     => $by && $by->[0],
            target_id   => $target,
            %more
        }
    );
    return $id;
}


# how late the audit log is: mostly soon, at times first, at times too late
sub lag {
    my $how = rand;
    return
        $how < .7  ? 40 + int rand 350
      : $how < .88 ? 400 + int rand 1000
      : $how < .94 ? -int rand 400
      :              1500 + int rand 4500;
}


# one line of what really happened
sub happened {
    my ($guild, $audit, $kind, $by, $late, %about) = @_;
    push @truths,
      {
        audit => $audit,
        kind  => $kind,
        guild => $guild->{id},
        by    => $by->[0],
        late  => $late,
        %about
      };
    return;
}


# The audit log counts up the entry it has, if the same is done again within five minutes
sub coalesced {
    my ($guild, @what) = @_;
    my $key  = join ' ', @what;
    my $last = $guild->{done}{$key};
    $guild->{done}{$key} //= $now;
    return 0 if !defined $last;
    return 1 if $now - $last < 300_000;
    $guild->{done}{$key} = $now;
    return 0;
}


# acts

sub say {
    my ($guild) = @_;
    my $by      = any(@{ $guild->{members} });
    my $channel = any(@{ $guild->{texts} }, @{ $guild->{threads} });
    my $message = {
        id               => id_at($now),
        type             => 0,
        channel_id       => $channel->{id},
        author           => user($by->{who}),
        member           => member($by),
        content          => any(@texts),
        timestamp        => iso($now),
        edited_timestamp => undef,
        attachments      => rand() < .1 ? [map { file() } 0 .. rand 2] : [],
        embeds           => [],
        mentions         => [],
        mention_roles    => [],
        components       => [],
        tts              => $no,
        mention_everyone => $no,
        pinned           => $no,
        flags            => 0,
        %{ special($guild) }
    };
    push_packet($guild, 20 + int rand 60, 'MESSAGE_CREATE', $message);
    keep($guild, $message);
    return;
}


sub special {
    my ($guild) = @_;
    my $how = rand;
    return {
        content       => '',
        sticker_items => [{ id => old_id(900), name => 'climb', format_type => 1 }]
      }
      if $how < .02;
    return {
        content           => '',
        flags             => 16384,
        message_reference =>
          { type => 1, message_id => old_id(901), channel_id => old_id(902) },
        message_snapshots => [{
            message => {
                type        => 0,
                content     => 'forwarded',
                attachments => [],
                embeds      => [],
                flags       => 0,
                timestamp   => iso($now - 86_400_000)
            }
        }]
      }
      if $how < .04;
    return {
        embeds => [{ type => 'rich', title => 'A title', description => 'and more' }] }
      if $how < .05;
    return {};
}


sub poll {
    my ($guild) = @_;
    my $by      = any(@{ $guild->{members} });
    my $message = {
        id               => id_at($now),
        type             => 0,
        channel_id       => any(@{ $guild->{texts} })->{id},
        author           => user($by->{who}),
        member           => member($by),
        content          => '',
        timestamp        => iso($now),
        edited_timestamp => undef,
        attachments      => [],
        embeds           => [],
        mentions         => [],
        flags            => 0,
        poll             => {
            question          => { text => 'Where?' },
            allow_multiselect => $no,
            layout_type       => 1,
            expiry            => iso($now + 86_400_000),
            answers           => [{ answer_id => 1, poll_media => { text => 'Gym' } }]
        }
    };
    push_packet($guild, 30, 'MESSAGE_CREATE', $message);
    keep($guild, $message);
    return;
}


sub edit {
    my ($guild) = @_;
    my $message = any(@{ $guild->{messages} }) or return;
    my $lag     = 20 + int rand 80;
    $message = {
        %$message,
        content          => any(@texts, 'edited ' . int rand 1000),
        edited_timestamp => iso($now)
    };
    $message->{attachments} =
      [@{ $message->{attachments} }[1 .. $#{ $message->{attachments} }]]
      if rand() < .1;
    $guild->{messages} =
      [map { $_->{id} eq $message->{id} ? $message : $_ } @{ $guild->{messages} }];
    push_packet($guild, $lag, 'MESSAGE_UPDATE', {%$message});
    return;
}


sub unfurl {
    my ($guild) = @_;
    my $message = any(@{ $guild->{messages} }) or return;
    push_packet($guild, 30, 'MESSAGE_UPDATE',
        { %$message, embeds => [{ type => 'link', title => 'Example' }] });
    return;
}


sub delete_own {
    my ($guild) = @_;
    my $message = lose($guild) or return;
    push_packet($guild, 110, 'MESSAGE_DELETE',
        { id => $message->{id}, channel_id => $message->{channel_id} });
    return;
}


sub delete_other {
    my ($guild) = @_;
    my $message = lose($guild) or return;
    my $by      = moderator($guild);
    my $late    = lag();
    push_packet($guild, 110, 'MESSAGE_DELETE',
        { id => $message->{id}, channel_id => $message->{channel_id} });
    return
      if $by->[0] eq $message->{author}{id}
      || coalesced($guild, 72, $by->[0], $message->{author}{id}, $message->{channel_id});
    my $id = audit(
        $guild, 110 + $late,
        72,     $by,
        $message->{author}{id},
        options => { channel_id => $message->{channel_id}, count => '1' }
    );
    happened(
        $guild, $id, 'messageDelete', $by, $late,
        message => $message->{id},
        person  => $message->{author}{id},
        channel => $message->{channel_id}
    );
    return;
}


# of a message that was written before the stream began
sub delete_unseen {
    my ($guild) = @_;
    my $id      = id_at($start - 1 - int rand 40_000_000);
    my $channel = any(@{ $guild->{texts} })->{id};
    push_packet($guild, 110, 'MESSAGE_DELETE', { id => $id, channel_id => $channel });
    return if rand() < .5;
    my ($by, $late, $author) =
      (moderator($guild), lag(), any(@{ $guild->{members} })->{who});
    return
      if $by->[0] eq $author->[0]
      || coalesced($guild, 72, $by->[0], $author->[0], $channel);
    my $audit = audit($guild, 110 + $late,
        72, $by, $author->[0], options => { channel_id => $channel, count => '1' });
    happened(
        $guild, $audit, 'messageDelete', $by, $late,
        message => $id,
        person  => $author->[0],
        channel => $channel
    );
    return;
}


sub purge {
    my ($guild) = @_;
    my $channel = any(@{ $guild->{texts} })->{id};
    my @gone    = (grep { $_->{channel_id} eq $channel } @{ $guild->{messages} })
      [0 .. 1 + int rand 8];
    my @ids = map { $_->{id} } grep { $_ } @gone;
    push @ids, id_at($start - 1 - int rand 40_000_000) for 1 .. 2;
    my %gone = map { $_ => 1 } @ids;
    my ($by, $late) = (moderator($guild), lag());
    $guild->{messages} = [grep { !$gone{ $_->{id} } } @{ $guild->{messages} }];
    push_packet($guild, 120, 'MESSAGE_DELETE_BULK',
        { ids => [@ids], channel_id => $channel });
    my $id =
      audit($guild, 120 + $late, 73, $by, $channel, options => { count => '' . @ids });
    happened(
        $guild, $id, 'messageDeleteBulk', $by, $late,
        messages => [@ids],
        channel  => $channel
    );
    return;
}


sub voice_join {
    my ($guild) = @_;
    my $member =
      any(grep { !$guild->{voice}{ $_->{who}[0] } && rested($guild, $_->{who}) }
          @{ $guild->{members} })
      or return;
    voice($guild, $member, any(@{ $guild->{voices} })->{id});
    return;
}


sub voice_leave {
    my ($guild) = @_;
    my $member = speaker($guild) or return;
    voice($guild, $member, undef);
    return;
}


sub voice_switch {
    my ($guild) = @_;
    my $member = speaker($guild) or return;
    voice($guild, $member, elsewhere($guild, $member));
    return;
}


sub voice_moved {
    my ($guild) = @_;
    my $member = speaker($guild) or return;
    my ($by, $late, $channel) = (moderator($guild), lag(), elsewhere($guild, $member));
    voice($guild, $member, $channel);
    return if coalesced($guild, 26, $by->[0], $channel);
    my $id = audit($guild, 60 + $late, 26, $by, undef,
        options => { channel_id => $channel, count => '1' });
    happened(
        $guild, $id, 'voiceMoved', $by, $late,
        person  => $member->{who}[0],
        channel => $channel
    );
    return;
}


sub voice_cut {
    my ($guild) = @_;
    my $member = speaker($guild) or return;
    my ($by, $late) = (moderator($guild), lag());
    my $channel = $guild->{voice}{ $member->{who}[0] }{channel_id};
    voice($guild, $member, undef);
    return if coalesced($guild, 27, $by->[0]);
    my $id = audit($guild, 60 + $late, 27, $by, undef, options => { count => '1' });
    happened(
        $guild, $id, 'voiceDisconnected', $by, $late,
        person  => $member->{who}[0],
        channel => $channel
    );
    return;
}


sub voice_change {
    my ($guild) = @_;
    my $member  = speaker($guild) or return;
    my $state   = $guild->{voice}{ $member->{who}[0] };
    acts($guild, $member->{who});
    my $key = any(qw(self_mute self_deaf self_stream self_video mute));
    $state->{$key} = $state->{$key} ? $no : $yes;
    push_packet($guild, 60, 'VOICE_STATE_UPDATE',
        { %$state, member => with_user($member) });
    audit(
        $guild, 200, 24,
        moderator($guild),
        $member->{who}[0],
        changes => [{
            key       => 'mute',
            old_value => $state->{mute} ? $no : $yes,
            new_value => $state->{mute}
        }]
    ) if $key eq 'mute';
    return;
}


sub join_server {
    my ($guild) = @_;
    my %in = map { $_->{who}[0] => 1 } @{ $guild->{members} };
    my $who =
      any(grep { !$in{ $_->[0] } && !$guild->{banned}{ $_->[0] } && rested($guild, $_) }
          @people)
      or return;
    acts($guild, $who);
    my $member = { who => $who, roles => [], joined => $now };
    push @{ $guild->{members} }, $member;
    push_packet($guild, 50, 'GUILD_MEMBER_ADD', with_user($member));
    audit($guild, 250, 28, moderator($guild), $who->[0]) if $who->[2];
    return;
}


sub leave_server {
    my ($guild) = @_;
    my $member = out($guild) or return;
    push_packet($guild, 70, 'GUILD_MEMBER_REMOVE', { user => user($member->{who}) });
    return;
}


sub kick {
    my ($guild) = @_;
    my $member = out($guild) or return;
    my ($by, $late) = (moderator($guild), lag());
    push_packet($guild, 70, 'GUILD_MEMBER_REMOVE', { user => user($member->{who}) });
    my $id = audit(
        $guild, 70 + $late, 20, $by, $member->{who}[0],
        options => {},
        rand() < .5 ? (reason => 'spam') : ()
    );
    happened($guild, $id, $member->{who}[2] ? 'botRemove' : 'kick',
        $by, $late, person => $member->{who}[0]);
    return;
}


sub ban {
    my ($guild) = @_;
    my $member  = out($guild) or return;
    my $user    = user($member->{who});
    $guild->{banned}{ $user->{id} } = $member->{who};
    push_packet($guild, 70 + int rand 60, 'GUILD_BAN_ADD',       { user => $user });
    push_packet($guild, 70 + int rand 60, 'GUILD_MEMBER_REMOVE', { user => {%$user} });
    audit($guild, 70 + abs lag(), 22, moderator($guild), $user->{id}, reason => 'raid');
    return;
}


sub unban {
    my ($guild) = @_;
    my $id      = any(sort keys %{ $guild->{banned} }) or return;
    my $who     = delete $guild->{banned}{$id};
    push_packet($guild, 70, 'GUILD_BAN_REMOVE', { user => user($who) });
    audit($guild, 200, 23, moderator($guild), $id);
    return;
}


sub give_role {
    my ($guild) = @_;
    my $member  = any(@{ $guild->{members} }) or return;
    my $role    = any(@{ $guild->{roles} });
    my $has     = grep { $_ eq $role->{id} } @{ $member->{roles} };
    $member->{roles} =
      $has
      ? [grep { $_ ne $role->{id} } @{ $member->{roles} }]
      : [@{ $member->{roles} }, $role->{id}];
    push_packet($guild, 40, 'GUILD_MEMBER_UPDATE', with_user($member));
    audit(
        $guild, 150, 25,
        moderator($guild),
        $member->{who}[0],
        changes => [{
            key       => $has ? '$remove' : '$add',
            new_value => [{ id => $role->{id}, name => $role->{name} }]
        }]
    );
    return;
}


sub nick {
    my ($guild) = @_;
    my $member  = any(@{ $guild->{members} }) or return;
    my $old     = $member->{nick};
    $member->{nick} = 'nick ' . int rand 1000;
    push_packet($guild, 40, 'GUILD_MEMBER_UPDATE', with_user($member));
    audit(
        $guild, 150, 24,
        $member->{who},
        $member->{who}[0],
        changes => [{
            key => 'nick',
            defined $old ? (old_value => $old) : (), new_value => $member->{nick}
        }]
    );
    return;
}


sub timeout {
    my ($guild) = @_;
    my $member  = any(@{ $guild->{members} }) or return;
    my $until   = iso($now + 600_000);
    push_packet($guild, 40, 'GUILD_MEMBER_UPDATE',
        { %{ with_user($member) }, communication_disabled_until => $until });
    audit(
        $guild, 150, 24, moderator($guild), $member->{who}[0],
        reason  => 'calm down',
        changes => [{ key => 'communication_disabled_until', new_value => $until }]
    );
    return;
}


sub boost {
    my ($guild) = @_;
    my $member = any(@{ $guild->{members} }) or return;
    $member->{since} = $member->{since} ? undef : iso($now);
    push_packet($guild, 40, 'GUILD_MEMBER_UPDATE', with_user($member));
    return;
}


sub avatar {
    my ($guild) = @_;
    my $member = any(@{ $guild->{members} }) or return;
    $member->{avatar} = sprintf '%08x', int rand 2**32;
    push_packet($guild, 40, 'GUILD_MEMBER_UPDATE', with_user($member));
    return;
}


sub react {
    my ($guild) = @_;
    my $message = any(@{ $guild->{messages} }) or return;
    my $member  = any(@{ $guild->{members} });
    my %what    = (
        user_id    => $member->{who}[0],
        channel_id => $message->{channel_id},
        message_id => $message->{id},
        emoji      => { id => undef, name => "\x{1f44d}" },
        burst      => $no,
        type       => 0
    );
    push_packet(
        $guild, 40,
        'MESSAGE_REACTION_ADD',
        {
            %what,
            member            => with_user($member),
            message_author_id => $message->{author}{id}
        }
    );
    push_packet($guild, 2000 + int rand 5000, 'MESSAGE_REACTION_REMOVE', {%what});
    return;
}


sub pin {
    my ($guild) = @_;
    my $message = any(@{ $guild->{messages} }) or return;
    push_packet($guild, 60, 'CHANNEL_PINS_UPDATE',
        { channel_id => $message->{channel_id}, last_pin_timestamp => iso($now) });
    push_packet($guild, 70, 'MESSAGE_UPDATE', { %$message, pinned => $yes });
    audit($guild, 150, 74, moderator($guild), $message->{author}{id},
        options => { channel_id => $message->{channel_id}, message_id => $message->{id} }
    );
    return;
}


sub channel_act {
    my ($guild) = @_;
    if (rand() < .5) {
        my $channel = {
            id                    => id_at($now),
            name                  => 'new-' . int rand 1000,
            type                  => 0,
            parent_id             => $guild->{category},
            position              => 9,
            permission_overwrites => []
        };
        push @{ $guild->{texts} }, $channel;
        push_packet($guild, 40, 'CHANNEL_CREATE', {%$channel});
        audit(
            $guild, 150, 10,
            moderator($guild),
            $channel->{id},
            changes => [
                { key => 'name', new_value => $channel->{name} },
                { key => 'type', new_value => 0 }
            ]
        );
        return;
    }
    my $channel = any(@{ $guild->{texts} });
    my $old     = $channel->{name};
    $channel->{name} = 'renamed-' . int rand 1000;
    push_packet($guild, 40, 'CHANNEL_UPDATE', {%$channel});
    audit($guild, 150, 11, moderator($guild), $channel->{id},
        changes => [{ key => 'name', old_value => $old, new_value => $channel->{name} }]);
    return;
}


sub thread_act {
    my ($guild) = @_;
    if (rand() < .6 || !@{ $guild->{threads} }) {
        my $thread = {
            id              => id_at($now),
            name            => 'thread ' . int rand 1000,
            type            => 11,
            parent_id       => any(@{ $guild->{texts} })->{id},
            owner_id        => any(@{ $guild->{members} })->{who}[0],
            thread_metadata => {
                archived              => $no,
                locked                => $no,
                auto_archive_duration => 4320,
                archive_timestamp     => iso($now)
            }
        };
        push @{ $guild->{threads} }, $thread;
        push_packet($guild, 40, 'THREAD_CREATE', { %$thread, newly_created => $yes });
        audit(
            $guild, 150, 110,
            moderator($guild),
            $thread->{id},
            changes => [
                { key => 'name', new_value => $thread->{name} },
                { key => 'type', new_value => 11 }
            ]
        );
        return;
    }
    my $thread = splice @{ $guild->{threads} }, int rand @{ $guild->{threads} }, 1;
    $guild->{messages} =
      [grep { $_->{channel_id} ne $thread->{id} } @{ $guild->{messages} }];
    push_packet($guild, 40, 'THREAD_DELETE',
        { id => $thread->{id}, parent_id => $thread->{parent_id}, type => 11 });
    audit(
        $guild, 150, 112,
        moderator($guild),
        $thread->{id},
        changes => [
            { key => 'name', old_value => $thread->{name} },
            { key => 'type', old_value => 11 }
        ]
    );
    return;
}


sub role_act {
    my ($guild) = @_;
    my $role    = any(@{ $guild->{roles} });
    my $old     = $role->{name};
    $role->{name} = 'Role ' . int rand 1000;
    push_packet($guild, 40, 'GUILD_ROLE_UPDATE', { role => {%$role} });
    audit($guild, 150, 31, moderator($guild), $role->{id},
        changes => [{ key => 'name', old_value => $old, new_value => $role->{name} }]);
    return;
}


sub noise {
    my ($guild) = @_;
    my $member = any(@{ $guild->{members} });
    push_packet(
        $guild, 10,
        any(
            [
                TYPING_START => {
                    channel_id => $guild->{texts}[0]{id},
                    user_id    => $member->{who}[0],
                    timestamp  => int($now / 1000),
                    member     => with_user($member)
                }
            ],
            [
                PRESENCE_UPDATE => {
                    user          => { id => $member->{who}[0] },
                    status        => 'online',
                    activities    => [],
                    client_status => {}
                }
            ],
            [WEBHOOKS_UPDATE => { channel_id => $guild->{texts}[0]{id} }],
            [
                VOICE_CHANNEL_STATUS_UPDATE =>
                  { id => $guild->{voices}[0]{id}, status => 'x' }
            ],
        )->@*
    );
    return;
}


sub unknown {
    my ($guild) = @_;
    push_packet($guild, 10, 'SOMETHING_NEW', { id => id_at($now) });
    audit($guild, 150, 990 + int rand 9, moderator($guild), undef);
    return;
}


# parts of a server

sub guild_of {
    my ($n)   = @_;
    my $id    = old_id(1000 * $n);
    my $at    = 1000 * $n;
    my %guild = (
        id       => $id,
        n        => $n,
        category => old_id($at + 1),
        messages => [],
        voice    => {},
        banned   => {},
        done     => {},
        texts    => [
            map { {
                id                    => old_id($at + 10 + $_),
                name                  => "text-$_",
                type                  => 0,
                parent_id             => $_ % 2 ? old_id($at + 1) : undef,
                position              => $_,
                permission_overwrites => []
            } } 1 .. 3
        ],
        voices => [
            map { {
                id                    => old_id($at + 20 + $_),
                name                  => "Voice $_",
                type                  => 2,
                parent_id             => undef,
                position              => $_,
                permission_overwrites => []
            } } 1 .. 3
        ],
        roles => [
            map { {
                id          => old_id($at + 30 + $_),
                name        => "Role $_",
                position    => $_,
                permissions => '0',
                color       => 0,
                hoist       => $no,
                managed     => $no,
                mentionable => $no
            } } 1 .. 4
        ]
    );
    $guild{threads} = [{
        id              => old_id($at + 40),
        name            => 'a thread',
        type            => 11,
        parent_id       => $guild{texts}[0]{id},
        owner_id        => $people[0][0],
        thread_metadata => {
            archived              => $no,
            locked                => $no,
            auto_archive_duration => 4320,
            archive_timestamp     => iso($start)
        }
    }];
    $guild{members} = [
        map { {
            who    => $_,
            roles  => [rand() < .5 ? $guild{roles}[0]{id} : ()],
            joined => $start - 86_400_000
        } }
          grep { rand() < .6 } @people
    ];
    push @{ $guild{members} }, { who => $people[-1], roles => [], joined => $start }
      if !@{ $guild{members} };
    $guild{moderators} =
      [map { $_->{who} }
          @{ $guild{members} }
          [0 .. (@{ $guild{members} } < 3 ? $#{ $guild{members} } : 2)]];
    $guild{size} = 40 + @{ $guild{members} };

    for my $member (@{ $guild{members} }[0 .. (@{ $guild{members} } < 4 ? 0 : 3)]) {
        $guild{voice}{ $member->{who}[0] } = state_of($member, $guild{voices}[0]{id});
    }
    return \%guild;
}


# as GUILD_CREATE has it: of the members only the bot and who is in voice
sub created {
    my ($guild) = @_;
    return {
        id                         => $guild->{id},
        name                       => "Server $guild->{n}",
        owner_id                   => $guild->{moderators}[0][0],
        icon                       => undef,
        premium_tier               => 1,
        premium_subscription_count => 3,
        member_count               => $guild->{size},
        unavailable                => $no,
        large                      => $yes,
        joined_at                  => iso($start - 86_400_000),
        roles                      => [
            {
                id          => $guild->{id},
                name        => '@everyone',
                position    => 0,
                permissions => '128'
            },
            map {
                { %$_ }
            } @{ $guild->{roles} }
        ],
        channels => [
            { id => $guild->{category}, name => 'Category', type => 4, position => 0 },
            map {
                { %$_ }
            } @{ $guild->{texts} },
            @{ $guild->{voices} }
        ],
        threads => [
            map {
                { %$_ }
            } @{ $guild->{threads} }
        ],
        members => [
            map  { with_user($_) }
            grep { $guild->{voice}{ $_->{who}[0] } } @{ $guild->{members} }
        ],
        voice_states =>
          [map { { %{ $guild->{voice}{$_} } } } sort keys %{ $guild->{voice} }],
        presences              => [],
        stage_instances        => [],
        guild_scheduled_events => [],
        soundboard_sounds      => [],
        stickers               => [],
        emojis                 => [],
        features               => []
    };
}


sub voice {
    my ($guild, $member, $channel) = @_;
    my $id = $member->{who}[0];
    acts($guild, $member->{who});
    my $state =
      { %{ $guild->{voice}{$id} // state_of($member, undef) }, channel_id => $channel };
    if ($channel) {
        $guild->{voice}{$id} = $state;
    } else {
        delete $guild->{voice}{$id};
    }
    push_packet($guild, 60, 'VOICE_STATE_UPDATE',
        { %$state, member => with_user($member) });
    return;
}


sub state_of {
    my ($member, $channel) = @_;
    return {
        channel_id                 => $channel,
        user_id                    => $member->{who}[0],
        session_id                 => 'abc',
        deaf                       => $no,
        mute                       => $no,
        self_deaf                  => $no,
        self_mute                  => $no,
        self_stream                => $no,
        self_video                 => $no,
        suppress                   => $no,
        request_to_speak_timestamp => undef
    };
}


sub elsewhere {
    my ($guild, $member) = @_;
    my $here = $guild->{voice}{ $member->{who}[0] }{channel_id};
    return any(grep { $_ ne $here } map { $_->{id} } @{ $guild->{voices} });
}


sub speaker {
    my ($guild) = @_;
    return any(grep { $guild->{voice}{ $_->{who}[0] } && rested($guild, $_->{who}) }
          @{ $guild->{members} });
}


sub rested {
    my ($guild, $who) = @_;
    return $now - ($guild->{acted}{ $who->[0] } // 0) >= $apart;
}


sub acts {
    my ($guild, $who) = @_;
    $guild->{acted}{ $who->[0] } = $now;
    return;
}


sub moderator {
    my ($guild) = @_;
    return any(@{ $guild->{moderators} });
}


# somebody goes, no moderator; out of voice first
sub out {
    my ($guild) = @_;
    my %stays = map { $_->[0] => 1 } @{ $guild->{moderators} };
    my $member =
      any(grep { !$stays{ $_->{who}[0] } && rested($guild, $_->{who}) }
          @{ $guild->{members} })
      or return;
    acts($guild, $member->{who});
    voice($guild, $member, undef) if $guild->{voice}{ $member->{who}[0] };
    $guild->{members} = [grep { $_ != $member } @{ $guild->{members} }];
    return $member;
}


sub keep {
    my ($guild, $message) = @_;
    push @{ $guild->{messages} }, $message;
    shift @{ $guild->{messages} } if @{ $guild->{messages} } > 60;
    return;
}


sub lose {
    my ($guild) = @_;
    return if !@{ $guild->{messages} };
    return splice @{ $guild->{messages} }, int rand @{ $guild->{messages} }, 1;
}


sub member {
    my ($member) = @_;
    return {
        roles                        => [@{ $member->{roles} }],
        nick                         => $member->{nick},
        avatar                       => $member->{avatar},
        premium_since                => $member->{since},
        joined_at                    => iso($member->{joined}),
        deaf                         => $no,
        mute                         => $no,
        pending                      => $no,
        flags                        => 0,
        communication_disabled_until => undef
    };
}


sub with_user {
    my ($member) = @_;
    return { %{ member($member) }, user => user($member->{who}) };
}


sub user {
    my ($who) = @_;
    return {
        id            => $who->[0],
        username      => $who->[1],
        discriminator => '0',
        global_name   => undef,
        avatar        => undef,
        $who->[2] ? (bot => $yes) : ()
    };
}


sub file {
    return {
        id       => id_at($now),
        filename => any('a.png', 'plan.pdf', 'SPOILER_x.jpg'),
        size     => 1 + int rand 100_000,
        url      => 'https://cdn.example/a'
    };
}


# numbers, names, times

sub any {
    return $_[rand @_];
}


sub name {
    my ($n) = @_;
    my @parts = qw(an bo chi da ev fa gus ha iv jo ka li);
    return $parts[$n % 12] . $parts[int($n / 12)] . $n;
}


# an id of the platform, made at that time
sub id_at {
    my ($at) = @_;
    return '' . (($at - $EPOCH) << 22 | ++$ids & 0x3fffff);
}


# the id of what was there before
sub old_id {
    my ($n) = @_;
    return '' . ((1_600_000_000_000 + 1000 * $n - $EPOCH) << 22 | $n);
}


sub iso {
    my ($at) = @_;
    my @t = gmtime int($at / 1000);
    return sprintf '%04d-%02d-%02dT%02d:%02d:%02d.%03d000+00:00', $t[5] + 1900,
      $t[4] + 1, @t[3, 2, 1, 0], $at % 1000;
}


1;
