package Guildlog::Bench::Fences;

# one server asks for the worst it can, by all of its five tokens, while another
# one reads its configuration and pages: the p99 of these beside those alone,
# how many of them failed, and the memory of the workers

use strict;
use warnings;
use utf8;

use JSON::PP ();
use List::Util qw(max);
use Time::HiRes qw(sleep time);

use Guildlog::Bench;
use Guildlog::Client;
use Guildlog::Platform;

use constant {
    CHANNEL => 310_000_000_000_000_000,
    RATE    => 45,      # requests a second of who reads, below his limit
};

my %worst = (
    'pages by role'              => \&by_role,
    'searches without an index'  => \&searches,
    'actors'                     => \&actors,
    'pages of large entries'     => \&large_pages,
    'configurations of 1,000 tags, read slowly' => \&tags,
    'troubleshooting'            => \&troubleshooting,
    'the same channels again'    => \&channels,
    'active ignore beside a batch' => \&active_ignore,
    'batches for a filter of 500 words' => \&filters,
    '4 exports with a search'    => \&exports,
    '20 tails and a change'      => \&tails,
    '500 requests in 10 s'       => \&limit,
);

my ($nginx, $bad, @tokens, $good, $token, $idle);


sub run {
    $nginx = start(workers => 2, connections => 4096);
    my $platform = Guildlog::Platform->new(dir => $nginx->prefix . '/platform',
        config => { forbidden => [map { CHANNEL + $_ . '' } 1 .. 11] });
    $nginx->configure(http => $platform->directives($nginx))->reload;

    ($bad, $good) = map { $nginx->server } 1, 2;
    @tokens = map { $nginx->token($bad) } 1 .. 5;
    $token  = $nginx->token($good);
    fill($bad, option('entries') / 10, 4);
    fill($good, option('entries') / 50, 1);
    large($bad);
    $nginx->operator('POST', "/servers/$good/logs", [{ event_id => 'now',
        type => 5 }]);
    admin($nginx, 'vacuum analyze');
    $idle = max(map { rss($_) } $nginx->workers);

    for my $what (sort keys %worst) {
        beside($what, $worst{$what});
    }
    beside('all of it at once', map { $worst{$_} } sort keys %worst);
    $platform->stop;
}


# of that server: 250 roles, 2,000 members, and a text of some words
sub fill {
    my ($guild, $entries, $days) = @_;

    my $now = int(time * 1000);
    for my $batch (0 .. $entries / 1000) {
        my $answer = $nginx->operator('POST', "/servers/$guild/logs", [map {
            my $n = $batch * 1000 + $_;
            { event_id => "f$n", type => (5, 7, 44, 25)[$n % 4],
              timestamp => $now - int(rand $days * 86_400_000),
              executor => { id => 1000 + $n % 2000, name => "member $n" },
              role => "role number @{[ $n % 250 ]}",
              content => join ' ', map { 'word' . int rand 3000 } 1 .. 20 }
        } 1 .. 1000]);
        die $answer->text if $answer->status != 200;
    }
}


# 200 entries of about 60 KB
sub large {
    my ($guild) = @_;

    my $text = 'a rather long message ' x 90;
    for my $batch (1 .. 20) {
        my $answer = $nginx->operator('POST', "/servers/$guild/logs", [map {
            { event_id => "large $batch $_", type => 3, messages => [map {
                { id => $_, content => $text } } 1 .. 30] } } 1 .. 10]);
        die $answer->text if $answer->status != 200;
    }
}


# the reader's p99 with and without; a round has to see some hundred answers
sub beside {
    my ($what, @attacks) = @_;

    my ($failed, $most) = (0, 0);
    figures {
        my ($alone) = reading();
        my @pids = map {
            my $attack = $_;
            spawn(sub { $attack->() while 1 });
        } @attacks;
        sleep 1;
        my ($p99, $bad, $rss) = reading();
        kill 'KILL', @pids;
        waitpid $_, 0 for @pids;
        $failed += $bad;
        $most = max($most, $rss);
        sleep 1;
        [$p99, $alone], [$most, $idle];
    } "p99 of another server's reads beside $what, ms; beside nothing",
      '... a worker\'s memory then, KB; before';
    print STDERR "$what: $failed reads failed\n" if $failed;
}


