package Guildlog;

use strict;
use warnings;
use utf8;

use Cpanel::JSON::XS;
use Cwd ();
use Digest::SHA qw(hmac_sha256 hmac_sha384 hmac_sha512);
use DBI;
use Exporter;
use File::Basename qw(basename dirname);
use File::Path qw(make_path remove_tree);
use File::Temp;
use IO::Socket::INET;
use JSON::PP ();    # its booleans
use MIME::Base64 qw(encode_base64url decode_base64url);
use POSIX qw(WNOHANG);
use Test::More import => ['!done_testing'];
use Time::HiRes qw(sleep time);

use Guildlog::Client;
use Guildlog::Cluster;
use Guildlog::File;

our @EXPORT = (
    (grep { $_ ne 'done_testing' } @Test::More::EXPORT),
    qw(done_testing wait_for free_port json base64url),
);

sub wait_for(&;$$);

our $TOP = Cwd::abs_path(dirname(__FILE__) . '/../..');

my %signer = (
    HS256 => \&hmac_sha256, HS384 => \&hmac_sha384, HS512 => \&hmac_sha512,
);

# nginx itself does some undefined things in C; only our own count
my $alarming = qr{\[(?:alert|emerg)\]|open\ socket|exited\ on\ signal
    |exited\ with\ code\ [1-9]
    |/src/\w+/ngx_(?:http_)?guildlog\w*\.[ch]:\d+:\d+:\ runtime\ error}x;

my $json = Cpanel::JSON::XS->new->utf8->canonical->allow_nonref;
my $dir;          # of this test file
my @running;      # every nginx of this test file
my $owner = $$;   # children of a test stop nothing
my $next_guild = 100_000_000_000_000_000 + $$ * 1_000_000;


sub import {
    my ($class) = @_;

    strict->import;
    warnings->import;
    utf8->import;
    binmode $_, ':encoding(UTF-8)'
        for map { Test::More->builder->$_ }
            qw(output failure_output todo_output);
    goto &Exporter::import;
}


sub new {
    my ($class, %option) = @_;

    my $self = bless {
        option   => { workers => 1, master_process => 1, start => 1,
            patience => 60, %option },
        password => 'module',
    }, $class;

    $self->{cluster}  = $option{cluster} || Guildlog::Cluster->shared;
    $self->{dbname}   = $option{dbname}  || $self->{cluster}->create_database;
    $self->{name}     = $option{name}    || 'nginx' . @running;
    $self->{prefix}   = _dir() . "/$self->{name}";
    $self->{port}     = free_port();
    $self->{operator} = "$self->{prefix}/operator.sock";

    make_path("$self->{prefix}/logs", "$self->{prefix}/temp");
    chmod 0777, "$self->{prefix}/logs";    # workers write sanitizers' reports
    $self->file('database.password', $self->{password}, 0600);
    $self->file('main.key', $option{secret} // 'a secret of the tests and of nobody else',
        0600);
    $self->_write_conf;

    push @running, $self;
    $self->start if $self->{option}{start};
    return $self;
}


sub prefix   { $_[0]{prefix} }
sub port     { $_[0]{port} }
sub cluster  { $_[0]{cluster} }
sub dbname   { $_[0]{dbname} }
sub url      { "http://127.0.0.1:$_[0]{port}" }


# files

sub file {
    my ($self, $name, $content, $mode) = @_;

    my $path = "$self->{prefix}/$name";
    make_path(dirname($path));
    open my $out, '>:raw', $path or die "$path: $!";
    utf8::encode($content) if utf8::is_utf8($content);
    print {$out} $content;
    close $out or die "$path: $!";
    chmod $mode, $path if defined $mode;
    return $path;
}


sub error_log {
    my ($self) = @_;
    return slurp("$self->{prefix}/logs/error.log");
}


sub access_log {
    my ($self) = @_;
    return slurp("$self->{prefix}/logs/access.log");
}


# processes

