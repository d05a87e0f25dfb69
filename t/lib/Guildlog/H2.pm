package Guildlog::H2;

# One connection by HTTP/2 without TLS, with every frame under the test's
# control.

use strict;
use warnings;

use Guildlog::Client;

use constant {
    DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4, PING => 6,
    GOAWAY => 7, WINDOW_UPDATE => 8,
    END_STREAM => 1, ACK => 1, END_HEADERS => 4,
};

# those that have a name in the static table
my %status = (0x88 => 200, 0x89 => 204, 0x8a => 206, 0x8b => 304,
    0x8c => 400, 0x8d => 404, 0x8e => 500);


sub new {
    my ($class, %option) = @_;

    my $self = bless { client => Guildlog::Client->new(%option),
        window => { 0 => 65535 }, initial => 65535, next => 1, stream => {},
    }, $class;
    $self->{client}->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    $self->_frame(SETTINGS, 0, 0, '');
    return $self;
}


sub client { $_[0]{client} }


# sends the header of a request, and its end if no body is to follow; returns
# the stream
sub open {
    my ($self, $method, $path, %option) = @_;

    my $stream = $self->{next};
    $self->{next} += 2;
    $self->{window}{$stream} = $self->{initial};
    $self->{stream}{$stream} = { body => '' };

    my @headers = (':method', $method, ':path', $path, ':scheme', 'http',
        ':authority', 'localhost', @{ $option{headers} || [] });
    push @headers, 'authorization', "Bearer $option{token}"
        if defined $option{token};

    my $block = '';
    while (my ($name, $value) = splice @headers, 0, 2) {
        $block .= "\0" . _string($name) . _string($value);
    }
    $self->_frame(HEADERS, END_HEADERS | ($option{more} ? 0 : END_STREAM),
        $stream, $block);
    return $stream;
}


# waits until the server has read all that was sent
sub settle {
    my ($self) = @_;

    $self->_frame(PING, 0, 0, 'settled?');
    delete $self->{settled};
    until ($self->{settled}) {
        $self->_read or return 0;
    }
    return 1;
}


# as much as the server takes before it answers
sub data {
    my ($self, $stream, $bytes, %option) = @_;

    my $answer = $self->{stream}{$stream};

    while (length $bytes && !$answer->{status}) {
        my $room = 16384;
        for my $id (0, $stream) {
            $room = $self->{window}{$id} if $self->{window}{$id} < $room;
        }
        if ($room <= 0) {
            $self->_read or return;
            next;
        }
        my $piece = substr $bytes, 0, $room, '';
        $self->{window}{$_} -= length $piece for 0, $stream;
        $self->_frame(DATA, length $bytes || $option{more} ? 0 : END_STREAM,
            $stream, $piece);
    }
}


sub reset {
    my ($self, $stream) = @_;
    $self->_frame(RST_STREAM, 0, $stream, pack 'N', 8);
}


# {status, body, reset}; "reset" is the error of an RST_STREAM
sub response {
    my ($self, $stream) = @_;

    my $answer = $self->{stream}{$stream};
    until ($answer->{ended} || defined $answer->{reset}) {
        $self->_read or last;
    }
    return $answer;
}


sub request {
    my ($self, $method, $path, %option) = @_;

    my $body = delete $option{body};
    my $stream = $self->open($method, $path, more => defined $body, %option);
    $self->data($stream, $body) if defined $body;
    return $self->response($stream);
}


sub _frame {
    my ($self, $type, $flags, $stream, $payload) = @_;

    $self->{client}->send(substr(pack('N', length $payload), 1)
        . pack('CCN', $type, $flags, $stream) . $payload);
}


# takes one frame; false at the end of the connection
sub _read {
    my ($self) = @_;

    my $head = $self->{client}->_take(9);
    return 0 if length $head < 9;

    my $length = unpack 'N', "\0" . substr $head, 0, 3;
    my ($type, $flags, $id) = unpack 'x3CCN', $head;
    my $payload = $self->{client}->_take($length);
    my $stream  = $self->{stream}{$id};

    if ($type == SETTINGS && !($flags & ACK)) {
        $self->_settings($payload);

    } elsif ($type == PING) {
        $self->{settled} = 1 if $flags & ACK;
        $self->_frame(PING, ACK, 0, $payload) if !($flags & ACK);

    } elsif ($type == WINDOW_UPDATE) {
        $self->{window}{$id} += unpack 'N', $payload
            if exists $self->{window}{$id};

    } elsif ($type == HEADERS) {
        $payload =~ s/^[\x20-\x3f]+//;
        $stream->{status} = $payload =~ /^[\x08\x48]\x03(\d{3})/
            ? $1 : $status{ord $payload};

    } elsif ($type == DATA) {
        $stream->{body} .= $payload;
        $self->_frame(WINDOW_UPDATE, 0, $_, pack 'N', $length)
            for $length ? (0, $id) : ();

    } elsif ($type == RST_STREAM) {
        $stream->{reset} = unpack 'N', $payload;
    }

    $stream->{ended} = 1
        if ($type == DATA || $type == HEADERS) && $flags & END_STREAM;
    return 1;
}


sub _settings {
    my ($self, $payload) = @_;

    my %setting = unpack '(nN)*', $payload;
    if (defined(my $window = $setting{4})) {
        $self->{window}{$_} += $window - $self->{initial}
            for grep { $_ } keys %{ $self->{window} };
        $self->{initial} = $window;
    }
    $self->_frame(SETTINGS, ACK, 0, '');
}


sub _string {
    my ($text) = @_;

    my $length = length $text;
    return pack('C', $length) . $text if $length < 127;

    my $prefix = "\x7f";
    for ($length -= 127; $length >= 128; $length >>= 7) {
        $prefix .= pack 'C', $length & 127 | 128;
    }
    return $prefix . pack('C', $length) . $text;
}


1;
