# "live tail: new entries that match the filters, one event each with the entry
# id as event id; Last-Event-ID resumes without loss within 48 h; an older one
# gets `event: reset` ... and the tail goes on live; comment heartbeat every
# 15 s".  Tested over several workers, a reload, a restart of the database and
# the end of a token.
use lib 't/lib';
use Guildlog;
use Guildlog::Stream;
use Time::HiRes qw(time);

my $nginx = Guildlog->new(openapi => 1, workers => 2, connections => 4096,
    api => 'guildlog_limit requests=100000;', cluster => Guildlog::Cluster->new);
my $server = $nginx->server;
our $token = $nginx->token($server);
my $next   = 0;


sub listen_to { return Guildlog::Stream->new($nginx, $server, $token, @_) }
sub lines     { my $stream = shift; return $stream->lines(@_) }
sub events    { my $stream = shift; return $stream->events(@_) }
sub contents  { my $stream = shift; return $stream->contents(@_) }


sub record {
    my (@entries) = @_;

    my $answer = $nginx->operator('POST', "/servers/$server/logs", [map { {
        event_id => 'e' . $next++, type => 5, %$_,
    } } @entries]);
    die $answer->text if $answer->status != 200;
    return $answer->json->{ids};
}


# an event

my $all = listen_to('');
is $all->{status}, 200, 'a stream begins';
is $all->{header}{'content-type'}, 'text/event-stream; charset=utf-8',
    '... with its type';
is $all->{header}{'cache-control'}, 'no-store', '... it may not be cached';
is $all->{header}{'x-accel-buffering'}, 'no', '... nor buffered by a proxy';
is((lines($all, 30))[0], ':', 'a comment comes at once');

my ($id) = @{ record({ content => "a\nb", executor => { id => '7' } }) };
my ($event) = events($all, 1);
is $event->[0], $id, "an event has the entry's ID";
is_deeply $event->[1], $nginx->get("/servers/$server/logs?limit=1",
    token => $token)->json->{entries}[0], '... and its data as the page has it';

# filters

my %stream = map { $_ => listen_to($_) } 'type=7', 'category=categoryModlog',
    'search=hello', 'member=7&memberRole=executor', 'channel=9', 'role=mo',
    'bot=pro', 'after=' . int((time - 600) * 1000);

record({ content => '1', type => 7 }, { content => '2', type => 39 },
    { content => '3 Hello' }, { content => '4', executor => { id => '7' } },
    { content => '5', target => { id => '7' } },
    { content => '6', channel => { id => '9' } },
    { content => '7', role => 'Moderator' },
    { content => '8', timestamp => int((time - 900) * 1000) });

is contents($all, 8), '1 2 3 Hello 4 5 6 7 8',
    'without a filter: all, in the order of arrival';
is contents($stream{'type=7'}, 1), '1', 'a type';
is contents($stream{'category=categoryModlog'}, 1), '2', 'a category';
is contents($stream{'search=hello'}, 1), '3 Hello', 'a search';
is contents($stream{'member=7&memberRole=executor'}, 1), '4', 'a member';
is contents($stream{'channel=9'}, 1), '6', 'a channel';
is contents($stream{'role=mo'}, 1), '7', 'a role';
my ($after) = grep { /^after/ } keys %stream;
is contents($stream{$after}, 7), '1 2 3 Hello 4 5 6 7',
    'entries before "after" are left out';
is contents($_, 1, 0.5), '', 'no stream has anything else' for values %stream;

# resuming

my @ids = @{ record(map { { content => "r$_" } } 1 .. 500) };
my $late = record({ content => 'late',
    timestamp => int((time - 3000) * 1000) })->[0];
is scalar(my @many = events($all, 501)), 501, '501 events at once';
my $resumed = listen_to('', "Last-Event-ID: $ids[0]");
is contents($resumed, 500), join(' ', (map { "r$_" } 2 .. 500), 'late'),
    'all events after the last one seen, also an entry with an earlier time';
is contents(listen_to("lastEventId=$ids[497]"), 3), 'r499 r500 late',
    'resuming by a parameter';
is contents(listen_to("lastEventId=$ids[0]", "Last-Event-ID: $ids[498]"), 2),
    'r500 late', 'the header counts if both are given';
is contents(listen_to('', "Last-Event-ID: $late"), 1, 0.5), '',
    'nothing after the last event';
