#!/usr/bin/perl
# Whatever the platform's server does in an exchange, the entry's status is
# true: delivered with an ID, unknown where the message may have been applied,
# and sent once.  (t/unit/client.c has all kinds of answers, this file their
# outcomes.)

use lib 't/lib';
use Guildlog;
use Guildlog::Peer;

my $g = Guildlog->new(start => 0, api => 'guildlog_limit off;');
$g->file($_->[0], $_->[1], 0600)
    for ['bot.main', 'MQ.a.b'], ['delivery.key', '0f' x 32];

my $dir  = $g->prefix;
my $peer = Guildlog::Peer->new(
    tls => Guildlog::Peer->certificate($dir, 'peer',
        names => 'DNS:localhost'));
my $port = $peer->port;

$g->configure(http => platform("https://localhost:$port"))->start;

my $channel = 300000000000000000;
my $event   = 0;


sub platform {
    my ($url) = @_;

    return <<"CONF";
        guildlog_platform $url/api/v10 trusted=ca.crt;
        guildlog_platform_rate off;
        guildlog_bot_token main bot.main;
        guildlog_delivery secret=delivery.key;
CONF
}


# a server with a channel of its own: {guild, token, channel}
sub lane {
    my $guild = $g->server;
    my $token = $g->token($guild);
    my $to    = ++$channel . '';
    my $answer = $g->patch("/servers/$guild/config/logging/channels",
        token => $token, json => { main_channel => $to });
    die $answer->text if $answer->status != 202;
    return { guild => $guild, token => $token, channel => $to };
}


sub record {
    my ($lane) = @_;

    my $answer = $g->operator('POST', "/servers/$lane->{guild}/logs", [{
        event_id => 'e' . ++$event, type => 7, content => 'a message' }]);
    die $answer->text if $answer->status != 200;
    return $answer->json->{ids}[0];
}


sub word {
    my ($lane, $id) = @_;

    my $page = $g->get("/servers/$lane->{guild}/logs",
        token => $lane->{token})->json;
    my ($entry) = grep { $_->{id} eq $id } @{ $page->{entries} };
    my $delivery = $entry->{delivery};
    return join ' ', $delivery->{status}, $delivery->{reason} // ();
}


sub becomes {
    my ($lane, $id, $expected, $what, $seconds) = @_;

    my $word = '';
    eval { wait_for { ($word = word($lane, $id)) =~ /^(?:$expected)$/ }
        $seconds || 60 };
    like $word, qr/^(?:$expected)$/, $what;
}


sub posts {
    my ($lane) = @_;
    return my @posts = grep {
        $_->{detail} =~ m{^POST .*/webhooks/$lane->{channel}/}
    } $peer->seen('request');
}


subtest 'a certificate for another name' => sub {
    $g->configure(http => platform("https://127.0.0.1:$port"))->reload;
    my $lane = lane();
    my $id = record($lane);

    wait_for { $g->error_log =~ /IP address mismatch/ } 60,
        'the error is logged';
    is $peer->count('request'), 0, 'no request is sent to it';
    like word($lane, $id), qr/^not_delivered (?:queued|retrying)$/,
        'the entry waits';

    $g->configure(http => platform("https://localhost:$port"))->reload;
    becomes($lane, $id, 'delivered', 'until it has');
    is +($peer->seen('tls'))[-1]{detail}, 'localhost',
        'the client names the host it asks for';
};


# in doubt the message is looked for and not found; it is never sent again
my %doubt;

for my $name (sort keys %Guildlog::Peer::case) {
    my $case = $Guildlog::Peer::case{$name};
    next if $case->{slow} || $case->{early} || $name =~ /second request/;

    my $expected = $case->{outcome} eq 'uncertain' ? 'unknown \w+'
                 : $case->{status} =~ /^30/   ? 'not_delivered retrying'
                 : $case->{status} == 200 && !defined $case->{body}
                                              ? 'delivered'
                 :                              'unknown \w+';

    # one entry succeeds first: the next is neither the first of its channel nor
    # one more failure in a row
    my $lane = lane();
    becomes($lane, record($lane), 'delivered', "$name: before it");

    my $sent = posts($lane);
    $peer->mode($name, $lane->{channel});
    my $id = record($lane);
    becomes($lane, $id, $expected, "$name: $expected");

    # "unknown" may be stored before the request is sent: keep this mode until
    # then
    if ($expected =~ /^unknown/) {
        $doubt{$name} = [$lane, $id, $sent + 1];
    } else {
        $peer->mode('well', $lane->{channel});
    }
}

for my $name (sort keys %doubt) {
    my ($lane, $id, $sent) = @{ $doubt{$name} };
    becomes($lane, $id, 'unknown unconfirmed', "$name: not proved");
    is posts($lane), $sent, "$name: not sent again";
}


subtest 'a connection that is closed as it is used again' => sub {
    my $lane = lane();
    becomes($lane, record($lane), 'delivered', 'before it');
    my $sent = posts($lane);
    $peer->mode('closes behind the answer', $lane->{channel});
    for (1 .. 5) {
        becomes($lane, record($lane), 'delivered', "message $_");

        # what is sent before the end has come is in doubt
        my $its = (posts($lane))[-1]{connection};
        wait_for { grep { $_->{connection} == $its } $peer->seen('end') };
    }
    is posts($lane) - $sent, 5, 'each message is sent once';
};


subtest 'nginx stops in the middle of an exchange' => sub {
    my $lane = lane();
    becomes($lane, record($lane), 'delivered', 'before it');
    my $sent = posts($lane);
    $peer->mode('never a word', $lane->{channel});
    my $id = record($lane);
    becomes($lane, $id, 'unknown in_flight', 'it is under way');
    wait_for { posts($lane) > $sent } 60, 'the request';

    $g->stop;
    $peer->mode('well', $lane->{channel});
    $g->start;
    becomes($lane, $id, 'unknown unconfirmed', 'and in doubt afterwards');
    is posts($lane), $sent + 1, 'it is not sent again';
};

done_testing;
