# Search for members, channels and roles by the beginning of an ID or a part of the
# name: at most 25 results, the best match first.  Without a query there are up to
# 100, in the order of the platform.

use lib 't/lib';
use Guildlog;
use Guildlog::Cases;

my $nginx = Guildlog->new(openapi => 1);
my $server = $nginx->server;
my %as = (token => $nginx->token($server));


sub search {
    my ($kind, $query) = @_;
    return $nginx->get("/servers/$server/search/$kind?query="
        . escape($query), %as)->json;
}


sub names {
    return join ',', map { $_->{name} } @{ search(@_) };
}


sub put {
    my ($kind, @items) = @_;
    my $answer = $nginx->operator('PUT', "/servers/$server/$kind", \@items);
    die $answer->text if $answer->status != 200;
}


is $nginx->get("/servers/$server/search/members?query=a", %as)->text, '[]',
    'the directory is empty';

put('members',
    { id => '700000000000000001', name => 'Anna', avatar => 'a_09af',
      roles => ['900000000000000005', '900000000000000003'] },
    { id => '700000000000000002', name => 'Hanna' },
    { id => '700000000000000003', name => 'anna' },
    { id => '700000000000000004', name => 'Anna-Lena' },
    { id => '800000000000000001', name => 'Özgür' },
    { id => '800000000000000002', name => '100% _really_' },
    { id => '800000000000000003', name => 'back\\slash "quoted"' },
    { id => '800000000000000004', name => '日本語の名前' },
    { id => '800000000000000005', name => "\x{1f600} smile" },
    { id => '800000000000000006', name => '700000000000000009' },
    { id => '12345', name => 'short' },
);
put('channels',
    { id => '900000000000000001', name => 'general', type => 0,
      parent => '900000000000000009' },
    { id => '900000000000000002', name => 'General voice', type => 2,
      position => 2 },
    { id => '900000000000000004', name => 'late', type => 0, position => 1,
      parent => '900000000000000009' },
    { id => '900000000000000009', name => 'category', type => 4 },
);
put('roles',
    { id => '900000000000000003', name => 'generals', color => 16777215,
      position => 2 },
    { id => '900000000000000005', name => 'Above', position => 3 },
);

# members

is_deeply search('members', 'özgür'),
    [{ id => '800000000000000001', name => 'Özgür', avatar => undef,
       roles => [] }], 'a member';
is search('members', '700000000000000001')->[0]{avatar}, 'a_09af',
    'and one with a picture';
is_deeply search('members', '700000000000000001')->[0]{roles},
    ['900000000000000005', '900000000000000003'], '... and roles';
is names('members', 'anna'), 'Anna,anna,Anna-Lena,Hanna',
    'whole names, then beginnings, then parts; sorted by name';
is names('members', 'ANNA'), names('members', 'anna'), 'case does not matter';
is names('members', 'ann'), 'Anna,anna,Anna-Lena,Hanna',
    'the beginning of a name';
is names('members', 'nna'), 'Anna,anna,Anna-Lena,Hanna', 'a part of a name';
is names('members', 'ÖZG'), 'Özgür', 'case does not matter beyond ASCII';
is names('members', '語'), '日本語の名前', 'a single letter of any script';
is names('members', "\x{1f600}"), "\x{1f600} smile", 'an emoji';

is names('members', '70000000000000000'),
    '700000000000000009,Anna,anna,Anna-Lena,Hanna',
    'the beginning of an ID, and of a name that is a number';
is names('members', '700000000000000004'), 'Anna-Lena', 'a whole ID';
is names('members', '1234'), 'short', 'a name that is a number';
is names('members', '0000000000001'), '', 'a part inside an ID does not match';

