package Guildlog::Markers;

# The markers that t/kit/lib.js sends: "m0", "m1", ... as the content of entries.

use strict;
use warnings;

use Exporter 'import';
use Test::More;

our @EXPORT = qw(markers_are_right markers);


# how many are stored; how many of them differ; how many come behind a later one
# of their server
sub markers {
    my ($nginx) = @_;

    return @{ ($nginx->sql(q{
        select count(*), count(distinct marker), count(*) filter (where ahead)
          from (select marker, marker < max(marker) over (partition by guild_id
                        order by arrival rows between unbounded preceding
                            and 1 preceding) as ahead
                  from (select guild_id, arrival,
                               substring(doc from '"m(\d+)"')::int as marker
                          from entries) m
                 where marker is not null) m
    }))[0] };
}


sub markers_are_right {
    my ($nginx, $sent) = @_;
    my ($stored, $different, $wrong) = markers($nginx);

    is $stored, $sent, 'all markers are recorded';
    is $different, $sent, '... none twice';
    is $wrong, 0, '... those of a server in their order';
}


1;
