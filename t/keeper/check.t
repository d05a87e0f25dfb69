# "guildlog.check(guild) compares every derived structure with the entries;
# guildlog.rebuild(guild) makes them anew while service goes on": on a busy
# server neither finds a difference nor causes a wrong answer at any moment.

use lib 't/lib';
use Guildlog;
use Guildlog::Platform;

use Time::HiRes qw(time);

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;',
    keeper => 'on interval=20ms budget=2048');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my $guild = $g->server;
my $token = $g->token($guild);
my %as    = (token => $token);
my $event = 0;
my $n     = 0;

$g->patch("/servers/$guild/config/logging/settings", %as,
    json => { active_ignore => JSON::PP::true, buttons => [] });
$n = 1;
$g->patch("/servers/$guild/config/logging/channels", %as,
    json => { main_channel => '300000000000000001' });
$n = 2;


sub total {
    my ($query) = @_;
    return $g->get("/servers/$guild/logs?limit=1" . ($query // ''), %as)
        ->json->{total};
}


$n = total();


# records entries, a third of them with an earlier time, and removes some
sub record {
    my ($many) = @_;
    my $now = int(time * 1000);
    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => $_ % 11,
        timestamp => $now - ($_ % 3 ? 0 : 3_600_000 + $event),
        executor => { id => 500 + $_ % 3 . '', name => 'Ann' . $_ % 3 },
        target => { id => 600 + $_ % 2 . '', name => 'Ben' },
        channel => { id => '7', name => 'general' }, role => 'r' . $_ % 4,
        reason => "because of $event",
        content => 'Wörter und word' . $_ % 20 } } 1 .. $many]);
    die $answer->text
        if $answer->status != 200 || @{ $answer->json->{errors} };
    $n += $answer->json->{recorded};
}


sub differences {
    return join "\n", map { join ' | ', @$_ }
        $g->sql('select * from guildlog.check(?)', $guild);
}


my (@wrong, $checks);
$checks = 0;
my $until = time + 12;
while (time < $until || $checks < 9) {
    record(1 + int rand 400);
    push @wrong, differences();
    ++$checks;
    if ($checks % 5 == 2) {
        my $before = $g->sql('select count(*) from entries where guild_id = ?',
            $guild);
        $g->post("/servers/$guild/active/ignore/executors", %as,
            json => { id => '501', count => 5 });
        push @wrong, differences();
        $n = $g->sql('select count(*) from entries where guild_id = ?',
            $guild);
    }
    $g->sql('select guildlog.rebuild(?)', $guild) if $checks % 7 == 3;
    push @wrong, differences();
    my $is = total();
    push @wrong, "$is entries, not $n" if $is != $n;
    my $found = total('&search=w%C3%B6rter');
    my $said = $g->sql(q(select count(*) from entries where guild_id = ?
        and doc like '%Wörter%'), $guild);
    push @wrong, "$found found, not $said" if $found != $said;
}
is join("\n", grep { length } @wrong), '', 'nothing differs at any moment';

$g->sql(q(update keeper set due_at = now() where task = 'searchable'));
for my $table (qw(log_day search_segment)) {
    ok wait_for { scalar $g->sql("select 1 from $table where guild_id = ?
        limit 1", $guild) } 90, "the keeper has made rows of $table anew";
}
is differences(), '', 'nothing differs';

# the views for operators

is join(' ', map { $_->[0] } $g->sql('select task from status order by 1')),
    join(' ', map { $_->[0] } $g->sql(
        'select task from keeper_tasks() order by 1')), 'each task has a row';
is $g->sql(q(select count(*) from status where done_at is not null
    and lag >= 0 and errors = 0)),
    $g->sql('select count(*) from keeper_tasks()'), '... with its result';
SKIP: {
    skip 'on Citus the shards have them', 1 if $g->cluster->nodes > 1;
    cmp_ok $g->sql('select count(*) from status_partitions where bytes > 0'),
        '>=', 2, 'partitions have sizes';
}
is $g->sql('select count(*) from status_delivery'), 64, 'each shard has a row';
$g->operator('DELETE', "/servers/$guild/members/501/logs");
is $g->sql(q(select 1 from status_forget)) // 1, 1,
    'a person who is being forgotten has a row';
ok wait_for { !$g->sql('select 1 from forgotten_person') } 60,
    '... until the person is forgotten';
is differences(), '', 'nothing differs then';
is total(), $n, 'no count differs';
is total('&member=501'), 0, 'the person is forgotten';

is join(' ', map { $_->[0] } $g->sql(q(
    select c.relname from pg_class c
     where c.relnamespace = 'guildlog'::regnamespace
       and c.relkind in ('r', 'p', 'v') and not c.relispartition
       and obj_description(c.oid) is null order by 1))), '',
    'every table has a comment';

is $g->sql(q(select count(*) from (values ('check'), ('rebuild')) f (name)
    join pg_proc p on p.proname = f.name
     and p.pronamespace = 'guildlog'::regnamespace
   where has_function_privilege('guildlog', p.oid, 'execute'))), 0,
    'nginx may call neither function';

done_testing;
