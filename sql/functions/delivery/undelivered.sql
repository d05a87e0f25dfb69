-- What did not arrive, for the operator, of the last 7 days. The entries of a
-- server are listed in the order of (lane, seq); those without a lane come
-- first, as lane 0, in the order of their ids.

call type_make('undelivered', $$
    lane        bigint,
    seq         bigint,
    bot         smallint,
    id          bigint,
    type        smallint,
    channel_id  bigint,
    status      smallint,
    reason      text
$$);

call type_make('undelivered_query', $$
    guild    bigint,
    lane     bigint,     -- this one only; null: all
    channel  bigint,     -- that was chosen for them
    low      bigint,     -- the first id inside
    high     bigint,     -- the first one beyond
    reasons  text[]      -- null: any
$$);

-- an entry by its place in a lane

call type_make('lane_entry', $$
    seq    bigint,
    bot    smallint,
    id     bigint,
    again  boolean       -- it has that place because it was sent again
$$);


-- The entries that have these places of a lane now, as far as their rows of
-- log_arrival tell. One that was sent again has left its place for another.

create or replace function lane_entries(guild bigint, lane bigint, low bigint,
    high bigint)
returns setof lane_entry language plpgsql stable as $$
begin
    return query
        select n.seq, n.bot, n.id, false
          from log_arrival n
         where n.guild_id = guild and n.lane = lane_entries.lane
           and n.seq between low and high and n.dstatus is null
           and not exists (select from replay r
                            where r.guild_id = guild and r.bot = n.bot
                              and r.id = n.id and not r.first)
        union all
        select r.seq, r.bot, r.id, not r.first
          from replay r
         where r.guild_id = guild and r.lane = lane_entries.lane
           and r.seq between low and high
           and not (r.first and exists (
               select from log_arrival x
                where x.guild_id = guild
                  and x.lane = r.lane and x.seq = r.seq))
         order by 1;
end $$;


-- What blocks say did not arrive, and was not sent again: of that lane; 0: what
-- had none. Where its row of log_arrival is kept, that is looked at instead.

create or replace function blocks_lost(guild bigint, bot smallint,
    lane bigint, low bigint, high bigint)
returns setof log_found language plpgsql stable as $$
begin
    return query
        select h.*
          from log_block k
         cross join lateral unnest(k.ids, string_to_array(k.said, E'\n'))
                   with ordinality u (id, said, place)
         cross join lateral log_heard(u.id, type_at(k.types, u.place),
                   u.said, null) h
         where k.guild_id = guild and k.bot = blocks_lost.bot
           and k.lost and k.day >= day_now() - 7
           and k.first_id < high and k.last_id >= low
           and u.id >= low and u.id < high and u.said ~ '^[01]'
           and coalesce(h.lane, 0) = blocks_lost.lane
           and not exists (
               select from log_arrival x
                where x.guild_id = guild
                  and x.lane = h.lane and x.seq = h.seq)
           and not exists (
               select from replay r
                where r.guild_id = guild and r.bot = k.bot and r.id = u.id
                  and not r.first);
end $$;


-- The entries of the query behind that position, at most so many.

create or replace function undelivered(q undelivered_query, lane bigint,
    seq bigint, most int)
returns setof undelivered language plpgsql stable as $$
declare
    it    lane;
    n     int := 0;
    more  int;
begin
    if undelivered.lane = 0 and q.lane is null then
        return query select * from undelivered_placeless(q, seq, most);
        get diagnostics n = row_count;
    end if;

    for it in
        select l.* from lane l
         where l.guild_id = q.guild
           and l.lane >= undelivered.lane
           and (q.lane is null or l.lane = q.lane)
           and (q.channel is null or l.channel_id = q.channel)
         order by l.lane
    loop
        exit when n >= most;
        return query
            select * from undelivered_of(q, it, case when it.lane =
                undelivered.lane then seq else 0 end, most - n);
        get diagnostics more = row_count;
        n := n + more;
    end loop;
end $$;


-- Those that have no lane.

create or replace function undelivered_placeless(q undelivered_query,
    behind bigint, most int)
