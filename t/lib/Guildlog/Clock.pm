package Guildlog::Clock;

# A clock that a test can set, by t/lib/clock.c: a cluster made with
# Guildlog::Cluster->new(env => $clock->env) uses it as the time of day.

use strict;
use warnings;

use Cwd ();
use File::Basename qw(dirname);

my $source = Cwd::abs_path(dirname(__FILE__) . '/../clock.c');


# builds the library to preload, in that folder, which everybody may enter
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


# sets the clock that many seconds forward, or back if negative
sub set {
    my ($self, $seconds) = @_;

    open my $file, -e $self->{file} ? '+<' : '>', $self->{file}
        or die "$self->{file}: $!\n";
    chmod 0644, $self->{file};
    syswrite $file, pack 'q', $seconds * 1e6;
    close $file;
}


1;
