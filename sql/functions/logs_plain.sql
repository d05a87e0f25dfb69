-- GET /logs where nothing is filtered: what logs_page() would answer, in as few
-- statements as will do, for it is asked more often than anything else.

drop type if exists log_window cascade;

-- What may be read now, and the checkpoints inside: the first one, the last
-- one, the last one below the position, and one that so many entries are above
-- that a page ends there. Null where there is none, below_id also where there
-- is no position.

create type log_window as (
    wall      bigint,    -- ms; null: the token is dead
    walled    boolean,
    low       bigint,
    below     bigint,    -- the position
    high      bigint,
    first_id  bigint,
    below_id  bigint,
    last_id   bigint,
    page_id   bigint,
    first     int[],     -- sums
    passed    int[],     -- up to the position
    last      int[]
);


create or replace function log_window(token text, guild bigint, bot smallint,
    after bigint, before bigint, most int, below bigint)
returns log_window language plpgsql stable as $$
declare
    w  log_window;
begin
    select r.wall, coalesce(after < r.wall - 1
                            or log_window.below < id_at(r.wall), false),
           r.low, r.below, r.high, f.last_id, b.last_id, l.last_id, p.last_id,
           f.sums, case when r.below < r.high then b.sums else l.sums end,
           l.sums
      into w

      -- "offset 0": what these are is worked out once

      from (select x.wall, id_at(greatest(x.wall, after + 1)) as low,
                   least(log_window.below, log_high(x.now, before)) as below,
                   log_high(x.now, before) as high
              from (select ms(now()) as now,
                           ms(now()) - retention_ms(s.plan) as wall
                      from token t
                      join server s on s.guild_id = t.guild_id
                     where t.guild_id = guild
                       and t.token_id = token
                       and t.revoked_at is null
                       and t.expires_at > now()
                    offset 0) x
            offset 0) r
      left join lateral (
           select c.last_id, c.sums from log_checkpoint c
            where c.guild_id = guild and c.bot = log_window.bot
              and c.kind = 0 and c.key = 0
              and c.last_id >= r.low and c.last_id < r.high
            order by c.last_id limit 1) f on true
      left join lateral (
           select c.last_id, c.sums from log_checkpoint c
            where c.guild_id = guild and c.bot = log_window.bot
              and c.kind = 0 and c.key = 0
              and c.last_id >= r.low and c.last_id < r.high
            order by c.last_id desc limit 1) l on true
      left join lateral (
           select c.last_id, c.sums from log_checkpoint c
            where c.guild_id = guild and c.bot = log_window.bot
              and c.kind = 0 and c.key = 0
              and c.last_id >= r.low and c.last_id < r.below
              and r.below < r.high
            order by c.last_id desc limit 1) b on true
      left join lateral (
           select c.last_id from log_checkpoint c
            where c.guild_id = guild and c.bot = log_window.bot
              and c.kind = 0 and c.key = 0
              and c.last_id >= r.low and c.last_id < r.below
            order by c.last_id desc
           offset most / checkpoint_every() + 1 limit 1) p on true;

    return w;
end $$;


-- With ranges the deliveries are left to the module: what was decided when
-- these entries came in, and how far the lanes are, is told behind the entries.
-- It may lack what it takes for one of them; then the module asks without.

create or replace function logs_plain(token text, guild bigint, bot smallint,
    kind smallint, after bigint, before bigint, most int, below bigint,
    ranges boolean default false)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    w      log_window;
    high   bigint;
    low    bigint;
    since  bigint;
    until  bigint;
    rest   int := most;
    n      int;
begin
    w := log_window(token, guild, bot, after, before, most, below);

    if w.wall is null then
        return next row(401, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    return query
        select 200::bigint, coalesce(sum(c.rest) > most, false), null, null,
               null::bigint, null::bigint,
               format('{"total":%s,"retentionMs":%s,"walled":%s,'
                      '"categoryCounts":{%s}', coalesce(sum(c.rest), 0),
                      ms(now()) - w.wall, w.walled::text,
                      string_agg('"' || (categories())[c.category] || '":'
                                 || c.n, ',') filter (where c.n > 0)),
               null::smallint, null::bigint, null::bigint
          from (select d.category, sum(d.n)::int as n,
                       sum(d.rest)::int as rest
                  from (select u.place::int, u.last - u.first,
                               coalesce(u.passed, u.first) - u.first
                          from unnest(w.last, w.passed, w.first)
                                   with ordinality u (last, passed, first,
                                                      place)
                         union all
                        select category_place(x.place - 1), x.n,
                               case when w.below = w.high or x.id <= w.below_id
                                    then x.n else 0 end
                          from log_correction x
                         where x.guild_id = guild and x.bot = logs_plain.bot
                           and x.kind = 0 and x.key = 0
                           and x.id > w.first_id and x.id <= w.last_id
                         union all
                        select category_place(e.type), 1, (e.id < w.below)::int
                          from log_entry e
                         where e.guild_id = guild and e.bot = logs_plain.bot
                           and e.id >= w.low
                           and e.id < coalesce(w.first_id + 1, w.high)
                         union all
                        select category_place(e.type), 0, 1 from log_entry e
                         where e.guild_id = guild and e.bot = logs_plain.bot
                           and e.id > w.below_id and e.id < w.below
                         union all
                        select category_place(e.type), 1,
                               (w.below = w.high)::int
                          from log_entry e
                         where e.guild_id = guild and e.bot = logs_plain.bot
                           and e.id > w.last_id and e.id < w.high)
                       d (category, n, rest)
                 group by d.category) c;

    high := w.below;
    ranges := ranges and deliveries_placed(guild, bot);

    loop
        low := coalesce(w.page_id, w.low);

        if ranges then
            return query
                select e.id, null::boolean, null, e.dreason, e.dchannel_id,
                       e.dmessage_id, e.doc, e.dstatus, e.lane, e.seq
                  from log_entry e
                 where e.guild_id = guild and e.bot = logs_plain.bot
                   and e.id >= low and e.id < w.below
                 order by e.id desc limit rest;
        else
            return query select * from log_rows_sent(
                query_all(guild, bot, low), w.below, rest, true);
        end if;

        -- it is short only where entries were taken back

        get diagnostics n = row_count;
        exit when n = rest or w.page_id is null;
        rest := rest - n;
        w.below := w.page_id;
        w.page_id := null;
    end loop;

    if not ranges or not exists (select from lane l where l.guild_id = guild)
    then
        return;
    end if;

    -- what is older than some days the entries say themselves, as a rule

    since := greatest(id_time(low) - 1000, ms(now()) - 3 * 86400000);
    until := least(id_time(high) + 10000, ms(now()) + 3600000);

    return query
        (select b.seq_from, null::boolean, null, b.reason, null::bigint,
                b.message_id, null, b.status, b.lane, b.seq_to
           from lane_batch b
          where b.guild_id = guild
            and b.done_at >= to_timestamp(since / 1000.0::float8)
            and b.done_at < to_timestamp(until / 1000.0::float8)
          order by b.done_at desc limit most + 100)
         union all
        select h.head, null, null, null, null, h.refused_to, null, null,
               h.lane, h.upto
          from lane_head h
         where h.guild_id = guild;
end $$;
