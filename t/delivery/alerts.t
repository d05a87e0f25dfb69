# "Delivered into the alert's channel through a lane like all; its message
# mentions that one role."

use lib 't/lib';
use Guildlog;
use Guildlog::Delivery;
use Guildlog::Platform;

my $g = Guildlog->new(start => 0, workers => 2, api => 'guildlog_limit off;');
my $platform = Guildlog::Platform->new(dir => $g->prefix . '/platform');
$g->configure(http => $platform->directives($g))->start;

deliver_with($g, $platform);

my $role = '600000000000000001';


# an alert of ten entries of edits, which executors are told of
sub alert {
    my ($guild, $token, %field) = @_;
    my $answer = $g->post("/servers/$guild/alerts", token => $token,
        json => { name => 'Raid', types => [7], count => 10, seconds => 60,
            by => 'executor', %field });
    die $answer->text if $answer->status != 201;
}


# the messages of what the alert says
my $says = qr/Al(?:ert|arm) \*\*Raid/;
sub told {
    my ($to) = @_;
    return [grep { json->encode([@$_{qw(content embeds)}])
        =~ /$says/ } $platform->messages($to)];
}


# the title of what it says there, undef: it has none
sub title {
    my ($message) = @_;
    my ($embed) = grep { json->encode($_) =~ /$says/ } @{ $message->{embeds} || [] };
    return $embed ? $embed->{title}
        : ($message->{content} =~ /^\*\*(.*)\*\*$/m)[0];
}


for my $format ([0 => 'an embed', 'Alert'], [1 => 'a compact embed', undef],
    [2 => 'plain text', 'Alert'], [3 => 'compact plain text', undef])
{
    subtest "as $format->[1]" => sub {
        my ($guild, $token, $to) = server(format_type => $format->[0]);
        my $its = ++$channel . '';
        $platform->belong($guild, $its);
        alert($guild, $token, channel => $its, role => $role);
        my @ids = record($guild, 12);
        wait_for { @{ told($its) } } 60, 'it is told';
        becomes($guild, $token, $ids[-1], 'delivered', 'so are the entries');

        my ($message) = @{ told($its) };
        is_deeply $message->{allowed_mentions},
            { parse => [], roles => [$role] }, 'its role is mentioned';
        like $message->{content}, qr/^<\@&$role>/, 'in its text';
        is title($message), $format->[2], 'its title says what it is';
        is $message->{flags} // 0, 0, 'loudly';
        is scalar(my @all = $platform->messages($its)), 1, 'once';
        is_deeply [grep { $_->{allowed_mentions}{roles} || !$_->{flags} }
            $platform->messages($to)], [], 'no other message mentions anybody';
        is scalar @{ told($to) }, 0, 'it is told there alone';

        my $page = $g->get("/servers/$guild/logs?type=101",
            token => $token)->json;
        is_deeply $page->{entries}[0]{delivery}, { status => 'delivered',
            reason => undef, channelId => $its,
            messageId => $message->{id} }, 'the log says so';
    };
}


subtest 'among other entries of its channel' => sub {
    my ($guild, $token, $to) = server();
    my ($first) = record($guild, 1);
    becomes($guild, $token, $first, 'delivered', 'there is a webhook');
    alert($guild, $token, role => $role);
    my @ids = (record($guild, 25), record($guild, 5));
    becomes($guild, $token, $ids[-1], 'delivered', 'the last one is delivered');

    my ($message) = @{ told($to) };
    is scalar(my @in = $platform->entries_in($message)), 1,
        'it is a message by itself';
    is_deeply $message->{allowed_mentions}{roles}, [$role], '... with its role';
};


subtest 'without a role, in German' => sub {
    my ($guild, $token, $to) = server();
    $g->patch("/servers/$guild/config/settings", token => $token,
        json => { locale => 'de' });
    alert($guild, $token);
    record($guild, 10);
    wait_for { @{ told($to) } } 60, 'it is told';
    my ($message) = @{ told($to) };
    is_deeply $message->{allowed_mentions}, { parse => [] },
        'it mentions nobody';
    is $message->{flags}, 4096, '... and is silent';
    is title($message), 'Alarm', '... and has its title';
};

done_testing;
