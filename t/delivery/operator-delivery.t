# "The operator may replay it"; "list undelivered with reason, replay by
# range/status (unknown replays flagged 'may duplicate'), per-lane
# pause/resume; disabling never discards".

use lib 't/lib';
use Guildlog;
use Guildlog::Change;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

# this machine delivers nothing itself
my $other = Guildlog->new(name => 'other', dbname => $g->dbname,
    openapi => 1);

my $channel = 300000000000000000;
my $event   = 0;
my ($guild, $token);


# a new server with a new main channel, which has a webhook
sub server {
    $guild = $g->server;
    $token = $g->token($guild);
    $g->patch("/servers/$guild/config/logging/settings", token => $token,
        json => { buttons => [] });
    return set_channel();
}


sub set_channel {
    my $to = ++$channel . '';
    my $answer = $g->patch("/servers/$guild/config/logging/channels",
        token => $token, json => { main_channel => $to });
    die $answer->text if $answer->status != 202;
    return $to;
}


sub record {
    my ($n) = @_;
    my $answer = $g->operator('POST', "/servers/$guild/logs", [map { {
        event_id => 'e' . ++$event, type => 7,
        content => "content of $_" } } 1 .. $n]);
    die $answer->text if $answer->status != 200;
    return @{ $answer->json->{ids} };
}


# what the API says of these entries, in their order
sub words {
    my %word = map {
        my $it = $_->{delivery};
        $_->{id} => join ' ', $it->{status}, $it->{reason} // (),
    } @{ $g->get("/servers/$guild/logs?limit=200", token => $token)
        ->json->{entries} };
    return map { $word{$_} } @_;
}


sub become {
    my ($word, $why, @ids) = @_;
    my @is;
    eval { wait_for { @is = words(@ids); !grep { $_ ne $word } @is } 60 };
    is_deeply \@is, [($word) x @ids], $why;
}


