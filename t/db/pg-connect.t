# Where the database cannot be reached, a request gets 503 after its time in the
# queue, the log has one line for each cause, and the pauses between attempts
# grow.

use lib 't/lib';
use Guildlog;
use FakePostgres;
use Time::HiRes qw(time sleep);

my %script = (
    'refuses the user' => sub {
        my ($peer) = @_;
        $peer->startup;
        $peer->password;
        $peer->error('28P01', 'password authentication failed', 'FATAL');
    },
    'has no more room' => sub {
        my ($peer) = @_;
        $peer->startup;
        $peer->error('53300', 'sorry, too many clients already', 'FATAL');
    },
    'resets at once'           => sub { $_[0]->reset },
    'resets after the startup' => sub { $_[0]->startup; $_[0]->reset },
    'leaves in the middle' => sub {
        my ($peer) = @_;
        $peer->startup;
        $peer->send("R\0\0");
    },
    'talks nonsense' => sub { $_[0]->send("HTTP/1.1 400 Bad Request\r\n\r\n") },
    'has no TLS' => sub {
        my ($peer) = @_;
        $peer->startup('N');
        $peer->note('unencrypted');
    },
    'answers TLS with nonsense' => sub {
        my ($peer) = @_;
        $peer->startup("S" . 'x' x 200);
    },
    'never answers'             => sub { $_[0]->hang },
    'never answers the startup' => sub { $_[0]->startup; $_[0]->hang },
);

my %log = (
    'refuses the user'      => qr/password authentication failed/,
    'has no more room'      => qr/too many clients/,
    'has no TLS'            => qr/does not support SSL/,
    'never answers'         => qr/timed out/,
    'never answers the startup' => qr/timed out/,
);


for my $what (sort keys %script) {
    my $fake = FakePostgres->new(sub {
        my ($peer) = @_;
        return $script{$what}->($peer) if $peer->mode eq 'broken';
        $peer->welcome;
        $peer->serve;
    }, mode => 'broken');

    my %tls = $what =~ /TLS/
        ? (sslmode => 'verify-full', sslrootcert => '%%PREFIX%%/ca.crt') : ();
    # only where nothing comes: any other cause is told, however late
    my %patience = $what =~ /^never/ ? (connect_timeout => '500ms') : ();
    my $nginx = $fake->nginx(name => $what =~ s/ /-/gr, start => 0, database =>
        { queue_timeout => '1s', %patience, %tls });
    $nginx->file('ca.crt', '');
    $nginx->file('database.password', 'top-secret-word');
    $nginx->start;

    my $start = time;
    my $answer = $fake->ask($nginx, 'GET')->response;
    my $took = time - $start;

    is $answer->status, 503, "$what: 503";
    ok $answer->header('Retry-After') >= 1, "$what: to be tried again";
    cmp_ok $took, '>', 0.9, "$what: after the request has waited";

    wait_for { $fake->count('connect') > 2 };
    my @errors = grep { /\[error\].*connect failed/ }
        split /\n/, $nginx->error_log;
    is @errors, 1, "$what: one line in the log";
    like $errors[0], qr/host "127\.0\.0\.1"/, "$what: it names the host";
    like $errors[0], $log{$what} || qr/./, "$what: and the cause";

    wait_for { $fake->count('connect') >= 5 };
    my @at = map { $_->{time} } $fake->seen('connect');
    cmp_ok $at[4] - $at[0], '>', 0.3,
        "$what: attempts have pauses between them";
    unlike $nginx->error_log, qr/top-secret-word/,
        "$what: no log has the password";
    is $fake->count('unencrypted'), 0, "$what: nothing is sent unencrypted"
        if %tls;

    next if %tls;

    $fake->mode('well');
    wait_for { $nginx->error_log =~ /connected again/ };
    like $nginx->error_log, qr/\[notice\].*connected again/,
        "$what: the log says that it is over";
    is $fake->ask($nginx, 'GET')->response->status, 200,
        "$what: then requests are served";
}


# Race: a worker stood still.  The waiting request times out in the moment of
# the next attempt: no request is left that needs a connection.

{
    my $fake = FakePostgres->new(sub {
        my ($peer) = @_;
        return $peer->reset if $peer->mode eq 'broken';
        $peer->welcome;
        $peer->serve;
    }, mode => 'broken');
    my $nginx = $fake->nginx(name => 'frozen',
        database => { queue_timeout => '3s' });

    my $asked = time;
    my $client = $fake->ask($nginx, 'GET');
    wait_for { $fake->count('connect') >= 5 };
    my @workers = $nginx->workers;
    kill 'STOP', @workers;
    my $left = $asked + 3.5 - time;
    sleep $left if $left > 0;
    kill 'CONT', @workers;

    is $client->response->status, 503,
        'a request that waited while the worker stood still: 503';
    $fake->mode('well');
    wait_for { $nginx->error_log =~ /connected again/ };
    is $fake->ask($nginx, 'GET')->response->status, 200,
        'the worker connects again afterwards';
}


# what a connection sends at its start

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->startup;
    $peer->note('password', $peer->password);
    $peer->message('R', pack 'N', 0);
    $peer->status('client_encoding', 'UTF8');
    $peer->ready;
    $peer->serve;
});
my $nginx = $fake->nginx(database => { timeout => '3s' });
is $fake->ask($nginx, 'GET')->response->status, 200,
    'the server asks for a password';
is(($fake->seen('password'))[0]{detail}, 'module', 'the password is sent');

my $startup = ($fake->seen('session'))[0]{detail};
like $startup, qr/\bstatement_timeout=3000\b/, 'statement_timeout is set';
like $startup, qr/\bclient_connection_check_interval=\d/,
    'the server checks whether the client is still there';
like $startup, qr/\bapplication_name=guildlog\b/, 'application_name is set';
like $startup, qr/\bclient_encoding=UTF8\b/, 'in UTF-8';

# files in a home folder have no effect

$nginx = $fake->nginx(start => 0, name => 'home', database =>
    { sslmode => 'disable', password_file => undef, queue_timeout => '1s' });
$nginx->file('home/.pgpass', "*:*:*:*:from-home\n", 0600);
{
    local $ENV{HOME} = $nginx->prefix . '/home';
    local $ENV{PGPASSFILE} = "$ENV{HOME}/.pgpass";
    local $ENV{PGPASSWORD} = 'from-environment';
    $nginx->start;
}
is $fake->ask($nginx, 'GET')->response->status, 503,
    'without a password file there is no password';
ok !(grep { $_->{detail} =~ /^from/ } $fake->seen('password')),
    'no password is taken from a home folder';

done_testing;
