#!/usr/bin/perl
# util/run after a kill -9 of any process: it cleans up, goes on with the same
# data at the same address, and everything that was acknowledged is stored and
# reaches its channel.  Two of them are two machines on one database.

use lib 't/lib';
use Guildlog;
use Guildlog::Client;
use Guildlog::File;

use File::Temp qw(tempdir);
use Time::HiRes qw(sleep);

my $run = "$Guildlog::TOP/util/run";
my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0711, $dir;
my ($first, $second) = ("$dir/first", "$dir/second");
my ($event, @ids) = (0);


# its output; its status is in $?
sub run {
    my ($folder, $arguments, %environment) = @_;

    local @ENV{keys %environment} = values %environment;
    local $ENV{GUILDLOG_RUN_DIR} = $folder;
    return scalar qx{"$run" $arguments 2>&1 </dev/null};
}


sub starts {
    my ($folder, $why, %environment) = @_;

    my $said = run($folder, '--background', %environment);
    is $?, 0, $why or diag $said;
    return { map { /^(\w+)=(.*)/ } split /\n/, run($folder, '--env') };
}


sub ask {
    my ($env, $path) = @_;

    my ($port) = $env->{GUILDLOG_URL} =~ /:(\d+)/;
    return Guildlog::Client->new(port => $port)->request('GET',
        "/api/servers/$env->{GUILDLOG_SERVER}$path",
        token => $env->{GUILDLOG_ADMIN_TOKEN});
}


# records entries and remembers their ids
sub record {
    my ($env) = @_;

    my ($socket) = $env->{GUILDLOG_OPERATOR} =~ /^unix:([^:]+):/;
    my $answer = Guildlog::Client->new(unix => $socket)->request('POST',
        "/servers/$env->{GUILDLOG_SERVER}/logs", json => [map { {
            event_id => 'run-' . ++$event, type => 7,
            content => "entry $event" } } 1 .. 5]);
    die $answer->text if $answer->status != 200;
    push @ids, @{ $answer->json->{ids} };
}


