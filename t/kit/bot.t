# "A bot of its own for those who have none: slash commands, sharded as the platform
# asks"; "each documented code: a clear message and the right behaviour". bot.js has
# what happens to it. Each marker is recorded once, those of a server in their order,
# through all of that and through restarts of the bot.

use lib 't/lib';
use Guildlog;
use Guildlog::Markers;
use Guildlog::Program;

my $nginx = Guildlog->new(api => 'guildlog_limit off;');

$ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
$ENV{URL}      = $nginx->url . '/api';
$ENV{OPERATOR} = $nginx->{operator};
$ENV{DIR}      = $nginx->prefix . '/bot';
mkdir $ENV{DIR} or die $!;

my @lines = Guildlog::Program->obey('t/kit/bot.js',
    stop  => sub { $nginx->stop },
    start => sub { $nginx->start },
    all   => sub {
        my ($sent) = @_;
        wait_for { (markers($nginx))[0] >= $sent } 240, 'all of them';
    },
);
my ($sent) = map { /^# markers: (\d+)/ } @lines;
markers_are_right($nginx, $sent);

done_testing;
