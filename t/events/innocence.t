# An act of one person is never told as another's: people leave voice, switch, delete
# and go by themselves while moderators disconnect, move, delete, purge and kick. Of
# each entry of the audit log the test knows whom it was about. GUILDLOG_SEED repeats
# a run, GUILDLOG_SERVERS makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Packets qw(id_at);
use Guildlog::PairClock;

use Time::HiRes qw(time);

use constant { SPAN => 60_000, BETWEEN => 12_000, BATCH => 1000 };

my $seed    = $ENV{GUILDLOG_SEED}    // int time;
my $servers = $ENV{GUILDLOG_SERVERS} // 24;
my @rates   = (.05, .2, 1);    # others' acts of a kind, a second
my $start   = int(time * 1000) - SPAN - 60_000;

# for so long no bot can send, then it sends everything
my @outage = (30_000, 48_000);

note "GUILDLOG_SEED=$seed";
srand $seed;

my %kind = (
    'end of voice' => { act => \&leave,  back => 4500 },
    'switch'       => { act => \&switch, back => 4500 },
    'deletion'     => { act => \&unsay,  back => 10_000 },
    'purge'        => { act => \&purge,  back => 10_000 },
    'kick'         => { act => \&kick },
);

my $ids = 0;
my @packets;
my @acts;    # {kind, guild, at, audit (its id) and audit_at if there is one, ...}
my $guild;

for my $n (0 .. $servers * @rates - 1) {
    $guild = { id => id(), voice => [], moderator => id() };
    for my $kind (sort keys %kind) {
        for (my $at = 2000; $at < SPAN - 8000; $at += BETWEEN) {
            act($kind, int($at + rand BETWEEN - 2000), 1);
        }
        my $at = 0;
        while (($at += -1000 * log(1 - rand) / $rates[$n % @rates]) < SPAN) {
            act($kind, int $at, 0);
        }
    }
    create();
}

@packets = sort { $a->{at} <=> $b->{at} } @packets;


my $nginx = Guildlog->new;
my $clock = Guildlog::PairClock->new($nginx);

while (@packets) {
    my $now = $packets[0]{at} - $start;
    my $until = $now + 300 + rand 2500;
    $until = $outage[1] if $until > $outage[0] && $now < $outage[1];
    my @now;
    push @now, shift @packets while @packets && $packets[0]{at} < $start + $until;
    while (my @batch = splice @now, 0, BATCH) {
        my $answer = $nginx->operator('POST', '/events', \@batch);
        next if $answer->status == 200 && !@{ $answer->json->{errors} };
        is substr($answer->text, 0, 400), '', 'a batch is taken';
    }
    $clock->pass($packets[0]{at} - 1) if @packets;
}
$clock->pass;


