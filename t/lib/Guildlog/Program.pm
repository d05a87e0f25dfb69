package Guildlog::Program;

# A program of Node.js, or of Debian's Python, that prints TAP. What it orders
# ("# order: restart", perhaps with a number) is done, and answered with a line.

use strict;
use warnings;

use IPC::Open2;
use Test::More;

use constant SILENCE => 900;    # s; then it will never say anything

my $python = '/usr/bin/python3';


# a program, as words of a command
sub command {
    my ($class, $file) = @_;

    $ENV{PYTHONPATH} = "$Guildlog::TOP/util/kit/python";
    return ($file =~ /[.]py$/ ? ($python, '-B') : 'node',
        "$Guildlog::TOP/$file");
}


# each of its tests is one of the test file; returns the other lines
sub obey {
    my ($class, $file, %order) = @_;

    my $before = Test::More->builder->current_test;
    my @lines;
    my $pid = open2(my $out, my $in, $class->command($file));

    $in->autoflush(1);
    local $SIG{ALRM} = sub { die "$file says nothing any more\n" };
    eval {
        while (alarm SILENCE, defined(my $line = <$out>)) {
            if ($line =~ /^# order: (\w+)(?: (\d+))?/) {
                $order{$1}->($2);
                print {$in} "$1\n";
            } elsif ($line =~ /^(not )?ok \d+ - (.*)/) {
                ok !$1, $2;
            } elsif ($line =~ /^1\.\.(\d+)/) {
                is $1, Test::More->builder->current_test - $before,
                    'to the end';
            } else {
                push @lines, $line;
            }
        }
        1;
    } or do {
        my $why = $@;
        kill 'KILL', $pid;
        die $why;
    };
    alarm 0;
    waitpid $pid, 0;
    is $?, 0, "$file ended well";
    return @lines;
}


1;
