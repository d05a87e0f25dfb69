# The Debian package on a new machine: nginx has the module as soon as the
# package is installed, and purging the package leaves nothing behind.  Needs
# root.

use lib 't/lib';
use Guildlog;
use Guildlog::Machine;

my $machine = Guildlog::Machine->new('bookworm', 'nginx-light');

$machine->goes_well('nginx -t', "nginx's configuration is valid");
my $before = $machine->files;

$machine->copy(Guildlog::Machine::deb(), '/tmp/guildlog.deb');
$machine->goes_well('apt-get -qy install --no-install-recommends /tmp/guildlog.deb',
    'the package is installed');
$machine->goes_well('nginx -t', 'the configuration is valid with the module');

my $conf = '/etc/nginx/conf.d/guildlog.conf';
$machine->goes_well("echo 'guildlog_limit_zone guildlog:1m;' > $conf; nginx -t",
    'nginx knows the directives');
$machine->on("rm $conf");

$machine->goes_well('test -f /usr/share/guildlog/sql/install.sql '
    . '&& test -f /usr/share/guildlog/conf/guildlog.conf '
    . '&& test -f /usr/share/guildlog/conf/viewer/index.html',
    'the schema, the sample and the log viewer are there');

$machine->goes_well('apt-get -qy purge --auto-remove libnginx-mod-http-guildlog',
    'the package is removed');
$machine->goes_well('nginx -t', "nginx's configuration is valid without the module");

my $after = $machine->files;
is_deeply [grep { !$before->{$_} } sort keys %$after], [],
    'no file of the package is left';
is_deeply [grep { !$after->{$_} } sort keys %$before], [],
    'no other file was removed';

done_testing;
