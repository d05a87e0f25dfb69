package Guildlog::Days;

# Days that pass at once: a store that has been there for a month.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(month closed rewritten);


# a partition for each of the last 31 days, as the days would have left them
sub month {
    my ($nginx) = @_;

    $nginx->sql('drop table log_entry_past');
    $nginx->sql(q(select partition_make('log_entry',
        'log_entry_' || to_char(d, 'YYYYMMDD'), 'id',
        day_id(d::date)::text, day_id(d::date + 1)::text)
        from generate_series((now() at time zone 'UTC')::date - 31,
            (now() at time zone 'UTC')::date - 1, interval '1 day') d));
    return;
}


# the partitions of days that are over
sub closed {
    my ($nginx) = @_;

    return map { $_->[0] } $nginx->sql(q(select name from
        partitions('log_entry') where high::bigint <=
            day_id((now() at time zone 'UTC')::date) order by low::bigint));
}


# those of them that were rewritten
sub rewritten {
    my ($nginx) = @_;

    my %done = map { $_->[0] => 1 } $nginx->sql(
        q(select name from log_rewrite where step = 'done'));
    return grep { $done{$_} } closed($nginx);
}


1;
