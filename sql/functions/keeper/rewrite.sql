-- The rewrite of partitions, twice in the life of an entry. The days of a week
-- that is over become one partition: a page of a server's entries lies in few
-- blocks of few partitions then, and the deliveries that are decided stand in
-- the entries. Before its first day is past keeping a week is made days again,
-- each of which goes when its time is over.
--
-- New partitions are filled in order, chunk by chunk, below a table that nobody
-- reads; what changes meanwhile is noted by triggers; once nothing more is
-- noted they take the place of their sources. Between two steps nothing is left
-- to finish, whenever the next one comes.


-- Does a step of the rewrite under way, or begins the next one; true if there
-- is more to do at once. Of two at once the second gives up.

create or replace function rewrite_step(budget int)
returns boolean language plpgsql set lock_timeout = '100ms' as $$
declare
    w  log_rewrite;
begin
    select * into w from log_rewrite r where r.step <> 'done' for update;

    if not found then
        return rewrite_begin(budget);
    end if;

    if w.step = 'tidy' then
        return rewrite_tidy(w, budget);
    end if;

    if not rewrite_holds(w) then
        perform rewrite_abandon(w);
        return true;
    end if;

    if w.step = 'fill' then
        return rewrite_fill(w, budget);
    end if;

    return rewrite_settle(w, budget);
end $$;


-- The next one, and where its partitions begin and end. A week of which a day
-- goes within three days is made days; so is the first week of what has more
-- days. Of what is past keeping nothing is carried on. Two days after a week
-- its partitions become one, unless that was for some nights only; what is
-- older than the store is no part of its first week. On Citus no statement
-- copies the entries of several servers: there days stay days.

create or replace function rewrite_due(out low bigint, out high bigint,
    out sources text[], out bounds bigint[])
returns setof record language plpgsql stable as $$
declare
    today  constant date := today();
begin
    return query
        with p as (
            select x.name, id_day(x.low::bigint) as low,
                   id_day(x.high::bigint) as high
              from partitions('log_entry') x
             where x.high::bigint > kept_from()
               and x.high::bigint <= day_id(today)
               and to_regclass('pg_catalog.pg_dist_partition') is null
        ), due as (
            select greatest(p.low, id_day(kept_from())) as low, p.high,
                   array[p.name] as sources, 7 as days
              from p
             where p.high - p.low > 1 and p.low < today - 28
             union all
            select min(p.low), max(p.high), array_agg(p.name order by p.low), 0
              from p where p.high - p.low <= 7
             group by date_trunc('week', (p.high - 1)::timestamp)
            having count(*) > 1 and min(p.low) >= today - 21
               and date_trunc('week', (max(p.high) - 1)::timestamp)
                   <= today - 9
        )
        select day_id(d.low), day_id(d.high), d.sources, array(
                   select day_id(d.low + i)
                     from generate_series(0, least(d.days, d.high - d.low - 1))
                          i) || day_id(d.high)
          from due d
         where not keeper_parks('rewrite', day_id(d.high), 0::smallint)
         order by 1;
end $$;


-- How many partitions wait for it.

create or replace function rewrite_waiting()
returns bigint language plpgsql stable as $$
begin
    return (
        select coalesce(sum(cardinality(d.sources)), 0) from rewrite_due() d);
end $$;


create or replace function rewrite_begin(budget int)
returns boolean language plpgsql as $$
declare
    w       log_rewrite;
    bounds  bigint[];
    source  text;
    name    text;
