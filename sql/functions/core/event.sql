-- Which arrivals the events know. Events are kept by the day, and for 50 hours
-- more. log_head.days has, for each of the last three days on which something
-- was recorded, the day and the arrival before its first one; the newest first.


-- The day that it is, as a number, or was so long ago. It begins an hour late:
-- whoever began to record before midnight has committed by then. So what
-- arrives on a day has its event in the partition of that day, or a later one.

create or replace function event_day(ago interval default '1 hour')
returns bigint language sql stable as $$
    select ((now() - ago) at time zone 'UTC')::date - date '2000-01-01'
$$;


-- How long events are kept, when their day is over: what was recorded less than
-- 48 hours ago is of one of the last three days.

create or replace function events_kept()
returns interval language sql immutable as $$ select interval '50 hours' $$;


-- The days with the present one, on which so many had arrived before. Who began
-- to record when the day had not begun yet may come after one who began later,
-- so the days may already know one up to the latest. If a clock was ahead,
-- nothing is known of before.

create or replace function event_days(days bigint[], arrival bigint,
    today bigint, latest bigint)
returns bigint[] language sql immutable as $$
    select case when days[1] between today and latest then days
                else array[today, arrival]
                     || case when days[1] < today then days[1:4] end end
$$;


-- The events know all that arrived behind this one. If nothing was recorded for
-- three days, that is the last one.

create or replace function events_from(days bigint[], arrival bigint)
returns bigint language plpgsql stable as $$
begin
    return coalesce((select min(days[i + 1]) from generate_series(1, 5, 2) i
                      where days[i] >= event_day() - 2), arrival);
end $$;
