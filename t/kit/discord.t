# "guildlog/discord: attach(client, guildlog) and logs appear": discord.js, as npm has
# it, sees a stand-in of the platform. discord.js in this folder plays both and says what
# has to come. Connections end, guildlog is away: each marker is recorded once, those
# of a server in their order.

use lib 't/lib';
use Guildlog;
use Guildlog::Markers;
use Guildlog::Program;

my $nginx = Guildlog->new(api => 'guildlog_limit off;');

$ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
$ENV{URL}      = $nginx->url . '/api';
$ENV{OPERATOR} = $nginx->{operator};
$ENV{DIR}      = $nginx->prefix . '/spools';

my @lines = Guildlog::Program->obey('t/kit/discord.js',
    stop  => sub { $nginx->stop },
    start => sub { $nginx->start },
);
my ($markers) = map { /^# markers: (\d+)/ } @lines;
markers_are_right($nginx, $markers);

done_testing;
