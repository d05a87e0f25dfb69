# Where the keeper has not made partitions for new days, who records makes them.
# Where that cannot be, nothing is recorded, and who wants to is told why; what
# was refused is recorded later.  Making them is noticed by no request.

use lib 't/lib';
use Guildlog;

my $g = Guildlog->new(keeper => 'off', api => 'guildlog_limit off;');
my ($server, $other) = map { $g->server(plan => 'pro') } 1 .. 2;
my %as = (token => $g->token($server));
my $at = "/servers/$server";


sub entries { return [map { { type => 5, event_id => "e$_" } } @_] }


sub total { return $g->get("$at/logs", %as)->json->{total} }


is $g->operator('POST', "$at/logs", entries(1 .. 50))->json->{recorded}, 50,
    'entries are recorded';

my $before = total();

# the days pass; nobody has looked today
$g->sql("drop table $_->[0]") for $g->sql(q(select name from
    partitions('log_arrival') where low > now()));
$g->reload;

my ($reader, $writer, $keeper, $owner)
    = map { $g->cluster->connect($g->dbname) } 1 .. 4;
$_->begin_work for $reader, $writer, $keeper, $owner;
$owner->do('lock table log_arrival in share update exclusive mode');

my $refused = $g->operator('POST', "$at/logs", entries(51 .. 60));
is $refused->status, 503, 'without a partition nothing is recorded';
like $refused->json->{error}, qr/no partition .* keeper/, 'with the reason';
is $g->operator('POST', '/logs', [map { { %$_, server => $other } }
    @{ entries(1) }])->status, 503, 'nor for other servers';
is total(), $before, 'what is there is read';
$owner->rollback;

# a reader and a writer that take their time
$reader->selectall_arrayref('select count(*) from entries');
$writer->do('insert into log_arrival (guild_id, bot, arrival, recorded_at, type,
    event_id) values (1, 0, 1, now(), 5, 1)');

is $g->operator('POST', "$at/logs", entries(41 .. 60))->json->{recorded}, 10,
    'then what was refused is recorded';
is total(), $before + 10, 'and read';
is $g->sql('select partitions_missing(1)'), 0, 'there is a partition';

ok $keeper->selectrow_array('select partitions_ensure()'),
    'the keeper waits for nobody';
is $keeper->selectrow_array('select partitions_missing()'), 0,
    'it makes all of them';
$keeper->commit;
$_->rollback for $reader, $writer;

done_testing;
