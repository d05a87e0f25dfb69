# "A client for both planes: pages as an async iterator to the end, live tail with
# resume and reconnect, export as a stream, every configuration call, errors as
# classes, 429 and 503 obeyed." client.js has the calls; what it prints is TAP.

use lib 't/lib';
use Guildlog;
use Guildlog::Program;

my $tls = free_port();
my $nginx = Guildlog->new(api => 'guildlog_limit off;', start => 0);
my $dir = $nginx->prefix;
system('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
    'ec_paramgen_curve:P-256', '-nodes', '-days', 2, '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost', '-keyout', "$dir/key",
    '-out', "$dir/cert") == 0 or die 'openssl';
$nginx->configure(http => <<"HTTP")->start;
    server {
        listen 127.0.0.1:$tls ssl;
        ssl_certificate cert;
        ssl_certificate_key key;
        ssl_client_certificate cert;
        ssl_verify_client on;
        location / {
            guildlog_operator;
        }
    }
HTTP
my $slow  = Guildlog->new(dbname => $nginx->dbname,
    api => 'guildlog_limit requests=5 window=1s;');
my $server = $nginx->server(name => 'Kit', plan => 'pro');

$ENV{URL}      = $nginx->url . '/api';
$ENV{SLOW}     = $slow->url . '/api';
$ENV{OPERATOR} = $nginx->{operator};
$ENV{REMOTE}   = "https://localhost:$tls";
$ENV{TLS}      = $dir;
$ENV{SERVER}   = $server;
$ENV{TOKEN}    = $nginx->token($server);
$ENV{BASIC}    = $nginx->token($server, kind => 'basic');

Guildlog::Program->obey('t/kit/client.js',
    restart => sub {
        $nginx->kill_all;
        $nginx->start;
    },

    # what was recorded so far was so three days ago, but the last
    days => sub {
        $nginx->sql("update log_event set recorded_at = recorded_at
            - interval '3 days' where guild_id = ? and event_id like 'c-p%'",
            $server);
        $nginx->sql('update log_head set days = array(
            select case when n % 2 = 1 then d - 3 else d end
              from unnest(days) with ordinality u (d, n) order by n)
             where guild_id = ?', $server);
    },
);

done_testing;
