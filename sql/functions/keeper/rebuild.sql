-- Making what is derived from the entries of a server anew, while the service
-- goes on: the counts of days and who did something, at once; the index of
-- searches, by the keeper.
--
-- Lock: log_made and log_head of both bots, then lane_tail and lane of all
-- lanes, at last search_head. To look at every entry takes seconds, so that is
-- done before, without a lock. What was found is looked at again under the
-- locks, with what came since: a function below that gets ranges of places
-- looks at these only.

-- places of a lane, with both ends

call type_make('rebuild_range', $$
    lane  bigint,
    low   bigint,
    high  bigint
$$);

-- what was found without a lock

call type_make('rebuild_seen', $$
    arrivals  bigint[],          -- of bot 0 and 1: the last one
    lasts     rebuild_range[],   -- the last place of each lane
    tails     rebuild_range[],   -- the places behind the tail of each lane
    heads     rebuild_range[],   -- the places behind the head of each lane
    doubled   rebuild_range[],   -- places of several entries
    wrong     rebuild_range[],   -- first places of batches that contradict
    untold    rebuild_range[]    -- places up to the head that nothing tells of
$$);


create or replace function guildlog.rebuild(guild bigint)
returns void language plpgsql set search_path = guildlog, pg_temp as $$
declare
    seen  constant rebuild_seen := rebuild_look(guild);
begin
    perform blocks_wait(guild, b::smallint) from generate_series(0, 1) b;
    perform from log_head h where h.guild_id = guild order by h.bot for update;

    perform rebuild_head(guild, b::smallint, seen.arrivals[b + 1])
       from generate_series(0, 1) b;
    perform days_make(guild, b::smallint) from generate_series(0, 1) b;
    perform actors_make(guild, b::smallint) from generate_series(0, 1) b;
    perform rebuild_lanes(guild, seen);
    perform search_begin(guild, b::smallint) from generate_series(0, 1) b;
end $$;


-- Looks at everything, in one snapshot.

create or replace function rebuild_look(guild bigint)
returns rebuild_seen language plpgsql stable as $$
declare
    whole  constant rebuild_range[] := array(
               select row(l.lane, 0, 9223372036854775807)::rebuild_range
                 from lane l where l.guild_id = guild);
    seen   rebuild_seen;
begin
    seen.arrivals := array(
        select (select max(e.arrival) from log_arrival e
                 where e.guild_id = guild and e.bot = b)
          from generate_series(0, 1) b order by b);
    select array_agg(row(w.lane, p.last, p.last)::rebuild_range),
           array_agg(row(w.lane, coalesce(t.tail, 0) + 1,
                         w.high)::rebuild_range),
           array_agg(row(w.lane, coalesce(h.head, 0) + 1,
                         w.high)::rebuild_range)
      into seen.lasts, seen.tails, seen.heads
      from unnest(whole) w
      left join lane_tail t on t.guild_id = guild and t.lane = w.lane
      left join lane_head h on h.guild_id = guild and h.lane = w.lane
     cross join lateral (select max(x) from rebuild_places(
                                guild, w.lane, w.low, w.high) x) p (last);
    seen.doubled := array(
        select distinct row(d.lane, d.seq, d.seq)::rebuild_range
          from rebuild_doubled(guild, whole) d);
    seen.wrong := array(
        select row(b.lane, b.seq_from, b.seq_from)::rebuild_range
          from rebuild_wrong(guild, whole) b);
    seen.untold := array(
        select row(u.lane, u.seq, u.seq)::rebuild_range
          from rebuild_untold(guild, whole) u);

    return seen;
end $$;


-- The counters that entries tell. A higher arrival is safe: numbers that nobody
-- has are none's. A row is missing where nothing was recorded. The first entry
-- is looked up under the lock: it may have been held, and taken back since.

create or replace function rebuild_head(guild bigint, bot smallint,
    last bigint)
returns void language plpgsql as $$
declare
    at  timestamptz;