sub start {
    my ($self) = @_;

    die "already running" if $self->{pid};

    unlink "$self->{prefix}/nginx.pid";
    defined(my $pid = fork) or die "fork: $!";

    if (!$pid) {
        chdir $self->{prefix};
        $ENV{ASAN_OPTIONS} = $self->_sanitizer_options;
        %ENV = (%ENV, %{ $self->{option}{env} || {} });
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', "$self->{prefix}/logs/out";
        open STDERR, '>&', \*STDOUT;
        exec $self->_command, '-g', 'daemon off;' or POSIX::_exit(127);
    }

    $self->{pid} = $pid;
    delete $self->{status};

    my $up = eval { wait_for {
        $self->_reap || -s "$self->{prefix}/nginx.pid" && $self->_up
            && $self->_complete;
    } $self->{option}{patience} };

    if (!$up || defined $self->{status}) {
        die "nginx did not start: ", slurp("$self->{prefix}/logs/out"),
            $self->error_log;
    }
    return $self;
}


# nginx -t: (whether it succeeded, its output)
sub test_conf {
    my ($self) = @_;

    $self->_write_conf;
    local $ENV{ASAN_OPTIONS} = $self->_sanitizer_options;
    my $out = "$self->{prefix}/logs/test";
    my $ok = system('/bin/sh', '-c', 'out=$1; shift; exec "$@" > "$out" 2>&1',
        'sh', $out, $self->_command, '-e', 'stderr', '-t') == 0;
    return ($ok, slurp($out));
}


# writes a new configuration from changed options
sub configure {
    my ($self, %option) = @_;

    $self->{option} = { %{ $self->{option} }, %option };
    $self->_write_conf;
    return $self;
}


# waits until the new workers serve and the old ones are gone, unless "nowait"
sub reload {
    my ($self, %how) = @_;

    my %old = map { $_ => 1 } $self->workers;
    $self->signal('HUP');
    return if $how{nowait};

    wait_for {
        my @now = $self->workers;
        @now >= $self->{option}{workers} && !grep { $old{$_} } @now;
    } 60, 'reloaded';
}


sub signal {
    my ($self, $signal, @pids) = @_;

    @pids = $self->pid if !@pids;
    kill $signal, @pids;
}


# does something while no worker moves
sub frozen {
    my ($self, $what) = @_;

    my @workers = $self->workers;
    $self->signal('STOP', @workers);
    $what->();
    $self->signal('CONT', @workers);
    return;
}


# the pid of the master, also after a binary upgrade
sub pid {
    my ($self) = @_;

    my $pid = slurp("$self->{prefix}/nginx.pid");
    return $pid =~ /(\d+)/ ? $1 : $self->{pid};
}


sub workers {
    my ($self) = @_;

    return $self->pid if !$self->{option}{master_process};

    my $pid = $self->pid;
    return grep {
        slurp("/proc/$_/cmdline") =~ /^nginx: worker/
    } split ' ', slurp("/proc/$pid/task/$pid/children");
}


# are these workers to exit, or gone?
sub leaving {
    my ($self, @pids) = @_;

    return !grep { slurp("/proc/$_/cmdline") !~ /shutting down|^$/ } @pids;
}


# has a worker accepted every connection to its port, and to these?
sub accepted {
    my ($self, @ports) = @_;

    my %port = map { sprintf('%04X', $_) => 1 } $self->{port}, @ports;
    for (split /\n/, slurp('/proc/net/tcp')) {
        my (undef, $at, undef, $state, $queues) = split;
        my ($port) = $at =~ /:(\w+)$/ or next;
        return 0 if $port{$port} && $state eq '0A' && $queues !~ /:0+$/;
    }
    return 1;
}


# sends QUIT and waits; done_testing reports what is wrong then
sub stop {
    my ($self, $signal) = @_;

    return if !$self->{pid};

    my $pid = $self->pid;
    kill $signal || 'QUIT', $pid if !defined $self->{status};

    my $gone = eval {
        wait_for { $self->_reap && !kill 0, $pid } $self->{option}{patience};
    };
    if (!$gone) {
        $self->_complain('nginx did not stop');
        kill 'KILL', $pid, $self->workers;
        $self->_reap(1);
    }

    if ($self->{status} && !$self->{killed}) {
        $self->_complain("nginx ended with status $self->{status}");
    }
    delete @$self{qw(pid status killed)};
}


# kills the master and its workers
sub kill_all {
    my ($self) = @_;

    my @workers = $self->kill_master;
    kill 'KILL', @workers;
    $self->gone(@workers);
}


