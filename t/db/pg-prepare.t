# Statements are prepared once a connection; one that the server has forgotten
# or outdated is prepared again, and nobody notices.  prepare=off does without,
# for poolers that hand out another server each time.

use lib 't/lib';
use Guildlog;
use FakePostgres;

# once

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
        "$code: twice is an error";
    is $fake->count('parse'), 2, "$code: it has been prepared again";
    is $fake->ask($nginx, 'PATCH')->response->text, '{"n":4}', "$code: after";
    is $fake->count('parse'), 2, "$code: it need not be again";

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
        "$code: once is not noticed";
    is $fake->count('session'), 1, "$code: on the same connection";
    my @names = map { (split / /, $_->{detail})[0] } $fake->seen('parse');
    isnt $names[0], $names[1], "$code: under a name of its own";
}


# a statement that cannot be prepared, several times at once

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
    'each of them fails';
is_deeply [map { $good{$_}->response->text } @guilds],
    [map { qq({"of":"$_"}) } @guilds], 'and no other';
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
unlike $answer->text, qr/server_get|function/, 'which is not for the client';
$nginx->sql('alter function guildlog.server_got rename to server_get');
is $nginx->get("/servers/$server", %as)->status, 200, 'it is there again';


# without

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
    [map { qq({"of":"$_"}) } @guilds], 'prepare=off: all are answered';
is_deeply [grep { $_->{detail} !~ /^ select/ } $fake->seen('parse')], [],
    'no statement has a name';
unlike $_->{detail}, qr/options=/, 'no option is sent at the start'
    for $fake->seen('session');

done_testing;
