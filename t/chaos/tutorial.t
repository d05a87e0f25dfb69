# The commands of conf/TUTORIAL.md, as they stand, on new machines that boot with
# systemd: from nothing to a message in a channel, by the bot as a service. Those of
# util/kit/README.md make the same service once more. Then power is lost, and all of it
# is back by itself. What each block took is told, and not asserted. The platform is two
# stand-ins. Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;
use Guildlog::Platform;

use IPC::Open2;
use Time::HiRes qw(time);

my ($server, $channel) = ('100000000000000001', '300000000000000001');
my @blocks = slurp("$Guildlog::TOP/conf/TUTORIAL.md") =~ /^```\n(.*?)^```\n/msg;
my ($again) = slurp("$Guildlog::TOP/util/kit/README.md")
    =~ /^```\n([^`]*guildlog-bot[.]service.*?)^```\n/ms or die "no block for systemd\n";


# seconds of the processor that commands on machines took, without services
sub used {
    my (undef, undef, $user, $system) = times;
    return $user + $system;
}


for my $suite (Guildlog::Machine::suites()) {
    my $platform = Guildlog::Platform->new(
        dir => "$ENV{GUILDLOG_TEST_DIR}/platform-$suite");
    $platform->belong($server, $channel);
    my $token = $platform->token(0);
    $ENV{PACKAGES} = "$Guildlog::TOP/.build/kit/node_modules";
    my $gossip = open2(my $out, my $in, 'node', "$Guildlog::TOP/t/kit/gossip.js",
        $token, $server, $channel);
    $in->autoflush(1);
    chomp(my $port = <$out>);

    # whoever has a clone has what is here

    my $machine = Guildlog::Machine->new($suite, qw(systemd-sysv dbus procps));
    $machine->clone('/root/repository');
    system("cd '@{[$machine->dir]}/root/repository' && git init -q && git add -A && "
        . 'git -c user.name=a -c user.email=a@localhost commit -qm all') == 0
        or die "git\n";
    $machine->write('/etc/hosts', "127.0.0.1 localhost logs.example\n");
    unlink $machine->dir . '/usr/sbin/policy-rc.d' or die "policy-rc.d: $!";
    $machine->goes_well('rm -r /var/lib/apt/lists', 'its package lists');
    $machine->boot;

    my $until = sub {
        my ($command, $what) = @_;
        return $machine->goes_well("cd /root/guildlog; for i in \$(seq 300); do "
            . "bash -c '. ./before; $command' && exit; sleep 0.2; done; "
            . 'journalctl -u guildlog-bot -n 20 --no-pager; exit 1',
            "$suite: $what");
    };
    my $heard = sub {
        my ($what) = @_;
        print {$in} "$what\n";
        $until->("guildlog logs $server | grep \"$what\"", "$what is in the log");
    };
    my $told = sub {
        my ($what) = @_;
        $heard->($what);
        ok eval { wait_for { grep { index(json->encode($_->{message}), $what) >= 0 }
            grep { $_->{event} eq 'message' } $platform->ledger($channel) } 60 },
            '... and in the channel';
    };
    my %after = (
        'apt-get -y install --no-install-recommends npm' => sub {
            $until->('journalctl -u guildlog-bot | grep watches', 'the bot watches');
            $heard->('the first');
        },
        "guildlog log-channel set $server main=$channel" => sub {
            like $_[0], qr/^it arrived in channel $channel$/m, 'the test log arrives';
            $told->('the second');
            like $machine->goes_well('curl -sSfL -w "%{http_code} %{url_effective}" '
                . '--cacert /etc/nginx/guildlog/server.crt https://logs.example',
                'the viewer over TLS'),
                qr{<title>.*200 https://logs\.example/viewer/\z}s, '... is there';
        },
    );

    my $type = sub {
        my ($block) = @_;
        my ($first) = $block =~ /^(.*)/;

        my $typed = $first =~ /cat > / ? "echo '$token'" : ':';
        $block =~ s{REPOSITORY}{/root/repository};
        $block =~ s{https://discord\.com}{http://127.0.0.1:$platform->{port}};
        $block =~ s{(--api \S+/api)}{$1 --platform http://127.0.0.1:$port/api};
        $machine->write('/root/block', $block);
        my ($start, $used) = (time, used());
        my $said = $machine->goes_well('cd /root; cd guildlog 2> /dev/null; '
            . "touch before; $typed | bash -ec '. ./before; . /root/block'",
            "$suite: $first");
        diag sprintf '%s: %.0f s, of the processor %.0f s: %s', $suite,
            time - $start, used() - $used, $first;
        $machine->goes_well('cd /root/guildlog 2> /dev/null && '
            . 'grep ^export /root/block >> before; :', 'one shell has done all');
        $after{$first}->($said) if $after{$first};
    };

    my ($began, $before) = (time, used());
    for my $block (@blocks) {
        $type->($block) if $block !~ /^guildlog import /;    # t/kit/import.t
    }
    diag sprintf '%s: %.0f s in all, of the processor %.0f s, at load %s', $suite,
        time - $began, used() - $before, slurp('/proc/loadavg') =~ s/ .*//sr;

    # the kit's own commands find all of it there, but for the token in this folder

    $machine->goes_well('cp /root/bot.token /root/guildlog', 'the token of the bot');
    $type->($again);

    # power is lost

    $machine->boot;
    $until->('guildlog status | grep "^ready  *ok$"', 'guildlog is back');
    $until->('systemctl is-active guildlog-bot', 'and so is the bot');
    $told->('the third');
    close $in;
    waitpid $gossip, 0;
    $platform->stop;
}

done_testing;
