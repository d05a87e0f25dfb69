# A database that hangs: requests that wait for it get the error of the
# documents, answers that have begun end unfinished, and afterwards every
# request is served again.

use lib 't/lib';
use Guildlog;
use Guildlog::Export;

my $rows    = 12_000;
my $cluster = Guildlog::Cluster->new;

# small buffers, so that little of an export is in the sockets
my $nginx = Guildlog->new(cluster => $cluster, listen => 'sndbuf=32k',
    api => 'send_timeout 60s; guildlog_limit off;',
    database => { timeout => '1500ms', long_timeout => '1500ms',
        connect_timeout => '1500ms', queue_timeout => '1500ms' });
my $server = $nginx->server;
my $token  = $nginx->token($server);
my $logs   = "/servers/$server/logs";
my $export = "$logs/export?type=7";
my %long   = (
    'a search'        => "$logs?search=needle",
    'the members'     => "$logs/actors",
    'an export'       => $export,
    'a search export' => "$logs/export?search=needle",
);

fill($nginx, $server, int(time * 1000), $rows);
$nginx->sql('analyze log_arrival');


sub served {
    my ($path) = @_;
    return $nginx->get($path, token => $token)->status == 200;
}


# an export of which the first bytes have come
sub begun {
    my ($version) = @_;

    return wait_for {
        my $connection = ask($nginx, $export, $token, $version);
        $connection->_fill && $connection->{buffer} =~ m{^HTTP/1\.1 200}
            && $connection
    } 60, 'an export begins';
}


# the database's processes and their children
sub freeze {
    my @processes = sort { $a <=> $b } $cluster->pid, $cluster->pids;
    kill 'STOP', @processes;
    return @processes;
}


wait_for { served("$logs?limit=1") && served("$logs?search=needle") } 60,
    'the database answers';

my $chunked = begun('1.1');
my $closing = begun('1.0');
my @frozen  = freeze();

my %asked = map { $_ => ask($nginx, $long{$_}, $token) } sort keys %long;
for (sort keys %asked) {
    my $answer = $asked{$_}->response;
    like $answer->status, qr/^(?:429|50[03])$/, "$_: an error status";
    like $answer->json->{error}, qr/\S/, '... the error says why';
}

my $answer = $chunked->response;
is $answer->status, 200, 'the answer of an export had begun';
ok $answer->truncated, 'HTTP/1.1: the last chunk is missing';
my $read = drain($closing);
is $read->{end}, 'reset', 'HTTP/1.0: the connection is reset';
cmp_ok $read->{rows}, '<', $rows, '... before all rows are sent';

kill 'CONT', @frozen;
wait_for { served("$logs?limit=1") } 60, 'the database answers';
for (sort keys %long) {
    wait_for { served($long{$_}) } 60, $_;
    pass "$_ is served again";
}
# a busy machine may miss so short a deadline once more
wait_for { drain(begun('1.0'))->{rows} == $rows } 60, 'a whole export';
pass 'an export is complete again';

done_testing;
