package Guildlog::Bench;

# What the benchmarks share.  One is a module in Bench/: the comment below its
# name is what util/bench --help says of it, and its run() measures and prints.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use List::Util qw(max min);

use Guildlog ();

our @EXPORT = qw(option start wrk pgbench script cpu backend_cpu rss line row
    median $no_limit);

our $no_limit = 'guildlog_limit requests=1000000000 window=1d;';

my %option;
my $scripts = 0;


# those of the command line
sub set_options {
    %option = @_;
}


sub option {
    my ($name) = @_;
    return $option{$name};
}


sub start {
    return Guildlog->new(workers => 2, log => 'error', @_);
}


# a load of so many connections for some seconds: {rate, requests}, and {p50,
# p99} in ms
sub wrk {
    my ($nginx, $path, $token, $connections, $lua) = @_;

    my @option = ('-c', $connections || 32, '-d', option('seconds') . 's',
        '--latency',
        defined $token ? ('-H', "Authorization: Bearer $token") : (),
        defined $lua   ? ('-s', $lua) : ());
    my $url = 'http://127.0.0.1:' . $nginx->port . $path;
    open my $out, '-|', 'wrk', '-t', 1, @option, $url or die "wrk: $!\n";
    my $text = do { local $/; <$out> };
    close $out or die "wrk failed: $text\n";

    die "not the answers meant: $text\n"
        if $lua && $text =~ /Non-2xx/;

    my ($requests) = $text =~ /(\d+) requests in/;
    my ($rate)     = $text =~ m{Requests/sec:\s+([\d.]+)};
    die "nothing was answered within $option{seconds} s: $text\n"
        if !$requests;
    return {
        rate     => $rate,
        requests => $requests,
        p50      => _ms($text, 50),
        p99      => _ms($text, 99),
    };
}


sub _ms {
    my ($text, $percent) = @_;

    my %ms = (us => 0.001, ms => 1, s => 1000);
    my ($n, $unit) = $text =~ /$percent%\s+([\d.]+)(us|ms|s)/;
    return sprintf '%.2f', $n * $ms{$unit};
}


sub pgbench {
    my ($nginx, $script, $clients, $user, $password) = @_;

    local $ENV{PGPASSWORD} = $password || 'module';
    local $ENV{PGOPTIONS}  = '-c search_path=guildlog,pg_temp'
        . ' -c plan_cache_mode=force_generic_plan -c jit=off';
    my @command = ('/usr/lib/postgresql/15/bin/pgbench', '-n', '-M',
        'prepared', '-c', $clients || 8, '-j', 2, '-T', option('seconds'),
        '-f', $script, '-h', $nginx->cluster->socket_dir, '-p',
        $nginx->cluster->port, '-U', $user || 'guildlog', $nginx->dbname);
    open my $out, '-|', @command or die "pgbench: $!\n";
    my $text = do { local $/; <$out> };
    close $out or die "pgbench failed: $text\n";
    return $text =~ /^tps = ([\d.]+)/m && $1;
}


sub script {
    my ($nginx, $sql) = @_;
    return $nginx->file('bench' . ++$scripts . '.sql', $sql);
}


# seconds of CPU that the workers have used, by the scheduler's own clock: what
# ticks say of processes that run for microseconds at a time is a guess
sub cpu {
    my ($nginx) = @_;

    my $ns = 0;
    for my $pid ($nginx->workers) {
        open my $in, '<', "/proc/$pid/schedstat" or die "$pid: $!\n";
        $ns += (split ' ', <$in>)[0];
    }
    return $ns / 1e9;
}


# µs that a backend has used
sub backend_cpu {
    my ($dbh) = @_;

    open my $in, '<', "/proc/$dbh->{pg_pid}/schedstat" or die "schedstat: $!\n";
    return (split ' ', <$in>)[0] / 1000;
}


sub rss {
    my ($pid) = @_;

    open my $in, '<', "/proc/$pid/status" or die "$pid: $!\n";
    return (grep { /^VmRSS/ } <$in>)[0] =~ /(\d+)/ && $1;
}


sub line {
    printf "%-48s %10s %10s %6s %s\n", @_;
}


sub row {
    my ($what, $ours, $theirs) = @_;

    my @ratio = map { $ours->[$_] / $theirs->[$_] } 0 .. $#$ours;
    line($what, map({ sprintf '%.0f', median(@$_) } $ours, $theirs),
        sprintf('%.2f', median(@ratio)),
        sprintf('%.2f-%.2f', min(@ratio), max(@ratio)));
}


sub median {
    my @sorted = sort { $a <=> $b } @_;
    return ($sorted[$#sorted / 2] + $sorted[@sorted / 2]) / 2;
}


1;
