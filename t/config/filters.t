# "List filters, read one filter, change one filter": a fixed set, off by
# default.

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $path = "/servers/$server/filters";
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

my @filters = qw(invites links emails phones addresses secrets cards words);


sub patch {
    my ($filter, $body, $query) = @_;
    return $nginx->patch("$path/$filter" . ($query // ''), %as,
        json => $body);
}


sub filter {
    my ($filter, $query) = @_;
    return $nginx->get("$path/$filter" . ($query // ''), %as)->json;
}


my %off = (enabled => 0, action => 'mask', words => [], log_types => []);
is_deeply $nginx->get($path, %as)->json,
    [map { { filter_id => $_, %off } } @filters],
        'all filters are listed, and off';

for my $id (@filters) {
    is_deeply filter($id), { filter_id => $id, %off }, "$id is off";

    my $entry = one_change($nginx, $server, 76, "enabling $id", sub {
        my $answer = patch($id, { enabled => $true });
        is $answer->status, 202, "$id is enabled";
        is $answer->text, '{}', 'with an empty object';
    });
    is $entry->{name}, "filter $id", 'the entry names the filter';
    is_deeply $entry->{changes}, [changed(enabled => $false, $true)],
        'the entry has the new value';
    is filter($id)->{enabled}, 1, 'it is on';
}

# each field

one_change($nginx, $server, 76, 'an action', sub {
    patch('links', { action => 'drop', log_types => [7, 5] });
});
is_deeply filter('links'), { filter_id => 'links', enabled => 1,
    action => 'drop', words => [], log_types => [7, 5] },
    'action and log types change, the rest stays';
no_change($nginx, $server, 'the same', sub {
    is patch('links', { log_types => [7, 5], enabled => $true })->status, 202,
        'the same values again';
});

my @words = ("Geheim", "\x{1f600}" x 100, 'a%b_c\\', "O'Neil", '{"x"}');
my $entry = one_change($nginx, $server, 76, 'words', sub {
    is patch('words', { words => \@words })->status, 202, 'words are stored';
});
is_deeply filter('words')->{words}, \@words, 'words are read back unchanged';
unlike json->encode($entry), qr/geheim/i, 'the entry does not show the words';
$entry = one_change($nginx, $server, 76, 'other words', sub {
    patch('words', { words => ['offen'], action => 'drop' });
});
unlike json->encode($entry), qr/geheim|offen/i,
    'the entry shows neither old nor new words';
is_deeply $entry->{changes}, [changed(action => 'mask', 'drop')],
    'the entry shows the other fields';

is patch('words', { words => [map { "word $_" } 1 .. 500] })->status, 202,
    '500 words';
is patch('words', { words => [] })->status, 202, 'an empty list of words';
one_change($nginx, $server, 76, 'all types', sub {
    is patch('links', { log_types => [0 .. 101] })->status, 202,
        'all log types';
});
one_change($nginx, $server, 76, 'no types', sub {
    patch('links', { log_types => [] });
});

# what is refused

my %bad = (
    'words of links' => [links => 'words', { words => ['x'] }],
    'an empty list of words of links' => [links => 'words', { words => [] }],
    '501 words' => [words => 'words', { words => [map { "$_" } 1 .. 501] }],
    'an empty word' => [words => 'words\[1\]', { words => ['a', ''] }],
    'a long word' => [words => 'words\[0\]', { words => ['x' x 101] }],
    'an unknown action' => [links => 'action', { action => 'delete' }],
    'an unknown log type' => [links => 'log_types\[1\]',
        { log_types => [5, 102] }],
);
for my $what (sort keys %bad) {
    my ($filter, $field, $body) = @{ $bad{$what} };
    my $before = filter($filter);

    no_change($nginx, $server, $what, sub {
        my $answer = patch($filter, { enabled => $false, %$body });
        is $answer->status, 400, "$what: refused";
        like $answer->json->{error}, qr/^$field: /, 'the error names the field';
    });
    is_deeply filter($filter), $before, 'a refused request changes nothing';
}
for my $bad (qw(nothing LINKS 0), 'links%20') {
    is $nginx->get("$path/$bad", %as)->status, 404, "no filter $bad to read";
    is patch($bad, { enabled => $true })->status, 404,
        'no filter $bad to change';
}

# the other bot

is_deeply filter('links', '?bot=pro'), { filter_id => 'links', %off },
    'the Pro bot has its own filters';
one_change($nginx, $server, 76, 'the Pro bot', sub {
    is patch('cards', { action => 'drop' }, '?bot=pro')->status, 202,
        'bot=pro';
}, bot => 'pro');
is filter('cards')->{action}, 'mask', 'the main bot keeps its own';

# several clients at the same time

my @bodies = ({ enabled => $false }, { action => 'drop' },
    { log_types => [3] });
my @answers = at_once(3, sub {
    patch('emails', $bodies[$_[0] - 1])->status;
}, $nginx => 'filter');
is "@answers", '202 202 202', 'three clients change one field each';
is_deeply filter('emails'), { filter_id => 'emails', enabled => 0,
    action => 'drop', words => [], log_types => [3] }, 'each change is stored';

# an entry that cannot be read is told, as where nothing is filtered

patch('links', { enabled => $true });
is_deeply $nginx->operator('POST', "/servers/$server/logs", [{ type => 1 }])
    ->json->{errors}, [{ index => 0, error => 'event_id: is required',
        code => 'required', field => 'event_id' }],
    'a bad entry alone';

done_testing;
