# The commands of README.md's three doors, as they stand there, on new machines that
# have nothing. By root and by a user who may use sudo: util/run answers, beside one of
# a copy, some of util/test passes, and but for the packages nothing changes. By root:
# util/install, with what it says to do then; and the lines before a service of one's
# own, with the package alone.
# Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my $readme = slurp("$Guildlog::TOP/README.md");
my ($start, $ask) = door('Try it');
my ($install) = door('Install it');
my ($lines, $package) = door('Put it before your own service');
my $server = '100000000000000001';


# the blocks of a part
sub door {
    my ($name) = @_;

    my ($part) = $readme =~ /^# \Q$name\E\n(.*?)^# /ms
        or die "README.md has no part \"$name\"\n";
    return $part =~ /^```\w*\n(.*?)^```\n/msg;
}


# what starts at boot
sub boots {
    my ($machine) = @_;
    return ($machine->on('find /etc/rc?.d /etc/systemd/system -type l | sort'))[1];
}


for my $suite (Guildlog::Machine::suites()) {
    for my $user (qw(root somebody)) {
        my $machine = Guildlog::Machine->new($suite,
            $user eq 'root' ? () : 'sudo');
        my $home = $user eq 'root' ? '/root' : "/home/$user";

        if ($user ne 'root') {
            $machine->goes_well("useradd -m -s /bin/bash $user && "
                . "echo '$user ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/$user",
                'a user who may use sudo');
        }
        $machine->clone("$home/guildlog");
        $machine->goes_well("chown -R $user: $home/guildlog", 'its clone');

        # what a package starts here would run
        unlink $machine->dir . '/usr/sbin/policy-rc.d' or die "policy-rc.d: $!";
        my $before = boots($machine);
        my (undef, $kept) = $machine->on("ls -A $home");

        my $does = sub {
            my ($command, $what) = @_;
            $machine->write('/tmp/block', $command);
            return $machine->goes_well(
                "setpriv --reuid=$user --regid=$user --init-groups "
                . "env HOME=$home bash -ec 'cd $home/guildlog; . /tmp/block'",
                "$suite, $user: $what");
        };

        $does->($start =~ s/$/ --background/r, 'util/run starts');
        like $does->($ask, 'the request of README.md'), qr/"name":"Demo"/,
            '... is answered';

        # a copy that is then renamed builds itself, and has its own data

        $does->('cp -a . ../copy; mv ../copy ../renamed; ../renamed/util/run '
            . '--background', 'a copy runs beside it');
        $does->('eval "$(../renamed/util/run --env)"; ./util/guildlog server set '
            . '$GUILDLOG_SERVER --name Copy --operator $GUILDLOG_OPERATOR',
            'a change there');
        my %of = map { $_ => $does->("cd $_; $ask"
            . 'echo; grep -o "[^ ]*module[.]so" $GUILDLOG_CONF; '
            . 'echo $GUILDLOG_URL', "$_ is asked") } '.', '../renamed';
        like $of{'.'}, qr{"name":"Demo".*/guildlog/[.]build/}s,
            'one has its own data and module';
        like $of{'../renamed'}, qr{"name":"Copy".*/renamed/[.]build/}s,
            '... and so has the other';
        isnt +($of{'.'} =~ /(\S+)\n\z/)[0], ($of{'../renamed'} =~ /(\S+)\n\z/)[0],
            '... each at its own port';
        $does->('../renamed/util/run --stop; rm -rf "$(readlink -f '
            . '../renamed/.run/home)" ../renamed', 'the copy goes');
        like $does->($ask, 'the first one'), qr/"name":"Demo"/, 'stays';
        $does->('./util/run --stop', 'it stops');
        $does->('./util/test t/http/limit.t t/sql/config/type.sql',
            'tests pass');

        my (undef, $runs) = $machine->on('grep -lsE "^(nginx|postgres|prometheus'
            . '|pgbouncer)$" /proc/[0-9]*/comm');
        is $runs, '', 'no service was started';
        is boots($machine), $before, '... nor will be at the next boot';
        is $machine->goes_well('ls /etc/postgresql', 'clusters'), '',
            'no system cluster was made';
        is $machine->goes_well("ls -A $home", 'the home'), $kept,
            '... is as it was';
    }

    installed($suite);
    edge($suite);
}


sub installed {
    my ($suite) = @_;

    my $machine = Guildlog::Machine->new($suite);
    $machine->clone('/root/guildlog');
    $machine->write('/etc/hosts', "127.0.0.1 localhost logs.example\n");
    my $said = $machine->goes_well("cd /root/guildlog && $install",
        "$suite: util/install");
    my ($commands) = $said =~ /^(    export .*?\n)\n/ms;
    my $made = $machine->goes_well("set -e\n$commands", 'what it says then');
    like $made, qr/^recorded 1,.*^ready +ok$/ms, '... an entry is recorded';

    my ($token) = $made =~ /^([\w-]+\.[\w-]+\.[\w-]+)$/m;
    $machine->write('/root/token', $token, 0600);
    ($commands) = $commands =~ /^ *(export .*)/m;
    like $machine->goes_well("$commands GUILDLOG_TOKEN_FILE=/root/token; "
        . "guildlog logs $server", 'its log'), qr/hello/, '... has it';
    like $machine->goes_well('curl -sSfL --cacert /etc/nginx/guildlog/server.crt '
        . 'https://logs.example', 'its name in a browser'), qr/<title>/, '... is the viewer';
    $machine->goes_well('cd /root/guildlog && ./util/install --check',
        'nothing is wrong');
}


sub edge {
    my ($suite) = @_;

    my $machine = Guildlog::Machine->new($suite);
    $machine->clone('/root/guildlog');
    $machine->goes_well("cd /root/guildlog && $package", "$suite: the package alone");
    $machine->goes_well('! command -v psql', '... needs no PostgreSQL');
    $machine->alone;

    my ($port) = $lines =~ /127\.0\.0\.1:(\d+)/;
    $machine->write('/etc/nginx/conf.d/service.conf', "server { listen 8000; $lines }\n"
        . "server { listen 127.0.0.1:$port; location / { return 200 mine; } }\n");
    $machine->goes_well('nginx -t && service nginx start', 'the lines before a service');

    my $sample = slurp("$Guildlog::TOP/conf/edge.conf");
    my ($token) = $sample =~ /^(# +perl .*?main\.key)$/ms or die 'no token is made';
    $machine->write('/root/token', $token =~ s/^# //mgr);
    my $ask = sub {
        return $machine->goes_well('curl -sSi http://127.0.0.1:8000/ ' . ($_[0] // ''),
            'a request');
    };
    like $ask->(), qr/^HTTP\S+ 401 .*^WWW-Authenticate: Bearer/ms, '... needs a token';
    like $ask->('-H "Authorization: Bearer $(sh /root/token)"'),
        qr/^HTTP\S+ 200 .*^X-RateLimit-Limit: 100\r.*^mine/ms, '... with one it passes';
}

done_testing;