returns setof undelivered language plpgsql stable as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    return query
        select 0::bigint, e.id, e.bot::smallint, e.id, e.type, e.dchannel_id,
               e.dstatus, e.dreason
          from (select b.bot, f.id, f.type, f.dstatus, f.dchannel_id, f.dreason
                  from generate_series(0, 1) b (bot)
                 cross join lateral arrivals_hot(q.guild, b.bot::smallint) a
                 cross join lateral arrival_found(a, at) f
                 where f.dstatus < 2
                 union all
                select b.bot, f.id, f.type, f.dstatus, f.dchannel_id, f.dreason
                  from generate_series(0, 1) b (bot)
                 cross join lateral blocks_lost(q.guild, b.bot::smallint, 0,
                           greatest(behind + 1, q.low), q.high) f) e
         where e.id > behind and e.id >= q.low and e.id < q.high
           and (q.reasons is null or e.dreason = any (q.reasons))
           and (q.channel is null or e.dchannel_id = q.channel)
           and not exists (
               select from replay r
                where r.guild_id = q.guild and r.bot = e.bot and r.id = e.id
                  and not r.first)
         order by e.id limit most;
end $$;


-- Those of a lane: what was decided, then what waits. A status of its own is
-- the truth of an entry, unless it was sent again.

create or replace function undelivered_of(q undelivered_query, l lane,
    behind bigint, most int)
returns setof undelivered language plpgsql stable as $$
begin
    return query
        select l.lane, e.seq, e.bot, e.id, e.type, l.channel_id, e.status,
               e.reason
          from ((select p.*, n.type, b.status, b.reason
                   from lane_batch b
                  cross join lateral lane_entries(q.guild, l.lane,
                            greatest(b.seq_from, behind + 1), b.seq_to) p
                  cross join lateral entry_named(q.guild, p.bot, p.id) n
                  where b.guild_id = q.guild and b.lane = l.lane
                    and b.status < 2 and b.seq_to > behind
                    and (q.reasons is null or b.reason = any (q.reasons)))
                union all
                (select p.*, n.type, w.status, w.reason
                   from lane_head h
                  cross join lateral lane_entries(q.guild, l.lane,
                            greatest(h.head, behind) + 1,
                            9223372036854775807) p
                  cross join lateral entry_named(q.guild, p.bot, p.id) n
                  cross join lateral lane_waiting(row(h.*)::lane_head, p.seq) w
                  where h.guild_id = q.guild and h.lane = l.lane)
                union all
                (select f.seq, l.bot, f.id, false, f.type, f.dstatus, f.dreason
                   from blocks_lost(q.guild, l.bot, l.lane, q.low, q.high) f
                  where f.seq > behind)
               ) e (seq, bot, id, again, type, status, reason)
         where e.id >= q.low and e.id < q.high
           and (q.reasons is null or e.reason = any (q.reasons))
         order by e.seq limit most;
end $$;


-- The next server behind that one of which entries may not have arrived. Lanes
-- with something to deliver are called for, the others are too many to look at.

create or replace function undelivered_next(behind bigint)
returns bigint language plpgsql stable set enable_seqscan = off
set enable_bitmapscan = off set enable_sort = off as $$
begin
    return least(
        (select r.guild_id
           from lane_ready r
           join lane_head h on h.guild_id = r.guild_id and h.lane = r.lane
           join lane_tail t on t.guild_id = r.guild_id and t.lane = r.lane
          where r.guild_id > behind and t.tail > h.head
          order by r.guild_id limit 1),
        (select b.guild_id from lane_batch b
          where b.guild_id > behind and b.status < 2
          order by b.guild_id limit 1),
        (select k.guild_id from log_block k
          where k.guild_id > behind and k.lost and k.day >= day_now() - 7
          order by k.guild_id limit 1),
        (select e.guild_id from log_arrival e
          where e.guild_id > behind and e.dstatus < 2
          order by e.guild_id limit 1),
        (select h.guild_id from log_arrival h
          where h.guild_id > behind and h.held_to is not null
          order by h.guild_id limit 1));
end $$;


-- How many entries of a server have not arrived, by reason.

create or replace function undelivered_counts(guild bigint, out reason text,
    out n bigint)
