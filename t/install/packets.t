# guildlog events, against a running service: packets of the platform's gateway
# go in as they come, in their order, and what is wrong is told by its line.

use lib 't/lib';
use Guildlog;
use Guildlog::Answers;
use Guildlog::File;
use Guildlog::Packets qw(id_at);

my $nginx = Guildlog->new(api => 'guildlog_limit off;');
my $tool = "$Guildlog::TOP/util/guildlog";
my ($ann, $bob) = ('200000000000000001', '200000000000000002');

delete @ENV{grep { /^(?:GUILDLOG_(?!TEST|BUILD)|PG)/ } keys %ENV};
$ENV{GUILDLOG_OPERATOR} = "unix:$nginx->{operator}:/";

my $errors = $nginx->file('errors', '');


sub guildlog {
    my ($words, @packets) = @_;

    my $in = $nginx->file('stdin', join '', map { line($_) } @packets);
    my $out = qx{"$tool" $words < "$in" 2> "$errors"};
    return ($out, slurp($errors), $? >> 8);
}


sub line { return ref $_[0] ? json->encode($_[0]) . "\n" : $_[0] }


my $at = int 1000 * time;    # what has no moment of its own is told by it

sub packet {
    my ($t, $server, %d) = @_;
    return { at => $at, t => $t, d => { guild_id => $server, %d } };
}


# the reaction of a message, which makes one entry at once
sub reaction {
    my ($server, $n, %more) = @_;
    return { %{ packet('MESSAGE_REACTION_REMOVE', $server, user_id => $bob,
        channel_id => $server, message_id => 500_000_000_000_000_000 + $n . '',
        emoji => { id => undef, name => "e$n" }) }, %more };
}


