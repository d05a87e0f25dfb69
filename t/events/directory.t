# What packets tell of members, channels and roles is in the directory: pictures,
# positions, colors.  What is no such thing is left out.

use lib 't/lib';
use Guildlog;

my $nginx = Guildlog->new(openapi => 1);
my $server = $nginx->server;
my %as = (token => $nginx->token($server));
my @hash = map { $_ x 32 } 'a', 'b';


sub id { return sprintf '1%017d', $_[0] }


sub packet {
    my ($t, %d) = @_;
    my $told = $nginx->operator('POST', '/events', [{ t => $t, d => {
        guild_id => $server, %d } }])->json;
    is_deeply $told->{errors}, [], "$t is taken";
}


sub user {
    my ($n, %of) = @_;
    return { id => id($n), username => "user $n", %of };
}


sub found {
    my ($kind, $query, @fields) = @_;
    return [map { my $it = $_; join ' ', map { $it->{$_} // '-' } @fields }
        @{ $nginx->get("/servers/$server/search/$kind?query=$query",
            %as)->json }];
}


packet('GUILD_CREATE', id => $server, name => 'Guild', owner_id => id(1),
    roles => [{ id => $server, name => '@everyone', color => 0, position => 0 },
        { id => id(20), name => 'Mods', color => 255, position => 2 },
        { id => id(21), name => 'odd', color => 16777216, position => -1 }],
    channels => [
        { id => id(12), name => 'voice', type => 2, position => 0,
          parent_id => id(10) },
        { id => id(11), name => 'text', type => 0, position => 1,
          parent_id => id(10) },
        { id => id(10), name => 'category', type => 4, position => 3 },
        { id => id(13), name => 'odd', type => 'x', position => 2147483648 }],
    members => [
        { user => user(1, avatar => $hash[0]), roles => [] },
        { user => user(2, avatar => undef), roles => [] },
        { user => user(3, avatar => '../x'), roles => [] }]);

is_deeply found('channels', '', qw(name type position)),
    ['odd - -', 'category 4 3', 'text 0 1', 'voice 2 0'],
    'the channels of GUILD_CREATE, in the order of the platform';
is_deeply found('roles', '', qw(name color position)),
    ['Mods 255 2', '@everyone 0 0', 'odd - -'], 'its roles';
is_deeply found('members', '', qw(name avatar)),
    ["user 1 $hash[0]", 'user 2 -', 'user 3 -'], 'its members';

packet('CHANNEL_UPDATE', id => id(11), name => 'text', type => 5, position => 7,
    parent_id => undef);
is_deeply found('channels', 'text', qw(type parent position)), ['5 - 7'],
    'a channel that was moved';

packet('GUILD_ROLE_UPDATE', role => { id => id(20), name => 'Mods',
    color => 0xff0000, position => 1 });
is_deeply found('roles', 'mods', qw(color position)), ['16711680 1'],
    'a role that was changed';

# pictures, by whatever packet tells them

my $n = 0;
for my $how (
    [GUILD_MEMBER_UPDATE => sub { (user => $_[0], roles => []) }],
    [GUILD_MEMBER_ADD => sub { (user => $_[0], roles => []) }],
    [GUILD_BAN_ADD => sub { (user => $_[0]) }],
    [GUILD_MEMBERS_CHUNK => sub { (members => [{ user => $_[0] }]) }],
    [MESSAGE_CREATE => sub { (id => id(900 + $n++), channel_id => id(11),
        content => 'hello', author => $_[0], member => { roles => [] }) }],
    [GUILD_MEMBER_REMOVE => sub {
        packet('GUILD_MEMBER_ADD', user => user(1), roles => []);
        (user => $_[0])
    }])
{
    my ($t, $d) = @$how;
    packet($t, $d->(user(1, avatar => $hash[1])));
    is_deeply found('members', id(1), 'avatar'), [$hash[1]], '... a picture';
    packet($t, $d->(user(1)));
    is_deeply found('members', id(1), 'avatar'), [$hash[1]],
        '... nothing of it, and it stays';
    packet($t, $d->(user(1, avatar => undef)));
    is_deeply found('members', id(1), 'avatar'), ['-'], '... none';
}

done_testing;
