# What util/release makes of a commit: an archive, packages, notes, and sums
# that fit.  Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my $dir = "$ENV{GUILDLOG_TEST_DIR}/release";
my @suites = Guildlog::Machine::suites();

system("git clone -q '$Guildlog::TOP' '$dir'") == 0 or die "git clone\n";
open my $dirt, '>', "$dir/dirt" or die $!;
close $dirt;
ok !defined Guildlog::Machine::shell('"$1/util/release" 2> /dev/null', $dir),
    'what is not committed is not released';
unlink "$dir/dirt";

chomp(my $made = Guildlog::Machine::shell('"$@"', "$dir/util/release", @suites)
    // die "no release\n");
is system("cd '$made' && sha256sum --quiet -c SHA256SUMS"), 0, 'the sums fit';

my ($version) = slurp("$dir/src/base/ngx_guildlog.h")
    =~ /GUILDLOG_VERSION +"(.*?)"/;
my @names = sort map { s{.*/}{}r } glob "$made/*";
my %debian = (bookworm => 12, trixie => 13);
is_deeply \@names, [sort 'NOTES', 'SHA256SUMS', "guildlog-$version.tar.gz",
    map { "libnginx-mod-http-guildlog_$version-1~debian$debian{$_}_"
        . 'amd64.deb' } @suites], 'and nothing is missing';
like slurp("$made/NOTES"), qr/\AChanges with guildlog \Q$version\E /,
    'the notes are of this version';
unlike slurp("$made/NOTES"), qr/^Changes with .*^Changes with /ms, 'alone';
is system("tar -xzf '$made/guildlog-$version.tar.gz' -C '$dir' && "
    . "cmp -s '$dir/config' '$dir/guildlog-$version/config'"), 0,
    'the archive has the sources';

done_testing;
