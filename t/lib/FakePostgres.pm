package FakePostgres;

# A server that speaks PostgreSQL's protocol (version 3) as badly as a test
# wants.  The test gives a script, which runs for each connection in a process
# of its own:
#
#   my $fake = FakePostgres->new(sub {
#       my ($peer) = @_;
#       $peer->welcome;
#       $peer->serve;
#   });
#
# count() and seen() return what the peers have seen: "connect", then "session"
# or, for long statements, "long session", "parse", "execute" and the like, and
# what a script notes.  nginx() starts an nginx with this server as its
# database.  ask() sends a request with a token that the server accepts, and
# returns before the answer comes.

use strict;
use warnings;

use parent 'Guildlog::Fake';

use IO::Socket::INET;


sub new {
    my ($class, $script, %option) = @_;

    return $class->SUPER::new(script => $script, address => '127.0.0.1',
        mode => '', %option);
}


# where nginx finds it, as for a cluster
sub socket_dir { $_[0]{address} }


our $guild = '100000000000000001';

# connections for long statements have another statement_timeout
my $long_ms = 29_000;

# statements that the module sends by itself: answered, but not noted
my %background = (keeper_step => 204);


sub nginx {
    my ($self, %option) = @_;

    my $nginx = Guildlog->new(cluster => $self, dbname => 'guildlog',
        http => 'guildlog_limit off;', %option,
        database => { long_timeout => "${long_ms}ms",
            %{ $option{database} || {} } });
    $self->{token} = $nginx->sign($nginx->claims($guild));
    return $nginx;
}


