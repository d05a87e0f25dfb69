# "Metrics: oldest_undelivered_age, backlog, posts{class,code},
# entries{outcome}, 429{scope}, invalid_budget, reconcile, lease_lost,
# inflight, lane states": what the status page shows of delivery.  Each thing is
# counted once, also through reloads and while PostgreSQL is down.

use lib 't/lib';
use Guildlog;
use Guildlog::Platform;
use Time::HiRes qw(time);

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

my $channel = 300000000000000000;
my $event   = 0;
my ($guild, $token);


sub samples {
    my $text = $g->get('/status?format=prometheus', raw_path => 1)->text;
    return { map { /^guildlog_([^# ]\S*) (\S+)$/ ? ($1, $2) : () }
        split /\n/, $text };
}


# runs the code; {labels: growth} of the samples of a family
sub added {
    my ($family, $code) = @_;
    my $before = samples();
    $code->();
    my $after = samples();
    return { map {
        my $more = $after->{$_} - ($before->{$_} // 0);
        /^$family(?:\{(.*)\})?$/ && $more ? ($1 // '' => $more) : ();
    } keys %$after };
}


# a new server with a channel, whose webhook and first message are done
sub server {
    my (%options) = @_;
    $guild = $g->server;
    $token = $g->token($guild);
    $g->patch("/servers/$guild/config/logging/settings", token => $token,
        json => { buttons => [], %options });
    my $to = ++$channel . '';
    $g->patch("/servers/$guild/config/logging/channels", token => $token,
        json => { main_channel => $to });
    return $to;
}


sub record {
    my ($n, %entry) = @_;
    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => 7,
        content => "content of $_", %entry } } 1 .. $n]);
    die $answer->text if $answer->status != 200;
    return @{ $answer->json->{ids} };
}


# waits until no entry of the server is held or queued, and until the worker
# that delivers has the answer to every commit
sub settle {
    wait_for { $g->sql('select bool_and(t.tail = h.head) and not exists (
            select from log_arrival a
             where a.guild_id = $1 and a.held_to is not null)
        from lane_head h join lane_tail t using (guild_id, lane)
        where h.guild_id = $1', $guild) } 60;
    wait_for {
        my $samples = samples();
        my $counted = 0;
        $counted += $samples->{$_}
            for grep { /^delivery_entries_total\{/ } keys %$samples;
        $counted == $g->sql('select sum(head) from lane_head');
    } 60, 'counts';
}


sub becomes {
    my ($what, $value, $why) = @_;
    my $is;
    eval { wait_for { ($is = samples()->{$what}) eq $value } 60 };
    is $is, $value, $why;
}


subtest 'messages and entries' => sub {
    my $to = server();
    settle();
    is_deeply added('platform_requests_total', sub { record(1); settle() }),
        { 'call="execute",class="done",status="200"' => 1 }, 'a message';
    is_deeply added('delivery_entries_total', sub { record(12); settle() }),
        { 'outcome="delivered"' => 12 }, 'entries';
    my $asked = added('platform_requests_total', sub { server(); settle() });
    # a lane that takes too long, as on a slow machine, begins again: delete it
    cmp_ok delete $asked->{'call="list",class="done",status="200"'}, '>=', 1,
        'webhooks are listed';
    is_deeply $asked, { 'call="create",class="done",status="200"' => 1,
        'call="channel",class="done",status="200"' => 1,
        'call="execute",class="done",status="200"' => 1 },
        'one webhook is made and used';
};


subtest 'paused while a message is under way' => sub {
    my $to = server();
    settle();
    my $lane = $g->sql('select lane from lane where guild_id = ?', $guild);
    my $delivered = samples()->{'delivery_entries_total{outcome="delivered"}'};

    kill 'STOP', $platform->{pid};
    record(3);
    wait_for { $g->sql('select upto > head from lane_head where lane = ?',
        $lane) } 60, 'a message is under way';
    $g->operator('POST', "/servers/$guild/lanes/$lane/pause");
    kill 'CONT', $platform->{pid};
    settle();
    becomes('delivery_entries_total{outcome="delivered"}', $delivered + 3,
        'its entries are counted');
    $g->operator('POST', "/servers/$guild/lanes/$lane/resume");
};


subtest 'refusals of the platform' => sub {
    my $to = server();
    settle();
    $platform->faults(map { my $scope = $_; { call => 'execute',
        channel => $to, times => 1, action => 'answer', status => 429,
        body => { message => 'limited', retry_after => 0.1,
            global => JSON::PP::false },
        headers => { 'X-RateLimit-Scope' => $scope } } } qw(user shared));
    my $limited = added('platform_limited_total', sub { record(1); settle() });
    is_deeply $limited, { 'scope="user"' => 1, 'scope="shared"' => 1 },
        'limits are counted by scope';
    cmp_ok samples()->{platform_invalid_requests}, '>=', 1,
        'refusals that count for a ban';

    $platform->faults({ call => 'execute', match => 'of 2', channel => $to,
        action => 'poison', times => 99 });
    is_deeply added('delivery_entries_total', sub { record(3); settle() }),
        { 'outcome="delivered"' => 2, 'outcome="rejected"' => 1 },
        'one bad entry';
    $platform->faults;

    $platform->config(gone => [$channel + 1 . '']);
    is_deeply added('delivery_entries_total', sub {
        server(); settle(); record(4); settle();
    }), { 'outcome="channel_gone"' => 5 }, 'a channel that is gone';
    $platform->config(gone => []);
};


subtest 'messages in doubt' => sub {
    my @at = map { my $to = server(); settle(); [$guild, $to] } 1 .. 3;
    $platform->config(no_history => [$at[2][1]]);
    $platform->faults(map { { call => 'execute', channel => $at[$_][1],
        times => 1, action => $_ ? 'reset' : 'apply-reset' } } 0 .. 2);
    is_deeply added('delivery_(?:doubts|entries)_total', sub {
        ($guild) = @$_, record(1) for @at;
        ($guild) = @$_, settle() for @at;
    }), { 'result="present"' => 1, 'result="absent"' => 1,
        'result="unproved"' => 1, 'outcome="unconfirmed"' => 1,
        'outcome="delivered"' => 2 },
        'one was applied, one was not, one stays unknown';
    $platform->config(no_history => []);

    # the service would look at it again a minute later, in another subtest
    $g->sql('delete from doubt');
};


subtest 'the backlog' => sub {
    becomes('delivery_backlog', 0, 'nothing waits');
    is samples()->{delivery_oldest_seconds} + 0, 0, 'the oldest age is 0';

    # the figures may be those of a while ago

    my $active = $g->sql("select count(*) from lane where state = 'active'");

    my $to = server();
    settle();
    becomes('delivery_lanes{state="active"}', $active + 1, 'a lane');
    $platform->faults({ call => 'execute', channel => $to, action => 'answer',
        times => 99, status => 403,
        body => { code => 50013, message => 'Missing Permissions' } });
    record(7);
    becomes('delivery_backlog', 7, 'entries wait');
    becomes('delivery_lanes{state="waiting"}', 1, 'and so does their lane');
    ok eval { wait_for { samples()->{delivery_oldest_seconds} >= 1 } 60 },
        'they grow older';

    $g->operator('POST', "/servers/$guild/pause");
    becomes('delivery_lanes{state="paused"}', 1, 'paused');
    is samples()->{delivery_backlog}, 7, 'paused entries stay in the backlog';
    is samples()->{delivery_oldest_seconds} + 0, 0,
        '... without a reason for an alert';
    $platform->faults;
    $g->operator('POST', "/servers/$guild/resume");
    becomes('delivery_backlog', 0, 'resumed, they go');

    is samples()->{platform_sending}, 0, 'nothing is under way';
    $platform->faults({ call => 'execute', channel => $to, action => 'hang',
        times => 1 });
    record(1);
    becomes('platform_sending', 1, 'a request that is not answered');
    $platform->stop;
    becomes('platform_sending', 0, 'and then is');
    $platform->start;
    settle();
};


subtest 'held entries' => sub {
    is_deeply wait_for {
        server(active_ignore => JSON::PP::true);
        my $began = time;
        my $back = added('held_taken_back_total', sub {
            record(3, target => { id => '200000000000000005', name => 'Bob' });
            my $answer = $g->post("/servers/$guild/active/ignore/targets",
                token => $token, json => { id => '200000000000000005',
                type => 0, count => 2 });
            die $answer->text if $answer->status != 200;
        });
        my $held = time - $began < 3;    # all the while
        settle();
        $held && $back;
    }, { '' => 2 }, 'two are dropped, and counted';
};


subtest 'live tails' => sub {
    my @tails = map {
        my $tail = $g->connection;
        $tail->send("GET /api/servers/$guild/logs/stream HTTP/1.1\r\n"
            . "Host: localhost\r\nAuthorization: Bearer $token\r\n\r\n");
        $tail;
    } 1 .. 3;
    becomes('stream_listeners', 3, 'three listen');
    $tails[0]->close;
    becomes('stream_listeners', 2, 'one has left');
    $_->close for @tails[1, 2];
    becomes('stream_listeners', 0, 'all have');
};


subtest 'a reload' => sub {
    settle();
    my $totals = qr/^(?:delivery_\w+_total|platform_\w+_total|held_taken)/;
    my $before = samples();
    cmp_ok scalar(grep { /$totals/ } keys %$before), '>', 15, 'totals';
    $g->reload for 1 .. 2;
    my $after = samples();
    is_deeply { map { $_ => $after->{$_} } grep { /$totals/ } keys %$before },
        { map { $_ => $before->{$_} } grep { /$totals/ } keys %$before },
        'counters do not change';
    becomes('delivery_shards', 64, 'all shards are held once');
    becomes('delivery_lanes{state="active"}', scalar $g->sql(
        q{select count(*) from lane where state = 'active'}),
        'lanes are counted once');
    is $after->{delivery_leases_lost_total}, 0, 'no lease was lost';
};


subtest 'a reload while a request is open' => sub {
    settle();
    my $owner = $g->sql('select distinct owner from shard_lease');
    my ($old) = $owner =~ m{/(\d+)/};

    # only the worker that delivers takes the request

    my @others = grep { $_ != $old } $g->workers;
    $g->signal('STOP', @others);
    wait_for { !grep { qx(cat /proc/$_/stat) !~ /\) T / } @others } 30,
        'the other workers stand still';
    my $slow = $g->connection;
    $slow->send("PATCH /api/servers/$guild/config/logging/settings HTTP/1.1"
        . "\r\nHost: localhost\r\nAuthorization: Bearer $token\r\n"
        . "Content-Type: application/json\r\nContent-Length: 2\r\n"
        . "Expect: 100-continue\r\n\r\n");
    like $slow->line, qr/ 100 /, 'the request waits for its body';
    $g->signal('CONT', @others);

    $g->reload(nowait => 1);
    wait_for { my $now = $g->sql(q{select string_agg(distinct owner, ' ')
        from shard_lease}); $now && $now ne $owner } 60,
            'another worker delivers';
    server();
    settle();
    becomes('delivery_lanes{state="active"}', scalar $g->sql(
        q{select count(*) from lane where state = 'active'}),
        'lanes are counted once, by a new worker');
    becomes('delivery_shards', 64, 'all shards are held once');
    ok kill(0, $old), 'the old worker still runs';
    $slow->close;
    wait_for { !kill 0, $old } 60, 'the old worker exits';
};


subtest 'a lease that is taken away' => sub {
    $g->sql(q{update shard_lease set owner = 'another/1/1', fence = fence + 1,
        until = now() + interval '30 s' where shard < 3});
    becomes('delivery_leases_lost_total', 3, 'is counted');
};


subtest 'the page' => sub {
    my $text = $g->get('/status?format=prometheus', raw_path => 1)->text;
    my $file = $g->file('metrics', $text);
    is qx{promtool check metrics < '$file' 2>&1}, '',
        'promtool does not complain';
    my $json = $g->get('/status', raw_path => 1);
    my @tokens = map { $_->{token} // () } $platform->webhooks;
    cmp_ok scalar @tokens, '>', 3, 'there are secrets';
    is join(' ', grep { index($text . $json->text, $_) >= 0 } @tokens,
        $guild, $channel, $platform->token(0), $token), '',
            'no secret is on the page';
    is $json->json->{platform_requests_total}{execute}{'done 200'},
        samples()->{'platform_requests_total{call="execute",class="done",'
            . 'status="200"}'}, 'JSON has the same figures';
    is $json->json->{delivery_lanes}{paused}, 0, '... grouped by family';
};


subtest 'without PostgreSQL' => sub {
    my $admin = $g->cluster->connect('postgres');
    my $name = $g->dbname;
    $admin->do(qq{alter database "$name" allow_connections false});
    $admin->do("select pg_terminate_backend(pid) from pg_stat_activity
        where datname = ? and usename like 'guildlog%'", undef, $name);
    my $before = samples();
    ok exists $before->{delivery_backlog}, 'the page answers';
    ok eval { wait_for { samples()->{delivery_figures_age_seconds} > 6 } 60 },
        '... with the age of its figures';
    $admin->do(qq{alter database "$name" allow_connections true});
    ok eval { wait_for { samples()->{delivery_figures_age_seconds} < 6 } 60 },
        'the figures are new again';
};

done_testing;
