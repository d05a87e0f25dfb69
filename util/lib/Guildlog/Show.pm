package Guildlog::Show;

# What util/guildlog prints: tables and sentences for people, JSON for programs.
# Names and texts are others', so no terminal gets them as they are.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use JSON::PP ();
use POSIX qw(strftime);

our @EXPORT = qw(show show_entry plain safe_json moment copy nearest usage
    partly ends_as fail if_it_fails warning);
our $as_json = 0;

# A terminal obeys the first of these, the others turn the text around them, and
# the last are no characters: Perl writes none.  In JSON they stand inside of
# strings only.
my $unsafe = qr/[\x00-\x1f\x7f-\x9f\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}]
    |[\x{2066}-\x{2069}\p{NChar}]/x;

my $json = JSON::PP->new->canonical->allow_nonref;


# a value as JSON, or as a table or a list of names and values
sub show {
    my ($value, @columns) = @_;

    return print safe_json($json->pretty->encode($value)) if $as_json;

    if (ref $value eq 'HASH') {
        my ($width) = sort { $b <=> $a } 13, map { length } keys %$value;
        for (sort keys %$value) {
            my $is = $value->{$_};
            $is = moment($is) if /_at$/ && defined $is;
            $is = lasting($is) if /Ms$/ && defined $is;
            $is = "@$is" if ref $is eq 'ARRAY';
            printf "%-*s %s\n", $width, plain($_), plain($is);
        }
        return;
    }
    my @rows = map { my $row = $_; [map { plain(/Ms$/ && defined $row->{$_}
        ? lasting($row->{$_}) : $row->{$_}) } @columns] } @$value;
    return if !@rows;
    unshift @rows, [map { heading($_) } @columns];
    for my $row (@rows) {
        my $text = '';
        for my $i (0 .. $#columns) {
            my ($width) = sort { $b <=> $a } map { length $_->[$i] } @rows;
            $text .= sprintf '%-*s', $width + 2, $row->[$i];
        }
        print $text =~ s/ +$//r, "\n";
    }
}


# oldestQueuedMs, unique_id: the API's names as people say them
sub heading {
    my ($name) = @_;
    return uc $name =~ s/Ms$//r =~ s/_/ /gr =~ s/([a-z])([A-Z])/$1 $2/gr;
}


sub lasting {
    my ($ms) = @_;
    for ([day => 86400000], [hour => 3600000], [minute => 60000]) {
        my ($name, $unit) = @$_;
        my $n = int $ms / $unit;
        return "$n $name" . ($n == 1 ? '' : 's') if $n && $ms >= $unit;
    }
    return $ms / 1000 . ' s';
}


sub safe_json {
    return $_[0] =~ s{(?!\n)($unsafe)}{
        my $rune = ord $1;
        join '', map { sprintf '\\u%04x', $_ } $rune < 0x10000 ? $rune
            : (0xd7c0 + ($rune >> 10), 0xdc00 + ($rune & 0x3ff))
    }ger;
}


# text of others, so that a terminal shows it and does not obey it
sub plain {
    my ($text) = @_;

    $text = '-' if !defined $text || $text eq '';
    return $text =~ s/$unsafe/sprintf '\\x{%x}', ord $&/ger;
}


# an entry in a line, by what is known of its type
sub show_entry {
    my ($entry, $type) = @_;

    return print safe_json($json->pretty(0)->encode($entry)), "\n" if $as_json;

    my @parts = sentence($entry, $type || {});
    my @texts = grep { defined && $_ ne '' } @$entry{qw(content contentAfter)};
    push @parts, join ' → ', map { "\"$_\"" } @texts if @texts;
    for my $change (@{ $entry->{changes} || [] }) {
        push @parts, "$change->{key}: " . join ' → ',
            map { ref eq 'ARRAY' ? "@$_" : $_ // '-' } @$change{qw(old new)};
    }
    push @parts, "($entry->{reason})" if defined $entry->{reason};
    print plain(join '  ', moment($entry->{timestamp}), @parts), "\n";
}


# Of the alternatives of the pattern the first one is said whose places the
# entry has; what is in brackets is left out where a place in it is empty.

sub sentence {
    my ($entry, $type) = @_;

    my ($by, $to) = map { $_ ? $_->{id} : '' } @$entry{qw(executor target)};

    # one person once, whichever reads right
    for my $without ($by ne '' && $by eq $to ? qw(target executor) : '') {
        my %has = map { $_ => word($entry, $_) } grep { $_ ne $without }
            keys %$entry;
        delete $has{executor} if $by eq '0';
        my $full = sub { !grep { !defined $has{$_} } $_[0] =~ /\{(\w+)\}/g };

        for my $one (split / \| /, $type->{pattern} // '') {
            next if !$full->($one =~ s/\[[^]]*\]//gr);
            $one =~ s/\[([^]]*)\]/$full->($1) ? $1 : ''/ge;
            return $one =~ s/\{(\w+)\}/$has{$1}/gr;
        }
    }
    return $type->{title} // "type $entry->{type}";
}


