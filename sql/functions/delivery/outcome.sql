-- What has become of the deliveries of entries.

-- an entry whose delivery is to be looked up, and what has become of it

call type_make('log_open', $$
    id    bigint,
    lane  bigint,
    seq   bigint,
    at    timestamptz,    -- before which nothing was decided
    held  boolean
$$);

call type_make('log_delivery', $$
    id          bigint,
    status      smallint,
    reason      text,
    message_id  bigint
$$);


create or replace function delivery_word(status smallint)
returns text language sql immutable as $$
    select (array['not_delivered', 'unknown', 'delivered'])[status + 1]
$$;


-- Is all that there is to say of deliveries said by the entries themselves?
-- Nothing was ever held then, nor had a lane to wait in.

create or replace function deliveries_settled(guild bigint, bot smallint)
returns boolean language plpgsql stable as $$
begin
    return not exists (select from lane l where l.guild_id = guild)
       and not exists (select from held_entry h
                        where h.guild_id = guild
                          and h.bot = deliveries_settled.bot);
end $$;


-- Do their places tell what became of entries? None was ever held then, nor is
-- any sent again.

create or replace function deliveries_placed(guild bigint, bot smallint)
returns boolean language plpgsql stable as $$
begin
    return not exists (select from held_entry h
                        where h.guild_id = guild
                          and h.bot = deliveries_placed.bot)
       and not exists (select from replay r
                        where r.guild_id = guild
                          and r.bot = deliveries_placed.bot);
end $$;


-- What entries say then.

create or replace function settled_word(status smallint)
returns text language sql immutable as $$
    select delivery_word(coalesce(status, 0::smallint))
$$;


create or replace function settled_reason(status smallint, reason text)
returns text language sql immutable as $$
    select case when status is null then 'queued' else reason end
$$;


-- The deliveries of several entries. channel_id is set only if it is not the
-- channel that was chosen when the entry was recorded. A status stored in the
-- entry counts. Without one the entry is held while active ignore may still
-- remove it; after that its lane tells. If the result is final and not
-- delivered, the entry may have been replayed: then the replay tells.

create or replace function deliveries_of(guild bigint, bot smallint,
    entries log_found[])
returns table (id bigint, status text, reason text, channel_id bigint,
    message_id bigint)
language plpgsql stable as $$
declare
    found  log_delivery[];
    again  log_open[];
begin
    if cardinality(entries) = 0 then
        return;
    end if;

    found := deliveries_first(guild, bot, entries);

    if exists (select from replay r
                where r.guild_id = guild and r.bot = deliveries_of.bot)
    then
        again := array(
            select row(f.id, r.lane, r.seq, r.at, false)::log_open
              from unnest(found) f
              join replay r
                on r.guild_id = guild and r.bot = deliveries_of.bot
               and r.id = f.id
             where f.status < 2
               and f.reason not in ('held', 'queued', 'retrying',
                                    'in_flight'));
    end if;

    return query
        select f.id, delivery_word(f.status), f.reason, null::bigint,
               f.message_id
          from unnest(found) f
         where again is null
            or f.id not in (select o.id from unnest(again) o);

    return query
        select d.id, delivery_word(d.status), d.reason, l.channel_id,
               d.message_id
          from unnest(again) o
          join lane l on l.guild_id = guild and l.lane = o.lane
          join lanes_deliveries(guild, again) d on d.id = o.id;
end $$;


-- Of one entry.

create or replace function delivery_of(guild bigint, bot smallint,
    e log_found)
returns table (status text, reason text, channel_id bigint, message_id bigint)
language sql stable as $$
    select d.status, d.reason, coalesce(d.channel_id, e.dchannel_id),
           d.message_id
      from deliveries_of(guild, bot, array[e]) d
$$;


-- What is said of them where they were sent first.

create or replace function deliveries_first(guild bigint, bot smallint,
    entries log_found[])
returns log_delivery[] language plpgsql stable as $$
declare
    open  log_open[];
begin
    open := array(
        select row(e.id, e.lane, e.seq, to_timestamp(id_time(e.id) / 1000.0),
                   e.dreason = 'held')::log_open
          from unnest(entries) e
         where e.dstatus is null);

    if exists (select from unnest(open) o where o.held) then
        open := array(
            select row(o.id, coalesce(o.lane, h.lane), coalesce(o.seq, h.seq),
                       o.at, h.until > clock_timestamp())::log_open
              from unnest(open) o
              left join held_entry h
                on h.guild_id = guild and h.bot = deliveries_first.bot
               and h.id = o.id and o.held);
    end if;

    return array(
        select row(e.id, e.dstatus, e.dreason, e.dmessage_id)::log_delivery
          from unnest(entries) e
         where e.dstatus is not null
         union all
        select row(o.id, 0, case when o.held then 'held' else 'queued' end,
                   null)::log_delivery
          from unnest(open) o
         where o.lane is null
         union all
        select d from lanes_deliveries(guild, open) d);
end $$;


-- Those of them that have a place, lane by lane.

create or replace function lanes_deliveries(guild bigint, open log_open[])
returns setof log_delivery language plpgsql stable as $$
declare
    l  record;
begin
    for l in
        select o.lane, array_agg(o) as open
          from unnest(open) o
         where o.lane is not null
         group by o.lane
    loop
        return query select * from lane_deliveries(guild, l.lane, l.open);
    end loop;
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
