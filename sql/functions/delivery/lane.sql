-- Lanes: the queues in front of the webhooks. Whoever adds to one, or finds it
-- empty, holds its row of lane_tail until the transaction ends.
--
-- Locks are taken in this order: server, log_head, lane_tail, lane, lane_head,
-- lane_ready, search_head; several rows of one table by lane. Whoever holds a
-- row waits for none of a table before it, unless it is of a lane of which he
-- has no later row. Who records adds what alerts say in a second round, so who
-- takes several lanes of a server has its log_head. A step takes lane_head
-- first: it waits for nothing behind that, and leaves out lanes that somebody
-- else has.


-- The channels that entries of the server may go to.

create or replace function channels_used(guild bigint, bot smallint)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select v.value::bigint
          from logging_channels c
         cross join lateral jsonb_each_text(
                   to_jsonb(c) - '{guild_id,bot}'::text[]) v
         where c.guild_id = guild and c.bot = channels_used.bot
           and v.value::bigint > 0
         union
        select t.log_channel from logging_type t
         where t.guild_id = guild and t.bot = channels_used.bot
           and t.log_channel > 0
         union
        select a.channel from alert a
         where a.guild_id = guild and a.bot = channels_used.bot
           and a.channel is not null);
end $$;


-- After a change of channels: new ones get a lane, which is registered at
-- once; those that are used no more deliver what they have, and close.

create or replace function lanes_sync(guild bigint, bot smallint,
    set_again bigint[] default '{}')
returns void language plpgsql as $$
declare
    used   bigint[];
    lanes  bigint[];
begin
    perform record_take(guild, bot);
    used := channels_used(guild, bot);
    lanes := array(select l.lane from lane l
                    where l.guild_id = guild and l.bot = lanes_sync.bot
                      and l.state <> 'closed');
    perform lanes_lock(guild, lanes);

    perform lanes_leave(guild, array(
        select l.lane from lane l
         where l.guild_id = guild and l.lane = any (lanes)
           and l.state in ('registering', 'active', 'broken')
           and not l.channel_id = any (used)));
    perform lanes_return(guild, array(
        select l.lane from lane l
         where l.guild_id = guild and l.lane = any (lanes)
           and l.state = 'closing' and l.channel_id = any (used)));
    perform lanes_again(guild, bot, set_again);

    perform lanes_room(guild, bot, used);
    perform lanes_open(guild, bot, used);
end $$;


-- Is there room for lanes to these channels? With 133 channels of each bot a
-- server has 266; those that are closing count as well.

create or replace function lanes_room(guild bigint, bot smallint,
    channels bigint[])
returns void language plpgsql stable as $$
declare
    more  constant int := (
              select count(*) from unnest(channels) c
               where not exists (
                         select from lane l
                          where l.guild_id = guild
                            and l.bot = lanes_room.bot
                            and l.channel_id = c
                            and l.state <> 'closed'));
    have  constant int := (select count(*) from lane l
                            where l.guild_id = guild
                              and l.state <> 'closed');
begin
    if more > 0 and have + more > 300 then
        perform refuse(429, 'too many log channels that were used are still '
                            'being left, try again later');
    end if;
end $$;


-- These are used no more. What has nothing at the platform, nor anything to
-- deliver, ends at once. One that is refused does not hurry.

create or replace function lanes_leave(guild bigint, lanes bigint[])
returns void language plpgsql as $$
begin
    update lane l
       set state = 'closing', since = now(), reason = null, lost_at = null,
           forbidden_at = null
     where l.guild_id = guild and l.lane = any (lanes);

    perform case when l.webhook_id is null and l.asked_at is null
                  and h.head = t.tail
                 then lane_end(guild, l.lane)
                 else lane_call(guild, l.lane) end
       from lane l
       join lane_tail t on t.guild_id = guild and t.lane = l.lane
       join lane_head h on h.guild_id = guild and h.lane = l.lane
      where l.guild_id = guild and l.lane = any (lanes);
end $$;


-- These were closing, and are used again. The webhook of one that is empty may
-- be deleted by now, or may not: as of one that was asked for.

