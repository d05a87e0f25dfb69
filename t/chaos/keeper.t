#!/usr/bin/perl
# Whatever the keeper does, and wherever it is killed: every page, total, count,
# export and stream shows what was recorded.  Meanwhile two keepers run at once,
# entries of rewritten days are recorded, entries are removed, a server is
# reset, another one's plan changes, and days expire.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_SECONDS makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Client;
use Guildlog::Cluster;
use Guildlog::Days;
use List::Util qw(min shuffle uniq);
use Time::HiRes qw(sleep time);

use constant { HOUR => 3_600_000, DAY => 86_400_000, BUDGET => 256 };

my $seed    = $ENV{GUILDLOG_SEED}    || time ^ $$;
my $seconds = $ENV{GUILDLOG_SECONDS} || 30;
srand $seed;
diag("GUILDLOG_SEED=$seed");

my $cluster = Guildlog::Cluster->new;
my %option = (cluster => $cluster, workers => 2,
    keeper => 'on interval=20ms hours=0-24 budget=' . BUDGET,
    api => 'guildlog_limit off;', allow => [qr/exited on signal 9/]);
my $first  = Guildlog->new(%option, start => 0);
$first->start;
my $second = Guildlog->new(%option, name => 'second',
    dbname => $first->dbname);
month($first);
weeks($first);

# makes events a day older; those past keeping are deleted, when no index needs
# them any more
$first->sql(q(create function a_day() returns boolean language plpgsql as $$
    declare
        oldest  constant timestamptz := date_trunc('day',
                    now() - events_kept() + interval '1 day', 'UTC');
    begin
        perform from log_head order by guild_id, bot for update;
        update log_head h
           set days = array(select case when n % 2 = 1 then d - 1 else d end
                              from unnest(h.days) with ordinality u (d, n)
                             order by n);
        perform search_forgets(oldest);
        delete from log_event k where k.recorded_at < oldest;
        update log_event k
           set recorded_at = k.recorded_at - interval '1 day'
         where k.recorded_at < now() - interval '8 seconds';
        return true;
    end $$));

my %category = map { @$_ } $first->sql('select id, category from log_type');
my @types    = (5, 7, 40, 17);
my @channels = map { 310_000_000_000_000_000 + $_ } 1 .. 3;
my @people   = map { 210_000_000_000_000_000 + $_ } 1 .. 4;
my @words    = qw(apple pear plum fig);
my ($event, %did) = (0, days => 0);


# randomness

sub chance { return rand() < $_[0] }
sub pick   { return $_[rand @_] }
sub now    { return int(time * 1000) }


# The model: a server has what was recorded, newest first.  taken: the ids of
# removed entries; old: an entry before this time may be missing.

my @servers = map { new_server($_) } qw(pro pro free);


sub new_server {
    my ($plan) = @_;

    my $id = $first->server(plan => $plan);
    my %server = (id => $id, plan => $plan, token => $first->token($id),
        entries => [], taken => {}, old => 0);
    configure(\%server);
    return \%server;
}


# active ignore may remove entries of type 7
sub configure {
    my ($server) = @_;

    my $answer = again(sub { $_[0]->patch(
        "/servers/$server->{id}/config/logging/settings/7",
        token => $server->{token},
        json => { active_ignore => JSON::PP::true }) });
    die $answer->status, $answer->text if $answer->status != 202;
    services($server);
    return;
}


# entries that the API itself records
sub services {
    my ($server) = @_;

    my %known = map { $_->{id} => 1 } @{ $server->{entries} };
    add($server, map { json->decode($_->[0]) } grep { !$known{ $_->[1] } }
        $first->sql(q(select doc || '}', id from log_entry
            where guild_id = ? and bot = 0 and type >= 68), $server->{id}));
    return;
}


