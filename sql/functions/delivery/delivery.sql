-- Delivery: the lanes that have something to do, for the worker that delivers.

-- all that has to be known to go on with a lane

call type_make('delivery_lane', $$
    guild       bigint,
    lane        bigint,
    shard       smallint,
    fence       bigint,
    bot         smallint,
    channel     bigint,
    state       text,
    webhook     bigint,
    secret      bytea,
    head        bigint,
    upto        bigint,
    step        bigint,
    attempts    int,
    attempt_ms  bigint,   -- the age of the last attempt; without a webhook,
                          -- to get one
    wait_ms     bigint,   -- nothing is to be sent before
    message     bigint,   -- the last one delivered
    since       bigint,   -- tells one call for it from the next
    ids         text,     -- of the entries in flight, separated by commas
    verified    boolean   -- its channel was found to be the server's
$$);

-- How far a worker has looked: it has seen every lane that was called for
-- before "low". "at" is the time of a later look. It becomes "low" when all
-- transactions before "next" have ended: none can show an older call any more.

call type_make('delivery_mark', $$
    low   timestamptz,
    at    timestamptz,
    next  xid8
$$);


-- Who looks now, after he has looked so far. A transaction that goes on for
-- longer than half a minute is not waited for: now and then all is looked at.
-- Race: the greatest number of a snapshot is that behind the last transaction
-- that has ended, and one that goes on may have it. The number of this one is
-- behind all that began.

create or replace function delivery_marked(mark delivery_mark)
returns delivery_mark language plpgsql as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    if mark is null or mark.next <= pg_snapshot_xmin(pg_current_snapshot())
    then
        mark := row(mark.at, at, pg_current_xact_id());
    end if;

    mark.low := greatest(mark.low, at - interval '30 s');

    return mark;
end $$;


-- The next lanes of this owner that have something to do, at most so many,
-- behind (after_guild, after_lane). With low: only those that were called for
-- after that time. Parked lanes are left out. A page that is not full is the
-- last one.

create or replace function delivery_ready(me text, low timestamptz,
    after_guild bigint, after_lane bigint, most int)
returns setof lane_ready language plpgsql as $$
declare
    mine  constant smallint[] := delivery_shards(me);
begin
    if low is null then
        return query
            select r.*
              from lane_ready r
             where r.shard = any (mine)
               and r.guild_id >= after_guild
               and (r.guild_id > after_guild or r.lane > after_lane)
               and coalesce(r.parked_to < clock_timestamp(), true)
             order by r.guild_id, r.lane
             limit most;
    else
        return query
            select r.*
              from lane_ready r
             where r.shard = any (mine) and r.since > low
               and (r.guild_id > after_guild
                    or r.guild_id = after_guild and r.lane > after_lane)
               and coalesce(r.parked_to < clock_timestamp(), true)
             order by r.guild_id, r.lane
             limit most;
    end if;
end $$;


-- The database refused a statement about this lane. The lane is set aside, and
-- others go on. It is tried again in ten minutes, or as soon as somebody
-- changes it.

