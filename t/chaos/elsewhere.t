# The packages for Fedora and Alpine, as far as Debian can make them, from what
# util/release makes of the sources and the nginx of this version: rpmbuild takes the
# one, and a shell runs what abuild would of the other, which Debian does not have. Each
# has all that Debian's package has, and this nginx loads its module. On such a system
# nothing was tried.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my $top = $Guildlog::TOP;
my $dir = "$ENV{GUILDLOG_TEST_DIR}/elsewhere";
my ($version) = slurp("$top/src/base/ngx_guildlog.h")
    =~ /GUILDLOG_VERSION +"(.*?)"/;
my ($nginx) = qx{nginx -v 2>&1} =~ m{nginx/([\d.]+)} or die "no nginx\n";
my ($short) = $nginx =~ /^(\d+\.\d+)/;

# which brings the sources of that nginx
defined Guildlog::Machine::shell('need rpm; [[ -f $build/nginx-$1/configure ]] '
    . '|| "$top/util/build" debug --nginx "$1" > /dev/null', $short) or die "no sources of nginx $nginx\n";
system("mkdir -p '$dir/SOURCES' && cd '$top' && "
    . "git archive --prefix=guildlog-$version/ HEAD | gzip -n "
    . "> '$dir/SOURCES/guildlog-$version.tar.gz' && "
    . "tar -C .build --transform 's,^nginx-$short,nginx-$nginx,' -czf "
    . "'$dir/SOURCES/nginx-$nginx.tar.gz' nginx-$short") == 0 or die "no sources\n";


# what Debian's package has below /usr/share/guildlog, but its own installer
sub shared {
    my @files = split /\n/, qx{cd '$top' && git ls-files conf sql};
    for (split /\n/, slurp("$top/util/debian/libnginx-mod-http-guildlog.install")) {
        my ($from) = split ' ';
        push @files, split /\n/, qx{cd '$top' && git ls-files '$from'}
            if $from =~ m{^util/} && $from ne 'util/install';
    }
    return (@files, 'conf/viewer/reference.html');
}


sub has_all {
    my ($root, $what) = @_;

    is_deeply [grep { !-e "$root/usr/share/guildlog/$_" } shared()], [],
        "$what has all that Debian's has";
    ok -s "$root/usr/share/man/$_" || -s "$root/usr/share/man/$_.gz", "... $_"
        for qw(man1/guildlog.1 man5/guildlog.conf.5);
    like qx{'$root/usr/bin/guildlog' --help}, qr/^usage: guildlog/mi, '... its command runs';
    like slurp("$root/usr/share/guildlog/conf/viewer/index.html"),
        qr/"v-[0-9a-f]{12}\/main[.]js"/, '... its viewer has addresses of its own';

    my ($module) = glob "$root/usr/lib*/nginx/modules/ngx_http_guildlog_module.so";
    open my $conf, '>', "$dir/nginx.conf" or die $!;
    print {$conf} "load_module $module;\npid $dir/pid;\nerror_log stderr;\n",
        "events {}\nhttp { guildlog_issuer x; }\n";
    close $conf or die $!;
    my $said = qx{nginx -t -c '$dir/nginx.conf' 2>&1};
    is $?, 0, "... nginx $nginx loads its module" or diag $said;
}


# what it asks for are packages of Fedora; optimising would take most of the time
my $said = qx{rpmbuild -bb --nodeps --define '_topdir $dir' --define 'nginx $nginx' \\
    --define 'optflags -O0' '$top/util/rpm/nginx-mod-guildlog.spec' 2>&1};
is $?, 0, 'rpmbuild makes it' or diag substr $said, -2000;
my ($rpm) = glob "$dir/RPMS/*/nginx-mod-guildlog-$version-*.rpm";
ok $rpm, '... of this version' or do { done_testing; exit };
my $needs = qx{rpm -qp --requires '$rpm' 2> /dev/null};
like $needs, qr/^nginx = \Q$nginx\E$/m, '... it needs that nginx';
like $needs, qr/^libpq\.so\.5\b/m, '... and libpq';
system("mkdir '$dir/rpm' && cd '$dir/rpm' && rpm2cpio '$rpm' "
    . '| busybox cpio -id 2> /dev/null') == 0 or die "no files\n";
has_all("$dir/rpm", 'the one for Fedora');

# abuild unpacks, sets these, and calls the two
$said = qx{cd '$dir/SOURCES' && mkdir src && for file in *.gz; do \\
    tar -xzf \$file -C src; done && NGINX_VERSION=$nginx srcdir=\$PWD/src \\
    pkgdir='$dir/apk' sh -ec '. "$top/util/alpine/APKBUILD"; \\
    (cd "\$builddir"; build); (cd "\$builddir"; package); \\
    echo "version \$pkgver"' 2>&1};
is $?, 0, 'build and package of APKBUILD run' or diag substr $said, -2000;
like $said, qr/^version \Q$version\E$/m, '... of this version';
has_all("$dir/apk", 'the one for Alpine');

done_testing;
