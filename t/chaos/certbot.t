# The commands that conf/INSTALL.md has for a certificate by certbot, as they stand, on
# new machines that have an authority of their own: certbot gets a certificate through
# the site of port 80, guildlog serves it, and, as certbot renews it, the next one.
# Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my ($block) = grep { /^certbot /m }
    slurp("$Guildlog::TOP/conf/INSTALL.md") =~ /^```\n(.*?)^```\n/msg
    or die "INSTALL.md has no commands of certbot\n";

for my $suite (Guildlog::Machine::suites()) {
    my $package = Guildlog::Machine::deb($suite);
    my $machine = Guildlog::Machine->new($suite, qw(procps pebble));

    $machine->write('/etc/apt/apt.conf.d/few',
        'APT::Install-Recommends "false";');
    $machine->clone('/root/guildlog');
    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('apt-get -qy install /tmp/guildlog.deb postgresql',
        "$suite: the package");
    my ($packages, $rest) = $block =~ /^(apt-get [^\n]*\n)(.*)/s or die $block;
    $machine->goes_well($packages, 'those of the block');
    $machine->alone;
    $machine->write('/etc/hosts', "127.0.0.1 localhost logs.example\n");
    $machine->goes_well('service nginx start', 'as on a machine that booted');

    # the authority, which asks at port 80 of the name

    $machine->write('/root/authority.json', <<'JSON');
{"pebble": {"listenAddress": "127.0.0.1:14000",
    "managementListenAddress": "127.0.0.1:15000",
    "certificate": "/root/authority.crt", "privateKey": "/root/authority.key",
    "httpPort": 80, "tlsPort": 443}}
JSON
    $machine->goes_well('openssl req -x509 -newkey rsa:2048 -nodes -days 9 '
        . '-subj /CN=localhost -addext subjectAltName=DNS:localhost '
        . '-out /root/authority.crt -keyout /root/authority.key', 'an authority');
    $machine->on('PEBBLE_VA_NOSLEEP=1 pebble -config /root/authority.json '
        . '> /root/authority.log 2>&1 &');
    $machine->goes_well('for i in $(seq 100); do curl -sfk '
        . 'https://localhost:15000/roots/0 > /root/root.crt && exit; sleep 0.1; '
        . 'done; cat /root/authority.log; exit 1', 'answers');
    $machine->write('/etc/letsencrypt/cli.ini', <<'INI');
server = https://localhost:14000/dir
no-verify-ssl = true
agree-tos = true
register-unsafely-without-email = true
non-interactive = true
INI

    $machine->write('/root/block', $rest);
    $machine->goes_well('cd /root/guildlog && bash -e /root/block',
        'the commands of INSTALL.md');

    my $asks = 'curl -sS --cacert /root/root.crt https://logs.example';
    like $machine->goes_well("$asks/status/ready", 'who trusts the authority'),
        qr/^ok$/, 'is answered';
    my $serial = 'echo | openssl s_client -connect logs.example:443 2> /dev/null '
        . '| openssl x509 -noout -serial';
    my $first = $machine->goes_well($serial, 'the certificate') =~ s/\n//r;

    $machine->goes_well('certbot renew --force-renewal --no-random-sleep-on-renew',
        'certbot renews it');
    $machine->goes_well("for i in \$(seq 100); do test \"\$($serial)\" != '$first' "
        . '&& exit; sleep 0.1; done; exit 1', 'the next one is served');
    is $machine->goes_well($serial, 'it'), $machine->goes_well(
        'openssl x509 -noout -serial -in /etc/letsencrypt/live/logs.example/cert.pem',
        'what certbot has'), 'is that of certbot';
    like $machine->goes_well("$asks/status/ready", 'who trusts the authority'),
        qr/^ok$/, 'is answered as before';
    $machine->goes_well('/root/guildlog/util/install --check', 'nothing is wrong');
}

done_testing;
