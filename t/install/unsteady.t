# util/test: a file that fails once and passes alone is named, and the run
# passes; not so if it fails again, if there are three of them, if it is about
# exactness or kills, or if an nginx logged an alert.  A folder means its tests.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Path qw(make_path);
use File::Temp;
use Test::More;

my $top  = abs_path(dirname(__FILE__) . '/../..');
my $tree = File::Temp->newdir('/tmp/guildlog.XXXXXX');
my %ran;

delete @ENV{grep { /^GUILDLOG_/ } keys %ENV};

# what a file does when it runs for the first time
my %does = (
    passes => 'pass',
    fails  => 'fail',
    dies   => 'die',
    alerts => q(
        require Guildlog;
        my $nginx = Guildlog->new(cluster => 1, dbname => 'none',
            database => undef, start => 0);
        $nginx->file('logs/error.log', "[alert] exited on signal 11\n");
        Guildlog::done_testing();
        exit),
);


sub file {
    my ($name, $text) = @_;

    make_path(dirname("$tree/$name"));
    open my $out, '>', "$tree/$name" or die "$name: $!\n";
    print {$out} $text;
    close $out;
    chmod 0755, "$tree/$name";
}


# t/NAME.t => what it does first; then it passes, unless it "fails twice"
sub tests {
    my (%how) = @_;

    for my $name (keys %how) {
        my ($does, $twice) = split / /, $how{$name};
        my $later = $twice ? 'fail' : 'pass';
        file("t/$name.t", "use Test::More;\n"
            . "if (mkdir __FILE__ . '.ran') { $does{$does} } else { $later }\n"
            . "done_testing;\n");
    }
}


# how the run of these ends, and which of them are named as unsteady; what it
# said
sub ends {
    my ($names, $status, $unsteady, $what) = @_;

    my $said = qx{cd "$tree" && util/test $names 2>&1};
    is $? >> 8, $status, $what;
    is join(' ', $said =~ m{^unsteady: t/(.*)\.t$}mg), $unsteady,
        '... and what is unsteady is named';
    %ran = map { m{/t/(.*)\.t\.ran$} && $1 => 1 } glob "$tree/t/*/*.ran";
    rmdir $_ for glob "$tree/t/*/*.ran";
    return $said;
}


# the real util/test, where nothing is to be built and no database is needed
file('util/build', "#!/bin/sh\n");
file('util/lib.sh', ". '$top/util/lib.sh'\n"
    . "top=$tree build=$tree/.build\nneed() { :; }\ntest_cluster() { :; }\n");
symlink "$top/util/test", "$tree/util/test" or die "symlink: $!\n";
make_path("$tree/t");
symlink "$top/t/lib", "$tree/t/lib" or die "symlink: $!\n";

tests('good/1' => 'passes', 'good/2' => 'passes', 'chaos/1' => 'passes');
ends('t/good', 0, '', 'files pass');
is_deeply [sort keys %ran], [qw(good/1 good/2)], 'a folder means its tests';
ends('t', 0, '', 'all files pass');
is_deeply [sort keys %ran], [qw(good/1 good/2)], 'chaos is not run then';
ends('t/chaos t/good/1.t', 0, '', 'a folder and a file pass');
is_deeply [sort keys %ran], [qw(chaos/1 good/1)], 'both are run';
like ends('t/lib', 1, '', 'a folder without tests'), qr{no tests in \S+/t/lib$},
    'is an error';

tests('once/1' => 'fails', 'once/2' => 'passes', 'once/3' => 'dies');
ends('t/once', 0, 'once/1 once/3', 'two of them fail once');

tests('twice/1' => 'fails twice', 'twice/2' => 'passes');
ends('t/twice', 1, '', 'one fails again');

tests('three/1' => 'fails', 'three/2' => 'fails', 'three/3' => 'dies');
ends('t/three', 1, '', 'three fail once');

for my $name (qw(record/1 search/property delivery/delivery-1 chaos/2)) {
    tests($name => 'fails');
    ends("t/$name.t", 1, '', "t/$name.t fails once");
}

tests('nginx/1' => 'alerts');
ends('t/nginx', 1, '', 'an nginx logs an alert once');

done_testing;
