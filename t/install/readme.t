# What README.md and the documents beside it tell people to type works as it stands:
# the commands that try guildlog, the five lines before a service of one's own, the
# requests of the documents, and each "guildlog" of one.  The commands that install are
# run by files of t/chaos.

use lib 't/lib', 'util/lib';
use Guildlog;
use Guildlog::File;

use File::Temp qw(tempdir);

my $readme = slurp("$Guildlog::TOP/README.md");
my @blocks = $readme =~ /^```\w*\n(.*?)^```\n/msg;

# who runs a block that begins so
my %elsewhere = (
    './util/run' => 't/chaos/new-machine.t',
    './util/install --server-name logs.example' => 't/chaos/new-machine.t',
    './util/package' => 't/chaos/new-machine.t',
);
my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
chmod 0711, $dir;

END {
    local $?;
    qx{GUILDLOG_RUN_DIR="$dir/run" ./util/run --stop} if -d "$dir/run";
}


subtest 'it can be tried' => sub {
    my ($start, $ask) = splice @blocks, 0, 2;
    my $free = free_port;
    local @ENV{qw(GUILDLOG_RUN_DIR GUILDLOG_PORT)} = ("$dir/run", $free);

    chomp $start;
    my $said = qx{$start --background 2>&1 < /dev/null};
    is $?, 0, $start or diag $said;
    like $said, qr{http://127\.0\.0\.1:$free/viewer/}, 'says where the viewer is';

    my $page = qx{curl -si http://127.0.0.1:$free/viewer/reference.html};
    like $page, qr{^HTTP/1.1 200 .*^Content-Security-Policy: .*^<!doctype}msi,
        'the reference of the API is beside the viewer';
    my @paths = slurp("$Guildlog::TOP/conf/openapi.yaml") =~ m{^  (/\S*):$}mg;
    cmp_ok @paths, '>', 30, 'there are endpoints';
    is_deeply [grep { index($page, "<code>$_</code>") < 0 } @paths], [],
        '... each of which it has';
    my %there = map { $_ => 1 } $page =~ / id="([^"]+)"/g;
    is_deeply [grep { !$there{$_} } $page =~ /href="#([^"]+)"/g], [],
        'its links lead somewhere';
    unlike $page, qr/<(?:script|style|img)|https?:\S+\.(?:js|css)/,
        'and it needs nothing from elsewhere';

    $said = qx{bash -ec '. "\$0"' "@{[block($ask)]}" 2>&1};
    is $?, 0, 'what README.md asks then';
    like $said, qr/"name":"Demo"/, '... is answered';
    is scalar(() = $said =~ /\d{4}-\d\d-\d\d [\d:]{8}  /g), 5, '... with entries';
};


sub block {
    my ($text) = @_;
    my $file = "$dir/block";
    open my $out, '>', $file or die "$file: $!";
    print {$out} $text;
    close $out or die "$file: $!";
    return $file;
}


