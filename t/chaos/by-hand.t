# The commands that README.md has for an installation by hand, run as they stand
# in a clone on new machines that have nothing: to a first answer over TLS.
# Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my ($page) = slurp("$Guildlog::TOP/README.md")
    =~ /^## By hand\n(.*?)^# API$/ms
    or die "README.md has no part \"By hand\"\n";

# that of those who have no package is in place of the first
my @blocks = grep { !/\.build\/plain/ } $page =~ /^```\n(.*?)^```\n/msg;
my $server = '100000000000000001';

for my $suite (Guildlog::Machine::suites()) {
    my $machine = Guildlog::Machine->new($suite, 'systemd');

    $machine->write('/etc/apt/apt.conf.d/few',
        'APT::Install-Recommends "false";');
    $machine->write('/etc/hosts', "127.0.0.1 localhost logs.example\n");
    $machine->clone('/root/guildlog');

    # nothing starts by itself here
    my $start = 'for service in postgresql nginx; do '
        . 'service $service status || service $service start; done';

    my $said;
    for my $block (@blocks) {
        my ($first) = $block =~ /^(.*)/;
        $machine->write('/root/block', $block);
        $said = $machine->goes_well('cd /root/guildlog && bash -e /root/block',
            $first);
        $machine->goes_well($start, 'as on a machine that booted');
    }
    my ($token) = $said =~ /^([\w-]+\.[\w-]+\.[\w-]+)$/m;
    ok $token, 'the last of them prints a token' or diag $said;
    like $said, qr/^ready +ok$/m, 'and that the machine is ready';

    like $machine->goes_well('for i in $(seq 100); do '
        . "curl -sf --cacert /etc/nginx/guildlog/server.crt "
        . "-H 'Authorization: Bearer $token' "
        . "https://logs.example/api/servers/$server && exit; sleep 0.1; done; "
        . 'exit 1', 'the API over TLS'), qr/"$server"/, 'answers';
}

done_testing;
