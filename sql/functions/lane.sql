-- Lanes: the queues in front of the webhooks. Whoever adds to one, or finds it
-- empty, holds its row of lane_tail until the transaction ends.

drop type if exists lane_place, lane_ends, log_open, log_delivery cascade;

-- a place in a lane

create type lane_place as (
    lane  bigint,
    seq   bigint
);

-- lanes and what was the last number in each of them, before entries came

create type lane_ends as (
    lanes     bigint[],
    tails     bigint[],
    channels  bigint[]
);

-- an entry whose delivery is to be looked up, and what has become of it

create type log_open as (
    id    bigint,
    lane  bigint,
    seq   bigint,
    at    timestamptz,    -- before which nothing was decided
    held  boolean
);

create type log_delivery as (
    id          bigint,
    status      smallint,
    reason      text,
    message_id  bigint
);


-- One lane for each of these channels, if it has none: the channel's webhook
-- is registered by who delivers.

create or replace function lanes_open(guild bigint, bot smallint,
    channels bigint[])
returns void language plpgsql as $$
begin
    with opened as (
        insert into lane (guild_id, lane, bot, channel_id, shard, paused_at)
        select guild, n.id, lanes_open.bot, c.channel,
               shard_of(n.id),
               (select s.paused_at from server s where s.guild_id = guild)
          from (select distinct u.channel from unnest(channels) u (channel)
                 where u.channel > 0
                   and not exists (
                       select from lane l
                        where l.guild_id = guild
                          and l.bot = lanes_open.bot
                          and l.channel_id = u.channel
                          and l.state <> 'closed')) c
         cross join lateral (select next_id(ms(clock_timestamp()))
                              where c.channel > 0) n (id)
        on conflict do nothing
        returning lane.lane, shard
    ), tails as (
        insert into lane_tail (guild_id, lane)
        select guild, o.lane from opened o
    ), heads as (
        insert into lane_head (guild_id, lane)
        select guild, o.lane from opened o
    )
    insert into lane_ready (guild_id, lane, shard, since)
    select guild, o.lane, o.shard, clock_timestamp() from opened o;
end $$;


-- Takes places for entries that go to these channels (0 or null: to none):
-- those that lane_places() says. The caller has the (server, bot) to itself by
-- record_begin(), so that the numbers of a lane follow the order of commits and
-- have no gap.

create or replace function lanes_take(guild bigint, bot smallint,
    channels bigint[])
returns lane_ends language plpgsql as $$
declare
    used    bigint[];
    counts  bigint[];    -- for each of them
    ends    lane_ends;
begin
    select array_agg(u.channel), array_agg(u.n) into used, counts
      from (select c, count(*) from unnest(channels) c where c > 0
             group by c) u (channel, n);

    if used is null then
        return null;
    end if;

    loop
        select array_agg(q.lane), array_agg(q.tail), array_agg(q.channel_id)
          into ends.lanes, ends.tails, ends.channels
          from (select t.lane, t.tail, l.channel_id
                  from lane l
                  join lane_tail t
                    on t.guild_id = guild and t.lane = l.lane
                 where l.guild_id = guild
                   and l.bot = lanes_take.bot
                   and l.channel_id = any (used)
                   and l.state <> 'closed'
                 order by t.lane for update of t) q;

        -- one that is closed, or was meanwhile, is opened anew

        exit when cardinality(ends.lanes) = cardinality(used)
              and not exists (select from lane l
                               where l.guild_id = guild
                                 and l.lane = any (ends.lanes)
                                 and l.state = 'closed');

        perform lanes_open(guild, bot, used);
    end loop;

    perform lanes_grow(guild, ends, used, counts);

    return ends;
end $$;


-- So many more entries for the lanes of these channels: there is something to
-- do.

create or replace function lanes_grow(guild bigint, ends lane_ends,
    used bigint[], counts bigint[])
returns void language plpgsql as $$
begin
    update lane_tail t
       set tail = t.tail + u.n
      from unnest(ends.lanes, ends.channels) e (lane, channel)
      join unnest(used, counts) u (channel, n) on u.channel = e.channel
     where t.guild_id = guild and t.lane = e.lane;

    insert into lane_ready (guild_id, lane, shard, since)
    select guild, l.lane, l.shard, clock_timestamp()
      from lane l
     where l.guild_id = guild and l.lane = any (ends.lanes)
     order by l.lane
    on conflict do nothing;
end $$;


-- The places that were taken, in the order of these channels.

create or replace function lane_places(channels bigint[], ends lane_ends,
    out place int, out lane bigint, out seq bigint)
returns setof record language sql immutable as $$
    select n, e.lane,
           e.tail + row_number() over (partition by e.lane order by n)
      from generate_subscripts(channels, 1) n
      left join unnest((ends).lanes, (ends).tails, (ends).channels)
                    e (lane, tail, channel)
        on e.channel = channels[n]
$$;


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
           and t.log_channel > 0);
end $$;


-- After a change of channels: new ones get a lane, which is registered at
-- once; those that are used no more deliver what they have, and close. One that
-- fails is tried again if its channel was set again.

create or replace function lanes_sync(guild bigint, bot smallint,
    set_again bigint[] default '{}')
returns void language plpgsql as $$
declare
    used   bigint[];
    lanes  bigint[];