# checks that all recorded entries are stored and delivered
sub whole {
    my ($env, $why) = @_;

    my %status;
    eval { wait_for {
        %status = map { $_->{id} => $_->{delivery}{status} } eval {
            @{ ask($env, '/logs?limit=200')->json->{entries} } };
        !grep { ($status{$_} // '') ne 'delivered' } @ids;
    } 40 };
    my @lost = grep { !$status{$_} } @ids;
    is "@lost", '', "$why: every entry is stored";
    is scalar(grep { $status{$_} eq 'delivered' } @ids), scalar @ids,
        '... and delivered';

    my %times;
    open my $in, '<', "$first/platform/ledger" or die $!;
    for (grep { /"event":"message"/ } <$in>) {
        my %in = map { $_ => 1 } /(\d{17,20})/g;
        $times{$_}++ for grep { $in{$_} } @ids;
    }
    is scalar(grep { $times{$_} == 1 } @ids), scalar @ids, '... once';
}


# the processes of a folder, by kind
sub processes {
    my ($folder) = @_;

    my %pids = map { $_ => [] } qw(nginx postgres platform);
    for my $proc (glob '/proc/[0-9]*') {
        my ($pid) = $proc =~ /(\d+)/;
        my $cwd = readlink "$proc/cwd" // next;
        my $line = slurp("$proc/cmdline");
        my $name = slurp("$proc/comm");
        push @{ $pids{nginx} }, $pid
            if $name eq "nginx\n" && opens($proc, "$folder/nginx/");
        push @{ $pids{postgres} }, $pid
            if $name eq "postgres\n" && index($cwd, $folder) == 0;
        push @{ $pids{platform} }, $pid
            if $line =~ m{/platform\0} && index($line, $folder) >= 0;
    }
    return \%pids;
}


sub opens {
    my ($proc, $prefix) = @_;
    return grep { index(readlink $_ // '', $prefix) == 0 } glob "$proc/fd/*";
}


sub pids_of {
    my ($folder) = @_;
    my $all = processes($folder);
    return map { @$_ } values %$all;
}


sub master { return $_[0]{GUILDLOG_NGINX_PID} }

sub postmaster {
    my ($folder) = @_;
    return (slurp("$folder/pg/data/postmaster.pid") =~ /^(\d+)/)[0];
}


END {
    local $?;
    run($_, '--stop') for grep { -d } $second, $first;
}


my $env = starts($first, 'it starts', GUILDLOG_PLATFORM_RATE => 'off');
my $changed = Guildlog::Client->new(port => $env->{GUILDLOG_URL} =~ /:(\d+)/)
    ->request('PATCH', "/api/servers/$env->{GUILDLOG_SERVER}"
        . '/config/logging/channels', token => $env->{GUILDLOG_ADMIN_TOKEN},
        json => { main_channel => '300000000000000001' });
is $changed->status, 202, 'a channel is set';
record($env);
whole($env, 'at first');

my @victims = (
    ['the master', sub { master($env) }],
    ['the workers', sub {
        my $master = master($env);
        grep { $_ != $master } @{ processes($first)->{nginx} } }],
    ['the postmaster', sub { postmaster($first) }],
    ['all of the database', sub { @{ processes($first)->{postgres} } }],
    ['the stand-in', sub { @{ processes($first)->{platform} } }],
    ['the master and the postmaster', sub { master($env), postmaster($first) }],
    ['everything', sub { pids_of($first) }],
);

for my $victim (@victims) {
    my ($name, $pids) = @$victim;
    my $old = $env;
    my @before = pids_of($first);

    record($env);
    my @kills = $pids->();
    cmp_ok scalar @kills, '>', 0, "$name: there is something to kill";
    kill 'KILL', @kills;
    $env = starts($first, "$name: it starts again",
        GUILDLOG_PLATFORM_RATE => 'off');
    is $env->{$_}, $old->{$_}, "$_ is the same" for qw(GUILDLOG_URL
        GUILDLOG_ADMIN_TOKEN GUILDLOG_OPERATOR);

    my %now = map { $_ => 1 } pids_of($first);
    my $nginx = processes($first)->{nginx};
    is scalar @$nginx, 3, 'a master and two workers run, no more';
    is scalar(grep { $now{$_} && -e "/proc/$_" } @before), 0,
        'no process from before runs';
    record($env);
    whole($env, $name);
}

# util/run is started while it runs

my $old = $env;
$env = starts($first, 'started once more while it runs',
    GUILDLOG_PLATFORM_RATE => 'off');
is $env->{GUILDLOG_URL}, $old->{GUILDLOG_URL}, 'the address is the same';
isnt master($env), master($old), 'the process is a new one';
whole($env, 'started twice');

# two machines

my %shared = (GUILDLOG_WORKERS => 1, GUILDLOG_DB_URL => $env->{GUILDLOG_DB},
    GUILDLOG_KEYS => "$first/private/keys", GUILDLOG_PLATFORM_RATE => 'off',
    GUILDLOG_PLATFORM_URL => $env->{GUILDLOG_PLATFORM});
my $other = starts($second, 'a second machine starts', %shared);
record($other);
whole($env, 'two machines');
kill 'KILL', @{ processes($second)->{nginx} };
record($env);
$other = starts($second, 'killed, it starts again', %shared);
record($other);
whole($env, 'one of two killed');
whole($other, 'seen from the other');

# stopping works after a kill, and leaves no process

kill 'KILL', master($other);
run($second, '--stop');
is $?, 0, 'it stops though its master was killed';
is join(' ', pids_of($second)), '', 'no process is left';
is ask($env, '')->status, 200, 'the other machine goes on';

kill 'KILL', master($env), postmaster($first);
run($first, '--stop');
is $?, 0, 'it stops though master and postmaster were killed';
eval { wait_for { !pids_of($first) } 5 };
is join(' ', pids_of($first)), '', 'no process is left';

# the port is taken

my $port = free_port();
my $taken = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1',
    LocalPort => $port, ReuseAddr => 1);
my $said = run($first, '--background', GUILDLOG_PORT => $port);
isnt $?, 0, 'util/run does not start if its port is taken';
like $said, qr/^run: port $port is taken$/m, '... says so';
unlike $said, qr/answers at/, '... does not claim to answer';
is join(' ', pids_of($first)), '', '... and leaves no process';
close $taken;

$env = starts($first, 'it starts when the port is free',
    GUILDLOG_PORT => $port, GUILDLOG_PLATFORM_RATE => 'off');
like $env->{GUILDLOG_URL}, qr/:$port/, 'there';
whole($env, 'at the end');

done_testing;
