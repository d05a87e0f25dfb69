package Guildlog::OpenAPI;

# conf/openapi.yaml, and that of the operator: what it says of an endpoint, and
# whether an answer is what it says. Knows the part of OpenAPI 3.0 that the
# files use, and dies of the rest, so that nothing there goes unchecked.

use strict;
use warnings;

use Cpanel::JSON::XS;
use Cwd ();
use File::Basename qw(dirname);
use JSON::PP ();
use List::Util qw(all any uniq);
use YAML::XS ();

my $conf = Cwd::abs_path(dirname(__FILE__) . '/../../../conf');
my $json = Cpanel::JSON::XS->new->utf8->canonical->allow_nonref;
my %shared;

# statuses that may come before a path of the API is known to be one
my %before = map { $_ => 1 } 401, 429;

my %about = map { $_ => 1 } qw(description example default x-enum-varnames
    x-enum-descriptions);


sub shared   { $_[0]->_read('openapi') }
sub operator { $_[0]->_read('openapi-operator') }


sub doc { $_[0]{doc} }


# every operation: {method, path, id, parameters, body, examples, example, responses}, in
# the order of paths
sub operations {
    my ($self) = @_;
    return @{ $self->{operations} };
}


# the one that an operation's id names
sub operation {
    my ($self, $id) = @_;

    my ($it) = grep { $_->{id} eq $id } $self->operations;
    return $it // die "no operation $id\n";
}


# a schema, parameter or the like, wherever it stands
sub resolve {
    my ($self, $it) = @_;

    while (ref $it eq 'HASH' && exists $it->{'$ref'}) {
        my (undef, @steps) = split m{/}, $it->{'$ref'};
        $it = $self->{doc};
        $it = $it->{$_} // die "no $_ in the file\n" for @steps;
    }
    return $it;
}


# what is wrong with the answer to that request, nothing if all is well; the
# path is one of the API, behind its prefix
sub problems {
    my ($self, $method, $path, $answer) = @_;

    return 'no answer' if !$answer;
    return 'cut off' if $answer->truncated;

    $path =~ s/\?.*//s;
    my @here = grep { $path =~ $_->{pattern} } $self->operations;
    my ($it) = grep { $_->{method} eq ($method eq 'HEAD' ? 'GET' : $method) }
        @here;

    my $status = $answer->status;
    my $expected = $it            ? $it->{responses}{$status}
                 : $before{$status} ? $self->_common($status)
                 : @here          ? $status == 405 && $self->_unlisted('Allow')
                 :                  $status == 404 && $self->_unlisted;

    return "status $status is not among the answers" if !$expected;

    $expected = $self->resolve($expected);
    my @problems = $self->_header_problems($expected, $answer);
    push @problems, $self->_body_problems($expected, $answer)
        if $method ne 'HEAD';
    return map { "$status: $_" } @problems;
}


# what is wrong with a value
sub value_problems {
    my ($self, $schema, $value, $at) = @_;

    $schema = $self->resolve($schema);
    $at //= 'body';

    return $schema->{nullable} ? () : "$at is null"
        if !defined $value && !$schema->{anyOf};

    # a value of one of several types
    if (!$schema->{type} && $schema->{anyOf}) {
        return (grep { !$self->value_problems($_, $value, $at) }
            @{ $schema->{anyOf} }) ? () : "$at is of none of its types";
    }

    my $type = _type_of($value);
    my $wanted = $schema->{type} // die "a schema without a type at $at\n";
    return "$at is a $type, not a $wanted"
        if $type ne $wanted
        && !($wanted eq 'number' && $type eq 'integer');

    my @problems;
    for my $rule (sort keys %$schema) {
        next if $about{$rule} || $rule eq 'type' || $rule eq 'nullable';
        my $check = __PACKAGE__->can("_rule_$rule")
            // die "the rule $rule is not known here\n";
        push @problems, $self->$check($schema, $value, $at);
    }
    if ($type eq 'object') {
        push @problems, $self->_unlisted_fields($schema, $value, $at);
    }
    return @problems;
}


