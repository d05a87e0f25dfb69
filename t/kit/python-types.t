# Type hints: what the package for Python takes is known to a type checker, and what
# it does not take is refused. python/typed.py has the calls.

use lib 't/lib';
use Guildlog;
use File::Temp qw(tempdir);

my $cache = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);

$ENV{MYPYPATH} = "$Guildlog::TOP/util/kit/python";
my $out = qx{exec 2>&1; cd $Guildlog::TOP && mypy --strict --cache-dir $cache \\
    -p guildlog && mypy --strict --cache-dir $cache t/kit/python/typed.py};
is $?, 0, 'the package and the calls are right, and the wrong calls are errors'
    or diag $out;

done_testing;
