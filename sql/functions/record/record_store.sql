-- Storing the entries that are left.

create or replace function record_store(head log_head, received bigint,
    settings recording, b batch, docs text[], verdicts text[],
    routes bigint[])
returns bigint[] language plpgsql as $$
declare
    guild    constant bigint := head.guild_id;
    bot      constant smallint := head.bot;
    held     boolean[];
    queued   bigint[] := routes;     -- where they go, of those that do now
    ends     lane_ends;
    numbers  bigint[];
    places   int[];                  -- in the order of arrival; null: all
    at       bigint;
begin
    numbers := record_draw(guild, bot, b.times, received, verdicts);

    if settings.holds then
        held := record_held(guild, bot, settings, b.types);
    end if;

    if settings.holds or num_nonnulls(variadic verdicts) > 0 then
        queued := array(
            select case when verdicts[n] is null and held[n] is not true
                        then routes[n] end
              from generate_subscripts(verdicts, 1) n
             order by n);
        places := record_places(verdicts);
    end if;

    ends := lanes_take(guild, bot, queued);
    perform record_insert(head, received, b, docs, numbers, routes, held,
                          places, queued, ends);

    -- what was not taken has no arrival

    if places[cardinality(places)] < cardinality(places) then
        update log_head h
           set arrival = head.arrival + places[cardinality(places)],
               due_at = case when head.arrival = head.blocked
                              and places[cardinality(places)] = 0
                             then null else h.due_at end
         where h.guild_id = guild and h.bot = head.bot;
    end if;

    at := id_time((select min(n) from unnest(numbers) n));

    if settings.first_at is null or at < settings.first_at then
        perform record_first(guild, bot, at);
    end if;

    return numbers;
end $$;


-- How many up to each of them are taken: entries, and those that a rule drops.

create or replace function record_places(verdicts text[])
returns int[] language plpgsql immutable as $$
begin
    return (
        select array_agg(u.n order by u.place)
          from (select v.place, count(*) filter (
                           where v.verdict is null
                              or v.verdict not in ('duplicate', 'error',
                                                   'time', 'postponed'))
                           over (order by v.place) as n
                  from unnest(verdicts) with ordinality v (verdict, place)) u);
end $$;


-- An id for each entry that is left, of its time and a number that goes round.
-- A late one may draw a number that was taken in its millisecond long ago: then
-- it draws again, three times in its own millisecond, and each time in the next
-- one after that, or it would never end where all numbers of one are taken.

create or replace function record_draw(guild bigint, bot smallint,
    times bigint[], received bigint, verdicts text[])
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
        taken := record_taken(guild, bot, numbers,
                              time_id(received - 10000));
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

create or replace function record_held(guild bigint, bot smallint,
    settings recording, types smallint[])
returns boolean[] language plpgsql stable as $$
begin
    return array(
        select coalesce(s.active_ignore, (settings.options).active_ignore)
          from unnest(types) with ordinality u (type, place)
          left join logging_type s
            on s.guild_id = guild and s.bot = record_held.bot
           and s.log_type = u.type
         order by u.place);
end $$;


-- Off or without a channel an entry has its final status at once. doc lacks
-- the closing brace, for the delivery to follow.

create or replace function record_insert(head log_head, received bigint,
    b batch, docs text[], numbers bigint[], routes bigint[], held boolean[],
    places int[], queued bigint[], ends lane_ends)
returns void language plpgsql as $$
declare
    guild   constant bigint := head.guild_id;
    at      constant timestamptz := clock_timestamp();
    events  constant text[] := b.events;
    types   constant smallint[] := b.types;
    times   constant bigint[] := b.times;
begin
    insert into log_arrival (guild_id, arrival, recorded_at, id, lane, seq,
                             dchannel_id, held_to, bot, type, dstatus, dreason,
                             event_id, doc)
    select guild, head.arrival + coalesce(places[n], n),
           head.last_at, numbers[n], p.lane, p.seq,
           nullif(routes[n], 0),
           case when held[n] and numbers[n] is not null
                then at + interval '3 s' end,
           head.bot, types[n],
           case when routes[n] > 0 or numbers[n] is null then null else 0 end,
           case when numbers[n] is null then null
                when routes[n] = 0 then 'off'
                when routes[n] is null then 'no_channel' end,
           events[n],
           '{"id":"' || numbers[n] || '","type":' || types[n]
           || ',"timestamp":' || coalesce(times[n], received) || ','
           || docs[n]
      from lane_places(queued, ends) p (n, lane, seq)
     where places is null
        or places[n] > coalesce(places[n - 1], 0);
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
       and (h.first_log_at is null or h.first_log_at > at);
end $$;


-- The ids to answer with. A duplicate has that of the first, if that was
-- stored.

create or replace function record_answered(guild bigint, bot smallint,
    events text[], verdicts text[], numbers bigint[])
returns bigint[] language plpgsql as $$
begin
    if array_position(verdicts, 'duplicate') is null then
        return numbers;
    end if;

    return array(
        select coalesce(numbers[e.place], k.id)
          from unnest(events) with ordinality e (id, place)
          left join lateral (
              select d.id from log_arrival d
               where d.guild_id = guild
                 and d.bot = record_answered.bot
                 and d.event_id = e.id
                 and d.recorded_at > now() - interval '24 hours'
               limit 1) k on verdicts[e.place] = 'duplicate'
         order by e.place);
end $$;
