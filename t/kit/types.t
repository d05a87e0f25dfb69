# The package as people install it: "npm pack" makes a tarball that has what it says,
# and leaves nothing behind. In an empty project, on each Node.js that it is for,
# TypeScript knows what operations take and answer, and it runs. types.ts has the calls.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use File::Temp qw(tempdir);

my $packages = "$Guildlog::TOP/.build/kit/node_modules";
my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
my $sources = "$dir/sources/util/kit/js";

# a copy, for other tests use the folder meanwhile
system("mkdir -p $dir/sources/util/kit $dir/project/node_modules/guildlog "
    . "&& cp -r $Guildlog::TOP/LICENSE $Guildlog::TOP/conf $dir/sources "
    . "&& cp -r $Guildlog::TOP/util/kit/js $sources") == 0 or die;
local $ENV{PATH} = "$packages/.bin:$ENV{PATH}";
my $before = listed($sources);
my $said = qx{exec 2>&1; cd $sources && npm pack --silent --pack-destination $dir};
is $?, 0, 'npm pack' or diag $said;
is listed($sources), $before, '... leaves nothing behind';

my ($tarball) = glob "$dir/guildlog-*.tgz";
my %has = map { s{^package/}{}r => 1 } split /\n/, qx{tar -tzf $tarball};
ok $has{$_}, "it has $_"
    for qw(README.md LICENSE index.d.ts types/api.d.ts types/operator.d.ts discord.js);
my $package = json->decode(scalar qx{tar -xzOf $tarball package/package.json});
is_deeply [@$package{qw(name license)}, sort keys %{ $package->{peerDependencies} }],
    ['guildlog', 'BSD-2-Clause', 'discord.js'], '... its name, licence and peer';
ok !$package->{dependencies}, '... and needs no other package';

my $project = "$dir/project";
system("tar -xzf $tarball -C $project/node_modules/guildlog --strip-components=1 "
    . "&& ln -s $packages/\@types $project/node_modules/\@types "
    . "&& cp $Guildlog::TOP/t/kit/types.ts $project "
    . "&& echo '{\"type\": \"module\"}' > $project/package.json") == 0 or die;
open my $program, '>', "$project/runs.js" or die $!;
print {$program} <<'JS';
import {Guildlog, Operator, Recorder} from 'guildlog';
import {attach} from 'guildlog/discord';
import {TYPES} from 'guildlog/log-types';
console.log(typeof Guildlog, typeof Operator, typeof Recorder, typeof attach, TYPES.ban);
JS
close $program or die $!;

my @options = qw(--strict --noEmit --module nodenext --target es2022 --types node);
my @nodes = glob "$packages/node-{18,20,22}/bin/node";
@nodes = ('node') if !grep { -x } @nodes;    # they are there for x86_64 alone
for my $node (grep { $_ eq 'node' || -x } @nodes) {
    chomp(my $version = qx{$node --version});
    my $out = qx{exec 2>&1; cd $project && $node $packages/typescript/bin/tsc @options types.ts};
    is "$?$out", 0, "Node.js $version: the calls compile, and the wrong ones are errors";
    is qx{exec 2>&1; cd $project && $node runs.js}, "function function function function 39\n",
        '... and it runs';
}

done_testing;


sub listed {
    my ($folder) = @_;
    return join ' ', sort map { s{.*/}{}r } glob "$folder/{*,.*}";
}
