# util/install on new machines: from nothing to a first answer over TLS, an
# entry recorded and read, a kill of all of nginx survived, a second run that
# changes nothing, and a removal that leaves nothing.  Needs root.  The machines
# have no network but loopback once their packages are there.

use lib 't/lib';
use Guildlog;
use Guildlog::Machine;

my $package = Guildlog::Machine::deb();

for my $suite (qw(bookworm)) {
    my $machine = Guildlog::Machine->new($suite,
        qw(nginx-light postgresql curl openssl ca-certificates perl procps));

    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('apt-get -qy install --no-install-recommends '
        . '/tmp/guildlog.deb', "$suite: the package");
    $machine->alone;

    my $install = '/usr/share/guildlog/util/install';
    my $before = $machine->files;

    my ($ok, $said) = $machine->on("$install --check");
    ok !$ok, 'before the installation the check finds what is missing';
    like $said, qr/^wrong: the folder of the operator's socket/m,
        'and says so in a sentence';

    $said = $machine->goes_well("$install --server-name logs.example",
        'the installation');
    like $said, qr/^\+ openssl rand/m, 'it prints what it runs';
    unlike $said, qr/password '/, 'but no password';

    my $first = $machine->files;
    $said = $machine->goes_well("$install --server-name other.example",
        'the installation again');
    like $said, qr/is there and stays as it is/, 'keeps the configuration';
    is_deeply $machine->files, $first, 'and changes nothing';

    # a first server, a first token, a first entry

    my $tool = 'GUILDLOG_OPERATOR=unix:/run/guildlog/operator.sock:/ '
        . '/usr/share/guildlog/util/token';
    my $server = '100000000000000001';
    $machine->goes_well("$tool server $server --owner 200000000000000001",
        'a server');
    my $made = $machine->goes_well("$tool create $server "
        . '--creator 200000000000000001 --json', 'a token');
    my ($token) = $made =~ /"token" *: *"([^"]+)"/;
    ok $token, 'which is printed';

    my $api = "curl -sSk --resolve logs.example:443:127.0.0.1 "
        . "-H 'Authorization: Bearer $token' https://logs.example";
    like $machine->goes_well("$api/api/servers/$server", 'the API over TLS'),
        qr/"$server"/, 'answers';
    like $machine->goes_well("$api/viewer/", 'the viewer'), qr/<title>/,
        'is there';

    my $record = q(curl -sS --unix-socket /run/guildlog/operator.sock )
        . q(-H 'Content-Type: application/json' )
        . qq(http://localhost/servers/$server/logs -d )
        . q('[{"event_id":"1","type":5,"content":"hello"}]');
    like $machine->goes_well($record, 'an entry'), qr/"recorded": ?1/,
        'is recorded';
    like $machine->goes_well("$api/api/servers/$server/logs", 'the log'),
        qr/"content": ?"hello"/, 'has it';

    # all of nginx is killed

    $machine->goes_well('kill -9 $(cat /run/nginx.pid) '
        . '$(pgrep -f "^nginx: worker")', 'nginx is killed');
    $machine->on('sleep 0.1; while pgrep -f ^nginx: ; do sleep 0.1; done');
    $machine->goes_well('service nginx start', 'nginx starts again');
    $machine->goes_well("$install --check", 'nothing is wrong');

    # what is wrong is told

    $machine->goes_well('chmod 644 /etc/nginx/guildlog/main.key', 'a bad mode');
    ($ok, $said) = $machine->on("$install --check");
    ok !$ok && $said =~ /^wrong: somebody but root can read a secret/m,
        'the check finds it' or diag $said;
    $machine->goes_well('chmod 600 /etc/nginx/guildlog/main.key', 'mended');

    $machine->goes_well('service postgresql stop', 'PostgreSQL stops');
    ($ok, $said) = $machine->on("sleep 6; $install --check");
    ok !$ok && $said =~ /^wrong: the machine is not ready: the database is not/m,
        'the check finds that, too' or diag $said;
    $machine->goes_well('service postgresql start', 'and starts');

    # the way back

    $machine->goes_well("$install --remove", 'the removal');
    $machine->goes_well('nginx -t', 'nginx goes on');
    ok $machine->files->{'/etc/nginx/guildlog/main.key '}, 'keeps the keys';
    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('dpkg -i /tmp/guildlog.deb', 'the package again');
    $machine->goes_well("$install --server-name logs.example",
        'the installation over what was kept');
    like $machine->goes_well("$api/api/servers/$server/logs", 'the log'),
        qr/"content": ?"hello"/, 'still has it, for the same token';
    $machine->goes_well("$install --remove --data", 'the removal of all');

    my $after = $machine->files;
    is_deeply [grep { !$before->{$_} } sort keys %$after], [],
        'nothing is left';
}

done_testing;