# what a place of a sentence says; undef: the entry has it not
sub word {
    my ($entry, $field) = @_;

    my $value = $entry->{$field};
    return moment($value) if $field eq 'until' && defined $value;
    if (ref $value eq 'HASH') {
        my $name = length($value->{name} // '') ? $value->{name} : $value->{id};
        return $field eq 'channel' ? "#$name"
             : $field eq 'emoji'   ? ":$name:" : $name;
    }
    return defined $value && !ref $value && $value ne '' ? $value : undef;
}


sub moment { return strftime('%Y-%m-%d %H:%M:%S', localtime $_[0] / 1000) }


# A body as it is.  A terminal gets it without what it would obey.

sub copy {
    my ($answer, $file) = @_;
    my $to = \*STDOUT;

    if (defined $file) {
        open my $out, '>', $file or fail(4, "$file: $!");
        $to = $out;
    }
    binmode $to, ':raw';
    my $terminal = -t $to;
    while (defined(my $line = readline $answer->{in})) {
        if ($terminal) {
            utf8::decode($line);
            $line =~ s/(?!\r?\n)$unsafe/sprintf '\\x{%x}', ord $&/ge;
            utf8::encode($line);
        }
        print {$to} $line or fail(4, "cannot write: $!");
    }
    close $answer->{in} or fail(4, 'the answer was cut off');
    if (defined $file) {
        close $to or fail(4, "$file: $!");
    }
}


sub usage { fail(2, @_) }


my $ends_as = 0;    # the status of a command that did not fail

sub partly { $ends_as = 1 }
sub ends_as { return $ends_as }


# what somebody may have meant who typed it wrongly, as the end of a sentence
sub nearest {
    my ($typed, @known) = @_;

    my %far = map { $_ => distance(lc $typed, lc) } @known;
    my ($near) = sort { $far{$a} <=> $far{$b} || $a cmp $b } @known;
    return ", did you mean '$near'?"
        if defined $near && $far{$near} <= (length($typed) + 2) / 4;

    # or stopped too early, where there is one way to go on
    my ($whole, @longer) = sort { length $a <=> length $b }
        grep { /^\Q$typed\E./i } length $typed > 2 ? @known : ();
    return $whole && !grep({ index($_, $whole) != 0 } @longer)
        ? ", did you mean '$whole'?" : '';
}


# how many letters have to be put in, taken out, or changed; two that changed
# places are one

sub distance {
    my @a = split //, shift;
    my @b = split //, shift;
    my @rows = [0 .. @b];

    for my $i (1 .. @a) {
        my @row = $i;
        for my $j (1 .. @b) {
            my ($least) = sort { $a <=> $b } $rows[-1][$j] + 1, $row[-1] + 1,
                $rows[-1][$j - 1] + ($a[$i - 1] ne $b[$j - 1]),
                $i > 1 && $j > 1 && $a[$i - 1] eq $b[$j - 2]
                    && $a[$i - 2] eq $b[$j - 1] ? $rows[-2][$j - 2] + 1 : ();
            push @row, $least;
        }
        push @rows, \@row;
    }
    return $rows[-1][-1];
}


sub warning { print STDERR 'guildlog: ', plain($_[0]), "\n" }


# what is to be told besides when a command stops in the middle; gets the reason
my $besides = sub { };

sub if_it_fails { ($besides) = @_ }


sub fail {
    my ($status, $text) = @_;

    warning($text);
    $besides->($text);
    exit $status;
}


1;
