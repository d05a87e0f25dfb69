# util/run is the quick start: everything it prints works from outside, two runs
# work side by side or as two machines on one database, and after a kill -9 of
# any process it goes on with the same data.

use Guildlog;
use Guildlog::File;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Path qw(make_path rmtree);
use File::Temp qw(tempdir);
use POSIX qw(WNOHANG);

my $util = abs_path(dirname(__FILE__) . '/../../util');
my $dir  = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0711, $dir;
my $foreground;

my ($first, $second, $third) = map { "$dir/$_" } qw(first second third);


# its output; its status is in $?
sub run {
    my ($folder, $arguments, %environment) = @_;

    local @ENV{keys %environment} = values %environment;
    local $ENV{GUILDLOG_RUN_DIR} = $folder;
    return scalar qx{"$util/run" $arguments 2>&1 </dev/null};
}


sub env_of {
    my ($folder) = @_;

    my $told = run($folder, '--env');
    diag $told if $?;
    return { map { /^(\w+)=(.*)/ } split /\n/, $told };
}


# the API's status for the demo server
sub status {
    my ($env, %request) = @_;

    my ($port) = $env->{GUILDLOG_URL} =~ /:(\d+)/;
    return Guildlog::Client->new(port => $port)->request('GET',
        "/api/servers/$env->{GUILDLOG_SERVER}",
        token => $env->{GUILDLOG_ADMIN_TOKEN}, %request)->status;
}


sub name_of {
    my ($env) = @_;

    local @ENV{keys %$env} = values %$env;
    return qx{"$util/guildlog" server show $env->{GUILDLOG_SERVER}} =~ /^name +(.*)/m
        ? $1 : '';
}


# records an entry for a channel and waits until it is there; the folder is that
# of the stand-in for the platform
sub delivered {
    my ($env, $folder) = @_;
    my $event = 'run' . time . int rand 1e6;

    my $server = "/servers/$env->{GUILDLOG_SERVER}";
    my ($port) = $env->{GUILDLOG_URL} =~ /:(\d+)/;
    my ($socket) = $env->{GUILDLOG_OPERATOR} =~ /^unix:([^:]+):/;
    my $client = Guildlog::Client->new(port => $port);
    my %as = (token => $env->{GUILDLOG_ADMIN_TOKEN});
    my $answer = $client->request('PATCH',
        "/api$server/config/logging/channels", %as,
        json => { main_channel => '300000000000000001' });
    die $answer->text if $answer->status != 202;

    $answer = Guildlog::Client->new(unix => $socket)->request('POST',
        "$server/logs",
        json => [{ event_id => $event, type => 7, content => $event }]);
    my $id = $answer->json->{ids}[0] or die $answer->text;
    my $status = '';
    eval { wait_for {
        my $page = $client->request('GET', "/api$server/logs?limit=100", %as);
        ($status) = map { $_->{delivery}{status} } grep { $_->{id} eq $id }
            @{ $page->json->{entries} };
        $status eq 'delivered';
    } 120 };
    is $status, 'delivered', 'an entry is delivered';
    # not all messages: the change of the channel may arrive in one of its own
    is qx{grep '"event":"message"' "$folder/platform/ledger" | grep -cF $event},
        "1\n", 'in one message';
}


sub home_of {
    my ($folder) = @_;
    chomp(my $home = qx{bash -c '. "$util/lib.sh"; home "$folder"'});
    return $home;
}


# does it wait for a lock, or has it ended?
sub waits {
    my ($pid) = @_;

    my $waits;
    eval { wait_for {
        $waits = -e "/proc/$pid/fd/9";
        $waits || qx{cat /proc/$pid/stat 2>/dev/null} !~ /\) [^Z] /;
    } 60 };
    return $waits;
}


END {
    local $?;
    kill 'INT', $foreground if $foreground;
    run($_, '--stop') for grep { -d } $third, $second, $first;
}


run($first, '--stop');
is $?, 0, 'stopping what never ran succeeds';

