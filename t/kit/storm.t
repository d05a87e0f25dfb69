# "Events arrive once each, in order per server, through restarts of bot, guildlog and
# PostgreSQL (counted by marker)". t/chaos/kit.t has 100,000 of them.

use lib 't/lib';
use Guildlog;
use Guildlog::Storm;

storm(events => 6_000, rate => 500, servers => 50);

done_testing;
