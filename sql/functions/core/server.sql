-- Where the head of a server's log is, whether it may be written for, and how
-- far back its plan lets it read.


-- Is each server by itself to be asked for? Only on Citus: see citus.sql.

create or replace function servers_apart()
returns boolean language sql immutable as $$
    select false
$$;


-- The server, if there is but one. On Citus a statement about servers has to
-- name one, or it would not be known where it is. Elsewhere "(lone is null or
-- guild_id = lone)" costs nothing.

create or replace function lone_of(guilds bigint[])
returns bigint language sql immutable as $$
    select case when cardinality(guilds) = 1
                     or servers_apart() and guilds[1] = all (guilds)
                then guilds[1] end
$$;


-- The same of a statement that is about all of them on one PostgreSQL, and on
-- Citus about one after the other.

create or replace function lones_of(guilds bigint[])
returns bigint[] language plpgsql immutable as $$
begin
    return case when servers_apart()
                then array(select distinct unnest(guilds) order by 1)
                else array[lone_of(guilds)] end;
end $$;


-- A turn of log_head or lane_tail, by their last number. It is a part of the
-- key, and the newest has the row that lives. So who looks for that passes none
-- of what it was in turns before, which nobody can take away while somebody has
-- a snapshot.

create or replace function turn_of(n bigint)
returns bigint language sql immutable as $$ select n >> 9 $$;


-- The head of a log, and the tail of a lane, by the primary key alone: the
-- planner has one row for two columns that are equal, and might sort all that
-- it was. Who locks the row asks for a turn from that on, as it may have moved
-- on meanwhile: it never goes back. version is for page_state().

create or replace function head_of(guild bigint, bot smallint,
    out version xid, out turn bigint, out arrival bigint, out blocked bigint,
    out since timestamptz, out last_at timestamptz, out first_log_at bigint)
returns setof record language sql stable as $$
    select h.xmin, h.turn, h.arrival, h.blocked, h.since, h.last_at,
           h.first_log_at
      from log_head h
     where (h.guild_id, h.bot, h.turn)
           <= (guild, head_of.bot, 9223372036854775807)
       and (h.guild_id, h.bot) >= (guild, head_of.bot)
       and (not servers_apart() or h.guild_id = guild)
     order by h.guild_id desc, h.bot desc, h.turn desc limit 1
$$;


create or replace function tail_of(guild bigint, lane bigint,
    out turn bigint, out tail bigint)
returns setof record language sql stable as $$
    select t.turn, t.tail
      from lane_tail t
     where (t.guild_id, t.lane, t.turn)
           <= (guild, tail_of.lane, 9223372036854775807)
       and (t.guild_id, t.lane) >= (guild, tail_of.lane)
       and (not servers_apart() or t.guild_id = guild)
     order by t.guild_id desc, t.lane desc, t.turn desc limit 1
$$;


-- The turns of the heads of these; null: there is none.

create or replace function heads_turns(guilds bigint[], bots smallint[])
returns bigint[] language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
    return array(
        select (select h.turn from head_of(n.guild, n.bot) h)
          from unnest(guilds, bots) n (guild, bot));
end $$;


-- Why nothing may be written for each of these servers; null: it may.

create or replace function server_obstacles(guilds bigint[])
returns text[] language plpgsql stable as $$
begin
    return array(
        select case when s.guild_id is null then 'server: unknown'
                    when s.forgotten_at is not null
                    then 'server: is being forgotten' end
          from unnest(guilds) with ordinality n (guild, place)
          left join lateral server_one(n.guild) s on true
         order by n.place);
end $$;


-- A server, by its key, within a statement.

create or replace function server_one(guild bigint, out guild_id bigint,
    out forgotten_at timestamptz, out plan text)
returns setof record language sql stable as $$
    select x.guild_id, x.forgotten_at, x.plan from server x
     where x.guild_id = guild offset 0
$$;


-- Refuses what is to be written for such a server: 404, or 409 while it is
-- being forgotten.

create or replace function server_open(guild bigint)
returns void language plpgsql as $$
declare
    obstacle  constant text := (server_obstacles(array[guild]))[1];
begin
    if obstacle is not null then
        perform refuse(case obstacle when 'server: unknown' then 404
                       else 409 end, obstacle);
    end if;
end $$;


-- The same after the (servers, bots) were waited for: who forgets a server had
-- it before. The module tries a serialization failure again, from the
-- beginning.

create or replace function servers_still_open(guilds bigint[])
returns void language plpgsql as $$
begin
    if num_nonnulls(variadic server_obstacles(guilds)) > 0 then
        raise exception using errcode = '40001',
            message = 'the server was forgotten meanwhile';
    end if;
end $$;


-- Makes the changes of one server wait for each other until the transaction
-- ends. Waits for a second at most: another change of the same server has it,
-- and 55006 says so. A table that somebody locks is 55P03 as everywhere.

create or replace function server_take(guild bigint)
returns void language plpgsql set lock_timeout = '1s' as $$
begin
    perform from server s where s.guild_id = guild
        for no key update skip locked;

    if found then
        return;
    end if;

    begin
        perform from server s where s.guild_id = guild for no key update;
    exception when lock_not_available then
        raise exception using errcode = '55006',
            message = format('server %s is taken', guild);
    end;
end $$;


-- The same; refuses with 404 what the operator never put, with 409 what is
-- being forgotten.

create or replace function server_lock(guild bigint)
returns void language plpgsql as $$
begin
    perform server_take(guild);
    perform server_open(guild);
end $$;


-- How far back the plan lets one read, in ms.

create or replace function retention_ms(plan text)
returns bigint language sql immutable as $$
    select case plan when 'pro' then 2592000000 else 3600000 end
$$;


-- May it read that far back again, without anything having been left out of its
-- log or its index? As long as its plan lapsed no more than 7 days ago. Who
-- upgrades it holds its row, as does who ends these days: see server_lapses().

create or replace function plan_keeps(plan text, lapsed_at timestamptz)
returns boolean language sql immutable as $$
    select retention_ms(plan) >= 86400000 or lapsed_at is not null
$$;


-- Ends the days of grace of plans that lapsed, with which the index of
-- searches goes, and all that is more than a day old, when blocks are made
-- next. A time to come was told by a clock that was ahead.

create or replace function server_lapses()
returns void language plpgsql set enable_seqscan = off as $$
begin
    with ended as (
        update server s
           set lapsed_at = null where s.lapsed_at < now() - interval '7 days'
        returning s.guild_id
    ),
    dues as (
        update log_head h
           set due_at = now() from ended e where h.guild_id = e.guild_id
    )
    update search_head h
       set leaving = true from ended e where h.guild_id = e.guild_id;

    update server s
       set lapsed_at = now() where s.lapsed_at > now() + interval '1 hour';
end $$;
