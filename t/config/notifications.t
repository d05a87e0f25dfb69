# "recent changes to the configuration"

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1);
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/notifications";


sub notifications {
    my ($query) = @_;
    return @{ $nginx->get($path . ($query // ''), %as)->json };
}


sub access {
    my ($user, $level, $query) = @_;
    return $nginx->put("/servers/$server/config/access/$user"
        . ($query // ''), %as, json => { level => $level });
}


my @all = notifications();
is @all, 1, 'making the token was the first change';
is $all[0]{notificationType}, '72', 'a token was made';

my $before = time;
$nginx->patch("/servers/$server/config/settings", %as,
    json => { locale => 'de' });
@all = notifications();
is @all, 2, 'each change makes a notification';

my $it = $all[0];
is $it->{notificationType}, '70',
    'the newest is the first; its type is a string';
is $it->{id}, $it->{notificationId}, 'its two IDs are the same';
is $it->{acknowledged}, 0, 'it is not acknowledged';
is_deeply [sort keys %{ $it->{notificationData} }],
    [qw(description executorId title)], 'the fields of its data';
is $it->{notificationData}{executorId}, '0', 'by executor "0"';
is $it->{notificationData}{title}, 'Language changed', 'a title to read';
like $it->{notificationData}{description}, qr/locale: de$/,
    'the description has the change';
like $it->{created}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    'the time is in ISO 8601';
ok abs($nginx->sql('select extract(epoch from ?::timestamptz)',
    $it->{created}) - $before) < 60, 'the time is now';

# acknowledge

access('1', 'view');
access('2', 'view');
my @ids = map { $_->{id} } notifications();

no_change($nginx, $server, 'acknowledging', sub {
    my $answer = $nginx->post("$path/$ids[1]/acknowledge", %as);
    is $answer->status, 200, 'one is acknowledged';
    is $answer->text, '{}', 'with an empty object';
});
is join(' ', map { $_->{acknowledged} } notifications()),
    '0 1 0 0',
    'only this one is acknowledged';
is $nginx->post("$path/$ids[1]/acknowledge", %as)->status, 200, 'again';

for my $bad ('1', 'x', '9223372036854775807', '9' x 64) {
    is $nginx->post("$path/$bad/acknowledge", %as)->status, 404,
        "no notification $bad";
}
is $nginx->post("$path/$ids[0]/acknowledge?bot=pro", %as)->status, 404,
    'a notification of the main bot is unknown to the Pro bot';

my $other = $nginx->server;
is $nginx->post("/servers/$other/notifications/$ids[0]/acknowledge",
    token => $nginx->token($other))->status, 404, '... and to another server';

access('3', 'view', '?bot=pro');
no_change($nginx, $server, 'acknowledging all', sub {
    my $answer = $nginx->post("$path/acknowledge", %as);
    is $answer->status, 200, 'all are acknowledged';
    is $answer->text, '{}', 'with an empty object';
});
is join(' ', map { $_->{acknowledged} } notifications()), '1 1 1 1',
    'each of the main bot is acknowledged';
is join(' ', map { $_->{acknowledged} } notifications('?bot=pro')), '0',
    'those of the Pro bot are not';
is $nginx->post("$path/acknowledge", %as)->status, 200, 'again';

is $nginx->post("$path/acknowledge", %as, json => { a => 1 })->status, 200,
    'a body does no harm';

# the last 100

access('4', $_ % 2 ? 'manage' : 'view') for 1 .. 110;
@all = notifications();
is @all, 100, 'the last 100 are kept';
is_deeply [map { $_->{id} } @all], [sort { $b <=> $a } map { $_->{id} } @all],
    'newest first';
like $all[0]{notificationData}{description}, qr/view/,
    'the last change is among them';
is scalar(grep { $_->{id} eq $ids[0] } @all), 0, 'the oldest ones are deleted';
is $nginx->post("$path/$ids[0]/acknowledge", %as)->status, 404,
    'a deleted one cannot be acknowledged';
is notifications('?bot=pro'), 1, 'those of the Pro bot are kept';

my @answers = at_once(4, sub { access("9$_[0]", 'view')->status });
is "@answers", '202 202 202 202', 'four changes at once';
is notifications(), 100, 'there are still 100';
is scalar(grep { $_->{notificationData}{description} =~ /\b9\d\b/ }
    (notifications())[0 .. 3]), 4, 'the four changes are the newest';

done_testing;
