package Guildlog::Fault;

# Allocations of a worker that fail when told to, by t/lib/fault.c.

use strict;
use warnings;

use Cwd ();
use File::Basename qw(dirname);

use Guildlog::File;

my $many = 1e15;
my $source = Cwd::abs_path(dirname(__FILE__) . '/../fault.c');


# builds what is preloaded, in that folder
sub new {
    my ($class, $dir) = @_;

    my $self = bless { file => "$dir/fault", library => "$dir/fault.so" },
        $class;
    system('gcc', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-shared',
        '-fPIC', '-o', $self->{library}, $source, '-ldl') == 0
        or die "fault.c cannot be built\n";
    $self->_tell(0, 0, 0, 0);
    return $self;
}


# for Guildlog->new(env => ...): what a process leaves behind is told, too
sub env {
    my ($self) = @_;

    return {
        LD_PRELOAD     => $self->{library},
        GUILDLOG_FAULT => $self->{file},
        ASAN_OPTIONS   => 'verify_asan_link_order=0:disable_coredump=1'
            . ":detect_leaks=1:log_path=$self->{file}.report",
        LSAN_OPTIONS   => 'exitcode=0',
    };
}


# what a worker has lost; not what its master has as well, from before
sub left {
    my ($self, $worker, $master) = @_;

    my ($lost, $before) = map {
        my $report = $self->report($_);
        $report =~ s/0x[0-9a-f]+//g;
        [grep { /^(?:Direct|Indirect) leak/ } split /\n\n/, $report];
    } $worker, $master;
    my %before = map { $_ => 1 } @$before;
    return join "\n\n", grep { !$before{$_} } @$lost;
}


# what the sanitizers have to say of a process that has ended
sub report {
    my ($self, $pid) = @_;
    return slurp("$self->{file}.report.$pid");
}


# the nth allocation that the process makes from now on, and so many in a row;
# of that function, if there is one
sub fail {
    my ($self, $pid, $nth, $run, $within) = @_;

    truncate "$self->{file}.stack", 0;
    $self->_tell(0, 0, 0, 0);
    $self->_tell($pid, $nth, $run, 0, $within);
}


# all of that function, until failed()
sub fail_within {
    my ($self, $pid, $within) = @_;
    $self->fail($pid, 1, $many, $within);
}


# counts the allocations of the process until counted() tells how many
sub count {
    my ($self, $pid) = @_;
    $self->fail($pid, $many, 1);
}


sub counted {
    my ($self) = @_;

    my $left = ($self->_ask)[1];
    $self->failed;
    return $many - $left;
}


# has one failed?
sub hit { ($_[0]->_ask)[3] }


# no more from now on: how many failed
sub failed {
    my ($self) = @_;

    my $failed = $self->hit;
    $self->_tell(0, 0, 0, 0);
    return $failed;
}


# where the last one failed that began a row
sub stack {
    my ($self) = @_;

    my @calls = grep { !m{/(?:libasan|fault)\.so} }
        split /\n/, slurp("$self->{file}.stack");
    return join "\n", splice @calls, 0, 12;
}


sub _tell {
    my ($self, @words) = @_;

    my $within = $words[4] // '';
    open my $file, -e $self->{file} ? '+<' : '>', $self->{file}
        or die "$self->{file}: $!\n";
    chmod 0666, $self->{file};
    syswrite $file, pack 'q4 a64', @words[0 .. 3], $within;
    close $file;
}


sub _ask {
    my ($self) = @_;

    open my $file, '<', $self->{file} or die "$self->{file}: $!\n";
    sysread $file, my $bytes, 32;
    return unpack 'q4', $bytes;
}


1;
