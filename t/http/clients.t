# conf/openapi.yaml is what clients are generated from: two linters find nothing in
# it, the output of four generators compiles, and what it calls is the real server.
# calls.ts in t/http/clients has the calls; what it prints is TAP.

use lib 't/lib';
use Guildlog;

use File::Temp qw(tempdir);

my $packages = "$Guildlog::TOP/.build/clients";
my $bin = "$packages/node_modules/.bin";
my $api = "$Guildlog::TOP/conf/openapi.yaml";
my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);

my $nginx  = Guildlog->new;
my $server = $nginx->server;
my $other  = $nginx->server;
my $answer = $nginx->operator('POST', "/servers/$server/logs", [
    { event_id => 'a', type => 5, content => 'gone' },
    { event_id => 'b', type => 1 },
]);
is $answer->json->{recorded}, 2, 'two entries are recorded';

symlink "$packages/node_modules", "$dir/node_modules" or die $!;
for my $file (qw(calls.ts tsconfig.json)) {
    system('cp', "$Guildlog::TOP/t/http/clients/$file", $dir) == 0 or die;
}


sub succeeds {
    my ($name, @command) = @_;
    my $pid = open my $out, '-|';
    die "fork: $!" if !defined $pid;
    if (!$pid) {
        chdir $dir or die $!;
        open STDERR, '>&', \*STDOUT or die $!;
        exec @command or die "$command[0]: $!";
    }
    my $said = do { local $/; <$out> };
    close $out;
    is $?, 0, $name or diag $said;
}


{
    local @ENV{qw(REDOCLY_TELEMETRY REDOCLY_SUPPRESS_UPDATE_NOTICE)}
        = qw(off true);
    my $rules = "$Guildlog::TOP/t/http/clients";

    for my $file ($api, $api =~ s/\.yaml$/-operator.yaml/r) {
        my $name = $file =~ s{.*/}{}r;
        succeeds "redocly: $name", "$bin/redocly", 'lint', '--config',
            "$rules/redocly.yaml", $file;
        succeeds "spectral: $name", "$bin/spectral", 'lint', '--fail-severity',
            'hint', '-r', "$rules/spectral.yaml", $file;
    }
}

succeeds 'openapi-typescript', "$bin/openapi-typescript", $api,
    '-o', 'openapi-typescript.ts', '--enum';
succeeds 'hey-api', "$bin/openapi-ts", '-i', $api, '-o', 'hey-api',
    '-c', '@hey-api/client-fetch';
succeeds 'orval', "$bin/orval", '--input', $api, '--output', 'orval.ts',
    '--client', 'fetch';
succeeds 'swagger-typescript-api', "$bin/swagger-typescript-api", 'generate',
    '-p', $api, '-o', 'swagger-typescript-api';
succeeds 'all of it compiles', "$bin/tsc", '-p', '.';

$ENV{GUILDLOG_URL}         = $nginx->url . '/api';
$ENV{GUILDLOG_SERVER}      = $server;
$ENV{GUILDLOG_OTHER}       = $other;
$ENV{GUILDLOG_ADMIN_TOKEN} = $nginx->token($server);
my @said = qx{cd $dir && node made/calls.js 2>&1};
is $?, 0, 'the calls succeed' or diag @said;
ok /^ok/, /- (.*)/ ? $1 : $_ for grep { /^(?:not )?ok / } @said;
like $said[-1], qr/^1\.\.13$/, 'all of them were made';

done_testing;
