-- Recording: entries of one server and bot, in the order of the array, in one
-- transaction. A batch goes through the stages below. What became of the
-- entry at a place stands at that place of "verdicts": error (somebody has told
-- why), time (it happened too long ago, or is to come), postponed (it is to be
-- sent again), duplicate, the rule that dropped it, or null as long as it goes
-- on.

-- Entries, one at each place of the arrays, or at those named. An array that
-- says nothing of any of them may be null. Their documents, which are most of
-- what there is to copy, go beside it, each as entry_doc() makes it.

call type_make('batch', $$
    events          text[],      -- null: an error
    types           smallint[],
    times           bigint[],    -- ms since the epoch; null: now
    executors       text[],
    executor_bots   boolean[],
    executor_roles  text[],      -- each an array of ids as text
    targets         text[],
    target_bots     boolean[],
    target_roles    text[],
    channels        text[],
    parents         text[],      -- a thread's or a post's channel
    categories      text[],
    proxied         boolean[],
    prefixed        int[],       -- those with a reason that begins with [
    crowded         int[]        -- those with more messages than are kept
$$);

-- the ignore lists; null: nothing in it

call type_make('ignored', $$
    channels        text[],
    categories      text[],
    executors       text[],
    targets         text[],
    contents        text[],
    executor_roles  text[],
    target_roles    text[]
$$);

-- what the server's configuration says of it all, read once a batch

call type_make('recording', $$
    free      boolean,           -- the plan
    options   logging_options,
    holds     boolean,           -- active ignore is on somewhere
    filters   boolean,           -- one is on
    lists     ignored,
    channels  logging_channels,
    counted   bigint,            -- up to that id counts were made; null: none
    first_at  bigint             -- of the server's first log, ms
$$);


-- Records entries and answers with what became of each:
-- {recorded, duplicates, dropped, errors, ids}. An entry that was found bad
-- before stands in the array as a string that says why.

create or replace function record(guild bigint, bot smallint, entries jsonb)
returns jsonb language plpgsql as $$
declare
    did  constant record := record_batch(guild, bot, record_read(entries),
                                         record_docs(entries));
begin
    return record_answer(record_errors(entries, did.verdicts),
                         record_counts(did.verdicts), did.ids);
end $$;


-- Records a batch. No statement below may read a table from end to end: see
-- "Planner tricks" in sql/README.md. Filters may take filter_ms in all. timed:
-- an entry that happened too long ago, or is to come, is an error.

create or replace function record_batch(guild bigint, bot smallint, b batch,
    docs text[], filter_ms int default 2000, timed boolean default false,
    out verdicts text[], out ids bigint[])
language plpgsql set enable_seqscan = off as $$
declare
    arrival   bigint;
    received  bigint;
    settings  recording;
    routes    bigint[];
    did       record;
begin
    arrival := record_begin(guild, bot, cardinality(b.events));
    received := ms(clock_timestamp());
    settings := record_settings(guild, bot);
    verdicts := record_known(guild, bot, b.events);

    if timed then
        verdicts := record_times(b.times, received, verdicts);
    end if;

    if b.prefixed is not null then
        did := record_prefixes(guild, b, docs);
        b := did.b;
        docs := did.docs;
    end if;

    did := record_rules(guild, bot, settings, b, docs, verdicts);
    verdicts := did.verdicts;
    routes := did.routes;

    if settings.holds then
        verdicts := active_ignore_apply(guild, bot, settings, b, docs,
                                        verdicts);
    end if;

    if settings.filters then
        select f.* into docs, verdicts
          from record_filter(maskers(guild, bot), mask_needles_of(guild, bot),
                             b.types, filter_ms, docs, verdicts) f;
    end if;

    if b.crowded is not null then
        docs := record_truncate(b.crowded, docs);
    end if;

    ids := record_store(guild, bot, arrival, received, settings, b, docs,
                        verdicts, routes);
    ids := record_events(guild, bot, arrival, b.events, verdicts, ids);

    if arrival >> 7 < arrival + cardinality(b.events) >> 7 then
        perform checkpoints_come_due(guild, bot);
    end if;

    if arrival >> 10 < arrival + cardinality(b.events) >> 10 then
        perform search_come_due(guild, bot);
    end if;
end $$;


-- Takes the (server, bot) to the end of the transaction, which makes arrival
-- numbers follow the order of commits and counts exact; the number before the
-- first of this batch.

create or replace function record_begin(guild bigint, bot smallint, n int)
returns bigint language plpgsql as $$
declare
    today    constant bigint := event_day();
    latest   constant bigint := event_day('0');
    arrival  bigint;
    first    boolean;      -- of the day
begin
    insert into log_head as h (guild_id, bot, arrival, days)
    values (guild, bot, n, array[today, 0])
    on conflict on constraint log_head_pkey
        do update set arrival = h.arrival + n,
                      days = event_days(h.days, h.arrival, today, latest)
    returning h.arrival - n, h.days[2] = h.arrival - n into arrival, first;

    if first then
        perform partitions_reach();
    end if;

    return arrival;
end $$;


create or replace function record_settings(guild bigint, bot smallint)
returns recording language plpgsql stable as $$
declare
    it  recording;
begin
    select not exists (select from server s
                        where s.guild_id = guild and s.plan <> 'free'),
           case when o.guild_id is not null
                then row(o.*)::logging_options else options_default() end,
           exists (select from logging_type t
                    where t.guild_id = guild
                      and t.bot = record_settings.bot
                      and t.active_ignore),
           exists (select from filter f
                    where f.guild_id = guild
                      and f.bot = record_settings.bot and f.enabled),
           (select row(
                array_agg(i.ignore_value) filter (where i.ignore_type = 0),
                array_agg(i.ignore_value) filter (where i.ignore_type = 1),
                array_agg(i.ignore_value) filter (where i.ignore_type = 2),
                array_agg(i.ignore_value) filter (where i.ignore_type = 3),
                array_agg(i.ignore_value) filter (where i.ignore_type = 4),
                array_agg(i.ignore_value) filter (where i.ignore_type = 5),
                array_agg(i.ignore_value) filter (where i.ignore_type = 6)
                )::ignored
              from ignore_entry i
             where i.guild_id = guild and i.bot = record_settings.bot),
           (select row(c.*)::logging_channels from logging_channels c
             where c.guild_id = guild and c.bot = record_settings.bot),
           (select k.last_id from log_checkpoint k
             where k.guild_id = guild and k.bot = record_settings.bot
             order by k.last_id desc limit 1),
           h.first_log_at
      into it.free, it.options, it.holds, it.filters, it.lists, it.channels,
           it.counted, it.first_at
      from log_head h
      left join logging_options o
        on o.guild_id = guild and o.bot = record_settings.bot
     where h.guild_id = guild and h.bot = record_settings.bot;

    it.holds := it.holds or (it.options).active_ignore;

    return it;
end $$;


create or replace function record_read(entries jsonb)
returns batch language plpgsql stable as $$
declare
    b  batch;
begin
    select coalesce(array_agg(e ->> 'event_id'), '{}'),
           array_agg((e ->> 'type')::smallint),
           array_agg((e ->> 'timestamp')::bigint),
           array_agg(e #>> '{executor,id}'),
           array_agg((e #>> '{executor,bot}')::boolean),
           array_agg(translate(e #>> '{executor,roles}', '[]', '{}')),
           array_agg(e #>> '{target,id}'),
           array_agg((e #>> '{target,bot}')::boolean),
           array_agg(translate(e #>> '{target,roles}', '[]', '{}')),
           array_agg(e #>> '{channel,id}'),
           array_agg(e #>> '{channel,parent}'),
           array_agg(e #>> '{channel,category}'),
           array_agg((e ->> 'proxied')::boolean),
           array_agg(place) filter (where e ->> 'reason' like '[%'),
           array_agg(place) filter (where e @? '$.messages[100]')
      into b
      from (select case jsonb_typeof(u.entry)
                   when 'object' then u.entry else '{}' end, u.place
              from jsonb_array_elements(entries) with ordinality
                       u (entry, place)
             order by u.place) n (e, place);

    return b;
end $$;


create or replace function record_docs(entries jsonb)
returns text[] language plpgsql stable as $$
begin
    return array(
        select case jsonb_typeof(u.entry)
               when 'object' then entry_doc(u.entry - 'messagesTruncated') end
          from jsonb_array_elements(entries) with ordinality u (entry, place)
         order by u.place);
end $$;


-- Pieces of an entry's JSON.

create or replace function quoted(value text)
returns text language sql stable as $$
    select coalesce(to_json(value)::text, 'null')
$$;


create or replace function named_id(it jsonb)
returns text language sql stable as $$
    select case when it ->> 'id' is not null
                then format('{"id":"%s","name":%s}', it ->> 'id',
                            to_json(coalesce(it ->> 'name', '')))
                else 'null' end
$$;


-- The changes of an entry, also as the platform's audit log names them.

create or replace function changes_of(changes jsonb)
returns jsonb language plpgsql immutable as $$
begin
    return (
        select coalesce(jsonb_agg(jsonb_build_object(
                   'key', c ->> 'key',
                   'old', coalesce(nullif(c -> 'old', 'null'),
                                   change_given(c -> 'old_value')),
                   'new', coalesce(nullif(c -> 'new', 'null'),
                                   change_given(c -> 'new_value')))
                   order by place), '[]')
          from jsonb_array_elements(changes) with ordinality u (c, place));
end $$;


-- A value of the platform: what is none of ours is kept as the text of its
-- JSON, and what is too long is cut.

create or replace function change_given(value jsonb)
returns jsonb language plpgsql immutable as $$
begin
    if jsonb_typeof(value) = 'string' then
        return to_jsonb(left(value #>> '{}', 1024));
    elsif jsonb_typeof(value) = 'object'
       or (jsonb_typeof(value) = 'array'
           and (jsonb_array_length(value) > 100
                or exists (select from jsonb_array_elements(value) i (it)
                            where not change_item(i.it))))
    then
        return to_jsonb(left(value::text, 1024));
    end if;

    return value;
end $$;


-- Whether it may be an item of a value: a text, or an id with a name.

create or replace function change_item(it jsonb)
returns boolean language plpgsql immutable as $$
begin
    return case jsonb_typeof(it)
           when 'string' then length(it #>> '{}') <= 1024
           when 'object' then
               it - '{id,name}'::text[] = '{}'
               and jsonb_typeof(it -> 'id') = 'string'
               and it ->> 'id' ~ '^[0-9]{1,20}$'
               and coalesce(jsonb_typeof(it -> 'name'), 'null')
                   in ('string', 'null')
               and coalesce(length(it ->> 'name'), 0) <= 100
           else false end;
end $$;


-- What stands behind the document of an entry that has one of these, and of no
-- other.

create or replace function entry_doc_rare(e jsonb)
returns text language plpgsql stable as $$
declare
    changes  constant jsonb := changes_in(e);
    image    constant jsonb := nullif(e -> 'image', 'null');
begin
    if num_nonnulls(changes, e ->> 'until', e ->> 'role_id', image) = 0 then
        return '';
    end if;

    return format(',"changes":%s,"until":%s,"role_id":%s,"image":%s',
                  case when changes is null then 'null'
                       else changes_of(changes)::text end,
                  coalesce(e ->> 'until', 'null'), quoted(e ->> 'role_id'),
                  case when image is null then 'null'
                       else jsonb_build_object(
                                'before', image -> 'before',
                                'after', image -> 'after')::text end);
end $$;


-- The document of an entry but for its id, type, time and outer braces.

create or replace function entry_doc(e jsonb)
returns text language sql stable as $$
    select format('"executor":%s,"target":%s,"channel":%s,"role":%s,'
                  '"name":%s,"reason":%s,"count":%s,"content":%s,'
                  '"contentAfter":%s,"messages":%s,"messagesTruncated":%s,'
                  '"emoji":%s,"action":%s,"value":%s',
                  named_id(e -> 'executor'), named_id(e -> 'target'),
                  named_id(e -> 'channel'), quoted(e ->> 'role'),
                  quoted(e ->> 'name'), quoted(e ->> 'reason'),
                  coalesce(e ->> 'count', 'null'), quoted(e ->> 'content'),
                  quoted(e ->> 'contentAfter'),
                  coalesce(e ->> 'messages', '[]'),
                  coalesce(e ->> 'messagesTruncated', 'null'),
                  coalesce(e ->> 'emoji', 'null'), quoted(e ->> 'action'),
                  quoted(e ->> 'value')) || entry_doc_rare(e)
$$;



-- And back again.

create or replace function entry_of(doc text)
returns jsonb language sql immutable as $$
    select ('{' || doc || '}')::jsonb
$$;


-- The same event twice within 24 h, or within the array, is a duplicate. One
-- without an id is not an entry, but an error.

create or replace function record_known(guild bigint, bot smallint,
    events text[])
returns text[] language plpgsql as $$
declare
    low    text;
    high   text;
    n      int;
    known  text[] := '{}';
begin
    select min(e collate "C"), max(e collate "C"),
           count(distinct e collate "C")
      into low, high, n
      from unnest(events) e;

    if record_between(guild, bot, low, high) then

        -- one by one, so that it is the whole index that is asked, whatever
        -- the statistics of a young partition say

        known := array(
            select u.id
              from unnest(events) u (id)
             where (select true from log_event l
                     where l.guild_id = guild
                       and l.bot = record_known.bot
                       and l.event_id = u.id
                       and l.recorded_at > now() - interval '24 hours'
                     limit 1));
    end if;

    if known = '{}' and n = cardinality(events) then
        return array_fill(null::text, array[n]);
    end if;

    return array(
        select case when e.id is null then 'error'
                    when e.id = any (known) or e.nth > 1 then 'duplicate' end
          from (select n.id, n.place,
                       row_number() over (partition by n.id
                                          order by n.place) as nth
                  from unnest(events) with ordinality n (id, place)) e
         order by e.place);
end $$;


-- An entry is of the last 30 days, and at most 60 s ahead, by the clock of the
-- database: there is one, while each machine that takes entries has its own.

create or replace function record_times(times bigint[], received bigint,
    verdicts text[])
returns text[] language plpgsql immutable as $$
declare
    oldest  constant bigint := received - 2592000000;
    newest  constant bigint := received + 60000;
    fits    boolean;
begin
    select min(t) >= oldest and max(t) <= newest into fits
      from unnest(times) t;

    if fits is not false then
        return verdicts;
    end if;

    return array(
        select case when v.verdict is null
                     and times[v.place] not between oldest and newest
                    then 'time' else v.verdict end
          from unnest(verdicts) with ordinality v (verdict, place)
         order by v.place);
end $$;


-- Is an event known whose id lies between these, maybe for more than 24 h? Ids
-- that grow with time, as the platform's do, lie behind all of them: one
-- question says it of the whole array. It looks at whole days, of which the
-- first event that is found is one to be looked at.

create or replace function record_between(guild bigint, bot smallint,
    low text, high text)
returns boolean language plpgsql stable as $$
declare
    since  constant timestamptz := date_trunc('day',
                                       now() - interval '24 hours', 'UTC');
begin
    return exists (
        select from log_event l
         where l.guild_id = guild
           and l.bot = record_between.bot
           and l.event_id between low and high
           and l.recorded_at >= since);
end $$;


-- Of long lists of messages the first 100 are kept and the others counted.

create or replace function record_truncate(crowded int[], docs text[])
returns text[] language plpgsql stable as $$
declare
    place  int;
    e      jsonb;
begin
    foreach place in array crowded loop
        e := entry_of(docs[place]);
        docs[place] := entry_doc(e || jsonb_build_object(
            'messages', jsonb_path_query_array(e, '$.messages[0 to 99]'),
            'messagesTruncated', jsonb_array_length(e -> 'messages') - 100));
    end loop;

    return docs;
end $$;


-- Stores what is left; the ids of the entries.

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


create or replace function record_answer(errors jsonb, counts jsonb,
    ids bigint[])
returns jsonb language plpgsql immutable as $$
begin
    return jsonb_build_object(
        'recorded', coalesce(counts -> 'recorded', '0'),
        'duplicates', coalesce(counts -> 'duplicate', '0'),
        'dropped', counts - '{recorded,duplicate,error,postponed}'::text[],
        'errors', errors,
        'ids', to_jsonb(ids::text[]));
end $$;


-- How many entries came to which end: {"recorded": 5, …}.

create or replace function record_counts(verdicts text[])
returns jsonb language plpgsql immutable as $$
begin
    if array_remove(verdicts, null) = '{}' and verdicts <> '{}' then
        return jsonb_build_object('recorded', cardinality(verdicts));
    end if;

    return (
        select coalesce(jsonb_object_agg(v.outcome, v.n), '{}')
          from (select case when u.verdict is null then 'recorded'
                            when u.verdict = 'time' then 'error'
                            else u.verdict end as outcome, count(*) as n
                  from unnest(verdicts) u (verdict) group by 1) v);
end $$;


create or replace function record_errors(entries jsonb, verdicts text[])
returns jsonb language plpgsql immutable as $$
declare
    told  jsonb := '[]';
begin
    if array_position(verdicts, 'error') is not null then
        told := (
            select jsonb_agg(jsonb_build_object(
                       'index', place - 1,
                       'error', coalesce(
                           case jsonb_typeof(entries -> (place - 1))
                           when 'string' then entries ->> (place - 1) end,
                           'event_id: is required')) order by place)
              from generate_subscripts(verdicts, 1) place
             where verdicts[place] = 'error');
    end if;

    return record_told(told, verdicts);
end $$;


-- With the errors that were told before those that were found here, in the
-- order of their places. What is to be sent again has "retry".

create or replace function record_told(errors jsonb, verdicts text[])
returns jsonb language plpgsql immutable as $$
begin
    if array_position(verdicts, 'time') is null
       and array_position(verdicts, 'postponed') is null
    then
        return errors;
    end if;

    return record_sorted(errors || (
        select jsonb_agg(case v.verdict
                   when 'time' then jsonb_build_object(
                       'index', v.place - 1,
                       'error', 'timestamp: must be within the last 30 days '
                                'and at most 60 s ahead')
                   else jsonb_build_object(
                       'index', v.place - 1, 'retry', true,
                       'error', 'entry: was not recorded in time, '
                                'send it again') end)
          from unnest(verdicts) with ordinality v (verdict, place)
         where v.verdict in ('time', 'postponed')));
end $$;


-- The same for a change of the API, which adds nothing. It waits for no longer
-- than a second while a batch of its server is being recorded: then it is
-- refused and may be sent again, and its connection is there for others.

create or replace function record_take(guild bigint, bot smallint)
returns void language plpgsql set lock_timeout = '1s' as $$
begin
    perform record_begin(guild, bot, 0);
end $$;


-- Records what the API itself did, or a person by it. Waits as record_take()
-- does.

create or replace function record_service(guild bigint, bot smallint,
    log_type int, details jsonb)
returns void language plpgsql set lock_timeout = '1s' as $$
begin
    perform record(guild, bot, jsonb_build_array(
        jsonb_build_object(
            'event_id', gen_random_uuid(),
            'type', log_type,
            'timestamp', ms(clock_timestamp()),
            'executor', executor()) || details));
end $$;


-- POST /servers/{guild}/logs of the operator: the answer, and counts for the
-- metrics. docs: one a line. errors: those of the entries that have no event,
-- as they go into the answer.

create or replace function operator_record(guild bigint, bot smallint,
    events text[], types smallint[], times bigint[], executors text[],
    executor_bots boolean[], executor_roles text[], targets text[],
    target_bots boolean[], target_roles text[], channels text[],
    parents text[], categories text[], proxied boolean[],
    prefixed int[], crowded int[], docs text, errors jsonb, out status int,
    out body text, out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    did  record;
begin
    perform server_open(guild);

    did := record_batch(guild, bot, row(events, types, times, executors,
        executor_bots, executor_roles, targets, target_bots, target_roles,
        channels, parents, categories, proxied, prefixed, crowded)::batch,
        string_to_array(docs, e'\n'), 2000, true);
    perform server_still_open(guild);
    status := 200;
    counts := record_counts(did.verdicts);
    body := record_answer(record_told(errors, did.verdicts), counts::jsonb,
                          did.ids);
end $$;


-- POST /logs of the operator: entries of many servers. Those of one server and
-- bot are recorded together, the servers in the order of their ids, so that
-- two such requests never wait for each other in a circle. It is all or
-- nothing: where one server is in trouble, or its row is held for long, the
-- module calls operator_record_apart() instead.

create or replace function operator_record_many(guilds bigint[],
    bots smallint[], events text[], types smallint[], times bigint[],
    executors text[], executor_bots boolean[], executor_roles text[],
    targets text[], target_bots boolean[], target_roles text[],
    channels text[], parents text[], categories text[],
    proxied boolean[], prefixed int[], crowded int[], docs text,
    errors jsonb, out status int, out body text, out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp
set lock_timeout = '2s' as $$
begin
    select r.* into status, body, counts
      from record_many(guilds, bots, row(events, types, times, executors,
               executor_bots, executor_roles, targets, target_bots,
               target_roles, channels, parents, categories, proxied,
               prefixed, crowded)::batch, string_to_array(docs, e'\n'),
               errors, false) r;
end $$;


-- The same, but that one server's trouble is its own: each is recorded in a
-- transaction within this one, the smallest ones first. What fails, or is not
-- come to in time, is to be sent again. counts has "faults", for the log.
--
-- Race: two of these may wait for each other in a circle. lock_timeout ends
-- that; a deadlock would be noticed only after a second.

create or replace function operator_record_apart(guilds bigint[],
    bots smallint[], events text[], types smallint[], times bigint[],
    executors text[], executor_bots boolean[], executor_roles text[],
    targets text[], target_bots boolean[], target_roles text[],
    channels text[], parents text[], categories text[],
    proxied boolean[], prefixed int[], crowded int[], docs text,
    errors jsonb, out status int, out body text, out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp
set lock_timeout = '300ms' as $$
begin
    select r.* into status, body, counts
      from record_many(guilds, bots, row(events, types, times, executors,
               executor_bots, executor_roles, targets, target_bots,
               target_roles, channels, parents, categories, proxied,
               prefixed, crowded)::batch, string_to_array(docs, e'\n'),
               errors, true) r;
end $$;


create or replace function record_many(guilds bigint[], bots smallint[],
    b batch, docs text[], errors jsonb, apart boolean, out status int,
    out body text, out counts jsonb)
language plpgsql as $$
declare
    until     constant timestamptz := record_until();
    verdicts  text[] := array_fill('error'::text,
                                   array[cardinality(guilds)]);
    ids       bigint[] := array_fill(null::bigint,
                                     array[cardinality(guilds)]);
    faults    text[] := '{}';
    obstacle  text;
    part      record;
    ended     text[];      -- verdicts of a part; null: it was not recorded
    numbers   bigint[];
begin
    for part in
        select p.* from record_parts(guilds, bots, b, docs) p
         order by case when apart then p.size end, p.guild, p.bot
    loop
        obstacle := server_obstacle(part.guild);

        if obstacle is not null then
            errors := errors || (
                select jsonb_agg(jsonb_build_object(
                           'index', p - 1, 'error', obstacle))
                  from unnest(part.places) p);
            continue;
        end if;

        ended := null;
        numbers := null;

        if not apart then
            select r.verdicts, r.ids into ended, numbers
              from record_part(part.guild, part.bot, part.batch,
                               part.docs) r;
        elsif clock_timestamp() < until then
            begin
                select r.verdicts, r.ids into ended, numbers
                  from record_part(part.guild, part.bot, part.batch,
                                   part.docs) r;
            exception when query_canceled or others then
                faults := faults || format(
                    'server %s: %s entries are to be sent again, %s %s',
                    part.guild, cardinality(part.places), sqlstate, sqlerrm);
            end;
        end if;

        for i in 1 .. cardinality(part.places) loop
            verdicts[part.places[i]] := case when ended is null
                                             then 'postponed'
                                             else ended[i] end;
            ids[part.places[i]] := numbers[i];
        end loop;
    end loop;

    status := 200;
    counts := record_counts(verdicts);
    body := record_answer(record_told(record_sorted(errors), verdicts),
                          counts, ids);

    if apart then
        counts := counts || jsonb_build_object('faults', faults);

        if verdicts <> '{}' and array_remove(verdicts, 'postponed') = '{}'
        then
            status := 503;
            body := '{"error": "nothing was recorded, send it again"}';
        end if;
    end if;
end $$;


create or replace function record_part(guild bigint, bot smallint, b batch,
    docs text[], out verdicts text[], out ids bigint[])
language plpgsql as $$
begin
    select r.verdicts, r.ids into verdicts, ids
      from record_batch(guild, bot, b, docs, 500, true) r;
    perform server_still_open(guild);
end $$;


-- When to begin with no further server: in two seconds, or when half of the
-- statement's time is over.

create or replace function record_until()
returns timestamptz language plpgsql stable as $$
declare
    whole  constant interval := current_setting('statement_timeout');
begin
    return clock_timestamp() + least(
        interval '2 s', nullif(whole, interval '0') / 2);
end $$;


-- The entries by server and bot: their places in the whole, the batch that
-- they are, and how long their documents are.

create or replace function record_parts(guilds bigint[], bots smallint[],
    b batch, lines text[], out guild bigint, out bot smallint,
    out places int[], out batch batch, out docs text[], out size bigint)
returns setof record language plpgsql stable as $$
begin
    return query
        select u.guild, u.its_bot, array_agg(u.place::int),
               row(array_agg(u.event), array_agg(u.type), array_agg(u.at),
                   array_agg(u.executor), array_agg(u.executor_bot),
                   array_agg(u.executor_roles), array_agg(u.target),
                   array_agg(u.target_bot), array_agg(u.target_roles),
                   array_agg(u.channel), array_agg(u.parent),
                   array_agg(u.category), array_agg(u.proxied),
                   array_agg(u.nth::int)
                       filter (where u.place = any (b.prefixed)),
                   array_agg(u.nth::int)
                       filter (where u.place = any (b.crowded))
                  )::batch,
               array_agg(u.doc), sum(length(u.doc))
          from (select n.*, k.its_bot,
                       row_number() over (partition by n.guild, k.its_bot
                                          order by n.place) as nth
                  from unnest(guilds, bots, b.events, b.types, b.times,
                              b.executors, b.executor_bots, b.executor_roles,
                              b.targets, b.target_bots, b.target_roles,
                              b.channels, b.parents, b.categories,
                              b.proxied, lines) with ordinality
                           n (guild, bot, event, type, at, executor,
                              executor_bot, executor_roles, target,
                              target_bot, target_roles, channel, parent,
                              category, proxied, doc, place)
                 cross join lateral coalesce(n.bot, 0::smallint) k (its_bot)
                 where n.event is not null
                 order by n.guild, k.its_bot, n.place) u
         group by 1, 2;
end $$;


-- Errors in the order of their places.

create or replace function record_sorted(errors jsonb)
returns jsonb language plpgsql immutable as $$
begin
    return (
        select coalesce(jsonb_agg(e order by (e ->> 'index')::int), '[]')
          from jsonb_array_elements(errors) e);
end $$;
