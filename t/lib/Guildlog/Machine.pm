package Guildlog::Machine;

# A new machine: a Debian of its own below a folder, made by debootstrap. Needs
# root. Its processes have their own /proc, and end with it. Until it is alone it has
# the host's network, for its packages, and no other test has a machine there: what
# they install listens at the same ports.

use strict;
use warnings;

use Fcntl qw(LOCK_EX);
use File::Copy ();
use File::Temp ();
use Scalar::Util qw(weaken);
use Test::More;

use Guildlog ();
use Guildlog::File;
use POSIX ();

my @machines;

# the lock of the host's network, and how many machines of this test have it
my ($network, $sharing) = (undef, 0);


# runs bash with the functions of util/lib.sh
sub shell {
    my ($script, @arguments) = @_;

    open my $out, '-|', 'bash', '-c', ". '$Guildlog::TOP/util/lib.sh'; $script",
        'bash', @arguments or die "bash: $!";
    my $text = do { local $/; <$out> };
    return close $out ? $text : undef;
}


# the suites that a test is for
sub suites {
    return split ' ', $ENV{GUILDLOG_SUITES} // 'bookworm trixie';
}


# the path of the project's package for that suite, built if a source is newer
sub deb {
    my ($suite) = @_;

    my $deb = _built("$Guildlog::TOP/.build/package/$suite");
    my $newer = 'find config src sql conf util CHANGES *.md -newer';
    return $deb if $deb && !qx{cd '$Guildlog::TOP' && $newer '$deb'};

    chomp($deb = shell('"$top/util/package" "$1"', $suite)
        // die "no package\n");
    return $deb;
}


# the same of an earlier version, which the repository has by that name
sub old_deb {
    my ($suite, $commit) = @_;

    my $tree = "$Guildlog::TOP/.build/old-$commit";
    my $deb = _built("$tree/.build/package/$suite");
    return $deb if $deb;

    # by the first tool that builds for a suite: today's asks for more than that
    # tree has
    chomp($deb = shell('mkdir -p "$1"; cd "$top"; git archive "$2" '
        . '| tar -xC "$1"; touch "$1/CHANGES"; '
        . 'git archive 32cfa8b0 util/package util/lib.sh | tar -xC "$1"; '
        . '"$1/util/package" "$3"',
        $tree, $commit, $suite) // die "no package of $commit\n");
    return $deb;
}


sub _built {
    my ($folder) = @_;
    return (glob "$folder/libnginx-mod-http-guildlog_*.deb")[0];
}


# a machine of that suite with these packages, whose services do not start by
# themselves
sub new {
    my ($class, $suite, @packages) = @_;

    die "needs root, to make a machine of its own\n" if $>;

    my $dir = File::Temp::tempdir('machine.XXXXXX',
        DIR => $ENV{GUILDLOG_TEST_DIR} || '/tmp', CLEANUP => 1);
    chmod 0755, $dir;

    defined shell('step "Making a machine" new_debian "$1" "$2"', $suite, $dir)
        or die "no machine to install on\n";

    my $self = bless { dir => $dir }, $class;
    push @machines, $self;
    weaken $machines[-1];

    # ca-certificates takes over whom this host trusts besides
    my $trusted = '/usr/local/share/ca-certificates';
    mkdir "$dir$trusted";
    $self->copy($_, $_) for glob "$trusted/*.crt";

    $self->_begin;
    $self->write('/usr/sbin/policy-rc.d', "#!/bin/sh\nexit 101\n", 0755);

    $self->goes_well('apt-get -q update && apt-get -qy install '
        . "--no-install-recommends @packages", "$suite: a new machine");
    return $self;
}


sub dir { return $_[0]{dir} }


sub copy {
    my ($self, $from, $to) = @_;
    File::Copy::copy($from, "$self->{dir}$to") or die "copy: $!";
}


sub write {
    my ($self, $path, $text, $mode) = @_;

    open my $file, '>', "$self->{dir}$path" or die "$path: $!";
    print {$file} $text;
    close $file or die "$path: $!";
    chmod $mode // 0644, "$self->{dir}$path";
    return;
}


# from now on it has no network but its own loopback; what ran there ends
sub alone {
    my ($self) = @_;

    $self->_end;
    $self->_begin('--net');
    return;
}


# From now on systemd runs it, as after power was lost: what ran there ends. It needs
# the packages systemd-sysv and dbus.  /proc/sys is the host's, and cannot be written.
sub boot {
    my ($self) = @_;

    $self->_end;
    $self->_enter(['--cgroup', '--uts'], join(' && ', "cd '$self->{dir}'",
        'mount --rbind . .', 'cd "$PWD"', 'mount -t proc proc proc',
        'mount --bind proc/sys proc/sys', 'mount -o remount,bind,ro proc/sys',
        'mount -t sysfs -o ro sys sys', 'mount -t cgroup2 none sys/fs/cgroup',
        'pivot_root . mnt', 'umount -l mnt', 'mount --make-rshared /',
        'exec env -i container=machine /sbin/init'), qr{^/sbin/init});
    $self->{root} = '/';
    Guildlog::wait_for { ($self->on('systemctl is-active multi-user.target'))[0] }
        120, 'the machine has booted';
    return;
}


# Its first process: all others end with it.  It gets those that lost their
# parent; a signal that it ignores lets the kernel bury them.
sub _begin {
    my ($self, @more) = @_;

    $self->_enter(\@more, "mount -t proc proc '$self->{dir}/proc'"
        . (@more ? ' && ip link set lo up' : '')
        . q( && exec perl -e '$SIG{CHLD} = "IGNORE"; exec qw(sleep inf)'),
        qr/^sleep/);
    $self->{root} = $self->{dir};
    return;
}


# in namespaces of its own, by that command, which becomes such a process
sub _enter {
    my ($self, $more, $command, $becomes) = @_;

    if (!grep { $_ eq '--net' } @$more) {
        $self->{shares} = 1;
        _lock() if !$sharing++;
    }

    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        # it ends with the test, also if that is killed
        exec qw(setpriv --pdeathsig KILL unshare --pid --fork --mount --kill-child),
            @$more, 'sh', '-c', $command or POSIX::_exit(127);
    }
    $self->{pid} = $pid;
    Guildlog::wait_for {
        ($self->{first}) = split ' ', slurp("/proc/$pid/task/$pid/children");
        $self->{first} && slurp("/proc/$self->{first}/cmdline") =~ $becomes;
    } 60, 'the machine runs';
    return;
}


sub _end {
    my ($self) = @_;

    my $pid = delete $self->{pid} or return;
    kill 'KILL', $self->{first}, $pid;    # they ignore the others
    waitpid $pid, 0;
    undef $network if delete $self->{shares} && !--$sharing;
    return;
}


sub _lock {
    my $file = ($ENV{GUILDLOG_TEST_DIR} || '/tmp') . '/network';

    open $network, '>', $file or die "$file: $!";
    flock $network, LOCK_EX or die "$file: $!";
    return;
}


# it has the network and the processes of another one from now on
sub beside {
    my ($self, $other) = @_;

    $self->_end;
    $self->{first} = $other->{first};
    $self->_mount("mount -t proc proc '$self->{dir}/proc'");
    return;
}


# from now on nobody can write to it but to /tmp, which is empty, and to these
# folders
sub frozen {
    my ($self, @folders) = @_;

    my $dir = $self->{dir};
    $self->_mount("mount --rbind '$dir' '$dir'",
        (map { "mount --bind '$dir$_' '$dir$_'" } @folders),
        "mount -o remount,bind,ro '$dir'",
        "mount -t tmpfs -o mode=1777 tmpfs '$dir/tmp'");
    return;
}


# for its processes
sub _mount {
    my ($self, @commands) = @_;

    system('nsenter', '-t', $self->{first}, '-m', '-p', 'sh', '-c',
        join ' && ', @commands) == 0 or die "mount\n";
    return;
}


# what git has of the project goes to that folder of it
sub clone {
    my ($self, $to) = @_;

    defined shell('mkdir -p "$1"; cd "$top"; git ls-files -z | tar -c --null '
        . '-T - | tar -xC "$1"', "$self->{dir}$to") or die "no clone\n";
    return;
}


# runs a command on it: (whether it succeeded, its output)
sub on {
    my ($self, $command) = @_;

    my @enter = ('nsenter', '-t', $self->{first}, '-n', '-p', '-m');
    open my $out, '-|', @enter, 'chroot', $self->{root}, 'env', '-i',
        'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive',
        'LC_ALL=C.UTF-8', 'sh', '-c', "($command) 2>&1 < /dev/null"
        or die "chroot: $!";
    my $text = do { local $/; <$out> } // '';
    return (scalar close $out, $text);
}


# the same; a test says whether it succeeded
sub goes_well {
    my ($self, $command, $what) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($ok, $said) = $self->on($command);
    ok $ok, $what or diag $said;
    return $said;
}


# every file, without those in which apt, dpkg and services keep their records
sub files {
    my ($self) = @_;

    my (undef, $list) = $self->on('find / -xdev \( -path /var/cache'
        . ' -o -path /var/log -o -path /var/lib/apt -o -path /var/lib/dpkg'
        . ' -o -path /var/lib/postgresql -o -path /var/lib/nginx'
        . ' -o -path /run/postgresql -o -path /run/nginx.pid -o -path /tmp'
        . ' -o -path /proc -o -path /dev -o -path /root \) -prune -o'
        . ' ! -type d -printf "%p %l\n"');
    return { map { $_ => 1 } split /\n/, $list };
}


sub DESTROY {
    my ($self) = @_;

    local ($?, $!);
    $self->_end;
    return;
}


END {
    local $?;
    $_->_end for grep { defined } @machines;
}


1;
