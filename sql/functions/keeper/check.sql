-- Comparing what is derived from the entries of a server with them, as far back
-- as the server may be read. All of it in one snapshot, so that it is right
-- while the service goes on. It looks at every entry: for the owner of the
-- schema, not for requests.

call type_make('difference', $$
    structure  text,
    what       text,
    expected   text,
    found      text
$$);


-- The differences of a server, of both bots; no row where there is none.

create or replace function guildlog.check(guild bigint)
returns setof difference language plpgsql stable
set search_path = guildlog, pg_temp as $$
declare
    low  constant bigint := greatest(kept_from(), id_at(wall_of(guild)));
    b    smallint;
begin
    foreach b in array '{0,1}'::smallint[] loop
        return query
            select c.structure, concat_ws(' bot, ', bot_name(b), c.what),
                   c.expected, c.found
              from (select * from check_head(guild, b)
                     union all
                    select * from check_blocks(guild, b)
                     union all
                    select * from check_days(guild, b)
                     union all
                    select * from check_actors(guild, b)
                     union all
                    select * from check_hot(guild, b)
                     union all
                    select * from check_search(guild, b, low)) c;
    end loop;

    return query select * from check_lanes(guild);
    return query select * from check_places(guild, low);
end $$;


-- The counters of a (server, bot).

create or replace function check_head(guild bigint, bot smallint)
returns setof difference language plpgsql stable as $$
declare
    head     log_head;
    arrival  constant bigint := (
                 select max(a.arrival) from log_arrival a
                  where a.guild_id = guild and a.bot = check_head.bot);
    oldest   constant bigint := id_time(entry_first(guild, bot, 0,
                                                    9223372036854775807));
    watched  constant smallint[] := alerts_watched(guild, bot);
    rows     constant bigint := (
                 select count(*) from log_head h
                  where h.guild_id = guild and h.bot = check_head.bot);
begin
    select * into head from log_head h
     where h.guild_id = guild and h.bot = check_head.bot;

    return query
        select 'log_head', d.what, d.expected, d.found
          from (values
               ('rows', '1', rows::text, rows <= 1),
               ('arrival, the last one given', 'at least ' || arrival,
                coalesce(head.arrival::text, 'none'),
                arrival <= coalesce(head.arrival, 0)),
               ('first_log_at', 'at most ' || oldest,
                coalesce(head.first_log_at::text, 'none'),
                coalesce(head.first_log_at <= oldest, false)),
               ('blocked', 'at most ' || head.arrival, head.blocked::text,
                head.blocked <= head.arrival),
               ('watched', coalesce(watched::text, 'none'),
                coalesce(head.watched::text, 'none'),
                watched is not distinct from head.watched),
               ('due_at, as something waits', 'a time', 'none',
                head.arrival = head.blocked or head.due_at is not null))
               d (what, expected, found, fits)
         where d.expected is not null and not d.fits;
end $$;


-- Each block says of its entries what they are, and no two overlap.

create or replace function check_blocks(guild bigint, bot smallint)
returns setof difference language plpgsql stable set work_mem = '64MB' as $$
begin
    return query
        with k as materialized (
            select b.*, string_to_array(b.docs, E'\n') as its_docs,
                   lead(b.first_id) over (order by b.first_id) as next
              from log_block b
             where b.guild_id = guild and b.bot = check_blocks.bot
        ), u as materialized (
            select k.first_id, v.id, v.type, v.doc,
                   lag(v.id) over (partition by k.first_id
                                   order by v.place) as before
              from k
             cross join lateral unnest(k.ids, string_to_array(k.types, null),
                       k.its_docs) with ordinality v (id, type, doc, place)
        ), bits as (
            select u.first_id, bit_or(kinds_low(mark_type(u.type))) as low,
                   bit_or(kinds_high(mark_type(u.type))) as high
              from u where u.type is not null group by u.first_id
        )
        select 'log_block', format('block %s, %s', d.first_id, d.what),
               d.expected, d.found
          from (select k.first_id, x.*
                  from k
                  left join bits b on b.first_id = k.first_id
                 cross join lateral (values
                       ('n', cardinality(k.ids)::text, k.n::text),
                       ('types', k.n::text, length(k.types)::text),
                       ('docs', k.n::text, cardinality(k.its_docs)::text),
                       ('said', k.n::text, cardinality(
                            string_to_array(k.said, E'\n'))::text),
                       ('first_id', k.ids[1]::text, k.first_id::text),
                       ('last_id', k.ids[k.n]::text, k.last_id::text),
                       ('day', day_of(k.first_id)::text, k.day::text),
                       ('day of the last', k.day::text,
                        day_of(k.last_id)::text),
                       ('kinds', b.low || ' ' || b.high,
                        k.kinds0 || ' ' || k.kinds1)) x (what, expected, found)
                 where x.expected is distinct from x.found
                 union all
                select k.first_id, 'the last', 'before ' || k.next,
                       k.last_id::text
                  from k where k.last_id >= k.next
                 union all
                select u.first_id, 'entry ' || u.id,
                       'of type ' || mark_type(u.type) || ', behind '
                       || coalesce(u.before, 0), left(u.doc, 60)
                  from u
                 where u.id <= u.before
                    or u.doc not like '{"id":"' || u.id || '","type":'
                                      || mark_type(u.type) || ',%') d
         order by 2;
