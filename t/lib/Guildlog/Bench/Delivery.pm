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

use Guildlog ();
use Guildlog::Bench;

use constant SERVERS => 60;
use constant CHANNELS => qw(main_channel category_text category_members
    category_roles category_server);

my $peer;    # pid of its master


sub run {
    my $nginx = Guildlog->new(start => 0, workers => 2, log => 'error',
        connections => 16384, api => $no_limit);
    $nginx->configure(http => directives($nginx, peer($nginx)));
    $nginx->start;

    my $token = lanes($nginx);
    my @idle  = requests($nginx, @$token);
    latency($nginx, $token->[1]);
    $nginx->stop;

    backlog($nginx, int(option('entries') / lanes_of($nginx)));
    throughput($nginx);
    drain($nginx, \@idle, $token);
    singles($nginx);
    memory($nginx);
    kill 'TERM', $peer;
    waitpid $peer, 0;
    undef $peer;
}

END { kill 'TERM', $peer if $peer }


# the port of an nginx of its own; logs when a request's first byte came
sub peer {
    my ($nginx) = @_;

    my $port = Guildlog::free_port();
    my $conf = $nginx->file('peer.conf', <<"CONF");
worker_processes 1;
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
        location ~ ^/api/v10/webhooks/7300000000000000301/ {
            access_log logs/times.log times;
            return 200 '{"id":"12\$connection\$connection_requests",
                         "channel_id":"1"}';
        }
    }
}
CONF
    my $prefix = $nginx->prefix;

    defined($peer = fork) or die "fork: $!\n";
    if (!$peer) {
        exec '/usr/sbin/nginx', '-p', $prefix, '-c', $conf,
            '-e', "$prefix/logs/peer.log", '-g', 'daemon off;'
            or POSIX::_exit(127);
    }
    Guildlog::wait_for(sub { -s "$prefix/peer.pid" }, 10, 'the peer');
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
    }, 60, 'webhooks');
    return [$token, $guild];
}


sub lanes_of {
    my ($nginx) = @_;
    return $nginx->sql('select count(*) from lane');
}


# so many more entries for each lane, copies of one that was recorded
sub backlog {
    my ($nginx, $n) = @_;

    $nginx->sql(<<'SQL', $n, $n);
with template as (
    select * from log_entry where lane is not null order by id desc limit 1
), copy as materialized (
    select l.guild_id, l.lane, l.channel_id, t.tail + n as seq,
           next_id(ms(clock_timestamp())) as id
      from lane l
      join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
     cross join generate_series(1, ?::bigint) n
), made as (
    insert into log_entry (guild_id, id, arrival, lane, seq, dchannel_id, bot,
                           type, doc)
    select c.guild_id, c.id, c.id, c.lane, c.seq, c.channel_id, 0, t.type,
           replace(t.doc, t.id::text, c.id::text)
      from copy c cross join template t
), told as (
    update lane_tail set tail = tail + ?::bigint
)
insert into lane_ready
select guild_id, lane, shard, clock_timestamp() from lane
SQL
    $nginx->cluster->connect($nginx->dbname, 'postgres')
        ->do('vacuum analyze guildlog.log_entry');
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
    my (@ours, @posts, @bare, @cpu);
    for (1 .. option('rounds')) {
        rewind($nginx);
        $nginx->sql(q{update shard_lease set owner = 'bench',
            until = now() + interval '1 hour'});
        push @bare, 640 * pgbench($nginx, $script, 2, 'guildlog_owner',
            'owner');
        $nginx->sql(q{update shard_lease set owner = null,
            until = '-infinity'});

        rewind($nginx);
        $nginx->start;
        Guildlog::wait_for(sub { (done($nginx))[1] > 1000 }, 60, 'messages');
        my ($time, $cpu, @before) = (time, cpu($nginx), done($nginx));
        sleep option('seconds');
        my @after = done($nginx);
        $time = time - $time;
        push @ours,  ($after[0] - $before[0]) / $time;
        push @posts, ($after[1] - $before[1]) / $time;
        push @cpu, (cpu($nginx) - $cpu) / ($after[1] - $before[1]) * 1e6;
        $nginx->stop;
    }
    row('entries drained / the bare step, 2 clients', \@ours, \@bare);
    line('  messages a second', sprintf('%.0f', median(@posts)), '', '', '');
    line('  nginx CPU, µs a message', sprintf('%.0f', median(@cpu)), '', '',
        '');
}


