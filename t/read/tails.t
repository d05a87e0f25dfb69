# "an arrival is read once a server and worker, however many tails there are":
# filters of a tail are judged in nginx, every listener gets exactly what GET
# /logs shows by its filters, in the order in which it arrived, whether it reads
# at once, slowly, comes back, or is far behind.
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

# 200 listeners are more than five tokens may have
my @tokens = map { $nginx->sign($nginx->claims($server, jti => $_->[0])) }
    $nginx->sql(q(insert into token
        select (jsonb_populate_record(t, jsonb_build_object('token_id',
                    gen_random_uuid()))).*
          from token t, generate_series(1, 20) where t.guild_id = ?
        returning token_id), $server);


# the ids, in the order in which they arrive
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


# some happened a while ago
sub record_some {
    my ($n) = @_;

    return record(map {
        my $entry = random_entry();
        delete $entry->{event_id};
        $entry->{timestamp} = int((time - rand 1000) * 1000) if chance(0.2);
        $entry;
    } 1 .. $n);
}


sub listen_to {
    my ($query, @headers) = @_;
    return Guildlog::Stream->new($nginx, $server, pick(@tokens), $query,
        @headers);
}


# how often that statement was asked
sub asked {
    my ($statement) = @_;

    my $text = $nginx->get('/status?format=prometheus', raw_path => 1)->text;
    return $text =~ /^guildlog_statement_seconds_count\{statement="$statement"
        \}\ (\d+)$/mx ? $1 : 0;
}


# all that GET /logs has by these filters, as they arrived
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


# what a listener got is what its pages have; false says what is wrong
sub wrong {
    my ($listener) = @_;

    my $q    = $listener->{query};
    my @want = grep { $_->{id} ne $ids[0] } @{ pages($q) };
    my $lack = @want - @{ $listener->{got} };
    push @{ $listener->{got} }, $listener->{stream}->events($lack, 20)
        if $lack > 0;
    push @{ $listener->{got} }, $listener->{stream}->events(1, 0.01);

    my $name = query_string($q);
    my @got  = map { $_->[1]{id} } @{ $listener->{got} };
    my @ids  = map { $_->{id} } @want;
    return "$name: events @got, not @ids" if "@got" ne "@ids";
    for my $i (0 .. $#want) {
        my ($one, $two) = map { JSON::PP->new->canonical->encode($_) }
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

my $before = asked('logs_tail') + asked('logs_past');
for (1 .. 5) {
    record_some(1);
    push @{ $all->{got} }, $all->{stream}->events(1);
}
is asked('logs_tail') + asked('logs_past') - $before, 5,
    'five arrivals are five statements';

record_some(100) for 1 .. 3;
my $n = all_right('everybody gets what the pages have', @listeners);
cmp_ok $n, '>', 1500, '... which is a lot';

# a reload, and everybody comes back with the id that was seen last

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

# readers who do not read while there is much to read, among others who do

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
all_right('... and get all in the end', @slow);

# some come back from far behind

record_some(400) for 1 .. 4;
my @far = map { { %$_, got => [],
    stream => listen_to($_->{string}, "Last-Event-ID: $ids[0]") } }
    @listeners[0 .. 9];
all_right('who is far behind catches up', @far);
cmp_ok asked('logs_past'), '>', 0, '... by what the database finds for it';
record_some(1);
all_right('nobody is in the way', @listeners, @far);

# what arrived is judged a moment at a time: some leave while others have it
# already, and somebody comes back

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
all_right('who leaves in the middle takes nothing from others', @listeners);

# a filter that matches nothing moves on all the same

$_->{stream}->close for @listeners[1 .. $#listeners], @far;
my $none = listen_to('search=nobodysaysthis');
record_some(1000) for 1 .. 3;
push @{ $all->{got} }, $all->{stream}->events(3000);
$before = asked('logs_past');
record({ content => 'nobodysaysthis' });
is $none->contents(1), 'nobodysaysthis', 'what is looked for comes';
is asked('logs_past'), $before, '... without looking at all of it again';

# an entry that is taken back is not shown, however long that takes to commit

$nginx->patch("/servers/$server/config/logging/settings", token => $first,
    json => { active_ignore => JSON::PP::true });
my $held = listen_to('type=44');
record({ content => 'taken', type => 44, executor => { id => '5' } });

my $taker = $nginx->cluster->connect($nginx->dbname);
my ($jti) = map { $_->[0] } $nginx->sql('select token_id from token
    where guild_id = ? limit 1', $server);
$taker->begin_work;
$taker->do(q(select active_ignore_executors(?, ?, 0::smallint, 1::smallint,
    '{"id": "5"}')), undef, $jti, $server);
wait_for {
    $nginx->sql(q(select until < clock_timestamp() - interval '2 s'
        from held_entry where guild_id = ?), $server)
} 30, 'nobody else can take it back';
$before = asked('logs_tail');
wait_for { asked('logs_tail') >= $before + 3 } 30, 'tails look for it';
is scalar(my @shown = $held->events(1, 0.01)), 0, 'it is not shown';
$taker->commit;
$nginx->patch("/servers/$server/config/logging/settings", token => $first,
    json => { active_ignore => JSON::PP::false });
record({ content => 'behind', type => 44 });
is $held->contents(1), 'behind', '... nor ever';

done_testing;
