# While somebody holds a snapshot, as a dump does, nothing goes of what each
# batch has changed.  Who records does not pass all of that again and again: a
# batch costs at the end of the dump what it cost at the beginning.

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new;
my @guilds = map { $nginx->server } 1 .. 20;
for my $guild (@guilds) {
    my $answer = $nginx->patch("/servers/$guild/config/logging/channels",
        token => $nginx->token($guild),
        json => { main_channel => '400000000000000001' });
    like $answer->status, qr/^2/, 'its logs go to a channel';
}

my $dbh = $nginx->cluster->connect($nginx->dbname);
my $events = 0;


# records so many batches of 100 for each, and returns what of the indexes was
# passed for one; PostgreSQL knows of that when the session says so
sub passed {
    my ($batches) = @_;

    my $before = looked_at();
    for my $guild ((@guilds) x $batches) {
        $dbh->do('select record(?, 0::smallint, ?)', undef, $guild,
            '[' . join(',', map {
                sprintf '{"event_id":"%d","type":0}', ++$events } 1 .. 100)
            . ']');
    }
    return (looked_at() - $before) / $batches / @guilds;
}


sub looked_at {
    $dbh->do('select pg_stat_force_next_flush()');
    return scalar $nginx->sql(q(select sum(idx_tup_read)
        from pg_stat_user_indexes where relname in ('log_head', 'lane_tail')));
}


passed(1);
my $holder = $nginx->cluster->connect($nginx->dbname);
$holder->begin_work;
$holder->do('set transaction isolation level repeatable read');
$holder->do('select count(*) from server');

passed(80);

# some looks, each of which passes a turn of 512 entries at most

my $passed = passed(5);
cmp_ok $passed, '<', 45, "little is passed for a batch ($passed)";
$holder->disconnect;

done_testing;
