# Packets may come one by one or in batches, more than once, from two instances of a
# bot with different clocks, and while workers and connections are killed: what is
# recorded is the same. GUILDLOG_SEED repeats a run, GUILDLOG_PACKETS makes it
# longer.
#
# Only time ends what waits. So this holds as long as a packet comes before the time
# of its partner is over: here time stands still until all have come, or passes with
# the packets.

use lib 't/lib';
use Guildlog;
use Guildlog::Packets qw(stream apart iso);
use Guildlog::PairClock;

use List::Util qw(max min shuffle);
use Time::HiRes qw(time);

my $seed = $ENV{GUILDLOG_SEED}    // int time;
my $most = $ENV{GUILDLOG_PACKETS} // 900;
my @what = (seed => $seed, packets => $most, guilds => 4,
    start => int(time * 1000) - 250 * $most - 60_000);

note "GUILDLOG_SEED=$seed";

my $stream = stream(@what)->{packets};
cmp_ok $stream->[-1]{at}, '<', time * 1000 - 20_000, 'all of it is over';
srand $seed + 1;


# one by one

my $one = server();
post($one, [$_]) for @$stream;
my $expected = ended($one);
cmp_ok scalar @$expected, '>', $most / 10, 'something is recorded';


# in batches

my $batches = server();
post($batches, $_) for cut($stream);
same($batches, 'any cutting into batches');


# again and again

my $again = server();
for my $batch (cut($stream)) {
    post($again, $batch) for 0 .. rand 3;
}
same($again, 'each batch up to three times');

post($again, $_) for cut($stream);
same($again, 'all of it once more');

$again->sql('delete from pair');
post($again, $_) for cut($stream);
same($again, 'all of it much later');


# while time passes. Whom nobody has named by then may be a bot, whose entries are
# dropped where this is known: these are left out

my $passing = server();
my $clock   = $passing->{clock};
my @batches = cut($stream);
while (my $batch = shift @batches) {
    post($passing, $batch);
    $clock->pass($batches[0][0]{at} - 1) if @batches && rand() < .5;
}
$clock->pass;
same($passing, 'decided as time passes', undef, qr/"name":""/);


# somebody leaves, comes back and leaves again, before and after the first time is over


