#!/usr/bin/perl
# Whatever the keeper does, and wherever it is killed: every page, total, count,
# export and stream shows what was recorded, and pages what became of deliveries.
# Meanwhile two keepers run at once: they make blocks, say in them what became of
# deliveries, delete days past keeping and those of plans that lapsed, and drop
# partitions.  Late entries go into old blocks, entries are taken back, the same
# events come again, a server is reset, another one's plan changes, and what is
# derived is made anew.
#
# GUILDLOG_SEED repeats a run, GUILDLOG_SECONDS makes it longer.

use lib 't/lib';
use Guildlog;
use Guildlog::Client;
use Guildlog::Cluster;
use Guildlog::Days;
use List::Util qw(max min);
use Time::HiRes qw(sleep time);

use constant { HOUR => 3_600_000, DAY => 86_400_000, BUDGET => 256 };

my $seed    = $ENV{GUILDLOG_SEED}    || time ^ $$;
my $seconds = $ENV{GUILDLOG_SECONDS} || 30;
srand $seed;
diag("GUILDLOG_SEED=$seed");

my $cluster = Guildlog::Cluster->new;
my %option = (cluster => $cluster, workers => 2,
    keeper => 'on interval=20ms budget=' . BUDGET,
    api => 'guildlog_limit off;', allow => [qr/exited on signal 9/]);
my $first  = Guildlog->new(%option, start => 0);
$first->start;
my $second = Guildlog->new(%option, name => 'second',
    dbname => $first->dbname);
past($first, 7);