# without a network apt gets no package, and tells it at length
mkdir "$dir/bin";
for my $name ('apt-get', 'sudo') {
    open my $out, '>', "$dir/bin/$name" or die "$name: $!";
    print $out "#!/bin/sh\n", $name eq 'sudo' ? 'exec "$@"' : 'echo "$@" >> '
        . "$dir/asked; seq 60; case \" \$*\" in *' --simulate '*) ;; "
        . "*' install '*) exit 100; esac";
    close $out;
    chmod 0755, "$dir/bin/$name";
}
open my $dpkg, '>', "$dir/bin/dpkg" or die "dpkg: $!";
print {$dpkg} "#!/bin/sh\necho \"\$@\" >> $dir/asked\necho half\n";
close $dpkg;
chmod 0755, "$dir/bin/dpkg";
my $needs = qx{PATH="$dir/bin:\$PATH" bash -c '. "$util/lib.sh"; need such' 2>&1};
isnt $?, 0, 'a package that is not to be had stops it';
my @needs = split /\n/, $needs;
cmp_ok scalar @needs, '<=', 17, 'in few lines' or diag $needs;
like $needs[-1], qr/please install, as root: such$/, 'the last says what to do';
my ($audit, $configure, @apt) = split /\n/, slurp("$dir/asked");
is $configure, '--configure -a', 'what was interrupted before is ended';
is scalar @apt, 4, 'it was tried again with new lists, and not more often';

for my $port ('abc', '0', '99999') {
    like run($first, '--background', GUILDLOG_PORT => $port),
        qr/GUILDLOG_PORT is not 1 to 65535/, "port $port is refused";
}

# not the default port 8080: another program there would make the address differ
# from one start to the next
for my $folder ($first, $second, $third) {
    make_path("$folder/private", { mode => 0700 });
    open my $out, '>', "$folder/private/port" or die "port: $!";
    print $out free_port();
    close $out or die "port: $!";
}
my $said = run($first, '--background');
is $?, 0, 'it starts' or diag $said;
like $said, qr{\$GUILDLOG_URL/servers}, 'it prints what to try';

my $env = env_of($first);
is join(' ', sort keys %$env), join(' ', qw(
    GUILDLOG_ADMIN_TOKEN GUILDLOG_BASIC_TOKEN GUILDLOG_CONF GUILDLOG_DB
    GUILDLOG_NGINX_PID GUILDLOG_OPERATOR), -x "$util/../t/lib/platform"
    ? 'GUILDLOG_PLATFORM' : (), qw(
    GUILDLOG_SERVER GUILDLOG_STATUS GUILDLOG_URL GUILDLOG_VIEWER)),
    '--env prints these variables';
