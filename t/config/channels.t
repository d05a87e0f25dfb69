# "Sets the main log channel or the channel of one or more categories. A field
# set to a channel ID sends that category there; set to null, the category
# follows the main channel again."

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/config/logging/channels";

my @fields = qw(main_channel category_modlog category_members category_actions
    category_text category_voice category_files category_server category_roles
    category_channels category_service);


sub patch {
    my ($body, $query) = @_;
    return $nginx->patch($path . ($query // ''), %as, json => $body);
}


sub row {
    my ($query) = @_;
    return $nginx->get($path . ($query // ''), %as)->json->[0];
}


is $nginx->get($path, %as)->status, 404, 'nothing is stored yet';
is $nginx->get($path, %as)->text, '{}', 'the body is an empty object';

# the first change

my $entry = one_change($nginx, $server, 68, 'the first change', sub {
    my $answer = patch({ main_channel => '300000000000000001' });
    is $answer->status, 202, 'a change is accepted';
    is $answer->text, '{}', 'with an empty object';
});
is_deeply $entry->{changes},
    [changed(main_channel => undef, '300000000000000001')],
    'the entry has the new value';
like $entry->{notification}{description}, qr/main_channel/,
    'the notification has it, too';

is_deeply $nginx->get($path, %as)->json, [{
    id => $server, map({ $_ => undef } @fields),
    main_channel => '300000000000000001',
}], 'a read returns one row, with IDs as strings';

# each field

for my $i (0 .. $#fields) {
    my $channel = '30000000000000010' . $i % 10;
    one_change($nginx, $server, 68, $fields[$i], sub {
        is patch({ $fields[$i] => $channel })->status, 202, $fields[$i];
    });
    is row()->{ $fields[$i] }, $channel, "$fields[$i] is stored";
}

# null and "0"

$entry = one_change($nginx, $server, 68, 'two fields in one request', sub {
    patch({ category_text => undef, category_voice => '0' });
});
is row()->{category_text}, undef, 'null follows the main channel again';
is row()->{category_voice}, '0', '"0" switches the category off';
is row()->{category_roles}, '300000000000000108',
    'an absent field keeps its value';
is_deeply $entry->{changes}, [
    changed(category_text => '300000000000000104', undef),
    changed(category_voice => '300000000000000105', '0'),
], 'the entry has the old values and the new ones';
like $entry->{notification}{description}, qr/category_text: null/,
    'the notification has it, too';

for my $field (qw(main_channel category_files)) {
    no_change($nginx, $server, "$field off", sub {
        my $answer = patch({ category_roles => '1', $field => '0' });
        is $answer->status, 400, "$field cannot be switched off";
        like $answer->json->{error}, qr/^$field: /, 'the error names the field';
    });
}
is row()->{category_roles}, '300000000000000108',
    'one bad field: nothing is applied';

is patch({ category_voice => '9223372036854775807' })->status, 202,
    'the largest ID is accepted';
is row()->{category_voice}, '9223372036854775807',
    '... and is read back unchanged';

# no change

no_change($nginx, $server, 'the values that are stored already', sub {
    is patch({ category_text => undef,
               category_voice => '9223372036854775807' })->status, 202,
        'the stored values are accepted again';
});
no_change($nginx, $server, 'nothing', sub {
    my $answer = patch({});
    is $answer->status, 400, 'an empty change is refused';
    like $answer->json->{error}, qr/^body: /, 'the error names the body';
});

# bots and servers

is $nginx->get("$path?bot=pro", %as)->status, 404,
    'the Pro bot has a configuration of its own';
one_change($nginx, $server, 68, 'the Pro bot', sub {
    is patch({ main_channel => '300000000000000999' }, '?bot=pro')->status,
        202, 'bot=pro';
}, bot => 'pro');
is row('?bot=pro')->{main_channel}, '300000000000000999',
    'its channel is changed';
is row()->{main_channel}, '300000000000000100',
    'the channel of the main bot is not';

my $other = $nginx->server;
is $nginx->get("/servers/$other/config/logging/channels",
    token => $nginx->token($other))->status, 404,
        'another server has nothing stored';

# several clients at the same time

my @answers = at_once(6, sub {
    return patch({ $fields[$_[0]] => '30000000000000070' . $_[0] })->status;
}, $nginx => 'logging_channels');
is "@answers", '202 202 202 202 202 202', 'six clients change one field each';
is_deeply [@{ row() }{ @fields[1 .. 6] }],
    [map { '30000000000000070' . $_ } 1 .. 6], 'each change is stored';

my $before = $nginx->sql('select count(*) from entries where type = 68');
at_once(4, sub { patch({ main_channel => '300000000000000800' })->status },
    $nginx => 'logging_channels');
is $nginx->sql('select count(*) from entries where type = 68') - $before, 1,
    'four clients make the same change: it is logged once';

done_testing;
