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
