# Whatever is sent, the answer is one that the documents name and never a 500,
# and nginx keeps working.  Sent are: the examples of conf/openapi.yaml and of
# the operator's file, changed at random in every part, and bytes that are
# hardly requests at all.
#
# GUILDLOG_SEED chooses the requests; GUILDLOG_REQUESTS is their number.

use lib 't/lib';
use Guildlog;
use Guildlog::Cases;
use Guildlog::OpenAPI;

my $seed = $ENV{GUILDLOG_SEED} // 1;
my $requests = $ENV{GUILDLOG_REQUESTS} // 2000;
srand $seed;
diag("seed $seed");

my $openapi = Guildlog::OpenAPI->shared;
my $nginx = Guildlog->new(openapi => 1, workers => 2,
    api => 'guildlog_limit zone=guildlog requests=1000000;',
    http => <<'CONF');
        # for requests that never end
        server {
            listen unix:%%PREFIX%%/broken.sock;
            client_header_timeout 2s;
            client_body_timeout 2s;
            error_page 400 405 414 421 494 495 496 497 500 501 505 /api/;
            location /api/ {
                guildlog_api;
                guildlog_limit zone=guildlog requests=1000000;
            }
        }
CONF
my $server = $nginx->server;
my $token = $nginx->token($server);
my %answers;

my @texts = ('', ' ', 'a', 'ä', '😀', "\x{202e}x", '%', '_', '\\', "'", '"',
    '0', '-1', '00', '9' x 18, '9' x 19, '9223372036854775807',
    '9223372036854775808', '1e5', 'true', 'null', '٣', 'main', 'pro', 'Text',
    'x' x 101, "\x{1}", "a\nb", '<script>', '../..', 'a b c d e', $server);
my @values = (0, 1, -1, 102, 2147483648, 9007199254740993, 1.5, undef,
    JSON::PP::true, JSON::PP::false, [], {}, [[]], [undef], { a => 1 });
my %known = map { $_ => 1 } 200, 201, 202, 204, 400 .. 405, 408, 409, 411, 413,
    414, 415, 429, 431, 494, 501, 505;


sub one_of { $_[rand @_] }
sub now_and_then { rand() < $_[0] }


sub any_value {
    return now_and_then(0.5) ? one_of(@texts) : one_of(@values);
}