# kills a worker, or what it has at the database, in some ms: the pid of who does it
sub kill_soon {
    my ($self) = @_;

    my ($signal, @pids) = rand() < .5 ? ('KILL', ($self->workers)[0]) : ('TERM',
        map { $_->[0] } $self->sql(q(select pid from pg_stat_activity
            where datname = current_database() and usename = 'guildlog')));
    my $wait = rand .01;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    select undef, undef, undef, $wait;
    kill $signal, @pids;
    POSIX::_exit(0);
}


# kills the master alone; returns the pids of its workers, which go on.  It
# stops the master first, so that it starts no more workers; the youngest
# workers have no title yet
sub kill_master {
    my ($self) = @_;

    my $pid = $self->pid;
    kill 'STOP', $pid;
    my @orphans = split ' ', slurp("/proc/$pid/task/$pid/children");
    kill 'KILL', $pid;
    $self->{killed} = 1;
    $self->_reap(1);
    delete @$self{qw(pid status killed)};
    return @orphans;
}


# waits until killed workers have ended: they hold the port until only their
# status is left
sub gone {
    my ($self, @pids) = @_;

    wait_for { !grep { slurp("/proc/$_/stat") =~ /\) [^ZX]/ } @pids } 60,
        'workers end';
}


# requests

sub connection {
    my ($self, %option) = @_;

    return Guildlog::Client->new(port => $self->{port},
        %{ $self->{option}{connect} || {} }, %option);
}


sub request {
    my ($self, $method, $path, %option) = @_;

    my $connection = delete $option{connection}
        || $self->connection(%{ delete $option{connect} || {} });
    my $raw = delete $option{raw_path};

    my $answer = $connection->request($method, $raw ? $path : "/api$path",
        %option);
    $self->_hold_against_openapi('shared', $method, $path, $answer) if !$raw;
    return $answer;
}


# with the option "openapi", every answer must be as conf/openapi.yaml or
# conf/openapi-operator.yaml describes it
sub _hold_against_openapi {
    my ($self, $file, $method, $path, $answer) = @_;

    return if !$self->{option}{openapi};

    require Guildlog::OpenAPI;
    $self->_complain("$method $path: $_")
        for Guildlog::OpenAPI->$file->problems($method, $path, $answer);
}


sub get    { my $self = shift; return $self->request('GET',    @_) }
sub head   { my $self = shift; return $self->request('HEAD',   @_) }
sub post   { my $self = shift; return $self->request('POST',   @_) }
sub put    { my $self = shift; return $self->request('PUT',    @_) }
sub patch  { my $self = shift; return $self->request('PATCH',  @_) }
sub delete { my $self = shift; return $self->request('DELETE', @_) }


sub operator {
    my ($self, $method, $path, $body) = @_;

    my $answer = Guildlog::Client->new(unix => $self->{operator})
        ->request($method, $path, defined $body ? (json => $body) : ());
    $self->_hold_against_openapi('operator', $method, $path, $answer);
    return $answer;
}


# servers and tokens

sub server {
    my ($self, %server) = @_;

    my $guild = delete $server{id} || $next_guild++;
    my $answer = $self->operator('PUT', "/servers/$guild",
        { name => 'Test', owner_id => '200000000000000001', plan => 'pro',
          %server });
    die "no server: ", $answer->text if $answer->status !~ /^20[01]$/;
    return "$guild";
}


sub token {
    my ($self, $guild, %option) = @_;

    return $self->new_token($guild, %option)->{token};
}


# {token, unique_id, expires_at}
sub new_token {
    my ($self, $guild, %option) = @_;

    my $kind = $option{kind} || 'admin';
    my $answer = $self->operator('POST', "/servers/$guild/tokens", {
        permissions => { admin => 1, basic => 2, read => 3 }->{$kind},
        creator     => $option{creator} || '200000000000000001',
        $option{bot} ? (bot => $option{bot}) : (),
    });
    die "no token: ", $answer->text if $answer->status != 201;
    return $answer->json;
}


# that many Admin tokens; more than a server may create is allowed
sub tokens {
    my ($self, $guild, $n) = @_;

    my @ids = map { "crowd-$_" } 1 .. $n;
    $self->sql(q(insert into token (guild_id, token_id, bot, permissions,
            creator, created_at, expires_at)
        select ?, id, 0, 1, 1, now(), now() + interval '1 hour'
          from unnest(?::text[]) id), $guild, \@ids);
    return map { $self->sign($self->claims($guild, jti => $_)) } @ids;
}


