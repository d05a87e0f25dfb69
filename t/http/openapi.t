# conf/openapi.yaml describes the API, conf/openapi-operator.yaml the operator's
# endpoints: each endpoint that is served stands in one of them, and each
# endpoint in them is served.  Whether answers are as described is checked by
# the endpoints' own tests, through the harness's option "openapi".

use lib 't/lib';
use Guildlog;
use Guildlog::OpenAPI;

my $openapi = Guildlog::OpenAPI->shared;
my $doc = $openapi->doc;

is $doc->{info}{title},
    'Server Logging Configuration and Log Reading API', 'the title';
is $doc->{info}{version}, '2.0.0', 'the version';
like $doc->{openapi}, qr/^3\.0\.\d+$/, 'of OpenAPI';
is_deeply $doc->{security}, [{ token => [] }], 'every endpoint takes a token';
is_deeply [@{ $doc->{components}{securitySchemes}{token} }
    {qw(type scheme bearerFormat)}], [qw(http bearer JWT)], 'a bearer JWT';


# the table of endpoints, as C has it

sub source {
    my ($name) = @_;
    open my $in, '<', "$Guildlog::TOP/src/$name.c" or die $!;
    local $/;
    return <$in> =~ s{/\*.*?\*/}{}gsr =~ s{\\\n}{}gr;
}


