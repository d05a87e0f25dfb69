# A plan is kept as long as its connection.  Also a plan made while a store was
# new, and had no statistics, must find what packets need by its key later on,
# and not read all that is known of a server.

use lib 't/lib';
use Guildlog;
use Guildlog::Plan;

use constant MANY => 20_000;

my $nginx = Guildlog->new;
my $guild = $nginx->server;

$nginx->sql("alter table $_ set (autovacuum_enabled = off)")
    for qw(directory known pair);

my $session = session($nginx);


# arrays of so many, each the same or by a number
sub arrays {
    my ($n, @of) = @_;

    return join ', ', map { "array(select $_ from generate_series(1, $n) n)" }
        @of;
}


# what is asked for 100 times, with ids at the end of what there is
sub known {
    my ($kind) = @_;

    return blocks($session, 'select * from operator_events_known('
        . arrays(100, "$guild", "$kind\::smallint", MANY . ' - n::bigint')
        . ')');
}


# 100 of one kind change, or go
sub keep {
    my ($kind, $doc) = @_;

    return blocks($session, 'select * from directory_keep('
        . arrays(100, "$guild", "$kind\::smallint", MANY . ' - n::bigint',
            "'$doc'::text") . ')');
}


# kinds of needs; not of 9, a message, which t/events/property.t kills at

my @kinds = (0 .. 8, 10, 11);
my %few   = map { $_ => known($_) } @kinds;

keep($_, '{"name": "x"}'), keep($_, '') for 1 .. 3;

$nginx->sql("insert into directory (guild_id, kind, id, name, roles, parent)
    select $guild, k, n, n, '{1,2,3}', 7
      from generate_series(0, 2) k, generate_series(1, ${\MANY}) n");
$nginx->sql("insert into known (guild_id, kind, id, doc)
    select $guild, k, n, '{\"channel_id\": \"' || n || '\"}'
      from generate_series(4, 7) k, generate_series(1, ${\MANY}) n");
$nginx->sql("insert into pair (guild_id, bot, event_id, kind, audit, state,
        at, due, person_id, doc)
    select $guild, 0, n, 1, false, 1, n, n, n, ''
      from generate_series(1, ${\MANY}) n");

cmp_ok known($_), '<', $few{$_} + 100 * 30, "what is known: kind $_"
    for @kinds;

for my $kind (1 .. 3) {
    cmp_ok keep($kind, '{"name": "x"}'), '<', 100 * 100,
        "what changes: kind $kind";
    cmp_ok keep($kind, ''), '<', 100 * 100, "what goes: kind $kind";
}

done_testing;