unlike join('', values %$env), qr/[\s"'\$`\\&;|<>()*?]/, 'a shell can read it';
is status($env), 200, 'the Admin token works';
my $base = Guildlog::Client->new(port => $env->{GUILDLOG_URL} =~ /:(\d+)/)
    ->request('GET', '/api');
is join(' ', $base->status, $base->text), '401 {}',
    'the base URL answers without a token';
is status($env, token => $env->{GUILDLOG_BASIC_TOKEN}), 403,
    'the Basic token is accepted as one';
is qx{curl -s -o /dev/null -w '%{http_code}' $env->{GUILDLOG_STATUS}}, 200,
    'the status page answers';
is qx{psql -XAtc 'select count(*) from guildlog.server' "$env->{GUILDLOG_DB}"},
    "1\n", 'the owner can open the database';
ok kill(0, $env->{GUILDLOG_NGINX_PID}), 'the master runs';
my @secrets = map { "-name '$_'" } qw(*.key *.password bot.* demo.*);
my $find = qq{find "$first/private" -type f \\( } . join(' -o ', @secrets)
    . ' \)';
is scalar(() = qx{$find}), 10, 'keys, passwords and tokens are in files';
is qx{$find -perm /077}, '', 'only their owner can read them';

my $command = "$util/guildlog server set $env->{GUILDLOG_SERVER} --operator "
    . "$env->{GUILDLOG_OPERATOR}";
like qx{$command --name Kept}, qr/^name +Kept$/m, 'util/guildlog names a server';
like qx{$command --plan gold 2>&1}, qr/^guildlog: PUT .* 400: /,
    'and prints the refusal';

# a copy of the folder is another service; what runs is not its own

my $copy = "$dir/copy";
system("cp -a '$first' '$copy' 2>/dev/null");    # some files come and go
ok -s "$copy/private/session", 'a copy is made while it runs';
$said = run($copy, '--env');
isnt $?, 0, 'in a copy nothing runs' or diag $said;
run($copy, '--stop');
is $?, 0, 'it can be stopped all the same';
is status($env), 200, 'what it was copied from goes on';
is env_of($first)->{GUILDLOG_NGINX_PID}, $env->{GUILDLOG_NGINX_PID},
    'and is at its place';
system('rm', '-r', $copy) == 0 or die 'rm';

# killed in the middle of the first start, it begins anew

my $killed = fork // die "fork: $!";
if (!$killed) {
    setpgrp;
    $ENV{GUILDLOG_RUN_DIR} = "$dir/killed";
    open STDOUT, '>', "$dir/said";
    open STDERR, '>&', \*STDOUT;
    exec "$util/run";
}
wait_for { -e "$dir/killed/pg/initdb.password"
    && -s "$dir/killed/pg/data/PG_VERSION" || -e "$dir/killed/private/env" } 60;
kill 'KILL', -$killed;
waitpid $killed, 0;
like run("$dir/killed", '--background'), qr/^guildlog answers at /m,
    'after a kill within initdb it starts'
    or diag slurp("$dir/said");
run("$dir/killed", '--stop');

# where servers cannot have their files in it, the folder leads to another one

my $long = "$dir/" . 'long' x 20;
my $home = home_of("$long/a");
like $home, qr{^/var/tmp/guildlog-\w+$}, 'the name is too long for a socket';
system('cp', '-a', "$long/a", "$long/b") == 0 or die 'cp';
isnt home_of("$long/b"), $home, 'a copy has a home of its own';
is home_of("$long/a"), $home, 'what it was copied from keeps its home';
rename "$long/a", "$long/c" or die "rename: $!";
is home_of("$long/c"), $home, 'and takes it along when it is moved';
isnt home_of("$long/a"), $home, 'who comes to the old place has another one';
rmtree([map { home_of("$long/$_") } qw(a b c)]);

# Race: the pid file names a master that leads its session only a second later
mkdir "$first/bin";
open my $script, '>', "$first/bin/nginx" or die "nginx: $!";
print $script <<'NGINX';
#!/bin/sh
perl -MPOSIX -e 'sleep 1; setsid(); exec "/usr/sbin/nginx", @ARGV' \
    -- "$@" -g 'daemon off;' > /dev/null 2>&1 &
echo $! > nginx.pid
NGINX
close $script;
chmod 0755, "$first/bin/nginx";

my $old = $env;
for my $victim ('nginx', 'postgres') {
    my $pid = $victim eq 'nginx' ? $env->{GUILDLOG_NGINX_PID}
            : (qx{head -1 "$first/pg/data/postmaster.pid"} =~ /(\d+)/)[0];
    kill 'KILL', $pid;
    $said = run($first, '--background', PATH => "$first/bin:$ENV{PATH}");
    is $?, 0, "it starts again after a kill of $victim" or diag $said;
    $env = env_of($first);
    is $env->{GUILDLOG_URL}, $old->{GUILDLOG_URL}, 'at the same address';
    is $env->{GUILDLOG_ADMIN_TOKEN}, $old->{GUILDLOG_ADMIN_TOKEN},
        'with the same token';
    is status($env), 200, 'which still works';
}

$said = run($second, '--background', GUILDLOG_WORKERS => 1,
    GUILDLOG_DB_URL => $env->{GUILDLOG_DB},
    GUILDLOG_KEYS   => "$first/private/keys");
is $?, 0, 'a second machine starts on the same database' or diag $said;
my $other = env_of($second);
isnt $other->{GUILDLOG_URL}, $env->{GUILDLOG_URL}, 'at its own address';
is status($other, token => $env->{GUILDLOG_ADMIN_TOKEN}), 200,
    "it accepts the first machine's token";
is status($env), 200, 'so does the first machine';
is $other->{GUILDLOG_PLATFORM}, $env->{GUILDLOG_PLATFORM},
    'both use the same platform';
delivered($other, $first);

# the first machine restarts beside the second
$said = run($first, '--background');
is $?, 0, 'the first starts again' or diag $said;
like $said, qr/^It runs already, and starts again$/m, 'and says so';
$env = env_of($first);
is $env->{GUILDLOG_PLATFORM}, $other->{GUILDLOG_PLATFORM},
    'the platform is at the same address';
delivered($other, $first);

# Race: another program takes the port between the check and nginx's start
mkdir "$second/bin";
open my $taking, '>', "$second/bin/nginx" or die "nginx: $!";
print $taking <<'NGINX';
#!/usr/bin/perl
use IO::Socket::INET;
my ($folder) = $0 =~ m{(.*)/bin/};
if (!-e "$folder/taker") {
    my ($port) = qx{cat "$folder/private/port"} =~ /(\d+)/;
    my $taken = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => $port, Listen => 1, ReuseAddr => 1) or die "listen: $!";
    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        open $_, '>', '/dev/null' for *STDOUT, *STDERR;
        sleep 600;
        exit;
    }
    system qq{echo $pid > "$folder/taker"};
    if (-e "$folder/moment") {
        close $taken;
        my $status = system '/usr/sbin/nginx', @ARGV;
        kill 'KILL', $pid;
        exit $status >> 8;
    }
}
exec '/usr/sbin/nginx', @ARGV;
NGINX
close $taking;
chmod 0755, "$second/bin/nginx";

