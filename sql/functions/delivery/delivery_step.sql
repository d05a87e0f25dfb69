-- The steps of lanes. Nothing of a message is sent before the step that names
-- its range is committed, so that after any crash what may have been sent is
-- what is in flight.

-- one lane's part of a step; the fields of what is not to be done are null

call type_make('delivery_work', $$
    guild     bigint,
    lane      bigint,
    shard     smallint,
    fence     bigint,
    step      bigint,     -- the number of this change, or of the last one
    changes   boolean,
    done_to   bigint,     -- decided: all behind the head up to here
    status    smallint,
    reason    text,
    message   bigint,
    attempts  int,
    refused   boolean,    -- what is in flight was not taken
    wait_ms   bigint,
    begin_to  bigint,     -- in flight from now on
    peek      bigint,     -- entries behind this one
    most      int,
    bytes     int         -- of their documents (null: any): one may be larger
$$);

-- a row of a step's answer: first each lane's result, then entries

call type_make('delivery_row', $$
    place     int,
    result    text,       -- ok, paused, empty, closing; lost: nothing was
                          -- committed; shared: closing, and its webhook is
                          -- another lane's, too; null: an entry
    seq       bigint,
    expired   boolean,
    doc       text,
    format    smallint,
    color     int,
    buttons   int,
    locale    smallint,
    spoilers  boolean
$$);


-- One step of many lanes in one transaction: what became of messages, which
-- ones are sent next, and the entries behind. A step that was committed already
-- changes nothing more; a lane that is somebody else's, or went on without the
-- caller, is lost to it. In one that was paused, or has become something else
-- meanwhile, nothing new begins.
--
-- Step numbers: a step takes the next one. Whoever else changes how far a lane
-- is takes two, so that the step of an owner who does not know of it is lost.
--
-- Lock: all rows of lane_head first, by server and lane.

create or replace function delivery_step(me text, work jsonb)
returns setof delivery_row language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    works  constant delivery_work[] := array(
               select w from jsonb_populate_recordset(
                   null::delivery_work, work) w);
    w      delivery_work;
    its    delivery_row;
    ends   text[] := '{}';
begin
    for w in select u.* from unnest(works) u order by u.guild, u.lane loop
        perform from lane_head h
          where h.guild_id = w.guild and h.lane = w.lane for update;
    end loop;

    for place in 1 .. cardinality(works) loop
        its.place := place;
        its.result := delivery_step_one(me, works[place]);
        ends := ends || its.result;
        return next its;
    end loop;

    for place in 1 .. cardinality(works) loop
        w := works[place];
        if ends[place] = 'ok' and w.peek is not null
           and w.most is distinct from 0
        then
            return query
                select place, null::text, p.*
                  from delivery_load(w.guild, w.lane, w.peek, w.most,
                                     w.bytes) p
                 order by p.seq;
        end if;
    end loop;
end $$;


-- The step of one lane; its result. A step with the number of the last one is
-- the same if it would leave the lane as it is; else that was a former owner's.

create or replace function delivery_step_one(me text, w delivery_work)
returns text language plpgsql as $$
declare
    its  record;
begin
    if not delivery_mine(me, w.shard, w.fence) then
        return 'lost';
    end if;

    select h.step, h.upto = h.head as idle,
           coalesce(w.done_to, h.head) = h.head
           and h.upto in (h.head, w.begin_to) as same,
           l.state in ('active', 'closing') and l.paused_at is null
           and rest_ms(w.guild) = 0 as goes_on,
           num_nonnulls(l.reason, l.told) > 0 as hurt
      into its
      from lane_head h
      left join lane l on l.guild_id = h.guild_id and l.lane = h.lane
     where h.guild_id = w.guild and h.lane = w.lane;

    if its.step = w.step then
        if w.changes and its.same is not true then
            return 'lost';
        elsif w.begin_to is not null and its.idle then
            return 'paused';
        end if;

    elsif not w.changes or its.step is distinct from w.step - 1 then
        return 'lost';

    else
        perform delivery_change(w, its.goes_on is true);

        if w.status = 2 and its.hurt then
            perform delivery_healed(w.guild, w.lane);
        end if;

        if its.goes_on is not true then
            return 'paused';
        end if;
    end if;

    return case when w.peek is null then 'ok' else delivery_rest(w) end;
end $$;


-- What kept this lane from delivering is over. One that somebody else has in
-- hand is set anew there.

create or replace function delivery_healed(guild bigint, lane bigint)
returns void language plpgsql as $$
begin
    perform from lane l
      where l.guild_id = guild and l.lane = delivery_healed.lane
        and l.state in ('active', 'closing')
        for update skip locked;

    if found then
        update lane l
           set reason = null, forbidden_at = null, told = null
         where l.guild_id = guild and l.lane = delivery_healed.lane;
    end if;
end $$;


-- begins: so does what is to be sent next.

