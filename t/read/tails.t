# "an arrival is read once a server and worker, however many tails there are":
# nginx applies the filters of a tail.  Every listener gets exactly what GET
# /logs shows with the same filters, in the order of arrival, whether it reads
# at once, reads slowly, comes back, or is far behind.
#
# GUILDLOG_SEED repeats a run.

use lib 't/lib';
use Guildlog;
use Guildlog::Random;
use Guildlog::Stream;
use List::Util qw(uniq);
use Time::HiRes qw(time);

my $seed = $ENV{GUILDLOG_SEED} // 1;
srand $seed;
note "GUILDLOG_SEED=$seed";

my $nginx = Guildlog->new(connections => 2048, listen => 'sndbuf=8k',
    server => 'send_timeout 10m;',
    status => 'allow 127.0.0.1; deny all;',
    api => 'guildlog_limit requests=100000;');
my $server = $nginx->server;
my $first  = $nginx->token($server);
my $next   = 0;

# a server may not have enough tokens for 200 listeners
my @tokens = map { $nginx->sign($nginx->claims($server, jti => $_->[0])) }
    $nginx->sql(q(insert into token
        select (jsonb_populate_record(t, jsonb_build_object('token_id',
                    gen_random_uuid()))).*
          from token t, generate_series(1, 20) where t.guild_id = ?
        returning token_id), $server);


# the IDs in the order of arrival
my @ids;
sub record {
    my (@entries) = @_;

    my $answer = $nginx->operator('POST', "/servers/$server/logs", [map { {
        event_id => 'e' . $next++, type => 5, %$_,
    } } @entries]);
    die $answer->text if $answer->status != 200;
    my @new = @{ $answer->json->{ids} };
    push @ids, @new;
    return @new;
}


# some entries have an earlier time
sub record_some {
    my ($n) = @_;

    return record(map {
        my $entry = random_entry();
        delete $entry->{event_id};
        $entry->{timestamp} = int((time - rand 1000) * 1000) if chance(0.2);
        $entry;
    } 1 .. $n);
}


# a token has 20 streams at most, so they come in turns
sub listen_to {
    my ($query, @headers) = @_;
    push @tokens, shift @tokens;
    return Guildlog::Stream->new($nginx, $server, $tokens[-1], $query,
        @headers);
}


# the number of executions of a statement
sub asked {
    my ($statement) = @_;

    my $text = $nginx->get('/status?format=prometheus', raw_path => 1)->text;
    return $text =~ /^guildlog_statement_seconds_count\{statement="$statement"
        \}\ (\d+)$/mx ? $1 : 0;
}


# all that GET /logs shows with these filters, in the order of arrival
sub pages {
    my ($q) = @_;

    my $query = query_string({ %$q, limit => 200 });
    my ($cursor, %there);
    do {
        my $page = $nginx->get("/servers/$server/logs?$query"
            . (defined $cursor ? "&cursor=$cursor" : ''),
            token => $first)->json;
        $there{ $_->{id} } = $_ for @{ $page->{entries} };
        $cursor = $page->{cursor};
    } while defined $cursor;
    return [map { $there{$_} || () } @ids];
}


# compares a listener's events with its pages; returns what differs, or false
sub wrong {
    my ($listener) = @_;

    my $q    = $listener->{query};
    my @want = grep { $_->{id} ne $ids[0] } @{ pages($q) };
    my $lack = @want - @{ $listener->{got} };
    push @{ $listener->{got} }, $listener->{stream}->events($lack, 90)
        if $lack > 0;
    push @{ $listener->{got} }, $listener->{stream}->events(1, 0.01);

    my $name = query_string($q);
    my @got  = map { $_->[1]{id} } @{ $listener->{got} };
    my @ids  = map { $_->{id} } @want;
    my $at = 0;
    $at++ while $at < @got && $at < @ids && $got[$at] eq $ids[$at];
    return "$name: " . @got . ' events, not ' . @ids . ", from $at on: "
        . "@got[$at .. $#got], not @ids[$at .. $#ids]" if "@got" ne "@ids";
    for my $i (0 .. $#want) {
        my ($one, $two) = map { Cpanel::JSON::XS->new->canonical->encode($_) }
            $listener->{got}[$i][1], $want[$i];
        return "$name: $one, not $two" if $one ne $two;
    }
    return;
}


sub all_right {
    my ($what, @listeners) = @_;

    my ($wrong, $n) = (undef, 0);
    for (@listeners) {
        last if $wrong = wrong($_);
        $n += @{ $_->{got} };
    }
    ok !$wrong, $what or diag "seed $seed: ", substr $wrong, 0, 2000;
    return $n;
}


my @categories = map { $_->[0] }
    $nginx->sql('select distinct category from log_type');

record({ content => 'the first' });

# 200 listeners, each with filters of its own

my @queries = uniq map { query_string($_) } {}, map {
    my $q = random_query(@categories);
    $q->{channel} //= pick(@channels) if chance(0.3) || !%$q;
    $q->{after}  = int((time - rand 900) * 1000)  if chance(0.1);
    $q->{before} = int((time + rand 9000) * 1000) if chance(0.1);
    $q;
} 1 .. 2000;
splice @queries, 200;
is scalar @queries, 200, 'distinct filters';

