# "Every endpoint needs an Admin token, but the two of active ignore take a Basic
# token as well, and GET of the server, of /logs and all below it, and of /search
# a Read token.  GET of /log-types takes any."

use lib 't/lib';
use Guildlog;
use Guildlog::OpenAPI;
use Guildlog::Stream;

my $nginx = Guildlog->new(openapi => 1,
    api => 'guildlog_limit requests=100000;');
my $server = $nginx->server;
my %token = map { $_ => $nginx->new_token($server, kind => $_) }
    qw(admin basic read);
my $at = "/servers/$server";

my %may = (
    basic => [qw(active_ignore_executors active_ignore_targets log_types)],
    read  => [qw(log_types logs_actors logs_export logs_histogram logs_one
        logs_page logs_stream search_channels search_members search_roles server_get)],
);
my $now = int time * 1000;
my %query = (search_channels => '?query=gen', search_members => '?query=ann',
    logs_histogram => '?after=' . ($now - 60_000) . "&before=$now");

$nginx->operator('PUT', "$at/members/5", { name => 'Ann' });
$nginx->operator('PUT', "$at/channels/6", { name => 'general' });
$nginx->operator('POST', "$at/logs", [{ type => 7, event_id => 'e',
    executor => { id => '5', name => 'Ann' } }]);
my $id = $nginx->get("$at/logs?type=7", token => $token{admin}{token})
    ->json->{entries}[0]{id};


sub where {
    my ($it) = @_;

    my $path = $it->{path} =~ s/\{guild_id\}/$server/r
        =~ s/\{(?:log_id|ignore_type)\}/1/r =~ s/\{filter_id\}/links/r;
    $path =~ s/\{\w+\}/$it->{id} eq 'logs_one' ? $id : 1/e;
    return $path . ($query{ $it->{id} } // '');
}


sub ask_as {
    my ($kind, $method, $path, @option) = @_;
    return $nginx->request($method, $path, token => $token{$kind}{token},
        @option);
}


sub tail_as {
    my ($kind) = @_;
    return Guildlog::Stream->new($nginx, $server, $token{$kind}{token}, '');
}


# each operation, by each kind

my @operations = Guildlog::OpenAPI->shared->operations;
ok @operations > 45, 'the operations of the API';

for my $kind (qw(basic read)) {
    my (@allowed, @odd);

    for my $it (@operations) {
        my $path = where($it);
        for my $method ($it->{method}, $it->{method} eq 'GET' ? 'HEAD' : ()) {
            my ($status, $text) = $it->{id} eq 'logs_stream'
                && $method eq 'GET' ? (tail_as($kind)->{status}, '{}')
                : map { $_->status, $_->text } ask_as($kind, $method, $path,
                    $it->{example} ? (json => $it->{example}) : ());
            my $refused = $status == 403
                && $text eq ($method eq 'HEAD' ? '' : '{}');
            push @allowed, $it->{id} if !$refused && $method ne 'HEAD';
            push @odd, "$method $it->{id} $status"
                if $refused != !grep { $_ eq $it->{id} } @{ $may{$kind} };
        }
    }
    is_deeply [sort @allowed], $may{$kind}, "what a token of kind $kind may";
    is "@odd", '', '... and everything else is 403 {}, also by HEAD';
}


# what is allowed is answered as for an Admin token

{
    my %is = map { $_->{id} => $_ } @operations;
    my @odd;

    for my $it (@is{ grep { $_ ne 'logs_stream' } @{ $may{read} } }) {
        for my $path (where($it), where($it) =~ s/$id$/1/r) {
            for my $method (qw(GET HEAD)) {
                my ($admin, $read) = map { $_->status . ' ' . $_->text }
                    map { ask_as($_, $method, $path) } qw(admin read);
                push @odd, "$method $path: $admin, $read"
                    if $admin ne $read || $read !~ /^(?:200|404)/;
            }
        }
    }
    is "@odd", '', 'a Read token reads what an Admin token reads';

    my $tail = tail_as('read');
    is $tail->{status}, 200, 'a Read token follows the log';
    $nginx->operator('POST', "$at/logs",
        [{ type => 7, event_id => 'followed', content => 'come' }]);
    is_deeply [$tail->contents(1)], ['come'], '... and gets what arrives';
}


# no other method of these paths

{
    my %has = map { ("$_->{method} $_->{path}" => 1) } @operations;
    my @odd;

    for my $it (grep { my $id = $_->{id}; grep { $_ eq $id } @{ $may{read} } }
        @operations)
    {
        for my $method (grep { $_ ne $it->{method} }
            qw(GET POST PUT PATCH DELETE))
        {
            my $status = ask_as('read', $method, where($it))->status;
            my $known = $has{"$method $it->{path}"};
            push @odd, "$method $it->{path} $status"
                if $status != ($known ? 403 : 405);
        }
    }
    is "@odd", '', 'no path that a Read token reads can be changed by it';
}

is $nginx->get("/servers/" . $nginx->server . '/logs',
    token => $token{read}{token})->status, 403, 'nor read of another server';


# the claim alone says the kind, and has to be one of three

sub forged {
    my ($kind, $row) = @_;
    return $nginx->sign($nginx->claims($server, kind => $kind,
        jti => $token{$row}{unique_id}));
}

for my $row (qw(admin read)) {
    my $odd = forged('read', $row);
    is join(' ', map { $nginx->get("$at$_", token => $odd)->status }
        '/logs', '/config', '/auth'), '200 403 403',
        "the claim says read, and the row $row: it reads";
}
for my $kind (undef, 3, '3', 4, '4', 'Read', 'read ', 'reader', '', 'owner',
    ['read'], { read => 1 })
{
    my $answer = $nginx->get("$at/logs", token => forged($kind, 'read'));
    is $answer->status, 401, 'no kind: ' . json->encode([$kind]);
    like $answer->header('WWW-Authenticate'), qr/error="invalid_token"/,
        '... which the challenge tells';
}
{
    my ($head, $claims, $signature) = split /\./, $token{read}{token};
    my $more = json->decode(MIME::Base64::decode_base64url($claims));
    is $more->{kind}, 'read', 'the claim of a Read token';
    $more->{kind} = 'admin';
    is $nginx->get("$at/config", token => join '.', $head,
        base64url(json->encode($more)), $signature)->status, 401,
        'nobody makes more of it';
}


# it is listed, and revoked, as any other

{
    my ($row) = grep { $_->{unique_id} eq $token{read}{unique_id} }
        @{ $nginx->get("$at/auth", token => $token{admin}{token})->json };
    is $row->{permissions}, 3, 'a Read token is listed as 3';
    is $nginx->delete("$at/auth?tokenId=$row->{unique_id}",
        token => $token{admin}{token})->status, 200, 'it is revoked';
    is $nginx->get("$at/logs", token => $token{read}{token})->status, 401,
        '... and refused at once';
}

done_testing;
