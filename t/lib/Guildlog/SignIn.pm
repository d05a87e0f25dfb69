package Guildlog::SignIn;

# What the tests of signing in share: an nginx where people sign in, and
# browsers, which keep cookies.

use strict;
use warnings;

use Exporter 'import';
use Test::More;

use Guildlog ();
use Guildlog::Client;
use Guildlog::Platform;

our @EXPORT = qw($secret $ada $bob login page api ask allowed sign_in asked
    aged refused started manages);

our $secret = 'the secret of the client at the platform';
our ($ada, $bob) = ('210000000000000001', '210000000000000002');

my ($g, $platform);


# starts the nginx, with that in its location /login; the first one is the one
# that is asked.  directives: those of the stand-in, where they are other ones
sub login {
    my ($nginx, $stand_in, $more, %option) = @_;

    ($g, $platform) = ($nginx, $stand_in) if !$g;
    $nginx->file('login.secret', $secret, 0600);
    $nginx->file('next.secret', 'another secret of the same client', 0600);
    my $rate = delete $option{rate};
    my $directives = delete $option{directives}
        // $stand_in->directives($nginx, rate => $rate);
    $nginx->configure(%option, http => $directives
        . ($option{http} // ''), locations => "location /login { $more; }"
        . ($option{locations} // ''));
    return $nginx->start;
}


# people manage these servers, by id of the person
sub manages {
    my (%servers) = @_;

    $platform->config(people => { map { $_ => {
        user   => { id => $_, username => "user$_" },
        guilds => [map { { id => $_, permissions => '32' } }
            @{ $servers{$_} }],
    } } keys %servers });
}


# the headers of a browser's request
sub _headers {
    my ($browser, @headers) = @_;

    my $jar = $browser->{jar} ||= {};
    push @headers, Cookie => join '; ', map { "$_=$jar->{$_}" } sort keys %$jar
        if %$jar;
    return @headers;
}


# a browser's request: it keeps cookies; nothing if there is no answer
sub ask {
    my ($browser, $method, $path, %option) = @_;

    my $nginx = delete $option{nginx} || $g;
    my @headers = _headers($browser, @{ delete $option{headers} || [] });
    my $answer = $nginx->request($method, $path, headers => \@headers, %option)
        or return;

    for my $header (@{ $answer->{headers} }) {
        next if lc $header->[0] ne 'set-cookie';
        my ($name, $value) = $header->[1] =~ /^([^=]+)=([^;]*)/;
        if (length $value) { $browser->{jar}{$name} = $value }
        else               { delete $browser->{jar}{$name} }
    }
    return $answer;
}


sub page { return ask(@_, raw_path => 1) }


# the API, as the dashboard asks it
sub api {
    my ($browser, $method, $path, %option) = @_;
    return ask($browser, $method, $path, %option,
        headers => ['X-Guildlog', 1, @{ $option{headers} || [] }]);
}


# a request whose answer is waited for later; with the header of the dashboard
sub started {
    my ($browser, $method, $path, $version) = @_;

    my @headers = _headers($browser, Host => 'localhost', 'X-Guildlog', 1);
    my $text = "$method $path HTTP/" . ($version // '1.1') . "\r\n";
    while (my ($name, $value) = splice @headers, 0, 2) {
        $text .= "$name: $value\r\n";
    }
    my $client = $g->connection;
    $client->send("$text\r\n");
    return $client;
}


# where the platform sends the person back to
sub allowed {
    my ($browser, $person, %option) = @_;

    $platform->config(person => $person);
    my $answer = page($browser, 'GET', '/login', %option);
    my ($path) = ($answer->header('Location') // '')
        =~ m{^http://[^/]+(/.*)} or die "no way to the platform\n";
    return Guildlog::Client->new(port => $platform->{port})
        ->request('GET', $path)->header('Location') =~ s{^https?://[^/]+}{}r;
}


sub sign_in {
    my ($person, %option) = @_;

    my $browser = {};
    $browser->{answer} = page($browser, 'GET',
        allowed($browser, $person, %option), %option);
    return $browser;
}


# so many seconds ago the platform was asked for people, later than it was
sub aged {
    my ($seconds) = @_;
    $g->sql('with aged as (update session set asked_at = asked_at
        - ? * interval \'1 second\' returning 1) select count(*) from aged',
        $seconds);
}


# how often the platform was asked that
sub asked {
    my ($call) = @_;
    return scalar grep { $_->{event} eq 'request' && $_->{call} eq $call }
        @{ $platform->control('ledger') };
}


sub refused {
    my ($answer, $status, $why) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is $answer->status . ' ' . $answer->text, "$status {}", $why;
}


1;
