#!/usr/bin/perl
# "Proved absent: sent again": a message on its way while the channel is read is
# not absent.  A platform that stood still may answer the read before it applies
# the message; a platform that answers late may also apply late.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;
deliver_with($g, $platform);

my %case = (
    'a message that is applied after the first read' =>
        { action => 'after-read' },
    'one that is applied after its request timed out' =>
        { action => 'slow', ms => 20_000 },
);

for my $it (values %case) {
    @$it{qw(guild token to)} = server();
    becomes(@$it{qw(guild token)}, (record($it->{guild}, 1))[0], 'delivered',
        'there is one before it', 60);
    $it->{posts} = posts($it->{to});
}
$platform->faults(map { { call => 'execute', channel => $_->{to},
    action => $_->{action}, ms => $_->{ms} } } values %case);
$_->{id} = (record($_->{guild}, 1))[0] for values %case;

for my $name (sort keys %case) {
    my $it = $case{$name};
    becomes(@$it{qw(guild token id)}, 'delivered', "$name is delivered", 120);
    is times_applied(@$it{qw(to id)}), 1, '... once';
    is posts($it->{to}) - $it->{posts}, 1, '... and was not sent again';
}

# the first message of a lane has none before it: it, too, is looked for twice

my $late = $channel + 1 . '';
$platform->faults({ call => 'execute', channel => $late,
    action => 'after-read' });
my ($guild, $token) = server();
becomes($guild, $token, scalar $g->sql('select id from entries
    where guild_id = ? and seq = 1', $guild), 'delivered',
    'a first message that is applied after the first read', 120);
is scalar(posts($late)), 1, '... and was not sent again';

# a list of webhooks is as old as its question: it cannot show one that was made
# before it came

my $to = $channel + 1 . '';
$platform->faults({ call => 'create', channel => $to, action => 'after-read' },
    map { +{ call => 'list', channel => $to, action => 'delay', ms => $_ } }
        1, 9_800);
($guild, $token) = server();
becomes($guild, $token, (record($guild, 1))[0], 'delivered',
    'a webhook that is made while its channel is listed is found', 120);
is scalar $platform->webhooks($to), 1, '... and no second one is made';

done_testing;
