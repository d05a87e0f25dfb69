#!/usr/bin/perl
# "Nothing is left out for lack of memory": 70 messages are said a second, and some of
# them are deleted soon after, while workers and sessions of the database are killed.
# What was deleted is recorded once, with its text and its author.
#
# GUILDLOG_KILLS is how often something is killed. GUILDLOG_SEED repeats a run.

use lib 't/lib';
use Guildlog;
use Guildlog::Packets qw(id_at);

use Time::HiRes qw(sleep time);

use constant { RATE => 70, SOON => 2 };    # a second; s until one is deleted

my $seed  = $ENV{GUILDLOG_SEED}  // int time;
my $kills = $ENV{GUILDLOG_KILLS} // 20;
note "GUILDLOG_SEED=$seed";
srand $seed;

my $nginx = Guildlog->new(workers => 2, allow => [qr/exited on signal 9/]);
my $guild = $nginx->server;
my ($killed, $said, $hurt) = (0, 0, 0);
my (%text, @deletions);
my $began = time;

while ($killed < $kills || @deletions) {
    my $now = time;
    my @batch;
    while ($killed < $kills && $said < ($now - $began) * RATE && @batch < 500) {
        push @batch, say_one();
    }
    push @batch, (shift @deletions)->[1]
        while @deletions && ($deletions[0][0] <= $now || $killed >= $kills) && @batch < 900;
    sleep .1, next if !@batch;

    # at most one at a time, and in the middle of a batch
    my $fault = $killed < $kills && rand() < .3 ? $nginx->kill_soon : undef;
    $killed++ if $fault;
    wait_for {
        my $answer = eval {
            $nginx->operator('POST', '/events?sent=' . int(time * 1000), \@batch)
        };
        waitpid $fault, 0 if $fault;
        undef $fault;
        my $done = $answer && $answer->status == 200 && !@{ $answer->json->{errors} };
        $hurt++ if !$done;
        $done;
    } 60, 'the batch is taken';
    sleep .2;
}
wait_for { !$nginx->sql('select count(*) from pair where state = 0') } 60, 'all is over';

my (%told, $whole);
for my $row ($nginx->sql(q(select doc from log_arrival where guild_id = ?
    and event_id like 'delete.%' and id is not null), $guild))
{
    my ($doc) = @$row;
    utf8::encode($doc);
    my $message = json->decode("$doc}")->{messages}[0];
    $told{ $message->{id} }++;
    $whole++ if $message->{content} eq $text{ $message->{id} }[0]
        && $message->{authorId} eq $text{ $message->{id} }[1];
}
my $gone = grep { $_->[2] } values %text;
note "$said messages, $gone deleted, $killed kills, $hurt answers that were none";
cmp_ok $gone, '>', 2 * $kills, 'messages were deleted';
is scalar(keys %told), $gone, 'each deletion is recorded';
is scalar(grep { $_ > 1 } values %told), 0, '... once';
cmp_ok $whole, '>=', .999 * $gone, "text and author of $whole of $gone";

done_testing;


# a message, of which each fifth is deleted soon
sub say_one {
    my $id = id_at(int(time * 1000));
    my $author = '' . (300_000_000_000_000_000 + $said % 50);
    my $text = "message $said " . 'x' x rand 200;
    my $d = { id => $id, guild_id => $guild, channel_id => '200000000000000001' };

    $text{$id} = [$text, $author, $said++ % 5 == 0];
    push @deletions, [time + .5 + rand SOON, { t => 'MESSAGE_DELETE', d => $d }]
        if $text{$id}[2];
    @deletions = sort { $a->[0] <=> $b->[0] } @deletions;
    return { t => 'MESSAGE_CREATE', d => { %$d, content => $text, author =>
        { id => $author, username => "ann" }, timestamp => '2026-01-01T00:00:00Z' } };
}
