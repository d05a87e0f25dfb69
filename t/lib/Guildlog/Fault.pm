package Guildlog::Fault;

# Lets allocations of a worker fail on request, with t/lib/fault.c.

use strict;
use warnings;

use Cwd ();
use File::Basename qw(dirname);

use Guildlog::File;

my $many = 1e15;
my $source = Cwd::abs_path(dirname(__FILE__) . '/../fault.c');


# builds the library to preload, in that folder
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


# for Guildlog->new(env => ...): also reports what a process leaves behind
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


# the memory that a worker leaked, without what its master had leaked before
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


# the sanitizers' reports of a process that has ended
sub report {
    my ($self, $pid) = @_;
    return slurp("$self->{file}.report.$pid");
}


# lets the nth allocation from now on fail, and $run in a row; with "within",
# only allocations of that function count
sub fail {
    my ($self, $pid, $nth, $run, $within) = @_;

    truncate "$self->{file}.stack", 0;
    $self->_tell(0, 0, 0, 0);
    $self->_tell($pid, $nth, $run, 0, $within);
}


# lets all allocations of that function fail, until failed()
sub fail_within {
    my ($self, $pid, $within) = @_;
    $self->fail($pid, 1, $many, $within);
}


# counts the process's allocations until counted() returns their number
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


# has an allocation failed?
sub hit { ($_[0]->_ask)[3] }


# lets no more fail; returns how many have failed
sub failed {
    my ($self) = @_;

    my $failed = $self->hit;
    $self->_tell(0, 0, 0, 0);
    return $failed;
}


# the stack of the last allocation that began a row of failures
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
