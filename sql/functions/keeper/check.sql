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
              from (select * from check_head(guild, b, low)
                     union all
                    select * from check_checkpoints(guild, b, low)
                     union all
                    select * from check_corrections(guild, b, low)
                     union all
                    select * from check_events(guild, b, low)
                     union all
                    select * from check_held(guild, b, low)
                     union all
                    select * from check_search(guild, b, low)) c;
    end loop;

    return query select * from check_lanes(guild);
    return query select * from check_places(guild, low);
end $$;


-- The counters of a (server, bot).

create or replace function check_head(guild bigint, bot smallint, low bigint)
returns setof difference language plpgsql stable as $$
declare
    head     log_head;
    arrival  bigint;
    oldest   bigint;
begin
    select * into head from log_head h
     where h.guild_id = guild and h.bot = check_head.bot;

    select max(e.arrival), id_time(min(e.id)) into arrival, oldest
      from log_entry e
     where e.guild_id = guild and e.bot = check_head.bot and e.id >= low;

    return query
        select 'log_head', d.what, d.expected, d.found
          from (values
               ('arrival, the last one given', 'at least ' || arrival,
                coalesce(head.arrival::text, 'none'),
                arrival <= coalesce(head.arrival, 0)),
               ('first_log_at', 'at most ' || oldest,
                coalesce(head.first_log_at::text, 'none'),
                coalesce(head.first_log_at <= oldest, false)),
               ('counted', 'at most ' || head.arrival, head.counted::text,
                head.counted <= head.arrival),
               ('counted, or listed', 'at least ' || head.arrival - 255,
                head.counted::text,
                head.arrival - head.counted < 256
                or exists (select from log_uncounted u
                            where u.guild_id = guild
                              and u.bot = check_head.bot)))
               d (what, expected, found, fits)
         where d.expected is not null and not d.fits;
end $$;


-- Between each two checkpoints: what they and the corrections say lies there,
-- and the entries that do.

create or replace function check_checkpoints(guild bigint, bot smallint,
    low bigint)
returns setof difference language plpgsql stable set work_mem = '64MB' as $$
begin
    return query
        with c as materialized (
            select l.last_id, l.cum,
                   row_number() over (order by l.last_id) as n
              from log_checkpoint l
             where l.guild_id = guild and l.bot = check_checkpoints.bot
               and l.last_id >= low
        ), bounds as materialized (
            select array_agg(c.last_id order by c.n) as ids,
                   min(c.last_id) as first, max(c.last_id) as last from c
        ), entries as (
            select width_bucket(e.id - 1, b.ids) as n, e.type + 1 as place,
                   count(*) as sum
              from bounds b
              join log_entry e
                on e.guild_id = guild and e.bot = check_checkpoints.bot
               and e.id > b.first and e.id <= b.last
             group by 1, 2
        ), counts as (
            select t.n, t.place, sum(t.sum) as sum
              from (select a.n, u.place, u.last - u.first
                      from c a
                      join c z on z.n = a.n + 1
                     cross join lateral unnest(a.cum, z.cum)
                           with ordinality u (first, last, place)
                     where u.last <> u.first
                     union all
                    select width_bucket(x.id - 1, b.ids), x.place, x.n
                      from bounds b
                      join log_correction x
                        on x.guild_id = guild
                       and x.bot = check_checkpoints.bot
                       and x.id > b.first and x.id <= b.last)
                   t (n, place, sum)
             group by 1, 2
        )
        select 'log_checkpoint', format('place %s, ids behind %s up to %s',
                      coalesce(e.place, s.place), a.last_id, z.last_id),
               coalesce(e.sum, 0)::text, coalesce(s.sum, 0)::text
          from entries e
          full join counts s on s.n = e.n and s.place = e.place
          join c a on a.n = coalesce(e.n, s.n)
          join c z on z.n = a.n + 1
         where coalesce(e.sum, 0) <> coalesce(s.sum, 0)
         order by a.n, 2;
end $$;


-- A correction is of checkpoints from its id on, so there is one.

create or replace function check_corrections(guild bigint, bot smallint,
    low bigint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'log_correction', format('place %s, id %s', x.place, x.id),
               'a checkpoint from there on', 'none'
          from log_correction x
         where x.guild_id = guild and x.bot = check_corrections.bot
           and x.id >= low
           and not exists (
               select from log_checkpoint c
                where c.guild_id = x.guild_id and c.bot = x.bot
                  and c.last_id >= x.id)
         order by x.id, x.place;
end $$;


-- Each entry of which the events are to know has its event.

create or replace function check_events(guild bigint, bot smallint, low bigint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'log_event', 'entry ' || e.id, 'an event', 'none'
          from log_head h
          join log_entry e on e.guild_id = h.guild_id and e.bot = h.bot
         where h.guild_id = guild and h.bot = check_events.bot
           and e.id >= check_events.low
           and e.arrival > events_from(h.days, h.arrival)
           and not exists (
               select from log_event k
                where k.guild_id = guild and k.bot = check_events.bot
                  and k.arrival = e.arrival and k.entry_id = e.id);
end $$;


-- An entry that says it is held is known to be, and what is held is there.

create or replace function check_held(guild bigint, bot smallint, low bigint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'held_entry', 'entry ' || e.id, 'a row', 'none'
          from log_entry e
         where e.guild_id = guild and e.bot = check_held.bot
           and e.id >= low and e.dstatus is null and e.dreason = 'held'
           and not exists (
               select from held_entry h
                where h.guild_id = guild and h.bot = e.bot and h.id = e.id)
         order by e.id;
    return query
        select 'held_entry', 'row ' || h.id, 'an entry', 'none'
          from held_entry h
         where h.guild_id = guild and h.bot = check_held.bot and h.id >= low
           and not exists (
               select from log_entry_one(guild, check_held.bot, h.id))
         order by h.id;
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
            select e.lane, e.seq, e.id from log_entry e
             where e.guild_id = guild and e.lane is not null
               and e.dstatus is null and e.id >= check_places.low
             union all
            select h.lane, h.seq, h.id from held_entry h
             where h.guild_id = guild and h.lane is not null
               and h.id >= check_places.low
             union all
            select r.lane, r.seq, r.id from replay r
             where r.guild_id = guild and r.id >= check_places.low
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
