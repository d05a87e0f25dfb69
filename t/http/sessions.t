# Signing in, signing out and asking the platform anew for one person, at the
# same time: one waits for the other, and none fails.  Each took the sessions
# that it saw in their order, and then changed one that had begun meanwhile:
# three of them could wait in a ring.

use lib 't/lib';
use Guildlog;
use DBD::Pg ':async';

my $g = Guildlog->new;
my @db = map { $g->cluster->connect($g->dbname) } 1 .. 4;
my ($first, $second, $third, $holder) = @db;


# begins the session of that id of person 77
sub begins {
    my ($db, $id, $servers, %how) = @_;

    my $begin = $db->prepare('select status from session_begin(?, 77, ?, ?)',
        \%how);
    $begin->execute($id, 'Ada', $servers);
    return $begin;
}


sub waits {
    my ($how_many) = @_;

    wait_for { $g->sql(q{select count(*) from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()})
        == $how_many } 20, "$how_many wait";
}


begins($first, 'm', '{1,2}');

# the second one waits for the first one, and then for whoever has its id
$holder->begin_work;
$holder->do(q{insert into session (session_id, user_id, name, expires_at)
    values ('z', 78, 'Bob', now())});
$first->begin_work;
begins($first, 'a', '{1,2}');
my $begun = begins($second, 'z', '{1}', pg_async => PG_ASYNC);
waits(1);
$first->commit;
waits(1);
my $ended = $third->prepare('select sessions_end(77, null)',
    { pg_async => PG_ASYNC });
$ended->execute;
waits(2);
$holder->rollback;

my @told = map { my $it = $_; eval { $it->pg_result; $it->fetchrow_array }
    // $it->errstr } $begun, $ended;
is $told[0], 200, 'a session begins';
cmp_ok $told[1], '>=', 2, '... while all of the person end';
is $g->sql('select count(*) from session where user_id = 77'), 3,
    'each is known';
($begun, $ended) = ();
$_->disconnect for @db;

done_testing;