my %entry;
for my $row ($nginx->sql('select guild_id, type, event_id, doc from log_arrival
    where id is not null'))
{
    my ($id, $type, $event, $doc) = @$row;
    utf8::encode($doc);
    $entry{"$id $event"} = { type => $type, %{ json->decode("$doc}") } };
}

for my $kind (sort keys %kind) {
    my @its = grep { $_->{kind} eq $kind && $_->{audit} } @acts;
    my ($named, $clear, $missed, @innocent) = (0, 0, 0);
    for my $act (@its) {
        my $entry = $entry{"$act->{guild} $act->{audit}"};
        my $who = about($act, $entry);
        push @innocent, $act if !$entry || $who && $who ne $act->{about}
            || $entry->{executor}{id} ne $act->{by};
        $named++ if $who;
        next if !is_clear($act);
        $clear++;
        $missed++ if !$who;
    }
    is scalar @innocent, 0, "$kind: no innocent is named" or diag "seed $seed: ",
        json->encode([map { my %it = %$_; delete $it{all};
            (\%it, $entry{"$_->{guild} $_->{audit}"}) } grep { $_ } @innocent[0 .. 2]]);
    cmp_ok $clear, '>=', @its / 10, "$kind: $clear of " . @its . ' are clear';
    cmp_ok $missed, '<=', .03 * $clear,
        "$kind: of $clear that are clear, $missed are not named ($named in all)";
}

my %left = map { $_->{type} == 2 ? ($_->{target}{id} => 1) : () } values %entry;
my @double = grep {
    $_->{kind} eq 'kick' && $_->{audit} && $entry{"$_->{guild} $_->{audit}"}
        && $_->{audit_at} <= $_->{at} + 5000 && !is_late($_) && $left{ $_->{about} }
} @acts;
is scalar @double, 0, 'nobody who was kicked has left';

done_testing;


# whom an entry is about; nothing: nobody
sub about {
    my ($act, $entry) = @_;

    return $entry->{target} && $entry->{target}{id} if $act->{person};
    return join ' ', sort map { $_->{id} } @{ $entry->{messages} // [] };
}


# must it have been this one, as the rule says?
sub is_clear {
    my ($act) = @_;

    return 1 if $act->{kind} eq 'kick';
    return 0 if is_late($act) || !fits($act, $act)
        || $act->{audit_at} > $act->{at} + 1500;
    my @others = grep { $_ != $act && $_->{kind} eq $act->{kind} }
        @{ $act->{all} };
    return !grep { fits($act, $_) || $_->{audit} && fits($_, $act) } @others;
}


sub is_late {
    my ($act) = @_;
    my $at = $act->{at} - $start;
    return $at > $outage[0] - 8000 && $at < $outage[1];
}


# may the audit entry of one act be about the other?
sub fits {
    my ($audit, $event) = @_;

    my $after = $event->{at} - $audit->{audit_at};
    return $after >= -$kind{ $audit->{kind} }{back} && $after <= 500
        && $event->{where} eq $audit->{where}
        && (!$event->{author} || $event->{author} eq $audit->{target});
}


sub act {
    my ($kind, $at, $moderated) = @_;

    my %act = (kind => $kind, guild => $guild->{id}, at => $start + $at, where => '',
        by => $guild->{moderator}, all => $guild->{acts} //= []);
    my %audit = $kind{$kind}{act}->(\%act);
    push @acts, \%act;
    push @{ $guild->{acts} }, \%act;

    # what the platform counts up in an older entry has none
    return if !$moderated || rand() < .1;
    $act{audit_at} = $act{at} + lag();
    $act{audit} = id_at($act{audit_at});
    packet($act{audit_at}, 'GUILD_AUDIT_LOG_ENTRY_CREATE', { id => $act{audit},
        user_id => $act{by}, target_id => $act{target}, %audit });
    return;
}


# an entry that comes later than the rule looks back may name whoever acts meanwhile
sub lag {
    my $how = rand;
    return $how < .7 ? 40 + int rand 350 : $how < .88 ? 400 + int rand 1000
        : $how < .94 ? -int rand 400 : 1500 + int rand 2900;
}


sub leave {
    my ($act) = @_;

    $act->{about} = $act->{person} = id();
    push @{ $guild->{voice} }, $act->{about};
    packet($act->{at}, 'VOICE_STATE_UPDATE', voice_state($act->{about}, undef));
    return (action_type => 27, options => { count => '1' });
}


sub switch {
    my ($act) = @_;

    $act->{about} = $act->{person} = id();
    $act->{where} = channel(2 + int rand 2);
    push @{ $guild->{voice} }, $act->{about};
    packet($act->{at}, 'VOICE_STATE_UPDATE', voice_state($act->{about}, $act->{where}));
    return (action_type => 26, options => { count => '1', channel_id => $act->{where} });
}


# of three authors, in two channels; of some nothing is known
sub unsay {
    my ($act) = @_;

    $act->{about}  = id();
    $act->{where}  = channel(4 + int rand 2);
    $act->{target} = channel(20 + int rand 3);
    if (rand() < .8) {
        $act->{author} = $act->{target};
        packet($start - 1000, 'MESSAGE_CREATE', { id => $act->{about},
            channel_id => $act->{where}, content => 'x',
            author => user($act->{author}) });
    }
    packet($act->{at}, 'MESSAGE_DELETE', { id => $act->{about},
        channel_id => $act->{where} });
    return (action_type => 72, options => { count => '1', channel_id => $act->{where} });
}


sub purge {
    my ($act) = @_;

    my @ids = map { id() } 0 .. 1 + rand 2;
    my $channel = $act->{target} = channel(4 + int rand 2);
    $act->{about} = join ' ', sort @ids;
    $act->{where} = $channel . ' ' . @ids;
    packet($start - 1000, 'MESSAGE_CREATE', { id => $_, channel_id => $channel,
        content => 'x', author => user(channel(20)) }) for @ids;
    packet($act->{at}, 'MESSAGE_DELETE_BULK', { ids => \@ids, channel_id => $channel });
    return (action_type => 73, options => { count => '' . @ids });
}


sub kick {
    my ($act) = @_;

    $act->{about} = $act->{person} = $act->{target} = id();
    packet($act->{at}, 'GUILD_MEMBER_REMOVE', { user => user($act->{about}) });
    return (action_type => 20);
}


# said before all that is known, so that nothing of it is a gap
sub create {
    my @channels = map { { id => channel($_), name => "c$_", type => $_ < 4 ? 2 : 0 } }
        1 .. 5;
    packet($start - 20_000, 'GUILD_CREATE', { id => $guild->{id}, name => 'Test',
        owner_id => $guild->{moderator}, channels => \@channels, roles => [],
        members => [{ user => user($guild->{moderator}), roles => [] }],
        voice_states => [map { voice_state($_, channel(1)) } @{ $guild->{voice} }] });
    return;
}


sub packet {
    my ($at, $t, $d) = @_;

    $d->{guild_id} = $guild->{id} if $t ne 'GUILD_CREATE';
    push @packets, { t => $t, at => $at, d => $d };
    return;
}


sub voice_state {
    my ($who, $channel) = @_;
    return { user_id => $who, channel_id => $channel, session_id => 'a' };
}


sub user {
    my ($id) = @_;
    return { id => $id, username => "u$id" };
}


sub channel {
    my ($n) = @_;
    return '' . ("$guild->{id}" + $n);    # it stays a text
}


# made before all began
sub id {
    $ids += 100;
    return id_at($start - 60_000) + $ids . '';
}
