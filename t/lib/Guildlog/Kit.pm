package Guildlog::Kit;

# What the packages of util/kit/ are held to, in whatever language.

use strict;
use warnings;

use Guildlog;
use Guildlog::Program;
use IPC::Open2;

my $all     = 20_000;
my $rate    = 4_000;
my $servers = 50;


# a program calls both planes
sub client {
    my ($program) = @_;
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
                guildlog_operator open;
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

    Guildlog::Program->obey($program,
        restart => sub {
            $nginx->kill_all;
            $nginx->start;
        },

        # what was recorded so far but the last is in blocks alone
        days => sub {
            $nginx->blocks($server);
            $nginx->sql("delete from log_arrival where guild_id = ?
                and event_id like 'c-p%'", $server);
        },
    );
}


# a program does one by one what a recorder promises. Then others, one after the
# other, hand in many entries from the same spool: all but the last are killed, and
# then nginx and PostgreSQL
sub recorder {
    my ($program, @floods) = @_;
    my $cluster = Guildlog::Cluster->new;
    my $nginx   = Guildlog->new(cluster => $cluster, workers => 2,
        locations => 'location /front/ {
            client_max_body_size 256k;
            proxy_pass http://unix:%%OPERATOR%%:/;
        }');
    my $first = 200_000_000_000_000_000;
    $nginx->operator('PUT', "/servers/$_", { name => "S$_" })
        for map { $first + $_ } 0 .. $servers - 1;

    $ENV{OPERATOR} = $nginx->{operator};
    $ENV{FRONT}    = $nginx->url . '/front';
    $ENV{DIR}      = $nginx->prefix . '/spools';
    $ENV{SERVER}   = $nginx->server;

    Guildlog::Program->obey($program,
        stop  => sub { $nginx->stop },
        start => sub { $nginx->start },
    );

    $ENV{SPOOL}   = $nginx->prefix . '/flood';
    $ENV{SERVERS} = $servers;
    $ENV{FIRST}   = $first;

    my %safe;
    my $from = 0;
    my ($pid, $out, $in);

    my $flood = sub {
        $pid = open2($out, $in, Guildlog::Program->command(shift @floods), $from,
            $all, $rate);
    };

    # reads until so many entries are safe, or until that line
    my $until_line = sub {
        my ($n, $what) = @_;
        my $line;

        while (defined($line = <$out>)) {
            $safe{$1} = 1 if $line =~ /^safe (\d+)/;
            last if $n ? keys %safe >= $n : $line =~ /^$what/;
        }
        return $line // '';
    };

    while (@floods > 1) {
        $flood->();
        $until_line->(keys(%safe) + $all / 8);
        kill 'KILL', $pid;
        $until_line->(0, 'never');
        waitpid $pid, 0;
        cmp_ok keys %safe, '<', $all, 'the process is killed in the middle';
        $from++ while $safe{$from};
    }

    $flood->();
    $until_line->($all / 2);
    $nginx->kill_all;
    $until_line->($all / 2 + 2000);
    $nginx->start;
    $until_line->($all * 3 / 4);
    $cluster->stop('immediate');
    $until_line->($all * 3 / 4 + 2000);
    $cluster->start;
    my ($counters, $memory) = $until_line->(0, 'flushed') =~ /^flushed (\S+) (\d+)/;
    my $count = json->decode($counters);
    print {$in} "end\n";
    close $in;
    1 while <$out>;
    waitpid $pid, 0;
    is $?, 0, 'the last process ends well';

    is keys %safe, $all, 'all entries were safe';
    cmp_ok $count->{failures}, '>', 0, 'guildlog was away';
    is $count->{refused}, 0, 'none was refused';
    cmp_ok $memory, '<', 256, "memory is bounded ($memory MiB)";
    my ($stored, $different, $wrong) = @{ ($nginx->sql(q{
        select count(*), count(distinct e.event_id), count(*) filter (where e.ahead)
          from (select event_id, substr(event_id, 7)::int
                    < max(substr(event_id, 7)::int) over (partition by guild_id
                        order by arrival rows between unbounded preceding
                            and 1 preceding) as ahead
                  from log_arrival where event_id like 'flood-%'
                    and id is not null) e
    }))[0] };
    is $stored, $all, 'all entries were recorded';
    is $different, $all, '... none twice';
    is $wrong, 0, '... those of a server in their order';
}


1;
