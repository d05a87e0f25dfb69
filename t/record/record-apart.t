# POST /logs of many servers: the trouble of one of them, whatever it is, is not
# that of the others. What was not recorded for it is told by its index, with
# "retry"; sent again it is recorded once.

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my ($other, $bad) = ($nginx->server, $nginx->server);
my $n = 0;


sub entry {
    my ($server, %field) = @_;
    return { server => $server, event_id => 'e' . ++$n, type => 5, %field };
}


sub record {
    my (@entries) = @_;
    return $nginx->operator('POST', '/logs', [@entries]);
}


sub status {
    return $nginx->get('/status', raw_path => 1)->json;
}


# places of the entries that are to be sent again
sub again {
    my ($answer) = @_;
    return join ' ', map { $_->{retry} ? $_->{index} : "!$_->{index}" }
        @{ $answer->json->{errors} };
}


# until the transaction ends
sub hold {
    my (@servers) = @_;

    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('select from log_head where guild_id = ? and bot = 0 for update',
        undef, $_) for @servers;
    return $lock;
}


# words that stand everywhere in very long messages

my %as = (token => $nginx->token($bad));
my @words = map { my $a = $_; map { "$a$_" } 'a' .. 'v' } 'a' .. 'v';
is $nginx->patch("/servers/$bad/filters/words", %as,
    json => { enabled => JSON::PP::true, words => \@words })->status, 202,
    scalar(@words) . ' words';
my $text = join ' ', map { $words[$_ * 7 % @words] } 1 .. 666;
my @bulk = map { entry($bad, type => 3, messages => [map {
    { id => "$_", content => $text } } 1 .. 30]) } 1 .. 4;
my $answer = record(@bulk, map { entry($other) } 1 .. 100);
is $answer->status, 200, 'long messages of such words, in a batch of two';
is $answer->json->{recorded}, 104, 'all of it is recorded at once';
is status()->{batches_apart_total}, 0, 'by one statement';
is $nginx->sql('select count(*) from log_entry where guild_id = ? and '
    . "doc like '%[word]%' and doc not like '%ab ac%'", $bad), 4,
    'no word is left in it';

# a server that is held by somebody

my $lock  = hold($bad);
my @mixed = (entry($bad), entry($other), entry($bad), entry($other));
$answer = record(@mixed);
is $answer->status, 200, 'a server is held for long';
is $answer->json->{recorded}, 2, 'another one is recorded';
is again($answer), '0 2', 'its own entries are to be sent again';
is_deeply [map { defined } @{ $answer->json->{ids} }], ['', 1, '', 1],
    'they have no id';
is status()->{batches_apart_total}, 1, 'it is counted';
is status()->{entries_total}{postponed}, 2, 'so are the entries';
like $nginx->error_log, qr/\[error\].*a batch of many servers: server $bad: 2 /,
    'the log names the server';

$answer = record(entry($bad));
is $answer->status, 503, 'nothing at all is no success';
like $answer->json->{error}, qr/send it again/, 'it says what to do';

$lock->rollback;
$answer = record(@mixed);
is $answer->json->{recorded}, 2, 'sent again they are recorded';
is $answer->json->{duplicates}, 2, 'the others are not, twice';

# one whose data raise an error

$nginx->sql(q(create function trouble() returns trigger language plpgsql as
    $$ begin raise exception 'no such luck'; end $$));
$nginx->sql("create trigger trouble before insert on log_entry for each row
    when (new.guild_id = $bad) execute function trouble()");
$answer = record(entry($bad), entry($other));
is $answer->status, 200, 'a server whose data raise an error';
is $answer->json->{recorded}, 1, 'is the only one that is not recorded';
is again($answer), '0', 'until it is mended';
like $nginx->error_log, qr/1 entries are to be sent again, P0001 no such luck/,
    'the log says why';

# one that takes all the time there is

my $short = Guildlog->new(name => 'short', cluster => $nginx->cluster,
    dbname => $nginx->dbname, database => { timeout => '2s' });
$nginx->sql(q(create or replace function trouble() returns trigger
    language plpgsql as $$ begin perform pg_sleep(30); return new; end $$));
$answer = $short->operator('POST', '/logs', [entry($bad, content => 'long'),
    entry($other)]);
is $answer->status, 200, 'a server that takes all the time';
is $answer->json->{recorded}, 1, 'leaves some to the others';
is again($answer), '0', 'and is to be sent again';

done_testing;
