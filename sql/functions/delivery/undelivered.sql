-- What did not arrive, for the operator. The entries of a server are listed in
-- the order of (lane, seq); those without a lane come first, as lane 0, in the
-- order of their ids.

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


-- The entries that have these places of a lane now. One that was sent again
-- has left its place for another.

create or replace function lane_entries(guild bigint, lane bigint, low bigint,
    high bigint)
returns setof lane_entry language plpgsql stable as $$
begin
    return query
        select n.seq, n.bot, n.id, false
          from log_entry n
         where n.guild_id = guild and n.lane = lane_entries.lane
           and n.seq between low and high
           and not exists (select from replay r
                            where r.guild_id = guild and r.bot = n.bot
                              and r.id = n.id)
        union all
        select h.seq, h.bot, h.id, false
          from held_entry h
         where h.guild_id = guild and h.lane = lane_entries.lane
           and h.seq between low and high
           and not exists (select from replay r
                            where r.guild_id = guild and r.bot = h.bot
                              and r.id = h.id)
        union all
        select r.seq, r.bot, r.id, true
          from replay r
         where r.guild_id = guild and r.lane = lane_entries.lane
           and r.seq between low and high
         order by 1;
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


-- Those that have a status of their own, or are held.

create or replace function undelivered_placeless(q undelivered_query,
    behind bigint, most int)
returns setof undelivered language plpgsql stable as $$
begin
    return query
        select 0::bigint, e.id, e.bot, e.id, n.type, n.dchannel_id, e.status,
               e.reason
          from ((select d.bot, d.id, d.dstatus, d.dreason
                   from generate_series(0, 1) b
                  cross join lateral (
                        select * from log_entry x
                         where x.guild_id = q.guild and x.bot = b
                           and x.dstatus < 2
                           and x.id > behind and x.id >= q.low
                           and x.id < q.high
                           and (q.reasons is null
                                or x.dreason = any (q.reasons))
                           and (q.channel is null
                                or x.dchannel_id = q.channel)
                           and not exists (
                               select from replay r
                                where r.guild_id = q.guild and r.bot = b
                                  and r.id = x.id)
                         order by x.id limit most) d)
                union all
                (select h.bot, h.id, 0::smallint,
                        case when h.until > clock_timestamp() then 'held'
                             else 'queued' end
                   from held_entry h
                  where h.guild_id = q.guild and not h.released
                    and h.channel_id is not null)) e (bot, id, status, reason)
         cross join lateral log_entry_one(q.guild, e.bot, e.id) n
         where e.id > behind and e.id >= q.low and e.id < q.high
           and (q.reasons is null or e.reason = any (q.reasons))
           and (q.channel is null or n.dchannel_id = q.channel)
         order by e.id limit most;
end $$;


-- Those of a lane: what was decided, then what waits. A status of its own is
-- the truth of an entry, unless it was sent again.

create or replace function undelivered_of(q undelivered_query, l lane,
    behind bigint, most int)
returns setof undelivered language plpgsql stable as $$
begin
    return query
        select l.lane, e.seq, e.bot, e.id, n.type, l.channel_id, e.status,
               e.reason
          from ((select p.*, b.status, b.reason
                   from lane_batch b
                  cross join lateral lane_entries(q.guild, l.lane,
                            greatest(b.seq_from, behind + 1), b.seq_to) p
                  where b.guild_id = q.guild and b.lane = l.lane
                    and b.status < 2 and b.seq_to > behind
                    and (q.reasons is null or b.reason = any (q.reasons)))
                union all
                (select p.*, w.status, w.reason
                   from lane_head h
                  cross join lateral lane_entries(q.guild, l.lane,
                            greatest(h.head, behind) + 1,
                            9223372036854775807) p
                  cross join lateral lane_waiting(row(h.*)::lane_head, p.seq) w
                  where h.guild_id = q.guild and h.lane = l.lane)
               ) e (seq, bot, id, again, status, reason)
         cross join lateral log_entry_one(q.guild, e.bot, e.id) n
         where (n.dstatus is null or e.again)
           and e.id >= q.low and e.id < q.high
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
        (select e.guild_id from log_entry e
          where e.guild_id > behind and e.dstatus < 2
          order by e.guild_id limit 1),
        (select min(h.guild_id) from held_entry h
          where h.guild_id > behind and not h.released
            and h.channel_id is not null));
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
                 cross join lateral log_entry_one(guild, p.bot, p.id) e
                 where b.guild_id = guild
                   and b.status < 2
                   and (e.dstatus is null or p.again)
                 group by 1
                union all
                select e.dreason, count(*)
                  from log_entry e
                  left join replay r
                    on r.guild_id = e.guild_id and r.bot = e.bot
                   and r.id = e.id
                 where e.guild_id = guild
                   and e.dstatus < 2 and r.id is null
                 group by 1
                union all
                select case when h.until > clock_timestamp() then 'held'
                            else 'queued' end, 1
                  from held_entry h
                 where h.guild_id = guild
                   and not h.released and h.channel_id is not null
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
