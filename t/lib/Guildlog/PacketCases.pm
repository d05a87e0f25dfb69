package Guildlog::PacketCases;

# The cases of t/events/, all of which happened on one day: their times and ids are
# moved by some ms, what stands in short is written out.

use strict;
use warnings;

use Exporter 'import';
use Time::Local qw(timegm);

our @EXPORT = qw(moved expand);

# the day of the cases, ms, and the epoch of the platform
my ($from, $to, $epoch)
    = (1_795_172_400_000, 1_795_305_600_000, 1_420_070_400_000);


# the text of a case
sub moved {
    my ($all, $by) = @_;

    $all =~ s/(?<![\d.])(179\d{10})(?!\d)/inside($1) ? $1 + $by : $1/ge;
    $all =~ s{(?<!\d)(1\d{18})(?!\d)}
        {inside(($1 >> 22) + $epoch) ? $1 + $by * 4_194_304 : $1}ge;
    $all =~ s/(2026-11-2\d)T(\d\d):(\d\d):(\d\d)[.](\d{3})/stamp($by, $1, $2, $3, $4, $5)/ge;
    return $all;
}


sub inside {
    my ($ms) = @_;
    return $ms >= $from && $ms < $to;
}


sub stamp {
    my ($by, $day, $hour, $minute, $second, $part) = @_;

    my ($y, $m, $d) = split /-/, $day;
    my $ms = timegm($second, $minute, $hour, $d, $m - 1, $y) * 1000 + $part + $by;
    my @t = gmtime int $ms / 1000;
    return sprintf '%04d-%02d-%02dT%02d:%02d:%02d.%03d', $t[5] + 1900, $t[4] + 1,
        @t[3, 2, 1, 0], $ms % 1000;
}


# {"$repeat": [x, n]} is the text x n times, or n times the elements of x
sub expand {
    no warnings 'recursion';
    my ($it) = @_;

    if (ref $it eq 'HASH') {
        my ($what, $times) = @{ $it->{'$repeat'} // [] };
        return { map { $_ => expand($it->{$_}) } keys %$it } if !defined $times;
        return ref $what ? [map { @{ expand($what) } } 1 .. $times]
            : $what x $times;
    }
    return $it if ref $it ne 'ARRAY';
    return [map {
        ref eq 'HASH' && $_->{'$repeat'} && ref $_->{'$repeat'}[0]
            ? @{ expand($_) } : expand($_)
    } @$it];
}


1;
