package Guildlog::Peer;

# An HTTP server that answers as badly as a test wants it to.  Every request
# is answered by a case of the table below: the one that its path names
# (/case/NAME), or for a webhook's message the one that mode() names.  Whatever
# else a platform is asked for while a webhook is registered is answered well;
# a webhook has the id of its channel.
#
#   my $peer = Guildlog::Peer->new(tls => { ... });
#   $peer->mode('reset in the head');
#
# Each connection is served by a process of its own.  What they see is told by
# count() and seen().

use strict;
use warnings;

use parent 'Guildlog::Fake';

use Cpanel::JSON::XS;
use IO::Socket::IP;
use POSIX ();
use Socket qw(SOL_SOCKET SO_LINGER);
use Time::HiRes qw(sleep time);

my $json = Cpanel::JSON::XS->new->utf8->canonical;


# What a client makes of it:
#
#   outcome   answered, unsent or uncertain
#   status    of the answer
#   body      the whole of it: text, a pattern, or its length after "length"
#   kept      the connection carries the next request
#   again     what is safe to repeat is, once, if the connection was idle
#   slow      takes until the client's deadline
#
# Text that is sent has its lines ended properly, and {BODY} stands for what
# an honest answer would have had.

my $head = "HTTP/1.1 200 OK\nContent-Type: application/json\n";
my $sized = "${head}Content-Length: {LENGTH}\n\n{BODY}";
my $chunked = "${head}Transfer-Encoding: chunked\n\n";

