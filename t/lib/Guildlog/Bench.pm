package Guildlog::Bench;

# What the benchmarks share: servers, loads, and what they cost. One is a module
# in Bench/: the comment below its name is what util/bench --help says of it,
# and its run() measures.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use POSIX ();
use Time::HiRes qw(sleep);

use Guildlog ();
use Guildlog::Figures;
use Guildlog::File;

our @EXPORT = (@Guildlog::Figures::EXPORT,
    qw(start spawn wrk pgbench pgbench_p50 script admin cpu postgres_cpu
    backend_cpu rss p99 $no_limit));

our $no_limit = 'guildlog_limit requests=1000000000 window=1d;';

my $owner   = $$;
my $scripts = 0;
my @started;
my @spawned;


# runs one, and leaves nothing of it behind
sub bench {
    my ($name, $run) = @_;

    my $done = eval { $run->(); clean_up(1); 1 };
    my $why = $@;
    return if $done;
    eval { clean_up(0); 1 } or print STDERR $@;
    Guildlog::Figures::failed($name, $why);
}


# with "complain", what the servers had to complain about is an error
sub clean_up {
    my ($complain) = @_;

    for my $pid (splice @spawned) {
        kill 'KILL', $pid;
        waitpid $pid, 0;
    }
    my @complaints;
    for my $nginx (splice @started) {
        $nginx->stop;
        push @complaints, $nginx->complaints;
        delete $nginx->{dbh};
        next if $nginx->{option}{stays};
        my $admin = $nginx->cluster->connect('postgres', 'postgres');
        $admin->do('drop database ' . $nginx->dbname . ' with (force)');
    }
    die join "\n", @complaints, '' if $complain && @complaints;
}

END {
    if ($$ == $owner) {
        kill 'KILL', @spawned;
    }
}


sub start {
    push @started, Guildlog->new(workers => 2, log => 'error',
        patience => 120, @_);
    return $started[-1];
}


# a process of its own; its pid
sub spawn {
    my ($code) = @_;

    defined(my $pid = fork) or die "fork: $!\n";
    if ($pid) {
        push @spawned, $pid;
        return $pid;
    }
    @SIG{qw(INT TERM)} = ('DEFAULT') x 2;
    eval { $code->(); 1 } or print STDERR $@;
    POSIX::_exit($@ ? 1 : 0);
}


# a load of so many connections for some seconds: {rate, requests}, and {mean,
# p50, p99} in ms. Answers that are not 2xx are no answers, unless they are
# "refused"
sub wrk {
    my ($nginx, $path, %load) = @_;

    my $seconds = $load{seconds} || option('seconds');
    my @option = ('-c', $load{connections} || 32, '-d',
        POSIX::ceil($seconds) . 's', '--timeout', '60s', '--latency',
        $load{token} ? ('-H', "Authorization: Bearer $load{token}") : (),
        $load{lua}   ? ('-s', $load{lua}) : ());
    my $port = $load{port} || $nginx->port;
    my $pid = open my $out, '-|', 'wrk', '-t', 1, @option,
        "http://127.0.0.1:$port$path" or die "wrk: $!\n";
    if ($seconds < 1) {
        sleep $seconds;
        kill 'INT', $pid;
    }
    my $text = do { local $/; <$out> };
    my $early = !close($out) && ($? & 127) == POSIX::SIGINT;
    die "wrk failed: $text\n" if $? && !$early;

    die "$1 answers were not those meant\n"
        if !$load{refused} && $text =~ /Non-2xx or 3xx responses: (\d+)/;

    my ($requests) = $text =~ /(\d+) requests in/;
    my ($rate)     = $text =~ m{Requests/sec:\s+([\d.]+)};
    if (!$requests) {
        die "nothing was answered within $seconds s\n"
            if !option('smoke') || $seconds > 30;
        return wrk($nginx, $path, %load, seconds => 4 * $seconds);
    }

    return {
        rate     => $rate,
        requests => $requests,
        p50      => _ms($text, 50),
        p99      => _ms($text, 99),
    };
}