begin
    perform rewrite_clean();

    select 'log_entry_next', d.low, d.high, d.sources, d.bounds
      into w.name, w.low, w.high, w.sources, bounds
      from rewrite_due() d limit 1;

    if not found then
        return false;
    end if;

    insert into log_rewrite (name, low, high, sources)
    values (w.name, w.low, w.high, w.sources)
    returning * into w;

    execute format('create table %I (like log_entry including all) '
                   'partition by range (id)', w.name);

    if rewrite_blocks(w) <= least(budget * 40::bigint, 200000) then
        perform rewrite_unindex(w);
    end if;

    for i in 1 .. cardinality(bounds) - 1 loop
        name := format('log_entry_%s_%s',
                       to_char(id_day(bounds[i]), 'YYYYMMDD'), w.n);
        perform partition_make(w.name, name, bounds[i]::text,
                               bounds[i + 1]::text);
        execute format('alter table %I add constraint inside '
                       'check (id >= %s and id < %s)', name, bounds[i],
                       bounds[i + 1]);
        execute format('alter index %I set (fillfactor = 96)',
                       name || '_pkey');
    end loop;

    foreach source in array w.sources loop
        execute format('create trigger log_change '
                       'after insert or update or delete on %I '
                       'for each row execute function log_changed()', source);
    end loop;

    return true;
end $$;


-- Entries that come in the order of their ids leave the pages of every index
-- but the primary key's a third empty: of a channel or a type each one comes in
-- the middle, where a page that is full is split in halves. So the others are
-- made when all entries are there, each in one turn and with room for late
-- events; of a week too large for that, as its entries come: whatever the
-- budget, one turn must come to its end. Nobody reads the table as yet.

create or replace function rewrite_unindex(w log_rewrite)
returns void language plpgsql as $$
declare
    index  regclass;
begin
    for index in
        select i.indexrelid from pg_index i
         where i.indrelid = w.name::regclass and not i.indisprimary
    loop
        execute format('drop index %s', index);
    end loop;
end $$;


-- What its sources take.

create or replace function rewrite_blocks(w log_rewrite)
returns bigint language plpgsql as $$
begin
    return (select sum(pg_relation_size(s.name::regclass))
                   / current_setting('block_size')::int
              from unnest(w.sources) s (name));
end $$;


-- Makes the next one that it lacks; false if there is none.

create or replace function rewrite_index(w log_rewrite)
returns boolean language plpgsql
set max_parallel_maintenance_workers = 0 as $$
declare
    index  text;
begin
    select min(d) into index from (
        select rewrite_indexes('log_entry') except
        select rewrite_indexes(w.name)) i (d);

    if index is null then
        return false;
    end if;

    execute format('create index on %I using ', w.name)
            || regexp_replace(index, '( WHERE .*)?$',
                              ' with (fillfactor = 96)\1');
    return true;
end $$;


-- What they are on, whatever the table and the room in them.

create or replace function rewrite_indexes(name text)
returns setof text language plpgsql stable as $$
begin
    return query
        select regexp_replace(pg_get_indexdef(i.indexrelid),
                              '^.* USING | WITH \([^)]*\)', '', 'g')
          from pg_index i
         where i.indrelid = rewrite_indexes.name::regclass
           and not i.indisprimary;
end $$;


-- What one that was broken off by hand may have left.

create or replace function rewrite_clean()
returns void language plpgsql as $$
begin
    delete from log_change;
    delete from log_left_out;
    delete from log_rewrite;

    if to_regclass('log_entry_next') is not null then
        drop table log_entry_next;
    end if;

    perform rewrite_forget_changes(array(
        select t.tgrelid::regclass::text from pg_trigger t
         where t.tgname = 'log_change'
           and t.tgfoid = 'log_changed'::regproc));
end $$;


create or replace function rewrite_forget_changes(sources text[])
returns void language plpgsql as $$
declare
    source  text;
begin
    foreach source in array sources loop
        if to_regclass(source) is not null then
            execute format('drop trigger if exists log_change on %s', source);
        end if;
    end loop;
end $$;


create or replace function log_changed()
returns trigger language plpgsql as $$
declare
    e  record := coalesce(new, old);
begin
    insert into guildlog.log_change (guild_id, bot, id)
    values (e.guild_id, e.bot, e.id);
    return null;
end $$;


-- Are its table and its sources what they were? Before 0042 the table was no
-- partitioned one.

create or replace function rewrite_holds(w log_rewrite)
returns boolean language plpgsql stable as $$
begin
    return exists (select from pg_class c
                    where c.oid = to_regclass(format('guildlog.%I', w.name))
                      and c.relkind = 'p')
       and w.sources = array(
               select p.name from partitions('log_entry') p
                where p.high::bigint > w.low and p.low::bigint < w.high
                order by p.low::bigint);
