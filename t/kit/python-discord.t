# "guildlog.discord: attach(client, guildlog) and logs appear": discord.py, as Debian
# has it, hears what discord.js hears in discord.t. bot.py plays it and says what has
# to come. Connections end, guildlog is away, the bot ends: each marker is recorded
# once, those of a server in their order.

use lib 't/lib';
use Guildlog;
use Guildlog::Markers;
use Guildlog::Program;

my $nginx = Guildlog->new(api => 'guildlog_limit off;');

$ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
$ENV{URL}      = $nginx->url . '/api';
$ENV{OPERATOR} = $nginx->{operator};
$ENV{DIR}      = $nginx->prefix . '/spools';

my @lines = Guildlog::Program->obey('t/kit/python/bot.py',
    stop  => sub { $nginx->stop },
    start => sub { $nginx->start },

    # what the keeper does behind DELETE, when no transaction of the cluster is as
    # old as that: those of other tests may be
    forget => sub {
        my ($server) = @_;
        $nginx->sql(q(update server set forgotten_by = '3' where guild_id = ?), $server);
        wait_for {
            $nginx->sql('select server_forget(?, 1000)', $server);
            !$nginx->sql('select 1 from server where guild_id = ?', $server);
        } 60, 'the server is forgotten';
    },
);
markers_are_right($nginx, map { /^# markers: (\d+)/ } @lines);

done_testing;
