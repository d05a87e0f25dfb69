package Guildlog::Client;

# One connection to a server, with every byte under the test's control.

use strict;
use warnings;

use Cpanel::JSON::XS;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Time::HiRes qw(time);

my $json = Cpanel::JSON::XS->new->utf8->canonical->allow_nonref;


sub new {
    my ($class, %option) = @_;

    my $self = bless { timeout => 90, buffer => '', %option }, $class;

    $self->{socket} = $option{unix}
        ? IO::Socket::UNIX->new(Peer => $option{unix})
        : IO::Socket::INET->new(
            PeerAddr  => $option{host} || '127.0.0.1',
            PeerPort  => $option{port},
            LocalAddr => $option{from},
        );
    die 'cannot connect to ', $option{unix} || $option{port}, ": $!\n"
        if !$self->{socket};

    $self->_start_tls if $option{tls};
    return $self;
}


sub _start_tls {
    my ($self) = @_;

    require IO::Socket::SSL;
    my %option = ref $self->{tls} ? %{ $self->{tls} } : ();
    IO::Socket::SSL->start_SSL($self->{socket}, SSL_verify_mode => 0, %option)
        or die "TLS: $IO::Socket::SSL::SSL_ERROR\n";
}


sub socket { $_[0]{socket} }


# request(method, path, token =>, json =>, body =>, headers => [name, value…],
# expect_body => 0): sends and reads one answer
sub request {
    my ($self, $method, $path, %option) = @_;

    $self->send(_format($method, $path, %option));
    return $self->response($method);
}


