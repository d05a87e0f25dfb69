# What util/release makes of a commit: sources, packages, what these need, a repository
# of apt, the kit, notes, and sums that fit. Made again it is the same. With a key others
# can tell that it is what was signed, as conf/INSTALL.md says, and a new machine
# installs from it. Needs root.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::Machine;

my $dir = "$ENV{GUILDLOG_TEST_DIR}/release";
my @suites = Guildlog::Machine::suites();
my ($version) = slurp("$Guildlog::TOP/src/base/ngx_guildlog.h")
    =~ /GUILDLOG_VERSION +"(.*?)"/;
my @blocks = slurp("$Guildlog::TOP/conf/INSTALL.md") =~ /^```\n(.*?)^```\n/msg;

mkdir $dir or die "$dir: $!";
my $key = new_key('release');
my $other = new_key('other');


# a key of gpg, in a home of its own
sub new_key {
    my ($name) = @_;

    my $home = "$dir/$name.gpg";
    mkdir $home, 0700 or die "$home: $!";
    system('gpg', '--homedir', $home, '--batch', '--quiet', '--passphrase', '',
        '--quick-gen-key', "$name\@localhost", 'ed25519', 'sign', 'never') == 0
        or die "gpg\n";
    system("gpg --homedir $home --batch --armor --export > $dir/$name.asc") == 0
        or die "gpg\n";
    return $home;
}


