package Guildlog::Cutter;

# Stands between nginx and PostgreSQL on unix sockets, or nginx and a server on
# loopback, and cuts where a rule says: a statement or request on its way, its
# answer on the way back, or everything.  It may also kill the sender.

use strict;
use warnings;

use Cpanel::JSON::XS;
use Errno qw(EAGAIN EINTR);
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC SOL_SOCKET SO_LINGER);
use Time::HiRes qw(time);

use constant SO_PEERCRED => 17;

my $json = Cpanel::JSON::XS->new->canonical;
my $owner = $$;
my %running;


# new(dir => where its socket is to be, to => the cluster), or new(to => a port)
sub new {
    my ($class, %option) = @_;

    my $to   = $option{to};
    my $self = bless { ref $to ? (dir => $option{dir}, port => $to->port) : () },
        $class;
    my ($listener, $target) = ref $to ? $self->_unix($to) : $self->_tcp($to);
    socketpair my $ours, my $its, AF_UNIX, SOCK_STREAM, PF_UNSPEC
        or die "socketpair: $!\n";

    defined(my $pid = fork) or die "fork: $!\n";
    if (!$pid) {
        close $ours;
        eval { serve($listener, $its, $target) };
        print STDERR "cutter: $@" if $@;
        POSIX::_exit(0);
    }
    close $its;
    @$self{qw(control pid)} = ($ours, $pid);
    $running{$pid} = 1;
    return $self;
}


sub _unix {
    my ($self, $cluster) = @_;

    mkdir $self->{dir};
    chmod 0711, $self->{dir};
    my $path = "$self->{dir}/.s.PGSQL.$self->{port}";
    my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 200)
        or die "$path: $!\n";
    chmod 0777, $path;
    return ($listener, $cluster->socket_dir . "/.s.PGSQL.$self->{port}");
}


sub _tcp {
    my ($self, $port) = @_;

    my $listener = IO::Socket::INET->new(Listen => 200,
        LocalAddr => '127.0.0.1') or die "listen: $!\n";
    $self->{port} = $listener->sockport;
    return ($listener, $port);
}


# its address
sub port { $_[0]{port} }


# for Guildlog->new(database => ...)
sub database {
    my ($self) = @_;

    # short times: no answer comes where one is cut
    return { host => $self->{dir}, port => $self->{port}, timeout => '5s' };
}


# rules({match =>, at => 'before' | 'after' | 'silence', kill =>, tag =>}, ...):
# each rule acts once, on the next statement whose arguments match.  "before":
# the statement is not sent on; "after": its answer is not sent on; then the
# connection ends.  With "kill" the client's process is killed before that.
# "silence": the connection stays open, but nothing more comes over it.
#
# Rules of bytes: at => 'connect', the next connection ends as it begins; at =>
# 'sent', only that many "bytes" of the next request that matches are sent on;
# at => 'answered', only that many bytes of its answer, counted after what
# matches "past".  Then both sides of the connection are closed, or with "reset"
# reset.
sub rules {
    my ($self, @rules) = @_;
    return $self->_say({ rules => \@rules });
}


# the tags of the rules that have acted since the last call
sub hits { @{ $_[0]->_say({ hits => 1 }) } }


# ends every connection; half: its client's side, of which the server does not
# hear, as behind a pooler
sub cut {
    my ($self, %how) = @_;
    return $self->_say({ cut => $how{half} ? 'half' : 'whole' });
}


# sends on that many bytes at a time, slowly; 0: as they come
sub throttle { $_[0]->_say({ throttle => $_[1] }) }


# holds everything back for that many seconds; then it is sent on, late, or
# every connection ends
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


# The process.  A side is {socket, in, out, far}; the client's side also has
# {pid, synced, started}; the server's side has {ready} and the cut that is due:
# after how many answers, by which rule.  For rules of bytes: {said, passed},
# the request or answer as far as it has come, and how much of it was sent on.

