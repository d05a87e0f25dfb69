-- Storing the entries that are left, and remembering their events.


create or replace function record_store(guild bigint, bot smallint,
    arrival bigint, received bigint, settings recording, b batch,
    docs text[], verdicts text[], routes bigint[])
returns bigint[] language plpgsql as $$
declare
    held     boolean[];
    queued   bigint[] := routes;     -- where they go, of those that do now
    ends     lane_ends;
    numbers  bigint[] := record_draw(b.times, received, verdicts);
    lowest   bigint;
begin
    if settings.holds then
        held := record_held(guild, bot, settings, b.types);
    end if;

    if settings.holds or num_nonnulls(variadic verdicts) > 0 then
        queued := array(
            select case when verdicts[n] is null and held[n] is not true
                        then routes[n] end
              from generate_subscripts(verdicts, 1) n
             order by n);
    end if;

    ends := lanes_take(guild, bot, queued);

    if record_insert(guild, bot, arrival, received, b, docs, numbers, routes,
                     held, queued, ends)
       < num_nonnulls(variadic numbers)
    then
        numbers := record_redraw(guild, bot, arrival, received, b, docs,
                                 numbers, routes, held, queued, ends);
    end if;

    lowest := (select min(n) from unnest(numbers) n);

    if settings.holds then
        perform held_add(guild, bot, numbers, routes, held);
    end if;

    if lowest <= settings.counted then
        perform corrections_add(guild, bot, numbers, 1);
    end if;

    if settings.first_at is null or id_time(lowest) < settings.first_at then
        perform record_first(guild, bot, id_time(lowest));
    end if;

    return numbers;
end $$;


-- An id for each entry that is left, of its time and a number that goes round.

create or replace function record_draw(times bigint[], received bigint,
    verdicts text[])
returns bigint[] language plpgsql as $$
declare
    node  constant bigint := node_id();
begin
    return array(
        select case when verdicts[n] is null
                    then time_id(coalesce(times[n], received)) | node
                         | nextval('guildlog.entry_number') end
          from generate_subscripts(verdicts, 1) n
         order by n);
end $$;


-- A late entry may draw a number that was taken in its millisecond long ago.
-- Those draw again, until all are stored: three times in their own millisecond,
-- then each time in the next one, or it would never end where all numbers of
-- one are taken. An arrival tells whose an id is.

create or replace function record_redraw(guild bigint, bot smallint,
    arrival bigint, received bigint, b batch, docs text[], numbers bigint[],
    routes bigint[], held boolean[], queued bigint[], ends lane_ends)
returns bigint[] language plpgsql as $$
declare
    ahead   int := -2;         -- of the entry's millisecond
    missed  bigint[];          -- new ids for those that are not stored
begin
    loop
        missed := array(
            select case when numbers[n] is not null
                         and not exists (
                             select from log_entry e
                              where e.guild_id = guild
                                and e.bot = record_redraw.bot
                                and e.id = numbers[n]
                                and e.arrival = record_redraw.arrival + n)
                        then time_id(coalesce(b.times[n], received)
                                     + greatest(ahead, 0))
                             | node_id()
                             | nextval('guildlog.entry_number') end
              from generate_subscripts(numbers, 1) n
             order by n);

        exit when num_nonnulls(variadic missed) = 0;

        perform record_insert(guild, bot, arrival, received, b, docs, missed,
                              routes, held, queued, ends);
        numbers := array(
            select coalesce(m, numbers[n])
              from unnest(missed) with ordinality u (m, n)
             order by n);
        ahead := ahead + 1;
    end loop;

    return numbers;
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
-- the closing brace, for the delivery to follow. How many were stored: one
-- whose id is taken is left out.

create or replace function record_insert(guild bigint, bot smallint,
    arrival bigint, received bigint, b batch, docs text[],
    numbers bigint[], routes bigint[], held boolean[], queued bigint[],
    ends lane_ends)
returns int language plpgsql as $$
declare
    types      constant smallint[] := b.types;
    times      constant bigint[] := b.times;
    executors  constant bigint[] := b.executors;
    targets    constant bigint[] := b.targets;
    channels   constant bigint[] := b.channels;
    stored     int;
begin
    insert into log_entry (guild_id, id, arrival, executor_id, target_id,
                           channel_id, lane, seq, dchannel_id, bot, type,
                           dstatus, dreason, doc)
    select guild, numbers[n], arrival + n, executors[n], targets[n],
           channels[n], p.lane, p.seq, nullif(routes[n], 0),
           record_insert.bot, types[n],
           case when routes[n] > 0 then null else 0 end,
           case when routes[n] = 0 then 'off'
                when routes[n] is null then 'no_channel'
                when held[n] then 'held' end,
           '{"id":"' || numbers[n] || '","type":' || types[n]
           || ',"timestamp":' || coalesce(times[n], received) || ','
           || docs[n]
      from lane_places(queued, ends) p (n, lane, seq)
     where numbers[n] is not null
    on conflict do nothing;

    get diagnostics stored = row_count;
    return stored;
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


-- Remembers the events; the ids to answer with. A duplicate has that of the
-- first, if that was stored.

create or replace function record_events(guild bigint, bot smallint,
    arrival bigint, events text[], verdicts text[], numbers bigint[])
returns bigint[] language plpgsql as $$
begin
    insert into log_event (guild_id, arrival, entry_id, recorded_at, bot,
                           event_id)
    select guild, arrival + n, numbers[n], now(), record_events.bot, events[n]
      from generate_subscripts(events, 1) n
     where verdicts[n] is null
        or verdicts[n] not in ('duplicate', 'error', 'time', 'postponed');

    if array_position(verdicts, 'duplicate') is null then
        return numbers;
    end if;

    return array(
        select coalesce(numbers[e.place], k.entry_id)
          from unnest(events) with ordinality e (id, place)
          left join lateral (
              select d.entry_id from log_event d
               where d.guild_id = guild
                 and d.bot = record_events.bot
                 and d.event_id = e.id
                 and d.recorded_at > now() - interval '24 hours'
               limit 1) k on verdicts[e.place] = 'duplicate'
         order by e.place);
end $$;
