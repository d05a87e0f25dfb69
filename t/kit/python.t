# "The same for Python, with the standard library alone." Its client and its recorder
# do what those of the package for Node.js do, and a spool may pass between the two.

use lib 't/lib';
use Guildlog;
use Guildlog::Kit;
use Guildlog::Program;

$ENV{DIR} = "$ENV{GUILDLOG_TEST_DIR}/packets";
Guildlog::Program->obey('t/kit/python/wire.py');
Guildlog::Program->obey('t/kit/python/packets.py');
Guildlog::Kit::client('t/kit/python/client.py');
Guildlog::Kit::recorder('t/kit/python/spool.py', 't/kit/python/flood.py',
    't/kit/flood.js', 't/kit/python/flood.py');

done_testing;