# a token of any shape: claims as a hash or as text, any algorithm and key;
# "header" replaces fields of the header.  A key is a secret, or the file of a
# private key in PEM.
sub sign {
    my ($self, $claims, %option) = @_;

    my $alg    = $option{alg} || 'HS256';
    my $kid    = exists $option{kid} ? $option{kid}
               : $option{alg}        ? undef
               :                       'main';
    my $header = $option{header} || { alg => $alg, typ => 'JWT',
        defined $kid ? (kid => $kid) : () };
    my $key    = $option{key} // slurp("$self->{prefix}/main.key");

    my $input = join '.', map {
        base64url(ref $_ ? $json->encode($_) : $_)
    } $header, $claims;

    my $sign = $signer{$alg};
    my $signature = $sign          ? $sign->($input, $key)
                  : $alg eq 'none' ? ''
                  :                  _openssl_sign($alg, $key, $input);
    return $input . '.' . base64url($signature);
}


# claims of a good token, with changes; undef removes a claim
sub claims {
    my ($self, $guild, %change) = @_;

    my %claims = (
        iss => 'guildlog', sub => "$guild", jti => 'unknown',
        bot => 'main', kind => 'admin', iat => int time,
        exp => int(time) + 3600, %change,
    );
    delete @claims{grep { !defined $claims{$_} } keys %claims};
    return \%claims;
}


# files with a key pair for RS*, ES*: {private, public}; a secret for HS*
sub key_pair {
    my ($self, $alg, $name) = @_;

    $name ||= lc $alg;
    my $private = "$self->{prefix}/$name.private.pem";
    my $public  = "$self->{prefix}/$name.public.pem";
    my %curve = (ES256 => 'P-256', ES384 => 'P-384', ES512 => 'P-521');

    my @kind = $curve{$alg}
        ? ('EC', '-pkeyopt', "ec_paramgen_curve:$curve{$alg}")
        : ('RSA', '-pkeyopt', 'rsa_keygen_bits:2048');

    system("openssl genpkey -algorithm @kind -out $private 2>/dev/null"
        . " && openssl pkey -in $private -pubout -out $public") == 0
        or die "openssl";
    chmod 0600, $private;
    return { private => $private, public => $public };
}


# the database

# runs a query as the schema's owner; returns the rows as arrays, or in scalar
# context the first column of the first row
sub sql {
    my ($self, $sql, @values) = @_;

    $self->{dbh} ||= $self->{cluster}->connect($self->{dbname});
    my $statement = $self->{dbh}->prepare($sql);
    $statement->execute(@values);
    my $rows = $statement->{NUM_OF_FIELDS}
        ? $statement->fetchall_arrayref : [];

    return wantarray ? @$rows : @$rows ? $rows->[0][0] : undef;
}


# Every task of the keeper is due.  Lock: its step has the row of the first one
# before any other row.
sub keeper_is_due {
    my ($self) = @_;

    $self->sql("update keeper set due_at = now() where exists (select from
        (select from keeper where task = 'partitions' for update) turn)");
}


# puts the rows of a test's own table where their servers are
sub distribute {
    my ($self, $table, $column) = @_;

    $self->sql('select create_distributed_table(?, ?,
        colocate_with => $$server$$)', $table, $column)
        if $self->{cluster}->nodes > 1;
}


# a connection to the node that has the server's rows
sub node {
    my ($self, $guild) = @_;

    my @nodes = $self->{cluster}->nodes;
    my $port  = @nodes == 1 ? $nodes[0]->port : $self->sql(q(
        select nodeport from pg_dist_shard_placement
         where shardid = get_shard_id_for_distribution_column('server',
                                                              ?::bigint)),
        $guild);
    my ($node) = grep { $_->port == $port } @nodes;
    return $node->connect($self->{dbname});
}


# what arrived was recorded so many days earlier, of what matches
sub days_pass {
    my ($self, $days, $which, @arguments) = @_;

    # Citus takes nothing here that might depend on a time zone
    $self->sql("update log_head set since = to_timestamp(86400 * -?::int
        + extract(epoch from since - to_timestamp(0))::float8)
        where since > '-infinity'", $days);
    $self->sql("update log_arrival set recorded_at = to_timestamp(86400 * -?::int
        + extract(epoch from recorded_at - to_timestamp(0))::float8)
        where $which", $days, @arguments);
}


