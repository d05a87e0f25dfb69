package Guildlog::Cluster;

# A private PostgreSQL: the one that all tests of a run share, or a test's own
# one to stop and to kill.  util/lib.sh has the functions for it.

use strict;
use warnings;

use DBI;
use DBD::Pg;
use File::Path qw(remove_tree);
use File::Temp;
use Time::HiRes qw(time);

use Guildlog::Command;
use Guildlog::File;

my $shared;
my @own;
my $databases = 0;


# the shared one: util/test starts it, or a test file that runs alone does
sub shared {
    my ($class) = @_;

    return $shared ||= $ENV{GUILDLOG_TEST_DIR}
        ? bless { dir => "$ENV{GUILDLOG_TEST_DIR}/pg" }, $class
        : $class->new;
}


# a test's own one, with that environment added; in a folder that is named it
# may have been before, and stays
sub new {
    my ($class, %option) = @_;

    my $root = $option{dir} ? undef
        : File::Temp::tempdir('guildlog.XXXXXX', DIR => '/tmp');
    chmod 0711, $root if $root;
    my $self = bless { dir => $option{dir} || "$root/pg", root => $root,
        pid => $$, env => $option{env} || {} }, $class;
    push @own, $self;
    $self->_shell('test_cluster');
    return $self;
}


# a hot standby of it, which streams; it may be behind
sub standby {
    my ($self) = @_;

    my $root = File::Temp::tempdir('guildlog.XXXXXX', DIR => '/tmp');
    chmod 0711, $root;
    my $standby = bless { dir => "$root/pg", root => $root, pid => $$,
        env => {} }, ref $self;
    push @own, $standby;
    $standby->_shell('test_standby', $self->{dir});
    return $standby;
}


sub socket_dir { "$_[0]{dir}/run" }
sub port       { chomp(my $port = slurp("$_[0]{dir}/port")); $port }
sub log        { slurp("$_[0]{dir}/log") }
sub password   { slurp("$_[0]{dir}/password") }
sub certificate { "$_[0]{dir}/data/server.crt" }


sub pid {
    my ($self) = @_;
    return slurp("$self->{dir}/data/postmaster.pid") =~ /^(\d+)/ ? $1 : undef;
}


# itself, and the workers of Citus (see test_cluster_citus in util/lib.sh)
sub nodes {
    my ($self) = @_;
    return $self, map { bless { dir => $_, env => {} }, ref $self } grep { -d }
        map { "$self->{dir}/w$_" } 1 .. 2;
}


# makes a new database with the schema
sub create_database {
    my ($self) = @_;

    # another process may have had this pid before
    my $name = sprintf 't_%d_%d_%d', $$, ++$databases, 1e6 * time;
    my @nodes = $self->nodes;
    for my $node (@nodes) {
        my $dbh = $node->connect('postgres', 'postgres');
        $dbh->do("create database $name template guildlog_template"
            . ' owner guildlog_owner');

        # the template has these settings of sql/citus.sql, a copy has not

        $dbh->do("alter database $name set $_") for @nodes == 1 ? () : (
            'citus.allow_nested_distributed_execution = on',
            'search_path = guildlog, public');
        $dbh->disconnect;
    }
    return $name;
}


# one of that name with the schema of now, which may have been before
sub database {
    my ($self, $name) = @_;
    $self->_shell('test_database', $name);
    return $name;
}


# a dump of a database, as text
sub dump {
    my ($self, $database) = @_;

    local $ENV{PGPASSWORD} = $self->password;
    my $port = $self->port;
    my $dir  = $self->socket_dir;
    return scalar qx{pg_dump -h "$dir" -p "$port" -U postgres "$database"};
}


# as the schema's owner, or as "postgres", the superuser; a test waits for locks
# of this node, whatever sql/citus.sql sets for those of workers
sub connect {
    my ($self, $database, $user) = @_;

    $user ||= 'guildlog_owner';
    my $dbh = DBI->connect(
        'dbi:Pg:host=' . $self->socket_dir . ';port=' . $self->port
            . ";dbname=$database",
        $user, $user eq 'postgres' ? $self->password : 'owner',
        { RaiseError => 1, PrintError => 0, AutoCommit => 1,
          AutoInactiveDestroy => 1 });
    $dbh->do("set search_path = guildlog, public, pg_temp")
        if $user ne 'postgres';
    $dbh->do('set lock_timeout = 0');
    return $dbh;
}


# starts it, also after kill_all
sub start {
    my ($self) = @_;
    $self->_shell('cluster_restart');
}


# stops it, "fast" or "immediate"
sub stop {
    my ($self, $mode) = @_;
    $self->_shell('cluster_stop', $mode || 'fast');
}


# kills every process with -9
sub kill_all {
    my ($self) = @_;
    kill 'KILL', $self->pids;
}


sub pids {
    my ($self) = @_;
    return split ' ', $self->_shell('cluster_pids');
}


sub clean_up {
    for my $self (grep { $_->{pid} == $$ } @own) {
        for my $node ($self->nodes) {
            kill 'CONT', $node->pids;
            $node->stop($self->{root} ? 'immediate' : 'fast');
        }
        remove_tree($self->{root}) if $self->{root};
    }
    @own = ();
}


sub _shell {
    my ($self, $function, @arguments) = @_;

    my $out = File::Temp->new;
    local @ENV{keys %{ $self->{env} }} = values %{ $self->{env} };
    my $ok = command('bash', '-c', 'out=$1; . "$2"; "${@:3}" > "$out"', 'bash',
        $out->filename, "$Guildlog::TOP/util/lib.sh", $function, $self->{dir},
        @arguments) == 0;
    die "$function failed\n" if !$ok;
    return slurp($out->filename);
}


1;
