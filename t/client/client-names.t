# nginx's resolver looks up the platform's name.  A name that is unknown, or a
# name server that does not answer, only costs time.  Each address of a name is
# tried, and a change of the addresses is followed.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Names;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
my $names = Guildlog::Names->new;
$g->configure(http => $names->resolver('valid=1s') . $platform->directives($g,
    at => "http://platform.test:$platform->{port}"))->start;
deliver_with($g, $platform);
my ($guild, $token, $to) = server();


# the address is looked up again
sub sent {
    $platform->stop;
    $platform->start;
    my ($id) = record($guild, 1);
    return $id;
}


sub arrives {
    my ($id, $why) = @_;
    becomes($guild, $token, $id, 'delivered', $why, 60);
    is times_applied($to, $id), 1, '... once';
}


like $g->error_log, qr/\[warn\].*platform\.test/,
    'nginx starts without knowing the name, and warns of it';

my ($id) = record($guild, 1);
wait_for { $g->error_log =~ /Host not found/ } 30, 'the error is logged';
is word($guild, $token, $id), 'not_delivered queued',
    'an unknown name: the entry waits';
$names->are('platform.test' => ['127.0.0.1']);
arrives($id, 'it is known');

# after the earlier answer has expired

$names->are('platform.test' => undef);
wait_for { $id = sent();
    $g->error_log =~ /platform\.test: Operation timed out/ } 60,
        'the error is logged';
ok wait_for { word($guild, $token, $id)
    =~ /^not_delivered (?:queued|retrying)$/ }, 'no answer: the entry waits';
$names->are('platform.test' => ['127.0.0.9', '127.0.0.1']);
arrives($id, 'of two addresses the one that is there');

$names->are('platform.test' => ['127.0.0.1']);
arrives(sent(), 'and that alone');

done_testing;
