# When a connection is lost, a statement that reads is sent once more on a new
# connection.  A statement that writes is never sent twice.

use lib 't/lib';
use Guildlog;
use FakePostgres;
use Time::HiRes qw(time);

my %end = (
    'closes'  => sub { die "closes\n" },
    'resets'  => sub { $_[0]->reset; die "reset\n" },
    'is shut down' => sub {
        $_[0]->error('57P01', 'terminating connection', 'FATAL');
        die "shut down\n";
    },
    'crashes' => sub {
        $_[0]->message('N', "SWARNING\0VWARNING\0C57P02\0Mcrash\0\0");
        die "crash\n";
    },
    'closes within an answer' => sub {
        $_[0]->send('D' . pack('N', 1000) . 'half');
        die "half\n";
    },
);


# loses that many statements, then answers
sub loser {
    my ($how, $times) = @_;

    return FakePostgres->new(sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            return { body => '{"answer":1}' }
                if $peer->{fake}->count('execute') > $times;
            $end{$how}->($peer);
        });
    });
}


for my $how (sort keys %end) {
    my $fake = loser($how, 1);
    my $nginx = $fake->nginx(name => $how =~ s/ /-/gr);

    my $answer = $fake->ask($nginx, 'GET')->response;
    is $answer->status, 200, "$how: a read is answered";
    is $answer->text, '{"answer":1}', "$how: with the second answer";
    is $fake->count('execute'), 2, "$how: it was sent twice";

    $fake = loser($how, 1);
    $nginx = $fake->nginx(name => 'write-' . $how =~ s/ /-/gr);
    is $fake->ask($nginx, 'PATCH')->response->status, 503,
        "$how: a write fails";
    is $fake->count('execute'), 1, "$how: it was sent once";
    is $fake->ask($nginx, 'PATCH')->response->status, 200,
        "$how: the next write is answered";
}


my $fake = loser('closes', 2);
my $nginx = $fake->nginx(name => 'twice');
is $fake->ask($nginx, 'GET')->response->status, 503,
    'a read that loses two connections fails';
is $fake->count('execute'), 2, '... after its second attempt';
is $nginx->get('/status', raw_path => 1)->json->{database_retries_total}, 1,
    'the status counts the retry';


# A connection learns bit by bit that functions were replaced, and may find one
# gone in each attempt.  A new one does not.

for my $sqlstate ('XX000', '42883') {
    $fake = FakePostgres->new(sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            return $peer->number == 1 ? { error => $sqlstate }
                                      : { body => '{"number":2}' };
        });
    });
    $nginx = $fake->nginx(name => $sqlstate, allow => [qr/ failed, /]);
    ok eval { wait_for {
        my $answer = $fake->ask($nginx, 'PATCH')->response;
        $answer->status == 200 and $answer->text eq '{"number":2}' } },
        "$sqlstate twice: a statement goes to a new connection";
    is $fake->ask($nginx, 'PATCH')->response->status, 200,
        "$sqlstate: ... and so do those after it";
}



# many statements in a pipeline that breaks

$fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        my (undef, $call) = @_;
        die "gone\n" if $peer->number == 1 && $call->{number} == 3;
        return { body => '{"guild":"' . $call->{arguments}[1] . '"}' };
    });
});
$nginx = $fake->nginx(name => 'many');

my %client = map { $_ => $fake->ask($nginx, 'GET', guild => $_) }
    map { 100_000_000_000_000_100 + $_ } 1 .. 60;
my $right = grep {
    $client{$_}->response->text eq qq({"guild":"$_"})
} sort keys %client;
is $right, 60, 'each read of a broken pipeline gets its own answer';


# the connection is lost while it is idle

$fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->welcome;
    $peer->serve(execute => sub {
        return {} if $peer->number > 1;
        $peer->rows([200, '{}']);
        $peer->ready;
        $peer->error('57P05', 'idle for too long', 'FATAL');
        die "idle\n";
    });
});
$nginx = $fake->nginx(name => 'idle', database => { connections => 1 });
is $fake->ask($nginx, 'GET')->response->status, 200, 'the first answer';
wait_for { $nginx->error_log =~ /idle for too long/ };
is $fake->ask($nginx, 'PATCH')->response->status, 200,
    'a connection that the server ended is not used again';
is $fake->count('session'), 2, 'a new connection is opened';

done_testing;
