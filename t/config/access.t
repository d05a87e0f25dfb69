# Dashboard access: who may use the dashboard, at level "manage" or "view".

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/config/access";
my ($ada, $bob) = ('500000000000000001', '500000000000000002');


sub put {
    my ($user, $level, $query) = @_;
    return $nginx->put("$path/$user" . ($query // ''), %as,
        json => { level => $level });
}


is $nginx->get($path, %as)->status, 404, 'the list is empty at first: 404';
is $nginx->get("$path/$ada", %as)->status, 404, 'a user without access: 404';

$nginx->operator('PUT', "/servers/$server/members/$ada", { name => 'Ada' });

my $entry = one_change($nginx, $server, 99, 'giving access', sub {
    my $answer = put($ada, 'view');
    is $answer->status, 202, 'access is given';
    is $answer->text, '{}', 'with an empty object';
});
is_deeply $entry->{target}, { id => $ada, name => 'Ada' },
    'the entry names the user';
is $entry->{name}, 'view', '... and the level';
is $entry->{action}, 'add', '... and the action';
is $entry->{notification}{description}, "add Ada $ada view",
    'the notification has all of it';

my $row = { id => $server, user_id => $ada, level => 'view' };
is_deeply $nginx->get("$path/$ada", %as)->json, [$row], 'one row for the user';
is_deeply $nginx->get($path, %as)->json, [$row], 'one row in the list';

no_change($nginx, $server, 'the same access', sub {
    is put($ada, 'view')->status, 202, 'the same again';
});
$entry = one_change($nginx, $server, 99, 'another level', sub {
    is put($ada, 'manage')->status, 202, 'another level';
});
is $entry->{action}, 'update', 'is a change';

put($bob, 'view');
is_deeply [map { "$_->{user_id} $_->{level}" }
    @{ $nginx->get($path, %as)->json }], ["$ada manage", "$bob view"],
    'the list is sorted by user';
is_deeply $nginx->get("/servers/$server/config", %as)->json->{access},
    $nginx->get($path, %as)->json, 'the whole configuration has it';

no_change($nginx, $server, 'bad levels', sub {
    for my $bad ('owner', 'VIEW', '', undef, 1) {
        my $answer = put($ada, $bad);
        is $answer->status, 400, 'no level ' . ($bad // 'null');
        like $answer->json->{error}, qr/^level: .*manage, view/,
            'the error names the levels';
    }
});
for my $bad ('x', '0', '01', '-1', '1.5', '9223372036854775808', '1' x 21) {
    is $nginx->$_("$path/$bad", %as, $_ eq 'put'
        ? (json => { level => 'view' }) : ())->status, 404, "$_ of user $bad"
        for qw(get put delete);
}

$entry = one_change($nginx, $server, 99, 'taking away', sub {
    my $answer = $nginx->delete("$path/$ada", %as);
    is $answer->status, 202, 'access is taken away';
    is $answer->text, '{}', 'with an empty object';
});
is $entry->{action}, 'remove', 'the entry has the action';
is $nginx->get("$path/$ada", %as)->status, 404, 'Ada has no access any more';
is $nginx->get("$path/$bob", %as)->status, 200, 'Bob still has access';
no_change($nginx, $server, 'taking away again', sub {
    is $nginx->delete("$path/$ada", %as)->status, 404,
        '... of a user who has none';
});

# the other bot

is $nginx->get("$path?bot=pro", %as)->status, 404,
    'the Pro bot has its own list';
one_change($nginx, $server, 99, 'the Pro bot', sub {
    is put($bob, 'manage', '?bot=pro')->status, 202, 'bot=pro';
}, bot => 'pro');
is $nginx->get("$path/$bob", %as)->json->[0]{level}, 'view',
    'the main bot keeps its list';

# several clients at the same time

my @answers = at_once(4, sub { put($ada, 'view')->status },
    $nginx => 'access');
is "@answers", '202 202 202 202', 'four clients give the same access';
@answers = sort { $a <=> $b } at_once(4, sub {
    $nginx->delete("$path/$ada", %as)->status;
}, $nginx => 'access');
is "@answers", '202 404 404 404', 'four clients take it away';
is $nginx->sql('select count(*) from entries where type = 99'
    . ' and target_id = ?', $ada), 5, 'each change is logged once';

# the tokens that the user made

{
    my %made;
    for my $who ($ada, $bob) {
        put($who, 'manage');
        ($made{$who}) = map { $_->json->{token} } $nginx->operator('POST',
            "/servers/$server/tokens", { permissions => 1, creator => $who });
    }
    is $nginx->delete("$path/$ada?revoke=2", %as)->status, 400,
        'revoke is 0 or 1';
    is $nginx->delete("$path/$bob", %as)->status, 202, 'taken away alone';
    is $nginx->get("/servers/$server", token => $made{$bob})->status, 200,
        '... the tokens that they made go on';
    is $nginx->delete("$path/$bob?revoke=1", %as)->status, 404,
        '... and are not taken away twice';
    is $nginx->delete("$path/$ada?revoke=1", %as)->status, 202, 'with revoke';
    is $nginx->get("/servers/$server", token => $made{$ada})->status, 401,
        '... they work no more';
    is $nginx->get("/servers/$server", token => $made{$bob})->status, 200,
        '... those of others do';
    is $nginx->sql('select count(*) from entries where type = 71'), 1,
        '... which is logged';
}

done_testing;
