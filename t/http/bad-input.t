# No bad input gets in.  Each field of each body, each parameter and each piece
# of each path is tried with values on both sides of its rule.  A refusal names
# its subject in "error" and leaves nothing in the database.

use lib 't/lib';
use Guildlog;
use Guildlog::Cases;
use Guildlog::Change;
use Guildlog::OpenAPI;

my $openapi = Guildlog::OpenAPI->shared;
my $desk_file = Guildlog::OpenAPI->operator;
my $nginx = Guildlog->new(openapi => 1,
    api => 'guildlog_limit zone=guildlog requests=1000000;',
    operator => 'guildlog_max_body 64k;');
my $server = $nginx->server;
my $token = $nginx->token($server);
my $desk = $nginx->server;   # the operator's endpoints work on this one

# t/http/login.t asks those that take a cookie
my @operations = grep { !$_->{person} } $openapi->operations;

my %piece = (guild_id => $server, id => 1, log_id => 5, ignore_type => 4, user_id => 1,
    filter_id => 'words', tag_id => 1, alert_id => 1, notification_id => 1);


# makes what a good request needs in the database
sub prepare {
    my ($id) = @_;

    $nginx->sql('delete from tag') if $id =~ /^tag_|^config_patch$/;
    $nginx->sql("insert into tag values (?, 0, '1', 'a', 'b', 1, 'http://c')",
        $server) if $id eq 'tag_patch';
    $nginx->sql('delete from alert') if $id =~ /^alert_/;
    $nginx->sql("insert into alert values (?, 0, '1', 'a', '{5}', 1, 1, 'server')",
        $server) if $id eq 'alert_patch';
    $nginx->sql('delete from token where guild_id = ?', $desk)
        if $id eq 'operator_token_create';
    $nginx->sql('delete from ignore_entry') if $id =~ /^ignore_/;
}


# the operator's endpoints, without two: one answers for each entry, one sends
# entries again.  t/record/record.t and t/delivery/operator-delivery.t test them

my @operators = map {
    my $schema = $desk_file->resolve($_->{body});
    my $batch = $schema->{type} eq 'array';
    +{
        %$_, operator => 1, batch => $batch,
        body => $batch ? $schema->{items} : $schema,
        example => $batch ? $_->{example}[0] : $_->{example},
    };
} grep { $_->{body} && $_->{id} !~ /record|replay/ } $desk_file->operations;


# requests

my ($connection, $to);

