# "A client for both planes: pages as an async iterator to the end, live tail with
# resume and reconnect, export as a stream, every configuration call, errors as
# classes, 429 and 503 obeyed." client.js has the calls; what it prints is TAP.

use lib 't/lib';
use Guildlog;
use Guildlog::Kit;

Guildlog::Kit::client('t/kit/client.js');

done_testing;
