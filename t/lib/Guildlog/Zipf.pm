package Guildlog::Zipf;

# Entries as they come in life: few servers have most of them, and the same
# holds for the members, channels and types of a server and for the words of
# what is written. Always the same ones, but for the time.

use strict;
use warnings;
use utf8;

use Cpanel::JSON::XS;
use POSIX ();

use Guildlog ();

my $json = Cpanel::JSON::XS->new->ascii->allow_nonref;

my @types = (7, 5, 17, 18, 1, 2, 44, 15, 25, 45, 0, 51, 10, 23, 6, 4, 40, 3,
    39, 34, 41, 27, 29, 33, 36, 46);

# of a text: each as a literal of JSON
my @sentences;
my (@member, @channel, @type);

use constant {
    SERVERS => 100,
    WORDS   => 5000,
    DAYS    => 30,
};


# fill($nginx, $guild, $entries): that server is the largest of 100 by then,
# the n-th has entries / n^2; with blocks and statistics. The servers
sub fill {
    my ($nginx, $guild, $entries) = @_;

    my @n      = map { int $entries / $_ ** 2 } 1 .. SERVERS;
    my @guilds = ($guild, map { $nginx->server } 2 .. SERVERS);

    # the largest one has more than all the others
    my @pids = map { _fork($nginx, $_) }
        [[$guilds[0], $n[0]]],
        [map { [$guilds[$_], $n[$_]] } 1 .. $#n];
    for my $pid (@pids) {
        waitpid $pid, 0;
        die "filling failed\n" if $?;
    }

    $nginx->blocks;

    my $admin = $nginx->cluster->connect($nginx->dbname, 'postgres');
    $admin->do('vacuum analyze');

    return @guilds;
}


# so many entries for a body of JSON; without a time they happen now
sub entries {
    my ($n, $event, $time) = @_;

    _make() if !@sentences;
    return join ',', map { _entry("$event-$_", $time && $time->($_)) } 1 .. $n;
}


# the word of that rank: the first is the most frequent
sub word {
    my ($rank) = @_;

    my @syllables = qw(da no ke ri sol ban te mi gor a le fen tu pas ir ven
        lo cam es dri);
    my $word = '';
    for (my $i = $rank; $i > 0; $i = int $i / @syllables) {
        $word .= $syllables[$i % @syllables];
    }
    return $word;
}


sub _fork {
    my ($nginx, $servers) = @_;

    _make() if !@sentences;
    defined(my $pid = fork) or die "fork: $!";
    return $pid if $pid;

    eval { _record($nginx, @$_) for _slices(@$servers); 1 } or warn $@;
    POSIX::_exit($@ ? 1 : 0);
}


# [guild, how many, from, until], day by day
sub _slices {
    my (@servers) = @_;

    my $day   = 86_400_000;
    my $start = int(time * 1000) - DAYS * $day + $day / 24;
    my @slices;

    for my $i (0 .. DAYS - 1) {
        for my $server (@servers) {
            my ($guild, $n) = @$server;
            push @slices, [$guild,
                int($n * ($i + 1) / DAYS) - int($n * $i / DAYS),
                $start + $i * $day, $start + ($i + 1) * $day - $day / 12];
        }
    }
    return @slices;
}


my $connection;

sub _record {
    my ($nginx, $guild, $n, $from, $until) = @_;

    $connection ||= $nginx->cluster->connect($nginx->dbname);
    my $record = $connection->prepare_cached('select record(?::bigint, '
        . '0::smallint, (?::text)::jsonb)');
    my $block = $connection->prepare_cached('select block_make(?::bigint, '
        . '0::smallint)');

    for (my $at = 0; $at < $n; $at += 1000) {
        my $some = $n - $at < 1000 ? $n - $at : 1000;
        $record->execute($guild, '[' . entries($some, "$from-$at", sub {
            int $from + ($until - $from) * ($at + $_[0]) / $n
        }) . ']');
        $record->finish;

        # as the keeper does: the id of a late entry is looked for among all
        # that are in no block
        1 while $connection->selectrow_array($block, undef, $guild);
    }
}


sub _entry {
    my ($event, $time) = @_;

    my $type     = $type[rand @type];
    my $executor = $member[rand @member];
    my $channel  = $channel[rand @channel];

    return sprintf '{"event_id":"%s","type":%d%s,"executor":{"id":"%d",'
        . '"name":"%s %d"},"channel":{"id":"%d","name":"%s"}%s%s}',
        $event, $type, defined $time ? ",\"timestamp\":$time" : '',
        200_000_000_000_000_000 + $executor, word($executor % 700 + 20),
        $executor, 300_000_000_000_000_000 + $channel, word($channel + 400),
        _text($type == 5 || $type == 7, 'content'),
        _text($type == 7, 'contentAfter');
}


sub _text {
    my ($has, $name) = @_;
    return $has ? ",\"$name\":" . $sentences[rand @sentences] : '';
}


sub _make {
    srand 1;
    @member  = _ranks(5000);
    @channel = _ranks(40);
    @type    = map { $types[$_ - 1] } _ranks(scalar @types);

    my @words = map { word($_) } _ranks(WORDS);
    my @ends  = ('.', '.', '', '', '!', '?', ' 😀', " \"so\"");

    @sentences = map {
        my $text = ucfirst join ' ', map { $words[rand @words] }
            1 .. 3 + rand(9) * rand(9);
        $json->encode($text . $ends[rand @ends]);
    } 1 .. 20_000;
}


# the ranks 1 to n, each as often as it is drawn when the n-th is drawn once
sub _ranks {
    my ($n) = @_;
    return map { ($_) x ($n / $_) } 1 .. $n;
}


1;
