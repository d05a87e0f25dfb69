# A plan is kept as long as its connection, also one made when the directory had
# nothing in it yet: an entry's members and channel are looked for by their ids
# then as well.

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new;
my $guild = $nginx->server;
my $next  = 0;

# so that all of it is looked at: members' roles, channels and what is above
$nginx->sql('insert into ignore_entry (guild_id, bot, ignore_type, ignore_value)
    values ($1, 0, 0, 9), ($1, 0, 1, 9), ($1, 0, 5, 9), ($1, 0, 6, 9)', $guild);

# as nginx does
my $recorder = $nginx->cluster->connect($nginx->dbname);
$recorder->do('set plan_cache_mode = force_generic_plan');
$recorder->do('set jit = off');


# blocks that were looked at for a hundred entries
sub record {
    my ($plan) = $recorder->selectrow_array('explain (analyze, buffers,
        format json) select record(?::bigint, 0::smallint, (?::text)::jsonb)',
        undef, $guild, json->encode([map { {
            event_id => 'e' . $next++,
            type     => 5,
            executor => { id => "2000$_", name => 'Ann' },
            target   => { id => "2100$_", name => 'Bob' },
            channel  => { id => "2200$_", name => 'general' },
        } } 1 .. 100]));
    $plan = json->decode($plan)->[0]{Plan};
    return $plan->{'Shared Hit Blocks'} + $plan->{'Shared Read Blocks'};
}


record() for 1 .. 3;
my $before = record();

for my $kind (0, 1) {
    $nginx->sql('insert into directory (guild_id, kind, id, name)
        select $1, $2, n, n from generate_series(1, 30000) n', $guild, $kind);
}
my $after = record();
cmp_ok $after, '<', $before + 100 * 3 * 10, 'some blocks for each that is found';

done_testing;
