package Guildlog::Random;

# Entries and queries at random, of few words, names and ids, so that there is
# something to find.

use strict;
use warnings;
use utf8;

use Exporter 'import';
use List::Util qw(uniq);

use Guildlog::Cases;

our @EXPORT = qw(chance pick between random_text random_entry random_query
    query_string @people @channels);

my @words = (
    qw(hello Hello HELLO world a I x 42 7 straße STRASSE Über ÜBER naïve),
    qw(привет ПРИВЕТ Мир 東京 日本 नमस्ते ΣΟΦΟΣ σοφος İstanbul istanbul),
    qw(content name id role null true reason messages),
);
my @marks = (' ', ' ', ' ', ', ', "\n", "\t", '-', '_', '%', '\\', '"', "'",
    '👍', '. ', ': ', '(', ')', '|', '&', '!', ':*', '<->', "\x{1}", '/');
our @people   = map { 210_000_000_000_000_000 + $_ } 1 .. 6;
our @channels = map { 310_000_000_000_000_000 + $_ } 1 .. 4;
my @names     = ('Alice', 'alice b', 'BOB_%', 'Zoë', 'ß', '東京太郎', 'x\\y"z');
my @roles     = ('Admin', 'admin 2', 'Moderator', 'МОД', 'r%_', '100%');


sub chance { return rand() < $_[0] }
sub pick   { return $_[rand @_] }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1) }


sub random_text {
    my ($longest) = @_;
    return join '', map { pick(@words), pick(@marks) } 1 .. between(1, $longest);
}


sub _named {
    my ($ids) = @_;
    my $id = pick(@$ids);
    return { id => "$id", name => pick(@names) };
}


# without a time
sub random_entry {
    my %entry = (
        event_id => sprintf('%08x%08x', rand 2**32, rand 2**32),
        type     => chance(0.5) ? pick(5, 7) : int rand 102,
    );
    $entry{executor} = _named(\@people)   if chance(0.8);
    $entry{target}   = _named(\@people)   if chance(0.6);
    $entry{channel}  = _named(\@channels) if chance(0.7);
    $entry{role}     = pick(@roles)       if chance(0.2);
    $entry{name}     = pick(@names)       if chance(0.2);
    $entry{reason}   = random_text(4)     if chance(0.2);
    $entry{count}    = between(0, 9)      if chance(0.1);
    $entry{content}      = random_text(6) if chance(0.6);
    $entry{contentAfter} = random_text(6) if chance(0.2);
    $entry{messages} = [map { {
        id => '' . between(1, 10**15), content => random_text(4),
        authorId => '' . pick(@people),
    } } 1 .. between(1, 3)] if chance(0.2);
    $entry{changes} = [map { _change() } 1 .. between(0, 3)] if chance(0.2);
    return \%entry;
}


sub _change {
    return { key => pick(qw(nick topic key id)),
        map { $_ => pick(random_text(3), undef, 7, 0.5, \1, [pick(@names)],
            [{ id => '42' }, pick(@roles), { id => '43', name => pick(@names) },
                pick(@names)]) } qw(old new) };
}


# of these categories; a hash of lists and values, without times
sub random_query {
    my (@categories) = @_;
    my %q;

    $q{category} = [uniq map { pick(@categories) } 1 .. between(1, 3)]
        if chance(0.25);
    $q{type}     = [uniq map { chance(0.4) ? 5 : int rand 102 }
        1 .. between(1, chance(0.2) ? 30 : 3)] if chance(0.25);
    $q{channel}  = '' . pick(@channels) if chance(0.2);
    $q{member}   = '' . pick(@people)   if chance(0.25);
    $q{memberRole} = pick(qw(executor target either)) if chance(0.3);
    $q{role}     = _part(pick(@roles)) if chance(0.15);
    $q{search}   = _search() if chance(0.3);
    return \%q;
}


sub _part {
    my ($text) = @_;

    my $from = int rand length $text;
    my $part = substr $text, $from, 1 + int rand(length($text) - $from);
    return 'a' if $part !~ /\S/;
    return chance(0.5) ? _uc_some($part) : $part;
}


# another case of the same letters; not where folding is no round trip
sub _uc_some {
    my ($text) = @_;
    return join '', map { /^[a-zа-я]$/ && chance(0.5) ? uc : $_ }
        split //, $text;
}


sub _search {
    return _part(pick(@names, @roles)) if chance(0.3);
    return pick(grep { /\S/ } @marks) if chance(0.1);
    return join pick(' ', '  ', ', ', '-'),
        map { _uc_some(pick(@words)) } 1 .. between(1, 3);
}


sub query_string {
    my ($q) = @_;
    return join '&', map {
        my $name = $_;
        map { "$name=" . escape($_) }
            ref $q->{$name} ? @{ $q->{$name} } : $q->{$name};
    } sort keys %$q;
}


1;
