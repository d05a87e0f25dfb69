-- The partitions of the log store: one a day, made ahead. What finds none
-- falls into the default partition, so that recording never waits for them.
-- Making and dropping them takes locks: who cannot have them soon gives up,
-- rather than let everybody wait behind it, and is called again.


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


-- The day (UTC) of an id.

create or replace function id_day(id bigint)
returns date language sql immutable as $$
    select (to_timestamp(id_time(id) / 1000) at time zone 'UTC')::date
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


-- Makes one partition and moves what the default one holds of its range. True:
-- there was something, and everybody had to wait.

create or replace function partition_make(parent text, name text, key text,
    low text, high text)
returns boolean language plpgsql as $$
declare
    moved  bigint;
begin
    if to_regclass(format('guildlog.%I', name)) is not null then
        return false;
    end if;

    perform partition_table(parent, name);
    execute format('lock table %I', parent || '_default');
    execute format('with moved as (delete from %I where %I >= %L and %I < %L '
                   'returning *) insert into %I select * from moved',
                   parent || '_default', key, low, key, high, name);
    get diagnostics moved = row_count;

    execute format('alter table %I attach partition %I '
                   'for values from (%L) to (%L)', parent, name, low, high);
    return moved > 0;
end $$;


create or replace function partition_table(parent text, name text)
returns void language plpgsql as $$
begin
    execute format('create table %I (like %I including all)', name, parent);
    execute format('alter table %I set ('
                   'autovacuum_vacuum_insert_scale_factor = 0, '
                   'autovacuum_vacuum_insert_threshold = 20000)', name);
end $$;


-- Makes the partitions up to some days ahead, and before the first of them
-- one for everything older. A day of which something has to be moved is the
-- last one of its transaction. False: somebody was in the way.

create or replace function partitions_ensure(ahead int default 2)
returns boolean language plpgsql set lock_timeout = '200ms' as $$
declare
    today  constant date := today();
    next   date;
    day    date;
    moved  boolean;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    next := partitions_end();

    if next is null then
        perform partition_make('log_entry', 'log_entry_past', 'id',
                               day_id('2015-01-01')::text,
                               day_id(today)::text);
    end if;

    for day in
        select d::date
          from generate_series(coalesce(next, today), today + ahead,
                               interval '1 day') d
    loop
        select bool_or(m.moved) into moved
          from date_trunc('week', day) w (at),
               date(w.at) week,
               lateral (values
                   (partition_make('log_entry',
                        'log_entry_' || to_char(day, 'YYYYMMDD'), 'id',
                        day_id(day)::text, day_id(day + 1)::text)),
                   (partition_make('log_event',
                        'log_event_' || to_char(day, 'YYYYMMDD'),
                        'recorded_at', day || ' 00:00Z',
                        (day + 1) || ' 00:00Z')),
                   (partition_make('lane_batch',
                        'lane_batch_' || to_char(week, 'YYYYMMDD'),
                        'done_at', week || ' 00:00Z',
                        (week + 7) || ' 00:00Z'))) m (moved);
        exit when moved;
    end loop;

    return true;
exception when lock_not_available then
    return false;
end $$;


-- Of the days up to some ahead, those that have no partition.

create or replace function partitions_missing(ahead int default 2)
returns int language plpgsql stable as $$
declare
    today  constant date := today();
begin
    return greatest(0, today + ahead + 1
                       - greatest(partitions_end(), today));
end $$;


-- The first day behind all partitions of entries.

create or replace function partitions_end()
returns date language plpgsql stable as $$
begin
    return id_day((select max(p.high::bigint)
                     from partitions('log_entry') p));
end $$;


-- Drops what is past keeping, when all that was counted of it is gone, which
-- takes a turn for each so many rows. To find the rest takes a look at all of
-- it: only when a partition goes; of events one does each day. False as above.
-- The drop is last: whoever reads waits for it, until all of this is committed.

create or replace function partitions_expire(budget int default 20000)
returns boolean language plpgsql set lock_timeout = '200ms' as $$
declare
    oldest  constant bigint := kept_from();
    names   text[];
    name    text;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    -- a clock that was behind may have put some of it here

    delete from log_entry_default e where e.id < oldest;
    delete from log_event_default k
     where k.recorded_at < now() - interval '2 days';
    delete from lane_batch_default b
     where b.done_at < now() - interval '33 days';

    names := array(select partitions_expired());

    if names = '{}' or counted_expire(oldest, budget) then
        return true;
    end if;

    delete from log_correction c where c.id < oldest;
    delete from held_entry h where h.id < oldest;
    delete from replay r where r.id < oldest;

    foreach name in array names loop
        execute format('drop table %I', name);
    end loop;

    return true;
exception when lock_not_available then
    return false;
end $$;


-- The partitions past keeping: besides entries, events after two days, when
-- their order is kept, and what became of entries after all of these. One that
-- has several days goes with the last.

create or replace function partitions_expired(out name text)
returns setof text language plpgsql stable as $$
begin
    return query
        select p.name from partitions('log_entry') p
         where p.high::bigint <= kept_from()
         union all
        select p.name from partitions('log_event') p
         where p.high::timestamptz <= now() - interval '2 days'
           and order_is_kept(p.high::timestamptz)
         union all
        select p.name from partitions('lane_batch') p
         where p.high::timestamptz <= now() - interval '33 days';
end $$;


-- The partitions of a table but for the default one, with their bounds.

create or replace function partitions(parent text, out name text,
    out low text, out high text)
returns setof record language sql stable as $$
    select c.relname, b.bounds[1], b.bounds[2]
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     cross join lateral regexp_match(
               pg_get_expr(c.relpartbound, c.oid),
               'FROM \(''([^'']*)''\) TO \(''([^'']*)''\)') b (bounds)
     where i.inhparent = to_regclass(format('guildlog.%I', parent))
       and b.bounds is not null
$$;