our %case = (
    'well' => { outcome => 'answered', status => 200, kept => 1,
        does => sub { $_[0]->say($sized) } },

    # where it is cut

    'close before reading' => { outcome => 'uncertain', again => 1,
        early => sub { $_[0]->reset } },
    'close without a word' => { outcome => 'uncertain', again => 1,
        does => sub { $_[0]->close } },
    'reset without a word' => { outcome => 'uncertain', again => 1,
        does => sub { $_[0]->reset } },
    'close in the status line' => { outcome => 'uncertain',
        does => sub { $_[0]->say('HTTP/1.1 2'); $_[0]->close } },
    'close in the head' => { outcome => 'uncertain',
        does => sub { $_[0]->say($head); $_[0]->close } },
    'reset in the head' => { outcome => 'uncertain',
        does => sub { $_[0]->say($head); $_[0]->pause(0.1);
            $_[0]->reset } },
    'close in the body' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}Content-Length: 1000\n\n{BODY}");
        $_[0]->close } },
    'close in a chunk' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${chunked}ff\n{BODY}"); $_[0]->close } },
    'close before the last chunk' => { outcome => 'uncertain',
        does => sub { $_[0]->chunks($_[0]->body); $_[0]->close } },
    'close in the trailers' => { outcome => 'uncertain', does => sub {
        $_[0]->chunks($_[0]->body); $_[0]->say("0\nExpires: 0\n");
        $_[0]->close } },
    'no length' => { outcome => 'uncertain', does => sub {
        $_[0]->say("$head\n{BODY}"); $_[0]->close } },

    # forms of a whole answer

    'byte by byte' => { outcome => 'answered', status => 200, kept => 1,
        does => sub { $_[0]->drip(0.0005); $_[0]->say($sized) } },
    'chunked' => { outcome => 'answered', status => 200, kept => 1,
        does => sub { $_[0]->chunks($_[0]->body); $_[0]->say("0\n\n") } },
    'chunks of a byte' => { outcome => 'answered', status => 200, kept => 1,
        does => sub { $_[0]->chunks(split //, $_[0]->body);
            $_[0]->say("0\n\n") } },
    'chunks with extensions and trailers' => { outcome => 'answered',
        status => 200, kept => 1, does => sub {
            my ($peer) = @_;
            my @half = unpack 'a3 a*', $peer->body;
            $peer->say($chunked);
            $peer->say(sprintf "%x;name=\"value;\"\n%s\n", length, $_)
                for @half;
            $peer->say("000;last\nExpires: 0\nX-Sum: 1\n\n") } },
    'chunks and a length' => { outcome => 'answered', status => 200,
        does => sub { $_[0]->say("${head}Content-Length: 3\n"
            . "Transfer-Encoding: chunked\n\n");
            $_[0]->chunks($_[0]->body, ''); $_[0]->say("0\n\n") } },
    'lines without CR' => { outcome => 'answered', status => 200, kept => 1,
        does => sub { $_[0]->send($_[0]->fill($sized)) } },
    '100 and 103 before it' => { outcome => 'answered', status => 200,
        kept => 1, does => sub { $_[0]->say("HTTP/1.1 100 Continue\n\n"
            . "HTTP/1.1 103 Early Hints\nLink: </a>\n\n"); $_[0]->pause(0.05);
            $_[0]->say($sized) } },
    '204' => { outcome => 'answered', status => 204, body => '', kept => 1,
        does => sub { $_[0]->say("HTTP/1.1 204 No Content\n\n") } },
    '304 with a length' => { outcome => 'answered', status => 304,
        body => '', kept => 1, does => sub {
            $_[0]->say("HTTP/1.1 304 Not Modified\nContent-Length: 5\n\n") } },
    'an empty body' => { outcome => 'answered', status => 200, body => '',
        kept => 1, does => sub { $_[0]->say("${head}Content-Length: 0\n\n") } },
    'Connection: close' => { outcome => 'answered', status => 200,
        does => sub { $_[0]->say($sized =~ s/\n\n/\nConnection: close\n\n/r);
            $_[0]->close } },
    'HTTP/1.0' => { outcome => 'answered', status => 200, does => sub {
        $_[0]->say($sized =~ s{1\.1}{1.0}r); $_[0]->close } },
    'the same length twice' => { outcome => 'answered', status => 200,
        kept => 1, does => sub { $_[0]->say($sized =~
            s/^(Content-Length.*\n)/$1$1/mr) } },
    'a body of 100 KB' => { outcome => 'answered', status => 200,
        body => qr/^a+$/, does => sub { $_[0]->big(100 * 1024) } },
    'a body of 3 MB' => { outcome => 'answered', status => 200,
        body => qr/^a+$/, does => sub { $_[0]->big(3 * 1024 * 1024) } },
    'a redirect' => { outcome => 'answered', status => 302, kept => 1,
        does => sub { $_[0]->say($sized =~ s/200 OK/302 Found/r
            =~ s{\n\n}{\nLocation: /case/well\n\n}r) } },
    '500' => { outcome => 'answered', status => 500, kept => 1,
        does => sub { $_[0]->say($sized =~ s/200 OK/500 Oops/r) } },

    # nothing that HTTP/1.1 allows

    'not HTTP' => { outcome => 'uncertain', does => sub {
        $_[0]->say("SSH-2.0-OpenSSH\n") ; $_[0]->hang } },
    'HTTP/2' => { outcome => 'uncertain', does => sub {
        $_[0]->say("HTTP/2 200\nContent-Length: 0\n\n"); $_[0]->hang } },
    'a status of two digits' => { outcome => 'uncertain', does => sub {
        $_[0]->say("HTTP/1.1 20 OK\nContent-Length: 0\n\n") } },
    '101' => { outcome => 'uncertain', does => sub {
        $_[0]->say("HTTP/1.1 101 Switching\nUpgrade: h2c\n\n") } },
    'two lengths' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}Content-Length: 2\nContent-Length: 3\n\n{}") } },
    'a negative length' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}Content-Length: -2\n\n{}") } },
    'an endless length' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}Content-Length: " . '9' x 25 . "\n\n{}") } },
    'an unknown coding' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}Transfer-Encoding: gzip, chunked\n\n0\n\n") } },
    'a chunk without a size' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${chunked}\n{}\n0\n\n") } },
    'a chunk of an endless size' => { outcome => 'uncertain', does => sub {
        $_[0]->say($chunked . 'f' x 17 . "\n{}") } },
    'a chunk longer than it says' => { outcome => 'uncertain',
        does => sub { $_[0]->say("${chunked}1\n{}\n0\n\n") } },
    'a header without a colon' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}nonsense\nContent-Length: 0\n\n") } },
    'a folded header' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}X-A: b\n c\nContent-Length: 0\n\n") } },
    'a NUL in a header' => { outcome => 'uncertain', does => sub {
        $_[0]->say("${head}X-A: b\0c\nContent-Length: 0\n\n") } },
    'a header of 64 KB' => { outcome => 'uncertain', does => sub {
        $_[0]->say($head . 'X-A: ' . 'a' x 65536
            . "\nContent-Length: 0\n\n") } },
    'a thousand headers' => { outcome => 'uncertain', does => sub {
        $_[0]->say($head . "X-A: b\n" x 1000 . "Content-Length: 0\n\n") } },
    'endless interim answers' => { outcome => 'uncertain', does => sub {
        $_[0]->say("HTTP/1.1 100 Continue\n\n" x 10000) } },

    # time

    'never a word' => { outcome => 'uncertain', slow => 1,
        does => sub { $_[0]->hang } },
    'half a head' => { outcome => 'uncertain', slow => 1,
        does => sub { $_[0]->say($head); $_[0]->hang } },
    'half a body' => { outcome => 'uncertain', slow => 1, does => sub {
        $_[0]->say("${head}Content-Length: 1000\n\n{BODY}");
        $_[0]->hang } },
    'a drip past the deadline' => { outcome => 'uncertain', slow => 1,
        does => sub { $_[0]->drip(0.05); $_[0]->say($head . 'X-A: '
            . 'a' x 10000) } },

    # around the request

    'an answer before all is sent' => { outcome => 'answered',
        status => 413, early => sub { $_[0]->say($sized
            =~ s/200 OK/413 Too Large/r); $_[0]->pause(0.2);
            $_[0]->reset } },
    'more behind the answer' => { outcome => 'answered', status => 200,
        does => sub { $_[0]->say("$sized$sized") } },
    'more behind the answer, later' => { outcome => 'answered',
        status => 200, does => sub { $_[0]->say($sized); $_[0]->pause(0.1);
            $_[0]->say($sized) } },
    'closes behind the answer' => { outcome => 'answered', status => 200,
        does => sub { $_[0]->say($sized); $_[0]->close } },
    'resets behind the answer' => { outcome => 'answered', status => 200,
        does => sub { $_[0]->say($sized); $_[0]->pause(0.1);
            $_[0]->reset } },
    'keeps for a second' => { outcome => 'answered', status => 200,
        does => sub { $_[0]->say($sized =~
            s/\n\n/\nKeep-Alive: max=5, timeout=1\n\n/r) } },

    # one good answer, then the end as soon as the next request is there
    'closes at the second request' => { outcome => 'answered',
        status => 200, kept => 1, does => sub {
            my ($peer) = @_;
            $peer->{requests} > 1 ? $peer->reset : $peer->say($sized) } },
    'answers the second request by half' => { outcome => 'answered',
        status => 200, kept => 1, does => sub {
            my ($peer) = @_;
            return $peer->say($sized) if $peer->{requests} == 1;
            $peer->say($head);
            $peer->close } },
);