# (p99 in ms, how many did not succeed, KB of the largest worker)
sub reading {
    my @paths = ("/api/servers/$good/config", "/api/servers/$good/logs");
    my ($client, @ms, $failed, $rss);
    $failed = $rss = 0;
    my $end = time + (option('smoke') ? 0.5 : 3 * option('seconds'));
    for (my $n = 0; !$n || time < $end; $n++) {
        $client ||= $nginx->connection(timeout => 60);
        my $start = time;
        my $answer = eval { $client->request('GET', $paths[$n % 2],
            token => $token) };
        push @ms, (time - $start) * 1000;
        undef $client if !$answer;
        $failed++ if !$answer || $answer->status !~ /^(?:200|404)$/;
        $rss = max($rss, map { rss($_) } $nginx->workers) if $n % 20 == 0;
        sleep 1 / RATE - (time - $start) if time - $start < 1 / RATE;
    }
    return (p99(@ms), $failed, $rss);
}


# so many requests at a time, each on a connection of its own; with "keep" the
# connections, before an answer is read
sub at_once {
    my ($n, $method, $path, %option) = @_;

    my @clients = map { $nginx->connection(timeout => 60) } 1 .. $n;
    my $body = $option{body} // '';
    my $i = 0;
    for my $client (@clients) {
        my $as = $tokens[$i++ % @tokens];
        eval { $client->send("$method /api/servers/$bad$path HTTP/1.1\r\n"
            . "Host: localhost\r\nAuthorization: Bearer $as\r\n"
            . (length $body ? "Content-Type: application/json\r\n"
                . 'Content-Length: ' . length($body) . "\r\n" : '')
            . "\r\n$body") };
    }
    return @clients if $option{keep};
    my @answers = map { my $it = $_; eval { $it->response } } @clients;
    sleep 0.2 if grep { !$_ || $_->status == 429 } @answers;
    return;
}


sub by_role {
    at_once(32, 'GET', '/logs?role=r&type=5&before=' . int(time * 1000 - rand 1e6));
}

sub searches { at_once(16, 'GET', '/logs?search=w') }
sub actors   { at_once(16, 'GET', '/logs/actors') }
sub large_pages { at_once(16, 'GET', '/logs?limit=200&type=3') }
sub troubleshooting { at_once(32, 'GET', '/troubleshoot?live=0') }
sub limit { at_once(50, 'GET', '') for 1 .. 50; sleep 5 }


# the tags are there from the first round on
sub tags {
    if ($nginx->sql('select count(*) from tag where guild_id = ?', $bad)
        < 900)
    {
        $nginx->sql(q{insert into tag (guild_id, bot, tag_id, tag_name, content)
            select ?, 0, n, 'tag' || n, repeat('x', 4000)
              from generate_series(1, 990) n on conflict do nothing}, $bad);
    }
    my @slow = at_once(30, 'GET', '/config', keep => 1);
    sleep 3;
    $_->close(reset => 1) for @slow;
}


sub channels {
    my @fields = qw(main_channel category_modlog category_members
        category_actions category_text category_voice category_files
        category_server category_roles category_channels category_service);
    my $n = 0;
    my $body = '{' . join(',', map { $n++; "\"$_\":\"" . (CHANNEL + $n) . '"' }
        @fields) . '}';
    at_once(16, 'PATCH', '/config/logging/channels', body => $body);
}


sub active_ignore {
    at_once(96, 'POST', '/active/ignore/targets',
        body => '{"id":"1","type":0}');
    filters();
}


sub filters {
    my $client = $nginx->connection;
    my @words = map { my $n = $_; join '', map { chr 97 + $_ }
        int($n / 26) % 26, $n % 26 } 0 .. 480;
    $client->request('PATCH', "/api/servers/$bad/filters/words",
        token => $tokens[0], json => { enabled => JSON::PP::true,
            words => \@words });
    $nginx->operator('POST', '/logs', [map { { server => $bad, type => 3,
        event_id => rand . $$ . $_, messages => [map { { id => $_,
            content => 'ab cd ef gh ' x 160 } } 1 .. 30] } } 1 .. 3]);
}


sub exports {
    my @open = at_once(4, 'GET', '/logs/export?search=word1', keep => 1);
    my $end = time + 5;
    for my $client (@open) {
        1 while time < $end && $client->readable(0.2)
            && length($client->some // '');
    }
    $_->close(reset => 1) for @open;
}


sub tails {
    my @open = map { at_once(1, 'GET', "/logs/stream?search=word$_",
        keep => 1) } 1 .. 20;
    for (1 .. 20) {
        at_once(1, 'PATCH', '/config/logging/settings',
            body => '{"spoilers":' . ($_ % 2 ? 'true' : 'false') . '}');
        sleep 0.2;
    }
    $_->close(reset => 1) for @open;
}


1;
