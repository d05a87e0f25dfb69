#!/usr/bin/perl
# "unconfirmed: never sent again by itself; it may still turn into a proved
# state for 24 h."

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);


# makes the service look for the lost messages now
sub look {
    my ($guild) = @_;

    $g->sql('update doubt set look_at = now() where guild_id = ?', $guild);
    wait_for { !$g->sql('select count(*) from doubt where guild_id = ?
        and look_at <= now()', $guild) } 60, 'a look';
}


# each case has a channel with earlier messages, except "first", where the
# message about setting the channel is lost
my %case = (
    applied => ['apply-reset'],
    lost    => ['reset'],
    late    => ['late', ms => 5000],
    old     => ['reset'],
    limited => ['apply-reset'],
    failing => ['apply-reset'],
    garbled => ['apply-reset'],
    page    => ['apply-reset'],
    quoted  => ['reset'],
    same    => ['apply-reset'],
);

# how reading the channel's messages fails
my %untold = (
    limited => [{ status => 429, headers => { 'X-RateLimit-Scope' => 'user' },
        body => { message => 'limited', retry_after => 2 } }],
    failing => [{ status => 500, body => {} },
        { status => 200, body => 'oops' }],
    garbled => [{ status => 200, body => [{}], times => 99 }],
    page    => [{ status => 200, body => '<html>', times => 99 }],
);


# always the same full page, starting with the last message
sub same_page {
    my ($to) = @_;

    my ($last) = reverse $platform->messages($to);
    my $id = $last->{id};
    return { status => 200, times => 99, body => [$last,
        map { { id => $id + $_ . '', content => 'it' } } 1 .. 99] };
}


$platform->faults({ call => 'execute', channel => $channel + 1 . '',
    action => 'reset' });
my @first = server();
wait_for { posts($first[2]) } 60, 'its first message';

for my $name (sort keys %case) {
    my ($action, %more) = @{ $case{$name} };
    my ($guild, $token, $to) = server($name eq 'quoted'
        ? (format_type => 2) : ());
    becomes($guild, $token, (record($guild, 1))[0], 'delivered',
        "$name: one before it");
    $untold{same} = [same_page($to)] if $name eq 'same';
    $case{$name} = { guild => $guild, token => $token, to => $to, faults => [
        { call => 'execute', channel => $to, action => $action, %more },
        map { { call => 'read', channel => $to, action => 'answer', %$_ } }
            @{ $untold{$name} || [] }] };
}
my @deaf = map { $case{$_}{to} } qw(applied lost old quoted);
$platform->config(no_history => \@deaf);
$platform->faults(map { @{ $_->{faults} } } values %case);
$_->{id} = (record($_->{guild}, 1))[0] for values %case;
$case{first} = { guild => $first[0], token => $first[1], to => $first[2],
    id => scalar $g->sql('select id from entries where guild_id = ? and seq = 1',
        $first[0]) };

sub is_now {
    my ($name, $word, $why, $seconds) = @_;
    becomes(@{ $case{$name} }{qw(guild token id)}, $word, "$name: $why",
        $seconds);
}

# the requests that read a channel
sub reads {
    my ($to) = @_;
    return grep { $_->{event} eq 'request' && $_->{call} eq 'read' }
        $platform->ledger($to);
}

sub times_there {
    my ($name) = @_;
    return times_applied(@{ $case{$name} }{qw(to id)});
}

is_now('late', 'delivered', 'a message applied after the connection ended is '
    . 'found', 60);
is times_there('late'), 1, 'late: once';
is_now($_, 'unknown unconfirmed', 'it cannot be proved')
    for qw(applied lost first old garbled page quoted same);

for my $name ('limited', 'failing') {
    is_now($name, 'delivered', 'it is found when the channel is read');
    is times_there($name), 1, "$name: once";
    my @at = map { $_->{at} } reads($case{$name}{to});
    cmp_ok scalar @at, '>', @{ $untold{$name} }, "$name: after a failed try";
    cmp_ok $at[1] - $at[0], '>=', 2000, "$name: no sooner than after 2 s";
}
cmp_ok scalar reads($case{$_}{to}), '>', 2, "$_: none of three tries finds it"
    for 'garbled', 'page';
is scalar reads($case{same}{to}), 4,
    'same: a page that repeats ends each of two looks';

my $posts = posts($case{lost}{to});
look($case{$_}{guild}) for qw(applied lost);
is_now($_, 'unknown unconfirmed', 'as long as nothing is shown')
    for qw(applied lost);
is scalar(posts($case{lost}{to})), $posts, 'and it is not sent again';

# looks that get no answer end, also those that have to wait for one; then the
# next looks begin, for any lane
$platform->faults(map { +{ call => 'read', channel => $case{page}{to},
    action => 'answer', %$_ } }
    { status => 429, headers => { 'X-RateLimit-Scope' => 'user' },
        body => { message => 'limited', retry_after => 600 } },
    @{ $untold{page} });
look($case{page}{guild}) for 1 .. 3;
is_now('page', 'unknown unconfirmed', 'as long as it cannot be read');

# somebody quotes an entry that was not delivered

my @more = record($case{quoted}{guild}, 1, content => $case{quoted}{id});
becomes(@{ $case{quoted} }{qw(guild token)}, @more, 'delivered', 'quoted: in '
    . 'a later message');

# the channels can be read again, except one

$platform->config(no_history => [$case{old}{to}]);
$platform->faults;
look($case{$_}{guild}) for qw(applied lost first garbled page quoted same);
for my $name ('applied', 'garbled', 'page', 'same') {
    is_now($name, 'delivered', 'it is found then');
    is times_there($name), 1, "$name: once";
}
my ($message) = grep { grep { $_ eq $case{applied}{id} }
    $platform->entries_in($_) } $platform->messages($case{applied}{to});
is delivery(@{ $case{applied} }{qw(guild token id)})->{messageId},
    $message->{id}, 'its message is named';
for my $name ('lost', 'quoted') {
    is_now($name, 'delivered', 'an absent one is sent again');
    is times_there($name), 1, "$name: once";
}
is $g->sql('select count(*) from doubt where guild_id in (?, ?)',
    $case{applied}{guild}, $case{lost}{guild}), 0, 'no doubt of these is left';

is_now('first', 'unknown unconfirmed', 'the first message of a lane has none '
    . 'before it, so that nothing proves that it is absent');
is times_there('first'), 0, 'first: it is indeed absent';

# two entries of one lost message, one of which is sent again: its new message
# says nothing about the other entry

{
    my ($guild, $token, $to) = server();
    becomes($guild, $token, (record($guild, 1))[0], 'delivered', 'parted: one '
        . 'before it');
    $platform->config(no_history => [$case{old}{to}, $to]);
    $platform->faults({ call => 'execute', channel => $to,
        action => 'reset' });
    my ($again, $other) = record($guild, 2);
    becomes($guild, $token, $_, 'unknown unconfirmed', 'parted: lost')
        for $again, $other;
    my $answer = $g->operator('POST', "/servers/$guild/replay",
        { ids => [$again], reasons => ['unconfirmed'],
            mayDuplicate => JSON::PP::true });
    is $answer->json->{replayed}, 1, 'parted: one is sent again';
    becomes($guild, $token, $again, 'delivered', 'parted: it is there');
    $platform->config(no_history => [$case{old}{to}]);
    my $told = sub { $g->get('/status', raw_path => 1)->json
        ->{statement_seconds}{delivery_proved}{count} };
    my $before = $told->();
    look($guild);
    wait_for { $told->() > $before } 60, 'parted: a message is found';
    is times_applied($to, $other), 0,
        'parted: the other entry was never applied';
    is word($guild, $token, $other), 'unknown unconfirmed',
        'parted: it stays unconfirmed';
}

# the first message of a webhook, and messages that may stand beside it

{
    my %is;
    my (@faults, @deaf, @mute);

    # a lane that has a webhook and has sent nothing
    my $quiet = sub {
        my $guild = $g->server;
        my $to    = ++$channel . '';
        my $it    = { guild => $guild, token => $g->token($guild), to => $to };
        $platform->belong($guild, $to);
        $platform->create_webhook($to, 'Guildlog', 0) if $_[0];
        my $answer = $g->patch("/servers/$guild/config/logging/channels",
            token => $it->{token}, json => { category_text => $to });
        die $answer->text if $answer->status != 202;
        wait_for { $g->sql(q{select count(*) from lane where guild_id = ?
            and state = 'active' and verified_at is not null}, $guild) } 60,
            'a webhook';
        return $it;
    };
    my $test = sub {
        my ($it) = @_;
        is $g->post("/servers/$it->{guild}/troubleshoot/test-log",
            token => $it->{token}, json => { category => 'categoryText' })
            ->json->{stage}, 'delivered', 'a test message';
    };
    my $fault = sub {
        my ($it, $action, %more) = @_;
        push @faults, { call => 'execute', channel => $it->{to},
            action => $action, %more };
    };

    # name, expected outcome, how the message ends, what else there is
    my @cases = (
        ['shown',       'delivered',   ['apply-reset'], shown => 1],
        ['alone',       'delivered',   ['apply-reset']],
        ['5xx',         'delivered',   ['apply-answer', status => 502,
                                           body => {}]],
        ['unreadable',  'delivered',   ['apply-answer', status => 200,
                                           body => 'oops']],
        ['two',         'delivered',   ['apply-reset'], n => 2],
        ['others',      'delivered',   ['apply-reset'], said => 3],
        ['crowd',       'delivered',   ['apply-reset'], said => 100],
        ['unseen',      'unknown unconfirmed', ['apply-reset'], deaf => 1],
        ['lost',        'unknown unconfirmed', ['reset']],
        ['absent',      'delivered',   ['reset'], said => 1],
        ['absent100',   'delivered',   ['reset'], said => 100],
        ['tested',      'unknown unconfirmed', ['apply-reset'], test => 1],
        ['untaken',     'unknown unconfirmed', ['reset'], test => 1],
        ['test shown',  'delivered',   ['apply-reset'], test => 1, shown => 1],
        ['test absent', 'delivered',   ['reset'], test => 1, shown => 1],
        ['adopted',     'unknown unconfirmed', ['apply-reset'], own => 1],
        ['own shown',   'delivered',   ['apply-reset'], own => 1, shown => 1],
    );
    $platform->config(applications => {
        '400000000000000001' => '400000000000000077' });

    for my $case (@cases) {
        my ($name, undef, $end, %more) = @$case;
        my $it = $is{$name} = $quiet->($more{own});
        $test->($it) if $more{test};
        $platform->say($it->{to}, map { "of others $_" } 1 .. $more{said})
            if $more{said};
        push @mute, $it->{to} if !$more{shown};
        push @deaf, $it->{to} if $more{deaf};
        $fault->($it, @$end);
    }

    # a lost message after an unconfirmed one, after a proved one, after a test
    for my $name ('behind', 'proved', 'after a test') {
        my $it = $is{$name} = $quiet->();
        becomes(@$it{qw(guild token)}, (record($it->{guild}, 1))[0],
            'delivered', "$name: one before it");
        push @mute, $it->{to};
    }
    $test->($is{'after a test'});
    push @deaf, $is{behind}{to};
    push @cases, ['proved', 'delivered'];
    $fault->($is{proved}, 'apply-reset');
    $fault->($is{behind}, 'apply-reset');
    $fault->($is{'after a test'}, 'reset');

    $platform->config(no_content => \@mute,
        no_history => [$case{old}{to}, @deaf]);
    $platform->faults(@faults);
    $is{$_}{ids} = [record($is{$_}{guild}, $_ eq 'two' ? 2 : 1)]
        for keys %is;

    for my $case (@cases) {
        my ($name, $word) = @$case;
        my ($guild, $token, $to, $ids) = @{ $is{$name} }{qw(guild token to ids)};
        for my $id (@$ids) {
            becomes($guild, $token, $id, $word, "first, $name: $word");
            next if $word ne 'delivered';
            is times_applied($to, $id), 1, "first, $name: once";
            my ($message) = grep { grep { $_ eq $id } $platform->entries_in($_) }
                $platform->messages($to);
            is delivery($guild, $token, $id)->{messageId}, $message->{id},
                "first, $name: its message is named";
        }
    }
    for my $name ('behind', 'after a test') {
        my $it = $is{$name};
        becomes(@$it{qw(guild token)}, $it->{ids}[0], 'unknown unconfirmed',
            "$name: unconfirmed");
    }

    # a later lost message is not taken for the earlier one
    my $it = $is{behind};
    $platform->config(no_history => [$case{old}{to}]);
    $platform->faults({ call => 'execute', channel => $it->{to},
        action => 'reset' });
    my ($lost) = record($it->{guild}, 1);
    becomes(@$it{qw(guild token)}, $lost, 'unknown unconfirmed',
        'behind: the next one, which was lost, is unconfirmed, too');
    is times_applied($it->{to}, $lost), 0, 'behind: it is indeed absent';
    $platform->config(no_content => [], applications => {});
}

# a platform that answers for an hour, but never with messages, is given up; an
# outage is not

{
    my %of;
    for my $name ('redirected', 'silent') {
        my ($guild, $token, $to) = server();
        becomes($guild, $token, (record($guild, 1))[0], 'delivered',
            "$name: one before it");
        $of{$name} = [$guild, $token, $to];
    }
    $platform->faults(map { my $to = $of{$_}[2];
        ({ call => 'execute', channel => $to, action => 'apply-reset' },
            { call => 'read', channel => $to, times => 99,
                $_ eq 'silent' ? (action => 'reset')
                : (action => 'answer', status => 302, body => {}) })
    } keys %of);
    for my $name (keys %of) {
        my ($guild, $token) = @{ $of{$name} };
        push @{ $of{$name} }, record($guild, 1);
        becomes($guild, $token, $of{$name}[3], 'unknown in_flight',
            "$name: in flight");
    }
    my $told = sub { scalar reads($of{$_[0]}[2]) };
    wait_for { $told->('redirected') > 1 } 60, 'reads';
    is word(@{ $of{redirected} }[0, 1, 3]), 'unknown in_flight',
        'redirected: asked again for some time';

    $g->sql(q{update lane_head set attempt_at = now() - interval '2 hours'
        where guild_id in (?, ?)}, map { $_->[0] } values %of);
    my $before = $told->('silent');
    $g->reload;
    becomes(@{ $of{redirected} }[0, 1, 3], 'unknown unconfirmed',
        'redirected: then given up');
    wait_for { $told->('silent') > $before + 1 } 60, 'reads';
    is word(@{ $of{silent} }[0, 1, 3]), 'unknown in_flight',
        'silent: not given up while the platform does not answer';
    $platform->faults;
    look($of{redirected}[0]);
    for my $name (keys %of) {
        becomes(@{ $of{$name} }[0, 1, 3], 'delivered', "$name: it is found");
        is times_applied(@{ $of{$name} }[2, 3]), 1, "$name: once";
    }
}

# a day later

$g->sql(q{update doubt set done_at = now() - interval '25 hours'
    where guild_id = ?}, $case{old}{guild});
wait_for { !$g->sql('select count(*) from doubt where guild_id = ?',
    $case{old}{guild}) } 60, 'its end';
is_now('old', 'unknown unconfirmed', 'after a day it stays so');

done_testing;