# {name of a table: names of its fields}
my %fields = (none => [], NULL => []);
sub tables {
    my ($source) = @_;
    my %plain = $source =~ /^#define (\w+)[ ]+([^\n]*)$/mg;
    while ($source =~ /\b(\w+)\[\] = \{(.*?)\};/gs) {
        my ($table, $rows) = ($1, $2);
        1 while $rows =~ s/\b(\w+_fields)\b/$plain{$1}/g;
        $fields{$table} = [$rows =~ /\b\w+\(\s*"(\w+)"/g];
    }
}


my $route = source('api/ngx_guildlog_route');
tables($_) for source('log/ngx_guildlog_entry'), $route;

# rows, with their macros expanded
my %macro;
$macro{$1} = [[split /,\s*/, $2], $3]
    while $route =~ /^#define (\w+)\(([\w, ]+)\)[ ]+(\{[^\n]*\})$/mg;

my ($table) = $route =~ /ngx_guildlog_routes\[\] = \{(.*?)\n\};/s;
my $arguments = qr/\((?:[^()"]|"[^"]*"|\([^()]*\))*\)/;
my %served = (API => {}, OPERATOR => {});
while ($table =~ /\G\s*(?:(\w+)($arguments)|(\{[^}]*\})),?/gc) {
    my ($name_of, $given, $plain) = ($1, $2, $3);
    my ($names, $row) = $plain ? ([], $plain)
        : @{ $macro{$name_of} // die "no macro $name_of" };
    my %value;
    @value{@$names} = map { s/^[\s(]+|[\s)]+$//gr } split /,/, $given // '';
    $row =~ s/#?\b(\w+)\b(?=(?:[^"]*"[^"]*")*[^"]*$)/$value{$1} \/\/ $1/ge;

    my ($name, $method, $path, $plane, $kind, $pieces, $query, $body, undef,
        $flags, $answer) = map { s/^[\s{]+|\s+$|"\s*"//gr =~ s/^"(.*)"$/$1/r }
            split /,/, $row;

    for ($query, $body) {
        die "no table of fields: $_\n" if !$fields{$_};
    }
    my $packets = $answer =~ /EVENTS/;
    my @bot = $plane =~ /API/ || $name eq 'operator_record' || $packets
        ? 'bot' : ();
    my $entries = $answer =~ /RECORD/;
    $body = 'entry_one_fields' if $entries;
    $body = 'entry_many_fields' if $entries && $path !~ /guild/;
    $served{ $plane =~ s/NGX_GUILDLOG_//r }
        {"$method $path" =~ s/\{\w*\}/{}/gr} = {
        name => $name,
        query => [sort @bot, @{ $fields{$query} }],
        body => $packets ? [qw(at d t)] : [sort @{ $fields{$body} }],
        many => $entries || $packets || $flags =~ /BATCH/ ? 1 : 0,
    };
}
ok keys %{ $served{API} } > 30 && keys %{ $served{OPERATOR} } > 20
    && substr($table, pos($table) // 0) !~ /\S/,
    'the table of endpoints in C can be read';


sub written {
    my ($file) = @_;
    return { map {
        my $it = $_;
        my $schema = $it->{body} ? $file->resolve($it->{body}) : {};
        my $items = $schema->{items};
        $schema = $file->resolve($items) if $items;
        "$it->{method} " . $it->{path} =~ s/\{\w+\}/{}/gr => {
            name => $it->{id},
            query => [sort map { $_->{name} }
                grep { $_->{in} eq 'query' } @{ $it->{parameters} }],
            body => [sort keys %{ $schema->{properties} }],
            many => $items ? 1 : 0,
        };
    } $file->operations };
}


my $operator = Guildlog::OpenAPI->operator;
for ([$openapi, $served{API}], [$operator, $served{OPERATOR}]) {
    my ($written, $served) = (written($_->[0]), $_->[1]);
    is_deeply [sort keys %$written], [sort keys %$served],
        'the endpoints in the file are those that are served';
    is_deeply $written->{$_}, $served->{$_}, "$_: parameters and fields"
        for grep { $written->{$_} } sort keys %$served;
}

# the fields of an entry
for (['Actor', 'actor'], ['EntryChannel', 'channel'], ['Emoji', 'emoji'],
    ['Attachment', 'attachment'], ['Message', 'message'])
{
    my ($schema, $its) = @$_;
    is_deeply [sort keys %{ $operator->doc->{components}{schemas}{$schema}
        {properties} }], [sort @{ $fields{"entry_$its"} }], "$schema: fields";
}


# the two files alone

sub dangling {
    my ($file) = @_;

    my @dangling;
    my @todo = ($file->doc);
    while (my $it = shift @todo) {
        if (ref $it eq 'HASH') {
            push @dangling, $it->{'$ref'}
                if exists $it->{'$ref'} && !eval { $file->resolve($it) };
            push @todo, grep { ref } values %$it;
        }
        push @todo, grep { ref } @$it if ref $it eq 'ARRAY';
    }
    return "@dangling";
}


# what is wrong with the examples of the answers
sub answer_problems {
    my ($file, $it) = @_;
    my @problems;
    for my $status (sort keys %{ $it->{responses} }) {
        my $content = $file->resolve($it->{responses}{$status})->{content} // {};
        for my $media (sort keys %$content) {
            my $its = $content->{$media};
            my @examples = (exists $its->{example} ? $its->{example} : (),
                map { $_->{value} } values %{ $its->{examples} // {} });
            push @problems, "$status $media: no example" if !@examples;
            push @problems, map { "$status $media: $_" }
                map { $file->value_problems($its->{schema}, $_) } @examples;
        }
    }
    return @problems;
}


for ([$openapi, 400, 401, 403, 429, 500, 503], [$operator, 400, 500, 503]) {
    my ($file, @always) = @$_;
    is dangling($file), '', 'each $ref has its target';

    for my $it ($file->operations) {
        is_deeply [grep { !$it->{responses}{$_} } @always], [],
            "$it->{id}: has the answers that each endpoint may give";

        my %here = map { $_->{name} => 1 }
            grep { $_->{in} eq 'path' } @{ $it->{parameters} };
        is_deeply [sort keys %here], [sort $it->{path} =~ /\{(\w+)\}/g],
            'the pieces of the path';
        is join("\n", answer_problems($file, $it)), '',
            "$it->{id}: each answer has an example that fits";
        next if !$it->{body};

        ok @{ $it->{examples} } > 0, 'has an example';
        is join(', ', map { $file->value_problems($it->{body}, $_) }
            @{ $it->{examples} }), '', 'each example fits the schema';
        is_deeply [grep { !$it->{responses}{$_} } 413, 415], [],
            'has the answers to a bad body';
        my $schema = $file->resolve($it->{body});
        $schema = $file->resolve($schema->{items}) if $schema->{items};
        ok defined $schema->{additionalProperties},
            'unknown fields are refused';
    }
}


# each log type has one

for (['api', $openapi->operation('logs_one')->{responses}{200}{content}
        {'application/json'}{examples}])
{
    my ($what, $examples) = @$_;
    is_deeply [sort { $a <=> $b } map { $_->{value}{type} } values %$examples],
        [0 .. 101], "$what: an example of each log type";
}


# answers that the option "openapi" has to complain about

sub answer {
    my ($status, $body, @headers) = @_;

    @headers = ('Content-Type' => 'application/json',
        'X-RateLimit-Limit' => 500, 'X-RateLimit-Remaining' => 499,
        'X-RateLimit-Reset' => 10,
        'X-RateLimit-Reset-After' => 10) if !@headers;
    my @pairs;
    push @pairs, [splice @headers, 0, 2] while @headers;
    return bless { status => $status, body => $body, headers => \@pairs },
        'Guildlog::Response';
}


my $guild = '100000000000000001';
my $row = { id => $guild, locale => 3 };
my $settings = "/servers/$guild/config/settings";
my @wrong = (
    ['a good answer', [$row], undef],
    ['no row', [], qr/body has too few items/],
    ['two rows', [$row, $row], qr/body has too many items/],
    ['an object', $row, qr/body is a object, not a array/],
    ['a field less', [{ id => $guild }], qr/body\[0\] lacks locale/],
    ['a field more', [{ %$row, x => 1 }], qr/body\[0\]\.x is not in the file/],
    ['a number as text', [{ %$row, locale => '3' }],
        qr/locale is a string, not a integer/],
    ['an ID as a number', [{ %$row, id => 1 }], qr/id is a integer/],
    ['null', [{ %$row, locale => undef }], qr/locale is null/],
    ['beyond the bound', [{ %$row, locale => 19 }], qr/locale is too large/],
    ['a bad ID', [{ %$row, id => '1' }], qr/id does not match/],
);
for (@wrong) {
    my ($what, $body, $problem) = @$_;
    my @problems = $openapi->problems('GET', $settings,
        answer(200, json->encode($body)));
    $problem ? like "@problems", $problem, "found: $what"
             : is "@problems", '', "no complaint: $what";
}

my @answers = (
    ['a status of no kind', 'GET', $settings, answer(201, '{}'), qr/status/],
    ['no rate limit', 'GET', $settings, answer(404, '{}', 'Content-Type',
        'application/json'), qr/no header X-RateLimit-Limit/],
    ['HTML', 'GET', $settings, answer(404, '<html>', 'Content-Type',
        'text/html'), qr/Content-Type/],
    ['no JSON', 'GET', $settings, answer(404, '{'), qr/not JSON/],
    ['no challenge', 'GET', $settings, answer(401, '{}'),
        qr/no header WWW-Authenticate/],
    ['no error', 'PATCH', $settings, answer(400, '{}'), qr/lacks error/],
    ['more than nothing', 'GET', $settings, answer(404, '{"a":1}'), qr/body/],
    ['no Allow', 'PUT', $settings, answer(405, '{}'), qr/no header Allow/],
    ['an answer of no path', 'GET', '/nothing', answer(200, '{}'),
        qr/status 200/],
);
for (@answers) {
    my ($what, $method, $path, $answer, $problem) = @$_;
    like join(', ', $openapi->problems($method, $path, $answer)), $problem,
        "complained of: $what";
}
is join(', ', $openapi->problems('GET', '/nothing', answer(404, '{}'))), '',
    'no complaint about 404 for a path that does not exist';

done_testing;
