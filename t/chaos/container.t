# conf/Dockerfile, conf/compose.yaml and conf/kubernetes.yaml.  There is no
# registry and no daemon here: the steps of the Dockerfile are made on new
# machines instead, one for each stage, and the services of compose.yaml run
# there as it says: as that user, without capabilities, on a file system that
# nobody can write to but in the volumes.  PostgreSQL is that of Debian.  Needs
# root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;
use JSON::PP;
use YAML::XS ();

sub conf { return slurp("$Guildlog::TOP/conf/$_[0]") }

my $json = JSON::PP->new;
my $nginx = conf('container/nginx.conf');

# Kubernetes

my %object;
$object{"$_->{kind} $_->{metadata}{name}"} = $_
    for YAML::XS::Load(conf('kubernetes.yaml'));
my $pod = $object{'Deployment guildlog'}{spec}{template};
my ($container) = @{ $pod->{spec}{containers} };
is_deeply $object{'Service guildlog'}{spec}{selector}, $pod->{metadata}{labels},
    'the Service finds the pods';
for my $probe (qw(livenessProbe readinessProbe)) {
    my $path = $container->{$probe}{httpGet}{path};
    like $nginx, qr/location = \Q$path\E \{\s*guildlog_status;\s*\}/,
        "$probe asks a location that is there";
}
like $nginx, qr/listen  $container->{ports}[0]{containerPort};/,
    'at the port of nginx';
my ($database) = $nginx =~ /host=(\S+)/;
ok $object{"Service $database"}, 'the database has its name';

# compose

my $service = YAML::XS::Load(conf('compose.yaml'))->{services};
for my $of (values %$service) {
    $of = { %{ delete $of->{'<<'} || {} }, %$of };
}
for my $name (sort keys %$service) {
    ok $service->{$_}, "$name waits for $_, which is there"
        for sort keys %{ $service->{$name}{depends_on} || {} };
    ok $name eq 'database' || $service->{$name}{read_only},
        "$name writes to no image";
}

# the steps of the Dockerfile

my (%machine, $image, %last);
for (split /\n(?=[A-Z])/, conf('Dockerfile')) {
    next if !/\A([A-Z]+) +(.*?)\s*\z/s;
    my ($word, $rest) = ($1, $2);

    if ($word eq 'FROM') {
        my ($suite, $name) = $rest =~ /\Adebian:(\w+)-slim(?: AS (\w+))?\z/
            or die "unknown image: $rest\n";
        $image = $machine{ $name // 'last' }
            = Guildlog::Machine->new($suite, 'debianutils');
    }
    elsif ($word eq 'RUN') {
        $image->goes_well($rest, "RUN $rest");
    }
    elsif ($word eq 'COPY') {
        my ($from, $source, $to) = $rest =~ /\A(?:--from=(\w+) )?(\S+) (\S+)\z/;
        if ($from) {
            $image->copy($machine{$from}->dir . $source, $to);
        }
        else {
            $image->clone($to);
        }
    }
    else {
        $last{$word} = $rest;
    }
}

# the machines as containers of one network

my $postgres = $machine{build};
$postgres->goes_well('apt-get -qy install --no-install-recommends postgresql '
    . 'docker-compose', 'a PostgreSQL');
$postgres->goes_well('docker-compose -f /source/conf/compose.yaml config -q',
    'Compose takes compose.yaml');
$image->write('/etc/hosts', "127.0.0.1 localhost database\n");
$image->alone;
$postgres->beside($image);
$image->frozen(qw(/etc/nginx/guildlog /run/guildlog /superuser));

my $as = "setpriv --reuid=$last{USER} --regid=$last{USER} --clear-groups "
    . '--no-new-privs --inh-caps=-all --bounding-set=-all';
my $do = sub {
    my ($name, $what) = @_;
    my $of = $service->{$name};
    my $environment = join ' ', map { "$_=$of->{environment}{$_}" }
        sort keys %{ $of->{environment} || {} };
    return $image->goes_well("$as env $environment @{ $of->{command} }", $what);
};

my ($ok, $said) = $image->on("$as touch /etc/x");
ok !$ok, 'nothing can be written to the image' or diag $said;

$do->('keys', 'the keys are made');
$postgres->goes_well('service postgresql start && '
    . 'su postgres -c "createdb guildlog" && '
    . 'su postgres -c "psql -qc \"alter role postgres password '
    . "'" . slurp($image->dir . '/superuser/password') =~ s/\n//r . q('\""),
    'PostgreSQL starts');
$do->('schema', 'the schema is installed');
$do->('schema', 'once more, as an upgrade would');

my @command = @{ $json->decode($last{CMD}) };
my ($check) = $last{HEALTHCHECK} =~ /CMD (\[.*\])\z/;
my $healthy = "$as " . join ' ', @{ $json->decode($check) };
$image->on("$as sh -c 'exec @command > /tmp/log 2>&1' &");
$image->goes_well("for i in \$(seq 100); do $healthy && exit; sleep 0.1; done; "
    . 'cat /tmp/log; exit 1', 'it is healthy');

$said = $do->('demo', 'the demo');
my ($token) = $said =~ /"token": *"([^"]+)"/;
ok $token, 'has a token';
my $url = 'http://127.0.0.1:8080';
my $logs = "curl -sSf -H 'Authorization: Bearer $token' "
    . "$url/api/servers/100000000000000001/logs?category=categoryText";
my ($total) = $image->goes_well($logs, 'the API') =~ /"total": *(\d+)/;
cmp_ok $total, '>', 1000, 'has entries';
like $image->goes_well("curl -sSf $url/viewer/", 'the viewer'), qr/<title>/,
    'is there';
$do->('demo', 'the demo again');
like $image->goes_well($logs, 'which has'), qr/"total": *$total\b/,
    'no more entries then';

$postgres->goes_well('service postgresql stop', 'PostgreSQL stops');
($ok, $said) = $image->on('for i in $(seq 100); do ' . "$healthy || exit 7; "
    . 'sleep 0.2; done');
ok !$ok, 'then it is not healthy any more';
is $image->goes_well("curl -so /dev/null -w '%{http_code}' $url/live",
    'but lives'), '200', 'on';

done_testing;
