-- Forgetting a server whole. What may be at the platform goes first, then the
-- rows of each table, then the server's own row, which says until then that it
-- is being forgotten. Each turn is a transaction that looks at what is left, so
-- one that is cut off leaves nothing behind but work.


-- DELETE /servers/{guild} of the operator. Whoever changes, takes events or
-- records holds the server's row, its event_head or a log_head, and is waited
-- for here; tokens are gone at once.
-- What is held goes now: its release would open lanes.

create or replace function operator_server_forget(guild bigint,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at  constant timestamptz := clock_timestamp();
    it  server;
begin
    perform server_take(guild);
    select * into it from server s where s.guild_id = guild for update;

    if not found then
        perform refuse(404, 'server: unknown');
    end if;

    status := 202;
    body := '{}';

    if it.forgotten_at is not null then
        return;
    end if;

    insert into event_head as h (guild_id, version) values (guild, 1)
    on conflict on constraint event_head_pkey do update
       set version = h.version + 1;
    perform from log_head h where h.guild_id = guild order by h.bot for update;

    delete from token t where t.guild_id = guild;
    delete from logging_channels c where c.guild_id = guild;
    delete from logging_type t where t.guild_id = guild;
    delete from alert a where a.guild_id = guild;
    update log_head h set watched = null where h.guild_id = guild;
    update log_arrival a
       set held_to = null, dstatus = 0, dreason = 'off'
     where a.guild_id = guild and a.held_to is not null;

    update server s
       set forgotten_at = at,
           forgotten_by = pg_current_xact_id(), paused_at = null
     where s.guild_id = guild;

    perform lanes_sync(guild, b::smallint) from generate_series(0, 1) b;
    update lane l
       set paused_at = null
     where l.guild_id = guild and l.paused_at is not null;
end $$;


-- A turn of a server that is being forgotten: deletes at most so many rows;
-- true if there is more to do at once.

create or replace function server_forget(guild bigint, most int)
returns boolean language plpgsql as $$
declare
    it    constant server := (select s from server s
                               where s.guild_id = guild);
    gone  int;
begin
    perform lanes_drain(guild);

    if it.forgotten_at > now() - interval '30 minutes'
       and lanes_remain(guild)
    then
        return false;
    end if;

    gone := server_rows_delete(guild, most);

    -- a transaction that is yet to come was one of the store that this one was
    -- restored from

    if gone = 0
       and (it.forgotten_by < pg_snapshot_xmin(pg_current_snapshot())
            or it.forgotten_by > pg_current_xact_id())
    then
        delete from server s where s.guild_id = guild;
    end if;

    return gone > 0;
end $$;


-- What waits in lanes of which nothing is in flight will not be sent. The step
-- takes a lane from the worker that has it in hand, who finds it anew.

create or replace function lanes_drain(guild bigint)
returns void language plpgsql as $$
declare
    drained  bigint;
begin
    for drained in
        update lane_head h
           set head = t.tail, upto = t.tail, step = h.step + 2, attempts = 0
          from lane_tail t
         where h.guild_id = guild
           and t.guild_id = guild and t.lane = h.lane
           and h.upto = h.head and t.tail > h.head
        returning h.lane
    loop
        perform lane_wake(guild, drained);
    end loop;
end $$;


-- Is there a lane that has a webhook at the platform, or may have one?

create or replace function lanes_remain(guild bigint)
returns boolean language plpgsql stable as $$
begin
    return exists (
        select from lane l
         where l.guild_id = guild and l.state <> 'closed'
           and num_nonnulls(l.webhook_id, l.asked_at) > 0);
end $$;


-- Deletes rows of the server from each table, at most so many; how many.

create or replace function server_rows_delete(guild bigint, most int)
returns int language plpgsql set enable_seqscan = off as $$
declare
    gone  int := 0;
    n     int;
    name  regclass;
begin
    for name in select * from server_tables() loop
        exit when gone >= most;

        execute format('delete from %s where guild_id = $1 and ctid = any '
                       '(array(select x.ctid from %1$s x '
                       'where x.guild_id = $1 limit $2))', name)
          using guild, most - gone;

        get diagnostics n = row_count;
        gone := gone + n;
    end loop;

    return gone;
end $$;


-- The tables with rows of servers, each partition by itself. Lanes come first:
-- what is written by who delivers depends on them.

create or replace function server_tables()
returns setof regclass language plpgsql stable as $$
begin
    return query
        select c.oid::regclass
          from pg_class c
          join pg_attribute a on a.attrelid = c.oid
           and a.attname = 'guild_id' and not a.attisdropped
         where c.relnamespace = 'guildlog'::regnamespace
           and c.relkind = 'r'
           and c.relname <> 'server'
         order by c.relname !~ '^lane', c.relname;
end $$;


-- The keeper's task: a turn of the servers and one of the people that are being
-- forgotten. A server that fails is left out for a while, and others go on.
-- Undone: how many these are.

create or replace function keeper_forget(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    shut   constant record := keeper_shut('forget');
    guild  bigint;
begin
    more := false;

    for guild in
        select s.guild_id from server s
         where s.forgotten_at is not null
           and s.guild_id <> all (shut.guilds)
         order by s.forgotten_at
    loop
        begin
            more := server_forget(guild, greatest(budget / 4, 1));
        exception when others then
            perform keeper_park('forget', guild, 0::smallint,
                                sqlstate || ' ' || sqlerrm);
        end;

        exit when more;
    end loop;

    more := people_forget(budget) or more;
    lag := (select count(*) from server s where s.forgotten_at is not null)
           + (select count(*) from forgotten_person);
end $$;
