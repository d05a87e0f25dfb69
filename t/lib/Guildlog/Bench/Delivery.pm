package Guildlog::Bench::Delivery;

# a backlog of --entries in 300 lanes drained by one worker, ten a message,
# beside the bare step of 64 lanes in SQL; how flat it is; one entry a
# message; from recording to the first byte; what it costs requests beside
# it; memory of 100,000 lanes.  The peer is an nginx that answers 200 with
# an id: the strict stand-in of the tests is slower than what is measured

use strict;
use warnings;
use utf8;

use List::Util qw(max);
use Time::HiRes qw(sleep time);

use Guildlog::Bench;
use Guildlog::File;

use constant SERVERS => 60;
use constant CHANNELS => qw(main_channel category_text category_members
    category_roles category_server);


sub run {
    my $nginx = start(start => 0, connections => 16384, api => $no_limit);
    my $port  = peer($nginx, '7300000000000000301');
    $nginx->configure(http => directives($nginx, $port));
    $nginx->start;

    my $token = lanes($nginx);
    my @idle  = requests(clients($nginx, @$token));
    latency($nginx, $token->[1]);
    $nginx->stop;

    my $lanes = $nginx->sql('select count(*) from lane');
    backlog($nginx, 1 + int(option('entries') / $lanes));
    throughput($nginx);
    drain($nginx, $token, @idle);
    singles($nginx, $port);
    memory($nginx);
}


# the port of an nginx of its own; logs when the first byte of a message came,
# of these webhooks
sub peer {
    my ($nginx, $webhooks) = @_;

    my $port = Guildlog::free_port();
    my $conf = $nginx->file('peer.conf', <<"CONF");
master_process off;
pid peer.pid;
error_log logs/peer.log;
events { worker_connections 4096; }
http {
    keepalive_requests 100000000;
    client_body_temp_path temp/peer;
    log_format times '\$msec \$request_time \$request_uri';
    default_type application/json;
    server {
        listen 127.0.0.1:$port backlog=4096;
        access_log off;
        location ~ ^/api/v10/channels/(\\d+)/webhooks\$ {
            if (\$request_method = GET) {
                return 200 "[]";
            }
            return 200 '{"id":"7\$1","token":"t\$1","channel_id":"\$1"}';
        }
        location /api/v10/webhooks/ {
            return 200 '{"id":"12\$connection\$connection_requests",
                         "channel_id":"1"}';
        }
        location ~ ^/api/v10/webhooks/$webhooks/ {
            access_log logs/times.log times;
            return 200 '{"id":"12\$connection\$connection_requests",
                         "channel_id":"1"}';
        }
    }
}
CONF
    my $prefix = $nginx->prefix;

    spawn(sub {
        exec '/usr/sbin/nginx', '-p', $prefix, '-c', $conf,
            '-e', "$prefix/logs/peer.log", '-g', 'daemon off;';
        die "nginx: $!\n";
    });
    Guildlog::wait_for(sub { -s "$prefix/peer.pid" }, 60, 'the peer');
    return $port;
}


sub directives {
    my ($nginx, $port) = @_;

    $nginx->file('bot.main', 'NDAwMDAwMDAwMDAwMDAwMDAx.AbCdEf.bench', 0600);
    $nginx->file('delivery.key', '0f' x 32, 0600);
    return <<"CONF";
        guildlog_platform http://127.0.0.1:$port/api/v10;
        guildlog_platform_rate off;
        guildlog_bot_token main bot.main;
        guildlog_delivery secret=delivery.key;
CONF
}


# registers them, and one more for latencies: [its server, token]
sub lanes {
    my ($nginx) = @_;

    my $channel = 300000000000000000;
    my ($guild, $token);

    for my $i (0 .. SERVERS) {
        $guild = $nginx->server;
        $token = $nginx->token($guild);
        my %to = map { $_ => ++$channel . '' }
            $i < SERVERS ? CHANNELS : 'main_channel';
        my $answer = $nginx->patch("/servers/$guild/config/logging/channels",
            token => $token, json => \%to);
        die $answer->text if $answer->status != 202;
    }
    Guildlog::wait_for(sub {
        !$nginx->sql(q{select count(*) from lane where state <> 'active'})
            && !$nginx->sql('select count(*) from lane_ready')
    }, 300, 'webhooks');
    return [$token, $guild];
}


# so many more entries for each lane, copies of one that was recorded
sub backlog {
    my ($nginx, $n) = @_;

    $nginx->sql(<<'SQL', $n, $n);
with template as (
    select * from log_arrival where lane is not null order by id desc limit 1
), copy as materialized (
    select l.guild_id, l.lane, l.channel_id, t.tail + n as seq,
           next_id(ms(clock_timestamp())) as id
      from lane l
      join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
     cross join generate_series(1, ?::bigint) n
), made as (
    insert into log_arrival (guild_id, id, arrival, recorded_at, lane, seq,
                             dchannel_id, bot, type, event_id, doc)
    select c.guild_id, c.id, c.id, now(), c.lane, c.seq, c.channel_id, 0,
           t.type, c.id, replace(t.doc, t.id::text, c.id::text)
      from copy c cross join template t
), come as (
    update log_head set last_at = now()
), told as (
    update lane_tail set tail = tail + ?::bigint
)
insert into lane_ready
select guild_id, lane, shard, clock_timestamp() from lane
SQL
    admin($nginx, 'vacuum analyze guildlog.log_arrival');
}


