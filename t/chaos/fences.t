#!/usr/bin/perl
# Several troubles at once: the worker that delivers is killed every three
# seconds, the database's clock jumps both ways, a machine has a wrong secret, a
# server's plan ends and comes back.  No entry is lost or delivered twice,
# doubts are resolved soon after their attempt, and a search finds everything.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_KILLS says how long it is.

use lib 't/lib';
use Guildlog;
use Guildlog::Chaos;
use Guildlog::Chaos::Audit;
use Guildlog::Clock;
use Guildlog::Cluster;
use File::Temp qw(tempdir);
use Time::HiRes qw(sleep time);

use constant { EVERY => 3, HOUR => 3_600_000, OLD => 400 };

my $kills = $ENV{GUILDLOG_KILLS} || 40;
my $seed  = $ENV{GUILDLOG_SEED}  || time ^ $$;
diag("GUILDLOG_SEED=$seed GUILDLOG_KILLS=$kills");

my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0711, $dir;
my $clock = Guildlog::Clock->new($dir);
my $world = Guildlog::Chaos->new(seed => $seed, clock_jumps => 1,
    cluster => Guildlog::Cluster->new(env => $clock->env),
    keeper => 'on interval=200ms hours=0-24 budget=2000');
my $g = $world->{nginx}[0];

# one more machine, with a wrong secret

my $misfit = Guildlog->new(start => 0, name => 'misfit',
    cluster => $world->{cluster}, dbname => $world->{dbname});
$misfit->configure(http => $world->{platform}->directives($misfit));
$misfit->file('delivery.key', 'e1' x 32, 0600);
wait_for { $world->sql('select count(*) from delivery_secret') } 60,
    "the first machine's secret becomes the right one";
$misfit->start;

# a server whose plan ends and comes back, with entries beyond the other plan

my $lapsing = $g->server;
my $token   = $g->token($lapsing);
my $now     = int(time * 1000);
$g->operator('POST', "/servers/$lapsing/logs", [map { { event_id => "old $_",
    type => 5, content => "lapsing $_",
    timestamp => $now - 2 * HOUR - int(rand 18 * HOUR) } } 1 .. OLD]);


sub found {
    my $answer = $g->get("/servers/$lapsing/logs?search=lapsing&limit=1",
        token => $token);
    return $answer->status == 200 ? $answer->json->{total} : $answer->status;
}


sub plan_is {
    my ($plan) = @_;

    eval { wait_for { eval { $g->operator('PUT', "/servers/$lapsing",
        { plan => $plan })->status == 200 } } 30 };
}


is found(), OLD, 'at first a search finds everything';

$world->start;
my $misfits = 0;
while ($world->kills < $kills) {
    my $at = time;
    $world->harm('kill_deliverer');

    if (rand() < 0.4) {
        $clock->set((rand() < 0.5 ? -1 : 1) * (60 + rand 10_000));
        $world->{others}{'the clock jumps'}++;
    } elsif (rand() < 0.5) {
        $clock->set(0);
    }

    if (rand() < 0.5) {
        plan_is(rand() < 0.5 ? 'free' : 'pro_lite');
        $world->{others}{'a plan lapses'}++;
    } else {
        plan_is('pro');
    }

    $misfits++ if eval { $misfit->get('/status', raw_path => 1)->json
        ->{delivery_shards} } // 0;
    sleep EVERY - (time - $at) if time - $at < EVERY;
}
$clock->set(0);
plan_is('pro');

$world->settle(180);
is $misfits, 0, 'the machine with the wrong secret never had a shard';
is found(), OLD, 'with its plan back, the server sees everything again';

my $sum = 0;
for my $guild (keys %{ $world->{guilds} }) {
    my $all = $g->get("/servers/$guild/logs?limit=1&type=7",
        token => $world->{guilds}{$guild}{token})->json->{total};
    my $old = $g->get("/servers/$guild/logs?limit=1&type=7&search=old",
        token => $world->{guilds}{$guild}{token})->json->{total};
    my $new = $g->get("/servers/$guild/logs?limit=1&type=7&search=event",
        token => $world->{guilds}{$guild}{token})->json->{total};
    $sum += $all - $old - $new;
}
is $sum, 0, 'a search finds what the pages show';

Guildlog::Chaos::Audit->audit($world);
$misfit->stop;

done_testing;