my ($select, %side, @rules, @hits, $held_to, $cut_then);
my $throttle = 0;

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
        my $slow = $throttle && !$held_to && grep { length $_->{in} } values %side;
        if ($slow) {
            my @sides = values %side;
            pass($_) for grep { !$_->{gone} } @sides;
        }
        my $wait = $held_to ? $held_to - time : $slow ? 0.0005 : 1;
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
    my $bytes  = $target =~ /^\d+$/;
    my ($i) = grep { $rules[$_]{at} eq 'connect' } 0 .. $#rules;
    if (defined $i) {
        push @hits, (splice @rules, $i, 1)->{tag};
        return reset_one($client);
    }

    my $pid = $bytes ? 0 : unpack 'i', getsockopt $client, SOL_SOCKET,
        SO_PEERCRED;
    my $server = $bytes
        ? IO::Socket::INET->new(PeerAddr => "127.0.0.1:$target")
        : IO::Socket::UNIX->new(Peer => $target);
    return if !$server;

    my ($near, $far) = map { { socket => $_, in => '', out => '',
        bytes => $bytes, said => '', passed => 0 } } $client, $server;
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


# sends on whole messages only
sub pass {
    my ($it) = @_;

    return pass_bytes($it) if $it->{bytes};

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


# a statement on its way; returns 1 if it is the connection's last
sub strikes {
    my ($it, $message) = @_;

    my ($i) = grep { $message =~ /$rules[$_]{match}/s } 0 .. $#rules;
    return 0 if !defined $i;

    my $rule = splice @rules, $i, 1;
    return strike($it, $rule) if $rule->{at} eq 'before';
    $it->{far}{caught} = { rule => $rule, at => $it->{synced} };
    return 0;
}


# an answer that is held back.  Its transaction has committed when the server is
# ready for the next statement
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
    end($it, $rule->{reset});
    return 1;
}


# sends bytes on as they come, up to where a rule ends them
sub pass_bytes {
    my ($it) = @_;

    return if $held_to || $it->{gone} || !length $it->{in};

    my $bytes = substr $it->{in}, 0, $throttle || length $it->{in}, '';
    if ($it->{client} && length $it->{far}{said}) {
        @$_{qw(said passed)} = ('', 0) for $it, $it->{far};
    }
    $it->{said} .= $bytes;

    my $most = $it->{client} ? of_request($it) : of_answer($it);
    my $ends = defined $most && length $it->{said} >= $most;
    my $upto = $ends ? $most : length $it->{said};
    $it->{far}{out} .= substr $it->{said}, $it->{passed},
        $upto - $it->{passed} if $upto > $it->{passed};
    $it->{passed} = $upto if $upto > $it->{passed};
    flush($it->{far});
    strike($it, delete $it->{rule}) if $ends && !$it->{gone};
}


# how many bytes of a request are sent on; undef: all
sub of_request {
    my ($it) = @_;

    return if $it->{far}{rule};
    if (!$it->{rule}) {
        my ($i) = grep { $rules[$_]{at} ne 'connect'
            && $it->{said} =~ /$rules[$_]{match}/s } 0 .. $#rules;
        return if !defined $i;
        my $rule = splice @rules, $i, 1;
        if ($rule->{at} eq 'answered') {
            $it->{far}{rule} = $rule;
            return;
        }
        $it->{rule} = $rule;
    }
    return $it->{rule}{bytes};
}


# the same for an answer
sub of_answer {
    my ($it) = @_;

    my $rule = $it->{rule} or return;
    return $rule->{bytes} if !defined $rule->{past};
    return $it->{said} =~ /$rule->{past}/s ? $+[0] + $rule->{bytes} : undef;
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


sub reset_one {
    my ($socket) = @_;

    setsockopt $socket, SOL_SOCKET, SO_LINGER, pack 'll', 1, 0;
    close $socket;
}


sub end {
    my ($it, $reset) = @_;
    end_side($_, $reset) for grep { $_ && !$_->{gone} } $it, $it->{far};
}


sub end_side {
    my ($side, $reset) = @_;

    $side->{gone} = 1;
    $select->remove($side->{socket});
    delete $side{ $side->{socket} };
    $reset ? reset_one($side->{socket}) : close $side->{socket};
}


sub end_all {
    my ($half) = @_;

    my @sides = grep { !$half || $_->{client} } values %side;
    $half ? end_side($_) : end($_) for @sides;
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
    end_all($what->{cut} eq 'half') if $what->{cut};
    $throttle = $what->{throttle} if defined $what->{throttle};
    ($held_to, $cut_then) = (time + $what->{hold}, $what->{cut_then})
        if $what->{hold};
    syswrite $control, $json->encode($answer) . "\n";
    return 1;
}


1;
