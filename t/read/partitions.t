# Where the partitions for new days were not made, nothing is recorded, and who
# wants to is told why.  Making them is noticed by no request: what was refused
# is recorded then.

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

# the days pass
$g->sql("drop table $_->[0]") for $g->sql(q(select name from
    partitions('log_entry') where low::bigint > day_id(today())));
$g->sql('update log_head set days = null');

my $refused = $g->operator('POST', "$at/logs", entries(51 .. 60));
is $refused->status, 503, 'without a partition nothing is recorded';
like $refused->json->{error}, qr/no partition .* keeper/, 'with the reason';
is $g->operator('POST', '/logs', [map { { %$_, server => $other } }
    @{ entries(1) }])->status, 503, 'nor for other servers';
is total(), $before, 'what is there is read';

# a reader and a writer that take their time; the day stays that of the keeper
my ($reader, $writer, $keeper) = map { $g->cluster->connect($g->dbname) } 1 .. 3;
$_->begin_work for $reader, $writer, $keeper;
$reader->selectall_arrayref('select count(*) from log_entry');
$writer->do('insert into log_entry (guild_id, id, arrival, bot, type, doc)
    select 1, max(id) + 1, 1, 0, 5, ? from log_entry', {}, '"id":"1"');

ok $keeper->selectrow_array('select partitions_ensure()'),
    'the keeper waits for nobody';
is $keeper->selectrow_array('select partitions_missing()'), 0,
    'it makes all of them';
$keeper->commit;
is $g->operator('POST', "$at/logs", entries(41 .. 60))->json->{recorded}, 10,
    'then what was refused is recorded';
is total(), $before + 10, 'and read';
$_->rollback for $reader, $writer;

done_testing;
