# The keeper makes blocks of what has arrived.  Nobody who reads notices: each
# page and each count is exact at each moment, while keepers of two machines make
# them, are killed in the middle of it, or wait for one another.
#
# GUILDLOG_SEED repeats a run; GUILDLOG_ROUNDS makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Random;
use List::Util qw(min);

use constant { DAY => 86_400_000 };

my $seed   = $ENV{GUILDLOG_SEED} // 1;
my $rounds = $ENV{GUILDLOG_ROUNDS} // 120;
srand $seed;
note "GUILDLOG_SEED=$seed";

my $nginx = Guildlog->new(api => 'guildlog_limit off;',
    http => 'guildlog_page_cache 0;');
my $second = Guildlog->new(name => 'second', cluster => $nginx->cluster,
    dbname => $nginx->dbname, start => 0);

# small ones, so that there are many, and many are divided
$nginx->sql('create or replace function block_size() returns int
    language sql immutable as $$ select 6 $$');

my %category = map { @$_ } $nginx->sql('select id, category from log_type');
my ($server, %as, @stored);     # [id, type, time], the newest first


sub new_server {
    $server = $nginx->server(plan => 'pro');
    %as     = (token => $nginx->token($server));
    $nginx->no_entries($server);
    @stored = ();
    return $server;
}


sub now { return int(time * 1000) }


# records that many entries, of that long ago
sub record {
    my ($n, $age, %more) = @_;

    my @entries = map { { %{ random_entry() }, %more,
        timestamp => now() - 60_000 - int $age->() } } 1 .. $n;
    my $answer = $nginx->operator('POST', "/servers/$server/logs", \@entries);
    is $answer->json->{recorded}, $n, 'all are recorded'
        or diag $answer->text;
    my $ids = $answer->json->{ids};
    @stored = sort { $b->[0] <=> $a->[0] } @stored, map { [$ids->[$_],
        @{ $entries[$_] }{qw(type timestamp)}] } 0 .. $n - 1;
    return @$ids;
}


# what the service said itself is stored, too
sub noticed {
    my %known = map { $_->[0] => 1 } @stored;
    @stored = sort { $b->[0] <=> $a->[0] } @stored, grep { !$known{ $_->[0] } }
        $nginx->sql('select id, type, id_time(id) from entries
            where guild_id = ? and bot = 0', $server);
}


# what is wrong with a page, of any part
sub wrong {
    my %query = (limit => between(1, 200));
    $query{after}  = pick(@stored)->[2] - between(0, 1) if chance(0.4);
    $query{before} = pick(@stored)->[2] + between(0, 1) if chance(0.4);
    $query{type}   = pick(@stored)->[1]                 if chance(0.3);

    my @under = grep {
        (!defined $query{after} || $_->[2] > $query{after})
            && (!defined $query{before} || $_->[2] < $query{before})
            && (!defined $query{type} || $_->[1] == $query{type});
    } @stored;
    my %count;
    $count{ $category{ $_->[1] } }++ for @under;

    my ($from, $cursor, $string) = (0);
    for (1 .. 3) {
        $string = query_string({ %query, $cursor ? (cursor => $cursor) : () });
        my $answer = $nginx->get("/servers/$server/logs?$string", %as);
        return "$string: " . $answer->status if $answer->status != 200;
        my $page = $answer->json;
        my @want = map { $_->[0] }
            @under[$from .. min($from + $query{limit}, scalar @under) - 1];
        my @got  = map { $_->{id} } @{ $page->{entries} };
        return "$string: @got, not @want" if "@got" ne "@want";
        return "$string: $page->{total}, not " . (@under - $from)
            if $page->{total} != @under - $from;
        return "$string: counts " . json->encode($page->{categoryCounts})
            if json->encode($page->{categoryCounts}) ne json->encode(\%count);
        $from += @got;
        $cursor = $page->{cursor} // last;
    }
    return;
}


# asks so many times
sub exact {
    my ($n, $what) = @_;

    my $wrong;
    for (1 .. $n) {
        last if $wrong = wrong();
    }
    ok !$wrong, $what or diag "seed $seed: $wrong";
}


sub hot {
    return scalar $nginx->sql('select sum(arrival - blocked) from log_head
        where guild_id = ?', $server);
}


sub fits {
    is join("\n", map { join ' | ', map { $_ // '' } @$_ } $nginx->sql(
        'select * from guildlog.check(?)', $server)), '', 'all fits';
}


# one after the other, by hand

new_server();
record(40, sub { 0 });
exact(20, 'all are hot');
my $waiting = hot();
$nginx->some_blocks($server, 7);
is hot(), $waiting - 7, 'some are in blocks';
exact(20, '... and found');
record(40, sub { rand() ** 3 * 20 * DAY });
$nginx->blocks($server);
is hot(), 0, 'all are in blocks';
exact(20, '... and found');
for (1 .. 20) {
    record(between(1, 40), sub { rand() ** 2 * 20 * DAY });
    $nginx->some_blocks($server, between(1, 30));
    exact(5, 'late ones are put among others');
}
fits();


# who makes blocks is killed; another machine makes them, too

new_server();
$_->configure(keeper => 'on interval=5ms budget=512') for $nginx, $second;
$nginx->reload;
$second->start;

my $killed = 0;
my $kill = sub {
    $killed += $nginx->sql(q(select count(*) from (
        select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'active'
           and query ~ 'keeper_step' and pid <> pg_backend_pid()) x));
};

# one that was killed comes again after five seconds
my $until = time + 120;
for (my $n = 0; $n < $rounds || $killed <= 3 && time < $until; $n++) {
    record(between(1, 60), sub { chance(0.7) ? 0 : rand() ** 2 * 20 * DAY });
    $kill->();
    exact(3, 'a page while blocks are made');
    $kill->();
}
cmp_ok $killed, '>', 3, "keepers were killed: $killed times";
ok wait_for { hot() < 6 } 60, 'blocks are made all the same';
exact(30, '... of all that there is');
fits();


# somebody has the server in hand, and another one is not kept waiting

{
    my $other = $server;
    my @other = @stored;
    my %its   = %as;
    new_server();
    record(1, sub { 0 });
    $nginx->blocks($server);
    my $owner = $nginx->cluster->connect($nginx->dbname);
    $owner->begin_work;
    $owner->do('select from log_made where guild_id = ? for update', {}, $server);
    my $waits = $server;
    record(200, sub { 0 });
    exact(10, 'what waits for somebody is found');
    ($server, @stored) = ($other, @other);
    my %mine = %as;
    %as = %its;
    record(200, sub { 0 });
    ok wait_for { hot() < 6 } 60, 'blocks of another server are made';
    ($server, %as) = ($waits, %mine);
    is hot(), 200, '... and none of the first';
    $owner->rollback;
    ok wait_for { hot() < 6 } 60, 'then those of the first';
    fits();
}


# what is held, and all that came behind it

{
    new_server();
    my ($held) = record(1, sub { 0 }, executor => { id => '5' }, type => 5);
    $nginx->patch("/servers/$server/config/logging/settings", %as,
        json => { active_ignore => \1 });
    $nginx->sql("update log_arrival set held_to = now() + interval '1 hour'
        where guild_id = ? and id = ?", $server, $held);
    record(50, sub { rand() ** 2 * 20 * DAY });
    noticed();
    exact(20, 'a held entry is found');
    cmp_ok hot(), '>=', 51, '... and in no block, nor is what came later';
    is $nginx->post("/servers/$server/active/ignore/executors", %as,
        json => { id => '5' })->status, 200, 'a request takes it back';
    @stored = grep { $_->[0] ne $held } @stored;
    noticed();
    $nginx->sql('update log_arrival set held_to = now() where guild_id = ?
        and held_to is not null', $server);
    $nginx->sql('select count(*) from held_release()');
    ok wait_for { hot() < 6 } 60, '... then it is in nobody\'s way';
    exact(20, '... and not found');
    fits();
}


# of little, blocks are made when it is a day old

new_server();
$nginx->blocks($server);
record(5, sub { 0 });
is $nginx->sql("select count(*) from log_head where guild_id = ? and bot = 0
    and due_at between now() + interval '23 hours' and now() + interval '25 hours'",
    $server), 1, 'little waits for a day';
$nginx->sql('update log_head set due_at = now() where guild_id = ?', $server);
ok wait_for { hot() == 0 } 60, '... then it is in blocks';
exact(10, '... and found');

done_testing;
