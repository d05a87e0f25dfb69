package Guildlog::Figures;

# A table of figures in Markdown, as util/PERFORMANCE.md has it. A figure is a median
# over rounds, beside that of what it is compared with in the same rounds, with
# the ratio of the two and how far that spread. One that cannot be had says why
# in its row, and the others go on.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use List::Util qw(max min);
use POSIX qw(strftime);

use Guildlog::File;

our @EXPORT = qw(option figures once attempt skipped median);

my %option;
my $failures = 0;
my $interrupted;


# those of the command line
sub set_options {
    %option = @_;
}


sub option {
    my ($name) = @_;
    return $option{$name};
}


# ends the figure that is being measured, or where somebody is in the way of
# that, the next one
sub interrupt {
    $interrupted = 1;
    die "interrupted\n";
}


# how many figures could not be had
sub failures { $failures }


sub heading {
    my @load   = split ' ', slurp('/proc/loadavg');
    my $cpus   = slurp('/proc/cpuinfo');
    my $cores  = () = $cpus =~ /^processor\s*:/mg;
    my ($cpu)  = $cpus =~ /^model name\s*:\s*(.*)/m;
    my ($os)   = slurp('/etc/os-release') =~ /^PRETTY_NAME="(.*)"/m;

    printf "%s UTC; %d cores, %s; %s, %s; load average before: %s; rounds of "
        . "%s s: %d; entries of a large server: %s\n\n",
        strftime('%Y-%m-%d %H:%M', gmtime), $cores, $cpu || 'a processor', $os,
        join(', ', version('nginx', 'nginx -v'),
            version('PostgreSQL', 'psql --version'), version('wrk', 'wrk -v')),
        join(' ', @load[0 .. 2]), @option{qw(seconds rounds)},
        number($option{entries});
    print "| | it | beside | ratio | spread |\n|---|---|---|---|---|\n";
}


sub version {
    my ($name, $command) = @_;
    my ($version) = qx{$command 2>&1} =~ /(\d+[.\d]+)/;
    return $name . ' ' . ($version || '?');
}


# figures { [it, beside], … } 'what; beside what', …: a round gives a pair for
# each name
sub figures(&@) {
    my ($round, @names) = @_;
    _figures($option{rounds}, $round, @names);
}


# of a round: a pair, or why there is none; the other ones are measured
sub attempt(&) {
    my ($code) = @_;

    my $pair = eval { $code->() };
    return $pair // $@;
}


# for what takes long: in one round
sub once(&@) {
    my ($round, @names) = @_;
    _figures(1, $round, @names);
}


sub _figures {
    my ($rounds, $round, @names) = @_;

    my @pairs;
    my $done = eval {
        for (1 .. $rounds) {
            die "interrupted\n" if $interrupted;
            my @round = $round->();
            push @{ $pairs[$_] }, $round[$_] for 0 .. $#names;
        }
        1;
    };
    my $why = $@;
    for my $i (0 .. $#names) {
        $done ? _row($names[$i], @{ $pairs[$i] }) : failed($names[$i], $why);
    }
    return;
}


# whoever asked for it to end is obeyed
sub failed {
    my ($what, $why) = @_;

    die "interrupted\n" if $interrupted;
    print STDERR $why;
    my ($line) = $why =~ /(.*)/;
    $line =~ s/\|/\\|/g;
    print "| $what | failed: $line | | | |\n";
    $failures++;
}


# a figure that this machine cannot have
sub skipped {
    my ($what, $why) = @_;
    print "| $what | skipped: $why | | | |\n";
    return;
}


sub _row {
    my ($what, @pairs) = @_;

    for (@pairs) {
        return failed($what, $_) if defined && !ref;
    }

    # in a moment, a clock may not go on
    my $least = $option{smoke} ? '-inf' : 0;
    return failed($what, "not measured\n") if grep {
        !$_ || grep { !defined || $_ <= $least } @$_[0, 1]
    } @pairs;

    my @ratio = map { $_->[1] ? $_->[0] / $_->[1] : 0 } @pairs;
    printf "| %s | %s | %s | %s | %s |\n", $what,
        number(median(map { $_->[0] } @pairs)),
        number(median(map { $_->[1] } @pairs)), ratio(median(@ratio)),
        @ratio == 1 ? 'once' : ratio(min(@ratio)) . ' - ' . ratio(max(@ratio));
}


sub ratio {
    my ($n) = @_;
    return $n < 0.1 ? sprintf '%.2g', $n : $n < 20 ? sprintf '%.2f', $n : number($n);
}


# three digits tell enough
sub number {
    my ($n) = @_;

    my $text = $n < 0.1  ? sprintf('%.2g', $n)
             : $n < 10   ? sprintf('%.2f', $n)
             : $n < 1000 ? sprintf('%.1f', $n)
             :             sprintf('%.0f', $n);
    1 while $text =~ s/^(\d+)(\d{3})\b/$1,$2/;
    return $text;
}


sub median {
    my @sorted = sort { $a <=> $b } @_;
    return ($sorted[$#sorted / 2] + $sorted[@sorted / 2]) / 2;
}


1;
