package Guildlog::Days;

# Days pass at once: makes a store that looks a month old.

use strict;
use warnings;

use Exporter 'import';

use Guildlog::File;

our @EXPORT = qw(month nights weeks closed rewritten);


# makes a partition for each of the last 31 days that has none, as the keeper
# would have
sub month {
    my ($nginx) = @_;

    $nginx->sql('drop table log_entry_past');
    $nginx->sql(q(select partition_make('log_entry', name,
        day_id(d::date)::text, day_id(d::date + 1)::text)
        from generate_series((now() at time zone 'UTC')::date - 31,
            (now() at time zone 'UTC')::date - 1, interval '1 day') d
        cross join lateral (
            select 'log_entry_' || to_char(d, 'YYYYMMDD') as name) n
        where to_regclass(name) is null));
    return;
}


# the partitions of days that are over
sub closed {
    my ($nginx) = @_;

    return map { $_->[0] } $nginx->sql(q(select name from
        partitions('log_entry') where high::bigint <=
            day_id((now() at time zone 'UTC')::date) order by low::bigint));
}


# those of them that a rewrite made
sub rewritten {
    my ($nginx) = @_;
    return grep { /\d{8}_/ } closed($nginx);
}


# the rewrite makes up for the nights of a month: weeks that become days within
# a week are made, too
sub nights {
    my ($nginx) = @_;

    my $due = $nginx->sql(q(select pg_get_functiondef('rewrite_due'::regproc)));
    $due =~ s/today - 21/today - 28/ or die 'rewrite_due() is another one';
    $nginx->sql($due);
    return;
}


# every week is rewritten that has several partitions, and again() does all of
# them once more
sub weeks {
    my ($nginx) = @_;

    my $sql = slurp('t/sql/weeks.psql');
    $sql =~ s/create temp table/create table/;
    $sql =~ s/pg_temp[.]//;
    $nginx->cluster->connect($nginx->dbname)
        ->do("set client_min_messages = warning;
            drop table if exists to_do; $sql");
    return;
}


1;
