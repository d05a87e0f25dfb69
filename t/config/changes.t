# PATCH /config: several changes of the configuration, as they would be made alone;
# all of them or none.

use lib 't/lib';
use Guildlog;
use Guildlog::Random;
use Guildlog::RandomChange;

my $seed = $ENV{GUILDLOG_SEED} // int rand 2**31;
diag "GUILDLOG_SEED=$seed";
srand $seed;

my $nginx = Guildlog->new(openapi => 1, api => 'guildlog_limit requests=100000;');

# one gets each change alone, the other one all at once
my ($alone, $once) = map { { id => $nginx->server(plan => 'pro_lite'),
    channels => $_ } } '30000000000000001', '30000000000000002';
$_->{token} = $nginx->token($_->{id}) for $alone, $once;


sub ask {
    my ($of, $method, $path, $body, @query) = @_;
    return $nginx->request($method, "/servers/$of->{id}$path", @query,
        token => $of->{token}, defined $body ? (json => $body) : ());
}


sub change { my ($of, @changes) = @_;
    return ask($of, 'PATCH', '/config', { changes => \@changes }) }


sub config { return ask($_[0], 'GET', '/config')->json }


# what can be compared between servers
sub plain {
    my ($of, $what) = @_;
    my $text = json->encode($what);
    $text =~ s/"(?:tag_|alert_)?id":"\d+"/"id":""/g;
    return $text =~ s/$alone->{channels}|$once->{channels}/#/gr;
}


sub whole {
    my ($of) = @_;
    my $config = config($of);
    delete $config->{guilds};
    my @entries = @{ ask($of, 'GET', '/logs?category=categoryService&limit=200')
        ->json->{entries} };
    delete @$_{qw(id timestamp delivery channel)} for @entries;
    return plain($of, [$config, ask($of, 'GET', '/filters')->json,
        [grep { $_->{type} !~ /^7[12]$/ } @entries],
        [map { "$_->{notificationType} $_->{notificationData}{description}" }
            grep { $_->{notificationType} !~ /^7[12]$/ }
            @{ ask($of, 'GET', '/notifications')->json }]]);
}


# any changes

my %seen;
for my $round (1 .. 40) {
    my @changes = map { random_change() } 1 .. between(1, 8);
    my $bad = chance(0.2) ? int rand @changes : undef;
    $changes[$bad] = bad_change() if defined $bad;

    my %meant = map { my $of = $_; my $is = config($of);
        $of->{id} => [map { meant($_, $is, $of->{channels}) } @changes] }
        $alone, $once;
    my @here = @{ $meant{ $alone->{id} } };
    my @there = @{ $meant{ $once->{id} } };
    my $before = whole($once);

    my @answers;
    # the rules of fields come before all that is there
    for ($bad // 0 .. $bad // $#here) {
        push @answers, ask($alone, @{ $here[$_] }{qw(method path body)});
        last if $answers[-1]->status >= 400;
    }
    my $refused = $bad // ($answers[-1]->status >= 400 ? $#answers : undef);
    my $told = "seed $seed, round $round: " . json->encode(\@changes);

    my $got = change($once, @there);
    if (defined $refused) {
        my $why = $answers[-1]->json;
        $seen{ $answers[-1]->status }++;
        is $got->status, $answers[-1]->status, 'is refused as alone' or diag $told;
        is $got->json->{error}, "changes[$refused]" . (!$why->{error}
            ? '.path: names nothing that is there'
            : ($why->{field} ? '.body.' : ': ') . $why->{error}), '... says which'
            or diag $told;
        is $got->json->{code}, $why->{code} // 'unknown_value', '... and why';
        is whole($once), $before, '... nothing was changed' or diag $told;
        next if defined $bad || !$refused;
        $got = change($once, @there[0 .. $refused - 1]);
        pop @answers;
    }
    $seen{200}++;
    is $got->status, 200, 'are made' or diag "$told\n", $got->text;
    is_deeply [map { $_->{status} } @{ $got->json->{changes} }],
        [map { $_->status } @answers], '... each as alone' or diag $told;
    is whole($once), whole($alone), '... and so is all that is told' or diag $told;
}
ok $seen{$_}, "$_ came" for 200, 400, 404;


# what is no change

my $is = whole($once);
my @every = map { { method => 'PATCH', path => '/config/logging/settings/types',
    body => { types => [0 .. $_], set => { color => undef } } } } (99) x 10;
my %good = (method => 'PATCH', path => '/config/settings',
    body => { locale => 'de' });
