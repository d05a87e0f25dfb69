# Signing in has a share of what this address may ask the platform, behind that
# of delivery once it is used up.  Whoever begins sign-ins again and again, from
# many addresses, stops neither delivery nor the sign-ins of others.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;
use Guildlog::SignIn;
use IO::Select;

my $g = Guildlog->new(start => 0, workers => 2);
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
login($g, $platform, 'guildlog_login client=4000 secret=login.secret',
    rate => 10);
deliver_with($g, $platform);

my @servers = map { [server()] } 1 .. 12;
$platform->config(clients => { 4000 => $secret },
    redirects => { 4000 => ['http://localhost/login/callback'] });
manages($ada => [$servers[0][0]], $bob => [$servers[0][0]]);
my $signed_in = sign_in($bob);
wait_for { !grep { !webhook($_->[2]) } @servers } 60, 'the webhooks';


# one of many addresses: a sign-in that it begins, with a code that is none
my $next = 1;
sub begins {
    my ($from) = @_;

    my $browser = {};
    my ($state) = page($browser, 'GET', '/login',
        connect => { from => $from })->header('Location') =~ /state=(\w+)/;
    my $client = $g->connection(from => $from);
    $client->send("GET /login/callback?code=x&state=$state HTTP/1.1\r\n"
        . "Host: localhost\r\nCookie: guildlog_start="
        . "$browser->{jar}{guildlog_start}\r\n\r\n");
    return $client;
}


# what the platform was asked so far: messages, questions of sign-ins
sub counts {
    my %count = (execute => 0, token => 0);
    $count{ $_->{call} }++ for grep { $_->{event} eq 'request' }
        $platform->ledger;
    return @count{qw(execute token)};
}


# lets sign-ins begin from 40 addresses, each as soon as it is answered, until
# that is true
my %flood;
sub flood {
    my ($until) = @_;

    my $select = IO::Select->new(map { $_->{client}->socket } values %flood);
    wait_for {
        for my $socket ($select->can_read(0.1)) {
            my $it = $flood{$socket};
            $select->remove($socket);
            delete $flood{$socket};
            $it->{client} = begins($it->{from});
            $select->add($it->{client}->socket);
            $flood{ $it->{client}->socket } = $it;
        }
        return $until->();
    } 120, 'the flood';
}


record($_->[0], 500) for @servers;

for my $from (map { "127.0.0.$_" } 101 .. 140) {
    page({}, 'GET', '/login', connect => { from => $from }) for 1 .. 3;
    my $it = { from => $from, client => begins($from) };
    $flood{ $it->{client}->socket } = $it;
}

my @before = counts();
my @now;
flood(sub { @now = counts(); $now[0] + $now[1] - $before[0] - $before[1] > 80 });
my ($messages, $questions) = ($now[0] - $before[0], $now[1] - $before[1]);
note("$messages messages, $questions questions");
cmp_ok $messages, '>', 2 * $questions, 'delivery goes on beside sign-ins';
cmp_ok $questions, '>', 0, '... which are answered';

is sign_in($ada)->{answer}->status, 302,
    'who comes from an address of their own is signed in';
aged(901);
is api($signed_in, 'GET', "/servers/$servers[0][0]")->status, 200,
    'and whose session is asked for anew goes on';
is scalar(grep { $g->get("/servers/$_->[0]/config/logging/pacing",
    token => $_->[1])->json->{channels}[0]{queued} } @servers), 12,
    'all the while there is something to deliver';

$platform->control('faults', [{ call => 'token', action => 'answer',
    status => 429, body => {}, headers => { 'Retry-After' => 600 } }]);
is sign_in($ada)->{answer}->status, 503, 'the platform limits sign-ins';
my $asked = asked('token');
is sign_in($ada)->{answer}->status, 503, 'the next one is told at once';
is asked('token'), $asked, '... and the platform is not asked';

done_testing;
