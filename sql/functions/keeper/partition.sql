-- Taking away partitions that are past keeping: of what arrived when it is in
-- blocks and three days old, of what became of deliveries when nothing is kept
-- that it tells of, and of what was said.


-- The partitions past keeping, the oldest first: by time, and by ids.

create or replace function partitions_expired(by_ids boolean default false,
    out parent text, out name text, out high timestamptz)
returns setof record language plpgsql stable as $$
begin
    return query
        select t.parent, p.name, p.high
          from (select d.parent, d.kept from partitioned() d
                 where not by_ids
                 union all
                select i.parent, i.kept from partitioned_ids() i
                 where by_ids) t
         cross join lateral partitions(t.parent) p
         where p.high <= now() - t.kept
         order by p.high;
end $$;


-- Does somebody read it by its own name, and not as a part of the whole? Of who
-- reads the whole each is waited for, and there is always another one.

create or replace function partition_held(parent text, name text)
returns boolean language plpgsql stable as $$
declare
    whole  constant regclass := to_regclass(format('guildlog.%I', parent));
    part   constant regclass := to_regclass(format('guildlog.%I', name));
begin
    return exists (
        select from pg_locks l
          join pg_database d on d.oid = l.database
         where d.datname = current_database()
           and l.pid is distinct from pg_backend_pid()
           and l.relation in (whole, part)
         group by l.virtualtransaction
        having bool_and(l.relation = part));
end $$;


-- Is anything of it in no block yet?

create or replace function partition_hot(name text, high timestamptz)
returns boolean language plpgsql stable as $$
declare
    hot  boolean;
begin
    execute format('select exists (select 1 from log_head h '
                   'where h.arrival > h.blocked and h.since < $1 '
                   'and exists (select from %I a '
                   'where a.guild_id = h.guild_id and a.bot = h.bot '
                   'and a.arrival > h.blocked))', name)
       into hot using high;
    return hot;
end $$;


-- What still waits in lanes is found there as what was sent again, though it
-- was not: at most so many; how many.

create or replace function partition_carry(name text, most int)
returns int language plpgsql as $$
declare
    n  int;
begin
    execute format('insert into replay (guild_id, bot, id, lane, seq, at, '
                   'first) '
                   'select a.guild_id, a.bot, a.id, a.lane, a.seq, '
                   'a.recorded_at, true '
                   'from lane_tail t '
                   'join lane_head h on h.guild_id = t.guild_id '
                   'and h.lane = t.lane and t.tail > h.head '
                   'join %I a on a.guild_id = t.guild_id '
                   'and a.lane = t.lane and a.seq > h.head '
                   'where not exists (select from replay r '
                   'where r.guild_id = a.guild_id and r.bot = a.bot '
                   'and r.id = a.id) limit $1 '
                   'on conflict do nothing', name)
      using most;

    get diagnostics n = row_count;
    return n;
end $$;


-- Takes the oldest one away that nothing needs; whether there is more to do at
-- once.

create or replace function partition_drop(budget int)
returns boolean language plpgsql as $$
declare
    past  record;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    for past in
        select * from partitions_expired() e
         where not partition_held(e.parent, e.name)
    loop
        if past.parent = 'log_arrival' then
            if search_forgets(past.high) then
                return true;
            end if;

            continue when partition_hot(past.name, past.high);

            if partition_carry(past.name, budget) > 0 then
                return true;
            end if;
        end if;

        return partitions_take(past.parent, array[past.name]);
    end loop;

    return false;
end $$;


-- The same of what was said: all that is past keeping, which nothing needs.

create or replace function spans_drop()
returns boolean language plpgsql as $$
declare
    past  record;
    did   boolean := false;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));

    for past in
        select e.parent, (array_agg(e.name order by e.high))[: 50] as names
          from partitions_expired(true) e
         where not partition_held(e.parent, e.name)
         group by e.parent
    loop
        did := partitions_take(past.parent, past.names) or did;
    end loop;

    return did and exists (select from partitions_expired(true));
end $$;


-- Takes these away; false: somebody was in the way. Whoever reads or records
-- holds the table for a moment: it is asked for again and again without
-- waiting, for nobody should wait behind it. The last time it waits, since a
-- table may be in use at each moment; who waits behind it does so for as long.

create or replace function partitions_take(parent text, names text[])
returns boolean language plpgsql set lock_timeout = '50ms' as $$
declare
    name  text;
    mode  text;
begin
    for i in 1 .. 40 loop
        mode := 'in access exclusive mode'
                || case when i < 40 then ' nowait' else '' end;

        begin
            execute format('lock table only %I %s', parent, mode);

            foreach name in array names loop
                execute format('lock table only %I %s', name, mode);
                execute format('drop table %I', name);
            end loop;

            return true;
        exception when lock_not_available then
            perform pg_sleep(0.005 + random() * 0.01);
        end;
    end loop;

    return false;
end $$;


-- The keeper's task: partitions for the days and hours to come. Undone: days
-- without one, and tables of what was said that lack one.

create or replace function keeper_partitions(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    ready  constant boolean := partitions_ensure();
begin
    lag := partitions_missing()
           + (select count(distinct m.parent) from spans_missing() m);
    more := ready and lag > 0;
end $$;


-- The keeper's task: what is past keeping goes, partitions and the days of
-- servers. Undone: how many these are.

create or replace function keeper_expiry(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    before  constant int := day_now() - 31;
    shut    record := keeper_shut('expiry');
    rest    int := greatest(budget, 1);
    past    record;
    n       int;
    did     boolean := false;
begin
    more := partition_drop(budget);
    more := spans_drop() or more;

    for past in
        select distinct d.guild_id, d.bot
          from (select x.guild_id, x.bot from log_day x
                 where x.day < before
                   and (x.guild_id, x.bot) not in (
                           select * from unnest(shut.guilds, shut.bots))
                 order by x.day limit 1000) d
    loop
        exit when rest <= 0;
        n := keeper_each('expiry', past.guild_id, past.bot,
                 format('select blocks_expire($1, $2, %s, $3)', before),
                 greatest(1, rest / block_size()));
        did := did or n > 0;
        rest := rest - greatest(16, block_size() * n);
    end loop;

    shut := keeper_shut('expiry');
    more := more or rest <= 0
            or did and (
               select min(x.day) from log_day x
                where x.day < before
                  and (x.guild_id, x.bot) not in (
                          select * from unnest(shut.guilds, shut.bots)))
               is not null;
    lag := (select count(*) from partitions_expired())
           + (select count(*) from partitions_expired(true))
           + (select count(*) from (select 1 from log_day d
                                     where d.day < before limit 10000) x);
end $$;
