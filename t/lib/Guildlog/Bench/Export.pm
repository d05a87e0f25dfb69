package Guildlog::Bench::Export;

# an export of --entries rows: its speed beside a bare copy, a
# worker's memory, and the p99 of other requests to that worker
# beside none, one and ten stalled exports

use strict;
use warnings;
use utf8;

use List::Util qw(max);
use Time::HiRes qw(sleep time);

use Guildlog::Bench;
use Guildlog::Command;
use Guildlog::Export;


sub run {
    my $entries = option('entries');
    my $nginx   = start(workers => 1, api => "$no_limit send_timeout 600s;");
    my $guild   = $nginx->server;
    my $token   = $nginx->token($guild);
    my $export  = "/servers/$guild/logs/export";

    fill($nginx, $guild, int(time * 1000), $entries);
    admin($nginx, 'vacuum analyze');

    my $small = sub { wrk($nginx, "/api/servers/$guild", token => $token,
        connections => 1)->{p99} };
    $small->();

    my $idle = rss($nginx->workers);
    whole($nginx, $guild, $export, $token, $entries, $idle);

    figures {
        my $none = $small->();
        my $pid  = reader($nginx, $export, $token);
        my $one  = $small->();
        my $ended = gone($pid);
        kill 'KILL', $pid;
        die "the export was too short: more --entries\n"
            if $ended && !option('smoke');
        [$one, $none];
    } 'p99 of a small read beside a running export, ms; beside none';

    # a token has at most four open
    my @tokens = map { ($_) x 4 } $nginx->tokens($guild, 3);

    figures {
        my $none    = $small->();
        my @stalled = map { ask($nginx, $export, $_) } @tokens[0 .. 9];
        stall($nginx, @stalled);
        my $p99 = $small->();
        my $rss = rss($nginx->workers);
        $_->close(reset => 1) for @stalled;
        [$p99, $none], [$rss, $idle];
    } 'p99 of a small read beside ten that stall, ms; beside none',
      "the worker's memory with ten that stall, KB; with none";
}


sub whole {
    my ($nginx, $guild, $export, $token, $entries, $idle) = @_;

    once {
        my ($start, $cpu, $most) = (time, cpu($nginx), $idle);
        my $postgres = postgres_cpu($nginx);
        my $pid = reader($nginx, $export, $token);
        until (gone($pid)) {
            $most = max($most, rss($nginx->workers));
            sleep 0.05;
        }
        my $rate = $entries / (time - $start);
        my @us = map { $_ / $entries * 1e6 } cpu($nginx) - $cpu,
            postgres_cpu($nginx) - $postgres;
        [$rate, bare($nginx, $guild)], [@us], [$most, $idle];
    } "rows exported a second, of $entries; by psql, the bare documents",
      "nginx CPU for a row, µs; PostgreSQL's",
      "the worker's memory meanwhile, KB; before";
}


# rows a second of a copy of the documents
sub bare {
    my ($nginx, $guild) = @_;

    my $file = $nginx->prefix . '/temp/copy';
    my $n = $nginx->sql("select count(*) from entries where guild_id = ?",
        $guild);
    local $ENV{PGPASSWORD} = 'owner';
    my $start = time;
    command('psql', '-X', '-q', '-h', $nginx->cluster->socket_dir, '-p',
        $nginx->cluster->port, '-U', 'guildlog_owner', '-d', $nginx->dbname,
        '-o', $file, '-c', "copy (select doc from guildlog.entries where "
        . "guild_id = $guild order by id desc) to stdout") == 0
        or die "psql failed\n";
    my $took = time - $start;
    unlink $file;
    return $n / $took;
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

    return spawn(sub {
        exec 'curl', '-sf', '-o', '/dev/null', '-H',
            "Authorization: Bearer $token", $nginx->url . "/api$export";
        die "curl: $!";
    });
}


sub gone {
    my ($pid) = @_;

    my $ended = waitpid $pid, POSIX::WNOHANG();
    die "the export failed\n" if $ended == $pid && $?;
    return $ended == $pid;
}


1;
