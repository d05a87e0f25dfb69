-- Storing the entries that are left.

create or replace function record_store(h heads, received bigint, b batch,
    docs text[], verdicts text[], routes bigint[], holds boolean,
    first_at bigint)
returns bigint[] language plpgsql as $$
declare
    held     boolean[];
    queued   bigint[] := routes;     -- where they go, of those that do now
    ends     lane_ends;
    numbers  bigint[];
    places   int[];                  -- in the order of arrival; null: all
begin
    numbers := record_draw(h, b.times, received, verdicts);

    if holds then
        held := record_held(h, b.types);
    end if;

    if holds or num_nonnulls(variadic verdicts) > 0 then
        queued := array(
            select case when verdicts[n] is null and held[n] is not true
                        then routes[n] end
              from generate_subscripts(verdicts, 1) n
             order by n);
        places := record_places(h.heads, verdicts);
    end if;

    ends := lanes_takes(h.guilds, h.bots, h.heads, queued);
    perform record_insert(h, received, b, docs, numbers, routes, held,
                          places, queued, ends);

    if places is not null then
        perform heads_untake(h, places);
    end if;

    -- it may be older than all that some server has

    if first_at is null
       or id_time((select min(n) from unnest(numbers) n)) < first_at
    then
        perform record_first(h.guilds[e.head], h.bots[e.head], e.at)
           from (select u.head, id_time(min(u.id)) as at
                   from unnest(h.heads, numbers) u (head, id)
                  group by u.head) e
          where e.at < coalesce((h.settings[e.head]).first_at,
                                9223372036854775807);
    end if;

    return numbers;
end $$;


-- What was not taken has no arrival.

create or replace function heads_untake(h heads, places int[])
returns void language plpgsql
set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    update log_head l
       set arrival = n.arrival + n.taken,
           turn = turn_of(n.arrival + n.taken),
           due_at = case when n.arrival = l.blocked and n.taken = 0
                         then null else l.due_at end
      from (select u.guild, u.bot, u.arrival, u.size, u.turn,
                   places[u.first + u.size - 1] as taken
              from unnest(h.guilds, h.bots, h.arrivals, h.sizes, h.firsts,
                          h.turns)
                       u (guild, bot, arrival, size, first, turn) offset 0) n
     where l.guild_id = n.guild and l.bot = n.bot and l.turn = n.turn
       and n.taken < n.size
       and (h.lone is null or l.guild_id = h.lone);
end $$;


-- How many of their server up to each of them are taken: entries, and those
-- that a rule drops.

create or replace function record_places(heads int[], verdicts text[])
returns int[] language plpgsql immutable as $$
begin
    return (
        select array_agg(u.n order by u.place)
          from (select v.place, count(*) filter (
                           where v.verdict is null
                              or v.verdict not in ('duplicate', 'error',
                                                   'time', 'postponed'))
                           over (partition by v.head order by v.place) as n
                  from unnest(heads, verdicts) with ordinality
                           v (head, verdict, place)) u);
end $$;


-- An id for each entry that is left, of its time and a number that goes round.
-- A late one may draw a number that was taken in its millisecond long ago: then
-- it draws again, three times in its own millisecond, and each time in the next
-- one after that, or it would never end where all numbers of one are taken.

create or replace function record_draw(h heads, times bigint[],
    received bigint, verdicts text[])
returns bigint[] language plpgsql as $$
declare
    node     constant bigint := node_id();
    numbers  bigint[];
    ahead    int := -2;
    taken    int[];
begin
    numbers := array(
        select case when verdicts[n] is null
                    then time_id(coalesce(times[n], received)) | node
                         | nextval('guildlog.entry_number') end
          from generate_subscripts(verdicts, 1) n
         order by n);

    loop
        taken := heads_taken(h, numbers, time_id(received - 10000));
        exit when taken = '{}';

        numbers := array(
            select case when u.place = any (taken)
                        then time_id(id_time(u.id) + (ahead > 0)::int) | node
                             | nextval('guildlog.entry_number')
                        else u.id end
              from unnest(numbers) with ordinality u (id, place)
             order by u.place);
        ahead := ahead + 1;
    end loop;

    return numbers;
end $$;


-- The places of the ids before that one which are taken, of all servers.

create or replace function heads_taken(h heads, ids bigint[], before bigint)
returns int[] language plpgsql stable as $$
declare
    taken  int[] := '{}';
    its    record;
begin
    if not (select min(i) < before from unnest(ids) i) then
        return taken;
    end if;

    for its in
        select n.guild, n.bot, n.first, n.first + n.size - 1 as last
          from unnest(h.guilds, h.bots, h.firsts, h.sizes) with ordinality
                   n (guild, bot, first, size, place)
         order by n.place
    loop
        taken := taken || array(
            select t + its.first - 1
              from unnest(record_taken(its.guild, its.bot,
                              ids[its.first : its.last], before)) t);
    end loop;

    return taken;