is names('members', '%'), '100% _really_', 'a percent sign is a percent sign';
is names('members', '_'), '100% _really_', 'an underscore is an underscore';
is names('members', '%_'), '', 'neither is a wildcard';
is names('members', '\\'), 'back\\slash "quoted"', 'a backslash';
is names('members', '"'), 'back\\slash "quoted"', 'a quote';
is names('members', "'"), '', 'an apostrophe';
is names('members', 'a' x 100), '', '100 characters';
is names('members', "\x{1f600}" x 100), '', '... of four bytes each';
is names('members', 'general'), '', 'a channel is not a member';

# members by their ids

sub known {
    my $answer = $nginx->get("/servers/$server/search/members?"
        . join('&', map { "id=$_" } @_), %as);
    return $answer->status == 200 ? join ',', map { $_->{name} }
        @{ $answer->json } : $answer->text;
}

is known(qw(700000000000000004 12345 1)), 'short,Anna-Lena', 'who is known of these';
is known(12246 .. 12345), 'short', 'a hundred at most';
is known(12245 .. 12345), '{"error":"id: at most 100 items","code":"wrong_count",'
    . '"field":"id","max":100}', '... and no more';
like known('ann'), qr/"error":"id: /, '... which are IDs';
is known('900000000000000001'), '', 'a channel is not a member';

# channels

is_deeply search('channels', 'general'), [
    { id => '900000000000000001', name => 'general', type => 0,
      parent => '900000000000000009', position => undef },
    { id => '900000000000000002', name => 'General voice', type => 2,
      parent => undef, position => 2 },
], 'channels, with type, parent and position; a role is not a channel';
is_deeply search('channels', '900000000000000009')->[0]{name}, 'category',
    'a channel by its ID';

# roles

is_deeply search('roles', 'gen'),
    [{ id => '900000000000000003', name => 'generals', color => 16777215,
       position => 2 }], 'a role; a channel is none';
is_deeply search('roles', '900000000000000005'),
    [{ id => '900000000000000005', name => 'Above', color => undef,
       position => 3 }], 'a role by its ID';

# what there is

is names('channels', ''), 'General voice,category,late,general',
    'channels: what is in no category, then by category and position';
is names('roles', ''), 'Above,generals', 'roles: the highest first';
is names('members', ''), join(',', '100% _really_', '700000000000000009',
    'Anna', 'anna', 'Anna-Lena', 'back\\slash "quoted"', 'Hanna', 'short',
    'Özgür', '日本語の名前', "\x{1f600} smile"), 'members: by name';
is_deeply $nginx->get("/servers/$server/search/$_", %as)->json,
    search($_, ''), "$_: no query is an empty one"
    for qw(members channels roles);

# refused

for my $bad ('?query=' . 'a' x 101,
    '?query=' . '%F0%9F%98%80' x 101, '?query=a&query=b', '?query=%FF',
    '?query=a%00b', '?query=%4')
{
    my $answer = $nginx->get("/servers/$server/search/members$bad", %as);
    is $answer->status, 400, 'refused: ' . substr $bad, 0, 30;
    like $answer->json->{error}, qr/^query: /, 'the error names the parameter';
}

# bounds

put('members', map { { id => '6' . sprintf('%017d', $_),
    name => sprintf 'many %03d', $_ } } 1 .. 60);
is @{ search('members', 'many') }, 25, 'at most 25 results';
is search('members', 'many')->[24]{name}, 'many 025', 'the first 25 by name';
is search('members', 'many 042')->[0]{name}, 'many 042', 'the best match first';
is @{ search('members', '6000') }, 25, 'at most 25 by ID';
put('members', map { { id => '5' . sprintf('%017d', $_) } } 1 .. 60);
is @{ search('members', '') }, 100, 'at most 100 without a query';

# two bots share one directory

is_deeply $nginx->get("/servers/$server/search/members?bot=pro&query=anna",
    %as)->json, search('members', 'anna'), 'both bots find the same people';

my $other = $nginx->server;
is $nginx->get("/servers/$other/search/members?query=anna",
    token => $nginx->token($other))->text, '[]', 'another server finds none';

done_testing;
