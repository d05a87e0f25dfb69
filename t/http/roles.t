# "The role of the API can neither record nor begin a session": nginx works with
# one role for each of its parts, and each role can do only its part.

use lib 't/lib';
use Guildlog;
use Guildlog::Cluster;
use Guildlog::Delivery;
use Guildlog::Platform;
use Guildlog::SignIn;

my $cluster = Guildlog::Cluster->new;
my $dbname  = $cluster->create_database;
my %dsn = (PGPASSWORD => 'owner', PGHOST => $cluster->socket_dir,
    PGPORT => $cluster->port, PGUSER => 'guildlog_owner', PGDATABASE => $dbname);

{
    local @ENV{keys %dsn} = values %dsn;
    is system('psql', '-X', '-q', '-o', '/dev/null', '-v', 'separate=on', '-f',
        "$Guildlog::TOP/sql/install.sql"), 0,
        'the schema installs with three roles';
    local @ENV{qw(PGUSER PGPASSWORD)} = ('postgres', $cluster->password);
    is system('psql', '-X', '-q', '-f', "$Guildlog::TOP/sql/alone.sql"), 0,
        '... and has the database for itself';
}
$cluster->connect($dbname)->do("alter role guildlog_$_ password 'module'")
    for 'operator', 'worker';

my $g = Guildlog->new(start => 0, workers => 2, cluster => $cluster,
    dbname => $dbname, api => 'guildlog_limit off;',
    keeper => 'on interval=50ms database=worker');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
my $socket   = $cluster->socket_dir;
my $http     = $platform->directives($g);
$http =~ s/(guildlog_delivery [^;]+)/$1 database=worker/;
$http .= "guildlog_database name=$_ host=$socket port=@{[ $cluster->port ]}"
    . " dbname=$dbname user=guildlog_$_ password_file=database.password;"
    for 'operator', 'worker';
login($g, $platform, 'guildlog_login client=4000 secret=login.secret '
    . 'database=operator; guildlog_limit off', directives => $http,
    operates => 'database=operator');
deliver_with($g, $platform);


my ($guild, $token, $to) = server();
my ($id) = record($guild, 1);
becomes($guild, $token, $id, 'delivered',
    'an entry is recorded, delivered and read');
is $g->get("/servers/$guild/logs/export", token => $token)->status, 200,
    'exported';

# the troubleshooter, which calls the platform, has the API's role; delivery has
# another
my $report = $g->get("/servers/$guild/troubleshoot", token => $token)->json;
is_deeply $report->{summary}{incomplete} // [], [],
    'the troubleshooter asks the platform';
is $report->{botId}, '400000000000000001', "... with the main bot's token";
is $g->post("/servers/$guild/troubleshoot/test-log", token => $token,
    json => {})->json->{stage}, 'delivered', 'a test message is sent';

# people sign in by the role of the operator, and go on by that of the API
$platform->config(clients => { 4000 => $secret },
    redirects => { 4000 => ['http://localhost/login/callback'] });
manages($ada, [$guild]);
my $person = sign_in($ada);
is $person->{answer}->status, 302, 'a person signs in';
my $made = api($person, 'POST', "/servers/$guild/auth",
    json => { permissions => 1 });
is $made->status, 201, '... and makes a token';
is api($person, 'GET', "/servers/$guild/logs")->status, 200, '... and reads';

ok wait_for {
    my $task = $g->get('/status', raw_path => 1)->json->{keeper_errors_total};
    keys %$task >= 8;
} 60, 'the keeper works';
is_deeply [grep { $_ } values %{ $g->get('/status', raw_path => 1)->json
    ->{keeper_errors_total} }], [], '... without an error';
unlike $g->error_log, qr/permission denied/, 'no role lacks a privilege';


# what the API's role may not do

my $api = DBI->connect("dbi:Pg:host=$socket;port=" . $cluster->port
    . ";dbname=$dbname", 'guildlog', 'module',
    { RaiseError => 0, PrintError => 0 });
my $foreign = $g->server;
for my $statement (
    "select guildlog.session_begin('forged', 666, 'mallory', '{$foreign}')",
    "select guildlog.session_renew('~forged.666.m', '{$foreign}')",
    "select guildlog.session_ask('~forged.666.r0')",
    "select guildlog.operator_token_create($guild, '{}')",
    "select guildlog.operator_server_put($guild, '{}')",
    'select guildlog.keeper_step(256, 0, 0)',
    "select guildlog.delivery_secret('')",
    'select * from guildlog.token',
    'select lo_create(0)',
    "select lo_from_bytea(0, 'x')",
    'create temporary table mine ()',
    "select pg_try_advisory_lock(hashtext('guildlog.keeper'))",
    "select pg_try_advisory_lock_shared(hashtext('guildlog.held'), 1)",
) {
    ok !$api->do($statement), $statement;
    is $api->state, '42501', '... is not allowed to the API';
}

my $session = $g->sql('select session_id from session');
for (["$session.$ada.w0", 'GL403', 'for a server that the person does not manage'],
    ['forged.666.m', 401, 'in a session that was not begun'])
{
    my ($id, $status, $what) = @$_;
    my ($said) = $api->selectrow_array(
        'select status from guildlog.token_create(?, ?, 0::smallint, '
        . '1::smallint, ?)', undef, "~$id", $foreign, '{"permissions": 1}');
    is $said // $api->state, $status, "no token is made $what";
}

for my $token ('null', "'nobody'", "'~forged.666.m'") {
    is_deeply $api->selectall_arrayref('select id, doc from guildlog.logs_tail('
        . "$guild, 0::smallint, 0, 10, $token)"), [[401, undef]],
        "no log is read by $token";
}

$api->do("select guildlog.refusals_told($foreign, 50)") for 1 .. 60;
is scalar $g->sql('select rest_ms(?)', $foreign), 0, 'no server is made to rest';

is_deeply [map { $_->[0] } @{ $api->selectall_arrayref(<<~'SQL') }],
    select p.proname from pg_proc p
     where p.pronamespace = 'guildlog'::regnamespace
       and has_function_privilege(p.oid, 'execute')
       and p.proargnames[1] is distinct from 'token'
     order by 1
    SQL
    [qw(logs_news logs_tail logs_tokens refusals_told schema_fits)],
    'all else asks for a token first';

done_testing;
