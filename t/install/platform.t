# What the platform publishes, as conf/platform.tsv has it: each action and event
# has a row that says what becomes of it, each permission a name, each locale a
# language or a reason. Each intent brings events that there are.

use strict;
use warnings;

use Test::More;


sub rows {
    my ($file) = @_;
    open my $in, '<', $file or die "$file: $!";
    chomp(my @lines = grep { !/^#/ } <$in>);
    shift @lines;
    return map { [split /\t/, $_, -1] } @lines;
}


my (%list, %note, %told);
for (rows('conf/platform.tsv')) {
    my ($list, $number, $name, $note) = @$_;
    push @{ $list{$list} }, "$number $name" =~ s/^ //r;
    $note{$name} = $note if $list eq 'locale';
    push @{ $told{$list} }, grep { length } split / /, $note;
}
is join(' ', sort keys %list), 'action channel event intent locale message permission',
    'the lists';
for my $list (sort keys %list) {
    my %seen;
    is join(', ', grep { $seen{$_}++ } @{ $list{$list} }), '', "$list: nothing twice";
}

my %event = map { $_ => 0 } @{ $list{event} };
my @strange = grep { !exists $event{$_} || $event{$_}++ } @{ $told{intent} };
is join(', ', @strange), '',
    'an intent brings events of the list, and each event has one intent';
my %bit = map { (split / /)[1] => 1 } @{ $list{permission} };
is join(', ', grep { !$bit{$_} } @{ $told{event} }), '',
    'what an event asks for is a permission of the list';

open my $in, '<', 'conf/platform.tsv' or die $!;
like join('', <$in>), qr/^#.* of \d{4}-\d\d-\d\d:/m, 'it says of when they are';

# what the lists have, and nobody here
sub lacks {
    my ($list, $why, @have) = @_;
    my %have = map { $_ => 1 } @have;
    is join(', ', grep { !$have{$_} } @{ $list{$list} }), '', $why;
}

my @table = rows('conf/events.tsv');
lacks 'action', 'each action of the audit log has a row',
    map { "$_->[1] $_->[2]" } grep { $_->[0] eq 'audit' } @table;
lacks 'event', 'each event of the gateway has one',
    map { $_->[2] } grep { $_->[0] eq 'gateway' } @table;
ok scalar grep({ "@$_[0 .. 2]" eq 'audit * *' } @table), 'and so have later ones';

my %action = map { $_ => 1 } @{ $list{action} };
is join(', ', grep { !$action{$_} } map { "$_->[1] $_->[2]" }
        grep { $_->[0] eq 'audit' && $_->[1] ne '*' } @table), '',
    'the table has no other actions';
my %type = map { (split / /)[0] => 1 } @{ $list{message} };
is join(', ', grep { !$type{$_} } map { $_->[3] =~ /^type is (\d+)$/ }
        grep { $_->[2] eq 'MESSAGE_CREATE' } @table), '',
    'messages that it tells apart are of types that there are';
is join(', ', grep { /THREAD/ } @{ $list{channel} }),
    '10 ANNOUNCEMENT_THREAD, 11 PUBLIC_THREAD, 12 PRIVATE_THREAD',
    'threads have the types that the service takes for threads';

lacks 'permission', 'each bit of permissions has its name',
    map { $_->[1] =~ /^bit:(\d+)$/ ? "$1 $_->[0]" : () }
    rows('conf/viewer/change-keys.tsv');

open $in, '<', 'sql/data.sql' or die $!;
my ($languages) = join('', <$in>) =~ /^insert into language (.*?);/ms;
my @spoken = $languages =~ /\(\d+, '([\w-]+)'\)/g;
my %spoken = map { $_ => 1 } @spoken;
lacks 'locale', 'each locale is a language here, or has a reason',
    @spoken, grep { $note{$_} ne '' } keys %note;
is join(', ', grep { $spoken{$_} && $note{$_} ne '' } keys %note), '',
    'none has both';
is join(', ', grep { /^\w+$/ && !$spoken{$_} } values %note), '',
    'and what it is called here is a language';

done_testing;
