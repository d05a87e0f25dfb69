# The commands of README.md's quick start, as they stand there, on new
# machines that have nothing, by root and by a user who may use sudo: util/run
# answers, beside one of a copy, some of util/test passes, and but for the packages
# nothing changes.
# Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my ($page) = slurp("$Guildlog::TOP/README.md")
    =~ /^# Try it\n(.*?)^# /ms or die "README.md has no part \"Try it\"\n";
my ($start, $ask) = $page =~ /^```\n(.*?)^```\n/msg;


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
}

done_testing;