for (
    ['nothing', [], 'changes: must have 1 to 200 items'],
    ['too many', [map { { %good } } 1 .. 201], 'changes: must have 1 to 200 items'],
    ['too many types', [@every, { method => 'PATCH',
        path => '/config/logging/settings/types',
        body => { types => [0], set => { color => 1 } } }],
        'changes: must name at most 1000 types'],
    ['no list', {}, 'changes: must be an array'],
    ['no object', [1], 'changes[0]: must be an object'],
    ['no path', [{ method => 'PUT' }], 'changes[0].path: is required'],
    ['no such method', [{ %good, method => 'GET' }],
        'changes[0].method: must be one of POST, PUT, PATCH, DELETE'],
    ['another field', [{ %good, bot => 'pro' }], 'changes[0].bot: unknown field'],
    ['no body', [\%good, { method => 'POST', path => '/tags' }],
        'changes[1].body: is required'],
    ['an empty body', [{ %good, path => '/config/logging/settings', body => {} }],
        'changes[0].body: must set at least one field'],
    ['a body too much', [{ method => 'DELETE', path => '/tags/1',
        body => { a => 1 } }], 'changes[0].body: unknown field'],
    (map { ["$_->[0] $_->[1]", [{ method => $_->[0], path => $_->[1] }],
        'changes[0].path: is no change of the configuration with this method'] }
        ['PUT', '/config/settings'], ['PATCH', '/config'], ['DELETE', '/auth'],
        ['POST', 'x/tags'], ['POST', 'tags'], ['POST', '/tags/'],
        ['POST', '/tags?bot=pro'], ['DELETE', '/config/access/1?revoke=1'],
        ['POST', '/troubleshoot/fix'], ['POST', '/active/ignore/executors'],
        ['PATCH', "/servers/$once->{id}/config/settings"], ['POST', '//tags'],
        ['PATCH', '/config/logging/settings/102'], ['PATCH', '/filters/nothing'],
        ['DELETE', '/'], ['POST', '/notifications/acknowledge'],
        ['POST', '/search/members'], ['PATCH', '/config/logging/settings/05']),
) {
    my ($what, $changes, $error) = @$_;
    my $got = ask($once, 'PATCH', '/config', { changes => $changes });
    is $got->status, 400, $what;
    is $got->json->{error}, $error, '... says why';
    is $got->json->{field}, $error =~ s/: .*//r, '... and where';
}
is whole($once), $is, 'nothing was changed by them';
is ask($once, 'PATCH', '/config', { changes => [@every, \%good] })->status, 200,
    'what they were made of are changes';
for my $kind (qw(basic read)) {
    local $once->{token} = $nginx->new_token($once->{id}, kind => $kind)->{token};
    is change($once, \%good)->status, 403, "a token of the kind $kind makes none";
}
is ask($once, 'PATCH', '/config?bot=pro', { changes => [{ method => 'POST',
    path => '/config/logging/ignore/2', body => { value => '7' } }] })->status, 200,
    'the Pro bot';
is_deeply [map { $_->{ignore_value} } @{ ask($once, 'GET', '/config?bot=pro')->json
    ->{serverlogConfigIgnoreStandard} }], ['7'], '... has its own';


# what comes in between

sub begin {
    my (@changes) = @_;

    my $client = $nginx->connection;
    my $body = json->encode({ changes => \@changes });
    $client->send("PATCH /api/servers/$once->{id}/config HTTP/1.1\r\nHost: x\r\n"
        . "Authorization: Bearer $once->{token}\r\nContent-Type: application/json"
        . "\r\nContent-Length: " . length($body) . "\r\n\r\n$body");
    return $client;
}


# does something while changes wait for a lock that $sql takes, or have been answered
sub meanwhile {
    my ($sql, $do, @changes) = @_;

    $nginx->sql('begin');
    $nginx->sql($sql);
    my $client = begin(@changes);
    ok wait_for { $client->readable || $do->(map { $_->[0] } $nginx->sql("select pid
        from pg_stat_activity where query like '%config_patch%'
        and wait_event_type = 'Lock' and datname = current_database()")) } 30,
        'they wait';
    $nginx->sql('commit');
    return $client->response;
}

my @some = (\%good, { method => 'PATCH', path => '/config/logging/settings',
    body => { spoilers => JSON::PP::true } },
    { method => 'POST', path => '/tags', body => { tag_name => 'late',
      content => 'a' } });

ask($once, 'PATCH', '/config/settings', { locale => 'ja' });
ask($once, 'PATCH', '/config/logging/settings', { spoilers => JSON::PP::false });
$is = whole($once);
my $config = config($once);
my $killed = meanwhile('lock table guildlog.tag in exclusive mode', sub {
    my ($pid) = @_;
    return $pid && $nginx->cluster->connect('postgres', 'postgres')->selectrow_array(
        'select pg_terminate_backend(?)', undef, $pid);
}, @some);
is $killed->status, 503, 'the database ends it in the middle';
is whole($once), $is, '... and nothing was changed';

# for a second at most they wait for the server
my $got;
for (1 .. 20) {
    my $revoked = $nginx->new_token($once->{id});
    local $once->{token} = $revoked->{token};
    $got = meanwhile("with gone as (update guildlog.token set revoked_at = now()
        where token_id = '$revoked->{unique_id}') select from guildlog.server
        where guild_id = $once->{id} for update", sub { $_[0] }, @some);
    last if $got->status !~ /^(?:429|503)$/;
}
is $got->status, 401, 'the token was revoked before it came to that';
is plain($once, config($once)), plain($once, $config), '... and nothing was changed';

# two at once

for my $round (1 .. 10) {
    my @both = map { my $n = $_; [map { { method => 'PATCH',
        path => "/config/logging/settings/$_", body => { color => $n } } } 1 .. 9] }
        2 * $round, 2 * $round + 1;
    my @clients = map { begin(@$_) } @both;
    my @status = map { $_->response->status } @clients;
    is grep({ $_ == 200 } @status) + grep({ $_ == 503 || $_ == 429 } @status), 2,
        "two at once: @status";
    my %colors = map { $_->{color} => 1 } grep { $_->{log_type} =~ /^[1-9]$/ }
        @{ config($once)->{serverlogConfigCustomOptions} };
    is keys %colors, 1, '... are one behind the other';
}

done_testing;
