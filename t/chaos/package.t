# The life of the Debian package on new machines, without util/install: version
# 0.1 serves, the package is upgraded and serves on with what was stored before,
# it is removed, comes back, and is purged.  nginx works after each, and at the
# end nothing is left behind.  Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

# the last commit of version 0.1, and how one installed it
my $old = '59c033e';
my $by_hand = <<'BASH';
install -d -m 700 /etc/nginx/guildlog
(umask 77; cd /etc/nginx/guildlog
 for file in main.key {database,operator,worker}.password; do
     openssl rand -hex 32 > $file
 done)
su postgres -c 'createdb guildlog'
su postgres -c 'psql -q -d guildlog -v role=guildlog \
    -f /usr/share/guildlog/sql/install.sql'
su postgres -c 'psql -q -d guildlog' <<SQL
alter role guildlog password '$(cat /etc/nginx/guildlog/database.password)';
alter role guildlog_operator
    password '$(cat /etc/nginx/guildlog/operator.password)';
alter role guildlog_worker
    password '$(cat /etc/nginx/guildlog/worker.password)';
SQL
hba=$(su postgres -c "psql -Atc 'show hba_file'")
sed -i '1i local guildlog guildlog,guildlog_operator,guildlog_worker scram-sha-256' \
    "$hba"
su postgres -c "psql -c 'select pg_reload_conf()'"
install -d -m 710 /run/guildlog
install -m 644 /usr/share/guildlog/conf/guildlog.conf /etc/nginx/conf.d/
rm /etc/nginx/sites-enabled/default
nginx -t
service nginx start
BASH

# the same, or why not
my $restart = 'service nginx restart '
    . '|| { tail /var/log/nginx/error.log; exit 1; }';
my $package = 'libnginx-mod-http-guildlog';
my $server  = '100000000000000001';
my $operator = 'curl -sS --unix-socket /run/guildlog/operator.sock '
    . "-H 'Content-Type: application/json' http://localhost/servers/$server";

for my $suite (Guildlog::Machine::suites()) {
    my $before = Guildlog::Machine::old_deb($suite, $old);
    my $now    = Guildlog::Machine::deb($suite);

    my $machine = Guildlog::Machine->new($suite,
        qw(nginx postgresql curl openssl perl procps));
    my $files = $machine->files;

    $machine->copy($before, '/tmp/before.deb');
    $machine->copy($now, '/tmp/now.deb');
    $machine->goes_well('apt-get -qy install --no-install-recommends '
        . '/tmp/before.deb', "$suite: version 0.1 is installed");
    $machine->goes_well('nginx -t', 'the configuration is valid with it');
    $machine->alone;

    # 0.1 serves

    $machine->goes_well('service postgresql start', 'PostgreSQL starts');
    $machine->write('/tmp/by-hand', $by_hand);
    $machine->goes_well('bash -e /tmp/by-hand', 'version 0.1 by its README');
    $machine->goes_well("$operator -f -X PUT -d "
        . q('{"owner_id":"200000000000000001","name":"A"}'), 'a server');
    my ($token) = $machine->goes_well("$operator/tokens -f -d "
        . q('{"permissions":1,"creator":"200000000000000001"}'), 'a token')
        =~ /"token": *"([^"]+)"/;
    ok $token, 'which is there';
    like $machine->goes_well("$operator/logs -d "
        . q('[{"event_id":"1","type":5,"content":"hello"}]'), 'an entry'),
        qr/"recorded": *1/, 'is recorded';

    my $logs = "curl -sS -H 'Authorization: Bearer $token' "
        . "http://localhost/api/servers/$server/logs";

    # the upgrade: the package, the schema, nginx anew

    $machine->goes_well('dpkg -i /tmp/now.deb', 'the package is upgraded');
    $machine->goes_well('nginx -t', 'the configuration of before is valid');
    like $machine->goes_well($logs, 'the old module, still there,'),
        qr/"content": ?"hello"/, 'serves on';
    $machine->goes_well(q(su postgres -c 'psql -q -v ON_ERROR_STOP=1 )
        . q(-d guildlog -v role=guildlog )
        . q(-f /usr/share/guildlog/sql/install.sql'), 'the schema is upgraded');
    $machine->goes_well($restart, 'nginx starts anew');
    $machine->goes_well('for i in $(seq 100); do curl -sf '
        . 'http://localhost/status && exit; sleep 0.1; done; exit 1',
        'the new module serves');
    like $machine->goes_well($logs, 'for the token of before'),
        qr/"content": ?"hello"/, 'what was stored before';
    like $machine->goes_well("$operator/logs -d "
        . q('[{"event_id":"2","type":5,"content":"again"}]'), 'another entry'),
        qr/"recorded": *1/, 'is recorded';

    # removed, and back

    my ($edge) = slurp("$Guildlog::TOP/conf/edge.conf")
        =~ m{Copy it to (/etc/nginx/\S+\.conf)} or die "edge.conf names no place\n";
    $machine->goes_well('openssl req -x509 -newkey ec -pkeyopt '
        . 'ec_paramgen_curve:P-256 -nodes -subj /CN=service.example '
        . '-keyout /etc/nginx/guildlog/server.key -out /etc/nginx/guildlog/server.crt '
        . "&& cp /usr/share/guildlog/conf/edge.conf $edge && nginx -t",
        'another sample is there, where it says');
    $machine->goes_well("apt-get -qy remove $package", 'the package is removed');
    $machine->goes_well("nginx -t && $restart",
        'nginx starts without it, though its configuration was there');
    $machine->goes_well('dpkg -i /tmp/now.deb', 'the package comes back');
    $machine->goes_well("nginx -t && $restart",
        'nginx starts with it');
    like $machine->goes_well('for i in $(seq 100); do '
        . "$logs -f && exit; sleep 0.1; done; exit 1", 'and the log'),
        qr/"content": ?"again"/, 'is read again';

    # gone, with what was made by hand

    $machine->goes_well("apt-get -qy purge --auto-remove $package",
        'the package is purged');
    $machine->goes_well("nginx -t && $restart",
        'nginx starts without it');
    $machine->on('rm -rf /etc/nginx/guildlog /run/guildlog '
        . '/etc/nginx/conf.d/guildlog*.conf.removed');

    my $after = $machine->files;
    is_deeply [grep { !$files->{$_} } sort keys %$after], [],
        'no file of the package is left';
    is_deeply [grep { !$after->{$_} && !m{^/etc/nginx/sites-enabled/default } }
        sort keys %$files], [], 'no other file was removed';
}

done_testing;
