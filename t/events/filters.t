# Filters may take longer than a statement has: packets are taken all the same, those
# of other servers, too. What filters have not come to is not sent again, as what it
# came of would be known by then; it waits, and is recorded bit by bit.

use lib 't/lib';
use Guildlog;
use Guildlog::Packets qw(id_at iso);

use Time::HiRes qw(time);

my $nginx = Guildlog->new(openapi => 1, database => { timeout => '4s' });
my ($slow, $other) = ($nginx->server, $nginx->server);
my $now = int(time * 1000) - 5000;

for my $server ($slow, $other) {
    is $nginx->patch("/servers/$server/filters/words", token => $nginx->token($server),
        json => { enabled => JSON::PP::true, words => ['marmot'] })->status, 202, 'a filter';
}

# filters take half a second for each text with this word

$nginx->sql('alter function mask_texts rename to mask_texts_soon');
$nginx->sql(<<'SQL');
create function mask_texts(maskers masker[], needles text[], texts text[])
returns text[] language plpgsql immutable as $$
begin
    if texts::text like '%glacier%' then
        perform pg_sleep(.5);
    end if;
    return mask_texts_soon(maskers, needles, texts);
end $$;
SQL

# the last one waits for who did it

my @batch = (
    (map { edited($slow, "glacier $_ marmot") } 1 .. 10),
    (map { edited($other, "meadow $_ marmot") } 1 .. 10),
    left($slow), left($other)
);
taken();
wait_for { kept($slow, 'glacier') == 10 && kept($other, 'meadow') == 10 } 60,
    'all edits are recorded';
is $nginx->sql("select count(*) from entries where doc like '%marmot%'"), 0,
    'what filters look for is masked in all of them';

# the same packets again

taken();
wait_for { kept($slow, 'ann') && kept($other, 'ann') } 60, 'who left has left';
wait_for { !$nginx->sql('select count(*) from pair where state = 0') } 60,
    'nothing waits any more';
is kept(@$_), 10, 'once' for [$slow, 'glacier'], [$other, 'meadow'];

# there is time for four of these in a turn: the fifth waits for no other to end

my @servers = sort { $a <=> $b } map { $nginx->server } 1 .. 5;

for my $server (@servers) {
    $nginx->patch("/servers/$server/filters/words", token => $nginx->token($server),
        json => { enabled => JSON::PP::true, words => ['marmot'] });
}
@batch = map { my $n = $_; map { edited($_, "glacier $n") } @servers } 1 .. 30;
taken();
ok eval { wait_for { 5 == grep { kept($_, 'glacier') } @servers } 60,
    'something of each' }, 'servers with slow filters take turns';
is_deeply [grep { kept($_, 'glacier') == 30 } @servers], [],
    '... before any of them is done';

# who said something is told when it is deleted, whatever filters left of it; also
# of what an earlier release kept

my $server = $nginx->server;
my @as = (token => $nginx->token($server));
$nginx->patch("/servers/$server/filters/words", @as,
    json => { enabled => JSON::PP::true, words => ['marmot'] });
my @ids = map { id_at($now - $_) } 1 .. 3;
@batch = map { said($server, $ids[$_], (qw(marmot ibex))[$_]) } 0, 1;
taken();
is $nginx->sql("select count(*) from said_long where guild_id = ? and doc !~ '[0-9]{17}'",
    $server), 2, 'a kept message has no id twice';
$nginx->sql('insert into said_long values (?, ?, ?, ?, ?)', $server, $ids[2],
    '300000000000000001', '200000000000000001',
    '{"author":{"id":"300000000000000001","name":"ann"},"content":"chough",'
    . '"channel":"200000000000000001","time":1}');
@batch = map { { t => 'MESSAGE_DELETE', d => { id => $_, guild_id => $server,
    channel_id => '200000000000000001' } } } @ids;
taken();
my $logs;
wait_for {
    $logs = $nginx->get("/servers/$server/logs?type=5", @as)->json->{entries};
    @$logs == 3;
} 60, 'three deletions';
is_deeply [sort map { join ' ', @{ $_->{target} }{qw(id name)},
    $_->{messages}[0]{authorId}, $_->{content} } @$logs],
    [map { "300000000000000001 ann 300000000000000001 $_" } '[word]', 'chough', 'ibex'],
    '... say who wrote it';

done_testing;


sub taken {
    my $answer = $nginx->operator('POST', '/events', \@batch);

    is_deeply [$answer->status, $answer->json->{errors}], [200, []],
        'all packets are taken' or diag $answer->text;
    return;
}


# how many entries of it there are in which that stands
sub kept {
    my ($server, $word) = @_;

    return $nginx->sql('select count(*) from entries where guild_id = ?
        and strpos(doc, ?) > 0', $server, $word);
}


sub edited {
    my ($server, $text) = @_;

    return { t => 'MESSAGE_UPDATE', d => { id => id_at($now), guild_id => $server,
        channel_id => '200000000000000001', content => $text,
        edited_timestamp => iso($now) } };
}


sub said {
    my ($server, $id, $text) = @_;

    return { t => 'MESSAGE_CREATE', d => { id => $id, guild_id => $server,
        channel_id => '200000000000000001', content => $text,
        author => { id => '300000000000000001', username => 'ann' } } };
}


sub left {
    my ($server) = @_;

    return { t => 'GUILD_MEMBER_REMOVE', d => { guild_id => $server,
        user => { id => '300000000000000001', username => 'ann' } } };
}
