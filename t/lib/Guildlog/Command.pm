package Guildlog::Command;

# As Perl's system(), but an interruption reaches this process, too: Perl's own
# ignores it while the command runs, and the program goes on afterwards.

use strict;
use warnings;

use Exporter 'import';
use POSIX qw(:signal_h);

our @EXPORT = qw(command);


# runs a command with its arguments; returns its status
sub command {
    my (@command) = @_;

    my $signals = POSIX::SigSet->new(SIGINT, SIGTERM, SIGHUP);

    # the child does not have our signal handlers
    sigprocmask(SIG_BLOCK, $signals);
    my $pid = fork;
    if (defined $pid && !$pid) {
        @SIG{qw(INT TERM HUP)} = ('DEFAULT') x 3;
        sigprocmask(SIG_UNBLOCK, $signals);
        exec @command or POSIX::_exit(127);
    }
    sigprocmask(SIG_UNBLOCK, $signals);

    die "fork: $!\n" if !defined $pid;

    # stops the command also if this process is interrupted
    my $why;
    $why = $@ until eval { waitpid $pid, 0; 1 };
    die $why if defined $why;
    return $?;
}


1;