# as if nothing had been delivered yet, so that a backlog serves again
sub rewind {
    my ($nginx) = @_;

    $nginx->sql('truncate lane_batch');
    $nginx->sql('update lane_head set head = 0, upto = 0, attempts = 0,
        not_before = null');
    $nginx->sql('insert into lane_ready select guild_id, lane, shard,
        clock_timestamp() from lane on conflict do nothing');
}


# (entries, messages) delivered so far
sub done {
    my ($nginx) = @_;
    return @{ ($nginx->sql('select (select sum(head) from lane_head),
        (select count(*) from lane_batch)'))[0] };
}


sub throughput {
    my ($nginx) = @_;

    my $script = script($nginx, <<'SQL');
\set n random(0, 1)
select count(*) from delivery_step('bench', (
    select jsonb_agg(jsonb_build_object('guild', l.guild_id, 'lane', l.lane,
               'shard', l.shard, 'fence', f.fence, 'step', h.step + 1,
               'changes', true, 'done_to', nullif(h.upto, h.head),
               'status', 2, 'message', 1, 'attempts', 1, 'refused', false,
               'begin_to', h.upto + 10, 'peek', h.upto + 10, 'most', 10))
      from (select * from lane where mod(lane, 2) = :client_id
             order by guild_id, lane offset 64 * :n limit 64) l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
      join shard_lease f on f.shard = l.shard))
SQL
    figures {
        rewind($nginx);
        $nginx->sql(q{update shard_lease set owner = 'bench',
            until = now() + interval '1 hour'});
        my $bare = 64 * pgbench($nginx, $script, 2, 'guildlog_owner',
            'owner')->{rate};
        $nginx->sql(q{update shard_lease set owner = null,
            until = '-infinity'});

        my ($cpu, $postgres);
        my ($time, @n) = delivered($nginx, sub {
            ($cpu, $postgres) = (cpu($nginx), postgres_cpu($nginx));
        }, sub {
            $cpu      = cpu($nginx) - $cpu;
            $postgres = postgres_cpu($nginx) - $postgres;
        });
        my @us = map { $_ / $n[1] * 1e6 } $cpu, $postgres;

        [$n[0] / $time, 10 * $bare], [$n[1] / $time, $bare], [@us];
    } 'delivered by one worker, ten a message, entries/s; the bare step of 64 '
        . 'lanes in SQL, 2 clients',
      'the same, messages/s; the bare step',
      "nginx CPU for a message, µs; PostgreSQL's";
}


# (seconds, entries, messages): some seconds in the middle of the backlog, or
# all of a little one
sub delivered {
    my ($nginx, $begin, $end) = @_;

    rewind($nginx);
    $nginx->start;
    Guildlog::wait_for(sub { (done($nginx))[1] > 300 }, 60, 'messages')
        if !option('smoke');

    my ($time, @before) = (time, option('smoke') ? (0, 0) : done($nginx));
    $begin->();
    my $until = $time + option('seconds');
    Guildlog::wait_for(sub {
        option('smoke') || time < $until
            ? !$nginx->sql('select count(*) from lane_ready') : 1
    }, 120 + option('seconds'), 'messages');
    my @after = done($nginx);
    $end->();
    $time = time - $time;
    $nginx->stop;

    return ($time, map { $after[$_] - $before[$_] } 0, 1);
}


# all of it; the second tenth beside the ninth, and requests beside it
sub drain {
    my ($nginx, $token, @idle) = @_;

    my $all  = $nginx->sql('select sum(tail) from lane_tail');
    my $text = Guildlog::Figures::number($all);

    once {
        rewind($nginx);
        $nginx->start;

        my (%at, @beside);
        my $clients = clients($nginx, @$token);
        my ($before, $moved) = (0, time);
        do {
            push @beside, requests($clients, 0.2);
            my ($done) = done($nginx);
            ($before, $moved) = ($done, time) if $done > $before;
            die "it stands still\n" if time > $moved + 60;
            $at{ int($done * 10 / $all) } //= [$done, time];
        } until $at{9} || $at{10};
        Guildlog::wait_for(sub {
            !$nginx->sql('select count(*) from lane_ready')
        }, 120, 'the end of it');
        push @idle, requests($clients);
        $nginx->stop;

        my ($early, $late) = map {
            ($at{ $_ + 1 }[0] - $at{$_}[0]) / ($at{ $_ + 1 }[1] - $at{$_}[1])
        } grep { $at{$_} && $at{ $_ + 1 } } 1, 8;
        [p99(@beside), p99(@idle)], defined $late ? [$late, $early]
            : "too few --entries to tell how flat it is\n";
    } 'p99 of reads of the configuration beside it, µs; idle',
      option('smoke') ? ()
          : "the ninth tenth of $text, entries/s; the second";
}


# 8 connections, and what is asked on them
sub clients {
    my ($nginx, $token, $guild) = @_;

    return { path => "/api/servers/$guild/config/settings", token => $token,
        connections => [map { $nginx->connection } 1 .. 8] };
}


# times of reads of the configuration, 100 a second, in µs
sub requests {
    my ($it, $seconds) = @_;

    my @times;
    my $end = time + ($seconds || option('seconds'));

    do {
        my $now = time;
        my $answer = $it->{connections}[@times % 8]->request('GET',
            $it->{path}, token => $it->{token});
        push @times, (time - $now) * 1e6;
        die $answer->text if $answer->status >= 500;
        my $rest = 0.01 - (time - $now);
        sleep $rest if $rest > 0;
    } while time < $end;
    return @times;
}


# recorded one by one, from the request that brings it to the first byte
sub latency {
    my ($nginx, $guild) = @_;

    my (@sent, @recorded, @times);
    for my $n (1 .. 1 + 50 * option('seconds')) {
        push @sent, time;
        my $answer = $nginx->operator('POST', "/servers/$guild/logs",
            [{ event_id => "l$n", type => 5, content => 'lorem ipsum',
               contentAfter => 'dolor sit amet',
               executor => { id => '5', name => 'Ann' } }]);
        die $answer->text if $answer->status != 200;
        push @recorded, (time - $sent[-1]) * 1000;
        Guildlog::wait_for(sub {
            @times = times_of($nginx);
            @times > $#sent
        }, 60, 'a message');
        sleep 0.005 + rand 0.02;
    }
    my @ms = map { ($times[$_] - $sent[$_]) * 1000 } 0 .. $#sent;
    once { [p99(@ms), p99(@recorded)], [median(@ms), median(@recorded)] }
        'from a request that records one entry to the first byte of its '
        . 'message, p99 ms; to the answer',
        '  p50 ms; to the answer';
}


# when each message for the lane of latencies began to come, but for that of
# the change that opened it
sub times_of {
    my ($nginx) = @_;

    my @times = map { my ($end, $took) = split / /; $end - $took }
        split /\n/, slurp($nginx->prefix . '/logs/times.log');
    return @times[1 .. $#times];
}


# a message an entry, for they are so long
sub singles {
    my ($nginx, $port) = @_;

    my $lua = $nginx->file('single.lua', "wrk.method = 'POST'\n"
        . "wrk.headers['Content-Type'] = 'application/json'\n"
        . "wrk.body = string.rep('w', 4200)\n");

    $nginx->sql("update log_arrival set doc = regexp_replace(doc, "
        . "'\"content\":\"[^\"]*\"', '\"content\":\"' || repeat('w', 3900) "
        . "|| '\"') where lane is not null and seq <= 60");
    $nginx->sql('delete from log_arrival where lane is not null and seq > 60');
    $nginx->sql('update lane_tail set tail = least(tail, 60)');

    figures {
        my ($time, undef, $n) = delivered($nginx, sub { }, sub { });
        [$n / $time, wrk($nginx,
            '/api/v10/webhooks/1/x', lua => $lua, port => $port)->{rate}];
    } 'messages of one entry of 4 KB, a second; what the peer takes from wrk';
}


# each has had something to do, and has nothing left
sub memory {
    my ($nginx) = @_;

    my $lanes = 100_000 < option('entries') ? 100_000 : option('entries');

    # entries of a drain that was broken off are not to be counted; servers of
    # ten lanes each, for no more of one server look at a time
    $nginx->sql('delete from lane_ready');
    $nginx->sql('insert into server (guild_id)
        select n from generate_series(1, ?::bigint) n', 1 + int($lanes / 10));
    $nginx->sql("insert into lane (guild_id, lane, bot, channel_id, shard,
            state, webhook_id, verified_at)
        select 1 + n / 10, n, 0, n, mod(n, 64), 'active', 1, now()
          from generate_series(1, $lanes) n");
    $nginx->sql("insert into $_ (guild_id, lane) select guild_id, lane
        from lane where lane <= $lanes") for 'lane_tail', 'lane_head';
    once {
        $nginx->start;
        Guildlog::wait_for(sub { $nginx->sql('select count(*) from shard_lease
            where owner is not null') == 64 }, 60, 'leases');
        my $before = max map { rss($_) } $nginx->workers;
        $nginx->sql("insert into lane_ready select guild_id, lane, shard,
            clock_timestamp() from lane where lane <= $lanes");

        my $most = 0;
        Guildlog::wait_for(sub {
            $most = max $most, map { rss($_) } $nginx->workers;
            !$nginx->sql('select count(*) from lane_ready');
        }, 240, 'lanes');
        my $after = max map { rss($_) } $nginx->workers;
        [$after, $before], [$most, $before];
    } 'the worker with ' . Guildlog::Figures::number($lanes)
        . ' lanes that were looked at, KB; with 300', '  meanwhile; with 300';
}


1;
