# A search looks up each word by its key, whatever the planner estimates for the
# size of a server.  The test has one server with many words among thousands of
# servers with nearly none.

use lib 't/lib';
use Guildlog;
use Guildlog::Plan;

my $nginx   = Guildlog->new;
my $session = session($nginx);
my $guild   = 900_000_000_000_000_000;
my $many    = 30_000;

$nginx->sql(<<'SQL', $guild, $many);
    with one (guild, n) as (
        select $1::bigint, n from generate_series(1, $2::int) n
        union all
        select n, 1 from generate_series(1, 3000) n
    ), common as (
        insert into search_common (guild_id, bot, level, bucket, first, term,
                                   counts)
        select guild, 0, 2, search_bucket(2, 'w' || n), 0, 'w' || n, '{}'
          from one
    )
    insert into search_term (guild_id, bot, level, bucket, first, terms, ends,
                             marks)
    select guild, 0, 2, search_bucket(2, 'w' || n), n, array['x' || n], '{1}',
           '{0}'
      from one
SQL
$nginx->sql("analyze $_") for qw(search_common search_term);

my $pieces = "search_pieces(query_all($guild, 0::smallint, 0), '{w1,w2,w3}')";

is $session->selectall_arrayref("select first from $pieces")->@*, 3,
    'three words are found';
$session->do("select $pieces");   # the plan is made
cmp_ok blocks($session, "select $pieces"), '<', $many / 100,
    '... each by its key';

done_testing;