my @listeners = map {
    my $stream = listen_to("$_&lastEventId=$ids[0]");
    $stream->{status} == 200 or die "$_: $stream->{status}";
    my %q;
    for (split /&/) {
        my ($name, $value) = map { s/%(..)/chr hex $1/ger } split /=/, $_, 2;
        utf8::decode($value);
        push @{ $q{$name} }, $value;
    }
    { query => \%q, string => $_, stream => $stream, got => [] };
} @queries;
my $all = $listeners[0];

my $before = asked('logs_tail');
for (1 .. 5) {
    record_some(1);
    push @{ $all->{got} }, $all->{stream}->events(1);
}
is asked('logs_tail') - $before, 5,
    'five arrivals take five statements';

record_some(100) for 1 .. 3;
my $n = all_right('every listener gets what its pages have', @listeners);
cmp_ok $n, '>', 1500, '... which are many events';

# a reload; every listener resumes after the last ID it saw

$_->{stream}->close for splice @listeners, 60;
$nginx->reload(nowait => 1);
record_some(50) for 1 .. 3;
for my $listener (@listeners) {
    my $stream = $listener->{stream};
    push @{ $listener->{got} }, $stream->events(1, 1) while !$stream->{ended};
    push @{ $listener->{got} }, @{ $stream->{events} };
    my $last = $stream->{id} // $ids[0];
    $listener->{stream} = listen_to($listener->{string},
        "Last-Event-ID: $last");
    $listener->{stream}{id} = $last;
}
record_some(50);
all_right('nothing is lost, doubled or out of order over a reload',
    @listeners);

# some readers do not read while many entries come

my @slow = @listeners[1 .. 20];
my $left = 1_200_000;
while ($left > 0) {
    my @entries = map { my $entry = random_entry(); delete $entry->{event_id};
        $entry->{contentAfter} = 'x' x 3000; $entry } 1 .. 50;
    record(@entries);
    $left -= 50 * 3000;
    push @{ $all->{got} }, $all->{stream}->events(50);
}
my %slow = map { $_->{string} => 1 } @slow;
all_right('slow readers take nothing from others',
    grep { !$slow{ $_->{string} } } @listeners);
all_right('... and get everything in the end', @slow);

# some listeners resume from far behind, over a midnight, while more comes

record_some(400) for 1 .. 4;
$nginx->days_pass(1, 'guild_id = ? and arrival <= 700', $server);
my @far = map { { %$_, got => [],
    stream => listen_to($_->{string}, "Last-Event-ID: $ids[0]") } }
    @listeners[0 .. 9];
for (1 .. 20) {
    record_some(30);
    push @{ $_->{got} }, $_->{stream}->events(1, 0.01) for @far;
}
all_right('a listener that is far behind catches up', @far);
record_some(1);
all_right('all listeners get everything', @listeners, @far);

# arrivals are filtered in time slices: some listeners leave while others have
# the event already, and one resumes

record_some(1000);
push @{ $all->{got} }, $all->{stream}->events(1);
my @leaving = grep { $_ % 3 == 1 } 1 .. $#listeners;
$_->{stream}->close for @listeners[@leaving];
my $back = $listeners[$leaving[-1]];
$back->{stream} = listen_to($back->{string}, 'Last-Event-ID: '
    . (@{ $back->{got} } ? $back->{got}[-1][0] : $ids[0]));
record_some(100);
pop @leaving;
my %gone = map { $_ => 1 } @leaving;
@listeners = @listeners[grep { !$gone{$_} } 0 .. $#listeners];
all_right('listeners that leave take nothing from others', @listeners);

# a filter that matches nothing moves its position forward, too

$_->{stream}->close for @listeners[1 .. $#listeners], @far;
my $none = listen_to('search=nobodysaysthis');
record_some(1000) for 1 .. 3;
push @{ $all->{got} }, $all->{stream}->events(3000);
$before = asked('logs_tail');
record({ content => 'nobodysaysthis' });
is $none->contents(1), 'nobodysaysthis', 'the first entry that matches comes';
is asked('logs_tail') - $before, 1, '... without those before it';

# an entry that a request removes is not shown, even if the commit takes long

$nginx->patch("/servers/$server/config/logging/settings", token => $first,
    json => { active_ignore => JSON::PP::true });
my $held = listen_to('type=44');
my $taker = $nginx->node($server);
my ($jti) = map { $_->[0] } $nginx->sql('select token_id from token
    where guild_id = ? limit 1', $server);

# once more if this took so long that the entry was not held any more
wait_for {
    record({ content => 'taken', type => 44, executor => { id => '5' } });
    $taker->begin_work;
    my $taken = $taker->selectrow_array(q(select counts
        from active_ignore_executors(?, ?, 0::smallint, 1::smallint,
            '{"id": "5"}')), undef, $jti, $server);
    if (!$taken) {
        $taker->rollback;
        $held->events(1);
    }
    $taken;
} 60, 'an entry is taken back while it is held';
wait_for {
    $nginx->sql(q(select held_to < clock_timestamp() - interval '2 s'
        from log_arrival where guild_id = ? and held_to is not null), $server)
} 30, 'no other request can remove it';
$before = asked('logs_tail');
wait_for { asked('logs_tail') >= $before + 3 } 30, 'tails ask for it';
is scalar(my @shown = $held->events(1, 0.01)), 0, 'the entry is not shown';
$taker->commit;
$nginx->patch("/servers/$server/config/logging/settings", token => $first,
    json => { active_ignore => JSON::PP::false });
record({ content => 'behind', type => 44 });
is $held->contents(1), 'behind', '... nor later';

done_testing;