is contents(listen_to('search=r7', "Last-Event-ID: $ids[1]"), 1), 'r7',
    'resuming with a filter';
for my $bad ('x', '-1', '1.5', '99999999999999999999', '1' x 21) {
    my $stream = listen_to('', "Last-Event-ID: $bad");
    is $stream->{status}, 400, "malformed: $bad";
}

# days pass

sub pass_days {
    my ($days) = @_;

    $nginx->blocks($server);
    $nginx->days_pass($days, 'guild_id = ?', $server);
    $nginx->sql("delete from log_arrival where guild_id = ?
        and recorded_at < now() - interval '74 hours'", $server);
    return;
}


# all that pages have between these
sub pages {
    my ($data) = @_;

    return map { $_->{id} } @{ $nginx->get("/servers/$server/logs?limit=200&"
        . join('&', map { "$_=$data->{$_}" } sort keys %$data),
        token => $token)->json->{entries} };
}


my @day = @{ record(map { { content => "d$_" } } 0 .. 2) };
pass_days(1);
push @day, @{ record({ content => 'd3' }) };
pass_days(1);
push @day, @{ record({ content => 'd4' }) };
is contents(listen_to('', "Last-Event-ID: $day[0]"), 4), 'd1 d2 d3 d4',
    'resuming after two days';
pass_days(2);
push @day, @{ record({ content => 'd5' }) };
is contents(listen_to('', "Last-Event-ID: $day[3]"), 2), 'd4 d5',
    'also where older ones cannot';
my $old = listen_to('type=5', "Last-Event-ID: $day[0]");
my ($reset) = events($old, 1);
is $reset->[2], 'reset', 'after four days: a reset';
my @missed = pages($reset->[1]);
is_deeply [grep { my $id = $_; !grep { $id eq $_ } @missed } @day[1 .. 5]], [],
    '... pages have what was missed';
my ($new) = @{ record({ content => 'd6' }) };
is contents($old, 1), 'd6', '... and it goes on live';
is contents(listen_to('', "Last-Event-ID: $reset->[0]"), 1), 'd6',
    'the ID of a reset resumes behind it';
for my $what (['unknown', $new + 1], ['of the other bot', do {
    $nginx->operator('POST', "/servers/$server/logs?bot=pro",
        [{ event_id => 'pro', type => 5 }])->json->{ids}[0] }])
{
    is +(events(listen_to('', "Last-Event-ID: $what->[1]"), 1))[0][2], 'reset',
        "a reset for an ID that is $what->[0]";
}

# HEAD ends at once

my $head = $nginx->head("/servers/$server/logs/stream", token => $token);
is $head->status, 200, 'HEAD';
is $head->header('Content-Type'), 'text/event-stream; charset=utf-8', 'as GET';

# many listeners hold no connections to the database

my @crowd = map {
    local $token = $_;
    map { listen_to($_ % 2 ? 'type=5' : '') } 1 .. 20;
} $nginx->tokens($server, 15);
record({ content => 'crowd' });
is_deeply [grep { contents($_, 1) ne 'crowd' } @crowd], [],
    'each of many listeners gets the event';
cmp_ok $nginx->sql(q(select count(*) from pg_stat_activity
    where usename = 'guildlog' and datname = current_database())), '<=', 12,
    '... over few connections';
$_->{connection}->close for @crowd;

# a held entry comes when no request can remove it any more

$nginx->patch("/servers/$server/config/logging/settings", token => $token,
    json => { active_ignore => JSON::PP::true });
my $held = listen_to('type=44');
my $sent = time;
record({ content => 'held', type => 44 });
is contents($held, 1), 'held', 'a held entry comes later';
cmp_ok time - $sent, '>=', 3, '... after it is released';
$nginx->patch("/servers/$server/config/logging/settings", token => $token,
    json => { active_ignore => JSON::PP::false });

# the database stops and starts

my $quiet = listen_to('type=8');
$nginx->cluster->stop('immediate');
ok !$quiet->{connection}->closed(2), 'a stream stays open without the database';
$nginx->cluster->start;
delete $nginx->{dbh};
wait_for {
    eval { record({ content => 'back', type => 8 }) }
} 60;
is contents($quiet, 1), 'back', '... and continues with it';

# a reload ends streams at once; a client that resumes loses no event

# the other worker may not be connected to the database again yet
my $seen = wait_for {
    eval { record({ content => 'before', type => 9 }) }
} 60;
$seen = $seen->[0];
my $stream = wait_for {
    my $it = listen_to('type=9');
    $it->{status} == 200 && $it;
} 60, 'a stream';
ok eval { $nginx->reload; 1 }, 'old workers do not wait for their streams';
events($stream, 1);
ok $stream->{ended}, 'the stream ends cleanly';
record({ content => 'meanwhile', type => 9 });
$stream = listen_to('type=9', "Last-Event-ID: $seen");
is contents($stream, 1), 'meanwhile', 'a resumed stream has the next event';

# errors of the database are logged, and a stream ends if its token cannot be
# checked

sub refuse { $nginx->sql("revoke execute on function $_[0] from guildlog") }
sub permit { $nginx->sql("grant execute on function $_[0] to guildlog") }

$stream = listen_to('type=10');
refuse('logs_tail');
record({ content => 'behind', type => 10 });
ok eval { wait_for {
    $nginx->error_log =~ /"logs_tail" failed, SQLSTATE 42501/
} 60 }, 'an error of reading events is logged';
permit('logs_tail');
is contents($stream, 1), 'behind',
    '... the events come after the error is over';

refuse('logs_news');
ok eval { wait_for {
    $nginx->error_log =~ /"logs_news" failed, SQLSTATE 42501/
} 60 }, 'an error of asking for news is logged';
$nginx->sql('update token set revoked_at = now() where guild_id = ?', $server);
ok $stream->{connection}->closed(60),
    '... a revoked token still ends the stream';
permit('logs_news');
$token = $nginx->token($server);

$stream = listen_to('type=10');
refuse('logs_tokens');
ok $stream->{connection}->closed(60),
    'a token that cannot be checked ends the stream';
like $nginx->error_log, qr/"logs_tokens" failed, SQLSTATE 42501/,
    '... the error is logged';
permit('logs_tokens');
$stream = listen_to('type=9');

# heartbeats and the end of a token

ok eval { wait_for { grep { $_ eq ':' } lines($stream, 1) } 60 },
    'a comment comes from time to time';

$nginx->sql('update token set revoked_at = now() where guild_id = ?', $server);
ok $stream->{connection}->closed(60), 'a revoked token ends the stream';

$token = $nginx->token($server);
my ($jti) = $nginx->sql('select token_id from token
    where guild_id = ? and revoked_at is null', $server);
$token = $nginx->sign($nginx->claims($server, jti => $jti->[0],
    exp => int(time) + 20));
$stream = listen_to('');
is $stream->{status}, 200, 'a stream of a token that expires soon';
ok $stream->{connection}->closed(60), '... ends when it expires';

# readers that are slow or do not read

my $strict = free_port;
$nginx = Guildlog->new(name => 'slow', listen => 'sndbuf=8k',
    server => 'send_timeout 120s;', http => <<~"HTTP");
        server {
            listen 127.0.0.1:$strict sndbuf=8k;
            send_timeout 5s;
            location /api/ { guildlog_api; }
        }
        HTTP
$server = $nginx->server;
$token  = $nginx->token($server);
my $slow = listen_to('type=9');
my $dead = do { local $nginx->{port} = $strict; listen_to('type=9') };
my @long = map { { content => $_ . 'x' x 3900, type => 9 } } 1 .. 100;
record(@long) for 1 .. 4;
is contents($slow, 400, 60), join(' ', map { $_->{content} } (@long) x 4),
    'events wait for a slow reader';
ok eval { wait_for { $nginx->error_log =~ /client timed out/ } 60 },
    '... not longer than send_timeout';
record({ content => 'goes on', type => 9 });
is contents($slow, 1), 'goes on', 'the other stream goes on';

# one that is so slow that its place is not known any more

my $last = (map { record(@long)->[-1] } 1 .. 8)[-1];
pass_days(5);
record({ content => 'days later', type => 9 });
1 while events($slow, 1);
ok $slow->{ended}, 'a stream that is days behind ends';
cmp_ok $slow->{id}, '<', $last, '... before the end';
is +(events(listen_to('', "Last-Event-ID: $slow->{id}"), 1))[0][2], 'reset',
    '... and is reset when it resumes';

done_testing;