subtest 'it stands before a service of one\'s own' => sub {
    my ($edge) = grep { /guildlog_limit/ } @blocks;
    @blocks = grep { $_ ne $edge } @blocks;
    my @lines = grep { /guildlog_|proxy_pass/ } split /\n/, $edge;
    my $sample = slurp("$Guildlog::TOP/conf/edge.conf");
    for (map { s/\s+/ /gr =~ s/^ //r } @lines) {
        like $sample =~ s/\s+/ /gr, qr/\Q$_/, "the sample has: $_";
    }

    my $maker = Guildlog->new;
    my $server = $maker->server;
    my ($with) = $sample =~ /^(# +perl .*?main\.key)$/ms or die "no token is made";
    $with =~ s/^# //mg;
    $with =~ s{/etc/nginx/guildlog}{$maker->{prefix}};
    $with =~ s/100000000000000001/$server/;
    chomp(my $token = qx{$with});
    my $port = free_port;

    for my $conf ("server { listen 127.0.0.1:%%PORT%%; $edge }", $sample) {
        my $what = $conf eq $sample ? 'the sample' : 'the lines';
        $conf =~ s/listen +443 ssl/listen 127.0.0.1:%%PORT%%/;
        $conf =~ s/^ *ssl_.*\n//mg;
        $conf =~ s/127\.0\.0\.1:3000/127.0.0.1:$port/;
        $conf =~ s/requests=100 window=1s/requests=3 window=60s/;
        $conf .= "server { listen 127.0.0.1:$port; location / { "
            . 'add_header X-Got "$http_x_server"; return 200 mine; } }';
        my $nginx = Guildlog->new(start => 0, keys => [], database => undef,
            conf => $conf);
        mkdir $nginx->prefix . '/guildlog';
        $nginx->file('guildlog/main.key', slurp($maker->prefix . '/main.key'),
            0600);
        $nginx->start;

        my $get = sub { $nginx->get('/', raw_path => 1, @_) };
        my $no = $get->();
        is $no->status, 401, "$what: no token";
        like $no->header('WWW-Authenticate'), qr/^Bearer/, 'is told so';
        is_deeply $no->json, { auth => 'missing', limit => 'passed' },
            '... in JSON' if $conf =~ /\@refused/;
        my @answers = map { $get->(token => $token) } 1 .. 4;
        is join(' ', map { $_->status } @answers), '200 200 200 429',
            'the fourth is too much';
        is $answers[0]->text, 'mine', 'others reach the service';
        is $answers[0]->header('X-RateLimit-Remaining'), 2, 'and know what is left';
        is $answers[0]->header('X-Got'), $server, 'which knows who asks'
            if $conf =~ /X-Server/;
        like $answers[3]->header('Retry-After'), qr/^\d+$/, 'when to come back';
        $nginx->stop;
    }
};


# none may be refused; what they write and need is in the test's folder

subtest 'the requests of the documents' => sub {
    local $ENV{GUILDLOG_RUN_DIR} = "$dir/run";
    my @asks = map { slurp("$Guildlog::TOP/conf/$_.md") =~ /^```\n(.*?)^```\n/msg }
        qw(API RECORDING DELIVERY);
    @asks = grep { /^ *(?:api|page=\$\(api|curl) /m } @asks;
    cmp_ok @asks, '>', 6, 'there are some';

    my $all = join '', @asks;
    $all =~ s/alias api='curl/$& -S --fail-with-body/;
    $all =~ s/^curl /curl -sS --fail-with-body /mg;
    $all =~ s/^(api -N .*)  # until Ctrl-C$/grep -m 1 retry < <($1 2> tail)/m
        or die "no tail\n";
    open my $packets, '>', "$dir/packets.ndjson" or die $!;
    print {$packets} qq({"t":"RESUMED","d":{}}\n);
    close $packets or die $!;

    my $said = qx{eval "\$(./util/run --env | sed 's/^/export /')"; cd '$dir' && \\
        bash -O expand_aliases -ec '. "\$0"' "@{[block($all)]}" 2>&1};
    is $?, 0, 'all are answered' or diag $said;
    like $said, qr/"recorded": ?1\b/, '... an entry is recorded';
    like slurp("$dir/logs.csv"), qr/^[^,\n]+,/, '... a table is written';
};


subtest 'all blocks are run' => sub {
    for (grep { !/^ administrators/ } @blocks) {
        my ($first) = /^(.*)/;
        my $test = $elsewhere{$first};
        ok $test, "somebody runs $first" or next;
        like slurp("$Guildlog::TOP/$test"), qr/README/, "$test does";
    }
};


# the options of a document exist, and its commands take so many words

subtest 'what documents say of the command' => sub {
    require './util/guildlog';
    no warnings 'once';
    my $n = 0;
    my @docs = glob 'README.md CONTRIBUTING.md conf/*.md sql/README.md'
        . ' util/kit/README.md';
    for my $doc (@docs) {
        my $text = slurp($doc) =~ s/\\\n *//gr;
        my @code = $text =~ /^```\w*\n(.*?)^```/msg;
        my @said = ("@code" =~ /^ *(?:\(umask 77; )?(?:\.\/util\/)?(guildlog [a-z].*)/mg,
            $text =~ /`(guildlog [a-z][^`]*)`/g);
        for (@said) {
            my $words = s/\s+/ /gr =~ s/ *[|>;)#&].*//r =~ s/\.\.\.//gr;
            next if $words =~ /^guildlog [a-z]+\.|^guildlog [\d.]+$|^guildlog (?:has|is)/;
            my ($command) = grep { "$words " =~ /^guildlog \Q$_->[0]\E / }
                @Guildlog::Command::commands;
            ok $command, "$doc: $words" or next;
            my @options = map { /^([\w-]+)(?:\|(\w))?/ ? ("--$1", $2 ? "-$2" : ()) : () }
                map { $_->[0] } @{ $command->[2] }, @Guildlog::Command::settings,
                @Guildlog::Command::everywhere;
            my %known = map { $_ => 1 } @options;
            is_deeply [grep { !$known{$_} } $words =~ / (--?[a-z][\w-]*)/g], [],
                '... and its options';
            $n++;
        }
    }
    cmp_ok $n, '>', 25, 'there are some';
};

done_testing;
