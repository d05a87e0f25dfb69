# "Path parameter ignore_type. POST changes an ignore list; GET reads it (array
# of rows, 404 when nothing stored). POST answers 202 with an empty object."

use lib 't/lib';
use Guildlog;
use Guildlog::Change;

my $nginx = Guildlog->new(openapi => 1, database => { depth => 1 });
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my $lists = "/servers/$server/config/logging/ignore";


sub add {
    my ($type, $value, $query) = @_;
    return $nginx->post("$lists/$type" . ($query // ''), %as,
        json => { value => $value });
}


sub remove {
    my ($type, $value, $query) = @_;
    return $nginx->delete("$lists/$type" . ($query // ''), %as,
        json => { value => $value });
}


sub values_of {
    my ($type, $query) = @_;
    my $answer = $nginx->get("$lists/$type" . ($query // ''), %as);
    return $answer->status == 404 ? []
        : [map { $_->{ignore_value} } @{ $answer->json }];
}


# each list

for my $type (0 .. 6) {
    my $value = "4000000000000000$type";

    is $nginx->get("$lists/$type", %as)->status, 404, "list $type is empty";

    my $entry = one_change($nginx, $server, 69, "adding to $type", sub {
        my $answer = add($type, $value);
        is $answer->status, 202, 'an entry is accepted';
        is $answer->text, '{}', 'with an empty object';
    });
    is $entry->{value}, $value, 'the log entry has the value';
    is $entry->{action}, 'add', '... and the action';

    is_deeply $nginx->get("$lists/$type", %as)->json,
        [{ id => $server, ignore_type => $type, ignore_value => $value }],
        'the value is read as a row';

    no_change($nginx, $server, "adding to $type again", sub {
        is add($type, $value)->status, 202,
            'a value that is in the list already';
    });
    is_deeply values_of($type), [$value], '... is in the list once';
}

is @{ $nginx->get("/servers/$server/config", %as)
    ->json->{serverlogConfigIgnoreStandard} }, 7,
    'the whole configuration has all lists';

my $entry = one_change($nginx, $server, 69, 'taking away', sub {
    my $answer = remove(3, '40000000000000003');
    is $answer->status, 202, 'an entry is taken away';
    is $answer->text, '{}', 'with an empty object';
});
is $entry->{action}, 'remove', 'the log entry has the action';
is $nginx->get("$lists/3", %as)->status, 404, 'the list is empty again: 404';
is_deeply values_of(2), ['40000000000000002'], 'other lists keep their values';

no_change($nginx, $server, 'removing a value that is not in the list', sub {
    is remove(3, '40000000000000003')->status, 202, 'is accepted';
    is remove(2, '40000000000000003')->status, 202, 'in any list';
});

add($_, 'in both') for 5, 6;
remove(5, 'in both');
is_deeply [map { scalar grep { $_ eq 'in both' } @{ values_of($_) } } 5, 6],
    [0, 1], 'a value removed from one list stays in another';

for my $bad (qw(7 -1 00 0.0 x 4294967296)) {
    is $nginx->get("$lists/$bad", %as)->status, 404, "no list $bad to read";
    is add($bad, 'x')->status, 404, 'no list $bad to add to';
    is remove($bad, 'x')->status, 404, 'no list $bad to remove from';
}

# values are stored as they are

my @texts = ("  spaces  ", "'); drop table ignore_entry; --", '%_\\"{}',
    "\x{e9}", "e\x{301}", "\x{1f600}" x 100, 'HELLO', 'hello', "two\nlines");

add(4, $_) for @texts;
is_deeply [sort @{ values_of(4) }], [sort '40000000000000004', @texts],
    'different texts are different values, up to 100 characters';
is add(4, "\x{1f600}" x 101)->status, 400, '101 characters are too many';
is remove(4, $_)->status, 202, 'removed' for @texts;
is_deeply values_of(4), ['40000000000000004'], 'all these values are gone';

# the other bot

is $nginx->get("$lists/0?bot=pro", %as)->status, 404,
    'the Pro bot has lists of its own';
one_change($nginx, $server, 69, 'the Pro bot', sub {
    is add(0, '40000000000000009', '?bot=pro')->status, 202, 'bot=pro';
}, bot => 'pro');
is_deeply values_of(0, '?bot=pro'), ['40000000000000009'],
    'the value is in the list of the Pro bot';
is_deeply values_of(0), ['40000000000000000'],
    'the list of the main bot does not have it';

# 1,000 entries

$nginx->sql('insert into ignore_entry select ?, 0, 1, g::text'
    . ' from generate_series(1, 998) g', $server);
is add(1, 'the last')->status, 202, 'entry 1,000 is accepted';
no_change($nginx, $server, 'one too many', sub {
    my $answer = add(1, 'one too many');
    is $answer->status, 402, 'entry 1,001';
    like $answer->json->{error}, qr/\b1000\b/, 'the error says the limit';
    is add(1, 'the last')->status, 202, 'a value in the list needs no room';
});
is @{ values_of(1) }, 1000, 'the list has 1,000 values';
is add(5, 'another')->status, 202, 'another list has room';
remove(1, 'the last');

my @answers = sort { $a <=> $b }
    at_once(5, sub { add(1, "at once $_[0]")->status },
        $nginx => 'ignore_entry');
is "@answers", '202 402 402 402 402', 'of five clients one gets the last place';
is @{ values_of(1) }, 1000, 'the list has 1,000 values again';

my $told = $nginx->sql('select count(*) from entries where type = 69');
@answers = at_once(5, sub { add(6, 'the same')->status },
    $nginx => 'ignore_entry');
is "@answers", '202 202 202 202 202', 'five clients add the same value';
is $nginx->sql('select count(*) from entries where type = 69') - $told, 1,
    'the change is logged once';

done_testing;
