package Guildlog::Cases;

# Values to try for a field, derived from its schema: values just within its
# rules, and values just beyond them.

use strict;
use warnings;

use Cpanel::JSON::XS;
use Exporter 'import';

our @EXPORT = qw(json_cases text_cases escape);

my $json = Cpanel::JSON::XS->new->utf8->canonical->allow_nonref;

my %sample = (
    boolean => 'true', integer => '1', string => '"x"', array => '[]',
    object => '{}',
);

# characters of two and of four bytes: an e with an accent, an emoji
my @wide = ("\x{e9}", "\x{1f600}");

my @not_integers = qw(1.5 5.0 1e2 1E0 -0.0 9223372036854775808
    -9223372036854775809 1e999);

my @not_ids = ('', 'x', '-1', '+1', '1.5', '1e2', ' 1', '1 ', '0x1', "1\n",
    '9223372036854775808', '99999999999999999999', '1' x 21, "\x{ff11}");

my @not_urls = ('', 'x', 'ftp://example.org/', 'https://', 'https:///x',
    'https://a b/', 'javascript:alert(1)', "https://a/\x{7f}",
    'https://a/<script>', ' https://a/');


# json_cases($openapi, schema): [whether it is good, the end of the field's name
# in the error, the value as JSON]…
sub json_cases {
    my ($openapi, $schema) = @_;

    $schema = $openapi->resolve($schema);
    my $type = $schema->{type};
    my $known = __PACKAGE__->can("_json_$type")
        // die "no cases for the type $type\n";

    return [$schema->{nullable} ? 1 : 0, '', 'null'],
        (map { [0, '', $sample{$_}] } grep { $_ ne $type }
            sort keys %sample),
        $known->($openapi, $schema);
}


sub _json_boolean {
    return map { [@$_] } [1, '', 'true'], [1, '', 'false'], [0, '', '0'],
        [0, '', '"true"'];
}


sub _json_integer {
    my (undef, $schema) = @_;

    my ($min, $max) = _bounds($schema);
    return (map { [1, '', $_] } $min, $max),
        (map { [0, '', $_] } '"1"', @not_integers, _beyond($schema));
}


sub _json_string {
    my ($openapi, $schema) = @_;

    return (map { [$_->[0], '', _quote($_->[1])] } _texts($schema)),
        (map { [0, '', $_] } '"a\u0000b"', "\"a\0b\"", '"\u0000"',
            "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", '"\ud800"',
            '["x"]');
}


sub _json_array {
    my ($openapi, $schema) = @_;

    my @items = json_cases($openapi, $schema->{items});
    my ($good) = map { $_->[2] } grep { $_->[0] } @items;
    my $most = $schema->{maxItems};

    my @cases = ([$schema->{minItems} ? 0 : 1, '', '[]'], [0, '[1]', "[$good,[]]"],
        (map { [$_->[0], $_->[0] ? '' : '[0]', "[$_->[2]]"] } @items));

    if ($schema->{uniqueItems}) {
        push @cases, [0, '[1]', "[$good,$good]"];
    } else {
        push @cases, [1, '', '[' . join(',', ($good) x $most) . ']'];
    }
    return @cases, [0, '', '[' . join(',', ($good) x ($most + 1)) . ']'];
}


# each field in its turn, beside those that are required
sub _json_object {
    my ($openapi, $schema) = @_;

    my %cases = map { $_ => [json_cases($openapi, $schema->{properties}{$_})] }
        keys %{ $schema->{properties} };
    my %needed = map { $_ => (grep { $_->[0] } @{ $cases{$_} })[0][2] }
        @{ $schema->{required} // [] };
    my $with = sub {
        my %all = (%needed, @_);
        return '{' . join(',', map { _quote($_) . ":$all{$_}" }
            grep { defined $all{$_} } sort keys %all) . '}';
    };

    return [%needed || !$schema->{minProperties} ? 1 : 0, '', $with->()],
        (map { [0, ".$_", $with->($_ => undef)] } sort keys %needed),
        map { my $field = $_; map {
            [$_->[0], $_->[0] ? '' : ".$field$_->[1]",
                $with->($field => $_->[2])] } @{ $cases{$field} }
        } sort keys %cases;
}


# text_cases($openapi, schema): [whether it is good, the value of a query
# parameter, not escaped]…
sub text_cases {
    my ($openapi, $schema) = @_;

    $schema = $openapi->resolve($schema);
    my $type = $schema->{type};

    return text_cases($openapi, $schema->{items}) if $type eq 'array';
    return _texts($schema), [0, "a\0b"], [0, "\0"] if $type eq 'string';
    die "no cases for the type $type\n" if $type ne 'integer';

    my ($min, $max) = _bounds($schema);
    return (map { [1, $_] } $min, $max),
        (map { [0, $_] } '', 'x', ' 1', '1 ', '+1', '0x1', '1,2', '1' x 30,
            @not_integers, _beyond($schema));
}


# the schema's texts: [whether it is good, the text]…
sub _texts {
    my ($schema) = @_;

    if (my $values = $schema->{enum}) {
        return (map { [1, "$_"] } @$values),
            (map { [0, $_] } '', 'nothing', uc "$values->[0]_", "$values->[0] ",
                join ',', @$values[0, -1]);
    }
    my $pattern = $schema->{pattern};
    if ($pattern && $pattern =~ /_/) {    # of a hash
        return (map { [1, $_] } 'a_09AZ', 'x' x 64),
            (map { [0, $_] } '', 'x' x 65, 'a/b', '..', 'a b', "a\n", @wide);
    }
    if ($pattern) {
        return (map { [1, $_] } '1', '9223372036854775807'),
            [scalar('0' =~ /$pattern/), '0'],
            (map { [0, $_] } @not_ids);
    }
    if (($schema->{format} // '') eq 'uri') {
        my $most = $schema->{maxLength} - length 'http://a/';
        return (map { [1, $_] } 'http://a', 'HTTPS://a.example:8443/b?c=d#e',
                map { 'http://a/' . $_ x $most } 'x', @wide),
            (map { [0, $_] } @not_urls,
                map { 'http://a/' . $_ x ($most + 1) } 'x', @wide);
    }

    my ($least, $most) = @$schema{qw(minLength maxLength)};
    return (map { [1, $_ x ($least || 1)] } '%', @wide),
        [$least ? 0 : 1, ''],
        !$most ? () : (map { [1, $_ x $most], [0, $_ x ($most + 1)] }
            'x', @wide);
}


sub _bounds {
    my ($schema) = @_;

    return sort { $a <=> $b } @{ $schema->{enum} }[0, -1] if $schema->{enum};
    return ($schema->{minimum} // '-9223372036854775807',
        $schema->{maximum} // '9223372036854775807');
}


sub _beyond {
    my ($schema) = @_;

    my ($min, $max) = _bounds($schema);
    my @below = defined $schema->{minimum} || $schema->{enum}
        ? ($min - 1, -1 - abs $min) : ();
    my @above = defined $schema->{maximum} || $schema->{enum}
        ? ($max + 1, $max . '0', '9223372036854775807',
            grep { $_ > $max } 256 + $min, 65_536 + $min, 4_294_967_296 + $min)
        : ();
    return @below, @above;
}


sub _quote {
    my ($text) = @_;
    return $json->encode("$text");
}


# a text of a query
sub escape {
    my ($text) = @_;

    utf8::encode($text);
    return $text =~ s/([^A-Za-z0-9_.-])/sprintf '%%%02X', ord $1/ger;
}


1;
