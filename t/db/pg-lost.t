# When a connection is lost, what only reads is asked once more on a new one;
# what writes is never done twice.

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


# loses so many statements, then answers
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
    is $answer->text, '{"answer":1}', "$how: by the second try";
    is $fake->count('execute'), 2, "$how: there were two";

    $fake = loser($how, 1);
    $nginx = $fake->nginx(name => 'write-' . $how =~ s/ /-/gr);
    is $fake->ask($nginx, 'PATCH')->response->status, 503,
        "$how: a write is not";
    is $fake->count('execute'), 1, "$how: it is tried once";
    is $fake->ask($nginx, 'PATCH')->response->status, 200,
        "$how: the next one is served";
}


my $fake = loser('closes', 2);
my $nginx = $fake->nginx(name => 'twice');
is $fake->ask($nginx, 'GET')->response->status, 503,
    'a read that loses two connections fails';
is $fake->count('execute'), 2, 'after the second';
is $nginx->get('/status', raw_path => 1)->json->{database_retries_total}, 1,
    'the status counts the retry';


# many at once, in a pipeline that breaks: each is answered, by its own answer

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


# lost while idle: the next request finds a new one

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
is $fake->ask($nginx, 'GET')->response->status, 200, 'an answer';
wait_for { $nginx->error_log =~ /idle for too long/ };
is $fake->ask($nginx, 'PATCH')->response->status, 200,
    'a connection that the server ended is not used again';
is $fake->count('session'), 2, 'there is a new one';

done_testing;
