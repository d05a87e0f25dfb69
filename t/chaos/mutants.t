#!/usr/bin/perl
# The simulation of delivery finds what it is there for: each change of
# t/sim/mutants, made to the lane machine or to the schema, is told from what
# it should be.  GUILDLOG_MUTANTS names some of them, separated by commas.

use lib 't/lib';
use Guildlog;
use Guildlog::File;

# of a processor, for each kind of world
my $seconds = $ENV{GUILDLOG_SECONDS} // 20;
my %named = map { $_ => 1 } split /,/, $ENV{GUILDLOG_MUTANTS} // '';
my $dir   = '.build/sim/mutants';
my @likes = ('-c 1 -e 100', '-c 20 -e 40 -n 2', '-c 8 -e 60 -n 3 -f 300',
    '-c 8 -e 60 -n 2 -w');

is system('t/sim/build'), 0, 'it is built' or BAIL_OUT 'no simulation';
mkdir $dir;

my $cluster  = Guildlog::Cluster->shared;
my $database = $cluster->create_database;
my $schema = 'host=' . $cluster->socket_dir . ' port=' . $cluster->port
    . " dbname=$database user=guildlog_owner password=owner";
my $dbh = $cluster->connect($database);
$dbh->do('set search_path = guildlog');


# each: name, place, what stands there, and what is to
sub mutants {
    my @mutants;

    open my $in, '<', 't/sim/mutants' or die "t/sim/mutants: $!\n";
    while (<$in>) {
        if (/^([@=]) (\S+) (\S+)/) {
            push @mutants, { same => $1 eq '=', name => $2, place => $3,
                old => '', new => '' };
        } elsif (/^-(.*\n)/) {
            $mutants[-1]{old} .= $1;
        } elsif (/^\+(.*\n)/) {
            $mutants[-1]{new} .= $1;
        }
    }
    close $in;

    # a part of a line, if it is one
    chomp @$_{qw(old new)} for @mutants;
    return grep { !$_->{same} && (!%named || $named{ $_->{name} }) } @mutants;
}


# the text with the change; nothing if it does not stand there
sub changed {
    my ($text, $mutant) = @_;

    my $at = index $text, $mutant->{old};
    return if $at < 0;
    substr $text, $at, length $mutant->{old}, $mutant->{new};
    return $text;
}


sub first_line {
    my ($command) = @_;

    my @lines = `$command 2>&1`;
    return if $? == 0;
    return $lines[0] // "status $?\n";
}


# what finds it in the lane machine
sub hunt {
    my ($mutant) = @_;

    my $text = changed(scalar slurp("src/$mutant->{place}"), $mutant)
        or return fail "$mutant->{name} can be made";
    my $copy = "$dir/$mutant->{name}.c";
    open my $out, '>', $copy or die "$copy: $!\n";
    print {$out} $text;
    close $out or die "$copy: $!\n";

    my $built = `t/sim/build $dir $mutant->{place}=$copy 2>&1`;
    return fail("$mutant->{name} is built"), diag $built if $?;

    for my $like (@likes) {
        my $found = first_line("$dir/sim $like -t $seconds -q -b") or next;
        my ($seed) = $found =~ /^seed (\d+)/;

        return fail "$like -s $seed passes where nothing is changed"
            if $seed && first_line(".build/sim/sim $like -s $seed -r 1 -q");
        return pass "$mutant->{name}: $like: $found";
    }
    fail "$mutant->{name} is found";
}


# what finds it in the schema
sub compare {
    my ($mutant) = @_;

    my $was = $dbh->selectrow_array(
        'select pg_get_functiondef(?::regproc)', {}, $mutant->{place});

    # the clock of the comparison is in it by now
    s/clock_timestamp\(\)|\bnow\(\)/sim.clock()/g for @$mutant{qw(old new)};
    my $text = changed($was, $mutant)
        or return fail "$mutant->{name} can be made";
    $dbh->do($text);
    my $found = first_line(".build/sim/compare -r 40 -n 300 '$schema'");
    ok $found, "$mutant->{name}: " . ($found // 'is found');
    $dbh->do($was);
}


is first_line(".build/sim/compare -r 1 '$schema'"), undef,
    'nothing is found where nothing is changed, in the schema';

is first_line(".build/sim/sim $_ -r 30 -q"), undef, "nor in $_" for @likes;

for my $mutant (mutants()) {
    $mutant->{place} =~ m{/} ? hunt($mutant) : compare($mutant);
}

done_testing;