sub _ms {
    my ($text, $percent) = @_;

    my %ms = (us => 0.001, ms => 1, s => 1000, m => 60_000);
    my ($n, $unit) = $text =~ /$percent%\s+([\d.]+)(us|ms|s|m)/;
    return $n * $ms{$unit};
}


# {rate, transactions}, as the module's role or another one
sub pgbench {
    my ($nginx, $script, $clients, $user, $password) = @_;

    my $text = _pgbench($nginx, $script, $clients || 8, $user, $password);
    my ($rate) = $text =~ /^tps = ([\d.]+)/m;
    my ($n)    = $text =~ /transactions actually processed: (\d+)/;
    die 'nothing was done within ' . option('seconds') . " s\n" if !$n;
    return { rate => $rate, transactions => $n };
}


# ms, of one client
sub pgbench_p50 {
    my ($nginx, $script, $user, $password) = @_;

    my $prefix = $nginx->prefix . '/temp/pgbench_log';
    _pgbench($nginx, $script, 1, $user, $password, '-l',
        "--log-prefix=$prefix");
    my ($file) = glob "$prefix.*" or die "pgbench wrote no log\n";
    open my $in, '<', $file or die "$file: $!\n";
    my @us = map { (split ' ')[2] } <$in>;
    unlink $file;
    die 'nothing was done within ' . option('seconds') . " s\n" if !@us;
    return median(@us) / 1000;
}


sub _pgbench {
    my ($nginx, $script, $clients, $user, $password, @more) = @_;

    local $ENV{PGPASSWORD} = $password || 'module';
    local $ENV{PGOPTIONS}  = '-c search_path=guildlog,pg_temp'
        . ' -c plan_cache_mode=force_generic_plan -c jit=off'
        . ' -c statement_timeout=60s';
    my @command = ('pgbench', '-n', '-M',
        'prepared', '-c', $clients, '-j', $clients > 1 ? 2 : 1,
        option('smoke') ? ('-t', 10) : ('-T', option('seconds')), '-f', $script, @more, '-h',
        $nginx->cluster->socket_dir, '-p', $nginx->cluster->port, '-U',
        $user || 'guildlog', $nginx->dbname);
    open my $out, '-|', @command or die "pgbench: $!\n";
    my $text = do { local $/; <$out> };
    close $out or die "pgbench failed\n";
    return $text;
}


sub script {
    my ($nginx, $sql) = @_;
    return $nginx->file('bench' . ++$scripts . '.sql', $sql);
}


# as the superuser, who may vacuum
sub admin {
    my ($nginx, $sql) = @_;
    $nginx->cluster->connect($nginx->dbname, 'postgres')->do($sql);
}


# seconds of CPU that the workers have used, by the scheduler's own clock: what
# ticks say of processes that run for microseconds at a time is a guess
sub cpu {
    my ($nginx) = @_;
    return _cpu($nginx->workers);
}


# and all of PostgreSQL, with the backends that are gone
sub postgres_cpu {
    my ($nginx) = @_;

    my $pid = $nginx->cluster->pid;
    my ($gone, $cpu);
    do {
        $gone = _gone($pid);
        $cpu  = $gone + _cpu($pid, split ' ',
            slurp("/proc/$pid/task/$pid/children"));
    } until $gone == _gone($pid);
    return $cpu;
}


# of its children, by the kernel's ticks
sub _gone {
    my ($pid) = @_;

    my @stat = split ' ',
        slurp("/proc/$pid/stat") =~ s/.*\) //r;
    return ($stat[13] + $stat[14]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}


sub _cpu {
    my $ns = 0;
    for my $pid (@_) {
        $ns += (split ' ', slurp("/proc/$pid/schedstat")
            || 0)[0];
    }
    return $ns / 1e9;
}


# µs that a backend has used
sub backend_cpu {
    my ($dbh) = @_;
    return _cpu($dbh->{pg_pid}) * 1e6;
}


# KB
sub rss {
    my ($pid) = @_;
    return slurp("/proc/$pid/status") =~ /^VmRSS:\s*(\d+)/m
        ? $1 : die "process $pid is gone\n";
}


sub p99 {
    my @sorted = sort { $a <=> $b } @_;
    return $sorted[$#sorted * 0.99];
}


1;
