# A plan is kept as long as its connection.  Also a plan made while a table, or
# the partition of the day, was empty must find rows by their keys later on, and
# not read all rows of a server.

use lib 't/lib';
use Guildlog;
use Guildlog::Plan;

use List::Util qw(min);

my $nginx = Guildlog->new;
my $guild = $nginx->server;
my $token = $nginx->new_token($guild);
my $me    = "'$token->{unique_id}', $guild, 0::smallint, 1::smallint";
my $next  = 0;

# makes recording look at every part of an entry (members' roles, its channel
# and the parent of the channel), and holds the entry
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
    $nginx->sql("update log_arrival set held_to = now() + interval '1 hour'
        where held_to is not null");
    return;
}


sub release {
    $nginx->sql("update log_arrival set held_to = now() - interval '1 s'
        where held_to is not null");
    return blocks($session, 'select * from held_release(500)');
}


sub ignore {
    return blocks($session, "select * from active_ignore_executors($me,
        '{\"id\": \"1\"}')");
}


sub tail {
    return blocks($session, "select * from logs_tail($guild, 0::smallint,
        0, 10)");
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
# autovacuum may cause a new plan, which reads the catalog
cmp_ok min(map { record(100) } 1 .. 3), '<', $before + 100 * 3 * 10,
    'recording: members and channels';

record(1000) for 1 .. 3;
hold();
cmp_ok tail(), '<', 4000 * 20, 'a tail: held entries';
cmp_ok ignore(), '<', 4000 * 20, 'active ignore: entries to remove';
cmp_ok release(), '<', 4000 * 20, 'the release of held entries';


# a server that has many blocks, where the others have one each

my $large = $nginx->server;


sub made {
    record($_[0], $large);
    return blocks($session, "select block_make($large, 0::smallint)");
}


made(70);
$nginx->sql(q(insert into log_block
    select (jsonb_populate_record(k, jsonb_build_object('guild_id', i))).*
      from log_block k cross join generate_series(1, 500) i
     where k.guild_id = ? order by k.first_id limit 500), $large);
$nginx->sql('analyze log_block');

made(70);
my $few = made(70);
made(640) for 1 .. 20;
my $many = min(map { made(70) } 1 .. 3);
cmp_ok $many, '<', $few + 30, "blocks: those that are there ($few, $many)";

# the days of a plan that does not keep them are looked for each time

$nginx->sql(q(update server set plan = 'free', lapsed_at = null
    where guild_id = ?), $large);
made(70);
my $free = min(map { made(70) } 1 .. 2);
cmp_ok $free, '<', $few + 60, "blocks of who keeps two days ($few, $free)";

my $ids = $nginx->sql('select ids[1:3] from log_block where guild_id = ?
    order by first_id desc limit 1', $large);
$ids = '{' . join(',', @$ids) . '}' if ref $ids;
my $found = min(map { blocks($session,
    "select * from entries_named($large, 0::smallint, '$ids')") } 1 .. 2);
cmp_ok $found, '<', 30, "entries by their ids ($found)";

done_testing;
