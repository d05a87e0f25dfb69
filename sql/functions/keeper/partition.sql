-- The partitions of the log store: one a day, made ahead. What finds none
-- falls into the default partition, so that recording never waits for them;
-- that one becomes the partition of these days, once somebody makes it.
-- Making and dropping them takes locks: who cannot have them soon gives up,
-- rather than let everybody wait behind it, and is called again.


-- Makes one partition. Where the default one has rows of its range the default
-- one becomes it, and there is a new default one: no row moves, so a reader
-- whose snapshot is older than this, and its lock younger, sees them all the
-- same. True: it was so, and everybody had to wait.
--
-- Lock: the parent, then the default partition, as readers take them. Whether
-- everybody has to wait is seen before, without a lock; rows that came since
-- then are left for the next call.

create or replace function partition_make(parent text, name text, key text,
    low text, high text)
returns boolean language plpgsql as $$
declare
    holds  boolean;
begin
    if to_regclass(format('guildlog.%I', name)) is not null then
        return false;
    end if;

    holds := partition_has(parent, key, low, high);
    execute format('lock table only %I in %s mode', parent,
                   case when holds then 'access exclusive'
                        else 'share update exclusive' end);
    execute format('lock table %I', parent || '_default');

    if not holds and partition_has(parent, key, low, high) then
        raise lock_not_available;
    end if;

    if holds then
        perform partition_adopt(parent, name, key, low, high);
    else
        perform partition_table(parent, name);
    end if;

    execute format('alter table %I attach partition %I '
                   'for values from (%L) to (%L)', parent, name, low, high);
    return holds;
end $$;


-- Does the default partition have rows of that range?

create or replace function partition_has(parent text, key text, low text,
    high text default null)
returns boolean language plpgsql as $$
declare
    has  boolean;
begin
    execute format('select exists (select from %I where %I >= %L and '
                   '(%L is null or %I < %L))', parent || '_default', key, low,
                   high, key, high) into has;
    return has;
end $$;


create or replace function partition_table(parent text, name text)
returns void language plpgsql as $$
begin
    execute format('create table %I (like %I including all)', name, parent);
    perform partition_vacuum(name);
end $$;


create or replace function partition_vacuum(name text)
returns void language plpgsql as $$
begin
    execute format('alter table %I set (autovacuum_freeze_min_age = 0, '
                   'autovacuum_vacuum_insert_scale_factor = 0, '
                   'autovacuum_vacuum_insert_threshold = 20000)', name);
end $$;


-- The default partition becomes a table of that name, for that range. Only what
-- is outside of it moves, into the new default one. See partitions_ensure():
-- that is of days to come, which nobody reads yet.

create or replace function partition_adopt(parent text, name text, key text,
    low text, high text)
returns void language plpgsql as $$
declare
    other  constant text := parent || '_default';
begin
    execute format('alter table %I detach partition %I', parent, other);
    execute format('alter table %I rename to %I', other, name);
    perform partition_vacuum(name);
    execute format('create table %I partition of %I default', other, parent);
    execute format('with moved as (delete from %I where %I < %L or %I >= %L '
                   'returning *) insert into %I select * from moved',
                   name, key, low, key, high, other);
end $$;


-- Makes the partitions up to some days ahead, and before the first of them
-- one for everything older. False: somebody was in the way. The days that are
-- missing up to tomorrow are one partition where the default one has rows of
-- them; that is the last one of its transaction.

create or replace function partitions_ensure(ahead int default 2)
returns boolean language plpgsql set lock_timeout = '200ms' as $$
declare
    today  constant date := today();
    p      record;
    day    date;
    until  date;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    if partitions_end('log_entry') is null then
        perform partition_make('log_entry', 'log_entry_past', 'id',
                               day_id('2015-01-01')::text,
                               day_id(today)::text);
    end if;

    for p in
        select * from (values ('log_event', 'recorded_at', 1),
                              ('lane_batch', 'done_at', 7),
                              ('log_entry', 'id', 1)) t (parent, key, days)
    loop
        day := coalesce(partitions_end(p.parent), case p.days
                        when 7 then date_trunc('week', today::timestamp)::date
                        else today end);

        while day <= today + ahead loop
            until := day + p.days;

            if day <= today
               and partition_has(p.parent, p.key,
                                 partition_bound(p.parent, day))
            then
                until := day + p.days * ((today + 1 - day) / p.days + 1);
            end if;

            if partition_make(p.parent, p.parent || '_'
                                        || to_char(day, 'YYYYMMDD'), p.key,
                              partition_bound(p.parent, day),
                              partition_bound(p.parent, until))
            then
                return true;
            end if;

            day := until;
        end loop;
    end loop;

    return true;
exception when lock_not_available then
    return false;
end $$;


-- A day as a bound of a table's partitions.

create or replace function partition_bound(parent text, day date)
returns text language sql stable as $$
    select case parent when 'log_entry' then day_id(day)::text
           else day || ' 00:00Z' end
$$;


-- Of the days up to some ahead, those that have no partition of any table.

create or replace function partitions_missing(ahead int default 2)
returns int language plpgsql stable as $$
declare
    today  constant date := today();
begin
    return (
        select max(greatest(0, today + ahead + 1
                               - greatest(partitions_end(t.parent), today)))
          from unnest('{log_entry,log_event,lane_batch}'::text[]) t (parent));
end $$;


-- The first day behind all partitions of a table.

create or replace function partitions_end(parent text)
returns date language plpgsql stable as $$
begin
    return case parent
           when 'log_entry' then (
               select id_day(max(p.high::bigint)) from partitions(parent) p)
           else (
               select max(p.high::timestamptz at time zone 'UTC')::date
                 from partitions(parent) p) end;
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

    if (exists (select from log_event_default k
                 where k.recorded_at < now() - events_kept())
        or exists (select from unnest(names) n where n ~ '^log_event_'))
       and search_forgets(now() - events_kept())
    then
        return true;
    end if;

    -- a clock that was behind may have put some of it here

    delete from log_entry_default e where e.id < oldest;
    delete from log_event_default k
     where k.recorded_at < now() - events_kept();
    delete from lane_batch_default b
     where b.done_at < now() - interval '33 days';

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