sub add {
    my ($server, @entries) = @_;

    $server->{entries} = [sort { $b->{id} <=> $a->{id} }
        @{ $server->{entries} }, @entries];
    @{ $server->{news} }{ map { $_->{id} } @entries } = () if $server->{news};
    return;
}


# repeats a request until it is answered: a worker may just have been killed
sub again {
    my ($code) = @_;

    return wait_for {
        my $answer = eval { $code->(pick($first, $second)) };
        $answer && $answer->status < 500 ? $answer : undef;
    } 60, 'an answer';
}


sub record {
    my ($server, @entries) = @_;

    my $answer = again(sub { $_[0]->operator('POST',
        "/servers/$server->{id}/logs", \@entries) })->json;
    my $ids = $answer->{ids};
    add($server, map { { %{ $entries[$_] }, id => $ids->[$_] } }
        grep { defined $ids->[$_] } 0 .. $#entries);
    return @$ids;
}


sub some_entry {
    my ($age, %more) = @_;

    return {
        event_id  => 'e' . ++$event,
        type      => pick(@types[0, 2, 3]),
        timestamp => now() - int($age),
        executor  => { id => '' . pick(@people), name => 'Ann' },
        channel   => { id => '' . pick(@channels), name => 'general' },
        content   => join(' ', map { pick(@words) } 1 .. 3),
        %more,
    };
}


sub some_age { return (0.01 + 29 * rand() ** (chance(0.5) ? 3 : 1)) * DAY }


# queries, and their answers by the model

sub some_query {
    my %q;
    $q{category} = pick(values %category) if chance(0.2);
    $q{type}     = pick(@types)           if chance(0.2);
    $q{channel}  = '' . pick(@channels)   if chance(0.2);
    $q{member}   = '' . pick(@people)     if chance(0.2);
    $q{search}   = pick(@words)           if chance(0.2);
    $q{after}    = now() - int some_age() if chance(0.2);
    $q{before}   = now() - int some_age() if chance(0.2);
    return \%q;
}


sub fits {
    my ($entry, $q) = @_;

    return 0 if $q->{type} && $entry->{type} != $q->{type};
    return 0 if $q->{channel}
        && ($entry->{channel} || {})->{id} ne $q->{channel};
    return 0 if $q->{member}
        && ($entry->{executor} || {})->{id} ne $q->{member};
    return 0 if $q->{search}
        && " $entry->{content} " !~ / $q->{search} /;
    return 0 if $q->{after}  && $entry->{timestamp} <= $q->{after};
    return 0 if $q->{before} && $entry->{timestamp} >= $q->{before};
    return 1;
}


sub window { return $_[0]{plan} eq 'pro' ? 30 * DAY : HOUR }


# what a query finds, without its category and without entries at the wall
sub expected {
    my ($server, $q) = @_;

    my $wall = now() - window($server);
    return grep { !$server->{taken}{ $_->{id} } && $_->{timestamp} >= $wall
        && fits({ %$_, content => $_->{content} // '',
            channel => $_->{channel} || { id => '' },
            executor => $_->{executor} || { id => '' } }, $q)
    } @{ $server->{entries} };
}


sub in_category {
    my ($q, @entries) = @_;
    return grep { !$q->{category} || $category{ $_->{type} } eq $q->{category} }
        @entries;
}


sub page {
    my ($server, $q, %more) = @_;

    my %all = (%$q, %more);
    my $query = join '&', map { "$_=$all{$_}" } sort keys %all;
    my $answer = again(sub { $_[0]->get("/servers/$server->{id}/logs?$query",
        token => $server->{token}) });
    die "$query: ", $answer->status, ' ', $answer->text
        if $answer->status != 200;
    return $answer->json;
}


my ($asked, @wrong) = (0);

# asks one query: the first page, its total and its counts
sub ask {
    my $server = pick(@servers);
    return if $server->{old};    # entries may be missing

    my $q    = some_query();
    my @all  = expected($server, $q);
    my @want = map { $_->{id} } in_category($q, @all);
    my $got  = page($server, $q, limit => 50);
    my %count;
    $count{ $category{ $_->{type} } }++ for @all;
    $asked++;

    my $as = json->encode($q) . " of $server->{id}";
    my @first = @want[0 .. min(49, $#want)];
    push @wrong, "$as: total $got->{total}, not " . @want
        if $got->{total} != @want;
    push @wrong, "$as: counts " . json->encode($got->{categoryCounts})
        . ', not ' . json->encode(\%count)
        if json->encode($got->{categoryCounts}) ne json->encode(\%count);
    my @ids = map { $_->{id} } @{ $got->{entries} };
    push @wrong, "$as: entries @ids, not @first" if "@ids" ne "@first";
    return;
}


# reads page after page while everything else goes on

my @walks;

sub walk {
    if (@walks < 4) {
        my $server = pick(@servers);
        my $q = some_query();
        delete @$q{qw(after before)};
        my @there = map { $_->{id} } in_category($q, expected($server, $q));
        push @walks, { server => $server, q => $q, there => \@there,
            got => [], plan => $server->{plan}, old => $server->{old},
            limit => min(200, 20 + int(@there / 8)) };
    }

    my $walk = shift @walks;
    my $page = page($walk->{server}, $walk->{q}, limit => $walk->{limit},
        defined $walk->{cursor} ? (cursor => $walk->{cursor}) : ());
    push @{ $walk->{got} }, map { $_->{id} } @{ $page->{entries} };
    $walk->{cursor} = $page->{cursor};
    push @walks, $walk if defined $walk->{cursor};
    walked($walk, 'walk') if !defined $walk->{cursor};
    return;
}


sub walked {
    my ($walk, $what) = @_;

    my $server = $walk->{server};
    return if $walk->{plan} ne $server->{plan};
    my %got;
    $got{$_}++ for @{ $walk->{got} };
    my %at   = map { $_->{id} => $_->{timestamp} } @{ $server->{entries} };
    my $wall = now() - window($server);
    my $as   = "$what " . json->encode($walk->{q} || {});

    push @wrong, "$as: $_ twice" for grep { $got{$_} > 1 } keys %got;
    push @wrong, "$as: $_ lost" for grep {
        !$got{$_} && !$server->{taken}{$_} && $at{$_} >= $wall
            && $at{$_} >= $walk->{old}
    } @{ $walk->{there} };
    push @wrong, "$as: $_ is nothing" for grep { !$at{$_} } keys %got;
    $did{$what}++;
    return;
}


# an export that is read slowly

my $export;

sub export {
    my $server = $servers[0];

    if (!$export) {
        my $nginx = pick($first, $second);
        my $client = eval { Guildlog::Client->new(port => $nginx->port,
            timeout => 60) } or return;
        $client->send("GET /api/servers/$server->{id}/logs/export HTTP/1.1"
            . "\r\nHost: x\r\nAuthorization: Bearer $server->{token}\r\n\r\n");
        $export = { client => $client, turns => 4, server => $server,
            there => [map { $_->{id} } expected($server, {})],
            plan => 'pro', old => 0 };
        return;
    }
    return if $export->{turns}--;

    my $answer = $export->{client}->response('GET');
    my $done = $export;
    $export = undef;

    # a worker that is killed leaves the body unfinished, which the test notices
    return if !$answer || $answer->truncated;
    $done->{got} = [$answer->text =~ /^[^,\r\n]+Z,(\d+),/mg];
    walked($done, 'export');
    return;
}


# a stream of a server that is never reset.  Its worker may be killed, and its
# listener is away for four days of six

my %stream;
my $until;

sub away { return $did{days} % 6 > 1 && time < $until }

sub listen_to {
    my $client = eval { Guildlog::Client->new(
        port => pick($first, $second)->port) } or return;
    $client->send("GET /api/servers/$servers[0]{id}/logs/stream HTTP/1.1\r\n"
        . "Host: x\r\nAuthorization: Bearer $servers[0]{token}\r\n"
        . (defined $stream{last} ? "Last-Event-ID: $stream{last}\r\n" : '')
        . "\r\n");
    @stream{qw(client buffer)} = ($client, '');
    return;
}


# what it was away for too long for is on pages, or happened long before
sub missed {
    my ($between) = @_;

    my $query = {%$between, limit => 200};
    my %there;
    do {
        my $page = page($servers[0], $query);
        $there{ $_->{id} } = 1 for @{ $page->{entries} };
        $query->{cursor} = $page->{cursor};
    } while defined $query->{cursor};

    for my $entry (@{ $servers[0]{entries} }) {
        delete $servers[0]{news}{ $entry->{id} }
            if $there{ $entry->{id} }
                || $entry->{timestamp} <= $between->{after};
    }
    $did{resets}++;
    return;
}


sub hear {
    if (away()) {
        delete $stream{client};
        return;
    }
    eval { listen_to() } if !$stream{client};
    return if !$stream{client};

    my $bytes = eval { $stream{client}->some(0.01) } // '';
    $stream{buffer} .= $bytes;
    while ($stream{buffer} =~ s/\A(.*?)\n\n//s) {
        my $event  = $1;
        my ($id)   = $event =~ /^id: (\d+)$/m or next;
        my ($data) = $event =~ /^data: (.*)$/m;
        $stream{last} = $id;
        if ($event =~ /^event: reset$/m) {
            missed(json->decode($data));
        } elsif (defined $data) {
            $stream{got}{$id}++;
        }
    }
    delete $stream{client} if $stream{buffer} =~ m{\AHTTP/1.1 [^2]}
        || $bytes eq '' && (eval { $stream{client}->closed(0.01) } // 1);
    return;
}


# the events of a run

sub sql { return $first->sql(@_) }

my @acts = map { ($_->[1]) x $_->[0] } (

    [10, sub { record(pick(@servers), map { some_entry(some_age()) } 1 .. 5) }],

    [4, sub { record(pick(@servers), map { some_entry(2000) } 1 .. 5) }],

    # held entries, some of which a request removes
    [6, sub {
        my $server = pick(@servers);
        my $who = '' . (100_000_000_000_000_000 + ++$event);
        my @ids = record($server, map { some_entry(some_age(), type => 7,
            executor => { id => $who, name => 'Bob' }) } 1 .. 6);
        again(sub { $_[0]->post(
            "/servers/$server->{id}/active/ignore/executors",
            token => $server->{token}, json => { id => $who, count => 3,
                time => 1 }) });
        my %left = map { $_->[0] => 1 } sql('select id from log_entry
            where guild_id = ? and id = any (?)', $server->{id}, \@ids);
        $server->{taken}{$_} = 1 for grep { !$left{$_} } @ids;
        push @wrong, 'more taken back than asked' if keys %left < 3;
        services($server);
        $did{taken}++ if keys %left < 6;
    }],

    [2, sub {
        my $server = $servers[1];
        again(sub { $_[0]->delete("/servers/$server->{id}",
            token => $server->{token}) });
        $server->{token} = $first->token($server->{id});
        configure($server);
        $did{reset}++;
    }],

    # a better plan, then the old one: entries that were hidden for a day may go
    [3, sub {
        my $server = pick(@servers[1, 2]);
        my $plan = $server->{plan} eq 'pro' ? 'free' : 'pro';
        again(sub { $_[0]->operator('PUT', "/servers/$server->{id}",
            { plan => $plan }) });

        # entries of the better plan are kept for some days
        if ($plan eq 'free') {
            $server->{kept} = $server->{old};
            $server->{old} = 0;
        } else {
            $server->{old} = $server->{kept} // now() - DAY;
        }

        $server->{plan} = $plan;
        $did{$plan}++;
    }],

    # entries beyond the time of keeping
    [3, sub {
        my $day = pick(33 .. 40);
        eval { sql(q(select partition_make('log_entry', 'log_entry_'
            || to_char(d, 'YYYYMMDD'), day_id(d)::text,
            day_id(d + 1)::text)
            from (select (now() at time zone 'UTC')::date - ?::int) x (d)),
            $day); 1 } or return;
        sql(q(select record(?::bigint, 0::smallint, jsonb_agg(
            jsonb_build_object('event_id', gen_random_uuid(), 'type', 5,
            'timestamp', ?::bigint + i))) from generate_series(1, 20) i),
            pick(@servers)->{id}, now() - $day * DAY);
        sql(q(update keeper set due_at = now() where task = 'expiry'));
        $did{expired}++;
    }],

    # the events become a day older
    [6, sub { $did{days}++ if sql('select a_day()') }],

    # everything is rewritten once more
    [6, sub {
        sql('select again()');
        $first->keeper_is_due;
    }],

    [4, sub {
        my @killed = $cluster->connect($first->dbname, 'postgres')
            ->selectrow_array(q(select count(pg_terminate_backend(pid))
                from pg_stat_activity where query ~ 'keeper_step'
                 and usename = 'guildlog' and random() < 0.7));
        $did{terminated} += $killed[0];
    }],

    [2, sub {
        my $nginx = pick($first, $second);
        $nginx->signal('KILL', pick($nginx->workers));
        $did{killed}++;
    }],

    [20, \&ask], [20, \&walk], [8, \&export],
);


# the first entries; long texts in the first server make its export slow

record($_, map { some_entry(some_age(), content => 'apple ' . 'x' x 1500) }
    1 .. 900) for ($servers[0]) x 4;
record($_, map { some_entry(some_age()) } 1 .. 600) for @servers[1, 2];
wait_for { hear(); length($stream{buffer} // '') };
record($servers[0], some_entry(2000));
wait_for { hear(); defined $stream{last} };    # it resumes from there
$servers[0]{news} = {};

$until = time + $seconds;
while (time < $until) {
    pick(@acts)->();
    hear();
}

# the last exports and walks end

walk() while @walks && $did{walk} < 1000 && (time < $until + 60);
while ($export && time < $until + 60) { export() }


# without further harm the keeper comes to an end, and nothing was wrong

my $calm = wait_for {
    sql('select count(*) from log_rewrite') == 0
        && sql('select rewrite_waiting()') == 0;
} 120, 'the rewrites end';
ok $calm, 'the keeper comes to an end';
ask() for 1 .. 60;

is_deeply [@wrong[0 .. min(4, $#wrong)]], [], "$asked queries, "
    . "$did{walk} walks and " . ($did{export} // 0) . ' exports are right'
    or diag "seed $seed, ", scalar @wrong, ' wrong';

my @twice = grep { $stream{got}{$_} > 1 } keys %{ $stream{got} };
is "@twice", '', 'the stream repeats no entry';
my @unheard = grep { !$servers[0]{taken}{$_} } keys %{ $servers[0]{news} };
ok eval { wait_for {
    hear();
    @unheard = grep { !$stream{got}{$_} } @unheard;
    !@unheard;
} 30 }, 'the stream leaves no entry out' or diag "@unheard";

my $swaps = sql('select last_value from log_rewrite_n_seq');
cmp_ok $swaps, '>', 2, "$swaps rewrites have begun";
cmp_ok $did{$_} // 0, '>', 0, "$did{$_} $_"
    for qw(taken reset expired terminated days resets);
is sql(q(select count(*) from pg_trigger where tgname = 'log_change')), 0,
    'no trigger is left';
is sql(q(select count(*) from pg_class where relname ~ '^log_entry_'
    and relkind = 'r' and not relispartition)), 0, 'no table is left';
is sql(q(select count(*) from keeper where errors > 0)), 0,
    'no task failed'
    or diag explain [sql('select * from keeper')];

done_testing;
