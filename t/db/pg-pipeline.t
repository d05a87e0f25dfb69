# Short statements share connections, several at a time on each.  Each request
# gets its own answer or error.  Long statements never delay short ones.

use lib 't/lib';
use Guildlog;
use FakePostgres;


# several statements on a connection

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->outlast('shut');
    $peer->welcome;
    $peer->outlast('held');
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        my $guild = $call->{arguments}[1];
        return { error => 'GL409', message => "of $guild" } if $guild % 5 == 0;
        return { error => '22012', message => "of $guild" } if $guild % 5 == 1;
        return { status => 202, body => qq({"of":"$guild"}) };
    });
}, mode => 'shut');
my $nginx = $fake->nginx(database => { connections => 2, depth => 8 });

my @guilds = map { 100_000_000_000_000_300 + $_ } 1 .. 40;
my %asked = map { $_ => $fake->ask($nginx, 'GET', guild => $_) } @guilds;

sub queued {
    return $nginx->get('/status', raw_path => 1)->json->{database_queued};
}

# all are there when the connections open: nothing is sent behind a statement
# that has run for 100 ms
wait_for { queued() == 40 };
$fake->mode('held');
wait_for { queued() == 24 };
pass 'two connections take sixteen of forty, the rest wait';
$fake->mode('free');

my @wrong;
for my $guild (@guilds) {
    my $answer = $asked{$guild}->response;
    my ($status, $text) = $guild % 5 == 0 ? (409, qr/"of $guild"/)
                        : $guild % 5 == 1 ? (500, qr/^(?!.*of )/)
                        :                   (202, qr/^{"of":"$guild"}$/);
    push @wrong, "$guild: " . $answer->status . ' ' . $answer->text
        if $answer->status != $status || $answer->text !~ $text;
}
is_deeply \@wrong, [], 'each request gets its own answer or error';
is $fake->count('session'), 2, 'two connections were enough';
is $fake->count('execute'), 40, 'each statement was sent once';

my $status = $nginx->get('/status', raw_path => 1)->json;
is $status->{statement_seconds}{server_get}{count}, 40,
    'the status counts the statements';
is $status->{statement_errors_total}{server_get}, 8,
    '... and their errors, but not refusals of the schema';


# long statements have connections of their own, one for each

$fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        $peer->note('cancel') if $call->{text} =~ /pg_cancel_backend/;
        return {} if $call->{text} !~ /logs_actors/;

        $peer->note('actors');
        $peer->outlast('held');
        return $call->{arguments}[1] == $guilds[0] ? { error => '57014' } : {};
    });
}, mode => 'held');
$nginx = $fake->nginx(name => 'long', database =>
    { connections => 1, long_connections => 2, queue_timeout => '20s' });

my @long = map {
    $fake->ask($nginx, 'GET', path => '/logs/actors', guild => $_)
} @guilds[0 .. 2];
wait_for { $fake->count('actors') == 2 };
is $fake->ask($nginx, 'GET')->response->status, 200,
    'long statements do not delay short ones' for 1 .. 20;
is $fake->count('actors'), 2, 'the third long statement waits';
is $fake->count('session'), 1, 'one connection serves the short statements';
is $fake->count('long session'), 2, 'two connections serve the long ones';

close((shift @long)->socket);
wait_for { $fake->count('cancel') == 1 };
pass 'a long read is cancelled when its client leaves';
$fake->mode('cancelled');
is $_->response->status, 200, 'the others are answered' for @long;
is $fake->count('long session'), 2, '... by the same connections';
is $nginx->get('/status', raw_path => 1)->json->{statement_errors_total}
    {logs_actors}, undef, 'no statement failed';


# each statement is a transaction of its own

$nginx = Guildlog->new(name => 'real', http => 'guildlog_limit off;',
    database => { connections => 1, depth => 16 });
my $server = $nginx->server;
my $token = $nginx->token($server);
$nginx->sql("alter table guildlog.settings add check (locale <> 1)");

my @clients = map {
    my $client = $nginx->connection;
    my $locale = ('de', 'en-GB', 'fr')[$_ % 3];
    $client->send("PATCH /api/servers/$server/config/settings HTTP/1.1\r\n"
        . "Host: localhost\r\nAuthorization: Bearer $token\r\n"
        . "Content-Type: application/json\r\nContent-Length: "
        . (13 + length $locale) . "\r\n\r\n{\"locale\":\"$locale\"}");
    $client;
} 1 .. 30;
my %count;
$count{$_->response->status}++ for @clients;
is $count{202}, 20, 'allowed changes are stored';
is $count{500} + 0, 10, 'a refused change does not undo others';

done_testing;
