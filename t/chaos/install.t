# util/install on new machines: from nothing to a first answer over TLS, an
# entry recorded, read, and delivered to the stand-in of the platform, a kill of
# all of nginx survived, a second run that changes nothing, and a removal that
# leaves nothing.  Needs root.  The machines have no network but loopback once
# their packages are there.  What each part took is told, and not asserted.

use lib 't/lib';
use Guildlog;
use Guildlog::Machine;

use Time::HiRes qw(time);

# a bot's token as the stand-in takes it: the id 400000000000000001 and secrets
my $bot = 'NDAwMDAwMDAwMDAwMDAwMDAx.AbCdEf.secret-of-it';
my $platform = 'http://127.0.0.1:8990';

for my $suite (Guildlog::Machine::suites()) {
    my $package = Guildlog::Machine::deb($suite);
    my $machine = Guildlog::Machine->new($suite,
        qw(nginx postgresql curl openssl ca-certificates perl procps));
    my $began = time;
    my $took = sub {
        diag sprintf '%s: %.1f s to %s', $suite, time - $began, $_[0];
    };

    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('apt-get -qy install --no-install-recommends '
        . '/tmp/guildlog.deb', "$suite: the package");
    $machine->alone;

    my $install = '/usr/share/guildlog/util/install';
    my $before = $machine->files;

    my ($ok, $said) = $machine->on("$install --check");
    ok !$ok, 'before the installation the check finds what is missing';
    like $said, qr/^wrong: a role cannot use the database/m,
        'and says so in a sentence';

    $machine->copy("$Guildlog::TOP/t/lib/platform", '/tmp/platform');
    $machine->on("mkdir /tmp/chat; perl /tmp/platform --port 8990 "
        . '--dir /tmp/chat > /tmp/chat/log 2>&1 &');
    $machine->write('/tmp/bot.token', "$bot\n", 0600);
    my $wanted = "$install --server-name logs.example "
        . "--platform $platform/api/v10 --bot-token /tmp/bot.token";

    $said = $machine->goes_well($wanted, 'the installation');
    $took->('the end of the installation');
    like $said, qr/^\+ openssl rand/m, 'it prints what it runs';
    unlike $said, qr/password '/, 'but no password';

    my $first = $machine->files;
    $said = $machine->goes_well("$install --server-name other.example",
        'the installation again');
    like $said, qr/is there and stays as it is/, 'keeps the configuration';
    is_deeply $machine->files, $first, 'and changes nothing';

    # a first server, a first token, a first entry

    my $tool = 'guildlog';
    my $server = '100000000000000001';
    $machine->goes_well("$tool server set $server --owner 200000000000000001",
        'a server');
    my $made = $machine->goes_well("$tool token create $server "
        . '--creator 200000000000000001 --json', 'a token');
    my ($token) = $made =~ /"token" *: *"([^"]+)"/;
    ok $token, 'which is printed';

    my $api = "curl -sSk --resolve logs.example:443:127.0.0.1 "
        . "-H 'Authorization: Bearer $token' https://logs.example";
    like $machine->goes_well("$api/api/servers/$server", 'the API over TLS'),
        qr/"$server"/, 'answers';
    $took->('the first answer');
    like $machine->goes_well("$api/viewer/", 'the viewer'), qr/<title>/,
        'is there';

    like $machine->goes_well("$api/operations", 'where alerts lead to'),
        qr/`GuildlogAbsent`/, 'tells what to do';

    my $record = q(curl -sS --unix-socket /run/guildlog/operator.sock )
        . q(-H 'Content-Type: application/json' )
        . qq(http://localhost/servers/$server/logs -d )
        . q('[{"event_id":"1","type":5,"content":"hello"}]');
    like $machine->goes_well($record, 'an entry'), qr/"recorded": ?1/,
        'is recorded';
    like $machine->goes_well("$api/api/servers/$server/logs", 'the log'),
        qr/"content": ?"hello"/, 'has it';

    # the first log in a channel

    my $channel = '300000000000000001';
    $machine->goes_well("curl -sSf $platform/_control/config -d "
        . qq('{"guilds":{"$channel":"$server"}}'), 'a channel');
    $machine->goes_well("$api/api/servers/$server/config/logging/channels "
        . "-X PATCH -H 'Content-Type: application/json' -f "
        . qq(-d '{"main_channel":"$channel"}'), 'is that of the log');
    $record =~ s/"1","type":5,"content":"hello"/"2","type":5,"content":"world"/;
    $machine->goes_well($record, 'another entry');
    like $machine->goes_well('for i in $(seq 300); do curl -sS '
        . "'$platform/_control/state?channel=$channel' | grep world && exit; "
        . 'sleep 0.1; done; exit 1', 'arrives'), qr/world/, 'as it was said';
    $took->('the first log in the channel');

    # all of nginx is killed

    $machine->goes_well('kill -9 $(cat /run/nginx.pid) '
        . '$(pgrep -f "^nginx: worker")', 'nginx is killed');
    $machine->on('sleep 0.1; while pgrep -f ^nginx: ; do sleep 0.1; done');
    $machine->goes_well('service nginx start', 'nginx starts again');
    $machine->goes_well("$install --check", 'nothing is wrong');
    $took->('the start after a kill');

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

    # an upgrade to the same keeps everything

    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('dpkg -i /tmp/guildlog.deb', 'the package once more');
    $machine->goes_well($wanted, 'and its schema');
    $machine->goes_well("$install --check", 'nothing is wrong');

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
    $took->('the end');

    my $after = $machine->files;
    is_deeply [grep { !$before->{$_} } sort keys %$after], [],
        'nothing is left';

    # a database as hosters give it: an owner without a superuser's rights

    $machine->write('/tmp/owner.sql', <<'SQL');
create role owner login createrole password 'x';
grant pg_monitor, pg_signal_backend to owner;
create database logs owner owner;
SQL
    $machine->goes_well('su postgres -c "psql -qXf /tmp/owner.sql"',
        'a database with an owner');
    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('dpkg -i /tmp/guildlog.deb', 'the package');
    my $theirs = "PGPASSWORD=x $install --server-name logs.example "
        . "--db 'host=127.0.0.1 dbname=logs user=owner'";
    $machine->goes_well($theirs, 'the installation into it');
    $machine->goes_well($theirs, 'again');
    $machine->goes_well("$tool server $server --owner 200000000000000001",
        'a server');
    ($token) = $machine->goes_well("$tool create $server "
        . '--creator 200000000000000001 --json', 'a token')
        =~ /"token" *: *"([^"]+)"/;
    like $machine->goes_well('curl -sSk --resolve logs.example:443:127.0.0.1 '
        . "-H 'Authorization: Bearer $token' "
        . "https://logs.example/api/servers/$server", 'the API'),
        qr/"$server"/, 'answers';
    $machine->goes_well("$theirs --remove --data", 'the removal');
    $machine->goes_well('nginx -t', 'nginx goes on');
}

done_testing;