begin
    perform record_take(guild, bot);
    used := channels_used(guild, bot);
    perform lanes_open(guild, bot, used);

    lanes := array(
        select l.lane from lane l
         where l.guild_id = guild
           and l.bot = lanes_sync.bot
           and case when l.channel_id = any (used)
                    then l.state = 'closing'
                         or l.channel_id = any (set_again)
                            and (l.state = 'broken' or l.reason is not null)
                    else l.state in ('registering', 'active', 'broken') end
         order by l.lane
           for update);

    -- that of a lane that was closing, and is empty, may be deleted by now

    update lane l
       set webhook_id = null, secret = null
      from lane_head h
      join lane_tail t on t.guild_id = h.guild_id and t.lane = h.lane
     where l.guild_id = guild
       and l.lane = any (lanes)
       and l.state = 'closing'
       and l.channel_id = any (used)
       and h.guild_id = l.guild_id
       and h.lane = l.lane
       and h.head = t.tail;

    perform lane_wake(guild, l) from unnest(lanes) l;

    update lane l
       set state = case when not l.channel_id = any (used) then 'closing'
                        when l.state in ('active', 'closing')
                         and l.webhook_id is not null
                        then 'active'
                        else 'registering' end,
           since = now(), reason = null, lost_at = null, forbidden_at = null
     where l.guild_id = guild and l.lane = any (lanes);
end $$;


-- There is something to do. One that failed does not wait to fail again; any
-- other waits as the platform said.

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
       and h.not_before is not null;

    insert into lane_ready as r (guild_id, lane, shard, since)
    select guild, l.lane, l.shard, clock_timestamp()
      from lane l
     where l.guild_id = guild and l.lane = lane_wake.lane
    on conflict on constraint lane_ready_pkey
        do update set since = excluded.since;
end $$;


-- The delivery of what has a place: what was decided, else how far the lane
-- has come. at: when the entry happened, before which nothing was decided,
-- unless the clock was set back meanwhile: then it is looked for at any time.

create or replace function lane_delivery(guild bigint, lane bigint,
    seq bigint, at timestamptz, out status smallint, out reason text,
    out message_id bigint)
language plpgsql stable as $$
begin
    select b.status, b.reason, b.message_id
      into status, reason, message_id
      from (select * from lane_batch b
             where b.guild_id = guild
               and b.lane = lane_delivery.lane
               and b.seq_from <= lane_delivery.seq
               and b.done_at >= at - interval '2 minutes'
             order by b.seq_from desc limit 1) b
     where b.seq_to >= lane_delivery.seq;

    if found then
        return;
    end if;

    if at > '-infinity'
       and exists (select from lane_head h
                    where h.guild_id = guild
                      and h.lane = lane_delivery.lane
                      and h.head >= lane_delivery.seq)
    then
        select d.* into status, reason, message_id
          from lane_delivery(guild, lane, seq, '-infinity') d;
        return;
    end if;

    select w.status, w.reason into status, reason
      from lane_head h
     cross join lateral lane_waiting(row(h.*)::lane_head, seq) w
     where h.guild_id = guild and h.lane = lane_delivery.lane;
end $$;


-- Of what is not decided yet.

create or replace function lane_waiting(h lane_head, seq bigint,
    out status smallint, out reason text)
returns setof record language sql immutable as $$
    select (h.head < seq and h.upto >= seq)::int::smallint,
           case when h.upto >= seq then 'in_flight'
                when h.refused_to >= seq then 'retrying'
                else 'queued' end
$$;


-- The same for entries of one lane at once. Those that lie close together are
-- one range of what was decided.

create or replace function lane_deliveries(guild bigint, lane bigint,
    open log_open[])
returns setof log_delivery language plpgsql stable as $$
declare
    low    bigint;
    high   bigint;
    first  bigint;
    since  timestamptz;
begin
    select min(o.seq), max(o.seq), min(o.at) - interval '2 minutes'
      into low, high, since
      from unnest(open) o;

    if high - low > 1000 then
        return query
            select o.id, d.status, d.reason, d.message_id
              from unnest(open) o
             cross join lateral lane_delivery(guild, lane_deliveries.lane,
                                              o.seq, o.at) d;
        return;
    end if;

    first := (select b.seq_from from lane_batch b
               where b.guild_id = guild
                 and b.lane = lane_deliveries.lane
                 and b.seq_from <= low
                 and b.done_at >= since
               order by b.seq_from desc limit 1);

    return query
        select o.id,
               case when d.seq is null then w.status else d.status end,
               case when d.seq is null then w.reason else d.reason end,
               case when d.seq is null then w.message_id
                    else d.message_id end
          from unnest(open) o
          left join (
              select s.seq, b.status, b.reason, b.message_id
                from lane_batch b
               cross join lateral generate_series(
                         greatest(b.seq_from, low), least(b.seq_to, high))
                         s (seq)
               where b.guild_id = guild
                 and b.lane = lane_deliveries.lane
                 and b.seq_from >= coalesce(first, low)
                 and b.seq_from <= high
                 and b.done_at >= since) d on d.seq = o.seq
          left join lane_head h
            on h.guild_id = guild and h.lane = lane_deliveries.lane
         cross join lateral (
               select x.status, x.reason, null::bigint
                 from lane_waiting(row(h.*)::lane_head, o.seq) x
                where d.seq is null and coalesce(h.head < o.seq, true)
                union all
               select x.*
                 from lane_delivery(guild, lane_deliveries.lane, o.seq,
                                    '-infinity') x
                where d.seq is null and h.head >= o.seq
                union all
               select null, null, null where d.seq is not null)
               w (status, reason, message_id);
end $$;
