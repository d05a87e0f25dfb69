# "type declarations generated from OpenAPI": what operations take and answer is known
# to TypeScript, and what they do not take is refused. types.ts has the calls.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use File::Temp qw(tempdir);

my $packages = "$Guildlog::TOP/.build/kit/node_modules";
my $dir = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);
my $package = "$dir/util/kit/js";

mkdir "$dir/$_" or die $! for qw(node_modules util util/kit);
system('cp', '-r', "$Guildlog::TOP/util/kit/js", $package) == 0 or die;
symlink $package, "$dir/node_modules/guildlog" or die $!;
symlink "$Guildlog::TOP/conf", "$dir/conf" or die $!;
symlink "$packages/\@types", "$dir/node_modules/\@types" or die $!;
system('cp', "$Guildlog::TOP/t/kit/types.ts", $dir) == 0 or die;

my $scripts = json->decode(slurp("$package/package.json"))->{scripts};
$ENV{PATH} = "$packages/.bin:$ENV{PATH}";
my $said = qx{exec 2>&1; cd $package && $scripts->{types}};
ok !$? && -s "$package/types/operator.d.ts", 'types are made' or diag $said;

my @options = qw(--strict --noEmit --module nodenext --target es2022 --types node);
my $out = qx{exec 2>&1; cd $dir && echo '{"type": "module"}' > package.json && tsc @options types.ts};
is "$?$out", 0, 'the calls compile, and the wrong ones are errors';

done_testing;