for my $long ('moment', 'ever') {
    my $before = $other->{GUILDLOG_URL};
    run($second, '--stop');
    system 'touch', "$second/$long";
    $said = run($second, '--background', PATH => "$second/bin:$ENV{PATH}");
    is $?, 0, "it starts where its port was taken for $long"
        or diag $said, slurp("$second/nginx/logs/error.log");
    $other = env_of($second);
    my $where = $other->{GUILDLOG_URL} eq $before ? 'same' : 'other';
    is $where, $long eq 'ever' ? 'other' : 'same', "at the $where address";
    kill 'KILL', qx{cat "$second/taker"} =~ /(\d+)/ if $long eq 'ever';
    unlink "$second/taker", "$second/$long";
}
is status($other, token => $env->{GUILDLOG_ADMIN_TOKEN}), 401,
    "it does not know the first machine's token";

# Race: the same with the port of the stand-in, which is started by setsid
open $taking, '>', "$second/bin/setsid" or die "setsid: $!";
print $taking <<'SETSID';
#!/usr/bin/perl
use IO::Socket::INET;
my ($folder) = $0 =~ m{(.*)/bin/};
if ("@ARGV" =~ /platform --port (\d+)/ && !-e "$folder/taken") {
    my $taken = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        LocalPort => $1, Listen => 1, ReuseAddr => 1) or die "listen: $!";
    defined(my $pid = fork) or die "fork: $!";
    system qq{echo $$ $1 > "$folder/taken"} if $pid;
    sleep 600 if $pid;
    close $taken;
}
exec '/usr/bin/setsid', @ARGV;
SETSID
close $taking;
chmod 0755, "$second/bin/setsid";

run($second, '--stop');
$said = run($second, '--background', PATH => "$second/bin:$ENV{PATH}");
is $?, 0, "it starts where its stand-in's port was taken" or diag $said;
$other = env_of($second);
my ($taker, $taken) = qx{cat "$second/taken"} =~ /(\d+) (\d+)/;
unlike $other->{GUILDLOG_PLATFORM}, qr/:$taken\b/, 'the stand-in is elsewhere';
is status($other), 200, 'and it answers';
kill 'KILL', $taker;

run($first, '--stop');
is status($other), 200, 'one goes on when the other is stopped';
run($first, '--env');
isnt $?, 0, '--env fails for the stopped one';
ok !kill(0, $env->{GUILDLOG_NGINX_PID})
    || qx{cat /proc/$env->{GUILDLOG_NGINX_PID}/stat} =~ /\) Z /,
    'no process of it is left';

$said = run($first, '--background --fresh');
is $?, 0, 'it starts afresh' or diag $said;
$env = env_of($first);
isnt name_of($env), 'Kept', 'the old data are gone';
is qx{grep -c '"event":"message"' "$first/platform/ledger"}, "0\n",
    "so are the platform's messages";

