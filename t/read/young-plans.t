# A plan is kept as long as its connection, also one made when a table, or the
# partition of the day, had nothing in it yet: what is looked for by its id then
# is found by it later on, too, and not by looking at all that a server has.

use lib 't/lib';
use Guildlog;
use Guildlog::Plan;

use List::Util qw(min);

my $nginx = Guildlog->new;
my $guild = $nginx->server;
my $token = $nginx->new_token($guild);
my $me    = "'$token->{unique_id}', $guild, 0::smallint, 1::smallint";
my $next  = 0;

# so that all of an entry is looked at: members' roles, its channel, what is
# above it; and so that it is held
$nginx->sql('insert into ignore_entry (guild_id, bot, ignore_type, ignore_value)
    values ($1, 0, 0, 9), ($1, 0, 1, 9), ($1, 0, 5, 9), ($1, 0, 6, 9)', $guild);
$nginx->patch("/servers/$guild/config/logging/settings",
    token => $token->{token}, json => { active_ignore => \1 });

my $session = session($nginx);


sub record {
    my ($n, $server) = ($_[0], $_[1] // $guild);

    my $entries = json->encode([map { {
        event_id => 'e' . $next++,
        type     => 5,
        executor => { id => "2000$_", name => 'Ann' },
        target   => { id => "2100$_", name => "Bob $_" },
        channel  => { id => "2200$_", name => 'general' },
    } } 1 .. $n]);
    return blocks($session, "select record($server, 0::smallint, '$entries')");
}


sub hold {
    $nginx->sql("update held_entry set until = now() + interval '1 hour'");
    return;
}


sub release {
    $nginx->sql("update held_entry set until = now() - interval '1 s'");
    return blocks($session, 'select * from held_release(500)');
}


sub ignore {
    return blocks($session, "select * from active_ignore_executors($me,
        '{\"id\": \"1\"}')");
}


sub tail {
    return blocks($session, "select * from logs_tail($guild, 0::smallint, null, null,
        null, null, null, null, null, null, null, 0, 10)");
}


for (1 .. 3) {
    record(100);
    hold();
    tail();
    ignore();
    release();
}

my $before = record(100);
for my $kind (0, 1) {
    $nginx->sql('insert into directory (guild_id, kind, id, name)
        select $1, $2, n, n from generate_series(1, 30000) n', $guild, $kind);
}
# autovacuum may have it planned anew, which takes a look at the catalog
cmp_ok min(map { record(100) } 1 .. 3), '<', $before + 100 * 3 * 10,
    'the members and the channel of an entry';

record(1000) for 1 .. 3;
hold();
cmp_ok tail(), '<', 4000 * 20, 'a tail: the entries that are held';
cmp_ok ignore(), '<', 4000 * 20, 'those that are to be taken back';
cmp_ok release(), '<', 4000 * 20, 'those that are held no more';

# names that the index of searches has; the planner knows that there are none
$nginx->sql('analyze search_string');
my $other = $nginx->server;
$nginx->sql('insert into search_head (guild_id, bot) values ($1, 0)', $other);


sub index_more {
    record(256, $other);
    return blocks($session, 'select search_index(1000)');
}


$before = index_more();
$nginx->sql("insert into search_string (guild_id, bot, number, kind,
    string) select \$1, 0, -n, 0, 'Member ' || n
    from generate_series(1, 30000) n", $other);
cmp_ok min(map { index_more() } 1 .. 3), '<', $before + 10_000,
    'the names of entries that become part of an index';

done_testing;
