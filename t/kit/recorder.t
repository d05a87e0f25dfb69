# "record(entries): batches by time and size, idempotent ids, order per server, a
# spool on disk while guildlog is away (bounded, fsynced, replayed in order, nothing
# twice), back pressure, counters." 20,000 entries of 50 servers arrive once each, in
# order, through a kill of the process, of nginx and a restart of PostgreSQL.

use lib 't/lib';
use Guildlog;
use Guildlog::Kit;

Guildlog::Kit::recorder('t/kit/spool.js', ('t/kit/flood.js') x 2);

done_testing;