create or replace function delivery_park(me text, guild bigint, lane bigint,
    cause text, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at    constant timestamptz := clock_timestamp();
    mine  constant smallint[] := delivery_shards(me);
begin
    update lane_ready r
       set parked_to = at + interval '10 minutes',
           parked_for = cause
     where r.guild_id = guild
       and r.lane = delivery_park.lane
       and r.shard = any (mine);

    status := case when found then 200 else 404 end;
    body := 'lane ' || lane || ' of server ' || guild || ', ' || cause || ',';
end $$;


-- The same, and the row of a find that tells of it.

create or replace function delivery_parked(me text, guild bigint, lane bigint,
    cause text)
returns delivery_lane language plpgsql as $$
declare
    its  delivery_lane;
begin
    its.guild := guild;
    its.lane := lane;
    its.state := 'parked';
    its.ids := (select p.body from delivery_park(me, guild, lane, cause) p);
    return its;
end $$;


-- Is a lane, or a doubt, to blame for what the database refused with that code?
-- Else it is busy, away or changed just now: the whole is asked again. As nginx
-- has it in its table (src/db/ngx_guildlog_db_result.c; t/delivery/bad-row.t).

create or replace function delivery_blames(code text)
returns boolean language sql immutable as $$
    select code !~ '^(08|25|26|28|3D|3F|40|42|53|55|57|58)'
$$;


-- What the database refused, in one line.

create or replace function delivery_cause(code text, message text)
returns text language sql immutable as $$
    select 'SQLSTATE ' || code || ': '
           || left(regexp_replace(message, '[[:cntrl:]]+', ' ', 'g'), 200)
$$;


-- That page, behind a row with the mark of the next call alone (as its state),
-- and what was decided about what needs no sending. A lane without a state is
-- not to be delivered now: it is broken or paused, or it or its server rests
-- for longer than until it is found again. Without a mark: all of them. apart:
-- this was refused because of one of them; that one is parked. The module of
-- the release before does not say.

create or replace function delivery_find(me text, mark text,
    after_guild bigint, after_lane bigint, most int default 1000,
    apart boolean default true)
returns setof delivery_lane language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    low    constant timestamptz := (mark::delivery_mark).low
                                   - interval '1 s';
    ready  lane_ready;
    its    delivery_lane;
begin
    its.state := delivery_marked(mark::delivery_mark)::text;
    return next its;

    if mark is null then
        return query
            select x.* from delivery_expire(me, after_guild, after_lane, most,
                                            apart) x;
    end if;

    for ready in
        select r.* from delivery_ready(me, low, after_guild, after_lane,
                                       most) r
    loop
        begin
            return query select x.* from delivery_found(ready) x;
        exception when others then
            if not apart or not delivery_blames(sqlstate) then
                raise;
            end if;
            return next delivery_parked(me, ready.guild_id, ready.lane,
                                        delivery_cause(sqlstate, sqlerrm));
        end;
    end loop;
end $$;


-- What there is to say of one of them.

create or replace function delivery_found(ready lane_ready)
returns setof delivery_lane language plpgsql as $$
declare
    ended  record;
    its    delivery_lane;
begin
    select f.* into ended from delivery_fail(ready) f;

    if ended.reason is null then
        its := delivery_lane(ready);
    else
        its.state := ended.reason;
        its.head := ended.n;
        return next its;

        its := null;
        its.guild := ready.guild_id;
        its.lane := ready.lane;
    end if;

    if its.guild is not null then
        return next its;
    end if;
end $$;


-- One of them; null if it is gone.

create or replace function delivery_lane(ready lane_ready)
returns delivery_lane language plpgsql as $$
declare
    rest  constant bigint := rest_ms(ready.guild_id);
    its   delivery_lane;
begin
    select ready.guild_id, ready.lane, ready.shard, null, l.bot,
           l.channel_id,
           case when l.state in ('registering', 'active', 'closing')
                 and l.paused_at is null
                 and coalesce(h.not_before < clock_timestamp()
                                             + interval '40 s', true)
                 and rest < 40000
                then l.state end,
           l.webhook_id, l.secret, h.head, h.upto, h.step, h.attempts,
           delivery_age(case when l.webhook_id is null then l.asked_at
                             else h.attempt_at end),
           greatest(rest, ms(h.not_before) - ms(clock_timestamp())),
           h.last_message_id,
           (extract(epoch from ready.since) * 1000000)::bigint, null,
           l.verified_at is not null
      into its
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
     where l.guild_id = ready.guild_id and l.lane = ready.lane;

    its.fence := (select s.fence from shard_lease s
                   where s.shard = ready.shard);

    if its.upto > its.head then
        its.ids := (select string_agg(e.id::text, ',')
                      from doubt_entries(ready.guild_id, ready.lane,
                                         its.head + 1, its.upto) e);
    end if;

    return its;
end $$;


-- How long ago that was, in ms, by the clock that noted it; null: never.

create or replace function delivery_age(at timestamptz)
returns bigint language sql volatile as $$
    select case when at is not null
                then greatest(0, ms(clock_timestamp()) - ms(at)) end
$$;


-- What stands in a broken lane is decided: it will not be delivered. Why, and
-- how many entries; null: it is not broken, or somebody has it. If its channel
-- is used no more, the lane is left.

create or replace function delivery_fail(ready lane_ready, out reason text,
    out n bigint)
language plpgsql as $$
declare
    broken  record;
begin
    select l.bot, l.channel_id, l.reason, t.tail into broken
      from lane l
      join lane_tail t
        on t.guild_id = l.guild_id and t.lane = l.lane
       and t.turn >= (select n.turn
                        from tail_of(ready.guild_id, ready.lane) n)
     where l.guild_id = ready.guild_id and l.lane = ready.lane
       and l.state = 'broken' and l.paused_at is null
       for update of t skip locked
       for share of l skip locked;

    if not found then
        return;
    end if;

    reason := broken.reason;

    insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                            attempts, status, reason)
    select h.guild_id, h.lane, h.head + 1, broken.tail, clock_timestamp(),
           h.attempts, 0, broken.reason
      from lane_head h
     where h.guild_id = ready.guild_id
       and h.lane = ready.lane
       and broken.tail > h.head
    returning seq_to - seq_from + 1 into n;
    n := coalesce(n, 0);

    update lane_head h
       set head = broken.tail, upto = broken.tail, step = h.step + 2,
           attempts = 0
     where h.guild_id = ready.guild_id and h.lane = ready.lane;
    delete from lane_ready r
     where r.guild_id = ready.guild_id and r.lane = ready.lane;

    if not broken.channel_id = any (channels_used(ready.guild_id, broken.bot))
    then
        perform lanes_leave(ready.guild_id, array[ready.lane]);
    end if;