# takes all entries of a server away; its events stay known
sub no_entries {
    my ($self, $guild) = @_;

    $self->sql("delete from $_ where guild_id = ?", $guild)
        for qw(log_block log_day);
    $self->sql('update log_made set actors = null, lasts = null,
        new_actors = null, new_lasts = null where guild_id = ?', $guild);
    $self->sql('update log_arrival set id = null, doc = null, held_to = null,
        lane = null, seq = null where guild_id = ?', $guild);
}


# takes entries back that are in no block yet, as active ignore does
sub take_back {
    my ($self, $guild, @ids) = @_;

    $self->sql('update log_arrival set id = null, doc = null, held_to = null,
        lane = null, seq = null, dchannel_id = null, dstatus = null,
        dreason = null where guild_id = ? and id = any (?)', $guild, \@ids);
    $self->sql('update log_head set arrival = arrival where guild_id = ?', $guild);
    $self->sql('select search_removed(?, ?::smallint)', $guild, $_) for 0, 1;
}


# a part of it: blocks of the next few that arrived, which are so many at most
sub some_blocks {
    my ($self, $guild, $most) = @_;

    return $self->sql('select block_make(guild_id, bot, ?) from log_head
        where guild_id = ?', $most, $guild);
}


# what a test has just recorded stands where GUILDLOG_STORED says: "blocks", or
# "mixed": every other time half of what waits; else it is hot
sub stored {
    my ($self, $guild) = @_;

    my $where = $ENV{GUILDLOG_STORED} // 'hot';
    return if $where eq 'hot';
    return $self->blocks($guild) if $where eq 'blocks';

    my $waits = $self->sql('select sum(arrival - blocked) from log_head
        where guild_id = ?', $guild);
    $self->some_blocks($guild, 1 + int $waits / 2)
        if $waits && ++$self->{stored} % 2;
    return;
}


# makes blocks of what is left of a server, or of all
sub blocks {
    my ($self, $guild) = @_;

    for my $head ($self->sql('select guild_id, bot from log_head
        where arrival > blocked and guild_id = coalesce(?, guild_id)', $guild))
    {
        1 while $self->sql('select block_make(?, ?::smallint)', @$head);
    }
}


# the number of statements that wait for a lock, or of those that match, on all
# nodes
sub waiting {
    my ($self, $pattern) = @_;

    my $n = 0;
    for my $node ($self->{cluster}->nodes) {
        my $dbh = $self->{watch}{ $node->socket_dir }
            ||= $node->connect($self->{dbname});
        $n += $dbh->selectrow_array(<<'SQL', undef, $pattern // '');
            select count(*) from pg_stat_activity
             where wait_event_type = 'Lock' and datname = current_database()
               and query ~ ?
SQL
    }
    return $n;
}


# functions

# waits for a true value of the condition and returns it; dies after some
# seconds
sub wait_for(&;$$) {
    my ($condition, $seconds, $what) = @_;

    my $deadline = time + ($seconds ||= 30);
    my $value;

    until ($value = $condition->()) {
        die 'waited in vain: ', $what // 'a condition', "\n"
            if time > $deadline;
        sleep 0.02;
    }
    return $value;
}


# a port that nobody else in this run of util/test gets, free or stopped for a
# while, nor util/run; random whatever a test has seeded, as a second run may go on
sub free_port {
    my $given = ($ENV{GUILDLOG_TEST_DIR} || _dir()) . '/ports';
    mkdir $given;
    open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
    while (1) {
        sysread $random, my $bytes, 4;
        my $port = 10_000 + unpack('L', $bytes) % 15_000;
        return $port if mkdir "$given/$port" and IO::Socket::INET->new(
            Listen => 1, LocalAddr => '127.0.0.1', LocalPort => $port,
            ReuseAddr => 1);
    }
}


sub json {
    return $json;
}


sub base64url {
    return encode_base64url($_[0]);
}


# stops everything; fails if a server has complained
sub done_testing {
    my $builder = Test::More->builder;

    for my $nginx (@running) {
        $nginx->stop;
        my @complaints = $nginx->complaints;
        my $ok = ok(!@complaints, "$nginx->{name} ended in peace");
        $ok or diag($_) for @complaints;
    }
    $builder->done_testing(@_);
}


# complaints: what stop() found, sanitizers' reports, core files, and the log's
# errors, except those that a pattern of the option "allow" matches
sub complaints {
    my ($self) = @_;

    my @lines = grep { /$alarming/ } split /\n/, $self->error_log;
    push @lines, map { slurp($_) } glob "$self->{prefix}/logs/sanitizer.*";
    push @lines, map { "core: $_" } glob "$self->{prefix}/core*";

    my @allowed = @{ $self->{option}{allow} || [] };
    return @{ $self->{complaints} || [] }, grep {
        my $line = $_;
        !grep { $line =~ $_ } @allowed;
    } @lines;
}


END { _end() if $$ == $owner }


sub _end {
    my $status = $?;
    my $passing = Test::More->builder->is_passing;

    for my $nginx (grep { $_->{pid} } @running) {
        kill 'TERM', $nginx->pid;
        eval { wait_for { $nginx->_reap } 5 }
            or kill 'KILL', $nginx->pid, $nginx->workers;
    }
    if (!$passing || $status) {
        for my $nginx (@running) {
            my @log = grep { !/\[(?:debug|info|notice)\]/ }
                split /\n/, $nginx->error_log;
            splice @log, 0, -30 if @log > 30;
            diag("$nginx->{name}: $_") for @log;
        }

        # util/test does not run such a file once more
        my @complaints = map { $_->complaints } @running;
        mkdir "$ENV{GUILDLOG_TEST_DIR}/complaints"
            if @complaints && $ENV{GUILDLOG_TEST_DIR};
    }
    @running = ();
    Guildlog::Cluster->clean_up;
    remove_tree($dir) if $dir && !$ENV{GUILDLOG_KEEP};
    diag("kept $dir") if $dir && $ENV{GUILDLOG_KEEP};
    $? = $status;
}


# the rest is internal

sub _dir {
    return $dir if $dir;

    my $under = $ENV{GUILDLOG_TEST_DIR} || '/tmp';
    $dir = File::Temp::tempdir(basename($0, '.t') . '.XXXXXX',
        DIR => $under);
    chmod 0711, $dir;
    return $dir;
}


sub _complain {
    my ($self, $what) = @_;
    push @{ $self->{complaints} }, $what;
}


my %built;

# builds nginx and the module, unless util/test has built them
sub _build {
    my $flavour = $ENV{GUILDLOG_BUILD} || 'plain';

    if (!$built{$flavour}++ && !$ENV{GUILDLOG_TEST_DIR}) {
        system("'$TOP/util/build' $flavour >/dev/null") == 0
            or die "util/build $flavour failed\n";
    }

    my $objs = "$TOP/.build/$flavour/objs";
    return {
        nginx  => -x "$objs/nginx" ? "$objs/nginx" : '/usr/sbin/nginx',
        module => "$objs/ngx_http_guildlog_module.so",
    };
}


sub _command {
    my ($self) = @_;

    return (@{ $self->{option}{under} || [] }, _build()->{nginx},
        '-p', $self->{prefix},
        '-c', "$self->{prefix}/nginx.conf",
        '-e', "$self->{prefix}/logs/error.log");
}


sub _sanitizer_options {
    my ($self) = @_;

    return 'detect_leaks=0:disable_coredump=1:verify_asan_link_order=0'
        . ":log_path=$self->{prefix}/logs/sanitizer";
}


sub _reap {
    my ($self, $block) = @_;

    return 1 if defined $self->{status} || !$self->{pid};
    my $pid = waitpid $self->{pid}, $block ? 0 : WNOHANG;
    return 0 if $pid == 0;
    $self->{status} = $pid == $self->{pid} ? $? : 0;
    return 1;
}


sub _up {
    my ($self) = @_;

    return 1 if !$self->{listens};
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => $self->{port});
}


# do all workers run?  A young one has no title yet; nor has one below valgrind
sub _complete {
    my ($self) = @_;

    return $self->{option}{under}
        || (my @all = $self->workers) >= $self->{option}{workers};
}


sub _openssl_sign {
    my ($alg, $key, $input) = @_;

    my $file = File::Temp->new;
    print {$file} $input;
    close $file;

    my ($bits) = $alg =~ /(\d+)/;
    my @pss = $alg =~ /^PS/ ? '-sigopt rsa_padding_mode:pss' : ();
    my $signature = qx{openssl dgst -sha$bits @pss -sign '$key' '$file'};
    die "openssl dgst" if $?;
    return $alg =~ /^ES/ ? _raw_ecdsa($signature, $bits) : $signature;
}


# DER (SEQUENCE of two INTEGERs) → r || s
sub _raw_ecdsa {
    my ($der, $bits) = @_;

    my $width = $bits == 512 ? 66 : $bits / 8;
    my $at = ord(substr $der, 1, 1) & 0x80 ? 3 : 2;
    my $raw = '';

    for (1 .. 2) {
        my $length = ord substr $der, $at + 1, 1;
        my $number = substr $der, $at + 2, $length;
        $number =~ s/^\0+//;
        $raw .= "\0" x ($width - length $number) . $number;
        $at += 2 + $length;
    }
    return $raw;
}


# times are longer for machines that are slow or busy
my %patience = (connect_timeout => '10s', queue_timeout => '10s',
    timeout => '30s');


sub _database_directive {
    my ($self) = @_;

    my $given = $self->{option}{database};
    return '' if exists $self->{option}{database} && !defined $given;

    my %arg = (
        host          => $self->{cluster}->socket_dir,
        port          => $self->{cluster}->port,
        dbname        => $self->{dbname},
        user          => 'guildlog',
        password_file => 'database.password',
        %patience,
        %{ $given || {} },
    );
    return 'guildlog_database ' . join(' ', map { "$_=$arg{$_}" }
        grep { defined $arg{$_} } sort keys %arg) . ';';
}


sub _write_conf {
    my ($self) = @_;

    my %option = (main => '', http => '', server => '', api => '',
        locations => '', operator => '', status => '', conf => undef,
        keeper => 'off', operates => '',
        keys => ['HS256 main.key kid=main sign'], listen => '',
        connections => 1024, log => $ENV{GUILDLOG_LOG} || 'info',
        %{ $self->{option} });
    my $build    = _build();
    my $database = $self->_database_directive;
    my $keys     = join "\n    ",
        map { "guildlog_key $_;" } @{ $option{keys} };
    my $master   = $option{master_process} ? 'on' : 'off';

    my $http = $option{conf} // <<"HTTP";
    $database
    $keys
    guildlog_keeper $option{keeper};
    $option{http}

    server {
        listen 127.0.0.1:$self->{port} $option{listen};
        server_name localhost;
        error_page 400 405 414 421 494 495 496 497 500 501 505 /api/;
        $option{server}

        location /api/ {
            guildlog_api;
            $option{api}
        }

        location /status {
            guildlog_status;
            $option{status}
        }

        $option{locations}
    }

    server {
        listen unix:$self->{operator};

        location / {
            guildlog_operator $option{operates};
            $option{operator}
        }
    }
HTTP

    $http =~ s/%%PORT%%/$self->{port}/g;
    $http =~ s/%%PREFIX%%/$self->{prefix}/g;
    $http =~ s/%%OPERATOR%%/$self->{operator}/g;
    $http =~ s/%%DATABASE%%/$database/g;

    $self->{listens} = $http =~ /$self->{port}/;

    $self->file('nginx.conf', <<"CONF");
load_module $build->{module};
master_process $master;
worker_processes $option{workers};
working_directory $self->{prefix};
pid nginx.pid;
error_log logs/error.log $option{log};
debug_points abort;
env ASAN_OPTIONS;
$option{main}

events {
    worker_connections $option{connections};
}

http {
    access_log logs/access.log;
    client_body_temp_path temp/body;
    proxy_temp_path temp/proxy;
    fastcgi_temp_path temp/fastcgi;
    uwsgi_temp_path temp/uwsgi;
    scgi_temp_path temp/scgi;

$http
}
CONF
}


1;

__END__

=head1 NAME

Guildlog - what the tests in t/ share

=head1 SYNOPSIS

    use Guildlog;       # strict, warnings, Test::More

    my $g     = Guildlog->new(workers => 2, api => 'guildlog_limit off;');
    my $guild = $g->server(plan => 'free');
    my $admin = $g->token($guild);

    my $answer = $g->get("/servers/$guild", token => $admin);
    is $answer->status, 200;
    is $answer->json->{id}, $guild;

    done_testing;

Each object is an nginx of its own, with the module as util/build made it
(C<GUILDLOG_BUILD=asan> for the one with sanitizers), in a temporary folder, on
a free port, with a new database of the run's PostgreSQL.  C<done_testing>
stops them by QUIT and fails if one of them ended badly or logged an alert, an
emergency, an open socket, or a sanitizer's report.

=head1 MAKING ONE

C<< Guildlog->new(option => value...) >> makes and starts it.

    main http server api status operator   lines to add at that place; "api"
    locations                is the API's location, "locations" go beside it
    conf                     what stands in http{}, instead of all of these;
                             %%PORT%% %%PREFIX%% %%OPERATOR%% %%DATABASE%%
                             are replaced
    listen                   more parameters of the API's "listen"
    connect                  {option...} of every new connection
    database                 arguments of guildlog_database to change, as a
                             hash; undef for no such directive
    keys                     arguments of each guildlog_key
                             (['HS256 main.key kid=main sign'])
    secret                   what is in main.key
    workers, connections     worker_processes (1), worker_connections
    master_process           0 for a single process
    log                      level of the error log (info)
    under                    a command to run it by, as a list
    patience                 seconds for a start or an end (60)
    openapi                  1 to hold every answer against conf/openapi.yaml
                             and conf/openapi-operator.yaml
    allow                    [qr/.../] alarming lines that may be there
    cluster, dbname          a Guildlog::Cluster, an existing database of it
    start                    0 to leave it stopped
    name                     of its folder

=head1 METHODS

    start  stop([signal])  reload([nowait => 1])  kill_all
    kill_master                       the pids of the workers it leaves
    gone(pid...)                      waits for the end of killed ones
    configure(option => value...)     takes effect by reload or start
    test_conf                         nginx -t: (is it good, what it said)
    signal(name, [pid...])            to the master, or to these
    frozen(sub { ... })               while no worker moves
    pid  workers                      the master's, the workers' pids
    leaving(pid...)                   are these workers to exit, or gone?
    accepted([port...])               is no connection to its port left that
                                      no worker has accepted?
    port  url  prefix  cluster  dbname
    file(name, content, [mode])       writes into the prefix: its path
    error_log  access_log             what is in them

    get head post put patch delete(path, option...)
    request(method, path, option...)  a Guildlog::Response.  The path is below
                                      /api, unless raw_path is set
        token => T                    Authorization: Bearer T
        json => value or text         the body, as application/json
        body => bytes
        headers => [name, value...]
        connection => C               a Guildlog::Client to use
        connect => {option...}        of the new connection
    connection(option...)             a Guildlog::Client on the API's port
    operator(method, path, [value])   at the operator location, with JSON

    server(plan =>, name =>, ...)     a new server: its id
    token(guild, kind => 'basic' or 'read', bot => 'pro', creator =>)
    new_token(guild, ...)             {token, unique_id, expires_at}
    claims(guild, name => value...)   those of a good token, changed
    sign(claims, alg =>, key =>, kid =>, header =>)
    key_pair(alg, [name])             {private, public}, files in PEM

    sql(statement, value...)          rows, or in scalar context one value,
                                      as the schema's owner
    blocks([guild])                   makes blocks of all that waits
    some_blocks(guild, most)          of the next few
    stored(guild)                     as GUILDLOG_STORED says
    take_back(guild, id...)  no_entries(guild)
    days_pass(days, which, value...)

=head2 Guildlog::Response

    status  text  json  truncated
    header(name)                      every value; in scalar context the first

=head2 Guildlog::Client

    new(port => | unix =>, host =>, from =>, tls => 1 or {...}, timeout =>)
    request(method, path, option...)  as above
    send(bytes)  send_slowly(bytes, size => 1, pause => 0.01)
    response([method])                the next; undef at the end
    line([seconds])                   of a stream; undef if none comes
    some([seconds])                   what is there or comes
    closed([seconds])                 did the server close it?
    close([reset => 1])

=head2 Guildlog::Cluster

    shared                            the run's
    new                               one of the test's own
    standby                           a new hot standby of it
    start  stop([mode])  kill_all  pid  pids  log
    connect(database, [user])         DBI, as the owner or "postgres"
    create_database                   with the schema: its name
    socket_dir  port  certificate

=head1 FUNCTIONS

    wait_for { condition } [seconds, [what]]    its first true value
    free_port  json  base64url(bytes)
    done_testing

C<GUILDLOG_KEEP=1> keeps the temporary folder, C<GUILDLOG_LOG=debug> makes the
logs talk.

=cut
