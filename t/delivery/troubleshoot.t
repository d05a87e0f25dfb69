# "live=0 leaves out what asks the chat platform"; test-log "sends a real
# "live=0 leaves out what asks the chat platform"; test-log "sends a real
# message to the channel of the category asked for".  That each finding comes
# and goes is tested in t/sql/trouble/troubleshoot.sql.  This file tests
# findings that need the platform.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery qw(deliver_with record becomes times_applied posts);
use Guildlog::Platform;
use List::Util qw(sum);

my $g = Guildlog->new(start => 0, openapi => 1, workers => 2);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);

my ($guild, $token);
my $channel = 300000000000000000;


# a new server with a channel, whose webhook and first message are done
sub server {
    ($guild) = $g->server(plan => 'pro');
    $token = $g->token($guild);
    my $to = ++$channel . '';
    set(main_channel => $to);
    wait_for { $g->sql('select h.head = t.tail and t.tail > 0 from lane l
        join lane_head h using (guild_id, lane)
        join lane_tail t using (guild_id, lane) where l.channel_id = ?', $to) };
    return $to;
}


sub set {
    my (%channels) = @_;
    my $answer = $g->patch("/servers/$guild/config/logging/channels",
        token => $token, json => \%channels);
    die $answer->text if $answer->status != 202;
}


sub report {
    my ($query) = @_;
    return $g->get("/servers/$guild/troubleshoot" . ($query // ''),
        token => $token)->json;
}


# ids of findings, without the one that every server has at first
sub found {
    return join ' ', grep { $_ ne 'BOTS_IGNORED' }
        map { $_->{id} } @{ report(@_)->{findings} };
}


sub fix {
    my ($id) = @_;
    my ($finding) = grep { $_->{id} eq $id } @{ report()->{findings} };
    return post('fix', $finding->{fix});
}


sub post {
    my ($what, $body) = @_;
    return $g->post("/servers/$guild/troubleshoot/$what", token => $token,
        defined $body ? (json => $body) : ());
}


sub asked { return scalar grep { $_->{event} eq 'request'
    && $_->{call} eq 'list' } $platform->ledger }


subtest 'the report' => sub {
    ($guild) = $g->server(plan => 'pro_lite');
    $token = $g->token($guild);

    my $new = report();
    my $first = $g->get("/servers/$guild", token => $token)
        ->json->{first_log_at};
    is $new->{status}, 'broken', 'a new server logs nowhere';
    is $new->{findings}[0]{id}, 'NEVER_INITIALISED', 'the finding says why';
    is_deeply $new->{summary}, { configuredCategories => 0,
        firstLogAt => $first, premiumLevel => 1, incomplete => [] },
        'with its summary';
    is $new->{botId}, '400000000000000001', 'the ID of its bot';
    is $g->get("/servers/$guild/troubleshoot?bot=pro", token => $token)
        ->json->{botId}, '400000000000000002', 'the ID of the other bot';
    is fix('NEVER_INITIALISED')->text, '{"applied": true}',
        'the fix is applied';
    is found(), 'NO_LOG_CHANNEL', 'the finding is gone';

    is $g->get("/servers/$guild/troubleshoot?live=2", token => $token)->status,
        400, 'live is 0 or 1';
    is post('fix', { kind => 'magic' })->status, 400, 'an unknown kind of fix';
    is post('fix', { kind => 'register_webhook', channelId => '5' })->status,
        404, 'nothing to fix';
    is post('fix', { kind => 'remove_ignore' })->status, 400,
        'a fix without its subject';
    is post('fix', { kind => 'clear_log_channel', logType => 102 })->status,
        400, 'fields of a fix have their rules';
    my $basic = $g->token($guild, kind => 'basic');
    is $g->get("/servers/$guild/troubleshoot", token => $basic)->status, 403,
        'a Basic token is refused';
};


subtest 'findings that need the platform' => sub {
    my $to = server();
    my $asked = asked();
    is found('?live=0'), '', 'with live=0: no finding';
    is asked(), $asked, '... no request to the platform';
    is found(), '', 'without live=0: no finding';
    is asked(), $asked + 1, '... one request to the platform';

    my ($webhook) = $platform->webhooks($to);
    $platform->delete_webhook($webhook->{id});
    is found('?live=0'), '', 'a deleted webhook is not found with live=0';
    is found(), 'MISSING_WEBHOOK', '... it is found by asking';
    is fix('MISSING_WEBHOOK')->status, 200, 'the fix registers a webhook again';
    wait_for { $platform->webhooks($to) };
    wait_for { found() eq '' };
    pass 'the webhook exists';

    $platform->config(forbidden => [$to]);
    is found(), 'MISSING_PERMISSION', 'a permission is missing';
    $platform->config(forbidden => [], gone => [$to]);
    is found(), 'CHANNEL_GONE', 'a channel is deleted';
    is fix('CHANNEL_GONE')->status, 200, 'the fix clears the setting';
    is found(), 'NO_LOG_CHANNEL', 'no other channel is left';
    $platform->config(gone => []);
};


# the webhook of a message in doubt seems to be missing, and is registered
# again; what becomes of the message
sub fixed_in_doubt {
    my ($action) = @_;
    my $to = server();
    my ($webhook) = $platform->webhooks($to);
    my $posts = posts($to);
    $platform->faults({ call => 'execute', channel => $to,
        action => $action });
    my ($id) = record($guild, 1);
    wait_for { posts($to) > $posts };
    $platform->delete_webhook($webhook->{id});
    is fix('MISSING_WEBHOOK')->status, 200, 'a fix while a message is in doubt';
    becomes($guild, $token, $id, 'delivered', 'what was sent is known by its '
        . 'webhook');
    is times_applied($to, $id), 1, 'it is in the channel once';
    my ($next) = record($guild, 1);
    becomes($guild, $token, $next, 'delivered', 'the next one is delivered');
    my ($new, @more) = $platform->webhooks($to);
    isnt $new->{id}, $webhook->{id}, 'a new webhook was made';
    is scalar @more, 0, '... only one';
}


subtest 'a message is applied, then its webhook is registered again' => sub {
    fixed_in_doubt('apply-reset');
};


subtest 'a message is lost, then its webhook is registered again' => sub {
    fixed_in_doubt('reset');
};


subtest 'a channel that has as many webhooks as possible' => sub {
    ($guild) = $g->server(plan => 'pro');
    $token = $g->token($guild);
    $g->operator('POST', "/servers/$guild/pause");
    my $to = ++$channel . '';
    set(main_channel => $to);
    is found(), '', 'there is room for its webhook';
    $platform->create_webhook($to, "of others $_") for 1 .. 15;
    is found('?live=0'), '',
        'webhooks of others fill it: not found with live=0';
    is found(), 'WEBHOOK_LIMIT', '... found by asking';
    $platform->delete_webhook(($platform->webhooks($to))[0]{id});
    is found(), '', 'no finding after one is deleted';
    $g->operator('POST', "/servers/$guild/resume");
    wait_for { $platform->webhooks($to) == 15 };
    pass 'the lane has its webhook';
};


subtest 'the report names what it could not ask' => sub {
    my $to = server();
    $platform->faults({ call => 'list', action => 'hang', times => 1 });
    my $report = report();
    is_deeply $report->{summary}{incomplete}, ["channel $to: no_answer"],
        'it says who did not answer';
    is_deeply [grep { $_->{severity} ne 'info' } @{ $report->{findings} }], [],
        'nothing bad is found';
    is $report->{status}, 'degraded', '... but what is not known is not healthy';
    $report = report();
    is_deeply $report->{summary}{incomplete}, [],
        'the next report is complete';
    is $report->{status}, 'healthy', '... and healthy';

    report() for 1 .. 10;
    is_deeply report()->{summary}{incomplete}, ["channel $to: not asked"],
        'a platform that hangs is not asked for ever';
};


subtest 'a client that leaves does not disturb others' => sub {
    server();
    $platform->faults({ call => 'list', action => 'hang', times => 1 });
    my $asked = asked();
    my $client = $g->connection;
    $client->send("GET /api/servers/$guild/troubleshoot HTTP/1.1\r\n"
        . "Host: localhost\r\nAuthorization: Bearer $token\r\n\r\n");
    wait_for { asked() > $asked };
    $client->close;
    is report('?live=0')->{status}, 'healthy', 'others are served';
};


sub tests_in {
    my ($to) = @_;
    return scalar grep { ($_->{content} // '') =~ /test message.*main_channel/ }
        $platform->messages($to);
}


subtest 'a test message' => sub {
    my $to = server();
    my $answer = post('test-log');
    is $answer->status, 200, 'is sent';
    is_deeply [@{ $answer->json }{qw(ok stage channelId httpStatus detail)}],
        [json->decode('true'), 'delivered', $to, 200, 'ok'], 'and delivered';
    is tests_in($to), 1, 'the channel has it';

    $answer = post('test-log', {});
    is $answer->status, 429, 'one test message a minute';
    ok $answer->json->{error}, 'with an error';
    ok $answer->header('Retry-After') >= 1
        && $answer->header('Retry-After') <= 60,
            'Retry-After says when to try again';
    is tests_in($to), 1, 'no message was sent';
    is post('test-log', { category => 'x' })->status, 400,
        'an unknown category';
};


# sends a test message of a new server after the code ran; returns its stage
sub stage {
    my ($what, $want, $do, $category) = @_;

    my $to = server();
    $do->($to);
    my $it = post('test-log', $category ? { category => $category } : {})->json;
    is $it->{stage}, $want, $what;
    ok !$it->{ok}, 'the test message did not arrive';
}


subtest 'why a test message does not arrive' => sub {
    stage('off', 'no_channel', sub { set(category_text => '0') },
        'categoryText');
    stage('no channel', 'no_channel', sub { set(main_channel => undef) });
    stage('the webhook is gone', 'webhook_404', sub {
        $platform->delete_webhook($_->{id}) for $platform->webhooks($_[0]);
    });
    stage('the lane is broken', 'channel_parked', sub {
        $g->sql("update lane set state = 'broken', reason = 'channel_gone',
            webhook_id = null where channel_id = ?", $_[0]);
    });
    stage('a permission is missing', 'forbidden', sub {
        $platform->faults({ call => 'execute', action => 'answer',
            status => 403, times => 1,
            body => { code => 50013, message => 'Missing Permissions' } });
    });
    stage('too many', 'rate_limited', sub {
        $platform->faults({ call => 'execute', action => 'answer',
            status => 429, times => 1,
            body => { retry_after => 1, message => 'slow', global => \0 } });
    });
    stage('no answer', 'request_timeout_or_network', sub {
        $platform->faults({ call => 'execute', action => 'reset', times => 1 });
    });
    stage('its lane waits', 'local_rate_limit', sub {
        $g->sql(q{update lane_head h set not_before = now() + interval '1 min'
            from lane l where l.guild_id = h.guild_id and l.lane = h.lane
             and l.channel_id = ?}, $_[0]);
    });
};


# In an outage one request now and then tries whether the platform is back.  A
# report's request that did so lost its answer, so each request of a report had
# to wait for another try, and delivery waited behind them.

subtest 'a report finds out that the platform is back' => sub {
    my $out = Guildlog->new(name => 'outage', start => 0,
        api => 'guildlog_limit off;');
    my $back = Guildlog::Platform->new(dir => $out->prefix . '/platform');
    $out->configure(http => $back->directives($out))->start;

    my ($first, $asking) = map { scalar $out->server(plan => 'pro') } 1, 2;
    my ($told, $asks) = map { $out->token($_) } $first, $asking;
    my $to = ++$channel . '';
    $out->patch("/servers/$first/config/logging/channels", token => $told,
        json => { main_channel => $to });
    wait_for { grep { $_ } $back->messages($to) };
    $out->operator('POST', "/servers/$asking/pause");
    $out->patch("/servers/$asking/config/logging/channels", token => $asks,
        json => { map { ("category_$_" => ++$channel . '') }
            qw(modlog members actions text voice files server roles channels
               service) });

    $back->stop;
    $out->operator('POST', "/servers/$first/logs", [{ event_id => 'o', type => 7,
        executor => { id => '500000000000000001', name => 'Ann' },
        content => 'of the outage' }]);
    wait_for { ($out->get('/status', raw_path => 1)
        ->json->{platform_requests_total}{execute}{'again none'} // 0) >= 5 } 60;
    $out->operator('POST', "/servers/$first/pause");
    $back->start;

    is_deeply $out->get("/servers/$asking/troubleshoot", token => $asks)
        ->json->{summary}{incomplete}, [],
            'all its other requests are made, too';
    ok $out->error_log =~ /the platform is there/, 'the log says so';
    $out->operator('POST', "/servers/$first/resume");
    wait_for { 1 < grep { $_ } $back->messages($to) };
    pass 'and delivery goes on';
};


subtest "requests of reports count towards the address's rate" => sub {
    my $slow = Guildlog->new(name => 'slow', start => 0);
    my $asked = Guildlog::Platform->new(dir => $slow->prefix . '/platform');
    $slow->configure(http => $asked->directives($slow, rate => 1))->start;
    my $guild = $slow->server(plan => 'pro');
    my $token = $slow->token($guild);
    $slow->operator('POST', "/servers/$guild/pause");
    my $answer = $slow->patch("/servers/$guild/config/logging/channels",
        token => $token, json => { map { ("category_$_" => ++$channel . '') }
            qw(modlog members actions text voice files server roles channels
               service) });
    is $answer->status, 202, 'a server with ten channels';

    my $report = $slow->get("/servers/$guild/troubleshoot", token => $token);
    my @late = grep { /local_rate_limit/ }
        @{ $report->json->{summary}{incomplete} };
    my $lists = grep { $_->{event} eq 'request' && $_->{call} eq 'list' }
        $asked->ledger;
    is $lists + @late, 10, 'each channel is asked about or named as missing';
    cmp_ok $lists, '>=', 1, 'at one request a second, some are asked about';
    cmp_ok scalar @late, '>=', 3, '... some are not';
    my $counted = $slow->get('/status', raw_path => 1)
        ->json->{platform_requests_total}{list};
    is sum(values %$counted), $lists, 'all requests are counted';

    $slow->operator('POST', "/servers/$guild/resume");
    $asked->faults({ call => 'list', action => 'answer', status => 429,
        body => { message => 'slow', retry_after => 60, global => \1 },
        headers => { 'X-RateLimit-Scope' => 'global' }, times => 1 });
    wait_for { $slow->error_log =~ /wants this address to pause/ } 60;
    $report = $slow->get("/servers/$guild/troubleshoot", token => $token);
    is scalar(grep { /local_rate_limit/ }
        @{ $report->json->{summary}{incomplete} }), 10,
        'no request is made while the address pauses';
};

done_testing;
