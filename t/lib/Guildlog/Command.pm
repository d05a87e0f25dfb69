package Guildlog::Command;

# system() of Perl, but that an interruption reaches us as well: Perl's own
# ignores it while the command runs, and who is interrupted then goes on.

use strict;
use warnings;

use Exporter 'import';
use POSIX qw(:signal_h);

our @EXPORT = qw(command);


# runs a command, by its arguments: its status
sub command {
    my (@command) = @_;

    my $signals = POSIX::SigSet->new(SIGINT, SIGTERM, SIGHUP);

    # our handlers are not for the child
    sigprocmask(SIG_BLOCK, $signals);
    my $pid = fork;
    if (defined $pid && !$pid) {
        @SIG{qw(INT TERM HUP)} = ('DEFAULT') x 3;
        sigprocmask(SIG_UNBLOCK, $signals);
        exec @command or POSIX::_exit(127);
    }
    sigprocmask(SIG_UNBLOCK, $signals);

    die "fork: $!\n" if !defined $pid;

    # whoever interrupts us, what we started is not left behind
    my $why;
    $why = $@ until eval { waitpid $pid, 0; 1 };
    die $why if defined $why;
    return $?;
}


1;
