package Guildlog::RandomChange;

# Changes of a configuration at random, as PATCH /config takes them, of few names
# and ids, so that they meet.  #1 to #3 are channels of the server; tags and alerts
# in paths are called by names: see meant().

use strict;
use warnings;

use Exporter 'import';
use JSON::PP ();

use Guildlog::Random;

our @EXPORT = qw(random_change bad_change meant);

my @fields = qw(spoilers proxy_integration ignore_bot_targets ignore_bot_executors
    active_ignore);
my @names = map { "n$_" } 1 .. 6;
my @people = map { "20000000000000001$_" } 1 .. 3;


sub flag { return chance(0.5) ? JSON::PP::true : JSON::PP::false }
sub channel { return pick(undef, '0', '#1', '#2', '#3') }

sub settings {
    return { chance(0.5) ? (enabled => pick(undef, flag())) : (),
        color => pick(undef, 0, 255), log_channel => channel() };
}

my %make = (
    channels => sub {
        ['PATCH', '/config/logging/channels', { category_voice => channel(),
            category_text => channel(), main_channel => pick(undef, '#1', '#2') }];
    },
    options => sub {
        ['PATCH', '/config/logging/settings', { pick(@fields) => flag(),
            format_type => between(0, 3), buttons => pick([], ['userID']) }];
    },
    type => sub {
        ['PATCH', '/config/logging/settings/' . between(0, 101), settings()];
    },
    types => sub {
        ['PATCH', '/config/logging/settings/types',
            { types => [map { between(0, 101) } 1 .. 3], set => settings() }];
    },
    filter => sub {
        my $filter = pick(qw(links words));
        ['PATCH', "/filters/$filter", { enabled => flag(),
            chance(0.3) ? (words => [pick(@names)]) : (),
            log_types => [between(0, 101)] }];
    },
    language => sub {
        ['PATCH', '/config/settings', { locale => pick(qw(de ja fr)) }];
    },
    ignore => sub {
        [pick('POST', 'DELETE'), '/config/logging/ignore/' . between(0, 6),
            { value => pick(@names) }];
    },
    tag => sub {
        ['POST', '/tags', { tag_name => pick(@names),
            content => pick('', 'a', "\x{e9}\n\"b\\"), color => pick(undef, 7) }];
    },
    tag_set => sub {
        ['PATCH', '/tags/' . pick(@names), { pick(
            [tag_name => pick(@names)], [content => pick('c', undef)])->@* }];
    },
    tag_gone => sub { ['DELETE', '/tags/' . pick(@names)] },
    alert => sub {
        ['POST', '/alerts', { name => pick(@names), types => [between(0, 101)],
            count => between(1, 100), seconds => 60, by => 'server',
            channel => pick(undef, '#1', '#3') }];
    },
    alert_set => sub {
        ['PATCH', '/alerts/' . pick(@names), { count => between(1, 100),
            enabled => flag() }];
    },
    alert_gone => sub { ['DELETE', '/alerts/' . pick(@names)] },
    access => sub {
        ['PUT', '/config/access/' . pick(@people),
            { level => pick(qw(view manage)) }];
    },
    access_gone => sub { ['DELETE', '/config/access/' . pick(@people)] },
);


# of these kinds, or any
sub random_change {
    my @kinds = @_ ? @_ : sort keys %make;
    my ($method, $path, $body) = @{ $make{ pick(@kinds) }->() };
    return { method => $method, path => $path, $body ? (body => $body) : () };
}


# one that breaks a rule whatever is there
sub bad_change {
    my ($method, $path, $body) = @{ pick(
        ['PATCH', '/config/logging/channels', { category_files => '0' }],
        ['PATCH', '/config/logging/settings', { format_type => 4 }],
        ['PATCH', '/config/logging/settings/5', { colour => 1 }],
        ['PATCH', '/config/logging/settings/types',
            { types => [1], set => { enabled => 'no' } }],
        ['PATCH', '/config/settings', { locale => 'xx' }],
        ['POST', '/tags', { tag_name => 'a', image => 'ftp://a' }],
        ['POST', '/alerts', { name => 'a' }],
        ['PUT', "/config/access/$people[0]", {}],
        ['POST', '/config/logging/ignore/1', { value => 'a' x 101 }],
    ) };
    return { method => $method, path => $path, body => $body };
}


# A change as it is meant for a server with this configuration, whose channels begin
# with that: a tag or an alert that is not there is called 1.
sub meant {
    my ($change, $config, $channels) = @_;

    my %change = %$change;
    $change{path} =~ s{^/(tag|alert)s/(n\d)$}{
        my ($kind, $name) = ($1, $2);
        my ($it) = grep { ($_->{tag_name} // $_->{name}) eq $name }
            @{ $config->{"${kind}s"} || [] };
        "/${kind}s/" . ($it ? $it->{"${kind}_id"} : 1);
    }e;
    my $json = JSON::PP->new;
    $change{body} = $json->decode($json->encode($change{body})
        =~ s/"#(\d)"/"$channels$1"/gr) if $change{body};
    return \%change;
}


1;