end $$;


-- What waits for a webhook expires as everything else, at most 20 lanes at a
-- time: each look at one costs, so it is at some of them, and any has its
-- chance.

create or replace function delivery_expire(me text, after_guild bigint,
    after_lane bigint, most int, apart boolean)
returns setof delivery_lane language plpgsql as $$
declare
    waits  lane_head;
    its    delivery_lane;
    n      int := 0;
begin
    its.state := 'expired';

    for waits in
        select w.* from delivery_waiting(me, after_guild, after_lane, most) w
    loop
        begin
            its.head := lane_expire(waits);
        exception when others then
            if not apart or not delivery_blames(sqlstate) then
                raise;
            end if;
            its.head := null;
            return next delivery_parked(me, waits.guild_id, waits.lane,
                                        delivery_cause(sqlstate, sqlerrm));
        end;

        continue when its.head is null;
        return next its;

        n := n + 1;
        exit when n = 20;
    end loop;
end $$;


-- How many entries of this lane have expired, before the first one that has
-- not; null: none.

create or replace function lane_expire(waits lane_head)
returns bigint language plpgsql as $$
declare
    last  bigint;
begin
    if not exists (select from delivery_peek(waits.guild_id, waits.lane,
                                             waits.head, 1) p
                    where p.expired)
    then
        return null;
    end if;

    last := (select coalesce(min(p.seq) filter (where not p.expired) - 1,
                             max(p.seq))
               from delivery_peek(waits.guild_id, waits.lane, waits.head,
                                  1000) p);

    if last > waits.head is not true then
        return null;        -- it was paused, and is resumed meanwhile
    end if;

    update lane_head h
       set head = last, upto = last, step = h.step + 2
     where h.guild_id = waits.guild_id
       and h.lane = waits.lane
       and h.step = waits.step;

    if not found then
        return null;
    end if;

    insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                            attempts, status, reason)
    values (waits.guild_id, waits.lane, waits.head + 1, last,
            clock_timestamp(), 0, 0, 'expired');

    return last - waits.head;
end $$;


-- Some of the lanes of that page in which something waits for a webhook, for
-- more than an hour; others each time.

create or replace function delivery_waiting(me text, after_guild bigint,
    after_lane bigint, most int)
returns setof lane_head language plpgsql as $$
begin
    return query
        select w.*
          from delivery_ready(me, null, after_guild, after_lane, most) r
         cross join lateral lane_waits(r.guild_id, r.lane) w
         order by random() limit 100;
end $$;


-- The lane, if it is one of those.

create or replace function lane_waits(guild bigint, lane bigint)
returns setof lane_head language sql stable as $$
    select h.*
      from lane l
      join lane_head h
        on h.guild_id = l.guild_id and h.lane = l.lane and h.upto = h.head
      join tail_of(guild, lane_waits.lane) t on t.tail > h.head
     where l.guild_id = guild and l.lane = lane_waits.lane
       and l.state = 'registering'
       and l.since < now() - interval '1 hour' and l.paused_at is null
     limit 1
$$;


-- Gives held entries their places; how many.

create or replace function delivery_release(out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    status := 200;
    body := (select count(*) from held_release());
end $$;