# a release made in a clone of its own
sub release {
    my ($at) = @_;

    -d "$dir/$at" || system('git', 'clone', '-q', $Guildlog::TOP, "$dir/$at") == 0
        or die "git clone\n";
    local $ENV{GNUPGHOME} = $key;
    chomp(my $made = Guildlog::Machine::shell('"$@"', "$dir/$at/util/release",
        '--key', 'release@localhost', @suites) // die "no release\n");
    return $made;
}


sub files {
    my ($of) = @_;
    return [sort map { s{^\./}{}r } split /\n/, qx{cd '$of' && find . -type f}];
}


system('git', 'clone', '-q', $Guildlog::TOP, "$dir/one") == 0 or die "git clone\n";
open my $dirt, '>', "$dir/one/dirt" or die $!;
close $dirt;
ok !defined Guildlog::Machine::shell('"$1/util/release" 2> /dev/null', "$dir/one"),
    'what is not committed is not released';
unlink "$dir/one/dirt";

my $made = release('one');
my %debian = (bookworm => 12, trixie => 13);
my %deb = map { $_ => "libnginx-mod-http-guildlog_$version-1~debian$debian{$_}_amd64" }
    @suites;
is_deeply [grep { !m{/} } @{ files($made) }], [sort qw(NOTES SHA256SUMS SHA256SUMS.asc
    guildlog.asc), "guildlog-$version.tar.gz", "guildlog-$version.tgz",
    "guildlog-$version-py3-none-any.whl",
    map { ("$_.deb", "$_.spdx.json") } values %deb], 'nothing is missing';
like slurp("$made/NOTES"), qr/\AChanges with guildlog \Q$version\E /,
    'the notes are of this version';
unlike slurp("$made/NOTES"), qr/^Changes with .*^Changes with /ms, 'alone';
is system("tar -xzf '$made/guildlog-$version.tar.gz' -C '$dir' && "
    . "cmp -s '$dir/one/config' '$dir/guildlog-$version/config'"), 0,
    'the archive has the sources';


# at another time, elsewhere, by somebody with other habits

{
    local $ENV{TZ} = 'Asia/Tokyo';
    my $mask = umask 077;
    my $again = release('elsewhere');
    umask $mask;
    is_deeply files($again), files($made), 'made again it has the same files';
    is_deeply [grep { system('cmp', '-s', "$made/$_", "$again/$_") }
        grep { !m{SHA256SUMS\.asc$|/InRelease$|/Release\.gpg$} } @{ files($made) }], [],
        '... with the same bytes';
}


# whoever gets it

{
    my $got = "$dir/got";
    my $home = "$dir/got.gpg";
    mkdir $home, 0700 or die "$home: $!";
    system('cp', '-r', $made, $got) == 0 or die "cp\n";

    my ($verify) = grep { /gpg --verify/ } @blocks;
    my $says = sub {
        qx{cd '$got' && GNUPGHOME='$home' bash -ec '$verify' 2>&1};
    };
    like $says->(), qr/Good signature/, 'the documented commands verify it';
    is $?, 0, '... whole';

    open my $out, '>>', "$got/$deb{$suites[0]}.deb" or die $!;
    print {$out} "\n";
    close $out or die $!;
    $says->();
    isnt $?, 0, 'they find a file that was changed';
    system("cd '$got' && sha256sum *.* > ../sums; mv ../sums SHA256SUMS") == 0 or die;
    like $says->(), qr/BAD signature/, '... and sums that were made to fit';
}


my $port = free_port;
my $web = fork // die "fork: $!";
if (!$web) {
    exec 'busybox', 'httpd', '-f', '-p', "127.0.0.1:$port", '-h', $made or die;
}

END {
    local $?;
    kill 'TERM', $web and waitpid $web, 0 if $web;
    system('gpgconf', '--homedir', $_, '--kill', 'all') for glob "$dir/*.gpg";
}

for my $suite (@suites) {
    my $machine = Guildlog::Machine->new($suite, 'curl');
    my ($install) = grep { /guildlog\.sources/ } @blocks;
    $install =~ s{https://releases\.example}{http://127.0.0.1:$port}
        && $install =~ s/^Suites: \K\w+/$suite/m or die "no sources in INSTALL.md\n";
    $machine->write('/tmp/install', $install);

    # by a key that did not sign it
    $machine->copy("$dir/other.asc", '/root/guildlog.asc');
    ok !($machine->on('cd /root && bash -e /tmp/install'))[0],
        "$suite: apt takes nothing that another key signed";
    ok !($machine->on('dpkg -s libnginx-mod-http-guildlog'))[0], '... at all';

    $machine->copy("$made/guildlog.asc", '/root/guildlog.asc');
    $machine->goes_well('cd /root && bash -e /tmp/install', 'apt installs it');
    $machine->goes_well('nginx -t', 'nginx loads the module');
    like $machine->goes_well('guildlog --version', 'the command is there'),
        qr/\Q$version\E/, '... of this version';

    # what it needs, as this machine tells it

    my $told = json->decode(slurp("$made/$deb{$suite}.spdx.json"));
    my %package = map { $_->{SPDXID} => $_ } @{ $told->{packages} };
    my %needs;
    for (@{ $told->{relationships} }) {
        push @{ $needs{ $_->{relationshipType} } },
            $package{ $_->{relatedSpdxElement} }{name};
    }
    my ($its) = map { $package{"SPDXRef-$_"} } @{ $needs{DESCRIBES} };
    is $its->{checksums}[0]{checksumValue}, (split ' ',
        qx{sha256sum '$made/$deb{$suite}.deb'})[0], 'the list is of this package';

    my $module = '/usr/lib/nginx/modules/ngx_http_guildlog_module.so';
    my @linked = qx{objdump -p '@{[$machine->dir]}$module'} =~ /NEEDED +(\S+)/g;
    my %owner;
    for my $library (@linked) {
        my ($path) = $machine->goes_well("ldd $module", "ldd: $library")
            =~ /^\s*\Q$library\E => (\S+)/m;
        my ($name) = ($machine->on("(dpkg -S $path || dpkg -S \$(realpath $path)"
            . " || dpkg -S '*/$library') 2> /dev/null"))[1]
            =~ /^([\w.+-]+)(?::\w+)?: /m;
        $owner{$name} = 1;
    }
    is_deeply [sort @{ $needs{DYNAMIC_LINK} }], [sort keys %owner],
        'it is linked with what ldd and dpkg say';
    my ($depends) = ($machine->on("dpkg-query -Wf '\${Depends}' "
        . 'libnginx-mod-http-guildlog'))[1];
    is_deeply [sort map { $_->{name} } grep { $_ != $its } values %package],
        [sort map { s/^\s+|\s*\(.*//gr } split /,/, $depends],
        'and needs what it depends on';
    for (grep { $_ != $its } values %package) {
        my $name = $_->{name} =~ /^nginx-abi/ ? 'nginx' : $_->{name};
        is $_->{versionInfo}, ($machine->on("dpkg-query -Wf '\${Version}' $name"))[1],
            "the version of $name";
    }
}

done_testing;
