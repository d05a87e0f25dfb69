# The commands that conf/INSTALL.md has for an installation by hand, run as they stand
# in a clone on new machines that have nothing: to a first answer over TLS. Then those of
# conf/OPERATIONS.md for an upgrade, and those that take all of it away.
# Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

# that of those who have no package is in place of the first
my @blocks = grep { !/\.build\/plain/ } part('INSTALL.md', 'By hand');
my ($schema, $module) = part('OPERATIONS.md', 'Upgrade');
my ($away) = part('INSTALL.md', 'Away by hand');
my $server = '100000000000000001';


# the blocks of a part
sub part {
    my ($file, $name) = @_;

    my ($part) = slurp("$Guildlog::TOP/conf/$file")
        =~ /^# \Q$name\E\n(.*?)(?:^# |\z)/ms or die "$file has no part $name\n";
    return $part =~ /^```\n(.*?)^```\n/msg;
}


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

    my $answers = 'for i in $(seq 100); do '
        . "curl -sf --cacert /etc/nginx/guildlog/server.crt "
        . "-H 'Authorization: Bearer $token' "
        . "https://logs.example/api/servers/$server && exit; sleep 0.1; done; "
        . 'exit 1';
    like $machine->goes_well($answers, 'the API over TLS'), qr/"$server"/, 'answers';

    # the same once more, as an upgrade

    my $began_as = $machine->goes_well('cat /run/nginx.pid', 'the master');
    $machine->write('/tmp/block', $schema);
    $machine->goes_well('cd /usr/share/guildlog && su postgres -c "bash -e /tmp/block"',
        'the schema');
    $machine->write('/root/block', $module);
    $machine->goes_well('cp /usr/lib/nginx/modules/ngx_http_guildlog_module.so /root '
        . '&& cd /root && bash -e block', 'the module');
    isnt $machine->goes_well('cat /run/nginx.pid', 'the master'), $began_as,
        'is another one';
    like $machine->goes_well($answers, 'the API'), qr/"$server"/, 'answers';

    # power is lost: nothing of /run is there any more

    $machine->goes_well('kill -9 $(cat /run/nginx.pid) '
        . '$(pgrep -f "^nginx: worker"); rm -r /run/guildlog /run/nginx.pid',
        'power is lost');
    $machine->goes_well('systemd-tmpfiles --create guildlog.conf; '
        . 'service nginx start', 'nginx starts at the boot');
    $machine->goes_well('systemd-analyze verify --man=no nginx.service',
        'systemd takes what the package adds to its unit');

    # away

    $machine->write('/root/block', $away);
    $machine->goes_well('bash -e /root/block', 'away by hand');
    $machine->goes_well('nginx -t', 'nginx goes on');
    is $machine->goes_well('find / -xdev -name "*guildlog*" ! -path "/root/*" '
        . '! -path "/tmp/*" ! -path "/var/log/*" ! -path "/var/cache/*"',
        'what is left'), '', 'is nothing';
}

done_testing;
