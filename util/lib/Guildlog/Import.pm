package Guildlog::Import;

# Exports of guildlog, NDJSON and CSV, as entries to record.  An export has the
# newest entry first; they are recorded oldest first, so that they have the same
# order again.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use Fcntl qw(SEEK_SET);
use JSON::PP ();
use Time::Local qw(timegm_modern);

use Guildlog::Show;

our @EXPORT = qw(exported);

my $json = JSON::PP->new->utf8;
my $formula = qr/^'(?=[=+\-@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}])/;
my $longest = 4000;    # characters of "value"

# columns of a CSV: the field of the entry, and the part of it
my %column = (
    (map { $_ => [$_] } qw(role name reason count content action value)),
    log_type      => ['type'],
    content_after => ['contentAfter'],
    map { my $of = $_; map { ("${of}_$_" => [$of, $_]) } qw(id name) }
        qw(executor target channel),
);


# What gives an entry of the file at each call, [number of its line, JSON, were
# changes only words?], and nothing at the end

sub exported {
    my ($file) = @_;

    open my $in, '<:raw', $file or fail(2, "$file: $!");
    seek $in, 0, SEEK_SET or fail(2, "$file: it has to be a file, no pipe");
    my $first = readline($in) // '';
    my $start = $first =~ s/^\xef\xbb\xbf// ? 3 : 0;
    seek $in, $start, SEEK_SET;

    my $csv = $first =~ /^timestamp,log_id,/;
    fail(2, "$file: no export of guildlog: NDJSON or CSV")
        if !$csv && $first !~ /^\{.*\}\s*$/;
    my @names = $csv ? @{ cells(scalar readline $in) } : ();
    my $places = places($in, $csv);
    my $left = length($places) / 12;

    return sub {
        return if !$left;
        my ($place, $line) = unpack 'QL', substr $places, 12 * --$left, 12;
        seek $in, $place, SEEK_SET;
        my $text = record_of($in, $csv);
        my ($entry, $words) = $csv ? of_csv(\@names, cells($text))
            : of_json($text);
        return [$line, defined $entry ? $json->encode($entry) : $text, $words];
    };
}


# where each record begins, and its line
sub places {
    my ($in, $csv) = @_;

    my ($places, $line) = ('', $csv ? 2 : 1);
    while (1) {
        my $place = tell $in;
        my $text = record_of($in, $csv) // last;
        $places .= pack 'QL', $place, $line if $text =~ /\S/;
        $line += $text =~ tr/\n//;
    }
    return $places;
}


# a line; in a CSV a quoted cell may have several
sub record_of {
    my ($in, $csv) = @_;

    my $text = readline $in;
    while ($csv && defined $text && ($text =~ tr/"//) % 2) {
        $text .= readline($in) // last;
    }
    return $text;
}


sub cells {
    my ($text) = @_;

    utf8::decode($text);
    $text =~ s/\r?\n\z//;
    return [map { s/^"(.*)"\z/$1/s ? s/""/"/gr : $_ }
        $text =~ /\G("(?:[^"]++|"")*+"|[^,]*)(?:,|\z)/gs];
}


# what the API says of an entry and takes, without what it does not; nothing
# where it is none

sub of_json {
    my ($text) = @_;

    my $entry = eval { $json->decode($text) };
    return if ref $entry ne 'HASH' || !defined $entry->{id};
    my $id = delete $entry->{id};
    delete @$entry{qw(delivery messagesTruncated)};
    return filled({ %$entry, event_id => "import-$id" });
}


# a value without what is null, and without what is empty then
sub filled {
    my ($value) = @_;

    if (ref $value eq 'ARRAY') {
        return [map { filled($_) } @$value];
    }
    return $value if ref $value ne 'HASH';
    my %full;
    for my $key (keys %$value) {
        my $it = filled($value->{$key}) // next;
        $full{$key} = $it if ref $it eq 'ARRAY' ? @$it
            : ref $it eq 'HASH' ? %$it : $key ne 'name' || $it ne '';
    }
    return \%full;
}


sub of_csv {
    my ($names, $cells) = @_;

    my %cell;
    @cell{@$names} = map { s/$formula//r =~ s/^="(\d*)"\z/$1/r } @$cells;
    my $at = time_of($cell{timestamp} // '');
    return if !defined $at || ($cell{log_id} // '') !~ /^\d+$/;

    my %entry = (event_id => "import-$cell{log_id}", timestamp => $at);
    for my $name (grep { length($cell{$_} // '') } keys %column) {
        my ($field, $part) = @{ $column{$name} };
        if (defined $part) {
            $entry{$field}{$part} = $cell{$name};
        } else {
            $entry{$field} = $field =~ /^(?:type|count)$/ ? $cell{$name} + 0
                : $cell{$name};
        }
    }
    # somebody of whom only the name is known
    for (grep { ref $entry{$_} && !defined $entry{$_}{id} } keys %entry) {
        delete $entry{$_};
    }
    my $words = length($cell{changes} // '');
    $entry{value} //= substr $cell{changes}, 0, $longest if $words;
    return (\%entry, $words ? 1 : 0);
}


# ms of 2026-01-31T12:00:00.000Z
sub time_of {
    my ($year, $month, $day, $hour, $minute, $second, $ms) = $_[0]
        =~ /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z$/ or return;
    return 1000 * timegm_modern($second, $minute, $hour, $day, $month - 1, $year)
        + $ms;
}


1;
