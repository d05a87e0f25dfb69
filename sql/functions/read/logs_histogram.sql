-- GET /logs/histogram: what happened when, in pieces, as those of a page: the
-- module counts them. Whole days come from log_day, blocks that lie in one
-- bucket by their types alone, and only what a border cuts by its ids.


-- The pieces, by what:
--   H  the first: n is the status, doc of 200 alone what the buckets are: a
--      step each, in ms, and in ids from the first one on
--   c  types of entries of the bucket n, a character each
--   d  counts of days of the bucket n, a line each
-- Without before it ends now, or with the newest entry, if that is ahead. Not
-- counted: the first piece is all.

create or replace function logs_histogram(token text, guild bigint,
    bot smallint, kind smallint, after bigint, before bigint, buckets int,
    counted boolean)
returns setof log_piece language plpgsql stable security definer
set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    at     constant bigint := ms(now());
    wall   bigint;
    done   bigint;
    since  timestamptz;
    until  timestamptz;
    first  bigint;      -- ms
    last   bigint;
    step   bigint;
    low    bigint;      -- ids
    high   bigint;
begin
    select at - retention_ms(s.plan), h.blocked, h.since, h.last_at
      into wall, done, since, until
      from server s
      left join head_of(guild, bot) h on true
     where s.guild_id = guild and token_live(guild, token);

    if not found then
        return next row(401, 'H', null, null, null)::log_piece;
        return;
    end if;

    first := greatest(wall, after + 1);
    high := log_high(at, before);
    last := coalesce(id_time(case when before is not null then high end),
        greatest(at, id_time((
            select max(e) from entries_newest(guild, logs_histogram.bot, 0,
                                              high) e))) + 1);
    last := greatest(first, last);
    step := greatest(1, -((first - last) / buckets));
    step := step + (step * buckets < last - first)::int;
    low := id_at(first);

    return next row(200, 'H', null, jsonb_build_object(
        'from', first, 'to', last, 'step', step, 'first', low,
        'ids', step << 22, 'walled', coalesce(after < wall - 1, false)),
        null)::log_piece;

    high := id_at(last);

    if not counted or low >= high then
        return;
    end if;

    return query
        select (id_time(a.id) - first) / step, 'c'::text,
               string_agg(type_mark(a.type), ''), null::text, null::text
          from log_arrival a
         where a.guild_id = guild and a.bot = logs_histogram.bot
           and a.arrival > done
           and a.recorded_at between since and until
           and a.id >= low and a.id < high
         group by 1;
    return query
        select * from blocks_parted(guild, bot, low, high, first, step)
         where done > 0;
end $$;


-- The entries of blocks in [low, high), parted: which part an id is in say the
-- ms behind the first one, and the step.

create or replace function blocks_parted(guild bigint, bot smallint,
    low bigint, high bigint, first bigint, step bigint)
returns setof log_piece language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    return query
        select d.part, 'd'::text, null::text, string_agg(x.counts, E'\n'),
               null::text
          from days_parted(low, high, first, step) d
         cross join lateral (
               select l.counts from log_day l
                where l.guild_id = guild and l.bot = blocks_parted.bot
                  and l.day = d.day offset 0) x
         where d.part is not null
         group by d.part
         union all
        select p.part, 'c', string_agg(
                   case when p.low <= x.first_id and p.high > x.last_id
                        then x.types
                        else substr(x.types,
                                    width_bucket(p.low - 1, x.ids) + 1,
                                    width_bucket(p.high - 1, x.ids)
                                    - width_bucket(p.low - 1, x.ids)) end,
                   ''), null, null
          from days_parted(low, high, first, step) d
         cross join lateral (
               select b.first_id, b.last_id, b.types, b.ids
                 from log_block b
                where b.guild_id = guild and b.bot = blocks_parted.bot
                  and b.first_id < d.high
                  and b.first_id >= coalesce((
                          select f.first_id from block_at(
                              guild, blocks_parted.bot, d.low) f), d.low)
                  and b.last_id >= d.low offset 0) x
         cross join lateral (
               select n, greatest(d.low, id_at(first + n * step)),
                      least(d.high, id_at(first + (n + 1) * step))
                 from generate_series(
                          (id_time(greatest(x.first_id, d.low)) - first)
                          / step,
                          (id_time(least(x.last_id, d.high - 1)) - first)
                          / step) n) p (part, low, high)
         where d.part is null
         group by p.part;
end $$;


-- The days of [low, high), each with what is of it, and its part if it is whole
-- and all in one.

create or replace function days_parted(inout low bigint, inout high bigint,
    first bigint, step bigint, out day int, out part bigint)
returns setof record language sql immutable as $$
    select greatest(low, day_low(d)), least(high, day_low(d + 1)), d,
           case when day_low(d) >= low and day_low(d + 1) <= high
                     and (id_time(day_low(d)) - first) / step
                         = (id_time(day_low(d + 1) - 1) - first) / step
                then (id_time(day_low(d)) - first) / step end
      from generate_series(day_of(low), day_of(high - 1)) d
$$;