# how often each entry is in a channel
sub arrived {
    my ($to, @ids) = @_;
    my %n;
    $n{$_}++ for map { $platform->entries_in($_) } $platform->messages($to);
    return map { $n{$_} // 0 } @ids;
}


sub op {
    my ($method, $path, @body) = @_;
    return $other->operator($method, "/servers/$guild$path", @body);
}


sub lanes { return $other->operator('GET', "/servers/$guild/lanes")->json }


# entries whose channel is deleted
sub lost {
    my ($n) = @_;
    my $to = $channel + 1;
    $platform->config(gone => ["$to"]);
    server();
    my @ids = record($n);
    become('not_delivered channel_gone', 'a channel is gone', @ids);
    return @ids;
}


subtest 'undelivered entries are listed and sent again' => sub {
    my @ids = lost(12);

    my ($server) = grep { $_->{server} eq $guild }
        @{ $other->operator('GET', '/undelivered?limit=1000')
            ->json->{servers} };
    is $server->{reasons}{channel_gone}, 13,
        'the server is listed, with the number and the reason';
    my $list = op('GET', '/undelivered?reason=channel_gone&limit=5')
        ->json;
    is_deeply [map { $_->{id} } @{ $list->{entries} }[1 .. 4]],
        [@ids[0 .. 3]], 'its entries are listed in their order';
    is_deeply { %{ $list->{entries}[1] }, timestamp => 0, lane => 0 },
        { id => $ids[0], bot => 'main', type => 7, timestamp => 0, lane => 0,
          channelId => "$channel", status => 'not_delivered',
          reason => 'channel_gone' }, '... with all that is known of each';
    is_deeply [map { $_->{id} } @{ op('GET',
        "/undelivered?reason=channel_gone&limit=5&cursor=$list->{cursor}")
        ->json->{entries} }], [@ids[4 .. 8]], '... page by page';

    my $answer = op('POST', '/replay', { ids => [@ids[0 .. 2]] });
    is_deeply $answer->json, { replayed => 0, mayDuplicate => 0,
        skipped => { lane_broken => 3 }, cursor => undef },
        'no entry is sent to a deleted channel';

    my $to = set_channel();
    $answer = op('POST', '/replay', { ids => [@ids[0 .. 2]] });
    is $answer->json->{replayed}, 3, 'some entries are replayed by their IDs';
    become('delivered', 'to the channel that is set now', @ids[0 .. 2]);

    my @replayed = at_once(3, sub {
        op('POST', '/replay', {})->json->{replayed};
    });
    is eval { join '+', sort { $a <=> $b } @replayed }, '0+0+10',
        'of three replays at once one replays the rest';
    become('delivered', 'it arrives', @ids);
    is op('POST', '/replay', {})->json->{replayed}, 0, 'no entry is left';
    is_deeply [arrived($to, @ids)], [(1) x @ids], 'each entry arrived once';
    is_deeply op('GET', '/undelivered?reason=channel_gone')->json,
        { entries => [], cursor => undef }, 'none is listed';
};


subtest 'an unknown entry is replayed only on request' => sub {
    my $to = server();
    my ($first) = record(1);
    become('delivered', 'a channel works', $first);
    $platform->config(no_history => [$to]);
    $platform->faults({ call => 'execute', channel => $to,
        action => 'apply-reset' });
    my ($id) = record(1);
    become('unknown unconfirmed', 'a message may be there', $id);

    is op('POST', '/replay', {})->json->{replayed}, 0, 'it stays unknown';
    is op('POST', '/replay', { reasons => ['unconfirmed'] })->status, 400,
        'naming its reason is not enough';
    my $answer = op('POST', '/replay',
        { reasons => ['unconfirmed'], mayDuplicate => JSON::PP::true })->json;
    is $answer->{replayed}, 1, 'naming its status replays it';
    is $answer->{mayDuplicate}, 1, 'the answer counts it under mayDuplicate';
    become('delivered', 'it is delivered', $id);
    is_deeply [arrived($to, $id)], [2],
        'it was there already, and is now twice';
    $platform->config(no_history => []);
};


subtest 'a paused lane keeps its entries' => sub {
    my $to = server();
    my ($first) = record(1);
    become('delivered', 'a channel works', $first);
    my ($lane) = map { $_->{lane} } @{ lanes()->{lanes} };

    is op('POST', "/lanes/$lane/pause")->status, 200, 'the lane is paused';
    is op('POST', "/lanes/$lane/pause")->status, 200,
        'a second pause changes nothing';
    my @ids = record(15);

    my @mine = ($guild, $token);
    my $to_other = server();
    my ($neighbour) = record(1);
    become('delivered', 'other lanes go on', $neighbour);
    ($guild, $token) = @mine;

    is_deeply [words(@ids)], [('not_delivered queued') x 15],
        'all entries wait';
    is_deeply [arrived($to, @ids)], [(0) x 15], 'no entry was sent';
    my ($it) = @{ lanes()->{lanes} };
    is_deeply [@$it{qw(lane channelId state queued)}, !!$it->{paused}],
        [$lane, $to, 'active', 15, 1], "the operator's list shows it";
    is_deeply [map { @$_{qw(state stateReason)} }
        @{ $g->get("/servers/$guild/config/logging/pacing", token => $token)
            ->json->{channels} }], ['paused', 'operator'],
                'the pacing of the server shows it';
    is $g->post("/servers/$guild/troubleshoot/test-log", token => $token)
        ->json->{stage}, 'channel_parked', 'a test message is not sent either';

    is op('POST', "/lanes/$lane/resume")->status, 200, 'the lane is resumed';
    become('delivered', 'all is delivered', @ids);
    is_deeply [grep { my $id = $_; grep { $_ eq $id } @ids }
        map { $platform->entries_in($_) } $platform->messages($to)], \@ids,
        'each once, in order';
};


subtest 'a lane is paused between two messages' => sub {
    my $to = server();
    my ($first) = record(1);
    become('delivered', 'a channel works', $first);
    my ($lane) = map { $_->{lane} } @{ lanes()->{lanes} };
    $platform->faults({ call => 'execute', channel => $to, action => 'answer',
        status => 429, body => { message => 'limited', retry_after => 20,
            global => JSON::PP::false },
        headers => { 'X-RateLimit-Scope' => 'user' } });
    my @ids = record(25);
    become('not_delivered retrying',
        'the first message waits for a limit', $ids[0]);
    op('POST', "/lanes/$lane/pause");
    wait_for { scalar $g->sql('select not_before < now() from lane_head
        where lane = ?', $lane) };
    my @mine = ($guild, $token);
    server();
    my ($neighbour) = record(1);
    become('delivered', 'other lanes go on after the limit', $neighbour);
    ($guild, $token) = @mine;
    is_deeply [arrived($to, @ids)], [(0) x 25], 'the paused lane does not';
    op('POST', "/lanes/$lane/resume");
    become('delivered', 'until it is resumed', @ids);
    is_deeply [arrived($to, @ids)], [(1) x 25], 'then each goes once';
};


subtest 'a lane is paused while its next message begins' => sub {
    my $to = server();
    my ($first) = record(1);
    become('delivered', 'a channel works', $first);
    my ($lane) = map { $_->{lane} } @{ lanes()->{lanes} };
    my $locker = $g->cluster->connect($g->dbname);
    $locker->begin_work;
    $locker->do('lock table guildlog.lane_batch in share mode');
    my @ids = record(12);
    wait_for { $g->waiting('delivery_step') } 60,
        'a step that began before the pause';
    is op('POST', "/lanes/$lane/pause")->status, 200,
        'the lane is paused during the step';
    $locker->rollback;
    my @words;
    eval { wait_for { (@words = words(@ids))[0] eq 'delivered' } };
    is_deeply \@words, [('delivered') x 10, ('not_delivered queued') x 2],
        'the message is sent, the entries after it wait';
    op('POST', "/lanes/$lane/resume");
    become('delivered', 'until it is resumed', @ids);
    is_deeply [arrived($to, @ids)], [(1) x 12], 'each goes once';
};


subtest 'a server is paused' => sub {
    my $to = server();
    my ($first) = record(1);
    become('delivered', 'a channel works', $first);
    is op('POST', '/pause')->status, 200, 'the server is paused';
    ok lanes()->{paused}, 'the list says so';
    my $new = set_channel();
    my @ids = record(3);
    my @mine = ($guild, $token);
    server();
    my ($neighbour) = record(1);
    become('delivered', 'other servers go on', $neighbour);
    ($guild, $token) = @mine;
    is scalar $platform->webhooks($new), 0, 'a new channel gets no webhook';
    is_deeply [words(@ids)], [('not_delivered queued') x 3], 'no entry is lost';
    is op('POST', '/resume')->status, 200, 'the server is resumed';
    become('delivered', 'all is delivered', @ids);
};


subtest 'requests that are refused' => sub {
    server();
    my %bad = (
        'GET /undelivered?limit=0' => 400, 'GET /undelivered?limit=1001' => 400,
        'GET /undelivered?reason=x' => 400, 'GET /undelivered?lane=x' => 400,
        'GET /undelivered?cursor=1' => 400, 'GET /undelivered?after=x' => 400,
        'POST /lanes/1/pause' => 404, 'POST /lanes/x/pause' => 404,
        'POST /lanes/1/resume' => 404, 'GET /pause' => 405,
        'GET /replay' => 405,
    );
    is op(split / /)->status, $bad{$_}, $_ for sort keys %bad;

    for my $body ({ reasons => ['delivered'] }, { reasons => [] },
        { reasons => ['queued'] }, { ids => [] }, { ids => ['x'] },
        { ids => [1] }, { limit => 0 }, { limit => 10_001 }, { cursor => 'x' },
        { cursor => 5 }, { lane => 'x' }, { all => 1 }, [])
    {
        my $answer = op('POST', '/replay', $body);
        is $answer->status, 400, 'replay ' . json->encode($body);
        ok $answer->json->{error}, 'the error says why';
    }

    $guild = '100000000000000778';
    is op(split / /)->status, 404, "$_: no such server"
        for 'GET /undelivered', 'GET /lanes', 'POST /replay', 'POST /pause',
            'POST /resume', 'POST /lanes/1/pause';
    is $other->operator('GET', "/undelivered?$_")->status, 400, $_
        for 'limit=0', 'cursor=x', 'reason=x';
    is $g->get("/servers/$guild/undelivered", token => $token)->status, 404,
        'the API has no such endpoint';
};

done_testing;