create or replace function delivery_change(w delivery_work, begins boolean)
returns void language plpgsql as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    if not begins then
        w.begin_to := null;
    end if;

    insert into lane_batch (guild_id, lane, seq_from, seq_to, message_id,
                            done_at, attempts, status, reason)
    select w.guild, w.lane, h.head + 1, w.done_to, w.message,
           at, w.attempts, w.status, w.reason
      from lane_head h
     where h.guild_id = w.guild and h.lane = w.lane
       and w.done_to > h.head;

    if w.status = 1 then
        perform doubt_open(w, at);
    end if;

    update lane_head h
       set head = coalesce(w.done_to, h.head),
           upto = coalesce(w.begin_to, w.done_to, h.head),
           refused_to = case when w.refused
                             then greatest(h.refused_to, h.upto)
                             else h.refused_to end,
           step = w.step,
           attempts = case when w.done_to is not null then 0
                           else h.attempts end
                      + (w.begin_to is not null)::int,
           attempt_at = case when w.begin_to is not null
                             then at else h.attempt_at end,
           not_before = at + w.wait_ms * interval '1 ms',
           last_message_id = coalesce(w.message, h.last_message_id),
           mixed_at = case when w.status = 1 then at else h.mixed_at end
     where h.guild_id = w.guild and h.lane = w.lane;
end $$;


-- Does the lane have more to send? If not, its row of lane_ready is deleted.
-- The next entry, or whoever changes the lane, makes a new one. Lock: while
-- lane and lane_tail are locked nobody makes that new row, so it cannot be
-- deleted here. Entries past keeping do not exist any more. So a lane that has
-- only such entries, and sent nothing for a day, is empty.

create or replace function delivery_rest(w delivery_work)
returns text language plpgsql as $$
declare
    it    record;
    last  bigint;
begin
    select l.state, l.paused_at, h.head, h.upto,
           l.state = 'closing' and webhook_shared(row(l.*)::lane) as shared,
           w.changes is false
           and coalesce(h.attempt_at < now() - interval '1 day', true) as idle
      into it
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
     where l.guild_id = w.guild and l.lane = w.lane
       for share of l skip locked;

    if not found then
        return 'ok';
    end if;

    -- what is in flight comes to its end, whatever the lane has become

    if it.upto > it.head then
        return 'ok';
    end if;

    if it.state not in ('active', 'closing') or it.paused_at is not null then
        return 'paused';
    end if;

    select t.tail into last from lane_tail t
     where t.guild_id = w.guild
       and t.lane = w.lane
       and t.turn >= (select n.turn from tail_of(w.guild, w.lane) n)
       and (t.tail = it.head or it.idle)
       for update skip locked;

    if not found
       or last > it.head
          and exists (select from delivery_peek(w.guild, w.lane, it.head, 1))
    then
        return 'ok';
    end if;

    update lane_head h
       set head = last, upto = last
     where h.guild_id = w.guild and h.lane = w.lane and h.head < last;

    if it.state = 'closing' then
        return case when it.shared then 'shared' else 'closing' end;
    end if;

    delete from lane_ready r where r.guild_id = w.guild and r.lane = w.lane;

    return 'empty';
end $$;


-- Of those entries the first ones, whose documents have so many bytes together.

create or replace function delivery_load(guild bigint, lane bigint,
    behind bigint, most int, bytes int, out seq bigint, out expired boolean,
    out doc text, out format smallint, out color int, out buttons int,
    out locale smallint, out spoilers boolean)
returns setof record language plpgsql stable as $$
begin
    return query
        select p.seq, p.expired, p.doc, p.format, p.color, p.buttons,
               p.locale, p.spoilers
          from (select f.*, sum(octet_length(f.doc)) over (order by f.seq) as n
                  from delivery_peek(guild, lane, behind, most) f) p
         where bytes is null or p.n <= bytes or p.n = octet_length(p.doc);
end $$;


-- Entries of a lane, with what their message depends on. After 24 h they have
-- expired; the entries of late events are younger than their ids, and what was
-- sent again or stood in a paused lane is as young as that.

create or replace function delivery_peek(guild bigint, lane bigint,
    behind bigint, most int, out seq bigint, out expired boolean,
    out doc text, out format smallint, out color int, out buttons int,
    out locale smallint, out spoilers boolean)
returns setof record language plpgsql stable as $$
declare
    old     constant timestamptz := now() - interval '24 hours';
    mine    constant lane := (
                select l from lane l
                 where l.guild_id = guild and l.lane = delivery_peek.lane);
    looks   constant record := looks_of(guild, mine.bot);
begin
    return query
        select e.seq,
               e.id < time_id(ms(old)) and coalesce(e.again < old, true)
               and coalesce(mine.resumed_at < old, true),
               e.doc, coalesce(t.format_type, looks.format),
               coalesce(t.color, -1), looks.buttons, looks.locale,
               looks.spoilers
          from ((select n.seq, n.id, n.type, n.doc, n.recorded_at as again
                   from log_arrival n
                  where n.guild_id = guild
                    and n.lane = delivery_peek.lane
                    and n.seq > behind
                    and n.recorded_at <= (
                            select h.last_at from head_of(guild, mine.bot) h)
                  order by n.seq limit most)
                union all
                select p.seq, n.id, n.type, n.doc, p.at
                  from (select r.* from replay r
                         where r.guild_id = guild
                           and r.lane = delivery_peek.lane
                           and r.seq > behind
                           and not (r.first and exists (
                               select from log_arrival x
                                where x.guild_id = guild
                                  and x.lane = r.lane and x.seq = r.seq))
                         order by r.seq limit most) p
                 cross join lateral entry_named(guild, mine.bot, p.id) n
                order by 1 limit most) e
          left join logging_type t
            on t.guild_id = guild and t.bot = mine.bot
           and t.log_type = e.type
         order by e.seq;
end $$;
