#!/usr/bin/perl
# "Works through reload, binary upgrade, master_process off, with a cache
# manager": every entry arrives once, in order, and one process delivers at a
# time.  (A reload in the middle of a message: t/delivery/delivery-crash.t.)

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $platform;


# an nginx with delivery, not started yet
sub make {
    my (%option) = @_;

    my $g = Guildlog->new(start => 0, api => 'guildlog_limit off;', %option);
    my $dir = $g->prefix . '/platform';
    $platform = Guildlog::Platform->new(dir => $dir);
    $g->configure(http => ($option{http} // '') . $platform->directives($g));
    deliver_with($g, $platform);
    return $g;
}


# the processes that hold leases
sub owners {
    my ($g) = @_;
    return $g->sql('select distinct owner from shard_lease
        where owner is not null');
}


sub all_arrived {
    my ($to, $why, @ids) = @_;

    my %mine = map { $_ => 1 } @ids;
    is_deeply [grep { $mine{$_} } map { $platform->entries_in($_) }
        $platform->messages($to)], \@ids, "$why: each once, in order";
}


subtest 'a reload while entries are recorded' => sub {
    my $g = make(workers => 2);
    $g->start;
    my ($guild, $token, $to) = server();
    my @ids = record($guild, 1);
    for (1 .. 3) {
        $g->reload(nowait => 1);
        push @ids, record($guild, 3) for 1 .. 5;
    }
    becomes($guild, $token, $ids[-1], 'delivered', 'the last is delivered', 60);
    all_arrived($to, 'reload', @ids);
    is scalar($g->sql('select count(*) from lane_batch where status = 1')), 0,
        'no message is in doubt';
    $g->stop;
};


subtest 'a binary upgrade' => sub {
    my $g = make(workers => 1);
    my $pid_file = $g->prefix . '/nginx.pid';

    # nginx must be a daemon: it refuses an upgrade while its parent started it
    local $ENV{ASAN_OPTIONS} = $g->_sanitizer_options;
    system($g->_command) == 0 or die 'nginx';
    wait_for { -s $pid_file && $g->operator('GET', '/') } 60, 'nginx';
    my $old = $g->{pid} = $g->pid;
    my ($guild, $token, $to) = server();
    my @ids = record($guild, 2);
    becomes($guild, $token, $ids[-1], 'delivered', 'the old one delivers');

    kill 'USR2', $old;
    my $new = wait_for {
        my $pid = $g->pid // $old;
        $pid != $old && $g->workers && $pid;
    } 60, 'the new master';
    push @ids, record($guild, 3);
    becomes($guild, $token, $ids[-1], 'delivered',
        'both masters run: the entry is delivered');
    kill 'QUIT', $old;
    push @ids, record($guild, 3);
    wait_for { !kill 0, $old } 60, 'the old master exits';
    push @ids, record($guild, 3);
    becomes($guild, $token, $ids[-1], 'delivered', 'the new one delivers');
    all_arrived($to, 'upgrade', @ids);
    $g->stop;
    is scalar(() = owners($g)), 0, 'it gives up its leases';
};


subtest 'without a master process' => sub {
    my $g = make(master_process => 0);
    $g->start;
    my ($guild, $token, $to) = server();
    my @ids = record($guild, 12);
    becomes($guild, $token, $ids[-1], 'delivered',
        'the single process delivers');

    $g->stop;
    is scalar(() = owners($g)), 0, 'it gives up its leases';
    $g->start;
    push @ids, record($guild, 3);
    becomes($guild, $token, $ids[-1], 'delivered',
        'the next one delivers, too');
    all_arrived($to, 'single', @ids);
    $g->stop;
};


subtest 'a cache manager beside the workers' => sub {
    my $g = make(workers => 2, http => <<'CONF');
        proxy_cache_path %%PREFIX%%/cache keys_zone=cache:1m
                         loader_threshold=50ms;
CONF
    $g->start;
    my ($guild, $token, $to) = server();
    my @ids = record($guild, 3);
    becomes($guild, $token, $ids[-1], 'delivered', 'the entry is delivered');
    my @owners = map { $_->[0] } owners($g);
    is scalar(@owners), 1, 'one process holds leases';
    my %worker = map { $_ => 1 } $g->workers;
    ok $worker{ (split m{/}, $owners[0])[-2] }, 'it is a worker'
        or diag $owners[0];
    all_arrived($to, 'cache', @ids);
    $g->stop;
};

done_testing;
