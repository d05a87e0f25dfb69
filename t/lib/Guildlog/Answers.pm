package Guildlog::Answers;

# An HTTP server whose answers a test makes:
#
#   my $it = Guildlog::Answers->new(answer => sub {
#       my ($it, $request) = @_;
#       return [200, { id => '1' }, 'X-Header' => 'value'];
#   });
#
# A request has method, path, query, header and body. asked() has all that came.
# set() and get() keep what the test and the answers have to tell each other.

use strict;
use warnings;

use parent 'Guildlog::Fake';

use Cpanel::JSON::XS;
use IO::Socket::IP;

use Guildlog::File;

my $json = Cpanel::JSON::XS->new->utf8->canonical->allow_nonref;


sub new {
    my ($class, %option) = @_;
    return $class->SUPER::new(mode => '', %option);
}


sub url { 'http://127.0.0.1:' . $_[0]->port }


sub asked {
    my ($self, $path) = @_;
    return grep { !defined $path || $_->{path} =~ $path }
        map { $json->decode($_->{detail}) } $self->seen('request');
}


sub set {
    my ($self, $name, $value) = @_;
    my $file = "$self->{dir}/$name";
    Guildlog::Fake::_write("$file.new", '>', $json->encode($value));
    rename "$file.new", $file or die "$name: $!";
}


sub get {
    my ($self, $name) = @_;
    my $text = slurp("$self->{dir}/$name");
    return length $text ? $json->decode($text) : undef;
}


# runs in processes of its own

sub _listen {
    my ($self, $port) = @_;
    return IO::Socket::IP->new(Listen => 511, LocalHost => '127.0.0.1',
        LocalPort => $port || 0, ReuseAddr => 1) || die "listen: $!";
}


sub _serve {
    my ($self, $number, $socket) = @_;

    while (my $line = readline $socket) {
        my ($method, $target) = split / /, $line;
        my ($path, $query) = split /\?/, $target;
        my %header;
        while (($line = readline $socket) =~ /^([\w-]+): *(.*?)\r\n/) {
            $header{ lc $1 } = $2;
        }
        read $socket, my $body, $header{'content-length'} // 0;
        my $request = { method => $method, path => $path, body => $body,
            header => \%header, query => { map { split /=/, $_, 2 }
                split /&/, $query // '' } };

        $self->event($number, 'request', $json->encode($request));
        my ($status, $value, @headers)
            = @{ $self->{answer}->($self, $request) };
        my $text = $json->encode($value);
        my $head = "HTTP/1.1 $status Said\r\nContent-Length: " . length $text;
        while (my ($name, $what) = splice @headers, 0, 2) {
            $head .= "\r\n$name: $what";
        }
        syswrite $socket, "$head\r\n\r\n$text";
    }
}


1;
