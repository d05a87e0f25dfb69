# The Debian package on a new machine: nginx has the module as soon as the
# package is installed, and purging the package leaves nothing behind.  Needs
# root.

use lib 't/lib';
use Guildlog;
use File::Copy qw(copy);

die "needs root, to make a machine of its own\n" if $>;

my $machine = File::Temp::tempdir(
    'package.XXXXXX', DIR => $ENV{GUILDLOG_TEST_DIR} || '/tmp', CLEANUP => 1);
chmod 0755, $machine;


# runs bash with the functions of util/lib.sh
sub shell {
    my ($script, @arguments) = @_;

    open my $out, '-|', 'bash', '-c', ". '$Guildlog::TOP/util/lib.sh'; $script",
        'bash', @arguments or die "bash: $!";
    my $text = do { local $/; <$out> };
    return close $out ? $text : undef;
}


# runs a command on the machine: (whether it succeeded, its output)
sub on {
    my ($command) = @_;

    open my $out, '-|', 'chroot', $machine, 'env', '-i', 'PATH=/usr/sbin:'
        . '/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive',
        'LC_ALL=C.UTF-8', 'sh', '-c', "($command) 2>&1" or die "chroot: $!";
    my $text = do { local $/; <$out> } // '';
    return (scalar close $out, $text);
}


sub goes_well {
    my ($command, $what) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($ok, $said) = on($command);
    ok $ok, $what or diag $said;
    return $said;
}


# every file, without those in which apt and dpkg keep their records
sub files {
    my (undef, $list) = on('find / -xdev \( -path /var/cache -o -path /var/log'
        . ' -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /tmp'
        . ' -o -path /proc -o -path /dev -o -path /root \) -prune -o'
        . ' ! -type d -printf "%p %l\n"');
    return { map { $_ => 1 } split /\n/, $list };
}


chomp(my $package = shell('"$top/util/package"') // die "no package\n");

ok defined shell('need "${packages_package[@]}"; step "Making a machine" '
    . 'debootstrap --variant=minbase bookworm "$1" "$(debian_mirror)"',
    $machine), 'a new machine' or BAIL_OUT('no machine to install on');

# keeps the machine from starting services
open my $policy, '>', "$machine/usr/sbin/policy-rc.d" or die $!;
print {$policy} "#!/bin/sh\nexit 101\n";
close $policy;
chmod 0755, "$machine/usr/sbin/policy-rc.d";

goes_well('apt-get -q update && apt-get -qy install --no-install-recommends '
    . 'nginx-light', 'nginx is installed');
goes_well('nginx -t', "nginx's configuration is valid");
my $before = files();

copy($package, "$machine/tmp/guildlog.deb") or die "copy: $!";
goes_well('apt-get -qy install --no-install-recommends /tmp/guildlog.deb',
    'the package is installed');
goes_well('nginx -t', 'the configuration is valid with the module');

open my $conf, '>', "$machine/etc/nginx/conf.d/guildlog.conf" or die $!;
print {$conf} "guildlog_limit_zone guildlog:1m;\n";
close $conf;
goes_well('nginx -t', 'nginx knows the directives');
unlink "$machine/etc/nginx/conf.d/guildlog.conf";

goes_well('test -f /usr/share/guildlog/sql/install.sql '
    . '&& test -f /usr/share/guildlog/conf/guildlog.conf '
    . '&& test -f /usr/share/guildlog/conf/viewer/index.html',
    'the schema, the sample and the log viewer are there');

goes_well('apt-get -qy purge --auto-remove libnginx-mod-http-guildlog',
    'the package is removed');
goes_well('nginx -t', "nginx's configuration is valid without the module");

my $after = files();
is_deeply [grep { !$before->{$_} } sort keys %$after], [],
    'no file of the package is left';
is_deeply [grep { !$after->{$_} } sort keys %$before], [],
    'no other file was removed';

done_testing;