end $$;


-- Ends the one under way, or the next if none is, since a step of it failed;
-- the end of its ids. One that has taken the place of its sources stays: then
-- only what was noted about held entries goes later, with the entries.

create or replace function rewrite_give_up()
returns bigint language plpgsql set lock_timeout = '100ms' as $$
declare
    w  log_rewrite;
begin
    select * into w from log_rewrite r where r.step <> 'done' for update;

    if not found then
        return (select d.high from rewrite_due() d limit 1);
    end if;

    if w.step = 'tidy' then
        delete from log_rewrite r where r.n = w.n;
    else
        perform rewrite_abandon(w);
    end if;

    return w.high;
end $$;


create or replace function rewrite_abandon(w log_rewrite)
returns void language plpgsql as $$
begin
    perform rewrite_forget_changes(w.sources);
    execute format('drop table if exists %I', w.name);
    delete from log_rewrite r where r.n = w.n;
end $$;


-- Copies the next entries. Behind the last of them it is filled.

create or replace function rewrite_fill(w log_rewrite, budget int)
returns boolean language plpgsql
set enable_sort = off set work_mem = '64MB' as $$
declare
    last  record;
begin
    execute rewrite_copy(w, format(
                'select * from log_entry e '
                'where e.id >= %s and e.id < %s '
                'and (e.guild_id, e.bot, e.id) > ($1, $2, $3) '
                'order by e.guild_id, e.bot, e.id limit $4', w.low, w.high))
       into last using w.at_guild, w.at_bot, w.at_id, budget;

    if last.n is not null then
        update log_rewrite r
           set at_guild = last.guild_id, at_bot = last.bot, at_id = last.id
         where r.n = w.n;
    end if;

    if last.n >= budget then
        return true;
    end if;

    return rewrite_filled(w);
end $$;


-- Autovacuum may be at the table: then the next turn is soon enough.

create or replace function rewrite_filled(w log_rewrite)
returns boolean language plpgsql as $$
begin
    if rewrite_index(w) then
        return true;
    end if;

    execute format('analyze %I', w.name);
    update log_rewrite r
       set step = 'settle', step_at = now() where r.n = w.n;

    return true;

exception when lock_not_available then
    return false;
end $$;


-- The statement that copies these entries with what became of them, and gives
-- their number and the last one. What became of the first one of a lane is
-- where the search for that of the others begins, which would otherwise go
-- back to the lane's first where there is nothing to find as yet. One whose
-- delivery is decided needs no place in a lane any more. On the one-hour plans
-- nothing is carried on that was older than a day at the start and is decided,
-- unless the plan lapsed within 7 days: no upgrade would show it.

