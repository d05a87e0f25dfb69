# The commands that README.md has for an installation by hand, run as they stand
# in a clone on new machines: from nothing to a first answer over TLS.  Needs
# root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my ($page) = slurp("$Guildlog::TOP/README.md")
    =~ /^## By hand\n(.*?)^The smallest configuration/ms
    or die "README.md has no part \"By hand\"\n";

# that of those who have no package is in place of the first
my @blocks = grep { !/\.build\/plain/ } $page =~ /^```\n(.*?)^```\n/msg;
my $server = '100000000000000001';

for my $suite (Guildlog::Machine::suites()) {
    my $machine = Guildlog::Machine->new($suite,
        qw(nginx postgresql curl openssl perl procps systemd));

    $machine->goes_well('service postgresql start && service nginx start',
        'what was there before runs');
    $machine->clone('/root/guildlog');

    my $said;
    for my $block (@blocks) {
        my ($first) = $block =~ /^(.*)/;
        $machine->write('/root/block', $block);
        $said = $machine->goes_well('cd /root/guildlog && bash -e /root/block',
            $first);
    }
    my ($token) = $said =~ /^([\w-]+\.[\w-]+\.[\w-]+)$/m;
    ok $token, 'the last of them prints a token' or diag $said;

    like $machine->goes_well('for i in $(seq 100); do '
        . "curl -sfk --resolve logs.example:443:127.0.0.1 "
        . "-H 'Authorization: Bearer $token' "
        . "https://logs.example/api/servers/$server && exit; sleep 0.1; done; "
        . 'exit 1', 'the API over TLS'), qr/"$server"/, 'answers';
}

done_testing;
