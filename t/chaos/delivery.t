#!/usr/bin/perl
# Whatever crashes: no entry is lost, none is delivered twice, "delivered" is
# what the platform has and "not_delivered" is what it has not, each lane in its
# order, one webhook a lane.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_SECONDS makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;
use Guildlog::Platform;
use Time::HiRes qw(sleep time);

my $seed    = $ENV{GUILDLOG_SEED}    || time ^ $$;
my $seconds = $ENV{GUILDLOG_SECONDS} || 25;
srand $seed;
diag("GUILDLOG_SEED=$seed");

my $cluster = Guildlog::Cluster->new;
my $g = Guildlog->new(start => 0, workers => 2, cluster => $cluster,
    api => 'guildlog_limit off;', allow => [qr/exited on signal 9/]);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my %channel_of;    # channels, by server
my %acked;         # server, by the id of an entry
my @open;          # batches without an answer yet: [server, entries]
my ($event, $kills) = (0, 0);

for my $i (1 .. 6) {
    my $guild = $g->server;
    my $token = $g->token($guild);
    my @channels = map { 300000000000000000 + $i * 10 + $_ . '' } 0 .. 1;
    $g->patch("/servers/$guild/config/logging/settings", token => $token,
        json => { buttons => $i % 2 ? [] : ['userID'] });
    $g->patch("/servers/$guild/config/logging/channels", token => $token,
        json => { main_channel => $channels[0],
                  category_text => $channels[1] });
    $channel_of{$guild} = \@channels;
}
my @guilds = sort keys %channel_of;


# some more entries; what had no answer is sent again as it was
sub record {
    push @open, map { [$guilds[rand @guilds], [map { {
        event_id => 'c' . ++$event, type => rand() < 0.5 ? 7 : 40,
        content => "entry $event", executor => { id => '5', name => 'Ann' },
    } } 1 .. 1 + rand 8]] } 1 .. 2;

    my @again;
    while (my $batch = shift @open) {
        my ($guild, $entries) = @$batch;
        my $answer = eval { $g->operator('POST', "/servers/$guild/logs",
            $entries) };
        if ($answer && $answer->status == 200) {
            $acked{$_} = $guild for @{ $answer->json->{ids} };
        } else {
            push @again, $batch;
        }
    }
    @open = @again;
}


my @harm = (
    [8, sub { $kills++; $g->signal('KILL', ($g->workers)[rand 2]) }],
    [4, sub { $kills++; $g->signal('KILL', $g->workers) }],
    [3, sub { $g->signal('HUP') }],
    [3, sub { $cluster->kill_all; sleep rand 1; $cluster->start }],
    [2, sub { $platform->stop; sleep rand 0.5; $platform->start }],
    [9, sub {
        my @actions = ({ action => 'apply-reset' }, { action => 'reset' },
            { action => 'apply-answer', status => 502, body => 'bad' },
            { action => 'answer', status => 503, body => 'bad' },
            { action => 'apply-answer', status => 500, body => {} },
            { action => 'answer', status => 429, headers =>
                { 'Retry-After' => 1, 'X-RateLimit-Scope' => 'user' },
              body => { message => 'limited', retry_after => 0.3 } });
        eval { $platform->faults(map { { call => rand() < 0.9 ? 'execute'
            : 'create', %{ $actions[rand @actions] } } } 1 .. 1 + rand 3) };
    }],
);


sub do_harm {
    my $draw = rand 29;
    for my $harm (@harm) {
        return $harm->[1]->() if ($draw -= $harm->[0]) < 0;
    }
}


my $end = time + $seconds;
my $next = time + 2;
while (time < $end) {
    record();
    if (time > $next) {
        do_harm();
        $next = time + rand 1.5;
    }
    sleep 0.02;
}

eval { $platform->faults };
$cluster->start if !eval { $cluster->connect('postgres')->ping };
delete $g->{dbh};
wait_for { record() ; !@open } 20, 'all are recorded';
my @ids = sort keys %acked;
note(scalar(@ids) . " entries, $kills kills");

# it settles

wait_for {
    eval { !$g->sql('select count(*) from guildlog.lane_ready') }
} 90, 'all is decided';

my %is;    # what the database says of an entry
for my $guild (@guilds) {
    for my $row ($g->sql('select e.id, d.status, d.message_id, e.lane, e.seq,
        d.reason, e.dchannel_id
        from guildlog.log_entry e, guildlog.lane_delivery(e.guild_id, e.lane,
            e.seq, to_timestamp(guildlog.id_time(e.id) / 1000.0)) d
        where e.guild_id = ? and e.lane is not null', $guild))
    {
        my %entry;
        @entry{qw(id status message lane seq reason channel)} = @$row;
        $is{ $entry{id} } = \%entry;
    }
}

my (%applied, %message);
for my $message ($platform->messages) {
    $message{ $message->{id} } = $message;
    push @{ $applied{$_} }, $message->{id} for $platform->entries_in($message);
}

sub none {
    my ($why, @bad) = @_;
    is scalar(@bad), 0, $why or diag(join ' ', @bad[0 .. ($#bad > 4 ? 4 : $#bad)]);
}

none('every acknowledged entry is stored', grep { !$is{$_} } @ids);
none('each has an outcome', grep { !defined $is{$_}{status}
    || ($is{$_}{reason} // '') =~ /^(?:queued|retrying|in_flight)$/ } keys %is);
none('delivered: the platform has it, as that message', grep {
    my $id = $_;
    $is{$id}{status} == 2
        && !grep { $_ eq $is{$id}{message} } @{ $applied{$id} || [] };
} keys %is);
none('not delivered: it has not', grep { $is{$_}{status} == 0 && $applied{$_} }
    keys %is);
none('nothing twice', grep { @{ $applied{$_} } > 1 } keys %applied);
none('outcomes leave no gap and do not overlap', map { $_->[0] } $g->sql(q{
    select b.lane from (select lane, seq_from, seq_to, lag(seq_to, 1, 0::bigint)
        over (partition by lane order by seq_from) as before
        from guildlog.lane_batch) b where b.seq_from <> b.before + 1}));

my %unknown;
$unknown{ $_->{lane} }++ for grep { $_->{status} == 1 } values %is;
cmp_ok scalar keys %unknown, '<=', 12, 'few are unknown: first messages only';
none('unknown: none that has a predecessor', map { $_->[0] } $g->sql(q{
    select u.lane from guildlog.lane_batch u where u.status = 1
       and exists (select from guildlog.lane_batch b where b.lane = u.lane
                      and b.status = 2 and b.seq_to < u.seq_from)}));

my @order;
my %last;
for my $it (sort { $a->{lane} cmp $b->{lane} || $a->{seq} <=> $b->{seq} }
    grep { $_->{status} == 2 } values %is)
{
    push @order, $it->{id} if $it->{message} < ($last{ $it->{lane} } // 0);
    $last{ $it->{lane} } = $it->{message};
}
none('messages follow the order of entries', @order);

my %webhooks;
$webhooks{ $_->{channel_id} }++ for $platform->webhooks;
none('one webhook a lane', grep { $webhooks{$_} > 1 } keys %webhooks);

my @tokens = map { $_->{webhook}{token} }
    grep { $_->{event} eq 'webhook' } $platform->ledger;
my $log = $g->error_log . $g->access_log;
none('no secret in a log', grep { index($log, $_) >= 0 } @tokens);

done_testing;
