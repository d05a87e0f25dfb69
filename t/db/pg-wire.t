# What the database sends arrives complete, in pieces of any size.  A message
# that nginx did not ask for is never taken for a request's answer.

use lib 't/lib';
use Guildlog;
use FakePostgres;

my $long = '{"name":"' . 'x' x 3000 . '"}';

my %script = (
    drip => sub {
        my ($peer) = @_;
        $peer->drip(0);
        $peer->welcome;
        $peer->drip(0.0005);
        $peer->serve(execute => sub {
            my $notice = "SNOTICE\0VNOTICE\0C00000\0Mnothing\0\0";
            $peer->send('N' . pack('N', 4 + length $notice)
                . substr $notice, 0, 9);
            $peer->note('half');
            $peer->outlast('drip');
            $peer->send(substr $notice, 9);
            return { body => '{"drip":1}' };
        });
    },
    flood => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->notice('before anything was asked');
        $peer->status('TimeZone', 'UTC');
        $peer->serve(execute => sub {
            $peer->notice("$_ " . 'n' x 1000) for 1 .. 5000;
            return { body => $long };
        });
    },
    extra => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            $peer->rows([200, '{"answer":1}']);
            $peer->columns('status', 'body') if $peer->number == 1;
            $peer->rows([200, '{"answer":2}']) if $peer->number == 1;
            return;
        });
    },
    copy => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            return { body => '{"answer":3}' } if $peer->number > 1;
            $peer->message('H', pack 'C n', 0, 0);
            return;
        });
    },
    idle => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub { { body => '{"answer":4}' } })
            if $peer->number > 1;
        $peer->rows([200, '{"answer":5}']);
        $peer->hang;
    },
    early => sub {
        my ($peer) = @_;
        $peer->startup;
        $peer->together(sub {
            $peer->greet;
            $peer->rows([200, '{"answer":8}']) if $peer->number == 1;
        });
        $peer->hang if $peer->number == 1;
        $peer->serve(execute => sub { { body => '{"answer":9}' } });
    },
    garbage => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            return { body => '{"answer":6}' } if $peer->number > 1;
            $peer->send("\xff" x 64);
            return;
        });
    },
    deaf => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->wait_for_bytes;
        $peer->notice('n' x 1000) for 1 .. 20_000;
        $peer->serve(execute => sub {
            { body => '{"bytes":' . length($_[1]{arguments}[1]) . '}' }
        });
    },
    formats => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            my (undef, $call) = @_;
            my ($function) = $call->{text} =~ /guildlog\.(\w+)/;
            $peer->note('formats', "$function @{ $call->{formats} }");
            return {};
        });
    },
    nobody => sub {
        my ($peer) = @_;
        $peer->welcome;
        $peer->serve(execute => sub {
            $peer->number > 1 ? { body => '{"answer":7}' } : { rows => [] };
        });
    },
);


sub against {
    my ($name, %option) = @_;

    my $fake = FakePostgres->new($script{$name}, mode => $name);
    return ($fake, $fake->nginx(name => $name, %option));
}


# pieces

my ($fake, $nginx) = against('drip');
my $slow = $fake->ask($nginx, 'GET');
wait_for { $fake->count('half') };
is $nginx->get('/status', raw_path => 1)->status, 200,
    'other requests are served meanwhile' for 1, 2;
ok !$slow->readable(0), '... before the answer';
$fake->mode('rest');

my $answer = $slow->response;
is $answer->status, 200,
    'an answer byte by byte, from the start of the connection on';
is $answer->text, '{"drip":1}', '... is complete';

# notices

($fake, $nginx) = against('flood');
is $fake->ask($nginx, 'GET')->response->text, $long,
    'a flood of notices does not hide an answer' for 1 .. 3;
is $fake->count('session'), 1, '... nor end the connection';

# a server sends notices and does not read while nginx sends several megabytes:
# nginx has to read, or both wait for ever

($fake, $nginx) = against('deaf', operator => 'guildlog_max_body 16m;');
my $roles = join ',', map {
    '"' . (400_000_000_000_000_000 + $_) . '"'
} 1 .. 250;
my $members = '[' . join(',', map {
    '{"id":"' . (300_000_000_000_000_000 + $_) . qq(","roles":[$roles]})
} 1 .. 1000) . ']';
$answer = $nginx->operator('PUT', "/servers/$FakePostgres::guild/members",
    $members);
is $answer->status, 200, 'a long statement goes out while notices come in';
cmp_ok $answer->json->{bytes}, '>', 5_000_000, '... completely';

# messages that nginx did not ask for

for my $case (
    ['extra',   503, 'a second result', 1],
    ['copy',    503, 'a COPY', 3],
    ['garbage', 503, 'not a message', 6],
) {
    my ($name, $status, $what, $then) = @$case;

    ($fake, $nginx) = against($name);
    my $answer = $fake->ask($nginx, 'PATCH')->response;
    is $answer->status, $status, "$what: the request fails";
    unlike $answer->text, qr/"answer"/,
        "$what: and gets nothing of that message";
    is $fake->ask($nginx, 'PATCH')->response->text, qq({"answer":$then}),
        "$what: the next one gets its own answer";
    is $fake->count('session'), 2, "$what: on another connection";
}

# a message comes while no statement runs

($fake, $nginx) = against('idle');
$fake->ask($nginx, 'GET')->response;
is $fake->ask($nginx, 'GET')->response->text, '{"answer":4}',
    'an answer before the statement is not taken for its answer';

# a message comes at the start of a connection, which is not used then

($fake, $nginx) = against('early');
$fake->ask($nginx, 'GET')->response;
is $fake->ask($nginx, 'GET')->response->text, '{"answer":9}',
    'an answer at the start is not taken for an answer either';

# bytes are not asked for as text, and text not as bytes

for my $prepare ('on', 'off') {
    ($fake, $nginx) = against('formats', name => "formats-$prepare",
        database => { prepare => $prepare });
    $fake->ask($nginx, 'GET', path => $_)->response for '', '/logs?role=a';
    is_deeply [map { $_->{detail} } $fake->seen('formats')],
        ['server_get 0', 'search_open 1'],
        "a result with bytes is asked for in binary, prepare=$prepare";
}

# the function breaks its contract, but the protocol is right

($fake, $nginx) = against('nobody');
is $fake->ask($nginx, 'GET')->response->status, 500, 'no row is an error';
is $fake->count('session'), 1, '... of this statement only';

done_testing;
