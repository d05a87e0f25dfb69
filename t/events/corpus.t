# Packets of the platform, and the entries that they make: t/events/*.json, all of
# it as the platform documents it. Each case is the story of one server of which
# nothing was known before. All of them happened on one day, so their times and ids
# are moved to now.

use lib 't/lib';
use Guildlog;
use Guildlog::File;
use Guildlog::PacketCases;

use Cpanel::JSON::XS;
use List::Util qw(max);

my $nginx = Guildlog->new;
my $text = Cpanel::JSON::XS->new->canonical->allow_nonref;

# types by their numbers
my %key = map { (split /\t/)[0, 1] }
    grep { /^\d/ } split /\n/, slurp('conf/viewer/log-types.tsv');

my ($create) = @{ json->decode(slurp('t/events/create.json')) };
my $n = 0;
my @cases;

for my $file (sort glob 't/events/*.json') {
    for my $case (@{ expand(json->decode(slurp($file))) }) {
        $case->{file} = $file =~ s{.*/|\.json$}{}gr;
        push @cases, $case;
    }
}

take($_) for @cases;

wait_for {
    !$nginx->sql('select count(*) from pair where state = 0')
} 30, 'all time is over';

for my $case (@cases) {
    my @expected = map { expected($_, $case) } $case->{ends}
        ? @{ $case->{ends} } : map { @{ $_ // [] } } @$case{qw(entries waits)};
    my @got = map { recorded($_, $case) } @{ $nginx->sql(
        'select array_agg(array[type::text, id::text, doc] order by arrival)
           from entries where guild_id = ?', $case->{server}) // [] };

    is_deeply [sort @got], [sort @expected], "$case->{file}: $case->{name}"
        or diag $case->{choice} // '';
}

done_testing;


# gives it a server of its own, now
sub take {
    my ($case) = @_;

    $n++;
    $case->{packets} = [map { $_ eq '@create' ? $create->{packets}[0] : $_ }
        @{ $case->{packets} }, map { $case->{packets}[$_] }
        @{ $case->{again} // [] }];
    $case->{server} = 613_425_648_685_000_000 + $n;
    my $by = int(time * 1000) - 2000 - max map { $_->{at} // 0 } @{ $case->{packets} };
    my $all = json->encode($case);
    $all =~ s/613425648685547541/$case->{server}/g;
    %$case = %{ json->decode(moved($all, $by)) };

    $nginx->operator('PUT', "/servers/$case->{server}",
        { plan => $case->{bots} ? 'pro' : 'free' });
    $nginx->sql('insert into logging_options values (?, 0, false, false, false,
        false, 0, ?, false)', $case->{server}, '{}') if $case->{bots};
    my $answer = $nginx->operator('POST', '/events', $case->{packets});
    is $answer->status, 200, "$case->{file}: $case->{name}: 200"
        or diag $answer->text;
    my $told = $answer->json;
    is_deeply $told->{errors}, [], 'without an error' or diag $answer->text;
    is_deeply $told->{unknown}, $case->{unknown} // {}, 'what nobody knows';
}


# an entry as it is compared: nothing, null and an empty text are the same
sub expected {
    my ($entry, $case) = @_;

    my %it = %$entry;
    delete @it{'timestamp', 'event_id', @{ $case->{loose} // [] }};
    for my $person (grep { $_ } @it{qw(executor target channel)}) {
        $person = { id => $person->{id}, name => $person->{name} };
    }
    for my $change (@{ $it{changes} // [] }) {
        $change = { key => $change->{key},
            old => value($change->{old} // $change->{old_value}),
            new => value($change->{new} // $change->{new_value}) };
    }
    return $text->encode(given(\%it));
}


sub recorded {
    my ($row, $case) = @_;

    my ($type, undef, $doc) = @$row;
    my %it = %{ $text->decode("$doc}") };
    delete @it{qw(id timestamp), @{ $case->{loose} // [] }};
    $it{type} = $key{$type};
    return $text->encode(given(\%it));
}


# what an entry holds of a change: objects as text
sub value {
    my ($value) = @_;

    return $value if !ref $value || Cpanel::JSON::XS::is_bool($value);
    return $value if ref $value eq 'ARRAY' && !grep { ref && "@{[sort keys %$_]}"
        !~ /^(?:id|id name|name)$/ } @$value;
    return substr $text->encode($value), 0, 1024;
}


sub given {
    my ($it) = @_;

    return [map { given($_) } @$it] if ref $it eq 'ARRAY';
    return $it if ref $it ne 'HASH';
    my %left = map { $_ => given($it->{$_}) } keys %$it;
    delete @left{grep {
        my $value = $left{$_};
        !defined $value || $value eq '' || ref $value eq 'ARRAY' && !@$value
            || ref $value eq 'HASH' && !%$value
    } keys %left};
    return \%left;
}