# sends GET /servers/{guild}, which only reads, or PATCH .../config/settings, or
# a request for "path"; returns the client, whose response() waits for the
# answer
sub ask {
    my ($self, $nginx, $method, %option) = @_;

    my $of = $option{guild} || $guild;
    my $token = $of eq $guild ? $self->{token}
              : $nginx->sign($nginx->claims($of));
    my $body = $method eq 'PATCH' ? '{"locale":"de"}' : '';
    my $path = "/api/servers/$of"
        . ($option{path} // ($body ? '/config/settings' : ''));

    my $client = $nginx->connection;
    $client->send("$method $path HTTP/1.1\r\nHost: localhost\r\n"
        . "Authorization: Bearer $token\r\n"
        . ($body ? "Content-Type: application/json\r\n" : '')
        . 'Content-Length: ' . length($body) . "\r\n\r\n$body");
    return $client;
}


sub _listen {
    my ($self, $port) = @_;

    return IO::Socket::INET->new(Listen => 128, LocalAddr => $self->{address},
        LocalPort => $port || 0, ReuseAddr => 1) || die "listen: $!";
}


sub _serve {
    my ($self, $number, $socket) = @_;

    $self->{script}->(bless { fake => $self, socket => $socket, buffer => '',
        number => $number, statements => {} }, 'FakePostgres::Peer');
}


package FakePostgres::Peer;

use strict;
use warnings;

use Socket qw(SOL_SOCKET SO_LINGER);
use Time::HiRes ();


# the number of this session among its kind, from 1
sub number { $_[0]{session} }
sub mode   { $_[0]{fake}->mode }

# waits until the mode is another one
sub outlast {
    my ($self, $mode) = @_;
    Time::HiRes::sleep(0.01) while $self->mode eq $mode;
    return;
}

sub note {
    my ($self, $what, $detail) = @_;
    $self->{fake}->event($self->{number}, $what, $detail);
}


# from now on sends one byte in each packet
sub drip {
    my ($self, $pause) = @_;
    $self->{drip} = $pause;
}


# reads the startup message and returns its parameters; a request for TLS is
# answered with "N", with the bytes given, or with a handshake that uses the
# files {SSL_cert_file, SSL_key_file}
sub startup {
    my ($self, $tls) = @_;

    while (1) {
        my $payload = $self->_take(unpack('N', $self->_take(4)) - 4);
        my ($code, $rest) = unpack 'N a*', $payload;

        if ($code == 80877103) {
            $self->note('tls');
            $self->send(ref $tls ? 'S' : $tls // 'N');
            $self->_start_tls(%$tls) if ref $tls;
            next;
        }
        die "protocol $code\n" if $code != 196608;

        my %parameter = split /\0/, $rest;
        $self->_begin(\%parameter);
        return \%parameter;
    }
}


sub _begin {
    my ($self, $parameter) = @_;

    my $kind = ($parameter->{options} // '') =~ /statement_timeout=$long_ms\b/
        ? 'long session' : 'session';
    $self->note($kind, join ' ', map { "$_=$parameter->{$_}" }
        sort keys %$parameter);

    my @connections = map { $_->{connection} } $self->{fake}->seen($kind);
    ($self->{session}) = grep {
        $connections[$_ - 1] == $self->{number}
    } 1 .. @connections;
}


sub _start_tls {
    my ($self, %option) = @_;

    require IO::Socket::SSL;
    IO::Socket::SSL->start_SSL($self->{socket}, SSL_server => 1, %option)
        or die "TLS: $IO::Socket::SSL::SSL_ERROR\n";
}


# the startup and everything after which the client may send statements
sub welcome {
    my ($self, %status) = @_;

    my $parameter = $self->startup;
    $self->greet(%status);
    return $parameter;
}


sub greet {
    my ($self, %status) = @_;

    %status = (server_version => '15.0', client_encoding => 'UTF8',
        default_transaction_read_only => 'off', in_hot_standby => 'off',
        integer_datetimes => 'on', standard_conforming_strings => 'on',
        %status);

    $self->message('R', pack 'N', 0);
    $self->status($_, $status{$_}) for sort keys %status;
    $self->message('K', pack 'N N', $self->{number}, 42);
    $self->ready;
}


sub status {
    my ($self, $name, $value) = @_;
    $self->message('S', "$name\0$value\0");
}


sub ready { $_[0]->message('Z', 'I') }


# asks for a password in clear text and returns it
sub password {
    my ($self) = @_;

    $self->message('R', pack 'N', 3);
    my ($type, $payload) = $self->read_message or die "no password\n";
    return $payload =~ s/\0$//r;
}


# answers statements until the client leaves.  For each "execute" it calls the
# code with {name, text, arguments, number, formats}, which returns an answer
# {status, body}, {rows => [[…]]} or {error => SQLSTATE}, or has sent one itself.
# formats: of the columns of the result, 0 for text and 1 for binary; with one
# of them it is that of all.
sub serve {
    my ($self, %on) = @_;

    my ($skip, $portal, $executed) = (0, undef, 0);

    while (my ($type, $payload) = $self->read_message) {

        if ($type eq 'X') {
            $self->note('terminate');
            return;
        }
        if ($type eq 'S') {
            $skip = 0;
            $self->ready;
            next;
        }
        next if $skip;

        if ($type eq 'P') {
            my ($name, $text) = split /\0/, $payload;
            $self->note('parse', "$name $text")
                if !grep { $text =~ /guildlog\.$_\b/ } keys %background;
            my $error = $on{parse} && $on{parse}->($self, $name, $text);
            if ($error) {
                $self->error($error);
                $skip = 1;
                next;
            }
            $self->{statements}{$name} = $text;
            $self->message('1', '');

        } elsif ($type eq 'B') {
            my $call = _bind($payload);
            $call->{text} = $self->{statements}{$call->{name}};
            if (!defined $call->{text}) {
                $self->note('unknown', $call->{name});
                $self->error('26000');
                $skip = 1;
                next;
            }
            $portal = $call;
            $self->message('2', '');

        } elsif ($type eq 'D') {
            $self->columns('status', 'body');

        } elsif ($type eq 'E') {
            my ($function) = $portal->{text} =~ /guildlog\.(\w+)/;
            if (my $status = $background{$function // ''}) {
                $self->rows([$status, '{}']);
                next;
            }
            $portal->{number} = ++$executed;
            $self->note('execute', join ' ', $function // '?',
                map { $_ // 'null' } @{ $portal->{arguments} });

            my $answer = $on{execute} ? $on{execute}->($self, $portal) : {};
            if (ref $answer eq 'HASH' && $answer->{error}) {
                $self->error($answer->{error}, $answer->{message});
                $skip = 1;
            } elsif (ref $answer eq 'HASH') {
                $self->rows(@{ $answer->{rows} || [[
                    $answer->{status} // 200, $answer->{body} // '{}' ]] });
            }

        } else {
            die "message $type\n";
        }
    }
    $self->note('gone');
}


sub _bind {
    my ($payload) = @_;

    my (undef, $name, $rest) = split /\0/, $payload, 3;
    my ($formats) = unpack 'n', $rest;
    my ($n, $values) = unpack 'n a*', substr $rest, 2 + 2 * $formats;
    my @arguments;

    for (1 .. $n) {
        my $length = unpack 'l>', $values;
        push @arguments, $length < 0 ? undef : substr $values, 4, $length;
        $values = substr $values, 4 + ($length < 0 ? 0 : $length);
    }
    return { name => $name, arguments => \@arguments,
        formats => [unpack 'n/n*', $values] };
}


sub columns {
    my ($self, @names) = @_;

    $self->message('T', pack('n', scalar @names) . join '', map {
        "$_\0" . pack 'N n N s> l> n', 0, 0, 25, -1, -1, 0
    } @names);
}


# sends the end of the statement
sub rows {
    my ($self, @rows) = @_;

    for my $row (@rows) {
        $self->message('D', pack('n', scalar @$row)
            . join '', map { pack 'N/a*', $_ } @$row);
    }
    $self->complete('SELECT ' . @rows);
}


sub complete { $_[0]->message('C', "$_[1]\0") }


sub error {
    my ($self, $code, $message, $severity) = @_;

    $severity ||= 'ERROR';
    $message //= "error $code";
    $self->message('E',
        "S$severity\0V$severity\0C$code\0M$message\0\0");
}


sub notice {
    my ($self, $message) = @_;
    $self->message('N', "SNOTICE\0VNOTICE\0C00000\0M$message\0\0");
}


sub message {
    my ($self, $type, $payload) = @_;
    $self->send($type . pack('N', 4 + length $payload) . $payload);
}


# sends at once what the code sends
sub together {
    my ($self, $code) = @_;

    local $self->{held} = '';
    $code->();
    my $bytes = delete $self->{held};
    $self->send($bytes);
}


sub send {
    my ($self, $bytes) = @_;

    if (defined $self->{held}) {
        $self->{held} .= $bytes;
        return;
    }

    my $size = defined $self->{drip} ? 1 : length $bytes;

    for (my $at = 0; $at < length $bytes; ) {
        my $sent = syswrite $self->{socket}, $bytes, $size, $at;
        die "the client is gone\n" if !defined $sent;
        $at += $sent;
        Time::HiRes::sleep($self->{drip}) if $self->{drip};
    }
}


# returns type and payload of a message; nothing at the end of the connection
sub read_message {
    my ($self) = @_;

    my $type = eval { $self->_take(1) } // return;
    return ($type, $self->_take(unpack('N', $self->_take(4)) - 4));
}


sub _take {
    my ($self, $size) = @_;

    while (length $self->{buffer} < $size) {
        sysread $self->{socket}, $self->{buffer}, 65536,
            length $self->{buffer} or die "the client left\n";
    }
    return substr $self->{buffer}, 0, $size, '';
}


# waits for bytes without reading them
sub wait_for_bytes {
    my ($self) = @_;

    vec(my $readable = '', fileno $self->{socket}, 1) = 1;
    select $readable, undef, undef, undef if !length $self->{buffer};
}


# sends nothing more, until the client closes the connection
sub hang {
    my ($self) = @_;

    $self->note('hang');
    1 while sysread $self->{socket}, my $ignored, 65536;
    $self->note('gone');
}


# closes the connection with RST
sub reset {
    my ($self) = @_;

    $self->{socket}->setsockopt(SOL_SOCKET, SO_LINGER, pack 'i i', 1, 0);
    close $self->{socket};
}


1;
