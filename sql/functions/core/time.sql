-- Ids are times: what an id tells of its time, and the days (UTC) of ids.


-- The first id of that time (ms since the epoch), and the time of an id.

create or replace function time_id(at bigint)
returns bigint language sql immutable as $$
    select (at - 1420070400000) << 22
$$;


create or replace function id_time(id bigint)
returns bigint language sql immutable as $$
    select (id >> 22) + 1420070400000
$$;


create or replace function day_id(day date)
returns bigint language sql immutable as $$
    select time_id((extract(epoch from day) * 1000)::bigint)
$$;


-- The day (UTC) that it is.

create or replace function today()
returns date language sql stable as $$
    select (now() at time zone 'UTC')::date
$$;


-- The first id that is kept: entries are for 30 days and a day of grace.

create or replace function kept_from()
returns bigint language sql stable as $$
    select day_id(today() - 31)
$$;


-- The same days as numbers, since 2015: that of an id, and its first id.

create or replace function day_of(id bigint)
returns int language sql immutable as $$
    select ((id >> 22) / 86400000)::int
$$;


create or replace function day_low(day int)
returns bigint language sql immutable as $$
    select (day::bigint * 86400000) << 22
$$;


-- A time as the API writes it: ms since the epoch.

create or replace function ms(at timestamptz)
returns bigint language sql stable as $$
    select (extract(epoch from at) * 1000)::bigint
$$;


-- The day that it is, so.

create or replace function day_now()
returns int language sql stable as $$
    select day_of(time_id(ms(now())))
$$;


-- A new id of that time (ms): 42 bits of time since 2015, 4 bits of node
-- (the setting guildlog.node, 0 to 15, one for each machine of a cluster) and
-- an 18-bit number.

create or replace function node_id()
returns bigint language sql stable as $$
    select coalesce(nullif(current_setting('guildlog.node', true), ''),
                    '0')::bigint << 18
$$;


create or replace function next_id(at bigint)
returns bigint language sql volatile as $$
    select ((at - 1420070400000) << 22) | node_id()
         | nextval('guildlog.entry_number')
$$;