# the names of the emojis of the server's entries, in their order
sub emojis {
    my ($server, $bot) = @_;
    return join ' ', @{ $nginx->sql(q(select array_agg(
        (doc || '}')::jsonb #>> '{emoji,name}' order by arrival) from entries
        where guild_id = ? and bot = ?), $server, $bot // 0) // [] };
}


subtest 'what comes of packets' => sub {
    my $server = $nginx->server;
    my @packets = (
        packet('CHANNEL_UPDATE', $server, id => $server, name => 'general'),
        packet('CHANNEL_UPDATE', $server, id => $server, name => 'hall'),
        reaction($server, 1),
        packet('NEVER_HEARD_OF', $server),
        packet('GUILD_AUDIT_LOG_ENTRY_CREATE', $server, action_type => 250,
            user_id => $ann, id => id_at(1000 * time)),
        packet('MESSAGE_DELETE', $server, id => id_at(1000 * time),
            channel_id => $server),
    );
    my ($out, $why, $status) = guildlog('events', @packets);
    is "$status $why", '0 ', 'packets are taken';
    is $out, 'recorded 2, duplicates 0, waiting 1, ignored CHANNEL_UPDATE 2,'
        . " unknown NEVER_HEARD_OF 1, unknown audit 250 1\n",
        '... and it is told what came of each';

    my $said = json->decode((guildlog('events --json', @packets[0 .. 4]))[0]);
    is_deeply $said, { recorded => 0, duplicates => 2, waiting => 0,
        dropped => {}, errors => [], ignored => { CHANNEL_UPDATE => 2 },
        unknown => { NEVER_HEARD_OF => 1, 'audit 250' => 1 } },
        'the same again is known; a program is told the same';
    is_deeply [guildlog('events')], ["recorded 0, duplicates 0, waiting 0\n",
        '', 0], 'nothing comes of nothing';

    guildlog('events --bot pro', reaction($server, 2));
    is emojis($server, 1), 'e2', 'those of the Pro bot are its';

    my $free = $nginx->server(plan => 'free');
    like +(guildlog('events', packet('GUILD_MEMBERS_CHUNK', $free, members =>
        [{ user => { id => $bob, username => 'b', bot => \1 } }]),
        reaction($free, 1)))[0], qr/dropped by bot_target 1,/,
        'what a rule drops is told';
};


subtest 'bad lines' => sub {
    my $server = $nginx->server;
    my ($out, $why, $status) = guildlog('events', "\n", reaction($server, 1),
        "no JSON\n", "  \n", '{"d":{}}' . "\n", reaction($server, 2),
        reaction('100000000000000000', 1), '{"t":"MESSAGE_DELETE","d":');
    is $status, 1, 'end as part of it';
    like $out, qr/^recorded 2,/, '... and do not hold up others';
    like $why, qr/\Aline 3: .*\nline 5: t: .*\nline 7: server: .*\nline 8: .*\Z/,
        '... and are told by their line, in their order';
    is emojis($server), 'e1 e2', '... which the others keep';
    is_deeply [map { $_->{line} } @{ json->decode((guildlog('events --json',
        "\n", "no JSON\n"))[0])->{errors} }], [2], '... to a program, too';
};


subtest 'more than a batch' => sub {
    my $server = $nginx->server;
    my ($out) = guildlog('events', map { reaction($server, $_) } 1 .. 2300);
    like $out, qr/^recorded 2300, duplicates 0,/, 'is taken';
    is emojis($server), join(' ', map { "e$_" } 1 .. 2300), '... in its order';

    my $large = 'w' x 3_000_000;
    ($out) = guildlog('events', map { reaction($server, $_, more => $large) }
        3001 .. 3003);
    like $out, qr/^recorded 3,/, 'also one that is large';
};


subtest 'a pipe that is written slowly' => sub {
    my $server = $nginx->server;
    open my $pipe, '|-', "exec '$tool' events > '$errors'" or die $!;
    my $write = sub { syswrite $pipe, $_[0] };

    $write->(line(reaction($server, 1)));
    wait_for { emojis($server) eq 'e1' };
    pass 'what is there is sent';
    my ($half, $rest) = line(reaction($server, 2)) =~ /^(.{40})(.*)/s;
    $write->(line(reaction($server, 3)) . $half);
    wait_for { emojis($server) eq 'e1 e3' };
    pass '... but for half of a line';
    $write->($rest);
    wait_for { emojis($server) eq 'e1 e3 e2' };
    pass '... until the rest comes';
    $write->(line(reaction($server, 4)) =~ s/\n//r);
    close $pipe;
    is $?, 0, '... to the end';
    is emojis($server), 'e1 e3 e2 e4', '... which may lack its newline';
    like slurp($errors), qr/^recorded 4, duplicates 0, waiting 0,? ?$/m,
        '... and all is summed';
};


subtest 'what could not be recorded now' => sub {
    my ($here, $there) = map { $nginx->server } 1 .. 2;
    my $service = Guildlog::Answers->new(answer => \&service);
    local $ENV{GUILDLOG_OPERATOR} = $service->url;

    # the second server's packets are to be sent again, twice
    $service->set(away => 2);
    $service->set(held => $there);
    my @packets = map { (reaction($here, $_), reaction($there, $_)) } 1 .. 501;
    my ($out, $why, $status) = guildlog('events --json', @packets);
    is "$status $why", '0 ', 'is sent again';
    is_deeply [map { json->decode($out)->{$_} } qw(recorded errors)],
        [1002, []], '... and summed once';
    my @batches = $service->asked;
    is_deeply [map { of($_, $there) } @batches], [1 .. 500, 1 .. 500, 1 .. 500,
        501], '... with all of its server, before what came later';
    is_deeply [map { of($_, $here) } @batches], [1 .. 501],
        '... but not what was recorded';
    is_deeply [grep { $_ < -1 || $_ > 1900 } lateness($service)], [],
        'the clock is told each time';

    $service->set(away => 100);
    ($out, $why, $status) = guildlog('events', reaction($there, 1),
        reaction($here, 2));
    is "$status $why", "1 line 1: is to be sent again\n",
        'what never could is told';
    like $out, qr/^recorded 1,/, '... as what was recorded';

    $service->set(away => 0);
    $service->set(busy => 1);
    my $before = @{ [$service->asked] };
    is +(guildlog('events', reaction($here, 3)))[2], 0,
        'a service that records nothing now is asked again';
    is @{ [$service->asked] } - $before, 2, '... as it asks to be';
    is_deeply [grep { $_ < -1 || $_ > 1900 } lateness($service)], [],
        '... and told the clock anew';
};


# what the stand-in of the service says: packets of the server "held" are to be
# sent again, so many times
sub service {
    my ($it, $request) = @_;

    my $busy = $it->get('busy');
    $it->set(busy => 0);
    return [503, {}, 'Retry-After' => 2] if $busy;

    my $away = $it->get('away');
    $it->set(away => $away - 1) if $away;
    my @packets = map { json->decode($_) } split /\n/, $request->{body};
    my @errors = map { +{ index => $_, error => 'is to be sent again',
        retry => \1 } } grep { $away > 0
            && $packets[$_]{d}{guild_id} eq $it->get('held') } 0 .. $#packets;
    return [200, { packets => @packets + 0, recorded => @packets - @errors,
        duplicates => 0, waiting => 0, dropped => {}, ignored => {},
        unknown => {}, errors => \@errors, wanted => [] }];
}


# by how many ms each request came behind what it says as "sent"
sub lateness {
    my ($service) = @_;
    return map { 1000 * $_->{time}
        - json->decode($_->{detail})->{query}{sent} } $service->seen('request');
}


# the numbers of a server's packets of a request
sub of {
    my ($request, $server) = @_;
    return map { $_->{d}{emoji}{name} =~ s/e//r + 0 }
        grep { $_->{d}{guild_id} eq $server }
        map { json->decode($_) } split /\n/, $request->{body};
}


done_testing;
