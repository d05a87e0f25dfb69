# "guildlog.discord: attach(client, guildlog) and logs appear": discord.py, as Debian
# has it, sees what discord.js sees in discord.t. bot.py plays it and says what has to
# come. Connections end, guildlog is away: each marker is recorded once, those of a
# server in their order.

use lib 't/lib';
use Guildlog;
use Guildlog::Kit;

Guildlog::Kit::watcher('t/kit/python/bot.py');

done_testing;
