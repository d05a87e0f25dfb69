package Guildlog::Cutter;

# Stands between nginx and PostgreSQL on unix sockets, and cuts where it is told
# to: a statement on its way there, its answer on the way back, or everything.
# The one that spoke may be killed by it.

use strict;
use warnings;

use Errno qw(EAGAIN EINTR);
use IO::Select;
use IO::Socket::UNIX;
use JSON::PP;
use POSIX ();
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC SOL_SOCKET);
use Time::HiRes qw(time);

use constant SO_PEERCRED => 17;

my $json = JSON::PP->new->canonical;
my $owner = $$;
my %running;


# new(dir => where its socket is to be, to => the cluster)
sub new {
    my ($class, %option) = @_;

    my $port = $option{to}->port;
    my $self = bless { dir => $option{dir}, port => $port }, $class;
    mkdir $self->{dir};
    chmod 0711, $self->{dir};

    my $path = "$self->{dir}/.s.PGSQL.$port";
    my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 200)
        or die "$path: $!\n";
    chmod 0777, $path;
    socketpair my $ours, my $its, AF_UNIX, SOCK_STREAM, PF_UNSPEC
        or die "socketpair: $!\n";

    defined(my $pid = fork) or die "fork: $!\n";
    if (!$pid) {
        close $ours;
        eval { serve($listener, $its,
            $option{to}->socket_dir . "/.s.PGSQL.$port") };
        print STDERR "cutter: $@" if $@;
        POSIX::_exit(0);
    }
    close $its;
    @$self{qw(control pid)} = ($ours, $pid);
    $running{$pid} = 1;
    return $self;
}


# for Guildlog->new(database => ...)
sub database {
    my ($self) = @_;
    return { host => $self->{dir}, port => $self->{port} };
}


# rules({match =>, at => 'before' | 'after' | 'silence', kill =>, tag =>}, ...):
# the next statement whose arguments match is not let through, or its answer is
# not, and its connection ends; with "kill" the process at its other end before
# that.  At "silence" the connection stays, and nothing more comes over it.  Each
# acts once
sub rules {
    my ($self, @rules) = @_;
    return $self->_say({ rules => \@rules });
}


# the tags of the rules that acted since the last call
sub hits { @{ $_[0]->_say({ hits => 1 }) } }


# every connection ends
sub cut { $_[0]->_say({ cut => 1 }) }


# nothing gets through for so many seconds; then it does, late, or every
# connection ends
sub hold {
    my ($self, $seconds, %how) = @_;
    return $self->_say({ hold => $seconds, cut_then => $how{cut} ? 1 : 0 });
}


sub _say {
    my ($self, $what) = @_;

    local $SIG{PIPE} = 'IGNORE';
    syswrite $self->{control}, $json->encode($what) . "\n";
    my $answer = readline $self->{control};
    die "the cutter is gone\n" if !defined $answer;
    return $json->decode($answer);
}


END {
    if ($$ == $owner) {
        my $status = $?;
        kill 'KILL', keys %running;
        waitpid $_, 0 for keys %running;
        $? = $status;
    }
}


# The process itself.  A side: {socket, in, out, far}; the client's also
# {pid, synced, started}, the server's {ready} and what is caught: after so many
# answers, by which rule.

my ($select, %side, @rules, @hits, $held_to, $cut_then);

sub serve {
    my ($listener, $control, $target) = @_;

    $SIG{PIPE} = 'IGNORE';
    $select = IO::Select->new($listener, $control);

    while (1) {
        if ($held_to && time >= $held_to) {
            undef $held_to;
            end_all() if $cut_then;
            my @sides = values %side;
            pass($_) for grep { !$_->{gone} } @sides;
        }
        my $wait = $held_to ? $held_to - time : 1;
        my @blocked = map { $_->{socket} }
            grep { length $_->{out} && !$held_to } values %side;
        my ($read, $write) = IO::Select->select($select,
            IO::Select->new(@blocked), undef, $wait > 0 ? $wait : 0);

        for my $socket (@{ $write || [] }) {
            flush($side{$socket}) if $side{$socket};
        }
        for my $socket (@{ $read || [] }) {
            if ($socket == $listener) {
                accept_one($listener, $target);
            } elsif ($socket == $control) {
                obey($control) or return;
            } elsif ($side{$socket}) {
                take($side{$socket});
            }
        }
    }
}


