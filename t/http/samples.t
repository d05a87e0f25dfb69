# The samples of conf/ that stand beside guildlog.conf: the access log in JSON, the
# operator location for a bot that proves itself by a certificate, and tokens before
# another service.

use lib 't/lib';
use Guildlog;
use Guildlog::File;

my $nginx = Guildlog->new(start => 0);
my $dir = $nginx->prefix . '/guildlog';
my ($bot, $edge) = (free_port, free_port);

sub openssl {
    my ($words) = @_;
    my $said = qx{cd '$dir' && openssl $words 2>&1};
    die "openssl $words: $said" if $?;
}

# as the sample says it, line by line
$nginx->file('guildlog/empty', '');
my $sample = slurp('conf/operator.conf');
my ($made) = $sample =~ /made so[^:]*:\n#\n(.*?)^#\n/ms;
$made =~ s/^#\s+|\\\n#//mg;
openssl($_) for $made =~ /^openssl (.*)$/mg;
openssl(join ' ', 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes',
    "-subj /CN=$_->[0] -addext subjectAltName=IP:127.0.0.1",
    "-keyout $_->[1].key -out $_->[1].crt")
    for ['guildlog.example', 'server'], ['bot', 'forged'];
openssl('req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    . ' -subj /CN=other -keyout other.key -out other.csr');
openssl('x509 -req -in other.csr -CA bots.crt -CAkey bots.key -CAcreateserial'
    . ' -out other.crt');

$sample =~ s/listen +9443/listen 127.0.0.1:$bot/ or die;
$sample =~ s/ database=operator//;
my $service = slurp('conf/edge.conf');
$service =~ s/listen +443 ssl/listen 127.0.0.1:$edge ssl/ or die;
$nginx->file('guildlog/main.key', slurp($nginx->prefix . '/main.key'), 0600);
$nginx->configure(http => slurp('conf/log.conf') . $sample . $service,
    server => 'access_log logs/json.log guildlog;');
$nginx->start;


# the status that a program with this certificate gets
sub status {
    my ($certificate) = @_;
    my $with = $certificate ? "--cert '$dir/$certificate.crt' "
        . "--key '$dir/$certificate.key'" : '';
    return qx{curl -s -o /dev/null -w '%{http_code}' --cacert '$dir/server.crt' \\
        $with https://127.0.0.1:$bot/undelivered};
}


subtest 'a bot on another host' => sub {
    is status('bot'), 200, 'who has the certificate of the bot is let in';
    is status(), 400, 'who has none is not';
    is status('forged'), 400, 'nor who made one';
    is status('other'), 403, 'nor another program of the same authority';

    my $server = $nginx->server;
    $nginx->file('entries', qq({"event_id":"1","type":5}\n));
    my $said = qx{"$Guildlog::TOP/util/guildlog" record $server \\
        --operator https://127.0.0.1:$bot/ --ca '$dir/server.crt' \\
        --cert '$dir/bot.crt' --cert-key '$dir/bot.key' \\
        < '$nginx->{prefix}/entries' 2>&1};
    is $said, "recorded 1, duplicates 0\n", 'the command records by it';
};


subtest 'another service, with the same key' => sub {
    my $ask = sub { qx{curl -s -o /dev/null -w '%{http_code}' \\
        --cacert '$dir/server.crt' @_ https://127.0.0.1:$edge/} };
    my $token = $nginx->token($nginx->server);
    is $ask->(), 401, 'nobody gets to it without a token';
    is $ask->("-H 'Authorization: Bearer $token'"), 502,
        'with one it is asked, and is not there';
};


subtest 'the access log' => sub {
    my $server = $nginx->server;
    my $token = $nginx->token($server);
    $nginx->get(qq(/servers/$server/logs?search=secret%22), token => $token);
    $nginx->get(qq(/servers/"\\%00\xff), token => $token);
    $nginx->get('/nothing', raw_path => 1);

    my @lines;
    wait_for { @lines = split /\n/, slurp("$nginx->{prefix}/logs/json.log");
        @lines >= 3 };
    my @requests = map { json->decode($_) } @lines;
    is $requests[0]{$_->[0]}, $_->[1], "$_->[0] of a request" for
        [endpoint => 'logs_page'], [server => $server], [auth => 'ok'],
        [limit => 'passed'], [status => 200],
        [uri => "/api/servers/$server/logs"];
    like $requests[0]{statement}, qr/^\w+$/, 'its statement';
    like $requests[0]{db_seconds}, qr/^\d+\.\d{6}$/, 'and the time of it';
    is "$requests[2]{endpoint}$requests[2]{statement}", '',
        'empty where nobody asked';
    unlike "@lines", qr/secret|\Q$token/, 'what was asked for is not logged';
};


subtest 'other sites start, whatever is wrong with guildlog' => sub {
    my $conf = slurp('conf/guildlog.conf');
    my $port = free_port;
    my $socket = $nginx->prefix . '/operator.sock';

    $conf =~ s/^ *#( *guildlog_|location .*\{$|\}$| +\w+=\w+;$)/$1/mg;
    $conf =~ s/^( *)#(client_\w+_timeout|limit_conn)/$1$2/mg;
    like $conf, qr/^ *limit_conn_zone.*^ *limit_conn /ms,
        'what is a comment works where it is used';
    $conf =~ s{(guildlog_platform +https://)[^;]+}{$1nowhere.invalid/api} or die;
    $conf =~ s{host=/run/postgresql}{host=nowhere.invalid};
    $conf =~ s{host=/run/postgresql}{host=$dir/nowhere};
    $conf =~ s/listen +443/listen 127.0.0.1:$port/;
    $conf =~ s/^ *listen +\[::\].*\n//m or die;
    $conf =~ s{unix:/run/guildlog/operator.sock}{unix:$socket} or die;

    my @secrets = $conf =~ m{[ =]guildlog/([\w.]+)}g;
    for (grep { !/^server/ } @secrets) {
        $nginx->file("guildlog/$_", 'ab' x 32, 0600);
    }
    my $site = Guildlog->new(start => 0, keys => [], database => undef,
        allow => [qr/nowhere/], conf => "$conf
        server { listen 127.0.0.1:%%PORT%%; return 200 neighbour; }");
    mkdir $site->prefix . '/guildlog';
    link $_, $site->prefix . '/guildlog/' . s{.*/}{}r for glob "$dir/*";
    $nginx->kill_all;
    ok -S $socket, 'an nginx that was killed left its socket';

    $site->start;
    my $neighbour = sub { $site->get('/', raw_path => 1)->text };
    is $neighbour->(), 'neighbour', 'no database, no platform, a socket left';
    is qx{curl -sk -o /dev/null -w '%{http_code} %{http_version}' https://127.0.0.1:$port/status/ready},
        '503 2', 'guildlog is not ready, which is told by HTTP/2';

    for (['/', '/viewer/'], ['/viewer', '/viewer/']) {
        like qx{curl -sk -o /dev/null -w '%{http_code} %{redirect_url}' \\
            https://127.0.0.1:$port$_->[0]}, qr{^302 https://[^/]+$_->[1]$},
            "$_->[0] leads to the log viewer";
    }

    my $count = 0;
    for my $secret (@secrets) {
        my $file = $site->prefix . "/guildlog/$secret";
        rename $file, "$file.gone" or die "$file: $!";
        my ($good, $said) = $site->test_conf;
        ok !$good, "without $secret the configuration is refused";
        like $said, qr/\Q$secret/, 'and the file is named';
        rename "$file.gone", $file;
        $count++;
    }
    cmp_ok $count, '>=', 8, 'each file of the sample';
    is $neighbour->(), 'neighbour', 'who runs goes on meanwhile';
};


subtest 'spans' => sub {
    my $known = slurp('conf/README.md');
    my @names = slurp('conf/trace.conf') =~ /(\$guildlog_\w+)/g;
    cmp_ok @names, '>', 5, 'the sample has variables';
    is_deeply [grep { $known !~ /`\Q$_\E`/ } @names], [], 'which exist';
};

done_testing;