create or replace function rewrite_copy(w log_rewrite, entries text)
returns text language plpgsql stable as $$
begin
    return format($sql$
        with chunk as materialized (%s), placed as (
            select e.*, coalesce(e.lane, h.lane) as its_lane,
                   coalesce(e.seq, h.seq) as its_seq
              from chunk e
              left join held_entry h
                on e.dstatus is null and e.dreason = 'held'
               and h.guild_id = e.guild_id and h.bot = e.bot and h.id = e.id
        ), lanes as (
            select l.guild_id, l.its_lane, coalesce(f.seq_from, l.low) as low
              from (select guild_id, its_lane, min(its_seq) as low
                      from placed
                     where dstatus is null and its_lane is not null
                     group by guild_id, its_lane) l
              left join lateral (
                  select b.seq_from from lane_batch b
                   where b.guild_id = l.guild_id and b.lane = l.its_lane
                     and b.seq_from <= l.low
                   order by b.seq_from desc limit 1) f on true
        ), decided as (
            select e.*, b.status, b.reason, b.message_id,
                   e.dstatus is not null or b.status is not null as known,
                   b.status in (0, 2) as final
              from placed e
              left join lanes l
                on e.dstatus is null and l.guild_id = e.guild_id
               and l.its_lane = e.its_lane
              left join lateral (
                  select f.* from (
                      select * from lane_batch b
                       where b.guild_id = l.guild_id
                         and b.lane = l.its_lane
                         and b.seq_from between l.low and e.its_seq
                         and b.done_at >= to_timestamp(
                                 id_time(e.id) / 1000.0)
                                 - interval '2 minutes'
                       order by b.seq_from desc limit 1) f
                   where f.seq_to >= e.its_seq) b on true
        ), judged as (
            select e.*, coalesce(
                       not plan_keeps(s.plan, s.lapsed_at)
                       and e.id < time_id(%s) and e.known
                       and not exists (
                           select from replay r
                            where r.guild_id = e.guild_id
                              and r.bot = e.bot and r.id = e.id),
                       false) as goes
              from decided e
              left join server s on s.guild_id = e.guild_id
        ), left_out as (
            insert into log_left_out
            select distinct e.guild_id from judged e where e.goes
            on conflict do nothing
        ), copied as (
            insert into %I (guild_id, id, arrival, executor_id, target_id,
                            channel_id, lane, seq, dchannel_id, dmessage_id,
                            bot, type, dstatus, dreason, doc)
            select e.guild_id, e.id, e.arrival, e.executor_id, e.target_id,
                   e.channel_id, case when e.final then null else e.lane end,
                   case when e.final then null else e.seq end, e.dchannel_id,
                   coalesce(e.dmessage_id,
                            case when e.final then e.message_id end),
                   e.bot, e.type,
                   case when e.final then e.status else e.dstatus end,
                   case when e.final then e.reason else e.dreason end, e.doc
              from judged e
             where not e.goes
             order by e.guild_id, e.bot, e.id
        )
        select e.guild_id, e.bot, e.id, count(*) over () as n from chunk e
         order by e.guild_id desc, e.bot desc, e.id desc limit 1
        $sql$, entries, ms(w.begun_at) - 86400000, w.name);
end $$;


-- Follows what changed; once that is all, and nobody is left who began before,
-- it takes the place of its sources.

create or replace function rewrite_settle(w log_rewrite, budget int)
returns boolean language plpgsql as $$
begin
    perform rewrite_recall(w);

    if exists (select from log_change) then
        perform rewrite_follow(w, budget);
        update log_rewrite r set waits = null where r.n = w.n;
        return true;
    end if;

    if w.waits is null and not rewrite_vacuumed(w)
       or exists (select from log_left_out o
                    join search_head h on h.guild_id = o.guild_id)
    then
        return false;
    end if;

    if w.waits is null then
        update log_rewrite r
           set waits = transactions_here(), step_at = now() where r.n = w.n
        returning * into w;
    end if;

    if w.waits && transactions_here() then
        return w.step_at > now() - interval '5 seconds';
    end if;

    return rewrite_swap(w);
end $$;


-- Servers that may see 30 days again get what was left out of theirs.

create or replace function rewrite_recall(w log_rewrite)
returns void language plpgsql as $$
begin
    with again as (
        delete from log_left_out o using server s
         where s.guild_id = o.guild_id and plan_keeps(s.plan, s.lapsed_at)
        returning o.guild_id
    )
    insert into log_change (guild_id, bot, id)
    select e.guild_id, e.bot, e.id
      from again a
      join log_entry e on e.guild_id = a.guild_id
     where e.id >= w.low and e.id < w.high;
end $$;


-- Makes entries that changed what they are in the sources.

create or replace function rewrite_follow(w log_rewrite, budget int)
returns void language plpgsql as $$
declare
    guilds  bigint[];
    bots    smallint[];
    ids     bigint[];
begin
    with gone as (
        delete from log_change c
         where c.ctid = any (array(select x.ctid from log_change x
                                    limit budget))
        returning c.guild_id, c.bot, c.id
    )
    select array_agg(g.guild_id), array_agg(g.bot), array_agg(g.id)
      into guilds, bots, ids
      from (select distinct * from gone) g;

    execute format('delete from %I e using unnest($1, $2, $3) f (g, b, i) '
                   'where e.guild_id = f.g and e.bot = f.b and e.id = f.i',
                   w.name) using guilds, bots, ids;
    execute rewrite_copy(w, format(
                'select e.* from unnest($1, $2, $3) f (g, b, i) '
                'join log_entry e '
                'on e.guild_id = f.g and e.bot = f.b and e.id = f.i '
                'where e.id >= %s and e.id < %s', w.low, w.high))
      using guilds, bots, ids;
