#!/usr/bin/perl
# The platform's limits, while workers are killed and others use up the
# webhooks' limits: a webhook is refused at most once in a window, nothing is
# sent before the platform allows it, and every waiting entry is delivered.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_KILLS says how long it is.

use lib 't/lib';
use Guildlog;
use Guildlog::Chaos;
use Guildlog::Chaos::Audit;
use Time::HiRes qw(sleep time);

my $kills = $ENV{GUILDLOG_KILLS} || 30;
my $seed  = $ENV{GUILDLOG_SEED}  || time ^ $$;
diag("GUILDLOG_SEED=$seed GUILDLOG_KILLS=$kills");

my $world = Guildlog::Chaos->new(seed => $seed, servers => 3, pause => 0.1,
    platform_is => { webhook_limit => [5, 2], channel_limit => [30, 60],
                     global_limit => [50, 1] });
$world->start;

# harm that kills, but does not change the platform or its answers

my @harms = qw(kill_worker kill_deliverer kill_workers kill_machine
    kill_database strike_statement reload);
my (%spent, $spent);
while ($world->kills < $kills) {
    $world->harm($harms[rand @harms]);
    spend();
    sleep rand 1.5;
}


# a webhook is not refused in two windows one after the other
sub spend {
    for my $id (map { $_->{id} } $world->{platform}->webhooks) {
        next if time - ($spent{$id} // 0) < 5;
        $spent{$id} = time;
        $world->{platform}->spend_webhook($id);
        $spent++;
    }
}

$world->settle(300);
my $audit = Guildlog::Chaos::Audit->audit($world);

my %limited = %{ $audit->{limited} || {} };
my @often;
for my $webhook (keys %{ $limited{user} || {} }) {
    my @at = sort { $a <=> $b } @{ $limited{user}{$webhook} };
    push @often, map { "$webhook at $at[$_]" }
        grep { $at[$_] - $at[$_ - 1] < 2000 } 1 .. $#at;
}
is "@often", '', 'G9: at most one refusal for a window and webhook';
cmp_ok scalar(map { @$_ } values %{ $limited{user} || {} }),
    '>=', 1,
    'there were refusals';
note("$spent limits were used up by others");
note(join ', ', map {
    my $n = 0;
    $n += @$_ for values %{ $limited{$_} };
    "$n refused by the limit \"$_\"" } sort keys %limited);

done_testing;
