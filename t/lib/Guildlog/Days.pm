package Guildlog::Days;

# Days pass at once: what arrived is so many days older.  The keeper takes its
# partitions away then, as it would have.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(past a_day);


# makes the partitions that the last days would have left
sub past {
    my ($nginx, $days) = @_;

    $nginx->sql('drop table if exists log_arrival_past, lane_batch_past');
    $nginx->sql(q(create or replace function past_days(n int)
        returns void language sql as $$
            select partition_make(t.parent, d::date, d::date + t.days)
              from partitioned() t
             cross join generate_series(
                   case t.days when 1 then today()
                   else date_trunc('week', today()::timestamp)::date end
                   - t.days * n, today() - 1, t.days * interval '1 day') d
             where to_regclass(t.parent || to_char(d, '_YYYYMMDD')) is null
        $$));
    $nginx->sql('select past_days(?)', $days);

    # locks: in the order of all others; behind that of who drops a partition, or
    # rows would come into one that he has looked at
    $nginx->sql(q(create or replace function a_day() returns void
        language plpgsql as $$
    begin
        perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));
        update server s
           set lapsed_at = s.lapsed_at - interval '1 day'
         where s.lapsed_at is not null;
        perform blocks_wait(h.guild_id, h.bot)
           from (select * from log_head order by guild_id, bot) h;
        perform from log_head order by guild_id, bot for update;
        perform past_days(7);
        update log_head h
           set since = h.since - interval '1 day',
               due_at = h.due_at - interval '1 day';
        update log_arrival a
           set recorded_at = greatest(a.recorded_at - interval '1 day',
                   (today() - 7)::timestamp at time zone 'UTC')
         where a.recorded_at < now() - interval '2 seconds';
        update log_block k set settle = k.settle - 1 where k.settle is not null;
    end $$));
    return;
}


# but for what arrived in the last seconds, which somebody may just follow
sub a_day {
    my ($nginx) = @_;
    $nginx->sql('select a_day()');
    return;
}


1;
