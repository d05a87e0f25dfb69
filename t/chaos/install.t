# util/install on new machines, where the quick start was tried before: from
# nothing to a first answer over TLS, an entry recorded, read, and delivered to the stand-in of the platform, a kill of
# all of nginx survived, a second run that changes nothing, what is broken told
# with what mends it, an upgrade, and a removal that leaves nothing.  Needs root.
# The machines have no network but loopback once their packages are there.  What
# each part took is told, and not asserted.

use lib 't/lib';
use Guildlog;
use Guildlog::Machine;

use Time::HiRes qw(time);

# a bot's token as the stand-in takes it: the id 400000000000000001 and secrets
my $bot = 'NDAwMDAwMDAwMDAwMDAwMDAx.AbCdEf.secret-of-it';
my $platform = 'http://127.0.0.1:8990';

my $keys   = '/etc/nginx/guildlog';
my $conf   = '/etc/nginx/sites-available/guildlog.conf';
my $link   = '/etc/nginx/sites-enabled/zz-guildlog.conf';
my $alone  = '/etc/nginx/conf.d/guildlog.conf';
my $module = '/usr/lib/nginx/modules/ngx_http_guildlog_module.so';

# a file that is put aside, and back
sub without { return ("mv $_[0] /root/aside", "mv /root/aside $_[0]") }
sub in_conf { return ("sed -i.bak '$_[0]' $conf", "mv $conf.bak $conf") }

