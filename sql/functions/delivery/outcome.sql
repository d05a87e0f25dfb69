-- What has become of the deliveries of entries.

-- an entry whose delivery is to be looked up, and what has become of it

call type_make('log_open', $$
    id    bigint,
    lane  bigint,
    seq   bigint,
    at    timestamptz     -- before which nothing was decided
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


-- The deliveries of several entries. channel_id is set only if it is not the
-- channel that was chosen when the entry was recorded. What an entry says
-- itself counts; else its lane tells. If the result is final and not delivered,
-- the entry may have been replayed: then the replay tells. One that was put
-- there because its row of log_arrival is gone is told by it, too.

create or replace function deliveries_of(guild bigint, bot smallint,
    entries log_found[])
returns table (id bigint, status smallint, reason text, channel_id bigint,
    message_id bigint)
language plpgsql stable as $$
declare
    found  constant log_delivery[] := deliveries_first(guild, entries);
    again  constant log_open[] := array(
        select row(f.id, r.lane, r.seq, r.at)::log_open
          from unnest(found) f
          join replay r
            on r.guild_id = guild and r.bot = deliveries_of.bot
           and r.id = f.id and not r.first
         where f.status < 2
           and f.reason not in ('held', 'queued', 'retrying', 'in_flight'));
begin
    return query
        select f.id, f.status, f.reason, null::bigint, f.message_id
          from unnest(found) f
         where f.id not in (select o.id from unnest(again) o);

    return query
        select d.id, d.status, d.reason, l.channel_id, d.message_id
          from unnest(again) o
          join lane l on l.guild_id = guild and l.lane = o.lane
          join lanes_deliveries(guild, again) d on d.id = o.id;
end $$;


-- Of one entry.

create or replace function delivery_of(guild bigint, bot smallint,
    e log_found)
returns table (status smallint, reason text, channel_id bigint,
    message_id bigint)
language sql stable as $$
    select d.status, d.reason, coalesce(d.channel_id, e.dchannel_id),
           d.message_id
      from deliveries_of(guild, bot, array[e]) d
$$;


-- What is said of them where they were sent first.

create or replace function deliveries_first(guild bigint, entries log_found[])
returns log_delivery[] language plpgsql stable as $$
declare
    open  constant log_open[] := array(
        select row(e.id, e.lane, e.seq,
                   to_timestamp(id_time(e.id) / 1000.0))::log_open
          from unnest(entries) e
         where e.dstatus is null and e.lane is not null);
begin
    return array(
        select row(e.id, coalesce(e.dstatus, 0),
                   case when e.dstatus is null then 'queued'
                        else e.dreason end, e.dmessage_id)::log_delivery
          from unnest(entries) e
         where e.dstatus is not null or e.lane is null
         union all
        select d from lanes_deliveries(guild, open) d);
end $$;


-- Lines of what is said of these entries, with what became of them in the place
-- of where to look it up.

create or replace function log_told(guild bigint, bot smallint, ids bigint[],
    said text)
returns text language plpgsql stable as $$
begin
    return (
        with heard as materialized (
            select h.*
              from unnest(ids, string_to_array(said, E'\n')) u (id, said)
             cross join lateral log_heard(u.id, null, u.said, null) h
        )
        select string_agg(log_said(d.status, d.reason,
                   coalesce(d.channel_id, h.dchannel_id), d.message_id, null,
                   null), E'\n' order by h.id)
          from heard h
          join deliveries_of(guild, bot, array(
                   select row(x.*)::log_found from heard x)) d on d.id = h.id);
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
