# With sslmode=verify-full nothing is sent to a server that cannot prove its
# name.  Answers of any size arrive without a stall.

use lib 't/lib';
use Guildlog;
use FakePostgres;
use IO::Socket::SSL ();

# the server's certificate, in a place where workers can read it

my $nginx = Guildlog->new(name => 'proven', http => 'guildlog_limit off;',
    start => 0, database => { host => 'localhost', sslmode => 'verify-full',
        sslrootcert => '%%PREFIX%%/root.crt' });
my $root = $nginx->prefix . '/root.crt';
system('cp', $nginx->cluster->certificate, $root) == 0 or die 'cp';
chmod 0644, $root;
$nginx->start;
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
is $nginx->get("/servers/$server", %as)->status, 200, 'a name that is proven';
is scalar $nginx->sql("select count(*) from pg_stat_ssl
    join pg_stat_activity using (pid) where datname = current_database()
    and application_name = 'guildlog' and not ssl"), 0,
        'all connections are encrypted';


# answers of 1 byte to 8 MB, over TLS, TCP and a socket: no stall; the name of
# the server is how many

$nginx->sql(q{
    create or replace function guildlog.server_get(token text, guild bigint,
        bot smallint, kind smallint)
    returns guildlog.answer language plpgsql security definer as $$
    begin
        return row(200, repeat('x', (select name::int from guildlog.server s
                                      where s.guild_id = guild)));
    end $$});

my @sizes = (1, 8191, 16383, 16384, 16385, 32768, 100_000, 330_000, 510_000,
    1_000_003, 8_388_608);

sub sizes {
    my ($what) = @_;
    for my $size (@sizes, @sizes) {
        $nginx->sql('update server set name = ?', $size);
        is length $nginx->get("/servers/$server", %as)->text, $size,
            "$what: $size bytes";
    }
}

sizes('TLS');
my %tcp = (host => '127.0.0.1', sslmode => 'disable', sslrootcert => undef);
for my $plain (['TCP', \%tcp], ['socket', {}]) {
    my ($what, $database) = @$plain;
    $nginx->configure(database => $database);
    $nginx->reload;
    sizes($what);
}


# certificates that do not prove the name

sub certificate {
    my ($name) = @_;
    my $file = $nginx->prefix . "/$name";
    system('openssl req -x509 -newkey rsa:2048 -nodes -days 2'
        . " -subj /CN=$name -addext subjectAltName=DNS:$name"
        . " -keyout '$file.key' -out '$file.crt' 2>/dev/null") == 0
        or die 'openssl';
    return (SSL_cert_file => "$file.crt", SSL_key_file => "$file.key");
}


my %trusted = certificate('localhost');
my %other   = certificate('elsewhere.test');

for my $case (
    ['stranger', \%other, $trusted{SSL_cert_file},
        qr/certificate verify failed/],
    ['wrong-name', \%other, $other{SSL_cert_file},
        qr/does not match host name/],
    ['no-file', \%trusted, $nginx->prefix . '/missing.crt',
        qr/root certificate file/],
) {
    my ($name, $shown, $root, $cause) = @$case;

    my $fake = FakePostgres->new(sub {
        my ($peer) = @_;
        $peer->startup($shown);
        $peer->note('told');
    });
    my $other = $fake->nginx(name => $name, database => {
        host => 'localhost', sslmode => 'verify-full', sslrootcert => $root,
        queue_timeout => '500ms' });

    is $fake->ask($other, 'GET')->response->status, 503,
        "$name: requests are refused";
    ok wait_for { $other->error_log =~ $cause }, "$name: the log has the cause";
    is $fake->count('told'), 0, "$name: nothing is sent to the server";
}

my $fake = FakePostgres->new(sub {
    my ($peer) = @_;
    $peer->startup(\%trusted);
    $peer->note('told');
    $peer->error('28000', 'not today', 'FATAL');
});
my $same = $fake->nginx(name => 'right', database => {
    host => 'localhost', sslmode => 'verify-full', queue_timeout => '500ms',
    sslrootcert => $trusted{SSL_cert_file} });
is $fake->ask($same, 'GET')->response->status, 503,
    'a certificate that proves the name';
ok wait_for { $fake->count('told') }, '... lets the startup message through';


unlike $nginx->error_log, qr/stale global SSL error/,
    "OpenSSL's queue of errors stays empty";

done_testing;
