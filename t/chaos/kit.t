# "100,000 events at 2,000/s over 500 servers arrive once each, in order per server,
# through restarts of bot, guildlog and PostgreSQL (counted by marker); memory bounded
# and said."

use lib 't/lib';
use Guildlog;
use Guildlog::Storm;

storm(events => 100_000, rate => 2_000, servers => 500);

done_testing;
