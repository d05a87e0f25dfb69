package Guildlog::Bench::Export;

# an export of --entries rows: its speed, a worker's memory, and the
# p99 of other requests to that worker beside none, one and ten
# stalled exports

use strict;
use warnings;
use utf8;

use List::Util qw(max);
use Time::HiRes qw(sleep time);

use Guildlog::Bench;
use Guildlog::Export;


sub run {
    my $entries = option('entries');
    my $nginx   = start(workers => 1, api => "$no_limit send_timeout 600s;");
    my $guild   = $nginx->server;
    my $token   = $nginx->token($guild);
    my $export  = "/servers/$guild/logs/export";

    fill($nginx, $guild, int(time * 1000), $entries);
    $nginx->cluster->connect($nginx->dbname, 'postgres')->do('vacuum analyze');

    my $p99 = sub { wrk($nginx, "/api/servers/$guild", $token, 1)->{p99} };
    $p99->();

    my $before = rss($nginx->workers);
    whole($nginx, $export, $token, $entries, $before);

    my %p99;
    for (1 .. option('rounds')) {
        push @{ $p99{none} }, $p99->();

        my $pid = reader($nginx, $export, $token);
        push @{ $p99{'one that runs'} }, $p99->();
        die "the export was too short: more --entries\n" if gone($pid);
        kill 'KILL', $pid;
        waitpid $pid, 0;

        my @stalled = map { ask($nginx, $export, $token) } 1 .. 10;
        stall($nginx, @stalled);
        push @{ $p99{'ten that stall'} }, $p99->();
        line('  memory with ten that stall, KB more',
            rss($nginx->workers) - $before, '', '', '');
        $_->close(reset => 1) for @stalled;
    }
    line("  GET /servers/{guild}, p99 ms, exports: $_", median(@{ $p99{$_} }),
        '', '', '') for 'none', 'one that runs', 'ten that stall';
    $nginx->stop;
}


sub whole {
    my ($nginx, $export, $token, $entries, $before) = @_;

    my $start = time;
    my $cpu   = cpu($nginx);
    my $most  = 0;
    my $pid   = reader($nginx, $export, $token);
    until (gone($pid)) {
        $most = max($most, rss($nginx->workers));
        sleep 0.1;
    }
    line("rows exported a second, of $entries",
        int($entries / (time - $start)), '', '', '');
    line('  nginx CPU, µs a row', sprintf('%.1f',
        (cpu($nginx) - $cpu) / $entries * 1e6), '', '', '');
    line('  memory meanwhile, KB more', $most - $before, '', '', '');
}


# until all have begun and nothing more is asked for, the sockets being full
sub stall {
    my ($nginx, @exports) = @_;

    my $quiet = 0;
    Guildlog::wait_for(sub {
        return if grep { !$_->readable } @exports;
        $quiet = 0 if $nginx->sql(q(select count(*) from pg_stat_activity
            where usename = 'guildlog' and datname = current_database()
              and state <> 'idle' and query like '%logs_export%'));
        return ++$quiet > 20;
    }, 120);
}


# reads as fast as it can; its pid
sub reader {
    my ($nginx, $export, $token) = @_;

    defined(my $pid = fork) or die "fork: $!";
    return $pid if $pid;

    exec 'curl', '-sf', '-o', '/dev/null', '-H',
        "Authorization: Bearer $token", $nginx->url . "/api$export";
    die "curl: $!";
}


sub gone {
    my ($pid) = @_;

    my $ended = waitpid $pid, POSIX::WNOHANG();
    die "the export failed\n" if $ended == $pid && $?;
    return $ended == $pid;
}


1;