# all of it; the second tenth beside the ninth, and requests beside it
sub drain {
    my ($nginx, $idle, $token) = @_;

    rewind($nginx);
    my $all = $nginx->sql('select sum(tail) from lane_tail');
    $nginx->start;

    my (%at, @beside);
    while (1) {
        my ($done) = done($nginx);
        $at{ int($done * 10 / $all) } //= [$done, time];
        last if $at{9} || $done >= $all;
        push @beside, requests($nginx, @$token, 0.2);
    }
    my ($early, $late) = map {
        ($at{ $_ + 1 }[0] - $at{$_}[0]) / ($at{ $_ + 1 }[1] - $at{$_}[1])
    } grep { $at{$_} && $at{ $_ + 1 } } 1, 8;
    defined $late
        ? row("  of $all, the ninth tenth / the second", [$late], [$early])
        : line('  too few --entries to tell how flat it is', '', '', '', '');
    row('  p99 of requests, µs: beside it / idle', [p99(@beside)],
        [p99(@$idle)]);
    $nginx->stop;
}


# times of reads of the configuration, 100 a second, in µs
sub requests {
    my ($nginx, $token, $guild, $seconds) = @_;

    my @connections = map { $nginx->connection } 1 .. 8;
    my @times;
    my $end = time + ($seconds || option('seconds'));

    while ((my $now = time) < $end) {
        my $answer = $nginx->get("/servers/$guild/config/settings",
            token => $token, connection => $connections[@times % 8]);
        push @times, (time - $now) * 1e6;
        die $answer->text if $answer->status >= 500;
        my $rest = 0.01 - (time - $now);
        sleep $rest if $rest > 0;
    }
    return @times;
}


# recorded one by one, from the request that brings it to the first byte
sub latency {
    my ($nginx, $guild) = @_;

    my (@sent, @times);
    for my $n (1 .. 200) {
        push @sent, time;
        my $answer = $nginx->operator('POST', "/servers/$guild/logs",
            [{ event_id => "l$n", type => 5, content => 'lorem ipsum',
               contentAfter => 'dolor sit amet',
               executor => { id => '5', name => 'Ann' } }]);
        die $answer->text if $answer->status != 200;
        Guildlog::wait_for(sub {
            @times = times_of($nginx);
            @times > $#sent
        }, 10, 'a message');
        sleep 0.005 + rand 0.02;
    }
    my @ms = map { ($times[$_] - $sent[$_]) * 1000 } 0 .. $#sent;
    line('recorded to the first byte of its message, p99 ms',
        sprintf('%.0f', p99(@ms)), '', '', '');
    line('  p50 ms', sprintf('%.0f', median(@ms)), '', '', '');
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
    my ($nginx) = @_;

    rewind($nginx);
    $nginx->sql("update log_entry set doc = regexp_replace(doc, "
        . "'\"content\":\"[^\"]*\"', '\"content\":\"' || repeat('w', 3900) "
        . "|| '\"') where lane is not null and seq <= 60");
    $nginx->sql('delete from log_entry where lane is not null and seq > 60');
    $nginx->sql('update lane_tail set tail = 60');
    $nginx->start;
    Guildlog::wait_for(sub { (done($nginx))[1] > 500 }, 60, 'messages');
    my ($time, @before) = (time, done($nginx));
    my @after;
    Guildlog::wait_for(sub {
        @after = done($nginx);
        $after[1] - $before[1] > 10_000
            || !$nginx->sql('select count(*) from lane_ready');
    }, 120, 'messages');
    line('messages a second, one entry of 4 KB each',
        sprintf('%.0f', ($after[1] - $before[1]) / (time - $time)), '', '',
        '');
    $nginx->stop;
}


# each has had something to do, and has nothing left
sub memory {
    my ($nginx) = @_;

    $nginx->sql("insert into lane (guild_id, lane, bot, channel_id, shard,
            state, webhook_id)
        select 1, n, 0, n, mod(n, 64), 'active', 1
          from generate_series(1, 100000) n");
    $nginx->sql('insert into server (guild_id) values (1)');
    $nginx->sql('insert into lane_tail select 1, lane from lane
        where guild_id = 1');
    $nginx->sql('insert into lane_head (guild_id, lane) select 1, lane
        from lane where guild_id = 1');
    $nginx->start;
    Guildlog::wait_for(sub { $nginx->sql('select count(*) from shard_lease
        where owner is not null') == 64 }, 20, 'leases');
    sleep 1;
    my $before = max map { rss($_) } $nginx->workers;
    $nginx->sql('insert into lane_ready select guild_id, lane, shard,
        clock_timestamp() from lane where guild_id = 1');

    my $most = 0;
    Guildlog::wait_for(sub {
        $most = max $most, map { rss($_) } $nginx->workers;
        !$nginx->sql('select count(*) from lane_ready');
    }, 240, 'lanes');
    line('a worker with 300 lanes, KB', $before, '', '', '');
    line('  with 100,000 that were looked at, KB',
        (max map { rss($_) } $nginx->workers), '', '', '');
    line('  meanwhile at most, KB', $most, '', '', '');
    $nginx->stop;
}


sub p99 {
    my @sorted = sort { $a <=> $b } @_;
    return $sorted[$#sorted * 0.99];
}


sub slurp {
    my ($path) = @_;

    open my $in, '<', $path or return '';
    local $/;
    return scalar(<$in>) // '';
}


1;