sub new {
    my ($class, %option) = @_;

    require IO::Socket::SSL if $option{tls};    # not for each connection
    return $class->SUPER::new(host => '127.0.0.1', mode => 'well', %option);
}


# the case for messages to come, or only for those to one webhook; the one
# that is set
sub mode {
    my ($self, $mode, $webhook) = @_;

    die "no case \"$mode\"\n" if defined $mode && !$case{$mode};
    return $self->SUPER::mode($mode, $webhook);
}


# certificates

# makes NAME.crt and NAME.key in the folder, by the authority there: ca.crt.
# names => subjectAltName; expired => 1; self => 1 for one without authority.
# The options of a peer, to be given as "tls"
sub certificate {
    my ($class, $dir, $name, %option) = @_;

    my $names = $option{names} || 'IP:127.0.0.1';
    my $ca = "$dir/ca";
    my @new = qw(req -x509 -newkey ec -pkeyopt
        ec_paramgen_curve:prime256v1 -nodes);

    _openssl(@new, qw(-days 30 -subj /CN=authority -keyout), "$ca.key",
        '-out', "$ca.crt") if !-e "$ca.crt";

    if ($option{self}) {
        _openssl(@new, qw(-days 30 -subj /CN=peer -addext),
            "subjectAltName=$names", '-keyout', "$dir/$name.key",
            '-out', "$dir/$name.crt");

    } else {
        _openssl(qw(req -new -newkey ec -pkeyopt
            ec_paramgen_curve:prime256v1 -nodes -subj /CN=peer -keyout),
            "$dir/$name.key", '-out', "$dir/$name.csr");
        Guildlog::Fake::_write("$dir/$name.ext", '>',
            "subjectAltName=$names\n");
        _openssl(qw(x509 -req -CAcreateserial -in), "$dir/$name.csr",
            '-CA', "$ca.crt", '-CAkey', "$ca.key", '-extfile',
            "$dir/$name.ext", '-days', $option{expired} ? -1 : 30, '-out',
            "$dir/$name.crt");
    }

    return { SSL_cert_file => "$dir/$name.crt",
        SSL_key_file => "$dir/$name.key" };
}


sub _openssl {
    my $pid = fork // die "fork: $!";

    if (!$pid) {
        open STDERR, '>', '/dev/null';
        exec 'openssl', @_ or POSIX::_exit(1);
    }
    waitpid $pid, 0;
    die "openssl @_\n" if $?;
}


# the rest runs in processes of its own

sub _listen {
    my ($self, $port) = @_;

    return IO::Socket::IP->new(Listen => 511, LocalHost => $self->{host},
        LocalPort => $port || 0, ReuseAddr => 1) || die "listen: $!";
}