begin
    if last is not null then
        perform record_begin(guild, bot, 0);
    end if;

    at := clock_timestamp();
    update log_head h
       set arrival = greatest(h.arrival, last),
           turn = turn_of(greatest(h.arrival, last)),
           since = least(h.since, (
               select min(a.recorded_at) from log_arrival a
                where a.guild_id = guild and a.bot = rebuild_head.bot
                  and a.arrival > h.blocked)),
           last_at = greatest(h.last_at, (
               select max(a.recorded_at) from log_arrival a
                where a.guild_id = guild and a.bot = rebuild_head.bot)),
           due_at = case when greatest(h.arrival, last) > h.blocked
                         then coalesce(h.due_at, at) end,
           watched = alerts_watched(guild, rebuild_head.bot),
           first_log_at = least(h.first_log_at, id_time(entry_first(
               guild, rebuild_head.bot, 0, 9223372036854775807)))
     where h.guild_id = guild and h.bot = rebuild_head.bot;
end $$;


-- The counts of days, by what is in blocks.

create or replace function days_make(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    delete from log_day d where d.guild_id = guild and d.bot = days_make.bot;
    insert into log_day (guild_id, bot, day, counts)
    select guild, days_make.bot, c.day, array_agg(c.n << 7 | c.type)::text
      from (select k.day, mark_type(u.type) as type, count(*) as n
              from log_block k
             cross join lateral unnest(string_to_array(k.types, null))
                   u (type)
             where k.guild_id = guild and k.bot = days_make.bot
             group by 1, 2) c
     group by c.day;
end $$;


create or replace function actors_make(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    perform actors_set(guild, bot, array_agg(d.who), array_agg(d.id))
       from blocks_actors(guild, bot) d;
end $$;


-- Lanes are what happened, and cannot be made anew. What contradicts the
-- entries is mended so that nothing is lost and nothing goes twice: a place
-- that was to be decided, and is told of nowhere, is unconfirmed.

create or replace function rebuild_lanes(guild bigint, seen rebuild_seen)
returns void language plpgsql as $$
declare
    gone  rebuild_range[];
    it    record;
begin
    insert into lane_tail (guild_id, lane)
    select guild, l.lane from lane l
     where l.guild_id = guild
       and not exists (select from lane_tail t
                        where t.guild_id = guild and t.lane = l.lane);
    insert into lane_head (guild_id, lane)
    select guild, l.lane from lane l where l.guild_id = guild
    on conflict do nothing;

    perform lanes_lock(guild, array(select l.lane from lane l
                                     where l.guild_id = guild));

    update lane_head h
       set upto = h.head, step = h.step + 2
     where h.guild_id = guild and h.upto < h.head;

    update lane_tail t
       set tail = greatest(h.upto, p.high),
           turn = turn_of(greatest(h.upto, p.high))
      from lane_head h
      left join unnest(seen.lasts) p on p.lane = h.lane
     where h.guild_id = guild and t.guild_id = guild and t.lane = h.lane
       and t.tail < greatest(h.upto, p.high);

    perform place_unsure(guild, d.bot, d.arrival)
       from rebuild_doubled(guild, seen.tails || seen.doubled) d;

    with wrong as (
        delete from lane_batch b
         using rebuild_wrong(guild, seen.heads || seen.wrong) w
         where b.guild_id = guild and b.lane = w.lane
           and b.seq_from = w.seq_from and b.done_at = w.done_at
        returning b.lane, b.seq_from, b.seq_to
    )
    select array_agg(row(w.lane, w.seq_from, w.seq_to)::rebuild_range)
      into gone from wrong w;

    insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                            attempts, status, reason)
    select guild, u.lane, u.seq, u.seq, clock_timestamp(), 0, 1, 'unconfirmed'
      from rebuild_untold(guild, seen.heads || seen.untold || gone) u;

    for it in
        select l.lane from lane l
          join lane_head h on h.guild_id = guild and h.lane = l.lane
          join lane_tail t on t.guild_id = guild and t.lane = l.lane
         where l.guild_id = guild and t.tail > h.head and l.state <> 'closed'
    loop
        perform lane_wake(guild, it.lane);
    end loop;
end $$;


-- What arrived so may have been sent, and has no place: in its row, and in the
-- block that it may be in.

create or replace function place_unsure(guild bigint, bot smallint,
    arrival bigint)
returns void language plpgsql as $$
declare
    it     log_arrival;
    k      log_block;
    lines  text[];
begin
    update log_arrival a
       set dstatus = 1, dreason = 'unconfirmed', lane = null, seq = null
     where a.guild_id = guild and a.bot = place_unsure.bot
       and a.arrival = place_unsure.arrival
    returning * into it;

    select * into k from block_at(guild, bot, it.id) b
     where it.id = any (b.ids);

    if found then
        lines := string_to_array(k.said, E'\n');
        lines[array_position(k.ids, it.id)] := log_said(
            it.dstatus, it.dreason, it.dchannel_id, null, null, null);
        update log_block b
           set said = array_to_string(lines, E'\n'), lost = true
         where b.guild_id = guild and b.bot = place_unsure.bot
           and b.first_id = k.first_id;
    end if;
end $$;


-- The places of a lane that something has which is to be decided.

create or replace function rebuild_places(guild bigint, lane bigint,
    low bigint, high bigint)
returns setof bigint language plpgsql stable as $$
begin
    return query
        select e.seq from log_arrival e
         where e.guild_id = guild and e.lane = rebuild_places.lane
           and e.seq between low and high and e.dstatus is null
         union
        select r.seq from replay r
         where r.guild_id = guild and r.lane = rebuild_places.lane
           and r.seq between low and high;
end $$;


-- Entries whose place another one has, that is older.

create or replace function rebuild_doubled(guild bigint,
    ranges rebuild_range[], out bot smallint, out arrival bigint,
    out lane bigint, out seq bigint)
returns setof record language plpgsql stable as $$
begin
    return query
        select d.bot, d.arrival, d.lane, d.seq
          from (select e.*, row_number() over (partition by e.lane, e.seq
                                               order by e.id) as n
                  from (select distinct x.bot, x.arrival, x.id, x.lane, x.seq
                          from unnest(ranges) r
                          join log_arrival x
                            on x.guild_id = guild and x.lane = r.lane
                           and x.seq between r.low and r.high
                           and x.dstatus is null) e) d
         where d.n > 1;
end $$;


-- Batches whose first place an earlier one has, or that have none.

create or replace function rebuild_wrong(guild bigint, ranges rebuild_range[],
    out lane bigint, out seq_from bigint, out done_at timestamptz)
returns setof record language plpgsql stable as $$
begin
    return query
        select distinct b.lane, b.seq_from, b.done_at
          from unnest(ranges) r
          join lane_batch b
            on b.guild_id = guild and b.lane = r.lane
           and b.seq_from between r.low and r.high
         where b.seq_to < b.seq_from
            or exists (select from lane_batch x
                        where x.guild_id = guild and x.lane = b.lane
                          and x.seq_from <= b.seq_from
                          and x.seq_to >= b.seq_from
                          and (x.seq_from, x.done_at)
                              < (b.seq_from, b.done_at));
end $$;


-- Places up to the head of their lane of which no batch tells.

create or replace function rebuild_untold(guild bigint,
    ranges rebuild_range[], out lane bigint, out seq bigint)
returns setof record language plpgsql stable as $$
begin
    return query
        select distinct h.lane, p.seq
          from unnest(ranges) r
          join lane_head h on h.guild_id = guild and h.lane = r.lane
         cross join lateral rebuild_places(guild, h.lane, r.low,
                                           least(r.high, h.head)) p (seq)
         where not exists (select from lane_batch b
                            where b.guild_id = guild and b.lane = h.lane
                              and b.seq_from <= p.seq and b.seq_to >= p.seq);
end $$;