returns setof record language plpgsql stable as $$
begin
    return query
        select u.reason, sum(u.n)::bigint
          from (select w.reason, w.n
                  from lane_head h
                  join lane_tail t
                    on t.guild_id = h.guild_id and t.lane = h.lane
                 cross join lateral (values
                           ('in_flight', h.upto - h.head),
                           ('retrying', greatest(0,
                                least(h.refused_to, t.tail) - h.upto)),
                           ('queued', least(t.tail - h.upto,
                                            t.tail - h.refused_to))
                       ) w (reason, n)
                 where h.guild_id = guild and t.tail > h.head
                union all
                select b.reason, count(*)
                  from lane_batch b
                 cross join lateral lane_entries(guild, b.lane, b.seq_from,
                                                 b.seq_to) p
                 where b.guild_id = guild and b.status < 2
                 group by 1
                union all
                select f.dreason, count(*)
                  from (select b::smallint as bot
                          from generate_series(0, 1) b) b
                 cross join lateral (
                       select 0::bigint as lane
                        union all
                       select l.lane from lane l
                        where l.guild_id = guild and l.bot = b.bot) l
                 cross join lateral blocks_lost(guild, b.bot, l.lane, 0,
                           9223372036854775807) f
                 group by 1
                union all
                select f.dreason, count(*)
                  from (select b::smallint as bot
                          from generate_series(0, 1) b) b
                 cross join lateral arrivals_hot(guild, b.bot) a
                 cross join lateral arrival_found(a, clock_timestamp()) f
                 where f.dstatus < 2
                   and not exists (
                       select from replay r
                        where r.guild_id = guild and r.bot = b.bot
                          and r.id = f.id and not r.first)
                 group by 1
               ) u (reason, n)
         where u.n > 0
         group by 1;
end $$;


-- GET /undelivered: the servers, by id, and how many of their entries have not
-- arrived, by reason. A page looks at a thousand at most, whether they have
-- these reasons or not.

create or replace function operator_backlog(reason text[], most int,
    behind bigint, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    next    bigint;
    last    bigint := coalesce(behind, 0);
    its     record;
    listed  json[] := '{}';
    looked  int := 0;
begin
    loop
        next := undelivered_next(last);
        exit when next is null or looked = 1000
                  or cardinality(listed) = most;
        last := next;
        looked := looked + 1;

        select sum(c.n) as n,
               json_object_agg(c.reason, c.n order by c.reason) as reasons
          into its
          from undelivered_counts(next) c
         where operator_backlog.reason is null
            or c.reason = any (operator_backlog.reason);
        continue when its.n is null;

        listed := listed || json_build_object(
            'server', next::text, 'entries', its.n, 'reasons', its.reasons,
            'oldestQueuedMs', coalesce((
                select max(lane_age(h.guild_id, h.lane, h.head + 1))
                  from lane_head h
                  join lane_tail t
                    on t.guild_id = h.guild_id and t.lane = h.lane
                 where h.guild_id = next and t.tail > h.head), 0));
    end loop;

    status := 200;
    body := json_build_object('servers', array_to_json(listed),
                              'cursor', case when next is not null
                                             then last::text end);
end $$;


-- A position as it is shown, and read; 400 if it is none.

create or replace function place_of(cursor text)
returns lane_place language plpgsql immutable as $$
declare
    parts  constant text[] := regexp_match(coalesce(cursor, '0.0'),
                                           '^(\d{1,18}|[1-8]\d{18})\.'
                                           '(\d{1,18}|[1-8]\d{18})$');
begin
    if parts is null then
        perform refuse(400, 'cursor: is not one');
    end if;

    return row(parts[1]::bigint, parts[2]::bigint)::lane_place;
end $$;


-- GET /servers/{guild}/undelivered

create or replace function operator_undelivered(guild bigint, reason text[],
    channel bigint, lane bigint, after bigint, before bigint, most int,
    cursor text, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    at    constant lane_place := place_of(cursor);
    q     constant undelivered_query := row(guild, lane, channel,
              id_at(coalesce(after, 0) + 1),
              coalesce(id_at(before), 9223372036854775807), reason);
    rows  undelivered[];
begin
    if not exists (select from server s where s.guild_id = guild) then
        perform refuse(404, 'server: unknown');
    end if;

    rows := array(select u from undelivered(q, at.lane, at.seq, most + 1) u);
    status := 200;
    body := json_build_object(
        'entries', coalesce((
            select json_agg(json_build_object('id', u.id::text,
                       'bot', bot_name(u.bot), 'type', u.type,
                       'timestamp', id_time(u.id),
                       'lane', nullif(u.lane, 0)::text,
                       'channelId', u.channel_id::text,
                       'status', delivery_word(u.status),
                       'reason', u.reason) order by u.lane, u.seq)
              from unnest(rows[:most]) u), '[]'),
        'cursor', case when cardinality(rows) > most
                       then rows[most].lane || '.' || rows[most].seq end);
end $$;


create or replace function bot_name(bot smallint)
returns text language sql immutable as $$
    select case bot when 0 then 'main' else 'pro' end
$$;