sub accept_one {
    my ($listener, $target) = @_;

    my $client = $listener->accept or return;
    my ($pid) = unpack 'i', getsockopt $client, SOL_SOCKET, SO_PEERCRED;
    my $server = IO::Socket::UNIX->new(Peer => $target) or return;

    my ($near, $far) = map { { socket => $_, in => '', out => '' } }
        $client, $server;
    @$near{qw(far client pid synced)} = ($far, 1, $pid, 0);
    @$far{qw(far ready)} = ($near, 0);
    for my $it ($near, $far) {
        $it->{socket}->blocking(0);
        $select->add($it->{socket});
        $side{ $it->{socket} } = $it;
    }
}


sub take {
    my ($it) = @_;

    my $n = sysread $it->{socket}, $it->{in}, 65536, length $it->{in};
    return if !defined $n && ($! == EAGAIN || $! == EINTR);
    return end($it) if !$n;
    pass($it);
}


# whole messages only
sub pass {
    my ($it) = @_;

    while (!$held_to && !$it->{gone}) {
        my $first = $it->{client} && !$it->{started};
        my $head = $first ? 0 : 1;
        return if length $it->{in} < $head + 4;
        my $length = $head + unpack 'N', substr $it->{in}, $head, 4;
        return if length $it->{in} < $length;

        my $message = substr $it->{in}, 0, $length, '';
        $it->{started} = 1;
        my $type = $first ? '' : substr $message, 0, 1;

        if ($it->{client}) {
            next if $type eq 'B' && strikes($it, $message);
            $it->{synced}++ if $type =~ /^[SQ]/;
        } elsif (swallows($it, $type)) {
            next;
        }
        $it->{far}{out} .= $message;
        flush($it->{far});
    }
}


# a statement on its way there: 1 if it was its last
sub strikes {
    my ($it, $message) = @_;

    my ($i) = grep { $message =~ /$rules[$_]{match}/s } 0 .. $#rules;
    return 0 if !defined $i;

    my $rule = splice @rules, $i, 1;
    return strike($it, $rule) if $rule->{at} eq 'before';
    $it->{far}{caught} = { rule => $rule, at => $it->{synced} };
    return 0;
}


# an answer on its way back of which nothing is to be seen. It is committed
# once the server is ready for more
sub swallows {
    my ($it, $type) = @_;

    my $caught = $it->{caught};
    my $this = $caught && $it->{ready} == $caught->{at};
    $it->{ready}++ if $type eq 'Z' && $it->{greeted}++;

    if ($this && $type eq 'Z') {
        return strike($it->{far}, $caught->{rule})
            if $caught->{rule}{at} eq 'after';
        push @hits, $caught->{rule}{tag};
        $it->{silent} = 1;
    }
    return $this || $it->{silent};
}


sub strike {
    my ($it, $rule) = @_;

    push @hits, $rule->{tag};
    kill 'KILL', $it->{pid} if $rule->{kill};
    end($it);
    return 1;
}


sub flush {
    my ($it) = @_;

    while (length $it->{out} && !$it->{gone}) {
        my $n = syswrite $it->{socket}, $it->{out};
        if (!defined $n) {
            return if $! == EAGAIN;
            return end($it);
        }
        substr $it->{out}, 0, $n, '';
    }
}


sub end {
    my ($it) = @_;

    for my $side ($it, $it->{far}) {
        next if !$side || $side->{gone};
        $side->{gone} = 1;
        $select->remove($side->{socket});
        delete $side{ $side->{socket} };
        close $side->{socket};
    }
}


sub end_all {
    my @sides = values %side;
    end($_) for @sides;
}


sub obey {
    my ($control) = @_;

    my $line = readline $control;
    return 0 if !defined $line;

    my $what = $json->decode($line);
    my $answer = [];
    @rules = @{ $what->{rules} } if $what->{rules};
    if ($what->{hits}) {
        $answer = [@hits];
        @hits = ();
    }
    end_all() if $what->{cut};
    ($held_to, $cut_then) = (time + $what->{hold}, $what->{cut_then})
        if $what->{hold};
    syswrite $control, $json->encode($answer) . "\n";
    return 1;
}


1;
