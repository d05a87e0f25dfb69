package Guildlog::Clock;

# A clock that can be set, by t/lib/clock.c: Guildlog::Cluster->new(env =>
# $clock->env) has it instead of the machine's.

use strict;
use warnings;

use Cwd ();
use File::Basename qw(dirname);

my $source = Cwd::abs_path(dirname(__FILE__) . '/../clock.c');


# builds what is preloaded, in that folder, which everybody may enter
sub new {
    my ($class, $dir) = @_;

    my $self = bless { file => "$dir/clock", library => "$dir/clock.so" },
        $class;
    system('gcc', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-shared',
        '-fPIC', '-o', $self->{library}, $source, '-ldl') == 0
        or die "clock.c cannot be built\n";
    $self->set(0);
    return $self;
}


sub env {
    my ($self) = @_;
    return { LD_PRELOAD => $self->{library}, GUILDLOG_CLOCK => $self->{file} };
}


# so many seconds before (negative) or after what it is
sub set {
    my ($self, $seconds) = @_;

    open my $file, -e $self->{file} ? '+<' : '>', $self->{file}
        or die "$self->{file}: $!\n";
    chmod 0644, $self->{file};
    syswrite $file, pack 'q', $seconds * 1e6;
    close $file;
}


1;
