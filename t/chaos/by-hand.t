# The commands that conf/INSTALL.md has for an installation by hand, run as they stand
# in a clone on new machines that have nothing: to a first answer over TLS.
# Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my ($page) = slurp("$Guildlog::TOP/conf/INSTALL.md")
    =~ /^# By hand\n(.*?)^# When /ms
    or die "INSTALL.md has no part \"By hand\"\n";

# that of those who have no package is in place of the first
my @blocks = grep { !/\.build\/plain/ } $page =~ /^```\n(.*?)^```\n/msg;
my $server = '100000000000000001';

for my $suite (Guildlog::Machine::suites()) {
    my $machine = Guildlog::Machine->new($suite, qw(procps systemd));

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

    # power is lost: nothing of /run is there any more

    $machine->goes_well('kill -9 $(cat /run/nginx.pid) '
        . '$(pgrep -f "^nginx: worker"); rm -r /run/guildlog /run/nginx.pid',
        'power is lost');
    $machine->goes_well('systemd-tmpfiles --create guildlog.conf; '
        . 'service nginx start', 'nginx starts at the boot');
    $machine->goes_well('systemd-analyze verify nginx.service',
        'systemd takes what the package adds to its unit');
}

done_testing;
