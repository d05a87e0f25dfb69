package Guildlog::Names;

# A name server on loopback. What it says of a name is its addresses; nothing at
# all, if that is undef; else, that there is no such name.
#
#   my $names = Guildlog::Names->new('db.test' => ['127.0.0.2']);
#   $names->are('db.test' => undef);
#   $nginx->configure(http => $names->resolver);

use strict;
use warnings;

use Cpanel::JSON::XS;
use File::Temp;
use IO::Socket::INET;
use POSIX ();

my $json = Cpanel::JSON::XS->new->utf8;


sub new {
    my ($class, %names) = @_;

    my $socket = IO::Socket::INET->new(Proto => 'udp',
        LocalAddr => '127.0.0.1') or die "udp: $!\n";
    my $self = bless { owner => $$, port => $socket->sockport,
        dir => File::Temp::tempdir('names.XXXXXX', DIR => '/tmp',
            CLEANUP => 1) }, $class;
    $self->are(%names);

    defined($self->{pid} = fork) or die "fork: $!\n";
    $self->_serve($socket) if !$self->{pid};
    return $self;
}


# from now on; what it said it may be remembered for
sub are {
    my ($self, %names) = @_;

    open my $out, '>', "$self->{dir}/new" or die "names: $!\n";
    print {$out} $json->encode(\%names);
    close $out;
    rename "$self->{dir}/new", "$self->{dir}/names" or die "names: $!\n";
}


# the directives
sub resolver {
    my ($self, $parameters, $timeout) = @_;
    return "resolver 127.0.0.1:$self->{port} ipv6=off @{[ $parameters // '' ]};"
        . ' resolver_timeout ' . ($timeout // '1s') . ';';
}


sub DESTROY {
    my ($self) = @_;

    return if $self->{owner} != $$;
    local ($?, $@, $!);
    kill 'KILL', $self->{pid};
    waitpid $self->{pid}, 0;
}


sub _serve {
    my ($self, $socket) = @_;

    while (defined(my $from = $socket->recv(my $question, 512))) {
        open my $in, '<', "$self->{dir}/names" or last;
        my $names = $json->decode(do { local $/; <$in> });
        my ($name, $type) = _parse($question);

        next if exists $names->{$name} && !defined $names->{$name};
        my @addresses = $type == 1 ? @{ $names->{$name} || [] } : ();
        $socket->send(_reply($question, exists $names->{$name} ? 0 : 3,
            @addresses), 0, $from);
    }
    POSIX::_exit(0);
}


sub _parse {
    my ($question) = @_;

    my @labels = unpack '(C/a*)*', substr $question, 12, -5;
    return (join('.', @labels), unpack 'n', substr $question, -4, 2);
}


sub _reply {
    my ($question, $error, @addresses) = @_;

    return pack('n6', unpack('n', $question), 0x8180 | $error, 1,
            scalar @addresses, 0, 0)
        . substr($question, 12)
        . join '', map {
            pack('n n n N n', 0xc00c, 1, 1, 60, 4) . pack 'C4', split /\./
        } @addresses;
}


1;
