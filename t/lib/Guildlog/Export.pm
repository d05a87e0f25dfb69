package Guildlog::Export;

# Exports of many entries, read byte by byte.

use strict;
use warnings;

use Errno ();
use Exporter 'import';

our @EXPORT = qw(arrived fill ask drain memory);


# stores that many entries of the type directly, one a millisecond back from
# $now; every tenth has "needle". Most of them are in blocks
sub fill {
    my ($nginx, $server, $now, $n) = @_;

    $nginx->sql(<<~'SQL', $server, $now, $n);
        insert into log_arrival (guild_id, id, arrival, recorded_at, bot, type,
                                 event_id, doc)
        select g, i.id, h.arrival + v.n + 1 - i.n, clock_timestamp(), 0, 7, i.n,
               format('{"id":"%s","type":7,"timestamp":%s,"content":%s',
                      i.id, now - 1000 - i.n, to_json(
                          repeat('x', 500)
                          || case when i.n % 10 = 0 then ' needle' else '' end))
          from (values (?::bigint, ?::bigint, ?::int)) v (g, now, n)
          join log_head h on h.guild_id = g and h.bot = 0,
               lateral (select n, next_id(now - 1000 - n) as id
                          from generate_series(1, v.n) n) i
        SQL
    arrived($nginx, $server);
    $nginx->some_blocks($server, int $n * 0.9);
}


# what was put into log_arrival has arrived
sub arrived {
    my ($nginx, $server) = @_;

    $nginx->sql(<<~'SQL', $server);
        update log_head h
           set (arrival, last_at) = (
                   select max(a.arrival), max(a.recorded_at) from log_arrival a
                    where a.guild_id = h.guild_id and a.bot = h.bot)
         where guild_id = ?
        SQL
}


# sends a request for an export on a new connection
sub ask {
    my ($nginx, $path, $token, $version) = @_;

    my $connection = $nginx->connection;
    $connection->send("GET /api$path HTTP/" . ($version // '1.1')
        . "\r\nHost: x\r\nAuthorization: Bearer $token\r\n\r\n");
    return $connection;
}


# reads an HTTP/1.0 answer to its end, or up to that many rows: {rows, without
# the header row; end: "closed", "reset" or undef}.  Calls "each" from time to
# time
sub drain {
    my ($connection, %option) = @_;

    my %read = (rows => -1);
    my $tail = '';
    $connection->_until(qr/\r\n\r\n/) // return { %read, end => 'reset' };
    $read{rows} += () = $connection->{buffer} =~ /\r\n/g;
    $tail = substr $connection->{buffer}, -1 if length $connection->{buffer};
    $connection->{buffer} = '';

    until ($option{rows} && $read{rows} >= $option{rows}) {
        $connection->readable($connection->{timeout}) or die "nothing came\n";
        my $got = sysread $connection->socket, my $bytes, 1 << 20;
        if (!$got) {
            $read{end} = defined $got     ? 'closed'
                       : $!{ECONNRESET} ? 'reset'
                       :                  die "read: $!\n";
            last;
        }
        $bytes = $tail . $bytes;
        $read{rows} += () = $bytes =~ /\r\n/g;
        $tail = substr($bytes, -1) eq "\r" ? "\r" : '';
        $option{each}->() if $option{each};
    }
    return \%read;
}


# the memory of its worker, in KB
sub memory {
    my ($nginx) = @_;

    my ($worker) = $nginx->workers;
    open my $in, '<', "/proc/$worker/status" or die $!;
    return (map { /^VmRSS:\s+(\d+)/ ? $1 : () } <$in>)[0];
}


1;