sub send_one {
    my ($it, $path, %option) = @_;

    my $socket = $it->{operator} ? 'operator' : 'api';
    if (!$connection || $to ne $socket) {
        $to = $socket;
        $connection = $it->{operator}
            ? Guildlog::Client->new(unix => $nginx->prefix . '/operator.sock')
            : $nginx->connection;
    }

    my $answer = $it->{operator}
        ? $connection->request($it->{method}, $path, %option)
        : $nginx->request($it->{method}, $path, token => $token,
            connection => $connection, %option);
    undef $connection
        if ($answer->header('Connection') // '') eq 'close';
    return $answer;
}


# the path of an operation, with some of its pieces changed
sub path_of {
    my ($it, %change) = @_;

    my %now = (%piece, $it->{operator} ? (guild_id => $desk) : (), %change);
    my $path = $it->{path} =~ s/\{(\w+)\}/$now{$1}/gr;
    my @query = map { "$_->{name}=" . escape(example_of($_)) }
        grep { $_->{in} eq 'query' && $_->{required} } @{ $it->{parameters} };
    return @query ? "$path?" . join '&', @query : $path;
}


sub example_of {
    my ($parameter) = @_;

    my ($good) = grep { $_->[0] } text_cases($openapi, $parameter->{schema});
    return $good->[1];
}


# a stream has no end: its head is enough
sub status_of {
    my ($it, $path, %option) = @_;

    return send_one($it, $path, %option)
        if !($it->{responses}{200}{content} || {})->{'text/event-stream'};

    my $stream = $nginx->connection;
    $stream->send("GET /api$path HTTP/1.0\r\nHost: localhost\r\n"
        . "Authorization: Bearer $token\r\n\r\n");
    my $head = $stream->line;
    my ($status) = $head =~ / (\d+) /;
    return bless { status => $status, body => '' }, 'Guildlog::Response'
        if $status == 200;

    $stream->{buffer} = "$head\r\n" . $stream->{buffer};
    return $stream->response;
}


# "" where the answer is right, else what is wrong with it
sub refused {
    my ($answer, $field, $what) = @_;

    my $error = $answer->status == 400 ? $answer->json->{error} : undef;
    return () if defined $error && $error =~ /^\Q$field\E: \S/
        && length $error < 200;

    $what = substr($what, 0, 60) . '…' if length $what > 60;
    return "$field = $what: " . $answer->status . ' '
        . substr $answer->text, 0, 300;
}


sub accepted {
    my ($answer, $field, $what) = @_;

    return () if $answer->status =~ /^2/;
    $what = substr($what, 0, 60) . '…' if length $what > 60;
    return "$field = $what: " . $answer->status . ' ' . $answer->text;
}


sub all_well {
    my ($what, @wrong) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is join("\n", @wrong), '', $what;
}


# bodies

# {"a": 1} with a field's value as JSON; undef leaves the field out
sub body_with {
    my ($it, %value) = @_;

    my %all = map { $_ => json->encode($it->{example}{$_}) }
        keys %{ $it->{example} };
    %all = (%all, %value);
    my $body = '{' . join(',', map { json->encode($_) . ":$all{$_}" }
        grep { defined $all{$_} } sort keys %all) . '}';
    return $it->{batch} ? "[$body]" : $body;
}


# which fixes and test messages are accepted depends on what is wrong with the
# server: t/delivery/troubleshoot.t tests that. A bad packet is told by its index:
# t/events/bad.t. So is what is wrong with one of several changes, whatever its own
# request takes: t/config/changes.t

for my $it (grep { $_->{body}
        && $_->{id} !~ /^(?:troubleshoot_|operator_events$)/ }
    @operations, @operators)
{
    my $file = $it->{operator} ? $desk_file : $openapi;
    my $schema = $file->resolve($it->{body});
    my $path = path_of($it);
    my $at = $it->{batch} ? 'body[0].' : '';
    my %required = map { $_ => 1 } @{ $schema->{required} };
    my $ask = sub { send_one($it, $path, json => $_[0]) };

    prepare($it->{id});
    all_well("$it->{id}: the example", accepted($ask->(body_with($it)),
        'body', body_with($it)));

    for my $field ($it->{id} eq 'config_patch' ? ()
        : sort keys %{ $schema->{properties} })
    {
        my @cases = json_cases($file, $schema->{properties}{$field});
        prepare($it->{id});
        my $before = tables($nginx);

        all_well("$it->{id}: bad $field", map {
            my ($good, $where, $value) = @$_;
            $good ? () : refused($ask->(body_with($it, $field => $value)),
                "$at$field$where", $value);
        } @cases);

        my $twice = body_with($it, $field => $cases[-1][2]
            . ",\"$field\":" . $cases[-1][2]);
        all_well("$it->{id}: $field twice", refused($ask->($twice),
            "$at$field", $twice));

        all_well("$it->{id}: no $field", refused($ask->(
            body_with($it, $field => undef)), "$at$field", 'absent'))
            if $required{$field};
        is tables($nginx), $before, 'a refused request changes nothing';

        all_well("$it->{id}: good $field", map {
            my ($good, undef, $value) = @$_;
            prepare($it->{id}) if $good;
            $good ? accepted($ask->(body_with($it, $field => $value)), $field,
                $value) : ();
        } @cases);
    }

    # the whole body

    prepare($it->{id});
    my $before = tables($nginx);
    my ($first) = sort keys %{ $schema->{properties} };
    my $deep = '[' x 17 . ']' x 17;

    all_well("$it->{id}: unknown fields", map {
        refused($ask->(body_with($it, $_ => 'null')), "$at$_", 'null')
    } 'unknown', uc $first, "$first ", "\x{e9}", 'id_', 'guild_id',
        $it->{id} =~ /operator/ ? () : 'bot');

    my $error = $ask->(body_with($it, 'x' x 1000 => 1))->json->{error};
    like $error, qr/^\Q$at\Ex{64}: unknown field$/,
        "$it->{id}: a long name is shortened in the error";

    all_well("$it->{id}: not an object", map {
        my ($body, $where) = ref ? @$_ : ($_, 'body');
        refused($ask->($body), $where, $body);
    } '', ' ', 'null', 'true', '1', '"x"', '{', '{}x', '{}{}', '{]', '[}',
        "{'a':1}", '{a:1}', "\xef\xbb\xbf{}", "\0", "{}\0", "{\"\xff\":1}",
        $it->{batch} ? ('[]', '{}', "[$deep]") : '[]',
        $it->{batch} ? ['[[]]', 'body[0]'] : "{\"$first\":$deep}",
        $schema->{minProperties} ? '{}' : ());

    for my $type ('text/plain', 'application/jsonx', 'text/json', '', undef,
        'application/x-www-form-urlencoded')
    {
        my $answer = send_one($it, $path, body => body_with($it),
            defined $type ? (headers => ['Content-Type' => $type]) : ());
        like $answer->status . $answer->text,
            qr{^415\{"error":"Content-Type:[ ]must[ ]be[ ]application/json[^"]*",
                "code":"wrong_media_type","field":"Content-Type"\}$}x,
            "$it->{id}: " . ($type // 'no type') . ' is not taken as JSON';
    }

    my $large = body_with($it) . ' ' x 65_536;
    my $answer = $ask->(substr $large, 0, 65_537);
    is $answer->status . $answer->text,
        '413{"error":"body: must be at most 65536 bytes long",'
            . '"code":"too_large","field":"body","max":65536}',
        "$it->{id}: 64 KiB and one";
    is tables($nginx), $before, 'a refused request changes nothing';

    all_well("$it->{id}: 64 KiB", accepted($ask->(substr $large, 0, 65_536),
        'body', '64 KiB'));
    for my $type ('application/json; charset=utf-8', 'Application/JSON') {
        prepare($it->{id});
        all_well("$it->{id}: $type", accepted(send_one($it, $path,
            body => body_with($it), headers => ['Content-Type' => $type]),
            'body', $type));
    }
}


# parameters

for my $it (@operations) {
    my %option = $it->{example} ? (json => $it->{example}) : ();
    my $path = path_of($it);
    my $before = tables($nginx);

    for my $parameter (grep { $_->{in} eq 'query' } @{ $it->{parameters} }) {
        my $name = $parameter->{name};
        my $bare = $path =~ s/([?&])$name=[^&]*&?/$1/r =~ s/[?&]$//r;
        my $with = $bare . ($bare =~ /\?/ ? '&' : '?') . $name;
        my $single = $openapi->resolve($parameter->{schema})->{type}
            ne 'array';
        my $good = escape(example_of($parameter));
        my @bad = map { $_->[0] ? () : escape($_->[1]) }
            text_cases($openapi, $parameter->{schema});

        all_well("$it->{id}: bad $name", map {
            refused(status_of($it, "$with$_", %option), $name, $_)
        } (map { "=$_" } @bad, '%', '%4', '%zz', '%FF', '%C0%AF', 'a%00'),
            $single ? "=$good&$name=$good" : ());

        all_well("$it->{id}: no $name", refused(status_of($it, $bare, %option),
            $name, 'absent')) if $parameter->{required};

        next if $it->{method} ne 'GET' || $name eq 'cursor';
        all_well("$it->{id}: good $name", map {
            $_->[0] ? accepted_read(status_of($it, "$with="
                . escape($_->[1])), $name, $_->[1]) : ()
        } text_cases($openapi, $parameter->{schema}));
    }

    is tables($nginx), $before, "$it->{id}: a refused request changes nothing"
        if $it->{method} ne 'GET';
}


# a read may find nothing: 404 is right, too
sub accepted_read {
    my ($answer, @what) = @_;
    return $answer->status == 404 ? () : accepted($answer, @what);
}


all_well('unknown parameters are ignored', map {
    my $path = path_of($_);
    accepted_read(status_of($_, $path . ($path =~ /\?/ ? '&' : '?')
        . 'x=1&x=2&Bot=x&%FF=%&=&&y'), $_->{id}, 'x');
} grep { $_->{method} eq 'GET' } @operations);


# pieces of paths

for my $it (@operations) {
    my %option = $it->{example} ? (json => $it->{example}) : ();
    my $before = tables($nginx);

    for my $parameter (grep { $_->{in} eq 'path' } @{ $it->{parameters} }) {
        my $name = $parameter->{name};
        my @bad = map { escape($_->[1]) }
            grep { !$_->[0] && $_->[1] !~ /^\x{ff11}?$/ && $_->[1] !~ m{/} }
            text_cases($openapi, $parameter->{schema});

        if ($name eq 'guild_id') {
            all_well("$it->{id}: bad guild_id", map {
                refused(status_of($it, path_of($it, guild_id => $_), %option),
                    $name, $_);
            } '1', 'x', '1' x 16, '1' x 21, '9223372036854775808',
                '-1234567890123456789', '1234567890123456.0');
            next;
        }

        all_well("$it->{id}: bad $name", map {
            my $answer = status_of($it, path_of($it, $name => $_), %option);
            my $got = $answer->status . $answer->text;
            # nginx itself refuses a path with a NUL
            $got =~ (/%00/ ? qr/^400\{"error":"malformed / : qr/^404\{\}$/)
                ? () : "$name = $_: $got";
        } @bad, '%2F', 'a%2Fb', '..%2F1', '%FF', '1;2');
    }

    is tables($nginx), $before, "$it->{id}: a refused request changes nothing"
        if $it->{method} ne 'GET';
}

done_testing;
