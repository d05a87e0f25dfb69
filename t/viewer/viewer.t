# The log viewer, in a real browser over the real stack of util/run: each view
# and each action, hostile entries, bad days. The suites are in t/viewer; what
# they print is TAP.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);

my $top      = abs_path(dirname(__FILE__) . '/../..');
my $packages = "$top/.build/viewer";
my $dir      = tempdir('guildlog.XXXXXX', DIR => '/tmp', CLEANUP => 1);

chmod 0711, $dir;
$ENV{GUILDLOG_RUN_DIR} = "$dir/run";


END {
    local $?;
    qx{"$top/util/run" --stop 2>&1} if -d "$dir/run";
}


my $said = qx{"$top/util/run" --background 2>&1 </dev/null};
die $said if $?;

for (split /\n/, qx{"$top/util/run" --env}) {
    my ($name, $value) = split /=/, $_, 2;
    $ENV{$name} = $value;
}
$ENV{GUILDLOG_VIEWER_PACKAGES} = $packages;
$ENV{GUILDLOG_VIEWER_SHOTS}    = "$packages/shots";

# or the browser would write to those of who runs this
$ENV{HOME} = $dir;
delete @ENV{grep { /^XDG_/ } keys %ENV};

$| = 1;
open my $tap, '-|', 'node', "$top/t/viewer/main.js" or die "node: $!";
print while <$tap>;
close $tap;
exit($? ? 1 : 0);