# the bytes of a request
sub _format {
    my ($method, $path, %option) = @_;

    my @headers = @{ $option{headers} || [] };
    my $body    = $option{body};

    if (exists $option{json}) {
        $body = ref $option{json} ? $json->encode($option{json})
                                  : $option{json};
        unshift @headers, 'Content-Type', 'application/json'
            if !grep { lc eq 'content-type' } @headers;
    }
    if (defined $body) {
        utf8::encode($body) if utf8::is_utf8($body);
        push @headers, 'Content-Length', length $body
            if !grep { /^(?:content-length|transfer-encoding)$/i } @headers;
    }
    unshift @headers, Authorization => "Bearer $option{token}"
        if defined $option{token};
    unshift @headers, Host => 'localhost'
        if !grep { lc eq 'host' } @headers;

    my $text = "$method $path HTTP/1.1\r\n";
    while (my ($name, $value) = splice @headers, 0, 2) {
        $text .= "$name: $value\r\n" if defined $value;
    }
    return "$text\r\n" . ($body // '');
}


sub send {
    my ($self, $bytes) = @_;

    utf8::encode($bytes) if utf8::is_utf8($bytes);
    local $SIG{PIPE} = 'IGNORE';
    my $at = 0;
    while ($at < length $bytes) {
        my $sent = syswrite $self->{socket}, $bytes, 65536, $at;
        return 0 if !defined $sent;
        $at += $sent;
    }
    return 1;
}


# sends piece by piece, with a pause in seconds
sub send_slowly {
    my ($self, $bytes, %how) = @_;

    my $size = $how{size} || 1;
    for (my $at = 0; $at < length $bytes; $at += $size) {
        $self->send(substr $bytes, $at, $size) or return 0;
        Time::HiRes::sleep($how{pause} || 0.01);
    }
    return 1;
}


# the next answer; undef if the connection ended before it
sub response {
    my ($self, $method) = @_;

    my %response = (headers => []);
    my $head;

    do {
        $head = $self->_until(qr/\r\n\r\n/);
        return if !defined $head;
        $response{status} = $head =~ m{^HTTP/1\.[01] (\d{3})} ? $1
                          : die "not an answer: $head\n";
    } while ($response{status} == 100);

    my (undef, @lines) = split /\r\n/, $head;
    for (@lines) {
        my ($name, $value) = split /:\s*/, $_, 2;
        push @{ $response{headers} }, [$name, $value];
    }

    my $answer = bless \%response, 'Guildlog::Response';
    $answer->{body} = $self->_body($answer, $method || 'GET');
    return $answer;
}


sub _body {
    my ($self, $answer, $method) = @_;

    return '' if $method eq 'HEAD' || $answer->status =~ /^(?:204|304)$/;

    if (lc($answer->header('Transfer-Encoding') // '') eq 'chunked') {
        my $body = '';
        while (defined(my $line = $self->_until(qr/\r\n/))) {
            my $size = hex(($line =~ /^([0-9a-fA-F]+)/)[0]
                // die "not a chunk: $line\n");
            my $chunk = $self->_take($size + 2);
            return $body if $size == 0;
            $body .= substr $chunk, 0, $size;
        }
        $answer->{truncated} = 1;
        return $body;
    }

    my $length = $answer->header('Content-Length');
    return $self->_take($length, $answer) if defined $length;

    1 while $self->_fill;
    return $self->_take(length $self->{buffer});
}


# reads up to the mark and returns what was before it
sub _until {
    my ($self, $mark) = @_;

    until ($self->{buffer} =~ $mark) {
        $self->_fill or return;
    }
    my ($text, $rest) = split $mark, $self->{buffer}, 2;
    $self->{buffer} = $rest // '';
    return $text;
}


sub _take {
    my ($self, $size, $answer) = @_;

    while (length $self->{buffer} < $size) {
        next if $self->_fill;
        $answer->{truncated} = 1 if $answer;
        last;
    }
    return substr $self->{buffer}, 0, $size, '';
}


# reads; false at the end of the connection; dies when nothing comes
sub _fill {
    my ($self) = @_;

    $self->readable($self->{timeout})
        or die "nothing came for $self->{timeout} s\n";
    my $got = sysread $self->{socket}, $self->{buffer}, 65536,
        length $self->{buffer};
    return $got;
}


# is there anything to read, or the end of the connection?
sub readable {
    my ($self, $seconds) = @_;

    return 1 if $self->{tls} && $self->{socket}->pending;

    my $ready = '';
    vec($ready, fileno $self->{socket}, 1) = 1;
    return select $ready, undef, undef, $seconds // 0;
}


# a line of a stream, without its end; undef after that many seconds, or at the
# end of the connection
sub line {
    my ($self, $seconds) = @_;

    local $self->{timeout} = $seconds || $self->{timeout};
    return eval { $self->_until(qr/\r?\n/) };
}


# bytes that have come or come within that many seconds
sub some {
    my ($self, $seconds) = @_;

    $self->_fill if !length $self->{buffer} && $self->readable($seconds);
    return $self->_take(length $self->{buffer});
}


# does the server close the connection within that many seconds?
sub closed {
    my ($self, $seconds) = @_;

    my $deadline = time + ($seconds // $self->{timeout});
    while ((my $left = $deadline - time) > 0) {
        next if !$self->readable($left);
        return 1 if !$self->_fill;
    }
    return 0;
}


sub close {
    my ($self, %how) = @_;

    # a reset instead of an orderly end
    setsockopt $self->{socket}, SOL_SOCKET, SO_LINGER, pack 'II', 1, 0
        if $how{reset};
    close $self->{socket};
}


package Guildlog::Response;

sub status    { $_[0]{status} }
sub text      { $_[0]{body} }
sub truncated { $_[0]{truncated} }


# the values of a header; in scalar context the first
sub header {
    my ($self, $name) = @_;

    my @values = map { $_->[1] }
        grep { lc $_->[0] eq lc $name } @{ $self->{headers} };
    return wantarray ? @values : $values[0];
}


sub json {
    my ($self) = @_;

    my $value = eval { $json->decode($self->{body}) };
    die "not JSON: $self->{status} $self->{body}\n" if $@;
    return $value;
}


1;
