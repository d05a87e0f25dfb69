# Logging settings: "spoilers, proxy_integration, ignore_bot_targets,
# ignore_bot_executors, format_type (requires the Pro or Pro Lite plan),
# buttons, active_ignore"; and "locale: written as a key and read back as a
# number".

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/config/logging/settings";


sub patch {
    my ($body, %option) = @_;
    return $nginx->patch($option{path} // $path, %as, %option, json => $body);
}


sub row {
    my ($query) = @_;
    return $nginx->get($path . ($query // ''), %as)->json->[0];
}


is $nginx->get($path, %as)->status, 404, 'nothing is stored yet';

# the first change stores the defaults of the other fields

my $entry = one_change($nginx, $server, 76, 'the first change', sub {
    my $answer = patch({ spoilers => JSON::PP::true });
    is $answer->status, 200, 'a change answers 200';
    is $answer->text, '{}', 'with an empty object';
});
is_deeply $entry->{changes},
    [changed(spoilers => JSON::PP::false, JSON::PP::true)],
    'the log entry has the old value and the new one';

is_deeply $nginx->get($path, %as)->json, [{
    id => $server, spoilers => 1, proxy_integration => 0,
    ignore_bot_targets => 1, ignore_bot_executors => 1, format_type => 0,
    buttons => [qw(userID supportServer customise)], active_ignore => 0,
}], 'one row, with defaults, and switches as 1 and 0';

# each field

my %change = (
    proxy_integration => [JSON::PP::true, 1],
    ignore_bot_targets => [JSON::PP::false, 0],
    ignore_bot_executors => [JSON::PP::false, 0],
    active_ignore => [JSON::PP::true, 1],
    format_type => [3, 3],
    buttons => [['customise'], ['customise']],
    spoilers => [JSON::PP::false, 0],
);

for my $field (sort keys %change) {
    my ($written, $read) = @{ $change{$field} };

    one_change($nginx, $server, 76, $field, sub {
        is patch({ $field => $written })->status, 200, $field;
    });
    is_deeply row()->{$field}, $read, "$field is stored";

    no_change($nginx, $server, "$field again", sub {
        is patch({ $field => $written })->status, 200,
            "the same $field is accepted again";
    });
}

one_change($nginx, $server, 76, 'no buttons', sub { patch({ buttons => [] }) });
is_deeply row()->{buttons}, [], 'an empty list of buttons is stored';
is patch({ format_type => $_ })->status, 200, "format_type $_" for 0 .. 3;

no_change($nginx, $server, 'a good and a bad field', sub {
    my $answer = patch({ spoilers => JSON::PP::true, format_type => 4 });
    is $answer->status, 400, 'format_type 4 does not exist';
    like $answer->json->{error}, qr/^format_type: /,
        'the error names the field';
});
no_change($nginx, $server, 'unknown and repeated buttons', sub {
    is patch({ buttons => ['nonsense'] })->status, 400, 'unknown button';
    is patch({ buttons => ['userID', 'userID'] })->status, 400,
        'the same button twice';
});
is row()->{spoilers}, 0, 'a refused request changes nothing';

# plans

for my $plan (qw(free pro_lite pro)) {
    my $it = $nginx->server(plan => $plan);
    my %its = (token => $nginx->token($it),
        path => "/servers/$it/config/logging/settings");

    if ($plan ne 'free') {
        one_change($nginx, $it, 76, $plan, sub {
            is patch({ format_type => 2 }, %its)->status, 200,
                "$plan has format_type";
        });
        next;
    }

    no_change($nginx, $it, $plan, sub {
        my $answer = patch(
            { spoilers => JSON::PP::true, format_type => 1 }, %its);
        is $answer->status, 403, "$plan does not have format_type";
        like $answer->json->{error}, qr/^format_type: .*Pro/,
            'the error names the plans that have it';
        is $nginx->get($its{path}, token => $its{token})->status, 404,
            'nothing of the request is stored';
    });
    one_change($nginx, $it, 76, 'the other fields', sub {
        is patch({ spoilers => JSON::PP::true }, %its)->status, 200,
            'each plan has the other fields';
    });
    is patch({ format_type => 0 }, %its)->status, 403,
        'even the default format_type is refused';
}

# the other bot

is $nginx->get("$path?bot=pro", %as)->status, 404,
    'the Pro bot has its own settings';
one_change($nginx, $server, 76, 'the Pro bot', sub {
    is patch({ active_ignore => JSON::PP::true },
        path => "$path?bot=pro")->status, 200, 'bot=pro';
}, bot => 'pro');
is_deeply row('?bot=pro')->{buttons}, [qw(userID supportServer customise)],
    '... with the defaults, not those of the main bot';

# several clients at the same time

my @fields = qw(spoilers proxy_integration active_ignore ignore_bot_targets);
patch({ map { $_ => JSON::PP::false } @fields });
my @answers = at_once(4, sub {
    return patch({ $fields[$_[0] - 1] => JSON::PP::true })->status;
}, $nginx => 'logging_options');
is "@answers", '200 200 200 200', 'four clients change one field each';
is_deeply [@{ row() }{@fields}], [1, 1, 1, 1], 'each change is stored';

# the language

my $language = "/servers/$server/config/settings";
my @keys = qw(en-US en-GB tr vi en-PR pl nl es-ES it de fr ru el zh_Hant ko sl
    ar hu ja);

is $nginx->get($language, %as)->status, 404, 'no language is stored yet';
is $nginx->get("/servers/$server", %as)->json->{locale}, 0,
    'the server has its default language';

for my $number (reverse 0 .. $#keys) {
    $entry = one_change($nginx, $server, 70, $keys[$number], sub {
        is patch({ locale => $keys[$number] }, path => $language)->status,
            202, $keys[$number];
    });
    is_deeply $nginx->get($language, %as)->json,
        [{ id => $server, locale => $number }], "is read as number $number";
}
is_deeply $entry->{changes}, [changed(locale => 'en-GB', 'en-US')],
    'the log entry has the old language and the new one';

no_change($nginx, $server, 'the same language', sub {
    is patch({ locale => 'en-US' }, path => $language)->status, 202,
        'the same language is accepted again';
});
no_change($nginx, $server, 'an unknown language', sub {
    for my $bad ('en', 'EN-us', 'zh-Hant', '', 9) {
        my $answer = patch({ locale => $bad }, path => $language);
        is $answer->status, 400, "no language \"$bad\"";
        like $answer->json->{error}, qr/^locale: /, 'the error names the field';
    }
});

one_change($nginx, $server, 70, 'the Pro bot', sub {
    patch({ locale => 'ja' }, path => "$language?bot=pro");
}, bot => 'pro');
is $nginx->get("$language?bot=pro", %as)->json->[0]{locale}, 18,
    'the Pro bot has its own language';
is $nginx->get($language, %as)->json->[0]{locale}, 0,
    'the main bot keeps its language';
is $nginx->get("/servers/$server?bot=pro", %as)->json->{locale}, 18,
    "the server's read has it, too";

my $french = $nginx->server(locale => 'fr');
my %french = (token => $nginx->token($french));
is $nginx->get("/servers/$french", %french)->json->{locale}, 10,
    "the operator sets a server's default language";
is $nginx->get("/servers/$french/config/settings", %french)->status, 404,
    "it is not stored as the bot's language";

done_testing;
