# Both packages make the same entries of the same events: of those that people are
# told of in t/viewer/events.json, and of made-up ones, many for each event of
# conf/events.tsv.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Program;

my $fixtures = json->decode(slurp("$Guildlog::TOP/t/viewer/events.json"));
my $known    = $fixtures->{known};
my $server   = '613425648685547541';
my $audit    = 'GUILD_AUDIT_LOG_ENTRY_CREATE';
my $time     = '2030-05-01T09:41:00.123456+00:00';
my ($yes, $no) = (json->true, json->false);
my %id = map { my $kind = $_; $kind => [sort keys %{ $known->{$kind} }] }
    qw(users channels roles things);
my $many = 100;    # made-up ones of each event

# what is known of before such an event
my %before = (MESSAGE_UPDATE => 'MESSAGE_CREATE', MESSAGE_DELETE => 'MESSAGE_CREATE',
    MESSAGE_DELETE_BULK => 'MESSAGE_CREATE', GUILD_MEMBER_UPDATE => 'GUILD_MEMBER_UPDATE',
    GUILD_MEMBER_REMOVE => 'GUILD_MEMBER_UPDATE', GUILD_UPDATE => 'GUILD_UPDATE',
    VOICE_STATE_UPDATE => 'VOICE_STATE_UPDATE');

srand 1;


sub any {
    return $_[rand @_];
}


sub id_of {
    return any(map { @{ $id{$_} } } @_);
}


sub user {
    my $id = id_of('users');
    return { id => $id, username => $known->{users}{$id}{name}, bot => any($yes, $no) };
}


sub roles {
    return [map { my $id = id_of('roles'); { id => $id, name => $known->{roles}{$id}{name} } }
        1 .. shift];
}


# what any event of the gateway may have, all in one
sub data {
    return {
        id => any(501, 502) . '', ids => ['501', '503', '502'], guild_id => $server,
        user_id => $id{users}[0], user => user(), author => user(), message_id => '501',
        channel_id => any(id_of('channels'), undef), rule_id => id_of('things'),
        content => any('', 'a', "\x{1f600} \\ \" \n"), timestamp => $time,
        attachments => [({ filename => 'a.png', size => 1 }) x int rand 3],
        any({}, { poll => { question => { text => 'Where?' } } })->%*,
        any({}, { self_video => any($yes, $no), self_stream => any($yes, $no) })->%*,
        suppress => any($yes, $no), request_to_speak_timestamp => any($time, undef),
        roles => [map { $_->{id} } @{ roles(rand 3) }], avatar => any('a1', 'a2', undef),
        premium_since => any($time, undef), premium_tier => any(1, 2),
        premium_subscription_count => any(3, undef),
        emoji => any({ id => undef, name => "\x{1f600}" },
            { id => '5', name => 'wave', animated => $yes }),
        action => { type => any(1, 2, 4) }, matched_keyword => any('x', undef),
    };
}


# what any entry of the audit log may have, and changes of such keys
sub audited {
    my ($action, @keys) = @_;
    return {
        id => '1200000000000000001', guild_id => $server, action_type => 0 + $action,
        user_id => any(id_of('users'), undef), target_id => id_of(keys %id),
        reason => any('spam', '', undef),
        options => { type => any('0', '1'), id => id_of('users', 'roles'),
            role_name => any('Helper', undef), channel_id => id_of('channels'),
            count => any('3', '0'), members_removed => '4', message_id => '501',
            status => any('', 'here', undef), auto_moderation_rule_name => 'Rule' },
        changes => [map { { key => $_, any({}, { old_value => value($_) })->%*,
            any({}, { new_value => value($_) })->%* } } grep { rand > .3 } @keys],
    };
}


# of a change of that key
sub value {
    my ($key) = @_;
    return roles(rand 3) if $key =~ /^\$/;
    return any($time, undef) if $key =~ /_until$/;
    return any(0, 3) if $key eq 'uses';
    return any('', 'words', "Zo\x{eb}", '0', 0, 2, undef, id_of(keys %id),
        $key ne 'nsfw' ? () : ($yes, $no, [], ['a', 'b'], roles(1), [{ name => 'x', id => 1,
            more => 1 }], { id => '1' }));
}


my $guild = { id => $server, %{ $known->{guild} },
    channels => [{ id => '700', name => 'Talk', type => 4 }, map { { id => $_,
        parent_id => any('700', undef), %{ $known->{channels}{$_} } } } @{ $id{channels} }],
    roles => [map { { id => $_, %{ $known->{roles}{$_} } } } @{ $id{roles} }],
    members => [map { { user => user(), roles => [] } } 1 .. 4],
    stickers => [map { { id => $_, type => 2, %{ $known->{things}{$_} },
        channel_id => $id{channels}[0] } } @{ $id{things} }] };
my @cases;

for (@{ $fixtures->{events} }) {
    my ($t, $was) = @$_{qw(t was)};
    push @cases, [$_->{what}, (map { { t => $before{$t}, d => { guild_id => $server, %$_ } } }
        ref $was eq 'ARRAY' ? @$was : $was // ()), { t => $t, d => $_->{d} }];
}

my (%keys, %wanted);
for (split /\n/, slurp("$Guildlog::TOP/conf/events.tsv")) {
    my ($from, $code, $name, $when, $type, $entry) = split /\t/, $_, -1;
    next if $from eq 'from' || $type eq '' || $entry =~ /^(?:audit|gateway|several)$/;
    $wanted{$type} = 1;
    push @{ $keys{ $from eq 'audit' ? "audit $code" : "gateway $name" } },
        "$when; $entry" =~ /change[.]([\w\$]+)/g, $when =~ /^([\w\$]+) (?:comes|goes|differs)/,
        $entry =~ /\{(\w+)\}$/, $entry =~ /changes=(\w+)/, qw(nsfw type flags);
}
for my $event (sort keys %keys) {
    my ($from, $name) = split / /, $event;
    my %key = map { $_ => 1 } @{ $keys{$event} };
    push @cases, map { ["made-up: $event", $from eq 'audit'
        ? { t => $audit, d => audited($name, sort keys %key) }
        : (map { { t => $_, d => data() } } grep { $_ } $before{$name}, $name)] }
        1 .. $many;
}


# what that program makes of all cases
sub made {
    my ($file) = @_;
    my $input = "$ENV{GUILDLOG_TEST_DIR}/entries";
    open my $out, '>:raw', $input or die $!;
    print {$out} map { json->encode({ guild => $guild, packets => [@$_[1 .. $#$_]] }) . "\n" }
        @cases;
    close $out or die $!;
    my $command = join ' ', Guildlog::Program->command($file);
    return map { json->decode($_) } qx{$command < $input};
}


my @js     = made('t/kit/python/entries.js');
my @python = made('t/kit/python/entries.py');
my %types;

is @js, @cases, 'all cases are made by the one';
is @python, @cases, '... and by the other';
for my $i (0 .. $#cases) {
    $types{ $_->{type} }++ for @{ $js[$i] };
    my $same = json->encode($js[$i]) eq json->encode($python[$i]);
    next if $same && $i >= @{ $fixtures->{events} };
    is_deeply $python[$i], $js[$i], "the same: $cases[$i][0]"
        or diag explain $cases[$i];
}
is keys %types, keys %wanted, 'events have entries of all types';

done_testing;