end $$;


-- Counts by index alone need to know which blocks everybody sees. Autovacuum
-- sees to that; a table too small for it, or one it does not come to in ten
-- minutes, is not waited for.

create or replace function rewrite_vacuumed(w log_rewrite)
returns boolean language plpgsql stable as $$
begin
    return w.step_at < now() - interval '10 minutes'
        or not exists (select from partitions(w.name) p
                         join pg_class c on c.oid = to_regclass(p.name)
                        where c.reltuples >= 40000
                          and c.relallvisible <= c.relpages * 0.95);
end $$;


-- Everybody else's transactions in this database. Who is in none of them now
-- sees all that is committed now.

create or replace function transactions_here()
returns text[] language plpgsql as $$
begin
    return array(
        select distinct l.virtualtransaction
          from pg_locks l
          join pg_stat_activity a on a.pid = l.pid
         where l.locktype = 'virtualxid' and l.granted
           and l.pid <> pg_backend_pid()
           and a.usesysid is not null
           and a.datid = (select d.oid from pg_database d
                           where d.datname = current_database()));
end $$;


-- Takes the place of the sources, in the time it takes to write some rows of
-- the catalog. Whoever reads later, reads the new one, and whoever reads now
-- is waited for, though not long. No rows change here: a reader whose snapshot
-- is older than this, and its lock younger, sees them all the same.

create or replace function rewrite_swap(w log_rewrite)
returns boolean language plpgsql as $$
declare
    source  text;
    made    record;
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.partitions'));
    execute format('lock table %I in access exclusive mode', w.name);

    foreach source in array w.sources loop
        execute format('lock table only %I in share update exclusive mode',
                       source);
    end loop;

    lock table only log_entry in access exclusive mode;

    if exists (select from log_change)
       or exists (select from log_left_out o
                    join server s on s.guild_id = o.guild_id
                     and plan_keeps(s.plan, s.lapsed_at))
       or exists (select from log_left_out o
                    join search_head h on h.guild_id = o.guild_id)
    then
        return true;
    end if;

    foreach source in array w.sources loop
        execute format('drop table %I', source);
    end loop;

    for made in
        select * from partitions(w.name)
    loop
        execute format('alter table %I detach partition %I', w.name,
                       made.name);
        execute format('alter table log_entry attach partition %I '
                       'for values from (%L) to (%L)', made.name, made.low,
                       made.high);
        execute format('alter table %I drop constraint inside', made.name);
    end loop;

    execute format('drop table %I', w.name);

    update log_rewrite r
       set step = 'tidy', step_at = now(), at_guild = 0, at_bot = 0, at_id = 0
     where r.n = w.n;

    return true;
end $$;


-- Forgets that entries were held, where the entry itself says what became of
-- it, or is gone.

create or replace function rewrite_tidy(w log_rewrite, budget int)
returns boolean language plpgsql as $$
declare
    looked  held_entry[] := array(
        select h from held_entry h
         where (h.guild_id, h.bot, h.id) > (w.at_guild, w.at_bot, w.at_id)
         order by h.guild_id, h.bot, h.id limit budget);
    last    held_entry := looked[cardinality(looked)];
begin
    delete from held_entry h
     using unnest(looked) l
     where h.guild_id = l.guild_id and h.bot = l.bot and h.id = l.id
       and h.id >= w.low and h.id < w.high
       and h.until < now()
       and not exists (
           select from log_entry e
            where e.guild_id = h.guild_id and e.bot = h.bot and e.id = h.id
              and e.dstatus is null);

    if cardinality(looked) < budget then
        delete from log_rewrite r where r.n = w.n;
        perform keeper_unpark('rewrite', w.high, 0::smallint);
    else
        update log_rewrite r
           set at_guild = last.guild_id, at_bot = last.bot, at_id = last.id
         where r.n = w.n;
    end if;

    return true;
end $$;