# TLS, and a conninfo of several parameters
my $cluster = Guildlog::Cluster->shared;
system('cp', $cluster->certificate, "$dir/ca.crt") == 0 or die 'cp';
chmod 0644, "$dir/ca.crt";
for my $keys ("$dir/keys", "$dir/other") {
    mkdir $keys;
    open my $out, '>', "$keys/database.password" or die $!;
    print $out 'module';
    close $out;
    chmod 0600, "$keys/database.password";
}
my %tls = (GUILDLOG_WORKERS => 1, GUILDLOG_KEYS => "$dir/keys",
    GUILDLOG_DB_URL => 'postgresql://guildlog_owner:owner@localhost:'
        . $cluster->port . '/' . $cluster->create_database
        . "?sslmode=verify-full&sslrootcert=$dir/ca.crt");
$said = run($third, '--background', %tls);
is $?, 0, 'it starts on a database by TLS' or diag $said;
is qx{eval "\$(GUILDLOG_RUN_DIR="$third" "$util/run" --env)"
      echo "\$GUILDLOG_DB"}, "$tls{GUILDLOG_DB_URL}\n",
    'a shell can read it';
is qx{psql -XAtc "select distinct ssl from pg_stat_ssl
          join pg_stat_activity using (pid) where usename = 'guildlog'
          and datname = current_database()" '$tls{GUILDLOG_DB_URL}'}, "t\n",
    "nginx's connections are encrypted, too";

# the server has two tokens already
system(qq{"$util/guildlog" token create $env->{GUILDLOG_SERVER} --creator 1 --operator }
    . env_of($third)->{GUILDLOG_OPERATOR} . ' > /dev/null') for 1 .. 3;
$said = run($third, '--background', %tls, GUILDLOG_KEYS => "$dir/other");
isnt $?, 0, 'a sixth token for other keys is refused';
like $said, qr/^run: .*GUILDLOG_KEYS/m, 'the message says what to do';

($said = $tls{GUILDLOG_DB_URL}) =~ s/verify-full/require/;
$said = run($third, '--background', %tls, GUILDLOG_DB_URL => $said);
isnt $?, 0, 'it refuses an sslmode that nginx does not have';
like $said, qr/^run: sslmode=require is not for nginx/m, 'the message says so';

# in the foreground, while another util/run has the lock
run($first, '--stop');
$foreground = fork // die "fork: $!";
if (!$foreground) {
    $ENV{GUILDLOG_RUN_DIR} = $first;
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', "$dir/said";
    exec "$util/run";
}
wait_for { qx{cat "$dir/said"} =~ /Ctrl-C/ } 60;
$env = env_of($first);
open my $lock, '>', "$first/private/lock" or die "lock: $!";
flock $lock, 2 or die "flock: $!";
rename "$first/nginx/nginx.pid", "$first/nginx/away" or die "rename: $!";
ok waits($foreground), 'without a pid file it waits for the lock';
rename "$first/nginx/away", "$first/nginx/nginx.pid" or die "rename: $!";
close $lock;
wait_for { !-e "/proc/$foreground/fd/9" } 60;
is status($env), 200, 'everything goes on when the pid file is back';

# a binary upgrade
$old = $env;
kill 'USR2', $old->{GUILDLOG_NGINX_PID};
eval { wait_for {
    -e "$first/nginx/nginx.pid.oldbin" && -s "$first/nginx/nginx.pid" } 60 };
$env = env_of($first);
isnt $env->{GUILDLOG_NGINX_PID}, $old->{GUILDLOG_NGINX_PID},
    'the new binary starts';
kill 'QUIT', $old->{GUILDLOG_NGINX_PID};
wait_for { !-e "$first/nginx/nginx.pid.oldbin" } 60;
is status($env), 200, 'it takes over';
is waitpid($foreground, WNOHANG), 0, 'util/run goes on with it';

run($first, '--stop');
is $?, 0, 'another util/run stops it';
waitpid $foreground, 0;
is $?, 0, 'it ends without an error';
undef $foreground;

done_testing;
