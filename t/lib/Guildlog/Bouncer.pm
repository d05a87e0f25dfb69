package Guildlog::Bouncer;

# PgBouncer in transaction mode in front of a cluster, as conf/SCALING.md has it.

use strict;
use warnings;

use DBI;
use File::Path qw(remove_tree);
use File::Temp;

my @running;
my $owner = $$;


# for that nginx's database, with at most "size" connections to the server
sub new {
    my ($class, $cluster, %option) = @_;

    my $dir = File::Temp::tempdir('bouncer.XXXXXX', DIR => '/tmp');
    my $self = bless { dir => $dir, cluster => $cluster,
        port => Guildlog::free_port() }, $class;
    push @running, $self;

    _write("$dir/users", qq("guildlog" "module"\n));
    _write("$dir/pgbouncer.ini", <<"INI");
[databases]
* = host=${\$cluster->socket_dir} port=${\$cluster->port}

[pgbouncer]
pool_mode = transaction
default_pool_size = $option{size}
max_client_conn = 200
listen_addr =
listen_port = $self->{port}
unix_socket_dir = $dir
auth_type = scram-sha-256
auth_file = $dir/users
stats_users = guildlog
logfile = $dir/log
pidfile = $dir/pid
INI
    $self->start;
    return $self;
}


sub start {
    my ($self) = @_;

    # PgBouncer refuses to run as root
    system('bash', '-c', '. "$1/util/lib.sh"; chmod 711 "$2"
        ! am_root || chown -R postgres: "$2"
        as_pg pgbouncer -q -d "$2/pgbouncer.ini"', 'bash', $Guildlog::TOP,
        $self->{dir}) == 0 or die "pgbouncer does not start\n";
    Guildlog::wait_for(sub { $self->pid && eval { $self->show('version') } },
        20, 'PgBouncer');
}


# stops it at once, even while it serves
sub stop {
    my ($self) = @_;

    my $pid = $self->pid or return;
    kill 'TERM', $pid;
    Guildlog::wait_for(sub { !kill 0, $pid }, 20, 'the end of PgBouncer');
    unlink "$self->{dir}/pid";
}


sub pid {
    my ($self) = @_;

    open my $in, '<', "$self->{dir}/pid" or return;
    return (<$in> // '') =~ /^(\d+)\n/ ? $1 : undef;
}


# rows of its admin console, as hashes
sub show {
    my ($self, $what) = @_;

    my $console = DBI->connect("dbi:Pg:host=$self->{dir};port=$self->{port};"
        . 'dbname=pgbouncer', 'guildlog', 'module',
        { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
    $console->{pg_server_prepare} = 0;
    return @{ $console->selectall_arrayref("show $what", { Slice => {} }) };
}


# arguments of guildlog_database
sub database {
    my ($self) = @_;
    return (host => $self->{dir}, port => $self->{port}, prepare => 'off');
}


sub log {
    my ($self) = @_;

    open my $in, '<', "$self->{dir}/log" or return '';
    local $/;
    return scalar <$in>;
}


sub _write {
    my ($path, $content) = @_;

    open my $out, '>', $path or die "$path: $!";
    print {$out} $content;
    close $out or die "$path: $!";
}


END {
    if ($$ == $owner) {
        my $status = $?;
        for my $self (@running) {
            my $pid = $self->pid;
            kill 'KILL', $pid if $pid;
            remove_tree($self->{dir});
        }
        $? = $status;
    }
}


1;
