# The commands of conf/TUTORIAL.md and conf/TROUBLE.md that ask the service work as they
# stand, one after another. Of each other block of these and of conf/INSTALL.md it is
# said here who runs it.

use lib 't/lib', 'util/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Platform;
use Guildlog::Tool;

# the first line of a block, and who runs it
my %elsewhere = (
    '(umask 77; cat > /root/bot.token)    # paste the token, Return, Ctrl-D'
        => 't/chaos/tutorial.t',
    'apt-get update && apt-get -y install git' => 't/chaos/tutorial.t',
    'apt-get -y install --no-install-recommends npm' => 't/chaos/tutorial.t',
    'guildlog import discord 100000000000000001 --bot-token /root/bot.token --deliver'
        => 't/kit/import.t',
    './util/install --server-name logs.example' => 't/chaos/install.t',
    'apt-get -y install nginx certbot' => 't/chaos/certbot.t',
    './util/release --key KEY' => 't/chaos/release.t',
    'gpg --import guildlog.asc' => 't/chaos/release.t',
    'install -D -m 644 guildlog.asc /etc/apt/keyrings/guildlog.asc'
        => 't/chaos/release.t',
    'rm -rf /etc/nginx/sites-enabled/zz-guildlog.conf \\' => 't/chaos/by-hand.t',
);

my $nginx = Guildlog->new(start => 0, api => 'guildlog_limit off;');
my $dir = $nginx->prefix;
my $platform = Guildlog::Platform->new(dir => "$dir/platform");
$nginx->configure(http => $platform->directives($nginx))->start;
$platform->belong('100000000000000001', '300000000000000001');

tool_for($nginx);
mkdir "$dir/bin" or die $!;
symlink $tool, "$dir/bin/guildlog" or die $!;
local $ENV{PATH} = "$dir/bin:$ENV{PATH}";
local $ENV{GUILDLOG_TOKEN_FILE} = "$dir/admin.token";

my $told = '';
for my $name (qw(TUTORIAL TROUBLE INSTALL)) {
    my $text = slurp("$Guildlog::TOP/conf/$name.md");
    $text =~ s/^# By hand\n.*?^(?=# )//ms;    # t/chaos/by-hand.t

    for my $block ($text =~ /^```\n(.*?)^```\n/msg) {
        my ($first) = $block =~ /^(.*)/;
        if (exists $elsewhere{$first}) {
            my $file = delete $elsewhere{$first};
            ok -f "$Guildlog::TOP/$file", "$name: $first";
            next;
        }
        # this one asks the test's service, and leaves its files there
        $block =~ s{^export GUILDLOG_(?:URL|CA)=.*\n}{}mg;
        $block =~ s{^/usr/share/guildlog/util/install --check\n}{}m;
        $block =~ s{/root/}{$dir/}g;
        $told .= my $said = qx{bash -ec '$block' 2>&1};
        is $?, 0, "$name: $first" or diag $said;
    }
}
is_deeply [sort keys %elsewhere], [], 'no block is named that is not there';

ok -s "$dir/admin.token", 'the token is in its file';
like $told, qr/^plan +pro$/m, 'the server is as it was made';
like $told, qr/^it arrived in channel 300000000000000001$/m, 'the test message arrived';
like $told, qr/^(?:[\w-]+\.){2}[\w-]+$/m, 'a token that only reads was made';
is $nginx->get('/servers/100000000000000001/config/logging/channels',
    token => slurp("$dir/admin.token") =~ s/\s+//r)->json->[0]{category_voice}, '0',
    'what categories do is set';

done_testing;