end $$;


-- Days count what is in blocks, and so do their parts.

create or replace function check_days(guild bigint, bot smallint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'log_day', format('day %s, type %s', coalesce(a.day, c.day),
                                 coalesce(a.type, c.type)),
               coalesce(a.n, 0)::text, coalesce(c.n, 0)::text
          from (select k.day, mark_type(u.type)::bigint as type,
                       count(*) as n
                  from log_block k
                 cross join lateral unnest(string_to_array(k.types, null))
                       u (type)
                 where k.guild_id = guild and k.bot = check_days.bot
                 group by 1, 2) a
          full join (select d.day, v & 127 as type, v >> 7 as n
                       from log_day d
                      cross join lateral unnest(d.counts::bigint[]) v
                      where d.guild_id = guild and d.bot = check_days.bot) c
            on c.day = a.day and c.type = a.type
         where a.n is distinct from c.n
         union all
        select 'log_day', format('day %s, parts', p.day), p.fit::text,
               p.parts::text
          from (select d.day, d.parts,
                       day_parts(guild, check_days.bot, d.day) as fit
                  from log_day d
                 where d.guild_id = guild and d.bot = check_days.bot
                   and d.parts <> '{}') p
         where p.parts is distinct from p.fit
         order by 2;
end $$;


-- Who did something is known, with the last entry in a block.

create or replace function check_actors(guild bigint, bot smallint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'log_made', 'executor ' || coalesce(d.who, a.who),
               coalesce(d.id::text, 'none'), coalesce(a.id::text, 'none')
          from (select * from blocks_actors(guild, check_actors.bot)
                 order by 2 desc limit 2000) d
          full join (select k.who, max(k.id) as id
                       from actors_kept(guild, check_actors.bot) k
                      group by 1 order by 2 desc limit 2000) a on a.who = d.who
         where d.id is distinct from a.id
         order by 2;
end $$;


create or replace function blocks_actors(guild bigint, bot smallint,
    out who bigint, out id bigint)
returns setof record language plpgsql stable as $$
begin
    return query
        select doc_executor(u.doc), max(u.id)
          from log_block k
         cross join lateral unnest(k.ids, string_to_array(k.docs, E'\n'))
               u (id, doc)
         where k.guild_id = guild and k.bot = blocks_actors.bot
           and doc_executor(u.doc) is not null
         group by 1;
end $$;


-- What arrived last is all there, was not recorded before log_head says, and is
-- in no block; what is older is. When a plan ended the oldest days went, which
-- may have rows here for some days more.

create or replace function check_hot(guild bigint, bot smallint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'log_arrival', 'arrival ' || d.arrival, d.expected, d.found
          from (select n.arrival, 'a row' as expected, 'none' as found
                  from log_head h
                 cross join lateral generate_series(
                           h.blocked + 1, h.arrival) n (arrival)
                 where h.guild_id = guild and h.bot = check_hot.bot
                   and not exists (
                       select from arrival_one(guild, h.bot, n.arrival))
                 union all
                select a.arrival, 'recorded between ' || h.since || ' and '
                       || h.last_at, a.recorded_at::text
                  from log_head h
                  join log_arrival a
                    on a.guild_id = h.guild_id and a.bot = h.bot
                   and a.arrival > h.blocked
                   and a.recorded_at not between h.since and h.last_at
                 where h.guild_id = guild and h.bot = check_hot.bot
                 union all
                select a.arrival,
                       case when a.arrival > h.blocked
                            then 'entry ' || a.id || ' in no block'
                            else 'entry ' || a.id || ' in a block' end,
                       case when a.arrival > h.blocked then 'in one'
                            else 'in none' end
                  from log_head h
                  join log_arrival a
                    on a.guild_id = h.guild_id and a.bot = h.bot
                  join server s on s.guild_id = h.guild_id
                 where h.guild_id = guild and h.bot = check_hot.bot
                   and a.id >= day_low(day_now() - 31)
                   and exists (select from block_at(guild, h.bot, a.id) k
                                where a.id = any (k.ids))
                       <> (a.arrival <= h.blocked)
                   and (a.arrival > h.blocked
                        or plan_keeps(s.plan, s.lapsed_at)
                           and day_of(a.id) >= (
                               select min(x.day) from log_day x
                                where x.guild_id = guild
                                  and x.bot = check_hot.bot))) d
         order by 2;
end $$;


-- How far lanes have come: what is decided is behind what is in flight, that
-- behind what came in, and who has something to do is called for.

create or replace function check_lanes(guild bigint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'lane', format('lane %s, %s', l.lane, d.what), d.expected,
               d.found
          from lane l
          left join lane_head h on h.guild_id = guild and h.lane = l.lane
          left join lane_tail t on t.guild_id = guild and t.lane = l.lane
         cross join lateral (
               values ('head', 'at most upto, ' || coalesce(h.upto::text, '-'),
                       coalesce(h.head::text, 'none'),
                       h.head <= h.upto),
                      ('upto', 'at most tail, ' || coalesce(t.tail::text, '-'),
                       coalesce(h.upto::text, 'none'),
                       h.upto <= t.tail),
                      ('something to do', 'a row in lane_ready', 'none',
                       h.head = t.tail or l.state = 'closed'
                       or exists (select from lane_ready r
                                   where r.guild_id = guild
                                     and r.lane = l.lane)))
               d (what, expected, found, fits)
         where l.guild_id = guild and d.fits is not true
         order by l.lane, d.what;
    return query
        select 'lane_batch', format('lane %s, from %s to %s', b.lane,
                                    b.seq_from, b.seq_to),
               'behind ' || b.before, 'not'
          from (select x.*, max(x.seq_to) over (
                                partition by x.lane order by x.seq_from
                                rows between unbounded preceding
                                         and 1 preceding) as before
                  from lane_batch x where x.guild_id = guild) b
         where b.seq_from <= b.before or b.seq_to < b.seq_from
         order by b.lane, b.seq_from;
end $$;


-- The places of entries in lanes: each is some one's alone and none is behind
-- the lane's tail, and what is up to the lane's head was decided.

create or replace function check_places(guild bigint, low bigint)
returns setof difference language plpgsql stable set work_mem = '64MB' as $$
begin
    return query
        with place as materialized (
            select e.lane, e.seq, e.id from log_arrival e
             where e.guild_id = guild and e.lane is not null
               and e.dstatus is null
             union all
            select r.lane, r.seq, r.id from replay r
             where r.guild_id = guild and r.id >= check_places.low
               and not (r.first and exists (
                   select from log_arrival x
                    where x.guild_id = guild
                      and x.lane = r.lane and x.seq = r.seq))
        ), counted as (
            select p.lane, p.seq, count(*) as n, min(p.id) as id
              from place p group by 1, 2
        )
        select 'lane', format('lane %s, place %s of entry %s', c.lane, c.seq,
                              c.id), d.expected, d.found
          from counted c
          left join lane_head h on h.guild_id = guild and h.lane = c.lane
          left join lane_tail t on t.guild_id = guild and t.lane = c.lane
         cross join lateral (
               values ('one entry', c.n || ' entries', c.n = 1),
                      ('at most ' || coalesce(t.tail::text, 'none'),
                       c.seq::text, c.seq <= t.tail),
                      ('decided, as the head is ' || h.head, 'not decided',
                       h.head is null or c.seq > h.head
                       or exists (
                           select from lane_batch b
                            where b.guild_id = guild and b.lane = c.lane
                              and b.seq_from <= c.seq and b.seq_to >= c.seq)))
               d (expected, found, fits)
         where d.fits is not true
         order by c.lane, c.seq, 3;
end $$;
