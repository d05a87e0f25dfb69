# A connection prepares each statement once.  Where the server has forgotten a
# statement or its plan is out of date, it is prepared again, and the request is
# still answered.  prepare=off is for poolers that change the server under a
# connection.

use lib 't/lib';
use Guildlog;
use FakePostgres;

# prepared once

my $fake = FakePostgres->new(sub { $_[0]->welcome; $_[0]->serve });
my $nginx = $fake->nginx(name => 'once', database => { connections => 1 });
is $fake->ask($nginx, $_)->response->status, 200, $_
    for qw(GET PATCH GET PATCH GET);
is $fake->count('parse'), 2, 'two statements, prepared once each';


# forgotten (26000) and outdated (0A000)

for my $code ('26000', '0A000') {
    $fake = FakePostgres->new(sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            my (undef, $call) = @_;
            return { error => $code }
                if $call->{number} == 2 || $call->{number} == 3;
            return { body => qq({"n":$call->{number}}) };
        });
    });
    $nginx = $fake->nginx(name => $code, database => { connections => 1 });

    is $fake->ask($nginx, 'PATCH')->response->text, '{"n":1}', "$code: before";
    is $fake->ask($nginx, 'PATCH')->response->status, 500,
        "$code: twice in a row is an error";
    is $fake->count('parse'), 2, "$code: the statement was prepared again";
    is $fake->ask($nginx, 'PATCH')->response->text, '{"n":4}', "$code: after";
    is $fake->count('parse'), 2, "$code: it stays prepared";

    $fake = FakePostgres->new(sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            my (undef, $call) = @_;
            return { error => $code } if $call->{number} == 2;
            return { body => qq({"n":$call->{number}}) };
        });
    });
    $nginx = $fake->nginx(name => "once-$code",
        database => { connections => 1 });
    is $fake->ask($nginx, 'PATCH')->response->text, '{"n":1}', "$code: before";
    is $fake->ask($nginx, 'PATCH')->response->text, '{"n":3}',
        "$code: once is not an error";
    is $fake->count('session'), 1, "$code: on the same connection";
    my @names = map { (split / /, $_->{detail})[0] } $fake->seen('parse');
    isnt $names[0], $names[1], "$code: under a name of its own";
}


# a statement that cannot be prepared, several requests at once

$fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(parse => sub { $_[2] =~ /settings_patch/ ? '42883' : undef },
        execute => sub { { body => qq({"of":"$_[1]{arguments}[1]"}) } });
});
$nginx = $fake->nginx(name => 'cannot', database => { connections => 1 });

my @guilds = map { 100_000_000_000_000_200 + $_ } 1 .. 12;
my %bad  = map { $_ => $fake->ask($nginx, 'PATCH', guild => $_) } @guilds;
my %good = map { $_ => $fake->ask($nginx, 'GET', guild => $_) } @guilds;
is_deeply [map { $bad{$_}->response->status } @guilds], [(500) x 12],
    'each of these requests fails';
is_deeply [map { $good{$_}->response->text } @guilds],
    [map { qq({"of":"$_"}) } @guilds], 'no other request fails';
is $fake->count('session'), 1, 'one connection serves them all';


# the real server

$nginx = Guildlog->new(name => 'real', http => 'guildlog_limit off;',
    database => { connections => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
is $nginx->get("/servers/$server", %as)->status, 200, 'prepared';

$nginx->sql('alter function guildlog.server_get rename to server_got');
my $answer = $nginx->get("/servers/$server", %as);
is $answer->status, 500, 'a function is missing';
unlike $answer->text, qr/server_get|function/,
    'the client does not learn the function';
$nginx->sql('alter function guildlog.server_got rename to server_get');
is $nginx->get("/servers/$server", %as)->status, 200, 'the function is back';


# prepare=off

$fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        $peer->{statements} = {};
        return { body => qq({"of":"$call->{arguments}[1]"}) };
    });
});
$nginx = $fake->nginx(name => 'pooler',
    database => { connections => 2, prepare => 'off' });

%good = map { $_ => $fake->ask($nginx, 'GET', guild => $_) } @guilds;
is_deeply [map { $good{$_}->response->text } @guilds],
    [map { qq({"of":"$_"}) } @guilds], 'prepare=off: all requests are answered';
is_deeply [grep { $_->{detail} !~ /^ select/ } $fake->seen('parse')], [],
    'no statement has a name';
unlike $_->{detail}, qr/options=/, 'no options are sent at the start'
    for $fake->seen('session');

done_testing;