# the rest is for this file

sub _read {
    my ($class, $name) = @_;

    return $shared{$name} ||= do {
        local $YAML::XS::Boolean = 'JSON::PP';
        my $self = bless { doc => YAML::XS::LoadFile("$conf/$name.yaml") },
            $class;
        $self->_read_paths;
        $self;
    };
}


sub _read_paths {
    my ($self) = @_;

    my $paths = $self->{doc}{paths};
    for my $path (sort keys %$paths) {
        my $item = $paths->{$path};
        my $pattern = join '', map { /^\{/ ? '[^/]+' : quotemeta }
            split /(\{\w+\})/, $path;

        for my $method (grep { $_ ne 'parameters' } sort keys %$item) {
            my $it = $item->{$method};
            my $content = ($it->{requestBody} || {})->{content}
                ->{'application/json'};
            my $named = $content->{examples} || {};
            my @examples = ($content->{example} // (),
                map { $named->{$_}{value} } sort keys %$named);
            push @{ $self->{operations} }, {
                method     => uc $method,
                path       => $path,
                pattern    => qr/\A$pattern\z/,
                id         => $it->{operationId},
                parameters => [map { $self->resolve($_) }
                    @{ $item->{parameters} || [] },
                    @{ $it->{parameters} || [] }],
                responses  => $it->{responses},
                person     => scalar(grep { $_->{cookie} }
                    @{ $it->{security} || [] }),
                body       => $content->{schema},
                examples   => \@examples,
                example    => $examples[0],
            };
        }
    }
}


# an answer to every request there may be
sub _common {
    my ($self, $status) = @_;

    my ($it) = $self->operations;
    return $it->{responses}{$status};
}


# paths and methods that are not there are not in the file either
sub _unlisted {
    my ($self, @headers) = @_;

    my $response = $self->{doc}{components}{responses}{NotFound};
    return { %$response, headers => { %{ $response->{headers} || {} },
        map { $_ => { required => JSON::PP::true, schema =>
            { type => 'string' } } } @headers } };
}


sub _header_problems {
    my ($self, $expected, $answer) = @_;

    my @problems;
    for my $name (sort keys %{ $expected->{headers} }) {
        my $header = $self->resolve($expected->{headers}{$name});
        my @values = $answer->header($name);

        if (!@values) {
            push @problems, "no header $name" if $header->{required};
            next;
        }
        push @problems, "header $name came twice" if @values > 1;

        my $value = $values[0];
        $value += 0 if $header->{schema}{type} eq 'integer'
            && $value =~ /^\d+$/;
        push @problems,
            $self->value_problems($header->{schema}, $value, $name);
    }
    return @problems;
}


sub _body_problems {
    my ($self, $expected, $answer) = @_;

    my $content = $expected->{content};
    if (!$content) {
        return length $answer->text ? 'a body where there is none' : ();
    }

    my $type = $answer->header('Content-Type') // '';
    $type =~ s/;.*//;
    my $media = $content->{$type}
        or return "Content-Type \"$type\" is not among the answers";

    return if $type ne 'application/json';

    my $value = eval { $json->decode($answer->text) };
    return 'not JSON: ' . $answer->text if $@;

    # the word of a sentence that has none of its own
    return 'no code: ' . $answer->text if grep { ref eq 'HASH'
        && ($_->{code} // '') eq 'refused' } $value, ref $value eq 'HASH'
        && ref $value->{errors} eq 'ARRAY' ? @{ $value->{errors} } : ();
    return $self->value_problems($media->{schema}, $value);
}


sub _type_of {
    my ($value) = @_;

    return JSON::PP::is_bool($value)           ? 'boolean'
         : ref $value eq 'HASH'                ? 'object'
         : ref $value eq 'ARRAY'               ? 'array'
         : $json->encode($value) =~ /^"/       ? 'string'
         : $json->encode($value) =~ /^-?\d+\z/ ? 'integer'
         :                                       'number';
}


# rules of schemas: each returns what is wrong

sub _rule_enum {
    my ($self, $schema, $value, $at) = @_;

    # the file's numbers came as text
    return if any { defined && "$_" eq "$value" } @{ $schema->{enum} };
    return "$at is $value, none of the enumeration";
}


sub _rule_format {
    my ($self, $schema, $value, $at) = @_;

    my %format = (
        'int64'     => qr/^-?\d{1,19}\z/,
        'uri'       => qr{^https?://[^\s/]+}i,
        'date-time' => qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\z/,
    );
    my $format = $format{ $schema->{format} }
        // die "the format $schema->{format} is not known here\n";
    return $value =~ $format ? () : "$at is no $schema->{format}: $value";
}


sub _rule_minimum {
    my ($self, $schema, $value, $at) = @_;
    return $value < $schema->{minimum} ? "$at is too small: $value" : ();
}


sub _rule_maximum {
    my ($self, $schema, $value, $at) = @_;
    return $value > $schema->{maximum} ? "$at is too large: $value" : ();
}


sub _rule_minLength {
    my ($self, $schema, $value, $at) = @_;
    return length $value < $schema->{minLength} ? "$at is too short" : ();
}


sub _rule_maxLength {
    my ($self, $schema, $value, $at) = @_;
    return length $value > $schema->{maxLength} ? "$at is too long" : ();
}


sub _rule_pattern {
    my ($self, $schema, $value, $at) = @_;
    return $value =~ /$schema->{pattern}/ ? ()
        : "$at does not match $schema->{pattern}: $value";
}


sub _rule_items {
    my ($self, $schema, $value, $at) = @_;
    return map { $self->value_problems($schema->{items}, $value->[$_],
        "$at\[$_]") } 0 .. $#$value;
}


sub _rule_minItems {
    my ($self, $schema, $value, $at) = @_;
    return @$value < $schema->{minItems} ? "$at has too few items" : ();
}


sub _rule_maxItems {
    my ($self, $schema, $value, $at) = @_;
    return @$value > $schema->{maxItems} ? "$at has too many items" : ();
}


sub _rule_uniqueItems {
    my ($self, $schema, $value, $at) = @_;
    return uniq(map { $json->encode($_) } @$value) < @$value
        ? "$at has an item twice" : ();
}


sub _rule_required {
    my ($self, $schema, $value, $at) = @_;
    return map { "$at lacks $_" } grep { !exists $value->{$_} }
        @{ $schema->{required} };
}


# each is a list of fields that have to be there
sub _rule_anyOf {
    my ($self, $schema, $value, $at) = @_;

    return (grep {
        my $one = $_;
        !grep { !exists $value->{$_} } @{ $one->{required} };
    } @{ $schema->{anyOf} }) ? () : "$at: none of anyOf";
}


sub _rule_properties {
    my ($self, $schema, $value, $at) = @_;
    return map { $self->value_problems($schema->{properties}{$_}, $value->{$_},
        "$at.$_") } grep { exists $value->{$_} }
        sort keys %{ $schema->{properties} };
}


sub _rule_minProperties {
    my ($self, $schema, $value, $at) = @_;
    return keys %$value < $schema->{minProperties} ? "$at has too little" : ();
}


sub _rule_maxProperties {
    my ($self, $schema, $value, $at) = @_;
    return keys %$value > $schema->{maxProperties} ? "$at has too much" : ();
}


sub _rule_additionalProperties {
    my ($self, $schema, $value, $at) = @_;

    my $rule = $schema->{additionalProperties};
    return if ref $rule ne 'HASH';
    return map { $self->value_problems($rule, $value->{$_}, "$at.$_") }
        grep { !exists(($schema->{properties} || {})->{$_}) }
        sort keys %$value;
}


# the file lists everything, so what it does not list is wrong, though clients
# may meet more in times to come; what is open is the platform's
sub _unlisted_fields {
    my ($self, $schema, $value, $at) = @_;

    return if $schema->{additionalProperties};
    return map { "$at.$_ is not in the file" }
        grep { !exists(($schema->{properties} || {})->{$_}) }
        sort keys %$value;
}


1;
