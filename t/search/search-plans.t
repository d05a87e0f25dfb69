# A search looks for each of its words by itself, whatever the planner takes for
# the size of a server: one with many words stands beside thousands that have
# next to none.

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
$session->do("select $pieces");   # it is planned
cmp_ok blocks($session, "select $pieces"), '<', $many / 100, 'each by itself';

done_testing;