create or replace function lanes_return(guild bigint, lanes bigint[])
returns void language plpgsql as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    update lane l
       set webhook_id = null, secret = null,
           asked_at = case when l.webhook_id is not null then at
                           else l.asked_at end
      from lane_head h
      join lane_tail t on t.guild_id = h.guild_id and t.lane = h.lane
     where l.guild_id = guild
       and l.lane = any (lanes)
       and h.guild_id = l.guild_id
       and h.lane = l.lane
       and h.head = t.tail;

    update lane l
       set state = case when l.webhook_id is not null then 'active'
                        else 'registering' end,
           since = now(), reason = null, lost_at = null, forbidden_at = null
     where l.guild_id = guild and l.lane = any (lanes);

    perform lane_call(guild, l) from unnest(lanes) l;
end $$;


-- The channels were set again: lanes to them that fail are tried again, ten
-- seconds after they were refused, but once a minute. whole: with a new
-- webhook, also where nothing is known to fail. False if there are none.

create or replace function lanes_again(guild bigint, bot smallint,
    channels bigint[], whole boolean default false)
returns boolean language plpgsql as $$
declare
    at     constant timestamptz := clock_timestamp();
    lanes  bigint[] := lanes_failing(guild, bot, channels, whole);
    it     lane;
begin
    if lanes = '{}' then
        return false;
    end if;

    perform record_take(guild, bot);
    perform lanes_lock(guild, lanes);
    lanes := lanes_failing(guild, bot, channels, whole);

    for it in
        select * from lane l where l.guild_id = guild and l.lane = any (lanes)
    loop
        it.again_at := least(at + interval '1 minute',
                             greatest(at, it.refused_at + interval '10 s',
                                      it.again_at + interval '1 minute'));

        update lane l
           set state = case when l.state = 'active' and not whole
                             and l.webhook_id is not null
                            then 'active' else 'registering' end,
               since = now(), reason = null, lost_at = null,
               forbidden_at = null, again_at = it.again_at
         where l.guild_id = guild and l.lane = it.lane;
        update lane_head h
           set not_before = it.again_at
         where h.guild_id = guild and h.lane = it.lane;

        perform lane_call(guild, it.lane);
    end loop;

    return lanes <> '{}';
end $$;


create or replace function lanes_failing(guild bigint, bot smallint,
    channels bigint[], whole boolean)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select l.lane from lane l
         where l.guild_id = guild
           and l.bot = lanes_failing.bot
           and l.channel_id = any (channels)
           and l.channel_id = any (channels_used(guild, lanes_failing.bot))
           and l.state in ('registering', 'active', 'broken')
           and (whole or l.state = 'broken' or l.reason is not null));
end $$;


-- Those of these channels that the directory knows under another server, and
-- not under this one. One of the two questions that are asked across servers.

create or replace function channels_astray(guild bigint, channels bigint[])
returns bigint[] language plpgsql stable as $$
declare
    others  constant bigint[] := array(
                select distinct d.id from directory d
                 where d.kind = 1 and d.id = any (channels)
                   and d.guild_id <> guild);
begin
    if others = '{}' then
        return others;
    end if;

    return array(
        select c from unnest(others) c
         where c <> all (array(select o.id from directory o
                                where o.guild_id = guild and o.kind = 1
                                  and o.id = any (others))));
end $$;


-- This server has these channels, as its directory was told: a lane of another
-- one that goes there is verified again, before anything else is sent. That it
-- was verified is from before the channel was known.

create or replace function lanes_doubted(guild bigint, channels bigint[])
returns void language plpgsql as $$
declare
    it  record;
begin
    for it in
        select l.guild_id, l.lane, l.channel_id from lane l
         where l.channel_id = any (channels)
           and l.verified_at is not null
           and l.guild_id <> guild
           and l.state <> 'closed'
         order by l.guild_id, l.lane
    loop
        if channels_astray(it.guild_id, array[it.channel_id]) <> '{}' then
            update lane l
               set verified_at = null
             where l.guild_id = it.guild_id and l.lane = it.lane
               and l.state <> 'closed';
            perform lane_wake(it.guild_id, it.lane);
        end if;
    end loop;
end $$;


-- Is the webhook of this lane one that another lane uses? It is not to be
-- deleted then. The other question.

create or replace function webhook_shared(l lane)
returns boolean language plpgsql stable as $$
begin
    return exists (
        select 1 from lane o
         where o.webhook_id = l.webhook_id
           and (o.guild_id, o.lane) <> (l.guild_id, l.lane)
           and o.state in ('registering', 'active', 'broken'));
