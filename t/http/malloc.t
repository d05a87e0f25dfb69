# Any allocation of a worker may fail.  A request that meets this is answered as
# usual, with 500 or 503, or not at all.  The next request works.  An entry that
# is sent again is recorded once and delivered once.  Nothing crashes or leaks.
# Not promised: jansson aborts where an allocation for a character of an escape
# fails.  It reads only those texts that our own reader leaves to it.
#
# GUILDLOG_FAULTS is the number of allocations that fail, one after another, in
# each kind of request.  GUILDLOG_SEED chooses them.  t/chaos/malloc.t says
# "all".

use lib 't/lib';
BEGIN {    # with sanitizers, each allocation from a pool is a malloc()
    $ENV{GUILDLOG_BUILD} = 'asan' if ($ENV{GUILDLOG_BUILD} // '') !~ /^asan/;
}
use Guildlog;
use Guildlog::Clock;
use Guildlog::Delivery;
use Guildlog::Fault;
use Guildlog::Platform;
use Guildlog::SignIn qw(login $secret $ada manages allowed sign_in page api aged);

my $faults = $ENV{GUILDLOG_FAULTS} // 8;
my $seed = $ENV{GUILDLOG_SEED} // 1;
srand $seed;
diag("seed $seed");

my $g = Guildlog->new(start => 0, allow => [qr/Cannot allocate memory/],
    api => 'guildlog_limit off;', status => 'error_page 418 /api/;');
my $fault = Guildlog::Fault->new($g->prefix . '/logs');
my $clock = Guildlog::Clock->new($g->prefix);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
login($g, $platform, 'guildlog_login client=4000 secret=login.secret;'
    . ' guildlog_limit off',
    locations => 'location /guarded { guildlog_auth on; return 204; }',
    env => { %{ $clock->env }, %{ $fault->env }, LD_PRELOAD => join ' ',
        map { $_->env->{LD_PRELOAD} } $fault, $clock });
deliver_with($g, $platform);
$platform->config(clients => { 4000 => $secret },
    redirects => { 4000 => ['http://localhost/login/callback'] });

my $worker = wait_for { ($g->workers)[0] } 60, 'a worker';
my ($server, $to) = (server())[0, 2];
my $at = "/servers/$server";
my ($other, $reader) = server();    # no case changes this server's log
my $unique_id = $g->new_token($server)->{unique_id};
my $token = $g->token($server);
my $expires = time + 3600;
my (@entries, $new_token, $new_server, $person, $later);
manages($ada => [$server]);


# a token that no worker has seen yet
sub new_token {
    return $new_token = $g->sign($g->claims($server, jti => $unique_id,
        exp => $expires++));
}


sub new_entries {
    my ($n) = @_;
    return @entries = map { {
        event_id => 'm' . ++$event, type => 7, content => "content $event",
        executor => { id => '500000000000000001', name => 'Ann' },
    } } 1 .. $n;
}


sub operator {
    my ($method, $path, %option) = @_;
    return Guildlog::Client->new(unix => $g->{operator})
        ->request($method, $path, %option);
}


# the cases: "ask" sends the request, "before" prepares it, "same" is the part
# of an answer that is always the same
my %cases = (
    'a read by a new token' => {
        before => \&new_token,
        ask    => sub { $g->get("$at/config", token => $new_token) },
        same   => sub { $_[0]->text },
    },
    'a bad token' => {
        ask  => sub { $g->get("$at/config", token => "${token}x") },
        same => sub { $_[0]->text },
    },
    'a guarded location' => {
        before => \&new_token,
        ask => sub { $g->get('/guarded', raw_path => 1, token => $new_token) },
    },
    'a change' => {
        ask => sub { $g->patch("$at/config/logging/channels", token => $token,
            json => { main_channel => $to }) },
        same => sub { $_[0]->text },
    },
    'a body that is refused' => {
        ask => sub { $g->patch("$at/config/logging/channels", token => $token,
            json => { no_channel => 1 }) },
        same => sub { $_[0]->text },
    },
    'a page' => {
        ask  => sub { $g->get("/servers/$other/logs?limit=2",
            token => $reader) },
        same => sub { scalar @{ $_[0]->json->{entries} } },
    },
    'an export' => {
        ask  => sub { $g->get("/servers/$other/logs/export",
            token => $reader) },
        same => sub { $_[0]->text },
    },
    'a new token' => {
        before => sub { $new_server = $g->server },
        ask => sub { operator('POST', "/servers/$new_server/tokens",
            json => { permissions => 1, creator => '200000000000000001' }) },
        same => sub { join ' ', sort keys %{ $_[0]->json } },
    },
    'entries' => {
        before => sub { new_entries(2) },
        ask  => sub { operator('POST', "$at/logs", json => \@entries) },
        same => sub { scalar @{ $_[0]->json->{ids} } },
    },
    'entries, one a line' => {
        before => sub { new_entries(2) },
        ask => sub { operator('POST', "$at/logs",
            body => join('', map { $g->json->encode($_) . "\n" } @entries),
            headers => ['Content-Type', 'application/x-ndjson']) },
        same => sub { scalar @{ $_[0]->json->{ids} } },
    },
    'a large body in chunks' => {
        before => sub { new_entries(30); $_->{content} = 'x' x 3000 for @entries },
        ask => sub {
            my $body = $g->json->encode(\@entries);
            my $chunks = join '', map { sprintf "%x\r\n%s\r\n", length, $_ }
                unpack('(a5000)*', $body), '';
            return operator('POST', "$at/logs", body => $chunks, headers => [
                'Content-Type', 'application/json',
                'Transfer-Encoding', 'chunked']);
        },
        same => sub { scalar @{ $_[0]->json->{ids} } },
    },
    'a sign-in' => {
        ask => sub {
            my $path = eval { allowed($person = {}, $ada) } or return;
            return page($person, 'GET', $path);
        },
        same => sub { join ' ', keys %{ $person->{jar} } },
    },
    'a person of whom the platform is asked anew' => {
        before => sub { $person = sign_in($ada) },
        ask  => sub {
            aged(901);
            $clock->set($later += 6);    # what failed rests for 5 s
            return api($person, 'GET', $at);
        },
        same => sub { $_[0]->json->{id} },
    },
    'a sign-out' => {
        ask => sub {
            my $path = eval { allowed($person = {}, $ada) } or return;
            page($person, 'GET', $path);
            return $person->{jar}{guildlog}
                ? page($person, 'POST', '/login/logout') : undef;
        },
    },
    'the status' => {
        ask => sub { $g->get('/status', raw_path => 1) },
    },
);


# the numbers of the allocations that fail, out of this many
sub chosen {
    my ($count, $most) = @_;

    return 1 .. $count if $faults eq 'all' || $faults >= $count;
    my %chosen = map { 1 + int(rand $count) => 1 } 1 .. $most || $faults;
    return sort { $a <=> $b } keys %chosen;
}


# says why an answer is not one of those that are allowed; '' if it is allowed
sub wrong {
    my ($case, $answer, $good) = @_;

    return '' if !$answer || $answer->truncated
        || $answer->status =~ /^50[03]$/;
    my $same = $case->{same} || sub { '' };
    return '' if $answer->status == $good->status
        && $same->($answer) eq $same->($good);
    return $answer->status . ' ' . substr $answer->text, 0, 200;
}


# makes $run allocations fail, from the $nth on, while the case is asked for
sub starve {
    my ($case, $good, $nth, $run) = @_;

    $case->{before}->() if $case->{before};
    $fault->fail($worker, $nth, $run);
    my $answer = eval { $case->{ask}->() };
    my @wrong = $@ || ();
    my $failed = $fault->failed;
    push @wrong, wrong($case, $answer, $good) || ();

    die "allocation $nth: the worker died\n", $fault->report($worker)
        if !kill 0, $worker;

    my $next = eval { $case->{ask}->() };
    my $trouble = !$next ? $@ || 'no answer'
        : $next->status =~ /^50/ ? $next->status : wrong($case, $next, $good);
    push @wrong, "the next one: $trouble" if $trouble;

    diag("allocation $nth: @wrong\n", $fault->stack) if @wrong;
    return !@wrong;
}


becomes($other, $reader, $_, 'delivered', 'an entry to read', 60)
    for record($other, 3);

for my $name (sort keys %cases) {
    my $case = $cases{$name};

    $case->{before}->() if $case->{before};
    $case->{ask}->();
    $case->{before}->() if $case->{before};
    $fault->count($worker);
    my $good = $case->{ask}->();
    my $count = $fault->counted;

    my @chosen = chosen($count);
    my @bad = grep { !starve($case, $good, $_, 1) } @chosen;
    push @bad, grep { !starve($case, $good, $_, 100) }
        $faults eq 'all' ? @chosen : @chosen[map { int rand @chosen } 1 .. 5];
    is "@bad", '', "$name: $good->{status}, of $count allocations";
}


subtest 'a token that cannot be checked for lack of memory' => sub {
    new_token();
    $fault->fail_within($worker, 'ngx_guildlog_token_verify');
    my $answer = eval { $g->get("$at/config", token => $new_token) };
    $fault->failed;
    is $answer && $answer->status, 500, 'is answered with 500';
    like $answer && $answer->text, qr/^\{"error":"/, '... in JSON';
};


# the worker connects to the database again, whose answer may be lost
subtest 'a request without a connection' => sub {
    my $case = $cases{'a read by a new token'};
    $case->{before}->();
    my $good = $case->{ask}->();
    my $mine = "from pg_stat_activity where usename = 'guildlog'"
        . ' and datname = current_database()';

    # the password is hashed some 4,000 times; each time allocates memory
    my @chosen = map { int(1.15 ** $_) } 1 .. 60;
    @chosen = @chosen[sort { $a <=> $b } map { int rand @chosen } 1 .. 12]
        if $faults ne 'all';
    my @bad = grep {
        my @pids = map { $_->[0] } $g->sql("select pid $mine");
        $g->sql("select pg_terminate_backend(pid) $mine");
        wait_for { !$g->sql("select count(*) $mine and pid = any (?)",
            \@pids) } 60, 'connections end';
        !starve($case, $good, $_, 1);
    } @chosen;
    is "@bad", '', 'no answer was wrong';
};


subtest 'delivery' => sub {
    my @sent;
    my ($guild, $key, $channel) = server();
    $fault->count($worker);
    record($guild, 1);
    wait_for { posts($channel) } 120, 'a message';
    my $count = $fault->counted;

    for my $nth (chosen($count, 2)) {
        ($guild, $key, $channel) = server();
        $fault->fail($worker, $nth, 1);
        my $answer = eval { operator('POST', "/servers/$guild/logs",
            json => [new_entries(1)]) };
        wait_for { $fault->hit || posts($channel) } 120,
            'a fault or a message';
        $fault->failed;
        die "allocation $nth: the worker died\n", $fault->report($worker)
            if !kill 0, $worker;
        $answer = operator('POST', "/servers/$guild/logs",
            json => \@entries) if !$answer || $answer->status != 200;
        push @sent, [$nth, $guild, $key, $channel, $answer->json->{ids}[0]];
    }

    for (@sent) {
        my ($nth, $guild, $key, $channel, $id) = @$_;
        becomes($guild, $key, $id, 'delivered', "without allocation $nth",
            120);
        is times_applied($channel, $id), 1, 'delivered once';
    }
};


is $g->sql("select count(*) - count(distinct (doc || '}')::json->>'content')"
    . " from entries where guild_id = ? and (doc || '}')::json->>'content'"
    . " like 'content %'", $server), 0, 'no entry is recorded twice';

is_deeply [$g->workers], [$worker], 'the worker never restarted';
my $master = $g->pid;
$g->stop;
is $fault->left($worker, $master), '', 'the worker leaves nothing behind';

done_testing;