# a certificate with these options, signed by itself or so
sub served {
    my ($options, $signed) = @_;
    my $req = 'openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        . ' -subj /CN=a -keyout server.key';
    return ("cp -p $keys/server.crt $keys/server.key /root; cd $keys && $req $options "
            . ($signed // '-x509 -out server.crt') . ' && nginx -s reload',
        "mv /root/server.crt /root/server.key $keys && nginx -s reload");
}

# one of an authority, of the public one or of one's own, and more commands
sub of_authority {
    my ($whose, $more) = @_;
    my $at = $whose eq 'public'
        ? ' -addext authorityInfoAccess=caIssuers\;URI:http://ca.example/' : '';
    return served("-addext subjectAltName=DNS:logs.example$at",
        '| openssl x509 -req -days 9 -copy_extensions copy -CA /root/server.crt '
            . '-CAkey /root/server.key -out server.crt' . ($more // ''));
}

# what is broken: how, how it is mended, what the check says
my @broken = (
    ['no configuration', without($conf), qr/there is no \Q$conf\E\n +util\/inst/],
    ['a bad configuration', in_conf('$ a broken'),
        qr/refuses .*guildlog\.conf:\d+\n +the file that is named/],
    ['no module', without('/etc/nginx/modules-enabled'),
        qr/unknown directive "guildlog_.*\n +apt-get install --reinstall/],
    ['a wrong password', "cp -p $keys/worker.password /root; "
            . "echo none > $keys/worker.password",
        "mv /root/worker.password $keys",
        qr/database: .*authentication failed.*_worker"\n +util\/install/],
    ['pg_hba.conf without the line',
        'cd /etc/postgresql/*/main && sed -i.bak /^local.guildlog/d pg_hba.conf'
            . ' && service postgresql reload',
        'cd /etc/postgresql/*/main && mv pg_hba.conf.bak pg_hba.conf'
            . ' && service postgresql reload',
        qr/database: .*Peer authentication.*\n +before .*: local guildlog g/],
    ['an older schema', map({ qq{su postgres -c 'psql -qd guildlog -c }
            . qq{"alter function guildlog.$_"'} } 'schema_fits(int) rename to f',
            'f(int) rename to schema_fits'),
        qr/schema_fits.* does not exist\n +util\/install: .*upgrades the sch/],
    ['no key', without("$keys/main.key"),
        qr/refuses .*main\.key" failed .*\n +put it back/],
    ['no certificate', without("$keys/server.crt"),
        qr/refuses .*server\.crt.*\n +put it back/],
    ['a certificate of another name',
        served('-days 9 -addext subjectAltName=DNS:other.example'),
        qr/not of the name logs\.example.*\n +util\/install --cert/],
    ['one that ends', served('-days 1 -addext subjectAltName=DNS:logs.example'),
        qr/ends within a week, or has ended: notAfter=.*\n +a new one/],
    ['one without its chain', of_authority('public'),
        qr/has not its chain: .*issuer.*\n +util\/install --cert/],
    ['a key for all to read', "chmod 644 $keys/main.key",
        "chmod 600 $keys/main.key",
        qr/can read a secret .*: main\.key\n +chmod 600 /],
    ['no folder for the socket', without('/run/guildlog'),
        qr/refuses .*unix:.*No such file.*\n +util\/install, or: systemd-tmpf/],
    ['an open folder', 'chmod 755 /run/guildlog', 'chmod 710 /run/guildlog',
        qr/folder .* is open.*755, not 710\n/],
    ['nginx that is not started', map({ "update-rc.d nginx $_" }
            'remove', 'defaults'),
        qr/nginx does not start at boot\n +util\/install once more/],
    ['a platform that is away', in_conf('s/:8990/:1/'),
        qr/platform cannot be reached: .*\n +guildlog_platform in /],
    ['a platform that nobody vouches for',
        in_conf("s|$platform|https://logs.example|"),
        qr/platform cannot be reached: .*certificate.*\n +apt-get .*ca-certificates/],
    ['another clock', in_conf('s/:8990/:8991/'),
        qr/clock is off .*\n +apt-get install systemd-timesyncd/],
);

for my $suite (Guildlog::Machine::suites()) {
    my $package = Guildlog::Machine::deb($suite);
    my $machine = Guildlog::Machine->new($suite,
        qw(curl ca-certificates procps));

    $machine->clone('/tmp/guildlog');

    # a wrong option, no network, and what is interrupted while somebody else installs

    my ($ok, $said) = $machine->on('/tmp/guildlog/util/install --sever-name a.example');
    ok !$ok && $said eq "install: unknown argument: --sever-name (see --help)\n",
        "$suite: a wrong option is told" or diag $said;
    ($ok, $said) = $machine->on('unshare --net /tmp/guildlog/util/install '
        . '--server-name logs.example');
    ok !$ok, 'without a network it ends';
    like $said, qr/^install: apt could not install nginx .*run this again$/m,
        '... and says what it needs' or diag $said;
    $machine->write('/root/interrupted', <<'PERL');
use Fcntl qw(F_SETLK F_WRLCK SEEK_SET);
open my $lock, '>>', '/var/lib/dpkg/lock-frontend' or die;
my $whole = pack 's s x4 q q i x4', F_WRLCK, SEEK_SET, 0, 0, 0;
fcntl $lock, F_SETLK, $whole or die;
my $pid = fork // die;
if (!$pid) {
    setpgrp;
    $SIG{INT} = 'DEFAULT';    # a shell's job in the background ignores it
    close $lock;
    open STDOUT, '>', '/root/said';
    open STDERR, '>&', \*STDOUT;
    exec '/tmp/guildlog/util/install', '--server-name', 'logs.example';
}
sub said { local (@ARGV, $/) = '/root/said'; return <> // '' }
for (1 .. 1200) {
    last if said() =~ /Waiting for cache lock/;
    select undef, undef, undef, 0.1;
}
kill -2, $pid;
waitpid $pid, 0;
print said(), "ended: $?\n";
PERL
    like $machine->goes_well('perl /root/interrupted', 'Ctrl-C while apt waits'),
        qr/Waiting for cache lock.*install: interrupted: run it again.*\nended: [1-9]/s,
        '... ends it, and it says how to go on';
    $machine->goes_well("! test -e $keys && ! test -e $conf", 'nothing of it stays');

    # who tried the quick start has the packages, but no cluster, and nothing
    # that starts at boot
    $machine->goes_well(q(bash -c '. /tmp/guildlog/util/lib.sh; )
        . q(need "${packages_run[@]}"'), "$suite: the quick start's packages");
    unlike $machine->goes_well('pg_lsclusters -h; ls /etc/rc3.d', 'they'),
        qr/main|S\d\dnginx/, 'begin nothing';

    # what cannot be built

    $machine->goes_well("cp -r /tmp/guildlog /tmp/broken && echo '#error nonsense' "
        . '>> /tmp/broken/src/base/ngx_guildlog.h', 'a source is broken');
    ($ok, $said) = $machine->on('/tmp/broken/util/install --server-name '
        . 'logs.example');
    ok !$ok, '... so nothing is installed';
    like $said, qr/error: #error nonsense.*^install: the package was not built$/ms,
        '... and why is told' or diag $said;
    $machine->goes_well("nginx -t && ! test -e $keys && ! test -e $conf && "
        . 'rm -r /tmp/broken', 'nothing of it stays');

    my $began = time;
    my $took = sub {
        diag sprintf '%s: %.1f s to %s', $suite, time - $began, $_[0];
    };

    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('apt-get -qy install --no-install-recommends '
        . '/tmp/guildlog.deb && dpkg --unpack /tmp/guildlog.deb',
        "$suite: the package, which is not configured yet");
    $machine->alone;
    $machine->write('/etc/hosts', "127.0.0.1 localhost logs.example\n");

    my $install = '/usr/share/guildlog/util/install';
    my $before = $machine->files;

    ($ok, $said) = $machine->on("$install --check");
    ok !$ok, 'before the installation the check finds what is missing';
    like $said, qr/^wrong: there is no \Q$conf/m, 'and says so in a sentence';

    $machine->copy("$Guildlog::TOP/t/lib/platform", '/tmp/platform');
    $machine->on("mkdir /tmp/chat; perl /tmp/platform --port 8990 "
        . '--dir /tmp/chat > /tmp/chat/log 2>&1 &');
    $machine->write('/tmp/bot.token', "$bot\n", 0600);
    my $first_one = "$install --server-name logs.example";
    my $wanted = "$first_one --platform $platform/api/v10 "
        . '--bot-token /tmp/bot.token';

    ($ok, $said) = $machine->on("$first_one --db 'host=h password=x'");
    ok !$ok && $said =~ /PGPASSWORD/, 'no password stands on a command line';
    $said = $machine->goes_well($first_one, 'the installation');
    $took->('the end of the installation');
    like $said, qr/^\+ openssl rand/m, 'it prints what it runs';
    unlike $said, qr/password '/, 'but no password';
    unlike $said, qr/\[warn\]/, 'nginx has no word against it';
    my ($commands) = $said =~ /^(    export .*?\n)\n/ms;

    # a typing mistake changes nothing

    my $is = $machine->goes_well("cat $conf; ls $keys", 'what is there');
    for (['--server-name https://logs.example', qr/--server-name: a name as/],
        ['--platform 127.0.0.1 --bot-token /tmp/bot.token', qr/--platform: a URL as/],
        ["--group 'no group'", qr/--group: a name as/],
        ["--db 'host=nowhere.invalid user=owner'", qr/--db: .*nowhere\.invalid/],
        ["--platform $platform --bot-token /dev/null", qr/does not hold a bot's token/],
        ['--platform http://127.0.0.1:99999/ --bot-token /tmp/bot.token',
            qr/nginx refuses its configuration/])
    {
        ($ok, $said) = $machine->on("$install $_->[0]");
        ok !$ok && $said =~ /^install: .*$_->[1]/m, "$_->[0] is refused" or diag $said;
    }
    $machine->goes_well("nginx -t && rm $conf.refused $keys/bot.token",
        'nginx has what it had');
    is $machine->goes_well("cat $conf; ls $keys", 'it'), $is, '... is as it was';

    like $machine->goes_well($wanted, 'once more, with a platform'),
        qr/sed -i.before .*guildlog_platform/, 'turns delivery on';

    # a first server, a first token, a first entry, as it says how

    my $tool = 'guildlog';
    my $server = '100000000000000001';
    my $made = $machine->goes_well("set -e\n$commands", 'what it says');
    my ($token) = $made =~ /^([\w-]+\.[\w-]+\.[\w-]+)$/m;
    ok $token, 'a token is printed' or diag $made;
    like $made, qr/^recorded 1,/m, 'an entry is recorded';
    like $made, qr/^ready +ok$/m, 'the machine is ready';

    my $first = $machine->files;
    $said = $machine->goes_well("$install --server-name other.example",
        'the installation again');
    like $said, qr/is there and stays as it is/, 'keeps the configuration';
    like $said, qr{https://logs\.example/api}, 'and tells its name';
    is_deeply $machine->files, $first, 'and changes nothing';

    my $api = "curl -sSk --resolve logs.example:443:127.0.0.1 "
        . "-H 'Authorization: Bearer $token' https://logs.example";
    like $machine->goes_well("$api/api/servers/$server", 'the API over TLS'),
        qr/"$server"/, 'answers';
    $took->('the first answer');
    like $machine->goes_well("$api/viewer/ -w '%{http_version}'", 'the viewer'),
        qr/<title>.*2\z/s, 'is there, over HTTP/2';

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

    # the same while the disk of the logs is full

    $machine->goes_well('mkdir /tmp/full && mount -t tmpfs -o size=256k none '
        . '/tmp/full && cp -a /var/log/nginx/. /tmp/full && mount --bind '
        . '/tmp/full /var/log/nginx && ! cat /dev/zero > /tmp/full/zeros',
        'a full disk');
    $machine->goes_well('kill -9 $(cat /run/nginx.pid) '
        . '$(pgrep -f "^nginx: worker"); sleep 0.5; service nginx start',
        'keeps nginx from nothing');
    $machine->goes_well("$install --check", 'nor guildlog');
    $machine->goes_well('umount /var/log/nginx /tmp/full; '
        . 'nginx -s reopen', 'there is room again');

    # the same with that of the database: what is there can be read, what is refused is
    # told, and all that was not refused is there afterwards

    my $main = $machine->goes_well('cd /var/lib/postgresql; echo $PWD/*/main',
        'the database') =~ s/\n//r;
    $machine->goes_well('mkdir /tmp/small; service postgresql stop && '
        . "mount -t tmpfs -o size=\$((\$(du -sm $main | cut -f1) + 20))m none "
        . "/tmp/small && cp -a $main/. /tmp/small && mount --bind /tmp/small $main && "
        . "service postgresql start && for i in \$(seq 300); do "
        . "$api/api/servers/$server/logs -f -o /dev/null && exit; sleep 0.1; done; "
        . 'exit 1', 'on a small disk');
    my $first_entry = "$api/api/servers/$server/logs/export?format=ndjson "
        . '| grep hello';
    my $ready = "for i in \$(seq 300); do $install --check 2> /dev/null && exit; "
        . 'sleep 0.1; done; exit 1';
    $machine->write('/root/fill', <<'PERL');
my ($server, $room) = @ARGV;
system 'cat /dev/zero > /tmp/small/zeros 2> /dev/null';
truncate '/tmp/small/zeros', (-s '/tmp/small/zeros') - ($room << 20) or die;
for my $n (1 .. 1000) {
    open my $body, '>', '/tmp/body' or die;
    print {$body} '[', join(',', map { qq({"event_id":"fill$n-$_","type":5,)
        . '"content":"' . 'filler ' x 200 . '"}' } 1 .. 20), ']';
    close $body;
    my $said = qx{curl -sS -w ' %{http_code}' -d \@/tmp/body \\
        -H 'Content-Type: application/json' \\
        --unix-socket /run/guildlog/operator.sock \\
        http://localhost/servers/$server/logs};
    next if $said =~ / 200$/;
    print 20 * ($n - 1), " entries, then $said\n";
    exit;
}
PERL
    my ($taken, $then) = $machine->goes_well("perl /root/fill $server 4",
        'the disk is filled') =~ /^(\d+) entries, then (.*)/ms;
    ok $taken, 'entries are recorded';
    like $then, qr/"code": ?"[a-z_]+".* 503$/s, '... until one is refused';
    like $machine->goes_well("$api/api/servers/$server/logs?limit=5", 'the log'),
        qr/filler/, 'can be read';
    ($ok, $said) = $machine->on("$install --check");
    ok !$ok && $said =~ m{^wrong: there is no room: \Q$main\E has \d MB left\n +make}m,
        'what is wrong is told' or diag $said;
    ($ok, $said) = $machine->on($first_one);
    ok !$ok && $said =~ /there is no room: .*make some/, '... as by an installation'
        or diag $said;
    $machine->goes_well("rm /tmp/small/zeros; mount -o remount,size=1g /tmp/small; "
        . $ready, 'with room again all is well');
    is $machine->goes_well("$api/api/servers/$server/logs/export?format=ndjson "
        . '| grep -c filler', 'what was recorded'), "$taken\n", 'is there';
    $machine->goes_well('service postgresql stop && '
        . "umount $main && rm -r $main && cp -a /tmp/small $main && umount /tmp/small "
        . "&& rmdir /tmp/small && service postgresql start && $ready",
        'on the disk of before');

    # a certificate takes the place of another only if it can

    my $was = $machine->goes_well("cat $keys/server.crt", 'the certificate');
    $machine->write('/root/pair', <<'SH');
mkdir -p /etc/le/archive /etc/le/live && cd /etc/le || exit 1
make() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -days 90 -subj "/CN=$2" -addext "subjectAltName=DNS:$2" \
        -keyout "archive/key$1.pem" -out "archive/chain$1.pem"
    ln -sf "../archive/key$1.pem" live/key.pem
    ln -sf "../archive/chain$1.pem" live/chain.pem
}
make "$@"
SH
    my $pair = '--certificate /etc/le/live/chain.pem --key /etc/le/live/key.pem';
    for (['/nope --key /nope', qr/no certificate/],
        ["$keys/server.crt --key $keys/main.key", qr/no key/],
        ["$keys/server.crt --key /etc/le/live/key.pem", qr/is not the key of/],
        ['/etc/le/live/chain.pem --key /etc/le/live/key.pem', qr/not of the name/])
    {
        $machine->goes_well('bash /root/pair 1 other.example', 'another name');
        ($ok, $said) = $machine->on("$install --certificate $_->[0]");
        ok !$ok, "--certificate $_->[0] is refused";
        like $said, $_->[1], 'and told why';
    }
    is $machine->goes_well("cat $keys/server.crt", 'the certificate'), $was,
        'is what it was';
    ($ok, $said) = $machine->on("$install --server-name");
    ok !$ok && $said =~ /--server-name needs a value/, 'so is half an option';

    my $serial = 'echo | openssl s_client -connect 127.0.0.1:443 2> /dev/null '
        . '| openssl x509 -noout -serial';
    $machine->goes_well('bash /root/pair 1 logs.example', 'as certbot has it');
    $machine->goes_well("$install $pair", 'is taken');
    my $one = $machine->goes_well($serial, 'it');
    $machine->goes_well('bash /root/pair 2 logs.example && nginx -s reload '
        . '&& sleep 1', 'is renewed');
    isnt $machine->goes_well($serial, 'the one that is served'), $one,
        'is the new one';
    $machine->goes_well("rm -r $keys/server.crt $keys/server.key /etc/le; "
            . $install,
        'back to one that nobody trusts');

    # what is wrong is told

    $machine->write('/tmp/late', <<'PERL');
use IO::Socket::INET;
my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1:8991', Listen => 5)
    or die;
while (my $c = $s->accept) {
    sysread $c, my $in, 4096;
    print {$c} "HTTP/1.0 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n";
    close $c;
}
PERL
    $machine->on('perl /tmp/late > /dev/null 2>&1 &');
    for (@broken) {
        my ($what, $break, $mend, $told) = @$_;
        $machine->goes_well($break, "$suite: $what");
        ($ok, $said) = $machine->on("$install --check");
        ok !$ok && $said =~ /^wrong: .*$told/m, 'is told, with what mends it'
            or diag $said;
        $machine->goes_well($mend, 'mended');
    }
    $machine->goes_well("$install --check", 'nothing is wrong');

    # a public authority's has its chain, and one of an authority of one's own needs none

    for (['a chain', of_authority('public', ' && cat /root/server.crt >> server.crt')],
        ["an authority of one's own", of_authority('own')])
    {
        my ($what, $serve, $back) = @$_;
        $machine->goes_well($serve, "$suite: $what");
        $machine->goes_well("$install --check", '... is what clients need');
        $machine->goes_well($back, 'the one of before');
    }
    my ($serve, $back) = of_authority('public', ' && cp server.crt server.key /tmp');
    $machine->goes_well("$serve && $back", 'one without its chain');
    ($ok, $said) = $machine->on("$install --certificate /tmp/server.crt "
        . '--key /tmp/server.key');
    ok !$ok && $said =~ /has not its chain: certbot's is fullchain\.pem/,
        '... is not taken' or diag $said;

    # another site may be the one that nginx serves to who names none

    $machine->write('/etc/nginx/conf.d/a.conf', 'server { listen 443 ssl '
        . 'default_server; ssl_certificate guildlog/server.crt; '
        . 'ssl_certificate_key guildlog/server.key; return 404; }');
    $machine->goes_well("nginx -s reload; $install --check",
        'nor beside another site');
    $machine->goes_well('rm /etc/nginx/conf.d/a.conf; nginx -s reload',
        'which goes');

    $machine->goes_well('service postgresql stop', 'PostgreSQL stops');
    ($ok, $said) = $machine->on("sleep 6; $install --check");
    ok !$ok && $said =~ /^wrong: the machine is not ready: the database is not/m,
        'the check finds that, too' or diag $said;
    $machine->goes_well('service postgresql start', 'and starts');

    # an upgrade to the same keeps everything; a reload would keep the module

    my $began_as = $machine->goes_well('cat /run/nginx.pid', 'the master');
    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('dpkg -i /tmp/guildlog.deb', 'the package once more');
    ($ok, $said) = $machine->on("$install --check");
    ok !$ok && $said =~ /^wrong: nginx runs the module that was there before/m,
        'the old module still runs' or diag $said;
    $machine->goes_well($wanted, 'the schema and the module');
    $machine->goes_well("$install --check", 'nothing is wrong');
    isnt $machine->goes_well('cat /run/nginx.pid', 'the master'), $began_as,
        'is another one';
    like $machine->goes_well($first_entry, 'the log'),
        qr/"content": ?"hello"/, 'is served';

    # without the package nginx goes on without guildlog, and with it again, also by a
    # link of another name; one that leads nowhere does not come back

    my $other = '/etc/nginx/sites-enabled/50-guildlog';
    my $deb = 'dpkg -i /tmp/guildlog.deb && nginx -t && service nginx restart';
    my $removal = 'apt-get -qy remove libnginx-mod-http-guildlog && nginx -t && '
        . 'service nginx restart';
    $machine->goes_well("mv $link $other && $first_one && ! test -e $link",
        'a link of another name is the one');
    $machine->goes_well("$removal && ! test -e $other", 'the package is removed');
    $machine->goes_well("mv $conf /root && $deb && ! test -L $other",
        'without a configuration it comes back, too');
    $machine->goes_well("$removal; mv /root/guildlog.conf $conf; $deb && "
        . "mv $other $link && $ready", '... and with one');

    # what nginx refuses is not set aside, if it was there before the link

    $machine->goes_well("rm $link && " . (in_conf('$ a broken'))[0],
        'a bad configuration, and no link');
    ($ok, $said) = $machine->on($first_one);
    ok !$ok && $said =~ /^install: nginx refuses/m, '... is told' or diag $said;
    $machine->goes_well("nginx -t && test -e $conf && ! test -e $conf.refused",
        '... and stays');
    $machine->goes_well((in_conf(''))[1] . " && $first_one && test -L $link",
        'a good one is linked again');

    # another site, in whichever place, stays what who names none is given

    $machine->goes_well("mv $conf $link /root && nginx -s reload", 'without guildlog');
    my ($six) = $machine->on('test -e /proc/net/if_inet6');
    my $shop = 'listen 443 ssl' . ($six ? '; listen [::]:443 ssl' : '');
    for my $file (qw(conf.d/shop.conf sites-enabled/shop)) {
        $machine->write("/etc/nginx/$file", "server { $shop; "
            . 'server_name shop.example; ssl_certificate guildlog/server.crt; '
            . 'ssl_certificate_key guildlog/server.key; return 200 shop; }');
        $machine->goes_well('nginx -s reload; rm -f /run/guildlog/operator.sock',
            "another site in $file");
        $machine->goes_well("$install --server-name logs.example",
            'guildlog beside it');
        is $machine->goes_well('curl -sSk --resolve other.example:443:127.0.0.1 '
            . "https://$_/", "who asks $_"), 'shop', '... gets that one'
            for qw(127.0.0.1 other.example), $six ? '[::1]' : ();
        like $machine->goes_well("$api/status/ready", 'guildlog'), qr/^ok$/,
            '... has its name';
        $machine->goes_well("rm -f $conf $link /etc/nginx/$file; service nginx stop; "
            . 'rm -f /run/guildlog/operator.sock; service nginx start', 'neither');
    }

    # what nginx cannot bind does not stay

    if ($six) {
        $machine->write('/etc/nginx/sites-enabled/shop', 'server { listen [::]:443 ssl '
            . 'ipv6only=off; server_name shop.example; ssl_certificate '
            . 'guildlog/server.crt; ssl_certificate_key guildlog/server.key; '
            . 'return 200 shop; }');
        $machine->goes_well('nginx -s reload', 'a site at both by one socket');
        ($ok, $said) = $machine->on("$install --server-name logs.example");
        ok !$ok && $said =~ /did not take .*, which is .*\.refused now: /,
            'guildlog beside it is told' or diag $said;
        is $machine->goes_well('service nginx restart > /dev/null; '
            . 'curl -sSk https://127.0.0.1/', 'that site'), 'shop', '... goes on';
        $machine->goes_well("rm /etc/nginx/sites-enabled/shop $conf.refused", 'it goes');
    }
    $machine->goes_well('service nginx stop; rm -f /run/guildlog/operator.sock',
        'nothing is at that port');
    $machine->on('perl -MIO::Socket::INET -e \'$s = IO::Socket::INET->new('
        . 'LocalAddr => "0.0.0.0:443", Listen => 5, ReuseAddr => 1) or die; '
        . 'sleep 600\' > /dev/null 2>&1 & echo $! > /root/taker');
    $machine->goes_well('service nginx start', 'nginx without a site');
    ($ok, $said) = $machine->on("$install --server-name logs.example");
    ok !$ok && $said =~ /did not take .*, which is .*\.refused now: /,
        'what is taken is told' or diag $said;
    $machine->goes_well('nginx -t && service nginx restart',
        'and nginx starts without it');
    $machine->goes_well("kill \$(cat /root/taker); rm -f $conf.refused; "
        . "mv /root/guildlog.conf $conf; mv /root/zz-guildlog.conf $link; "
        . 'service nginx restart; '
        . "$install --check", 'all is well again');

    # the way back

    $machine->goes_well("$install --remove", 'the removal');
    $machine->goes_well('nginx -t', 'nginx goes on');
    ok $machine->files->{'/etc/nginx/guildlog/main.key '}, 'keeps the keys';
    $machine->copy($package, '/tmp/guildlog.deb');
    $machine->goes_well('dpkg -i /tmp/guildlog.deb', 'the package again');

    # an nginx that reads conf.d alone; what is there stays there

    $machine->goes_well("sed -i.bak '/sites-enabled/d' /etc/nginx/nginx.conf && "
        . "$first_one && test -f $alone && ! test -e $conf && ! test -L $link",
        'where nginx reads conf.d alone, guildlog is there');
    $machine->goes_well("mv /etc/nginx/nginx.conf.bak /etc/nginx/nginx.conf && "
        . "$first_one && test -f $alone && ! test -e $conf && ! test -L $link",
        'there it stays');
    $machine->goes_well("$removal && ! test -e $alone", 'the package is removed');
    $machine->goes_well("$deb && $ready", 'and comes back');
    $machine->goes_well("$removal && /tmp/guildlog/util/install --remove",
        'the removal without the package');
    is $machine->goes_well('find /etc/nginx -name "*guildlog*" ! -type d', 'of it'), '',
        '... leaves nothing';
    $machine->goes_well($deb, 'the package once more');

    $machine->goes_well("$install --server-name logs.example",
        'the installation over what was kept');
    like $machine->goes_well($first_entry, 'the log'),
        qr/"content": ?"hello"/, 'still has it, for the same token';
    $machine->goes_well("$install --remove --data", 'the removal of all');
    $took->('the end');

    my $after = $machine->files;
    is_deeply [grep { !$before->{$_} && !m{^/etc/(?:postgresql|rc.\.d|systemd)/} }
            sort keys %$after], [],
        'nothing is left but the cluster, and what starts at boot';

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
    $machine->goes_well("$tool server set $server --owner 200000000000000001",
        'a server');
    ($token) = $machine->goes_well("$tool token create $server "
        . '--creator 200000000000000001 --json', 'a token')
        =~ /"token" *: *"([^"]+)"/;
    like $machine->goes_well('curl -sSk --resolve logs.example:443:127.0.0.1 '
        . "-H 'Authorization: Bearer $token' "
        . "https://logs.example/api/servers/$server", 'the API'),
        qr/"$server"/, 'answers';
    ($ok, $said) = $machine->on("$install --remove --data");
    ok !$ok && $said =~ /say --db/, 'their logs are not removed by mistake';
    $machine->goes_well("$theirs --remove --data", 'the removal');
    is $machine->goes_well(q(su postgres -c "psql -d logs -Atc 'select count(*))
        . q( from pg_namespace where nspname = \$\$guildlog\$\$'"), 'the schema'),
        "0\n", 'is gone';
    $machine->goes_well('nginx -t', 'nginx goes on');
}

done_testing;