# small blocks, so that there are many, and many are divided
$first->sql('create or replace function block_size() returns int
    language sql immutable as $$ select 8 $$');

# Who changes blocks, days or partitions stops in the middle of a function that
# is named here, if chance wants it, and says so.

$first->sql(q(create table harm (what text)));
$first->sql(q(create function stumble() returns void language plpgsql
    security definer set search_path = guildlog, pg_temp as $$
    declare
        was    constant text := current_setting('application_name');
        stack  text;
        its    text;
    begin
        if not exists (select from harm) then return; end if;
        get diagnostics stack = pg_context;
        its := (select what from harm
                 where position(' ' || what || chr(40) in stack) > 0);
        if its ~ 'partition' or random() < 0.4 and its is not null then
            perform set_config('application_name', its, false);
            perform pg_sleep(3);
            perform set_config('application_name', was, false);
        end if;
    end $$));
$first->sql(q(create function stumbles() returns trigger language plpgsql
    as $$ begin perform guildlog.stumble(); return null; end $$));
$first->sql("create trigger stumbles after insert or update or delete on $_
    execute function stumbles()") for qw(log_block log_day log_made replay);
my $root = $cluster->connect($first->dbname, 'postgres');
$root->do(q(create function guildlog.drops() returns event_trigger
    language plpgsql as $$ begin perform guildlog.stumble(); end $$));
$root->do('create event trigger drops on sql_drop
    execute function guildlog.drops()');

# decides up to so many places of each lane, as who delivers would have
$first->sql(q(create function decide(guild bigint, most int, out id bigint,
    out said text) returns setof record language plpgsql as $$
    declare
        l        record;
        message  bigint;
    begin
        for l in
            select h.lane, h.head + 1 as first,
                   least(h.head + most, t.tail) as last
              from lane_head h
              join lane_tail t on t.guild_id = guild and t.lane = h.lane
             where h.guild_id = guild and h.head < t.tail
             order by h.lane for update of h
        loop
            message := case when random() < 0.7
                            then (random() * 1e15)::bigint + 1 end;
            insert into lane_batch (guild_id, lane, seq_from, seq_to,
                message_id, done_at, attempts, status, reason)
            values (guild, l.lane, l.first, l.last, message,
                clock_timestamp(), 1, case when message > 0 then 2 else 0 end,
                case when message > 0 then null else 'expired' end);
            update lane_head h
               set head = l.last, upto = l.last, step = h.step + 2
             where h.guild_id = guild and h.lane = l.lane;
            return query
                select x.id, coalesce('delivered ' || message,
                                      'not_delivered expired')
                  from (select a.id, a.seq from log_arrival a
                         where a.guild_id = guild and a.lane = l.lane
                         union
                        select r.id, r.seq from replay r
                         where r.guild_id = guild and r.lane = l.lane) x
                 where x.seq between l.first and l.last;
        end loop;
    end $$));

# what blocks say of deliveries was decided long ago
$first->sql(q(create function decided_long_ago() returns void language sql as $$
    with open as materialized (
        select e.guild_id, e.lane, e.seq from entries e
         where e.lane is not null and e.dstatus is null)
    update lane_batch b
       set done_at = b.done_at - interval '40 days'
     where b.done_at > now() - interval '1 day'
       and not exists (select from log_arrival a
                        where a.guild_id = b.guild_id and a.lane = b.lane
                          and a.seq between b.seq_from and b.seq_to)
       and not exists (select from open e
                        where e.guild_id = b.guild_id and e.lane = b.lane
                          and e.seq between b.seq_from and b.seq_to)
    $$));

my %category = map { @$_ } $first->sql('select id, category from log_type');
my @types    = (5, 7, 40, 17);
my @channels = map { 310_000_000_000_000_000 + $_ } 1 .. 3;
my @people   = map { 210_000_000_000_000_000 + $_ } 1 .. 4;
my @words    = qw(apple pear plum fig);
my ($event, %did) = (0, days => 0);
my @steps    = qw(block_make blocks_settle blocks_expire partition_drop
    partition_carry);


# randomness

sub chance { return rand() < $_[0] }
sub pick   { return $_[rand @_] }
sub now    { return int(time * 1000) }


# The model: a server has what was recorded, newest first.  taken: the ids of
# entries that were taken back; old: an entry before this time may be missing;
# sent: what became of deliveries; known: entries of which the events are known.

my @servers = map { new_server($_) } qw(pro pro free);
again(sub { $_[0]->patch("/servers/$servers[0]{id}/config/logging/channels",
    token => $servers[0]{token}, json => { main_channel => '' . $channels[0] })
});
services($servers[0]);


sub new_server {
    my ($plan) = @_;

    my $id = $first->server(plan => $plan);
    my %server = (id => $id, plan => $plan, token => $first->token($id),
        entries => [], taken => {}, old => 0, lapses => 0,
        sent => {}, known => {});
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
        $first->sql(q(select doc || '}', id from entries
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
    $server->{known}{ $ids->[$_] } = $entries[$_]
        for grep { defined $ids->[$_] } 0 .. $#entries;
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
    my $q    = some_query();
    $q->{after} = max($q->{after} // 0, $server->{old}) if $server->{old};
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
    push @wrong, map { "$as: $_" } map { told($server, $_) }
        @{ $got->{entries} };
    return;
}


# what is wrong of an entry's delivery
sub told {
    my ($server, $entry) = @_;

    my $is   = $entry->{delivery};
    my $want = $server->{sent}{ $entry->{id} }
        // 'not_delivered (queued|held|off|no_channel)';
    my $said = join ' ', grep { defined } @$is{qw(status reason messageId)};
    return $said =~ /^$want$/ ? () : "$entry->{id} is $said, not $want";
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
            && $at{$_} > $walk->{old} && $at{$_} > $server->{old}
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
# listener is away for days

my %stream;
my $until;

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


# entries beyond the time of keeping
sub beyond {
    sql(q(select record(?::bigint, 0::smallint, jsonb_agg(
        jsonb_build_object('event_id', gen_random_uuid(), 'type', 5,
        'timestamp', ?::bigint + i))) from generate_series(1, 20) i),
        pick(@servers)->{id}, now() - pick(33 .. 40) * DAY);
    sql(q(update log_head set due_at = now() where arrival > blocked));
    $first->keeper_is_due;
    $did{expired}++;
    return;
}


# what arrived becomes a day older
sub day {
    a_day($first);
    sql('select decided_long_ago()');
    $first->keeper_is_due;
    $_->{known} = {} for @servers;
    $did{days}++;
    return;
}


# who listens is away until what came since is not known any more
sub absence {
    delete $stream{client};
    record($servers[0], some_entry(2000));
    my $arrival = sql('select arrival from log_head where guild_id = ?
        and bot = 0', $servers[0]{id});
    for (1 .. 15) {
        day();
        eval { wait_for { !sql(q(select count(*) from partitions_expired()
            where parent = 'log_arrival')) } 5 };
        last if !sql('select count(*) from log_arrival where guild_id = ?
            and bot = 0 and arrival = ?', $servers[0]{id}, $arrival);
    }

    my $before = $did{resets} // 0;
    eval { wait_for { hear(); ($did{resets} // 0) > $before } 5 };
    return;
}


# ends a keeper's connection in the middle of a function
sub stop_in {
    my ($what) = @_;

    sql('insert into harm values (?)', $what);
    $what eq 'blocks_expire' ? beyond() : $what eq 'block_make'
        ? record(pick(@servers), map { some_entry(some_age()) } 1 .. 20)
        : day();
    sql(q(update log_head set due_at = now() where arrival > blocked));
    $first->keeper_is_due;
    my $killed = eval { wait_for { $root->selectrow_array(q(
        select count(pg_terminate_backend(pid)) from pg_stat_activity
         where application_name = ? and usename = 'guildlog'), {}, $what)
    } 2 };
    sql('delete from harm');
    $did{"killed in $what"}++ if $killed;
    return;
}


sub compare {
    my ($server) = @_;
    push @wrong, "check of $server->{id}: " . join ' | ', map { $_ // '' } @$_
        for sql('select * from guildlog.check(?)', $server->{id});
    return;
}


# how often, what of %did it is there for, the act
my @acts = (

    [10, '', sub { record(pick(@servers), map { some_entry(some_age()) } 1 .. 5) }],

    [4, '', sub { record(pick(@servers), map { some_entry(2000) } 1 .. 5) }],

    # late ones of one moment
    [3, 'crowd', sub {
        my $age = (2 + 20 * rand) * DAY;
        record($servers[0], map { some_entry($age) } 1 .. 20);
        $did{crowd}++;
    }],

    # held entries, some of which a request removes
    [6, 'taken', sub {
        my $server = pick(@servers);
        my $who = '' . (100_000_000_000_000_000 + ++$event);
        my @ids = record($server, map { some_entry(some_age(), type => 7,
            executor => { id => $who, name => 'Bob' }) } 1 .. 6);
        again(sub { $_[0]->post(
            "/servers/$server->{id}/active/ignore/executors",
            token => $server->{token}, json => { id => $who, count => 3,
                time => 1 }) });
        my %left = map { $_->[0] => 1 } sql('select id from entries
            where guild_id = ? and id = any (?)', $server->{id}, \@ids);
        $server->{taken}{$_} = 1 for grep { !$left{$_} } @ids;
        push @wrong, 'more taken back than asked' if keys %left < 3;
        services($server);
        $did{taken}++ if keys %left < 6;
    }],

    [2, 'reset', sub {
        my $server = $servers[1];
        again(sub { $_[0]->delete("/servers/$server->{id}",
            token => $server->{token}) });
        $server->{token} = $first->token($server->{id});
        configure($server);
        $did{reset}++;
    }],

    # a better plan, then the old one.  Entries of the better plan are kept for
    # seven days more, then those that are older than a day go
    [4, 'lapsed', sub {
        my $server = pick(@servers[1, 2]);
        my $plan = $server->{plan} eq 'pro' ? 'free' : 'pro';
        again(sub { $_[0]->operator('PUT', "/servers/$server->{id}",
            { plan => $plan }) });

        if ($plan eq 'free') {
            @$server{qw(kept old lapses)} = ($server->{old}, 0, $did{days} + 7);
            if (chance(0.5)) {
                $server->{lapses} = 0;
                sql(q(update server set lapsed_at = lapsed_at
                    - interval '8 days' where guild_id = ?), $server->{id});
                $did{lapsed}++;
                sql(q(update keeper set due_at = now()
                    where task = 'searchable'));
            }
        } else {
            my $day = now() - DAY;
            $server->{old} = $server->{lapses} <= $did{days} ? $day
                           : $server->{kept};
        }

        $server->{plan} = $plan;
        $did{$plan}++;
    }],

    [3, 'expired', \&beyond],

    [6, 'days', \&day], [2, 'resets', \&absence],

    # the same events once more
    [4, 'again', sub {
        my $server  = pick(@servers);
        record($server, some_entry(some_age()));
        my @ids     = keys %{ $server->{known} };
        @ids        = @ids[0 .. min(4, $#ids)];
        my @entries = @{ $server->{known} }{@ids};
        my $again   = again(sub { $_[0]->operator('POST',
            "/servers/$server->{id}/logs", \@entries) })->json;
        my @got = map { $_ // 'none' } @{ $again->{ids} };
        @ids = map { $server->{taken}{$_} ? 'none' : $_ } @ids;
        push @wrong, "events @ids came again as @got" if "@got" ne "@ids";
        $did{again}++;
    }],

    # deliveries are decided, and looked at no more
    [6, 'decided', sub {
        my @decided = sql('select * from decide(?, ?)', $servers[0]{id}, 20);
        $servers[0]{sent}{ $_->[0] } = $_->[1] for @decided;
        $did{decided} += @decided;
    }],

    # what is derived is made anew, or compared
    [2, '', sub { sql('select guildlog.rebuild(?)', pick(@servers)->{id}) }],
    [2, '', sub { compare(pick(@servers)) }],

    # a keeper's connection is ended in the middle of something, or anywhere
    (map { my $what = $_; [2, "killed in $what", sub { stop_in($what) }] }
        @steps),
    [4, 'terminated', sub {
        my ($killed) = $root->selectrow_array(q(
            select count(pg_terminate_backend(pid)) from pg_stat_activity
             where query ~ 'keeper_step' and usename = 'guildlog'
               and random() < 0.7));
        $did{terminated} += $killed;
    }],

    [2, 'killed', sub {
        my $nginx = pick($first, $second);
        $nginx->signal('KILL', pick($nginx->workers));
        $did{killed}++;
    }],

    [20, '', \&ask], [20, 'walk', \&walk], [8, 'export', \&export],
);


# the first entries; long texts in the first server make its export slow

record($_, map { some_entry(some_age(), content => 'apple ' . 'x' x 1500) }
    1 .. 900) for ($servers[0]) x 4;
record($_, map { some_entry(some_age()) } 1 .. 600) for @servers[1, 2];
wait_for { $first->keeper_is_due;
    !sql('select sum(arrival - blocked) from log_head
        where due_at <= now()') } 120, 'the first blocks';
my $divided = sql('select count(*) from log_block where guild_id = ? and bot = 0
    and day < day_now() - 1', $servers[0]{id});
wait_for { hear(); length($stream{buffer} // '') };
record($servers[0], some_entry(2000));
wait_for { hear(); defined $stream{last} };    # it resumes from there
$servers[0]{news} = {};

my @often  = map { ($_->[2]) x $_->[0] } @acts;
my %act    = map { $_->[1] => $_->[2] } @acts;
my @wanted = sort grep { $_ } keys %act;

# what chance has left out comes in the end
$until = time + $seconds;
my @left;
while (time < $until || (@left = grep { !$did{$_} } @wanted)
    && time < $until + 120)
{
    pick(@left ? @act{@left} : @often)->();
    hear();
}

# the last exports and walks end

walk() while @walks && $did{walk} < 1000 && (time < $until + 60);
while ($export && time < $until + 60) { export() }


# without further harm the keeper comes to an end, and nothing was wrong

my $calm = eval { wait_for {
    $first->keeper_is_due;
    sql('update log_head set due_at = now() where arrival > blocked');
    !sql('select sum(arrival - blocked) from log_head')
        && !sql('select count(*) from partitions_expired()')
        && !sql('select count(*) from log_day where day < day_now() - 31')
        && !sql('select count(*) from log_block where settle <= day_now()')
        && !sql(q(select count(*) from server s join log_day d
            using (guild_id) where s.plan = 'free' and s.lapsed_at is null
               and d.day < day_now() - 1));
} 120, 'all is done' };
ok $calm, 'the keeper comes to an end';
ask() for 1 .. 60;
compare($_) for @servers;

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

cmp_ok $did{$_} // 0, '>', 0, "$_: " . ($did{$_} // 0)
    for @wanted;
cmp_ok sql('select count(*) from log_block where guild_id = ? and bot = 0
    and day < day_now() - 1', $servers[0]{id}), '>', $divided,
    'blocks of old days were divided';
is sql('select count(*) from log_arrival where arrival = 1'), 0,
    'what arrived first is gone';
is sql(q(select count(*) from pg_class where relname ~
    '^(log_arrival|lane_batch)_' and relkind = 'r' and not relispartition)), 0,
    'no table is left';
is sql(q(select count(*) from keeper where errors > 0)), 0,
    'no task failed'
    or diag explain [sql('select * from keeper')];

done_testing;
