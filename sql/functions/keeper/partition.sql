-- The partitions of the log store: one a day, made two weeks ahead. What lies
-- beyond is refused, so no row is ever moved. Making and dropping them takes
-- locks: who cannot have them soon gives up, rather than let everybody wait
-- behind it, and is called again.
--
-- A store of before 0042 may have rows in a default partition. They stay there
-- until they are past keeping, and so does it.


create or replace function partition_make(parent text, name text, low text,
    high text)
returns void language plpgsql as $$
begin
    perform partition_table(parent, name);
    execute format('alter table %I attach partition %I '
                   'for values from (%L) to (%L)', parent, name, low, high);
end $$;


-- What never changes again is frozen by the first vacuum that comes to it.

create or replace function partition_table(parent text, name text)
returns void language plpgsql as $$
begin
    execute format('create table %I (like %I including all)', name, parent);
    execute format('alter table %I set (autovacuum_freeze_min_age = 0, '
                   'autovacuum_vacuum_insert_scale_factor = 0, '
                   'autovacuum_vacuum_insert_threshold = 20000)', name);
end $$;


-- The tables that are partitioned, by which key, and into how many days each.

create or replace function partitioned(out parent text, out key text,
    out days int)
returns setof record language sql immutable as $$
    values ('log_event', 'recorded_at', 1),
           ('lane_batch', 'done_at', 7),
           ('log_entry', 'id', 1)
$$;


-- Makes the partitions up to some days ahead, and before the first of them
-- one for everything older. False: somebody was in the way.

create or replace function partitions_ensure(ahead int default 14)
returns boolean language plpgsql set lock_timeout = '200ms' as $$
declare
    today  constant date := today();
    p      record;
    day    date;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    for p in
        select * from partitioned()
    loop
        day := partitions_end(p.parent);

        if day is null then
            day := case p.days when 1 then today
                   else date_trunc('week', today::timestamp)::date end;
            perform partition_make(p.parent, p.parent || '_past',
                                   partition_bound(p.parent, '2015-01-01'),
                                   partition_bound(p.parent, day));
        end if;

        while day <= today + ahead loop
            if not partition_is_taken(p.parent, p.key, day, day + p.days) then
                perform partition_make(p.parent, p.parent || '_'
                                                 || to_char(day, 'YYYYMMDD'),
                                       partition_bound(p.parent, day),
                                       partition_bound(p.parent,
                                                       day + p.days));
            end if;

            day := day + p.days;
        end loop;
    end loop;

    return true;
exception when lock_not_available then
    return false;
end $$;


-- Does a default partition have rows of these days?

create or replace function partition_is_taken(parent text, key text, low date,
    high date)
returns boolean language plpgsql as $$
declare
    taken  boolean := false;
begin
    if to_regclass(parent || '_default') is not null then
        execute format('select exists (select 1 from %I where %I >= %L '
                       'and %I < %L)', parent || '_default', key,
                       partition_bound(parent, low), key,
                       partition_bound(parent, high)) into taken;
    end if;

    return taken;
end $$;


-- A day as a bound of a table's partitions.

create or replace function partition_bound(parent text, day date)
returns text language sql stable as $$
    select case parent when 'log_entry' then day_id(day)::text
           else day || ' 00:00Z' end
$$;


-- Of the days up to some ahead, those that have no partition of any table.

create or replace function partitions_missing(ahead int default 14)
returns int language plpgsql stable as $$
declare
    today  constant date := today();
begin
    return (
        select max(greatest(0, today + ahead + 1
                               - greatest(partitions_end(t.parent), today)))
          from unnest('{log_entry,log_event,lane_batch}'::text[]) t (parent));
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
    its     record;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    names := array(select partitions_expired());

    -- an index that needs these events is given up first, by itself: who
    -- records may hold log_event, and wait for its head

    if exists (select from unnest(names) n where n ~ '^log_event_')
       and search_forgets(now() - events_kept())
    then
        return true;
    end if;

    if names = '{}' and not keeper_apart('expiry')
       or counted_expire(oldest, budget)
    then
        return true;
    end if;

    for its in
        select c.guild_id, c.bot from log_correction c where c.id < oldest
         union
        select h.guild_id, h.bot from held_entry h where h.id < oldest
         union
        select r.guild_id, r.bot from replay r where r.id < oldest
    loop
        perform keeper_each('expiry', its.guild_id, its.bot,
                            format('select noted_expire($1, $2, %s)', oldest),
                            null);
    end loop;

    foreach name in array names loop
        execute format('drop table %I', name);
    end loop;

    return true;
exception when lock_not_available then
    return false;
end $$;


-- Forgets what was noted of entries of a (server, bot) that are past keeping.
-- A note that stays because this fails is about no entry that anybody finds.

create or replace function noted_expire(guild bigint, bot smallint,
    oldest bigint)
returns int language plpgsql as $$
begin
    delete from log_correction c
     where c.guild_id = guild and c.bot = noted_expire.bot and c.id < oldest;
    delete from held_entry h
     where h.guild_id = guild and h.bot = noted_expire.bot and h.id < oldest;
    delete from replay r
     where r.guild_id = guild and r.bot = noted_expire.bot and r.id < oldest;
    return 1;
end $$;


-- The partitions past keeping: besides entries, events after two days, and what
-- became of entries after all of these. One that has several days goes with the
-- last.

create or replace function partitions_expired(out name text)
returns setof text language plpgsql stable as $$
begin
    return query
        select p.name from partitions('log_entry') p
         where p.high::bigint <= kept_from()
         union all
        select p.name from partitions('log_event') p
         where p.high::timestamptz <= now() - events_kept()
         union all
        select p.name from partitions('lane_batch') p
         where p.high::timestamptz <= now() - interval '33 days'
         union all
        select d.name from partitions_default() d;
end $$;


-- The default partitions that have nothing that is kept.

create or replace function partitions_default(out name text)
returns setof text language plpgsql stable as $$
declare
    p     record;
    kept  boolean;
begin
    for p in
        select t.parent || '_default' as name, t.key,
               case t.parent when 'log_entry' then kept_from()::text
               when 'log_event' then (now() - events_kept())::text
               else (now() - interval '33 days')::text end as oldest
          from partitioned() t
         where to_regclass(t.parent || '_default') is not null
    loop
        execute format('select exists (select from %I where %I >= %L)',
                       p.name, p.key, p.oldest) into kept;
        if not kept then
            name := p.name;
            return next;
        end if;
    end loop;
end $$;
