package Guildlog::Machine;

# A new machine: a Debian of its own below a folder, made by debootstrap. Needs
# root. Its processes have their own /proc, and end with it.

use strict;
use warnings;

use File::Copy ();
use File::Temp ();
use Test::More;

use Guildlog ();
use Guildlog::File;
use POSIX ();

my @machines;


# runs bash with the functions of util/lib.sh
sub shell {
    my ($script, @arguments) = @_;

    open my $out, '-|', 'bash', '-c', ". '$Guildlog::TOP/util/lib.sh'; $script",
        'bash', @arguments or die "bash: $!";
    my $text = do { local $/; <$out> };
    return close $out ? $text : undef;
}


# the path of the project's package
sub deb {
    chomp(my $package = shell('"$top/util/package"') // die "no package\n");
    return $package;
}


# a machine of that suite with these packages, whose services do not start by
# themselves
sub new {
    my ($class, $suite, @packages) = @_;

    die "needs root, to make a machine of its own\n" if $>;

    my $dir = File::Temp::tempdir('machine.XXXXXX',
        DIR => $ENV{GUILDLOG_TEST_DIR} || '/tmp', CLEANUP => 1);
    chmod 0755, $dir;

    defined shell('need "${packages_package[@]}"; step "Making a machine" '
        . 'debootstrap --variant=minbase "$2" "$1" "$(debian_mirror)"',
        $dir, $suite) or die "no machine to install on\n";

    my $self = bless { dir => $dir }, $class;
    push @machines, $self;

    open my $policy, '>', "$dir/usr/sbin/policy-rc.d" or die $!;
    print {$policy} "#!/bin/sh\nexit 101\n";
    close $policy;
    chmod 0755, "$dir/usr/sbin/policy-rc.d";

    $self->goes_well('apt-get -q update && apt-get -qy install '
        . "--no-install-recommends @packages", "$suite: a new machine");
    return $self;
}


sub copy {
    my ($self, $from, $to) = @_;
    File::Copy::copy($from, "$self->{dir}$to") or die "copy: $!";
}


# from now on it has no network but its own loopback
sub alone {
    my ($self) = @_;

    pipe my $ready, my $tell or die "pipe: $!";
    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        # the first process of its own: all others end with it
        exec 'unshare', '--net', '--pid', '--fork', '--mount',
            '--kill-child', 'sh', '-c', "mount -t proc proc '$self->{dir}/proc'"
            . ' && ip link set lo up && exec sleep infinity'
            or POSIX::_exit(127);
    }
    $self->{alone} = $pid;
    Guildlog::wait_for {
        ($self->{first}) = split ' ',
            slurp("/proc/$pid/task/$pid/children");
        $self->{first} && slurp(
            "/proc/$self->{first}/cmdline") =~ /^sleep/;
    } 20, 'the machine is alone';
}


# runs a command on it: (whether it succeeded, its output)
sub on {
    my ($self, $command) = @_;

    my @enter = $self->{first} ? ('nsenter', '-t', $self->{first}, '-n', '-p',
        '-m') : ();
    open my $out, '-|', @enter, 'chroot', $self->{dir}, 'env', '-i',
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


END {
    local $?;
    for my $self (@machines) {
        next if !$self->{alone};
        kill 'KILL', $self->{alone};    # it ignores the others
        waitpid $self->{alone}, 0;
    }
}


1;
