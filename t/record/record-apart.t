# POST /logs of many servers: an error of one server's entries does not fail the
# others'.  Entries that were not recorded are listed by index, with "retry".
# Sent again, they are recorded once.

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


# the indexes of the entries that have "retry"
sub again {
    my ($answer) = @_;
    return join ' ', map { $_->{retry} ? $_->{index} : "!$_->{index}" }
        @{ $answer->json->{errors} };
}


# locks a server's log until the transaction ends
sub hold {
    my (@servers) = @_;

    my $lock = $nginx->cluster->connect($nginx->dbname);
    $lock->begin_work;
    $lock->do('select from log_head where guild_id = ? and bot = 0 for update',
        undef, $_) for @servers;
    return $lock;
}


# words that occur everywhere in very long messages

my %as = (token => $nginx->token($bad));
my @words = map { my $a = $_; map { "$a$_" } 'a' .. 'v' } 'a' .. 'v';
is $nginx->patch("/servers/$bad/filters/words", %as,
    json => { enabled => JSON::PP::true, words => \@words })->status, 202,
    scalar(@words) . ' words';
my $text = join ' ', map { $words[$_ * 7 % @words] } 1 .. 666;
my @bulk = map { entry($bad, type => 3, messages => [map {
    { id => "$_", content => $text } } 1 .. 30]) } 1 .. 4;
my @whole = (@bulk, map { entry($other) } 1 .. 100);
my $answer = record(@whole);
is $answer->status, 200, 'long messages with filtered words, from two servers';
my $recorded = $answer->json->{recorded};
# a busy machine may not get through all of the words in time
while (my @left = map { $whole[$_->{index}] } @{ $answer->json->{errors} }) {
    $answer = record(@whole = @left);
    last if $answer->status != 200;
    $recorded += $answer->json->{recorded};
}
is $recorded, 104, 'all of them are recorded';
is status()->{batches_apart_total}, 0, '... by one statement';
is $nginx->sql('select count(*) from entries where guild_id = ? and '
    . "doc like '%[word]%' and doc not like '%ab ac%'", $bad), 4,
    'every filtered word is masked';

# another session locks the log of a server

my $postponed = status()->{entries_total}{postponed};
my $lock  = hold($bad);
my @mixed = (entry($bad), entry($other), entry($bad), entry($other));
$answer = record(@mixed);
is $answer->status, 200, 'the log of one server is locked for long';
is $answer->json->{recorded}, 2, "the other server's entries are recorded";
is again($answer), '0 2', 'the entries of the first one have "retry"';
is_deeply [map { defined } @{ $answer->json->{ids} }], ['', 1, '', 1],
    'they have no ID';
is status()->{batches_apart_total}, 1, 'the status page counts the batch';
is status()->{entries_total}{postponed} - $postponed, 2,
    'the status page counts the entries';
like $nginx->error_log, qr/\[error\].*a batch of many servers: server $bad: 2 /,
    'the error log names the server';

$answer = record(entry($bad));
is $answer->status, 503,
    'a batch of which nothing is recorded is not a success';
like $answer->json->{error}, qr/send it again/,
    'the error says to send it again';

$lock->rollback;
$answer = record(@mixed);
is $answer->json->{recorded}, 2, 'entries that are sent again are recorded';
is $answer->json->{duplicates}, 2, 'the others are duplicates';

# filters look at the whole batch before anybody has to wait for one of its
# servers; the table of filters is locked, so they take long

my $filters = $nginx->cluster->connect($nginx->dbname);
$filters->begin_work;
$filters->do('lock table filter in access exclusive mode');
defined(my $pid = fork) or die "fork: $!";
POSIX::_exit(record(entry($other), entry($bad))->status != 200) if !$pid;
wait_for { $nginx->sql(q(select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and query ~ 'operator_record_many')) } 60, 'the batch waits';
is scalar(grep { $nginx->sql('select 1 from log_head
        where guild_id = ? and bot = 0 for update skip locked', $_) } $other, $bad),
    2, 'while filters look at a batch, its servers are free';
$filters->rollback;
waitpid $pid, 0;
is $?, 0, 'then it is recorded';

# recording fails for the data of one server

$nginx->sql(q(create function trouble() returns trigger language plpgsql as
    $$ begin raise exception 'no such luck'; end $$));
$nginx->sql("create trigger trouble before insert on log_arrival for each row
    when (new.guild_id = $bad) execute function trouble()");
$answer = record(entry($bad), entry($other));
is $answer->status, 200, 'the data of one server raise an error';
is $answer->json->{recorded}, 1, "the other server's entries are recorded";
is again($answer), '0', 'the entry of the first one has "retry"';
my $state = $ENV{GUILDLOG_CITUS} ? '\w+' : 'P0001';
like $nginx->error_log, qr/1 entries are to be sent again, $state no such luck/,
    'the error log has the cause';

# one server uses up the time of the whole batch

my $short = Guildlog->new(name => 'short', cluster => $nginx->cluster,
    dbname => $nginx->dbname, database => { timeout => '6s' });
$nginx->sql(q(create or replace function trouble() returns trigger
    language plpgsql as $$ begin perform pg_sleep(30); return new; end $$));
$answer = $short->operator('POST', '/logs', [entry($bad, content => 'long'),
    entry($other)]);
is $answer->status, 200, 'one server takes longer than the timeout';
is $answer->json->{recorded}, 1,
    "the other server's entries are still recorded";
is again($answer), '0', 'the entry of the first one has "retry"';

done_testing;