end $$;


-- A lane has come to its end: nothing is in it, and nothing of it at the
-- platform. One that never had an entry leaves nothing behind; entries are
-- looked up by others for as long as they are kept. The caller has its rows of
-- lane_tail and lane.

create or replace function lane_end(guild bigint, lane bigint)
returns void language plpgsql as $$
begin
    if (select t.tail from lane_tail t
         where t.guild_id = guild and t.lane = lane_end.lane) > 0
    then
        update lane l
           set state = 'closed', since = now(), webhook_id = null,
               secret = null, asked_at = null,
               look_at = now() + interval '1 day'
         where l.guild_id = guild and l.lane = lane_end.lane;
    else
        perform lane_delete(guild, lane);
    end if;

    delete from lane_ready r
     where r.guild_id = guild and r.lane = lane_end.lane;
end $$;


create or replace function lane_delete(guild bigint, lane bigint)
returns void language plpgsql as $$
begin
    delete from lane l
     where l.guild_id = guild and l.lane = lane_delete.lane;
    delete from lane_head h
     where h.guild_id = guild and h.lane = lane_delete.lane;
    delete from lane_tail t
     where t.guild_id = guild and t.lane = lane_delete.lane;
end $$;


-- Deletes closed lanes that no entry refers to any more, looking at so many;
-- how many it looked at.

create or replace function lanes_forget(most int)
returns int language plpgsql as $$
declare
    shut  constant record := keeper_shut('lanes');
    old   record;
    n     int := 0;
begin
    for old in
        select l.guild_id, l.bot, l.lane from lane l
         where l.state = 'closed' and l.look_at <= now()
           and (l.guild_id, l.bot) not in (
                   select * from unnest(shut.guilds, shut.bots))
         order by l.look_at limit most
    loop
        n := n + 1;
        perform keeper_each('lanes', old.guild_id, old.bot,
                            format('select lane_forget($1, %s)', old.lane),
                            null);
    end loop;

    return n;
end $$;


-- The same for one, unless somebody has it; whether it did it. An entry refers
-- to its lane until its delivery is settled, so a lane that has any is
-- looked at again in a day.

create or replace function lane_forget(guild bigint, lane bigint)
returns int language plpgsql as $$
begin
    perform from lane_tail t
      where t.guild_id = guild and t.lane = lane_forget.lane
        for update skip locked;

    if not found then
        return 0;
    end if;

    if lane_referred(guild, lane) then
        update lane l
           set look_at = now() + interval '1 day'
         where l.guild_id = guild and l.lane = lane_forget.lane;
    else
        perform lane_delete(guild, lane);
    end if;

    return 1;
end $$;


create or replace function lane_referred(guild bigint, lane bigint)
returns boolean language plpgsql stable as $$
begin
    return exists (select from log_arrival e
                    where e.guild_id = guild and e.lane = lane_referred.lane)
        or exists (select from log_block k
                    where k.guild_id = guild and k.settle is not null
                      and strpos(k.said, 'l' || lane_referred.lane || ' ') > 0)
        or exists (select from replay r
                    where r.guild_id = guild and r.lane = lane_referred.lane)
        or exists (select from doubt d
                    where d.guild_id = guild and d.lane = lane_referred.lane);
end $$;


-- There is something to do. One that failed, and tried nothing since, does not
-- wait to fail again; any other waits as the platform said.

create or replace function lane_wake(guild bigint, lane bigint)
returns void language plpgsql as $$
begin
    update lane_head h
       set not_before = null
      from lane l
     where l.guild_id = guild
       and l.lane = lane_wake.lane
       and l.reason is not null
       and h.guild_id = l.guild_id
       and h.lane = l.lane
       and coalesce(h.attempt_at <= l.refused_at, true)
       and h.not_before is not null;

    perform lane_call(guild, lane);
end $$;


create or replace function lane_call(guild bigint, lane bigint)
returns void language plpgsql as $$
begin
    insert into lane_ready as r (guild_id, lane, shard, since)
    select guild, l.lane, l.shard, clock_timestamp()
      from lane l
     where l.guild_id = guild and l.lane = lane_call.lane
    on conflict on constraint lane_ready_pkey
        do update set since = excluded.since, parked_to = null;
end $$;
