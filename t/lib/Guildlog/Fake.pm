package Guildlog::Fake;

# What the misbehaving servers of the tests share: a listener, a process for
# each connection, a mode that the test sets, and the events they have seen.  A
# subclass has _listen(port) and _serve(number, socket), which runs in the
# connection's process; if that dies, the event "end" has the cause.

use strict;
use warnings;

use File::Path qw(remove_tree);
use File::Temp;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(time);

use Guildlog::File;


# port => the port to listen on; any other way, a free one
sub new {
    my ($class, %option) = @_;

    my $self = bless { owner => $$, %option,
        dir => File::Temp::tempdir('fake.XXXXXX', DIR => '/tmp') }, $class;

    $self->{listener} = $self->_listen($option{port});
    $self->{port} = $self->{listener}->sockport;
    $self->mode($option{mode});
    $self->_start;
    return $self;
}


sub port { $_[0]{port} }


# sets the mode of later connections, or returns it; a mode for one name is
# stronger than the general one
sub mode {
    my ($self, $mode, $name) = @_;

    my $file = "$self->{dir}/mode" . ($name ? ".$name" : '');
    if (defined $mode) {
        _write("$file.new", '>', $mode);
        rename "$file.new", $file or die "mode: $!";
    }
    return slurp($file) || slurp("$self->{dir}/mode");
}


# events: {time, connection, what, detail}, in order; of one kind, or all
sub seen {
    my ($self, $what) = @_;

    my @seen = map {
        my ($time, $connection, $name, $detail) = split /\t/, $_, 4;
        { time => $time, connection => $connection, what => $name,
          detail => $detail };
    } split /\n/, slurp("$self->{dir}/events");

    return grep { !defined $what || $_->{what} eq $what } @seen;
}


sub count {
    my ($self, $what) = @_;
    return scalar(my @all = $self->seen($what));
}


# refuses connections, as a machine without the server does; start() ends that
sub stop {
    my ($self) = @_;

    return if !$self->{pid};
    kill 'KILL', -$self->{pid};
    waitpid $self->{pid}, 0;
    delete $self->{pid};
}


sub start {
    my ($self) = @_;

    $self->{listener} = $self->_listen($self->{port});
    $self->_start;
}


sub DESTROY {
    my ($self) = @_;

    return if $self->{owner} != $$;
    local ($?, $@, $!);
    $self->stop;
    remove_tree($self->{dir});
}


sub _start {
    my ($self) = @_;

    defined(my $pid = fork) or die "fork: $!";
    $self->{pid} = $pid;

    if ($pid) {
        setpgrp $pid, $pid;
        delete $self->{listener};
        return;
    }

    setpgrp 0, 0;
    $SIG{$_} = 'DEFAULT' for qw(INT TERM);
    $SIG{CHLD} = 'IGNORE';
    $SIG{PIPE} = 'IGNORE';
    my $number = $self->count('connect');

    while (my $socket = $self->{listener}->accept) {
        $self->event(++$number, 'connect');
        next if fork;

        close $self->{listener};
        $socket->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1);
        eval { $self->_serve($number, $socket); 1 }
            or $self->event($number, 'end', $@);
        close $socket;
        POSIX::_exit(0);
    }
    POSIX::_exit(0);
}


sub event {
    my ($self, $connection, $what, $detail) = @_;

    _write("$self->{dir}/events", '>>', join("\t", time, $connection, $what,
        ($detail // '') =~ s/\s+/ /gr) . "\n");
}


sub _write {
    my ($path, $how, $text) = @_;

    open my $out, $how, $path or die "$path: $!";
    syswrite $out, $text;
    close $out;
}


1;