# a copy of the value, changed at random
sub bent {
    my ($value, $chance) = @_;

    return any_value() if now_and_then($chance);
    return [map { bent($_, $chance) } @$value,
        now_and_then($chance) ? @$value : ()] if ref $value eq 'ARRAY';
    return $value if ref $value ne 'HASH';

    my %bent = map { $_ => bent($value->{$_}, $chance) } keys %$value;
    delete $bent{one_of(keys %bent)} if %bent && now_and_then($chance);
    $bent{any_value() // 'x'} = any_value() if now_and_then($chance);
    return \%bent;
}


# the text with some bytes changed, removed, inserted or repeated
sub broken {
    my ($bytes) = @_;

    utf8::encode($bytes) if utf8::is_utf8($bytes);
    for (0 .. rand 4) {
        my $at = int rand 1 + length $bytes;
        my $length = int rand 8;
        my $new = one_of('', chr int rand 256, "\0", "\r\n", '"', '%', '{[',
            substr($bytes, int rand 1 + length $bytes, int rand 20),
            'x' x rand 5000);
        substr($bytes, $at, $length) = $new if $at <= length $bytes;
    }
    return $bytes;
}


# fields and values that the examples do not have
my $entry = { event_id => 'e', type => 5, timestamp => int(time) * 1000,
    executor => { id => '1', name => 'Al', bot => JSON::PP::false,
        roles => ['4'] },
    target => { id => '2', name => 'Bo' },
    channel => { id => '3', name => 'c', parent => '5', category => '6' },
    role => 'r', name => 'n', reason => 'why', count => 1, content => 'a',
    contentAfter => 'b', proxied => JSON::PP::false, action => 'x',
    value => 'v', emoji => { id => '7', name => 'e' },
    messages => [{ id => '8', content => 'm', authorId => '1',
        timestamp => 1, attachments => [{ name => 'f', size => 1 }] }] };
my %entries = (
    operator_record => sub { [map { { %$entry, event_id => rand } }
        0 .. rand 4] },
    operator_record_many => sub { [map { { %$entry, event_id => rand,
        server => $server, bot => 'pro' } } 0 .. rand 4] },
);

# leaves out what has no end, revokes the token or fills the places of tokens
my @api = grep { $_->{id} !~ /stream|revoke|server_reset/ }
    $openapi->operations;
my $desk = Guildlog::OpenAPI->operator;
my @operator = map { ({ %$_, file => $desk }) x ($entries{$_->{id}} ? 5 : 1) }
    grep { $_->{id} !~ /token_create|server_forget/ } $desk->operations;


# (method, path, body, whether it is the operator's) of a request, which is
# changed a little or a lot
sub made {
    my ($chance) = @_;

    my $it = one_of(now_and_then(0.3) ? @operator : @api);
    my $path = $it->{path} =~ s/\{guild_id\}/$server/r;
    $path =~ s/\{\w+\}/now_and_then(0.7) ? int rand 9
        : escape(one_of(grep { length } @texts))/ge;

    my @query = map {
        my $name = $_->{name};
        my $schema = $_->{schema};
        map { "$name=" . escape(now_and_then(1 - $chance)
            ? one_of(map { $_->[1] } grep { $_->[0] }
                text_cases($it->{file} // $openapi, $schema))
            : one_of(@texts)) } 0 .. now_and_then($chance)
    } grep { $_->{in} eq 'query' && now_and_then(0.4) } @{ $it->{parameters} };
    $path .= '?' . join '&', @query if @query;

    my $example = ($entries{$it->{id}} // sub { $it->{example} // {} })->();
    my $body = $it->{body} ? json->encode(bent($example, $chance)) : undef;
    $body = broken($body) if defined $body && now_and_then($chance);
    return ($it->{method}, $path, $body, defined $it->{file});
}


sub live_token {
    return $token if $nginx->get("/servers/$server/auth",
        token => $token)->status ne 401;

    return $token = $nginx->token($server);
}


# sends a well-formed request; returns what is wrong with its answer
sub ask {
    my ($method, $path, $body, $operator) = @_;

    my @body = defined $body ? (body => $body, headers => ['Content-Type',
        now_and_then(0.97) ? 'application/json' : 'text/plain']) : ();
    my $answer = eval { $operator
        ? Guildlog::Client->new(unix => $nginx->{operator})
            ->request($method, $path, @body)
        : $nginx->request($method, $path, token => $token, @body) };

    return "no answer: $@" if !$answer;
    $answers{$answer->status}++;
    return $known{$answer->status} ? '' : $answer->status . ' '
        . $answer->text;
}


# sends bytes, perhaps not all of them; returns what is wrong with the answer
sub throw {
    my ($method, $path, $body, $operator) = @_;

    my $bytes = Guildlog::Client::_format($method,
        $operator ? $path : "/api$path",
        $operator ? () : (token => $token), json => $body // '');
    $bytes = broken($bytes);
    $bytes .= $bytes if now_and_then(0.1);

    my $client = Guildlog::Client->new(unix => $operator ? $nginx->{operator}
        : $nginx->prefix . '/broken.sock');
    $client->send($bytes);
    $client->socket->shutdown(1) if now_and_then(0.97);
    return '' if now_and_then(0.1);

    my $head = eval { $client->line } // '';
    $client->close;
    return $head =~ m{^HTTP/1.1 (\d+)} && !$known{$1} ? $head : '';
}


my @workers = sort $nginx->workers;
my @wrong;

for my $n (1 .. $requests) {
    my @request = made(one_of(0, 0.02, 0.1, 0.5));
    my $wrong = now_and_then(0.3) ? throw(@request) : ask(@request);

    # all are hot, then some are in blocks, then all
    $nginx->some_blocks($server, 1 + int rand 50)
        if $n > $requests / 3 && $n % 20 == 0;
    $nginx->blocks if $n > 2 * $requests / 3 && $n % 10 == 0;

    push @wrong, "$n: $request[0] $request[1] "
        . substr($request[2] // '', 0, 500) . " -> $wrong" if $wrong;
    last if @wrong > 5;
    live_token() if $n % 200 == 0;
}

is join("\n", @wrong), '', "$requests requests have expected answers";
cmp_ok $answers{200} + $answers{202}, '>', $requests / 10,
    'many of them have a good one';
diag(join ', ', map { "$answers{$_} times $_" } sort keys %answers);
is_deeply [sort $nginx->workers], \@workers, 'no worker died';

my $answer = $nginx->get("/servers/$server/config", token => live_token());
is $answer->status, 200, 'the workers still serve';
cmp_ok $nginx->sql('select count(*) from entries'), '>', 0,
    'some requests recorded entries';

done_testing;