end $$;


-- The places of the ids before that one which entries have, or which stand at
-- an earlier place.

create or replace function record_taken(guild bigint, bot smallint,
    ids bigint[], before bigint)
returns int[] language plpgsql stable as $$
declare
    late  bigint[];
begin
    select array_agg(i) into late from unnest(ids) i where i < before;

    if late is null then
        return '{}';
    end if;

    return array(
        select u.place
          from (select i.id, i.place::int, row_number() over (
                           partition by i.id order by i.place) as nth
                  from unnest(ids) with ordinality i (id, place)
                 where i.id < before) u
         where u.nth > 1
            or exists (select from block_at(guild, record_taken.bot, u.id) k
                        where u.id = any (k.ids))
            or u.id in (select a.id
                          from arrivals_hot(guild, record_taken.bot) a
                         where a.id = any (late)));
end $$;


-- Whether each of them is held for active ignore.

create or replace function record_held(h heads, types smallint[])
returns boolean[] language plpgsql stable as $$
begin
    return array(
        select coalesce(t.active_ignore, (s.options).active_ignore)
          from unnest(h.heads, types) with ordinality u (head, type, place)
          join unnest(h.settings) with ordinality
                   s (free, options, holds, lists, channels, first_at,
                      watched, head)
            on s.head = u.head
          left join lateral (
               select x.active_ignore from logging_type x
                where x.guild_id = h.guilds[u.head]
                  and (h.lone is null or x.guild_id = h.lone)
                  and x.bot = h.bots[u.head] and x.log_type = u.type
               offset 0) t on true
         order by u.place);
end $$;


-- Off or without a channel an entry has its final status at once. doc lacks
-- the closing brace, for the delivery to follow.

create or replace function record_insert(h heads, received bigint, b batch,
    docs text[], numbers bigint[], routes bigint[], held boolean[],
    places int[], queued bigint[], ends lane_ends)
returns void language plpgsql as $$
declare
    at      constant timestamptz := clock_timestamp();
    heads   constant int[] := h.heads;
    firsts  constant int[] := h.firsts;
    events  constant text[] := b.events;
    types   constant smallint[] := b.types;
    times   constant bigint[] := b.times;
begin
    insert into log_arrival (guild_id, arrival, recorded_at, id, lane, seq,
                             dchannel_id, held_to, bot, type, dstatus, dreason,
                             event_id, doc)
    select h.guilds[k], h.arrivals[k] + coalesce(places[n], n - firsts[k] + 1),
           h.untils[k], numbers[n], p.lane, p.seq,
           nullif(routes[n], 0),
           case when held[n] and numbers[n] is not null
                then at + interval '3 s' end,
           h.bots[k], coalesce(types[n], 0),
           case when routes[n] > 0 or numbers[n] is null then null else 0 end,
           case when numbers[n] is null then null
                when routes[n] = 0 then 'off'
                when routes[n] is null then 'no_channel' end,
           events[n],
           '{"id":"' || numbers[n] || '","type":' || types[n]
           || ',"timestamp":' || coalesce(times[n], received) || ','
           || docs[n]
      from lane_places(heads, queued, ends) p (n, lane, seq)
     cross join lateral (select heads[n]) o (k)
     where places is null
        or places[n] > case when n > firsts[k] then places[n - 1] else 0 end;
end $$;


-- The first log of the server may be older than thought.

create or replace function record_first(guild bigint, bot smallint,
    at bigint)
returns void language plpgsql as $$
begin
    update log_head h
       set first_log_at = at
     where h.guild_id = guild
       and h.bot = record_first.bot
       and h.turn >= (select n.turn from head_of(guild, record_first.bot) n)
       and (h.first_log_at is null or h.first_log_at > at);
end $$;


-- The ids to answer with. A duplicate has that of the first, if that was
-- stored.

create or replace function record_answered(h heads, events text[],
    verdicts text[], numbers bigint[])
returns bigint[] language plpgsql as $$
begin
    if array_position(verdicts, 'duplicate') is null then
        return numbers;
    end if;

    return array(
        select coalesce(numbers[e.place], k.id)
          from unnest(h.heads, events) with ordinality e (head, id, place)
          left join lateral (
              select d.id from log_arrival d
               where d.guild_id = h.guilds[e.head]
                 and (h.lone is null or d.guild_id = h.lone)
                 and d.bot = h.bots[e.head]
                 and d.event_id = e.id
                 and d.recorded_at > now() - interval '24 hours'
               limit 1) k on verdicts[e.place] = 'duplicate'
         order by e.place);
end $$;
