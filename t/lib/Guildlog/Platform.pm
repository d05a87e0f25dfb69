package Guildlog::Platform;

# The stand-in of the chat platform (t/lib/platform), as a test drives it.

use strict;
use warnings;

use Cpanel::JSON::XS;
use Cwd ();
use File::Basename qw(dirname);
use IO::Socket::INET;
use MIME::Base64 qw(encode_base64url);
use Time::HiRes qw(sleep time);

use Guildlog::Client;

my $program = Cwd::abs_path(dirname(__FILE__) . '/../platform');
my $json    = Cpanel::JSON::XS->new->utf8->canonical;
my %running;
my $owner = $$;


# a stand-in of its own in that folder, without limits unless told otherwise
sub new {
    my ($class, %option) = @_;

    my $self = bless { port => Guildlog::free_port(), config => {
        webhook_limit => undef, channel_limit => undef, global_limit => undef,
        %{ $option{config} || {} } }, dir => $option{dir} }, $class;
    mkdir $self->{dir};
    $self->start;
    return $self;
}


sub start {
    my ($self) = @_;

    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        open STDOUT, '>>', "$self->{dir}/log";
        open STDERR, '>&', \*STDOUT;
        exec $program, '--port', $self->{port}, '--dir', $self->{dir};
        die "$program: $!";
    }
    $self->{pid} = $pid;
    $running{$pid} = 1;
    Guildlog::wait_for(sub {
        IO::Socket::INET->new(PeerAddr => "127.0.0.1:$self->{port}")
    }, 10, 'the stand-in');
    $self->config(%{ $self->{config} });
}


sub stop {
    my ($self) = @_;

    my $pid = delete $self->{pid} or return;
    delete $running{$pid};
    kill 'KILL', $pid;
    waitpid $pid, 0;
}


END {
    if ($$ == $owner) {
        my $status = $?;
        kill 'KILL', keys %running;
        waitpid $_, 0 for keys %running;
        $? = $status;
    }
}


# the directives for http{}; writes the files they need below the nginx
sub directives {
    my ($self, $nginx, %option) = @_;

    my $rate = $option{rate} // 'off';
    my $at   = $option{at}   // "http://127.0.0.1:$self->{port}";
    $nginx->file('bot.main', $self->token(0), 0600);
    $nginx->file('bot.pro', $self->token(1), 0600);
    $nginx->file('delivery.key', '0f' x 32, 0600);

    return <<"CONF" . ($option{more} // '');
        guildlog_platform $at/api/v10 @{[ $option{trusted} // '' ]};
        guildlog_platform_rate $rate;
        guildlog_bot_token main bot.main;
        guildlog_bot_token pro bot.pro;
        guildlog_delivery secret=delivery.key;
CONF
}


# the token of a bot: 0 main, 1 pro
sub token {
    my ($self, $bot) = @_;
    return encode_base64url(400000000000000001 + $bot) . '.AbCdEf.secret-of-it';
}


sub control {
    my ($self, $path, $body) = @_;

    my $answer = Guildlog::Client->new(port => $self->{port})
        ->request(defined $body ? 'POST' : 'GET', "/_control/$path",
        defined $body ? (json => $body) : ());
    die "platform: ", $answer->status if $answer->status != 200;
    return $answer->json;
}


sub config { my ($self, %change) = @_; return $self->control('config', \%change) }
# channels are that server's: "guild_id" of them and of their webhooks
sub belong {
    my ($self, $guild, @channels) = @_;
    $self->{guilds}{$_} = "$guild" for @channels;
    $self->config(guilds => $self->{guilds});
}


sub faults { my ($self, @faults) = @_; return $self->control('faults', \@faults) }
sub faults_left { return @{ $_[0]->control('faults') } }
sub ledger { return @{ $_[0]->control('ledger' . _of($_[1])) } }
sub _of { return defined $_[0] ? "?channel=$_[0]" : '' }
sub path { "$_[0]{dir}/ledger" }
sub delete_webhook { $_[0]->control("webhook/$_[1]/delete", {}) }
sub spend_webhook  { $_[0]->control("webhook/$_[1]/spend", {}) }


# one by that name, of a bot: the pro one, who is somebody else; the webhook
sub create_webhook {
    my ($self, $channel, $name, $bot) = @_;

    return $self->_ask("channels/$channel/webhooks", { name => $name },
        Authorization => 'Bot ' . $self->token($bot // 1));
}


# what somebody else says in a channel
sub say {
    my ($self, $channel, @texts) = @_;

    my $it = $self->create_webhook($channel, 'Somebody');
    $self->_ask("webhooks/$it->{id}/$it->{token}?wait=true",
        { content => $_ }) for @texts;
}


sub _ask {
    my ($self, $path, $body, @headers) = @_;

    my $answer = Guildlog::Client->new(port => $self->{port})->request('POST',
        "/api/v10/$path", json => $body, headers => [@headers,
            'User-Agent' => 'DiscordBot (https://example.org, 1)']);
    die "platform: ", $answer->text if $answer->status != 200;
    return $answer->json;
}


sub webhooks {
    my ($self, $channel) = @_;
    return grep { !defined $channel || $_->{channel_id} eq $channel }
        @{ $self->control('webhooks') };
}


# of a channel, in the order in which they were applied
sub messages {
    my ($self, $channel) = @_;
    return sort { $a->{id} cmp $b->{id} }
        @{ $self->control('state' . _of($channel))->{messages} };
}


# the last lines of the ledger, as they are written
sub ledger_tail {
    my ($self, $lines) = @_;

    open my $in, '<:raw', $self->path or return;
    my $size = -s $in;
    seek $in, $size > 200_000 ? $size - 200_000 : 0, 0;
    my @lines = <$in>;
    splice @lines, 0, -$lines if @lines > $lines;
    return @lines;
}


# the entries' ids in a message, in order
sub entries_in {
    my ($self, $message) = @_;

    my @texts = map { $_->{footer}{text} } @{ $message->{embeds} || [] };
    push @texts, $message->{content} =~ /^-# .*?(\d{17,20})/mg
        if defined $message->{content};
    return map { /(\d{17,20})\s*$/ ? $1 : () } @texts;
}


# answers to calls: [call, status]
sub answers {
    my ($self, $call) = @_;
    return grep { $_->{event} eq 'answer' && $_->{call} eq $call } $self->ledger;
}


1;
