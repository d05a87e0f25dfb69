package Guildlog::Days;

# Days pass at once: makes a store that looks a month old.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(month closed rewritten);


# makes a partition for each of the last 31 days, as the keeper would have
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


# those of them that are rewritten
sub rewritten {
    my ($nginx) = @_;

    my %done = map { $_->[0] => 1 } $nginx->sql(
        q(select name from log_rewrite where step = 'done'));
    return grep { $done{$_} } closed($nginx);
}


1;
