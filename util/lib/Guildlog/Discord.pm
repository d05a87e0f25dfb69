package Guildlog::Discord;

# The audit log of a server, read from the platform and handed in as packets of
# its gateway, oldest first.  There is one import in a process.
#
# Names are taught by packets, too, and a bot may be at work beside it.  So there
# is no GUILD_CREATE: it would empty the voice channels, and nothing is joined for
# 10 s around it.  These only say what the platform has now, and make no entry:
#
#   GUILD_UPDATE         makes a server known, by the plan of the configuration;
#                        without the level of its boosts, a change of which is told
#   CHANNEL_UPDATE, THREAD_UPDATE, GUILD_ROLE_UPDATE
#   GUILD_MEMBERS_CHUNK  people without roles: members keep those they have, others
#                        get a name alone, as who leaves keeps.  Nobody is counted
#   GUILD_SCHEDULED_EVENT_UPDATE, AUTO_MODERATION_RULE_UPDATE,
#   GUILD_STICKERS_UPDATE
#   INTEGRATION_UPDATE   for webhooks, of which no packet tells the name.  Not for
#                        integrations: no entry names one, and a page does not say
#                        of which bot it is, which would be forgotten
#
# An old entry teaches the name that it gave to a thing, so the names of things
# come behind a page once more.  Each entry is heard ("at") when it happened: it
# would be joined with what happens now otherwise, and name the wrong person.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use File::Basename qw(dirname);
use File::Path qw(make_path);
use JSON::PP ();
use List::Util qw(max sum0);
use Time::HiRes qw(sleep time);

use Guildlog::Service;
use Guildlog::Show;

our @EXPORT = qw(import_log);

my $platform = 'https://discord.com/api/v10';
my $epoch = 1_420_070_400_000;    # of the ids of the platform, ms
my $day   = 86_400_000;
my $kept  = 45 * $day;            # ms for which the platform keeps its log
my $taken = 30 * $day;            # ... and guildlog takes an entry
my $once  = 23 * 3_600_000;       # the same event is taken once in 24 h
my $tries = 6;
my $audit = 'GUILD_AUDIT_LOG_ENTRY_CREATE';

my %why = (
    401 => 'the platform does not know this token',
    403 => 'the bot may not do this in this server: it needs the permission'
        . ' View Audit Log',
    404 => 'the bot is not in this server',
);

my $json = JSON::PP->new->utf8->canonical;
my ($server, %how, $place, @stickers);
my $free = 0;                     # when the platform may be asked again

my %n = (read => 0, left => 0, tooOld => 0);
my $said = sum_of(qw(waiting dropped ignored unknown));

# also of an import that ends before its time
END { local $?; told() if $n{read} }


# how: token, place (a file), deliver, before (ms), platform, agent, and what gives
# the query of packets.  Returns whether all was taken

sub import_log {
    ($server, %how) = @_;

    $place = placed();
    begin();
    1 while page();
    told();
    $n{read} = 0;
    return !%{ refused() };
}


# What there is; up to when the bot itself has handed in what happened

sub begin {
    my $guild = get("/guilds/$server");

    hand_in(packet('GUILD_UPDATE', { id => $server,
        map { $_ => $guild->{$_} } qw(name owner_id) }));
    my $known = decode(operator('PUT', "/servers/$server", undef, {}));

    no_log_channels($server) if !$how{deliver};
    $place->{after}  //= ((now() - $kept - $epoch) << 22) . '';
    $place->{before} //= $known->{first_log_at} // 9_007_199_254_740_991;

    @stickers = packet('GUILD_STICKERS_UPDATE',
        { stickers => [map { some($_) } @{ $guild->{stickers} || [] }] });
    hand_in((map { packet('CHANNEL_UPDATE', some($_)) }
            @{ get("/guilds/$server/channels") }),
        map { packet('GUILD_ROLE_UPDATE', { role => some($_) }) }
            @{ $guild->{roles} || [] });
}


# The next page; whether there was one

sub page {
    my $page = get("/guilds/$server/audit-logs?limit=100"
        . "&after=$place->{after}");
    my @entries = @{ $page->{audit_log_entries} } or return 0;
    my @packets;

    for my $entry (@entries) {
        my $at = ("$entry->{id}" >> 22) + $epoch;   # it stays a text
        my $old = $at < now() - $taken;

        # of what is too old, only what teaches a name is of use
        my $of_use = !$old
            || grep { $_->{key} eq 'name' } @{ $entry->{changes} || [] };
        $n{read}++;
        if (!wanted($at)) {
            $n{left}++;
        } elsif (!$of_use) {
            $n{tooOld}++;
        } else {
            push @packets, { %{ packet($audit, $entry) }, at => $at };
        }
    }
    my @names = @packets ? names($page) : ();
    keep();    # from now on the first entry of the server may be one of these
    hand_in(@names, @packets, @names);
    $place->{after} = $entries[-1]{id};
    keep();
    return 1;
}


# What the bot has handed in is older than that, or would be a duplicate

