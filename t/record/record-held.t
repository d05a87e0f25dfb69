# Active ignore from end to end: a request hides entries that come after it, and
# entries that came up to 3 s before it, because a bot may ask late.  It hides
# nothing else.

use lib 't/lib';
use Guildlog;
use Time::HiRes qw(time);

my $nginx = Guildlog->new;
my $next  = 0;
my ($token, $basic, $at);


sub record {
    my $answer = $nginx->operator('POST', "$at/logs", [
        map { { event_id => 'e' . $next++, type => 5, %$_ } } @_ ]);
    return $answer->json;
}


sub page {
    return $nginx->get("$at/logs?type=5&type=39", token => $token)->json;
}


sub ignore {
    my ($who, %more) = @_;
    return $nginx->post("$at/active/ignore/executors", token => $basic,
        json => { id => $who, %more })->status;
}


# a server with active ignore, which holds its entries
sub server {
    my $server = $nginx->server;
    $token = $nginx->token($server);
    $basic = $nginx->token($server, kind => 'basic');
    $at    = "/servers/$server";
    $nginx->patch("$at/config/logging/channels", token => $token,
        json => { main_channel => '1' });
    $nginx->patch("$at/config/logging/settings", token => $token,
        json => { active_ignore => \1 });
}


# tries again if this took so long that the entries were not held any more

my ($recorded, $asked, @before, @after);
wait_for {
    server();
    my $began = time;
    $recorded = record({ executor => { id => '7' } },
        { executor => { id => '8' } })->{recorded};
    @before = map { $_->{delivery}{reason} } @{ page()->{entries} };
    $asked  = ignore('7');
    @after  = map { $_->{executor}{id} } @{ page()->{entries} };
    time - $began < 3;
};
is $recorded, 2, 'two entries are recorded';
is_deeply \@before, ['held', 'held'], '... and held';
is $asked, 200, 'a request comes after them';
is_deeply \@after, ['8'], '... and removes its entry';
is page()->{total}, 1, '... also from the total';
wait_for { page()->{entries}[0]{delivery}{reason} eq 'queued' };
is ignore('8'), 200, 'a request for an entry that is not held any more';
is page()->{total}, 1, '... removes nothing';

is ignore('9', count => 2, time => 60), 200, 'a request comes first';
my $answer = record(map { { executor => { id => '9' } } } 1 .. 5);
is_deeply $answer->{dropped}, { active_ignore => 2 },
    '... and hides two entries';
is $answer->{recorded}, 3, '... of five';
is_deeply record({ type => 39, executor => { id => '9' } })->{dropped}, {},
    '... and no ban';


# an entry that another session has locked does not delay the others

my @due = map {
    server();
    record({ executor => { id => '7' } });
    $at =~ /(\d+)$/;
} 1 .. 2;
$nginx->sql('update log_arrival set held_to = null
    where held_to is not null and guild_id <> all (?)', \@due);
$nginx->sql("update log_arrival set held_to = now() - interval '1 s'
    where held_to is not null");
my ($holder, $releaser) = map { $nginx->cluster->connect($nginx->dbname) } 1, 2;
$releaser->do("set statement_timeout = '30s'");


sub released {
    return eval { $releaser->selectcol_arrayref(
        'select distinct guild_id from held_release()') } || $@;
}


$holder->begin_work;
$holder->do('select from log_head where guild_id = ? for update', {}, $due[0]);
is_deeply released(), [$due[1]], 'the entry that is not locked is released';
$holder->rollback;
is_deeply released(), [$due[0]],
    'the other one is released after it is unlocked';

done_testing;
