#!/usr/bin/perl
# "several messages deleted at once; text file attached": all that was said is in
# the file, however many entries share a message, and whatever becomes of its
# request.

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->file('avatar.png', "\x89PNG\r\n\x1a\nno picture");
$g->configure(http => $platform->directives($g, more => <<'CONF'))->start;
    guildlog_links viewer=https://log.example/viewer/;
    guildlog_webhook "name=Our log" avatar=avatar.png;
CONF
deliver_with($g, $platform);

my @messages = map { {
    id => 600000000000000000 + $_ . '', authorId => '500000000000000001',
    timestamp => 1_754_000_000_000 + $_ * 1000,
    content => "line $_\n    -- \x{1f600} it is\r\n--guildlog-1--",
    attachments => $_ % 2 ? [] : [{ name => "a\n$_.png", size => 5 }],
} } 1 .. 100;
my @bulk = (type => 3, content => undef, messages => \@messages,
    channel => { id => '600000000000000000', name => 'general' });


sub arrived {
    my ($to, $id) = @_;
    return grep { my $it = $_; grep { $_ eq $id } $platform->entries_in($it) }
        $platform->messages($to);
}


# what the settings have logged is in the channel before the entry, which is alone
my ($guild, $token, $to) = server(buttons => ['customise']);
becomes($guild, $token, $_, 'delivered', 'the log is there')
    for record($guild, 1);
my ($id) = record($guild, 1, @bulk);
becomes($guild, $token, $id, 'delivered', 'a bulk deletion is delivered');

my ($message) = arrived($to, $id);
my ($file, @more) = @{ $message->{attachments} || [] };
is $file->{filename}, "messages-$id.txt", 'with a file';
is scalar @more, 0, '... and one only';
like $file->{text}, qr/^2025-07-31 22:13:21 UTC  author 500000000000000001  message 600000000000000001$/m,
    'that tells when and by whom each was written';
is scalar(() = $file->{text} =~ /^    -- \x{1f600} it is\n--guildlog-1--$/mg), 100,
    '... and what, as it was';
is scalar(() = $file->{text} =~ /^\[a\d+\.png\]$/mg), 50, '... and its files';
my ($embed) = grep { $_->{footer}{text} eq $id } @{ $message->{embeds} };
is $embed->{url},
    "https://log.example/viewer/#/logs?server=$guild&entry=$id",
    'the title leads to the entry';
is_deeply [map { $_->{url} } map { @{ $_->{components} } }
    @{ $message->{components} }],
    ["https://log.example/viewer/#/config?server=$guild"],
    'the only button to the configuration';
is webhook($to)->{name}, 'Our log', 'the webhook has the name';
my ($made) = grep { $_->{event} eq 'request' && $_->{call} eq 'create' }
    $platform->ledger($to);
like $made->{body}{avatar}, qr{^data:image/png;base64,iVBORw0KGgp},
    '... and the picture';

my @ids = record($guild, 3, @bulk);
becomes($guild, $token, $_, 'delivered', 'one of several') for @ids;
is_deeply [sort map { $_->{filename} } map { @{ $_->{attachments} } }
    map { arrived($to, $_) } $ids[0]],
    [sort map { "messages-$_.txt" } map { $platform->entries_in($_) }
        arrived($to, $ids[0])], 'each has its file';

my ($hidden, $hides, $there) = server(spoilers => \1);
my ($secret) = record($hidden, 1, @bulk);
becomes($hidden, $hides, $secret, 'delivered', 'where messages are spoilers');
is +(arrived($there, $secret))[0]{attachments}[0]{filename},
    "SPOILER_messages-$secret.txt", 'the file is one, too';

for (['apply-reset', 'its request got lost'], ['reset', 'it did not arrive']) {
    my ($action, $what) = @$_;

    $platform->faults({ call => 'execute', channel => $to, action => $action });
    my ($doubtful) = record($guild, 1, @bulk);
    becomes($guild, $token, $doubtful, 'delivered', "in doubt: $what", 120);
    is times_applied($to, $doubtful), 1, '... and is there once';
    is scalar @{ +(arrived($to, $doubtful))[0]{attachments} }, 1,
        '... with its file';
}

done_testing;