sub wanted {
    my ($at) = @_;
    return $at < ($how{before} // $place->{before})
        || !defined $how{before} && $at > now() - $once;
}


sub names {
    my ($page) = @_;
    my %packet = (
        threads                => 'THREAD_UPDATE',
        webhooks               => 'INTEGRATION_UPDATE',
        guild_scheduled_events => 'GUILD_SCHEDULED_EVENT_UPDATE',
        auto_moderation_rules  => 'AUTO_MODERATION_RULE_UPDATE',
    );
    return packet('GUILD_MEMBERS_CHUNK', { members => [map {
            { user => some($_) } } @{ $page->{users} || [] }] }),
        @stickers, map { my $list = $_; map { packet($packet{$list}, some($_)) }
            @{ $page->{$list} || [] } } sort keys %packet;
}


sub packet {
    my ($t, $d) = @_;
    return { t => $t, d => { %$d, guild_id => $server } };
}


# what teaches a name, and where it belongs
sub some {
    my ($thing) = @_;
    return { map { $_ => $thing->{$_} } grep { defined $thing->{$_} }
        qw(id name username bot type parent_id channel_id) };
}


sub hand_in {
    my @lines = map { [0, $json->encode($_)] } @_;
    send_all(sub { shift @lines }, ['/events', $how{query}], $said);
    fail(4, 'the service could not record it now; the import goes on there')
        if grep { $_->{retry} } @{ $said->{errors} };
}


# The platform, within its limits: it is not asked before it wants that.

sub get {
    my ($path) = @_;

    for (my $failures = 0;;) {
        sleep max(0, $free - time);
        my ($status, $value, $seconds) = once($path);
        $free = time + $seconds;
        return $value if $status == 200;
        next if $status == 429;
        fail(3, $why{$status} // "GET $path: $status "
            . ($value->{message} // '')) if $status && $status < 500;
        fail(4, 'the platform does not answer: ' . ($status || $value))
            if ++$failures == $tries;
        $free = time + 2 ** $failures / 4;
    }
}


# (status, value, seconds until the next call); 0: no answer, and why
sub once {
    my ($path) = @_;

    my $answer = curl('GET', ($how{platform} // $platform) . $path, other => 1,
        header => ["Authorization: Bot $how{token}",
            "User-Agent: DiscordBot (guildlog, $how{agent})"])
        or return (0, complaint() || 'no answer', 0);
    my $text = do { local $/; readline $answer->{in} } // '';
    my $value = eval { parsed($text) };
    my ($status, %header) = ($answer->{status}, %{ $answer->{headers} });

    return (0, 'the answer was cut off', 0)
        if !close $answer->{in} || $status == 200 && !ref $value;
    $value = {} if ref $value ne 'HASH' && $status != 200;
    return ($status, $value, $status == 429
        ? max($value->{retry_after} // 0, $header{'retry-after'} // 0) || 1
        : ($header{'x-ratelimit-remaining'} // 1) eq '0'
            ? $header{'x-ratelimit-reset-after'} // 0 : 0);
}


sub now { return int 1000 * time }


# How far it has come

sub placed {
    open my $in, '<', $how{place} or return $!{ENOENT} ? {}
        : fail(2, "$how{place}: $!");
    my $it = eval { parsed(do { local $/; readline $in }) };
    fail(2, "$how{place}: it does not say how far an import has come")
        if ref $it ne 'HASH' || ($it->{after} // 0) !~ /^\d+$/;
    return $it;
}


# as a whole or not at all
sub keep {
    eval { make_path(dirname($how{place})); 1 } or fail(4, $@ =~ s/ at .*//sr);
    my $new = "$how{place}.new";
    open my $out, '>', $new or fail(4, "$new: $!");
    print {$out} $json->encode($place);
    close $out && rename $new, $how{place} or fail(4, "$how{place}: $!");
}


# What came of it, in numbers

sub refused {
    my %refused;
    $refused{$_}++ for grep { !/^timestamp:/ }
        map { $_->{error} } @{ $said->{errors} };
    return \%refused;
}


sub told {
    my $refused = refused();
    my %sum = (
        %n, refused => $refused,
        (map { $_ => $said->{$_} } qw(recorded duplicates waiting dropped)),
        untold  => $said->{ignored}{$audit} // 0,
        unknown => sum0(values %{ $said->{unknown} }),
        tooOld  => $n{tooOld} + @{ $said->{errors} } - sum0(values %$refused),
    );
    return show(\%sum) if $Guildlog::Show::as_json;

    my @lines = (
        [$sum{read}, 'entries of the audit log were read, which reaches back'
            . ' 45 days'],
        [$sum{recorded}, 'are recorded'],
        [$sum{waiting}, 'wait in the service, which records them in a moment'],
        [$sum{duplicates}, 'were there already'],
        (map { [$sum{dropped}{$_}, "were dropped by the rule $_"] }
            sort keys %{ $sum{dropped} }),
        [$sum{tooOld}, 'are older than 30 days, which is all that guildlog'
            . ' takes'],
        [$sum{left}, 'were left to the bot, which has been there since'],
        [$sum{untold}, 'have no log type'],
        [$sum{unknown}, 'have no log type of their own yet, and the type 30'],
        (map { [$refused->{$_}, "were refused: $_"] } sort keys %$refused),
    );
    print plain("@{ $lines[$_] }"), "\n"
        for grep { $lines[$_][0] || $_ < 2 } 0 .. $#lines;
}


1;
