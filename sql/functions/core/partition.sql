-- The partitions of what arrives and of what became of deliveries, made two
-- weeks ahead, and of what was said, made some hours ahead. What lies beyond is
-- refused, or not kept, so no row is ever moved.


-- The tables that are partitioned, by which key, into how many days each, and
-- how long a day is kept when it is over.

create or replace function partitioned(out parent text, out key text,
    out days int, out kept interval)
returns setof record language sql immutable as $$
    values ('log_arrival', 'recorded_at', 1, interval '74 hours'),
           ('lane_batch', 'done_at', 7, interval '33 days')
$$;


-- The tables that are partitioned by ids: how long a span each partition has,
-- how long it is kept when it is over, and how many spans are made ahead.

create or replace function partitioned_ids(out parent text, out span bigint,
    out kept interval, out ahead int)
returns setof record language sql immutable as $$
    values ('said', 3600000::bigint, interval '24 hours', 12),
           ('said_long', 86400000::bigint, interval '14 days', 3)
$$;


-- The partition of that span, as it is called.

create or replace function partition_name(parent text, span bigint)
returns text language sql stable as $$
    select parent || '_' || span
$$;


-- Spans from the first one that is kept to those ahead that have no partition.

create or replace function spans_missing(out parent text, out span bigint,
    out n bigint)
returns setof record language plpgsql stable as $$
declare
    at  constant bigint := id_time(0);
begin
    return query
        select t.parent, t.span, s.n
          from partitioned_ids() t
         cross join lateral generate_series(
                   (ms(now() - t.kept) - at) / t.span,
                   (ms(now()) - at) / t.span + t.ahead) s (n)
         where to_regclass('guildlog.' || partition_name(t.parent, s.n))
               is null;
end $$;


create or replace function bound_time(bound text)
returns timestamptz language sql stable as $$
    select case when bound ~ '^[0-9]+$'
                then to_timestamp(id_time(bound::bigint) / 1000.0)
                else bound::timestamptz end
$$;


-- The partitions of a table, with their bounds in time.

create or replace function partitions(parent text, out name text,
    out low timestamptz, out high timestamptz)
returns setof record language sql stable as $$
    select c.relname, bound_time(b.bounds[1]), bound_time(b.bounds[2])
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     cross join lateral regexp_match(
               pg_get_expr(c.relpartbound, c.oid),
               'FROM \(''([^'']*)''\) TO \(''([^'']*)''\)') b (bounds)
     where i.inhparent = to_regclass(format('guildlog.%I', parent))
       and b.bounds is not null
$$;


-- The first day behind all partitions of a table.

create or replace function partitions_end(parent text)
returns date language plpgsql stable as $$
begin
    return (select max(p.high at time zone 'UTC')::date
              from partitions(parent) p);
end $$;


-- Of the days up to some ahead, those that have no partition of some table.

create or replace function partitions_missing(ahead int default 14)
returns int language plpgsql stable as $$
begin
    return (
        select max(greatest(0, today() + ahead + 1
                               - greatest(partitions_end(t.parent), today())))
          from partitioned() t);
end $$;


-- What never changes again is frozen by the first vacuum that comes to it.

create or replace function partition_make(parent text, low date, high date,
    name text default null)
returns void language plpgsql as $$
begin
    perform partition_attach(
        parent, coalesce(name, parent || '_' || to_char(low, 'YYYYMMDD')),
        low || ' 00:00Z', high || ' 00:00Z');
end $$;


create or replace function partition_attach(parent text, name text, low text,
    high text)
returns void language plpgsql as $$
begin
    execute format('create table %I (like %I including all)', name, parent);
    execute format('alter table %I set (autovacuum_freeze_min_age = 0, '
                   'autovacuum_vacuum_insert_scale_factor = 0, '
                   'autovacuum_vacuum_insert_threshold = 20000)', name);
    execute format('alter table %I attach partition %I '
                   'for values from (%L) to (%L)', parent, name, low, high);
end $$;


-- Makes the partitions up to some days ahead, and before the first of them one
-- for everything older. False: somebody was in the way. No request is kept
-- waiting by it: a partition comes beside what is read and written.

create or replace function partitions_ensure(ahead int default 14)
returns boolean language plpgsql set lock_timeout = '200ms' as $$
declare
    p    record;
    day  date;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    for p in
        select * from partitioned()
    loop
        day := partitions_end(p.parent);

        if day is null then
            day := case p.days when 1 then today()
                   else date_trunc('week', today()::timestamp)::date end;
            perform partition_make(p.parent, '2015-01-01', day,
                                   p.parent || '_past');
        end if;

        while day <= today() + ahead loop
            perform partition_make(p.parent, day, day + p.days);
            day := day + p.days;
        end loop;
    end loop;

    perform partition_attach(s.parent, partition_name(s.parent, s.n),
                             ((s.n * s.span) << 22)::text,
                             (((s.n + 1) * s.span) << 22)::text)
       from spans_missing() s;

    return true;
exception when lock_not_available then
    return false;
end $$;


-- Called before the first entry of a day: makes the partitions that the keeper
-- has not, and refuses to record without.

create or replace function partitions_reach()
returns void language plpgsql as $$
begin
    if partitions_missing(1) > 0 and not partitions_ensure(1) then
        perform refuse(503, 'there is no partition for tomorrow: the keeper '
                            'has not made one for two weeks');
    end if;
end $$;