for my $late (0, 1) {
    my $who  = '' . (1_500_000_000_000_000_000 + $late);
    my $from = $stream->[-1]{at} + 12_000;
    my @story = map { { t => "GUILD_MEMBER_$_->[0]", at => $from + $_->[1],
        d => { guild_id => $stream->[0]{d}{id}, user => { id => $who, username => 'x' },
            roles => [], joined_at => iso($from + $_->[1]) } }
    } [REMOVE => 0], [ADD => 6000], [REMOVE => 8000];
    for my $packet (@story) {
        $clock->pass($packet->{at}) if $late;
        post($passing, [$packet]);
    }
    $clock->pass;
    is $passing->sql('select count(*) from log_arrival where id is not null
        and strpos(doc, ?) > 0', $who), 3, 'who came back leaves again';
}


# kills

my $killed = server(workers => 2, allow => [qr/exited on signal 9/]);
my $hurt   = 0;
my @left   = cut($stream);
my $until  = time + 300;
while (my $batch = shift @left) {
    my $fault = rand() < .4 ? $killed->kill_soon : undef;
    wait_for {
        my $answer = eval { $killed->operator('POST', '/events', $batch) };
        waitpid $fault, 0 if $fault;
        undef $fault;
        my $done = $answer && $answer->status == 200
            && !grep { $_->{error} =~ /sent again/ } @{ $answer->json->{errors} };
        $hurt++ if !$done;
        $done;
    } 60, 'the batch is taken';

    # all of it once more, where each kill came before or after a batch
    push @left, cut($stream) if !@left && !$hurt && time < $until;
}
cmp_ok $hurt, '>', 0, "killed in the middle: $hurt";
$killed->sql('update pair set due = 1 where state = 0');
for (1 .. 5) {
    waitpid $killed->kill_soon, 0;
    wait_for { $killed->workers == 2 } 60, 'two workers';
}
same($killed, 'kills');


# two instances of a bot; the second one's clock goes wrong. Both are there before
# anything happens: a GUILD_CREATE that comes behind what happened since tells of
# people in voice who have left

my $two = apart([@{ stream(@what, apart => 3000)->{packets} }], 1500);
srand $seed + 2;

my $alone = server();
post($alone, $_) for cut($two);
$expected = ended($alone);

my $wrong = 86_400_000 + int rand 7_200_000;
my $late  = 0;
my @heard = sort { $a->{at} <=> $b->{at} } map {
    $late = max $late, $_->{at} + int rand 150;
    ({ bot => 0, at => $_->{at}, packet => $_ }, { bot => 1, at => $late, packet => $_ })
} @$two;

my $both = server();
my $creates = 2 * grep { $_->{t} eq 'GUILD_CREATE' } @$two;
while (@heard) {
    my @batch = splice @heard, 0, $creates || 1 + rand 30;
    $creates = 0;
    for my $bot (0, 1) {
        my @its = map { +{ %{ $_->{packet} }, at => $_->{at} - $bot * $wrong } }
            grep { $_->{bot} == $bot } @batch;
        post($both, \@its, $bot ? '?sent=' . (int(time * 1000) - $wrong) : '') if @its;
    }
}
same($both, 'two bots', \&loosely);

done_testing;


# a server on which nothing ends before the test says so
sub server {
    my $nginx = Guildlog->new(@_);

    $nginx->{clock} = Guildlog::PairClock->new($nginx);
    return $nginx;
}


sub post {
    my ($nginx, $batch, $query) = @_;

    my $answer = $nginx->operator('POST', '/events' . ($query // ''), $batch);
    return if $answer->status == 200 && !@{ $answer->json->{errors} };
    is $answer->text, '', 'a batch is taken';
    return;
}


# into pieces
sub cut {
    my ($packets) = @_;

    my @left = @$packets;
    my @batches;
    push @batches, [splice @left, 0, rand() < .3 ? 1 : 1 + rand 60] while @left;
    return @batches;
}


# what is recorded when nothing waits any more
sub ended {
    my ($nginx) = @_;

    $nginx->{clock}->pass;
    return [sort map { told(@$_) } $nginx->sql(
        'select guild_id, type, event_id, doc from log_arrival where id is not null')];
}


sub told {
    my ($guild, $type, $event, $doc) = @_;

    my $entry = json->decode(do { my $text = "$doc}"; utf8::encode($text); $text });
    return json->encode({ guild => "$guild", type => $type, event_id => $event,
        map { $_ => $entry->{$_} }
        grep { defined $entry->{$_} }
        qw(executor target channel content messages) });
}


# two bots hear the same at different moments
sub loosely {
    my ($entry) = @_;
    return $entry =~ s/("event_id":"[0-9a-f]{8}\.[0-9a-f]+)\.\d+(\.[0-9a-f]{8})/$1$2/r;
}


sub same {
    my ($nginx, $what, $how, $but) = @_;

    my @got = @{ ended($nginx) };
    @got = sort map { $how->($_) } @got if $how;
    my @wanted = sort map { $how ? $how->($_) : $_ } @$expected;
    @$_ = grep { !$but || !/$but/ } @$_ for \(@got, @wanted);
    my %left;
    $left{$_}++ for @got;
    $left{$_}-- for @wanted;
    my @wrong = grep { $left{$_} } sort keys %left;
    ok !@wrong, "$what: the same " . @wanted . ' entries' or do {
        diag "seed $seed";
        diag $left{$_} > 0 ? '  more: ' : '  less: ', $_ for @wrong[0 .. min 19, $#wrong];
    };
    return;
}
