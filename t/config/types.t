# "Reads the settings of one log type identified by log_id": a type follows the
# server in each field that it does not set.  A type that sets nothing is 404.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/config/logging/settings";
my ($true, $false) = (JSON::PP::true, JSON::PP::false);


sub patch {
    my ($type, $body, %option) = @_;
    return $nginx->patch(($option{path} // $path) . "/$type"
        . ($option{query} // ''), %as, %option, json => $body);
}


sub rows {
    my ($type, $query) = @_;
    return $nginx->get("$path/$type" . ($query // ''), %as)->json;
}


is $nginx->get("$path/5", %as)->status, 404, 'no type is customised';

my $entry = one_change($nginx, $server, 77, 'the first change', sub {
    my $answer = patch(5, { enabled => $false });
    is $answer->status, 202, 'a change is accepted';
    is $answer->text, '{}', 'with an empty object';
});
is $entry->{name}, 'messageDelete', 'the log entry names the type';
is_deeply $entry->{changes}, [changed(enabled => undef, $false)],
    '... and has the new value';
like $entry->{notification}{description}, qr/messageDelete/,
    'the notification has it, too';

my %nothing = map { $_ => undef } qw(enabled log_channel format_type color
    ignore_bot_executors ignore_bot_targets active_ignore);
is_deeply rows(5), [{ %nothing, id => $server, log_type => 5, enabled => 0 }],
    'one row; the fields that are not set are null';
is $nginx->get("$path/4", %as)->status, 404, 'another type is not customised';
is $nginx->get($path, %as)->status, 404, "the server's settings are not stored";

# each field

my @change = (
    [enabled => $true, 1], [log_channel => '300000000000000001'],
    [log_channel => '0'], [format_type => 2], [color => 0],
    [color => 16777215], [ignore_bot_executors => $true, 1],
    [ignore_bot_targets => $false, 0], [active_ignore => $true, 1],
);
for (@change) {
    my ($field, $written, $read) = @$_;

    one_change($nginx, $server, 77, "$field $written", sub {
        is patch(5, { $field => $written })->status, 202, "$field $written";
    });
    is rows(5)->[0]{$field}, $read // $written, '$field is stored';

    no_change($nginx, $server, "$field $written again", sub {
        is patch(5, { $field => $written })->status, 202,
            'the same value again';
    });
}

no_change($nginx, $server, 'a good and a bad field', sub {
    my $answer = patch(5, { enabled => $false, color => 16777216 });
    is $answer->status, 400, 'a colour above the largest';
    like $answer->json->{error}, qr/^color: /, 'the error names the field';
});
is rows(5)->[0]{enabled}, 1, 'a refused request changes nothing';

# null: the field follows the server again

one_change($nginx, $server, 77, 'one null', sub {
    patch(5, { color => undef });
});
is rows(5)->[0]{color}, undef, 'the field follows the server again';

$entry = one_change($nginx, $server, 77, 'all null', sub {
    is patch(5, \%nothing)->status, 202, 'all fields follow the server again';
});
is $nginx->get("$path/5", %as)->status, 404, 'the type is not customised';
is_deeply $entry->{changes}[0],
    changed(active_ignore => $true, undef),
    'the log entry has the old values, and null as the new ones';
unlike $entry->{notification}{description}, qr/true/,
    'the notification does not show the old values as new ones';

no_change($nginx, $server, 'all null again', sub {
    is patch(5, \%nothing)->status, 202,
        'null where nothing is stored is accepted';
});

# the first and the last type, and types that do not exist

is patch($_, { enabled => $true })->status, 202, "type $_" for 0, 101;
is_deeply [map { $_->{log_type} } @{ $nginx->get("/servers/$server/config",
    %as)->json->{serverlogConfigCustomOptions} }], [0, 101],
    'the whole configuration has all customised types';

for my $bad (qw(102 -1 1.0 05 abc 5x 4294967301 18446744073709551621)) {
    for my $method (qw(get patch)) {
        my $answer = $nginx->$method("$path/$bad", %as,
            $method eq 'patch' ? (json => { enabled => $true }) : ());
        is $answer->status, 404, "$method of type $bad";
        is $answer->text, '{}', '... with an empty object';
    }
}

# several at once

sub several {
    my ($types, $set, %option) = @_;
    return patch('types', { types => $types, set => $set }, %option);
}


patch($_->[0], { color => $_->[1] }) for [20, 5], [21, 6], [22, 5];

$entry = one_change($nginx, $server, 77, 'several types', sub {
    my $answer = several([30, 20, 21, 20], { color => 7, enabled => $false });
    is $answer->status, 202, 'several types are changed';
    is $answer->text, '{}', '... with an empty object';
});
is_deeply [map { @{ rows($_)->[0] }{qw(color enabled)} } 20, 21, 30],
    [7, 0, 7, 0, 7, 0], 'each of them';
is rows(22)->[0]{color}, 5, '... and no other';
is $entry->{count}, 3, 'the log entry has how many';
is $entry->{name}, 'serverUndeafen, serverUnmute, serverUpdate', '... and their names';
is_deeply $entry->{changes}, [
    { key => 'log_types', old => undef, new => ['20', '21', '30'] },
    { key => 'color', old => ['5', '6', 'null'], new => 7 },
    { key => 'enabled', old => undef, new => $false },
], '... and what each was, one by one where it differed';

$entry = one_change($nginx, $server, 77, 'those that differ', sub {
    several([20, 21, 22, 30], { color => 7 });
});
is_deeply [$entry->{count}, $entry->{changes}], [1, [
    { key => 'log_types', old => undef, new => ['22'] },
    { key => 'color', old => 5, new => 7 }]], 'what was so already is no change';
no_change($nginx, $server, 'several, again', sub {
    is several([20, 21, 22, 30], { color => 7 })->status, 202,
        'nothing to change is accepted';
});

$entry = one_change($nginx, $server, 77, 'all types', sub {
    is several([0 .. 101], { log_channel => '300000000000000003' })->status, 202,
        'all types';
});
is $entry->{count}, 102, '... are 102';
is @{ $entry->{changes}[0]{new} }, 102, '... which are all named';
is $nginx->sql('select count(*) from lane where guild_id = ? and channel_id = ?',
    $server, '300000000000000003'), 1, 'the channel has a lane';
one_change($nginx, $server, 77, 'all types', sub {
    several([0 .. 101], \%nothing);
});
is $nginx->sql('select count(*) from logging_type where guild_id = ?', $server),
    0, 'those that follow the server in everything are not customised';
patch(0, { enabled => $true });

$nginx->operator('PUT', '/servers/' . $nginx->server . '/channels/9077', {});
for (
    [qr/^types: is required/, {}, 'types'], [qr/^set: is required/, {}, 'set'],
    [qr/^types: must have 1 to 102 items/, { types => [] }],
    [qr/^types: must be an array/, { types => 5 }],
    [qr/^types\[1\]: must be an integer from 0 to 101/, { types => [5, 102] }],
    [qr/^types\[0\]: must be an integer from 0 to 101/, { types => ['5'] }],
    [qr/^set: must set at least one field/, { set => {} }],
    [qr/^set: must be an object/, { set => [] }],
    [qr/^set\.colour: unknown field/, { set => { colour => 1 } }],
    [qr/^set\.color: must be/, { set => { enabled => $true, color => -1 } }],
    [qr/^more: unknown field/, { more => 1 }],
    [qr/^log_channel: belongs to another server/,
        { set => { color => 1, log_channel => '9077' } }])
{
    my ($error, $body, $without) = @$_;
    no_change($nginx, $server, $error, sub {
        my %body = (types => [5, 6], set => { enabled => $false }, %$body);
        delete $body{ $without // '' };
        my $answer = patch('types', \%body);
        is $answer->status, 400, 'refused';
        like $answer->json->{error}, $error, '... with the field';
    });
    is $nginx->get("$path/$_", %as)->status, 404, 'and nothing is stored'
        for 5, 6;
}

# plans

for my $plan (qw(free pro_lite pro)) {
    my $it = $nginx->server(plan => $plan);
    my %its = (token => $nginx->token($it),
        path => "/servers/$it/config/logging/settings");

    if ($plan ne 'free') {
        is patch(7, { format_type => 1 }, %its)->status, 202,
            "$plan has format_type";
        next;
    }

    no_change($nginx, $it, $plan, sub {
        my $answer = patch(7, { color => 1, format_type => 1 }, %its);
        is $answer->status, 403, "$plan does not have format_type";
        like $answer->json->{error}, qr/^format_type: .*Pro/,
            'the error names the plans that have it';
        is $nginx->get("$its{path}/7", token => $its{token})->status, 404,
            'nothing of the request is stored';
    });
    no_change($nginx, $it, "$plan, several", sub {
        is several([7, 8], { color => 1, format_type => 1 }, %its)->status, 403,
            'nor by several';
    });
    is patch(7, { color => 1, format_type => undef }, %its)->status, 202,
        'each plan may set it to null';
}

# the other bot

is $nginx->get("$path/0?bot=pro", %as)->status, 404,
    'the Pro bot has its own settings';
one_change($nginx, $server, 77, 'the Pro bot', sub {
    is patch(0, { enabled => $false }, query => '?bot=pro')->status, 202,
        'bot=pro';
}, bot => 'pro');
is rows(0, '?bot=pro')->[0]{enabled}, 0, 'its type is changed';
is rows(0)->[0]{enabled}, 1, 'the type of the main bot is not';

# several clients at the same time

my @fields = qw(enabled ignore_bot_executors ignore_bot_targets active_ignore);
my @answers = at_once(4, sub {
    return patch(9, { $fields[$_[0] - 1] => $true })->status;
}, $nginx => 'logging_type');
is "@answers", '202 202 202 202', 'four clients set one field each';
is_deeply [@{ rows(9)->[0] }{@fields}], [1, 1, 1, 1], 'each change is stored';

done_testing;
