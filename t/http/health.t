# /live says that nginx answers; /ready that this machine can serve the API: the
# database answers, and its schema is not older than the module.

use lib 't/lib';
use Guildlog;

my $cluster = Guildlog::Cluster->new;
my $nginx = Guildlog->new(cluster => $cluster, http => 'guildlog_limit off;',
    keeper => 'off', allow => [qr/schema_fits/], database => { queue_timeout => '5s' });


sub health {
    my ($path, %option) = @_;
    return $nginx->get("/status$path", raw_path => 1, %option);
}


my $ready = health('/ready');
is $ready->status, 200, 'ready: the database answers';
is $ready->text, "ok\n", 'and the answer says so';
is $nginx->head('/status/ready', raw_path => 1)->status, 200,
    'a HEAD is answered too';
is health('/live')->status, 200, 'nginx lives';
is ref health('')->json, 'HASH', 'the status page is where it was';

# a schema older than the module

my $fits = $nginx->sql(
    q(select pg_get_functiondef('guildlog.schema_fits'::regproc)));
$nginx->sql($fits =~ s/needed <= \d+/needed <= 1/r);
$nginx->reload;
is health('/ready')->status, 503, 'not ready: the schema is too old';
like health('/ready')->text, qr/older than the module/, 'and says why';
is health('/live')->status, 200, 'but it lives';
$nginx->sql($fits);
is health('/ready')->status, 200, 'ready as soon as the schema is there';

$nginx->sql('alter function guildlog.schema_fits(int) rename to gone');
$nginx->reload;
like health('/ready')->text, qr/older than the module/,
    'a schema that cannot even be asked is older';
$nginx->sql('alter function guildlog.gone(int) rename to schema_fits');
is health('/ready')->status, 200, 'and again';

# what else the database may say

$nginx->sql('revoke usage on schema guildlog from guildlog');
$nginx->reload;
is health('/ready')->text, 'the database refuses to tell its schema; '
    . "the error log says why\n", 'a role without its rights';
$nginx->sql('grant usage on schema guildlog to guildlog');
$nginx->sql($fits =~ s/return needed/raise 'no room' using errcode = '53300';
    return needed/r);
is health('/ready')->text, "the database is not available\n",
    'too many connections say nothing of the schema';
$nginx->sql($fits);
is health('/ready')->status, 200, 'nothing is in the way any more';

# each database is asked

my $second = Guildlog->new(name => 'second', cluster => $cluster,
    dbname => $nginx->dbname, keeper => 'off', http =>
        'guildlog_database name=other host=' . $nginx->prefix
            . ' user=guildlog password_file=database.password'
            . ' connect_timeout=1s queue_timeout=1s;');
my $other = $second->get('/status/ready', raw_path => 1);
is $other->status, 503, 'not ready: the second database is away';
is $other->text, "the database is not available\n", 'and says why';
my $server = $nginx->server;
is $second->get("/servers/$server", token => $nginx->token($server))->status,
    200, 'but it serves who needs the first one';

# the database goes

$cluster->stop('immediate');
my $away;
wait_for { ($away = health('/ready'))->status == 503 } 60, 'not ready';
is $away->text, "the database is not available\n", 'and says why';
is health('/live')->status, 200, 'nginx lives without it';

$cluster->start;
ok wait_for { health('/ready')->status == 200 } 60,
    'ready again when the database is back';

done_testing;
