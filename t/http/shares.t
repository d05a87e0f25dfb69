# A server has a share of each worker: four short statements and one long one
# may run, and one search.  Four more long ones may wait, and as many short ones
# and searches as half of the queue has places.  Of the connections for short
# statements it has at most half.  Servers take turns.  A request beyond the
# share is refused with 429; requests of other servers are served as usual.

use lib 't/lib';
use Guildlog;
use Guildlog::Platform;
use Guildlog::SignIn qw($secret $ada login manages sign_in started);
use FakePostgres;

my $nginx = Guildlog->new(
    http     => 'guildlog_limit requests=100000;',
    keeper   => 'on interval=20ms',
    database => { queue => 200, queue_timeout => '20s', timeout => '20s' },
    openapi  => 1,
);
my ($greedy, $second, $other) = map { $nginx->server } 1 .. 3;
my %token = map { $_ => $nginx->token($_) } $greedy, $second, $other;

sub status { return $nginx->get('/status', raw_path => 1)->json }
sub counter { return status()->{"database_$_[0]"} }


# sends a request and does not wait for its answer
sub ask {
    my ($guild, $path, $body) = @_;

    my $client = $nginx->connection;
    $client->send(($body ? 'POST' : 'GET') . " /api/servers/$guild$path "
        . "HTTP/1.1\r\nHost: localhost\r\n"
        . "Authorization: Bearer $token{$guild}\r\n"
        . ($body ? "Content-Type: application/json\r\n" : '')
        . 'Content-Length: ' . length($body // '') . "\r\n\r\n"
        . ($body // ''));
    return $client;
}


# {status: number} of the answers; checks the answers that refuse
sub answers {
    my (%count, @wrong);

    for my $answer (map { $_->response } @_) {
        my $status = $answer->status;
        $count{$status}++;
        next if $status == 200;

        push @wrong, "$status without Retry-After"
            if ($answer->header('Retry-After') // 0) < 1;
        push @wrong, "$status without error" if !$answer->json->{error};
        push @wrong, "$status without X-RateLimit-$_" for grep {
            !defined $answer->header("X-RateLimit-$_")
        } qw(Limit Remaining Reset);
    }
    is_deeply \@wrong, [], 'refusals say why and when to retry';
    return \%count;
}


# short and long requests of another server are answered
sub served {
    my ($while, @paths) = @_;
    my @failed;

    for my $path ((@paths) x 3) {
        my $answer = $nginx->get("/servers/$other$path",
            token => $token{$other});
        push @failed, "$path: " . $answer->status if $answer->status != 200;
    }
    is_deeply \@failed, [], "others are served $while";
}


sub record {
    my ($guild, $event) = @_;

    return $nginx->operator('POST', "/servers/$guild/logs", [{
        event_id => $event, type => 6, role => 'a role',
        executor => { id => '200000000000000001', name => 'somebody' },
    }]);
}


# searches, and questions for actors, which are long statements, wait for this
# lock if their server is in the table "slow", and so do exports that have begun,
# for a lock of their own
my $lock = $nginx->cluster->connect($nginx->dbname);
$nginx->sql('create table slow (guild bigint)');
$nginx->sql('insert into slow values (?), (?)', $greedy, $second);
$nginx->sql(<<~'SQL');
    create function slow_down(server bigint, lock int) returns void
    language plpgsql as $$
    begin
        if exists (select from slow s where s.guild = server) then
            perform pg_advisory_xact_lock_shared(lock);
        end if;
    end $$
    SQL
my %wait = (
    search_open => 'perform slow_down(search_open.guild, 42);',
    logs_actors => 'perform slow_down(logs_actors.guild, 42);',
    logs_export => 'if logs_export.below is not null then '
        . 'perform slow_down(logs_export.guild, 43); end if;',
);
while (my ($function, $wait) = each %wait) {
    my $text = $nginx->sql("select pg_get_functiondef('$function'::regproc)");
    $text =~ s/^begin$/begin\n    $wait/m or die $text;
    $nginx->sql($text);
}

# a different page each time: the page cache would answer the same one
my $pages = 0;
sub by_role { return '/logs?role=a&after=' . ++$pages }

# behind a statement that is slow, nginx sends no other one
sub slow {
    my ($function) = @_;

    return scalar $nginx->sql(<<~'SQL', $function);
        select count(*) from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database()
           and query ~ ? and query_start < clock_timestamp() - interval '200 ms'
        SQL
}

sub stop  { $lock->do('select pg_advisory_lock(?)', undef, $_[0] // 42) }
sub go_on { $lock->do('select pg_advisory_unlock(?)', undef, $_[0] // 42) }

is record($_, "first of $_")->status, 200, 'an entry is recorded'
    for $greedy, $second, $other;
my @short = ('', '/config', '/logs', '/logs?type=6', '/config/guilds');
my @long  = ('/logs?search=somebody', '/logs?role=role', '/logs/export',
             '/logs/actors');
served('first', @short, @long);


# 128 pages by role at once

stop();
my $refused = counter('share_refused_total');
my $waits   = counter('share_waits_total');
my @pages = map { ask($greedy, by_role()) } 1 .. 128;
wait_for { counter('share_refused_total') == $refused + 27 };
pass 'one search is at work, a hundred wait, the others are refused';
wait_for { slow('search_open') };
served('while one server searches by role', @short, @long);
is record($other, 'second')->json->{recorded}, 1, 'another server can record';

my $answer = $nginx->get("/servers/$greedy/logs?search=somebody",
    token => $token{$greedy});
is $answer->status, 429, 'another search of that server is refused';
like $answer->json->{error}, qr/this server/, 'because its share is in use';
is $nginx->get("/servers/$greedy/config", token => $token{$greedy})->status,
    200, 'its short requests are served';
is $nginx->get("/servers/$greedy/logs/export", token => $token{$greedy})
    ->status, 200, 'and its long ones';

go_on();
is_deeply answers(@pages), { 200 => 101, 429 => 27 },
    'the searches that waited are answered';
cmp_ok counter('share_waits_total') - $waits, '>=', 100,
    'the status counts searches that waited';


# a search whose client has left makes room for the next one

stop();
my $gone = ask($greedy, by_role());
wait_for { $nginx->waiting('search_open') == 1 };
my @line = map { ask($greedy, by_role()) } 1, 2;
$gone->close;
wait_for { $nginx->waiting('search_open') == 2 };
pass 'the next search is at work when a client has left';
$line[1]->close;
go_on();
is $line[0]->response->status, 200, 'and is answered';


# 64 long statements at once

stop();
$refused = counter('share_refused_total');
my @actors = map { ask($greedy, '/logs/actors') } 1 .. 64;
wait_for { counter('share_refused_total') == $refused + 59 };
pass 'one long statement runs, four wait, the others are refused';
served('while one server asks for actors', @short, @long);
is $nginx->get("/servers/$greedy/config", token => $token{$greedy})->status,
    200, 'its short requests are served';

go_on();
is_deeply answers(@actors), { 200 => 5, 429 => 59 }, 'the five are answered';


# both connections for long statements are in use

stop();
my @taken = map { ask($_, '/logs/actors') } $greedy, $second;
wait_for { $nginx->waiting('logs_actors') == 2 };
my $steps = status()->{statement_seconds}{keeper_step}{count} // 0;
wait_for {
    (status()->{statement_seconds}{keeper_step}{count} // 0) > $steps + 2
};
pass 'the keeper goes on meanwhile';
served('by the connections for short statements', @short,
    '/logs?search=somebody');

my @more = map { ask($greedy, '/logs/actors') } 1 .. 4;
wait_for { counter('queued') == 4 };
push @more, ask($other, '/logs/actors');
wait_for { counter('queued') == 5 };
go_on();
is_deeply answers(@taken, @more), { 200 => 7 },
    'all are answered in the end';


# an export that has begun is not cut because it has to wait for its turn: when
# it asks for its next part, another server has taken its connection, and as
# many as may wait do

is $nginx->operator('POST', "/servers/$second/logs", [ map { {
    event_id => "many $_", type => 6,
    executor => { id => '200000000000000001', name => 'somebody' },
} } 1 .. 1000 ])->status, 200, 'a longer log';

$nginx->sql('insert into slow values (?)', $other);

for ([ '/logs/export', 1003 ], [ '/logs/export?search=somebody', 1002 ]) {
    my ($path, $lines) = @$_;

    stop(43);
    my $export = ask($second, $path);
    wait_for { $nginx->waiting('logs_export') == 1 };

    stop();
    my @slow = ask($greedy, '/logs/actors');
    wait_for { $nginx->waiting('logs_actors') == 1 };
    push @slow, ask($other, '/logs/actors');
    wait_for { counter('queued') == 1 };
    push @slow, map { ask($second, '/logs/actors') } 1 .. 4;
    wait_for { counter('queued') == 5 };

    go_on(43);
    wait_for { counter('queued') == 5 && $nginx->waiting('logs_actors') == 2 };
    go_on();

    my $answer = $export->response;
    is $answer->status, 200, "$path is answered";
    is $answer->text =~ tr/\n//, $lines, 'and complete';
    is_deeply answers(@slow), { 200 => 6 }, 'and so are those that waited';
}

$nginx->sql('delete from slow where guild = ?', $other);


# a long statement whose client has left is cancelled

sub sessions {
    return map { $_->[0] } $nginx->sql(<<'SQL');
        select pid from pg_stat_activity
         where usename = 'guildlog' and datname = current_database()
SQL
}

stop();
my $timeouts = counter('timeouts_total');
for my $round (1 .. 3) {
    my $client = ask($greedy, '/logs/actors');
    wait_for { $nginx->waiting('logs_actors') };
    my @before = sessions();
    $client->close;
    wait_for { !$nginx->waiting('logs_actors') };
    is $nginx->get("/servers/$greedy/logs/export", token => $token{$greedy})
        ->status, 200,
        "the next one of its server is not cancelled ($round)";
    my %left = map { $_ => 1 } sessions();
    is_deeply [grep { !$left{$_} } @before], [],
        'and no connection is closed for it';
}
go_on();
is counter('timeouts_total'), $timeouts, 'no statement timed out';
is_deeply [grep { !/active_ignore/ } keys
    %{ status()->{statement_errors_total} }], [], 'no statement failed';


# a person whose right only the database knows stands in a line of his own, not
# in that of the server that he names

{
    my $people = Guildlog->new(name => 'people', dbname => $nginx->dbname,
        start => 0, database => { queue => 8, queue_timeout => '60s',
            timeout => '60s' });
    my $platform = Guildlog::Platform->new(
        dir => $people->prefix . '/platform');
    login($people, $platform, 'guildlog_login client=4000 secret=login.secret',
        http => 'guildlog_limit off;');
    $platform->config(clients => { 4000 => $secret },
        redirects => { 4000 => ['http://localhost/login/callback'] });
    manages($ada => []);
    my $stranger = sign_in($ada);
    my $refused = sub {
        $people->get('/status', raw_path => 1)
            ->json->{database_share_refused_total};
    };

    stop();
    my @crowd = map {
        started($stranger, 'GET', "/api/servers/$greedy" . by_role())
    } 1 .. 8;
    wait_for { $refused->() == 3 && slow('search_open') == 1 };
    my $own = $people->connection;
    $own->send('GET /api/servers/' . $greedy . by_role() . " HTTP/1.1\r\n"
        . "Host: localhost\r\nAuthorization: Bearer $token{$greedy}\r\n\r\n");
    wait_for { $nginx->waiting('search_open') == 2 || $refused->() > 3 };
    go_on();
    is $own->response->status, 200,
        'a server is served while a stranger crowds at it';
    my %count;
    $count{ $_->response->status }++ for @crowd;
    is_deeply \%count, { 403 => 5, 429 => 3 }, 'and the stranger has nothing';
    $people->stop;
}


# one batch is slow, and many changes of its server wait for it

my $batch = $nginx->cluster->connect($nginx->dbname);
$batch->begin_work;
$batch->do('select record_begin(?, 0::smallint, 0)', undef, $greedy);
my $began = Time::HiRes::time();
my @ignore = map {
    ask($greedy, '/active/ignore/executors', '{"id":"200000000000000001"}')
} 1 .. 96;
wait_for { $nginx->waiting('active_ignore') };
wait_for { counter('queued') > 40 };
served('while changes of one server wait for a lock', @short);
is record($other, 'third')->json->{recorded}, 1, 'another server can record';
served('still', @short);

my $first = $ignore[0]->response;
is $first->status, 429, 'a change that waits too long is refused';
cmp_ok $first->header('Retry-After'), '>=', 1, 'and may be sent again';
$batch->rollback;
my $held = Time::HiRes::time() - $began;
my $count = answers(@ignore[1 .. 95]);
is $count->{200} + ($count->{429} // 0), 95,
    'all changes are answered';
cmp_ok $count->{200}, '>=', 95 - 2 * ($held + 1),
    'all but two a second are carried out';


# the order of the servers

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        $peer->outlast('slow');
        return {};
    });
}, mode => 'slow');
$nginx = $fake->nginx(name => 'turns', database =>
    { connections => 1, depth => 1, queue_timeout => '60s', timeout => '60s' });

my @guilds = map { 100_000_000_000_000_000 + $_ } 1 .. 4;
my @asked = $fake->ask($nginx, 'GET', guild => $guilds[0]);
wait_for { $fake->count('execute') == 1 };
for my $guild (($guilds[0]) x 20, @guilds[1 .. 3], $guilds[1]) {
    push @asked, $fake->ask($nginx, 'GET', guild => $guild);
    wait_for { counter('queued') == @asked - 1 };
}
$fake->mode('fast');
is $_->response->status, 200, 'answered' for @asked;
my @order = map { (split ' ', $_->{detail})[2] - $guilds[0] + 1 }
    $fake->seen('execute');
is "@order[0 .. 7]", '1 1 2 3 4 1 2 1', 'servers take turns';


# the share of the connections for short statements

my $hog = $guilds[0];
$fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->outlast('shut');
    $peer->welcome;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        if ($call->{arguments}[1] == $hog) {
            $peer->note('slow');
            $peer->outlast('slow');
        }
        return {};
    });
}, mode => 'shut');
$nginx = $fake->nginx(name => 'short',
    http => 'guildlog_limit requests=100000;', database =>
    { queue => 40, queue_timeout => '12s', timeout => '60s' });

@asked = map { $fake->ask($nginx, 'GET', guild => $hog) } 1 .. 4;

# all are there when a connection opens: nothing goes behind what has run for
# 100 ms
wait_for { counter('queued') == 4 };
$fake->mode('slow');
wait_for { $fake->count('slow') && counter('queued') == 0 };
my $sent = Time::HiRes::time();
push @asked, map { $fake->ask($nginx, 'GET', guild => $hog) } 1 .. 26;
wait_for {
    counter('share_refused_total') == 6 && Time::HiRes::time() - $sent > 0.2
};
pass 'one server may not fill more than half of the queue';
cmp_ok $fake->count('slow'), '<=', 2, 'it has two of the four connections';
is $fake->ask($nginx, 'GET', guild => $guilds[1 + $_ % 3])->response->status,
    200, 'other servers have the rest' for 1 .. 10;
wait_for { counter('queued') == 0 };
is counter('share_refused_total'), 26,
    'requests that got no turn within their share are refused';
is counter('timeouts_total'), 0,
    'they do not count as timeouts of the database';
$fake->mode('fast');
is_deeply answers(@asked), { 200 => 4, 429 => 26 },
    'four requests were carried out';

done_testing;