sub _serve {
    my ($self, $number, $socket) = @_;

    @$self{qw(number socket buffer)} = ($number, $socket, '');

    if ($self->{tls}) {
        IO::Socket::SSL->start_SSL($self->{socket}, SSL_server => 1,
            %{ $self->{tls} })
            or die "TLS: $IO::Socket::SSL::SSL_ERROR\n";
        $self->note('tls', $self->{socket}->get_servername);
    }

    while (1) {
        my $request = $self->_head;
        my $does = $self->_case($request);
        $self->note('request', "$request->{method} $request->{path}");
        $self->{requests}++;

        if ($does->{early}) {
            $does->{early}->($self);
            $self->end;
        }

        $request->{body} = $self->_take($request->{length});
        $self->note('body', $request->{length});
        delete $self->{drip};

        $does->{does}->($self);
    }
}


sub _head {
    my ($self) = @_;

    $self->_fill until $self->{buffer} =~ s/^(.*?)\r\n\r\n//s;
    my ($line, @headers) = split /\r\n/, $1;
    my ($method, $path) = split / /, $line;
    my %header = map { my ($name, $value) = split /: /, $_, 2;
        (lc $name => $value) } @headers;

    $path =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;

    return $self->{request} = { method => $method, path => $path,
        header => \%header, length => $header{'content-length'} || 0 };
}


sub _case {
    my ($self, $request) = @_;

    my $what = "$request->{method} $request->{path}";

    return $case{$1} || die "no case \"$1\"\n" if $what =~ m{/case/([^?]+)};
    return $case{$self->mode(undef, $1)}
        if $what =~ m{^POST .*/webhooks/(\d+)/[^/]+$};
    return $case{well};
}


# what an honest answer says
sub body {
    my ($self) = @_;

    my $id = sprintf '%.0f', 1e6 * time;
    my ($method, $path) = @{ $self->{request} }{qw(method path)};
    my ($channel) = $path =~ m{/channels/(\d+)/};

    return '[]' if $channel && $method eq 'GET';
    return $json->encode({
        id => $channel || "1$id",
        channel_id => $channel || '100000000000000001',
        $channel ? (token => "token-$id", application_id => '1',
            name => 'peer', type => 1) : (),
    });
}


# for the scripts

sub note {
    my ($self, $what, $detail) = @_;
    $self->event($self->{number}, $what, $detail);
}


# with placeholders filled in and proper ends of lines
sub say {
    my ($self, $text) = @_;
    $self->send($self->fill($text) =~ s/\n/\r\n/gr);
}


sub fill {
    my ($self, $text) = @_;

    my $body = $self->body;
    my $length = length $body;
    return $text =~ s/\{LENGTH\}/$length/gr =~ s/\{BODY\}/$body/gr;
}


# behind a head that says "chunked", unless it was sent
sub chunks {
    my ($self, @chunks) = @_;

    $self->say($chunked) if @chunks < 2 || $chunks[-1] ne '';
    $self->send(join '', map { sprintf "%X\r\n%s\r\n", length, $_ }
        grep { length } @chunks);
}


sub big {
    my ($self, $length) = @_;
    $self->say("${head}Content-Length: $length\n\n" . 'a' x $length);
}


# one byte a packet from now on, until the next request
sub drip {
    my ($self, $pause) = @_;
    $self->{drip} = $pause;
}


sub pause {
    my ($self, $seconds) = @_;
    sleep $seconds;
}


sub send {
    my ($self, $bytes) = @_;

    my $size = $self->{drip} ? 1 : 16384;

    for (my $at = 0; $at < length $bytes; ) {
        my $sent = syswrite $self->{socket}, $bytes,
            $size < length($bytes) - $at ? $size : length($bytes) - $at, $at;
        die "the client is gone\n" if !$sent;
        $at += $sent;
        sleep $self->{drip} if $self->{drip};
    }
}


# says nothing any more, until the client hangs up
sub hang {
    my ($self) = @_;

    1 while sysread $self->{socket}, my $ignored, 65536;
    die "the client left\n";
}


sub close {
    my ($self) = @_;

    CORE::close($self->{socket});
    $self->end;
}


sub reset {
    my ($self) = @_;

    setsockopt $self->{socket}, SOL_SOCKET, SO_LINGER, pack 'i i', 1, 0;
    POSIX::close(fileno $self->{socket});
    $self->end;
}


sub end {
    my ($self) = @_;

    $self->note('end', 'as planned');
    POSIX::_exit(0);
}


sub _take {
    my ($self, $size) = @_;

    $self->_fill while length $self->{buffer} < $size;
    return substr $self->{buffer}, 0, $size, '';
}


sub _fill {
    my ($self) = @_;

    sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer}
        or die "the client left\n";
}


1;
