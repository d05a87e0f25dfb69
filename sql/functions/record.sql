-- Recording: entries of one server and bot, in the order of the array, in one
-- transaction. A batch goes through the stages below. What became of the
-- entry at a place stands at that place of "verdicts": error, duplicate, the
-- rule that dropped it, or null as long as it goes on.

drop type if exists incoming, actor, place, recording, ignored cascade;

create type actor as (
    id     text,
    name   text,
    bot    boolean,
    roles  text[]
);

create type place as (
    id        text,
    name      text,
    parent    text,      -- a thread's or a post's channel
    category  text
);

-- an entry as it is sent

create type incoming as (
    event_id        text,
    type            smallint,
    "timestamp"     bigint,   -- ms since the epoch; null: now
    executor        actor,
    target          actor,
    channel         place,
    role            text,
    name            text,
    reason          text,
    count           bigint,
    content         text,
    "contentAfter"  text,
    messages        jsonb,
    emoji           jsonb,
    action          text,
    value           text,
    proxied         boolean
);

-- the ignore lists; null: nothing in it

create type ignored as (
    channels        text[],
    categories      text[],
    executors       text[],
    targets         text[],
    contents        text[],
    executor_roles  text[],
    target_roles    text[]
);

-- what the server's configuration says of it all, read once a batch

create type recording as (
    free      boolean,           -- the plan
    options   logging_options,
    holds     boolean,           -- active ignore is on somewhere
    lists     ignored,
    maskers   masker[]
);


-- Records entries and answers with what became of each:
-- {recorded, duplicates, dropped, errors, ids}. An entry that was found bad
-- before stands in the array as a string that says why.

create or replace function record(guild bigint, bot smallint, entries jsonb)
returns jsonb language plpgsql as $$
declare
    verdicts  text[];
    ids       text[];
begin
    select r.* into verdicts, ids from record_batch(guild, bot, entries) r;

    return record_answer(entries, verdicts, ids);
end $$;


create or replace function record_batch(guild bigint, bot smallint,
    entries jsonb, out verdicts text[], out ids text[])
language plpgsql as $$
declare
    arrival   bigint;
    received  bigint;
    settings  recording;
    batch     incoming[];
    events    text[];
    numbers   bigint[];
begin
    arrival := record_begin(guild, bot, jsonb_array_length(entries));
    received := ms(clock_timestamp());
    settings := record_settings(guild, bot);

    batch := record_read(entries);
    events := array(select b.event_id from unnest(batch) b);
    verdicts := record_known(guild, bot, events);

    batch := record_prefixes(guild, batch);
    verdicts := record_rules(guild, bot, settings, batch, verdicts);

    if settings.holds then
        verdicts := active_ignore_apply(guild, bot, settings, batch, verdicts);
    end if;

    if cardinality(settings.maskers) > 0 then
        select f.* into batch, verdicts
          from record_filter(settings, batch, verdicts) f;
    end if;

    numbers := record_store(guild, bot, arrival, received, settings, batch,
                            verdicts);
    ids := record_events(guild, bot, arrival, events, verdicts, numbers);
end $$;


-- Takes the (server, bot) to the end of the transaction, which makes arrival
-- numbers follow the order of commits and counts exact; the number before the
-- first of this batch.

create or replace function record_begin(guild bigint, bot smallint, n int)
returns bigint language plpgsql as $$
declare
    arrival  bigint;
begin
    insert into log_head as h (guild_id, bot, arrival)
    values (guild, bot, n)
    on conflict on constraint log_head_pkey
        do update set arrival = h.arrival + n
    returning h.arrival - n into arrival;

    return arrival;
end $$;


create or replace function record_settings(guild bigint, bot smallint)
returns recording language plpgsql stable as $$
declare
    it  recording;
begin
    it.free := not exists (select from server s
                            where s.guild_id = guild and s.plan <> 'free');
    it.options := options_of(guild, bot);
    it.holds := (it.options).active_ignore
                or exists (select from logging_type t
                            where t.guild_id = guild
                              and t.bot = record_settings.bot
                              and t.active_ignore);
    it.lists := ignored_by(guild, bot);
    it.maskers := maskers(guild, bot);

    return it;
end $$;


create or replace function ignored_by(guild bigint, bot smallint)
returns ignored language plpgsql stable as $$
begin
    return (
        select row(array_agg(i.ignore_value) filter (where i.ignore_type = 0),
                   array_agg(i.ignore_value) filter (where i.ignore_type = 1),
                   array_agg(i.ignore_value) filter (where i.ignore_type = 2),
                   array_agg(i.ignore_value) filter (where i.ignore_type = 3),
                   array_agg(i.ignore_value) filter (where i.ignore_type = 4),
                   array_agg(i.ignore_value) filter (where i.ignore_type = 5),
                   array_agg(i.ignore_value) filter (where i.ignore_type = 6)
               )::ignored
          from ignore_entry i
         where i.guild_id = guild and i.bot = ignored_by.bot);
end $$;


create or replace function record_read(entries jsonb)
returns incoming[] language plpgsql immutable as $$
begin
    if jsonb_path_exists(entries, '$[*] ? (@.type() == "string")') then
        entries := (select jsonb_agg(case jsonb_typeof(e.entry)
                                     when 'object' then e.entry
                                     else '{}' end order by e.place)
                      from jsonb_array_elements(entries)
                               with ordinality e (entry, place));
    end if;

    return array(select r
                   from jsonb_populate_recordset(null::incoming, entries) r);
end $$;


-- The same event twice within 24 h, or within the array, is a duplicate. One
-- without an id is not an entry, but an error.

create or replace function record_known(guild bigint, bot smallint,
    events text[])
returns text[] language plpgsql as $$
begin
    return array(
        select case when e.id is null then 'error'
                    when k.known or e.nth > 1 then 'duplicate' end
          from (select n.id, n.place,
                       row_number() over (partition by n.id
                                          order by n.place) as nth
                  from unnest(events) with ordinality n (id, place)) e
          left join lateral (
              select true as known from log_event l
               where l.guild_id = guild
                 and l.bot = record_known.bot
                 and l.event_id = e.id
                 and l.recorded_at > now() - interval '24 hours'
                 and l.recorded_at < now() + interval '1 hour'
               limit 1) k on true
         order by e.place);
end $$;


-- Stores what is left; the ids of the entries. A late entry may draw a
-- number that was taken in its millisecond long ago: then all draw anew.

create or replace function record_store(guild bigint, bot smallint,
    arrival bigint, received bigint, settings recording, batch incoming[],
    verdicts text[])
returns bigint[] language plpgsql as $$
declare
    times    constant bigint[] := array(
                 select coalesce(b.timestamp, received) from unnest(batch) b);
    channels constant bigint[] := record_channels(guild, bot, batch, verdicts);
    held     constant boolean[] := record_held(guild, bot, settings, batch);
    places   lane_place[];
    numbers  bigint[];
begin
    places := lanes_take(guild, bot, array(
        select case when not h then c end
          from unnest(channels, held) with ordinality u (c, h, place)
         order by u.place));

    loop
        numbers := array(
            select case when verdicts[place] is null
                        then next_id(times[place]) end
              from generate_subscripts(times, 1) place);
        begin
            perform record_insert(guild, bot, arrival, received, batch,
                                  numbers, channels, held, places);
            exit;
        exception when unique_violation then
            continue;
        end;
    end loop;

    if settings.holds then
        perform held_add(guild, bot, settings, numbers);
    end if;

    perform corrections_add(guild, bot, numbers, 1);

    update log_head h
       set first_log_at = f.at
      from (select min(times[place]) as at
              from generate_subscripts(times, 1) place
             where numbers[place] is not null) f
     where h.guild_id = guild
       and h.bot = record_store.bot
       and (h.first_log_at is null or h.first_log_at > f.at);

    return numbers;
end $$;


-- The channel each of them goes to: its type's own, else its category's.

create or replace function record_channels(guild bigint, bot smallint,
    batch incoming[], verdicts text[])
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select case when verdicts[b.ordinality] is null
                    then coalesce(s.log_channel, channel_of(c, t.route)) end
          from unnest(batch) with ordinality b
          left join log_type t on t.id = b.type
          left join logging_channels c
            on c.guild_id = guild and c.bot = record_channels.bot
          left join logging_type s
            on s.guild_id = guild and s.bot = record_channels.bot
           and s.log_type = b.type
         order by b.ordinality);
end $$;


-- Whether each of them is held for active ignore.

create or replace function record_held(guild bigint, bot smallint,
    settings recording, batch incoming[])
returns boolean[] language plpgsql stable as $$
begin
    if not settings.holds then
        return array_fill(false, array[cardinality(batch)]);
    end if;

    return array(
        select coalesce(s.active_ignore, (settings.options).active_ignore)
          from unnest(batch) with ordinality b
          left join logging_type s
            on s.guild_id = guild and s.bot = record_held.bot
           and s.log_type = b.type
         order by b.ordinality);
end $$;


-- Off or without a channel an entry has its final status at once. doc lacks
-- the closing brace, for the delivery to follow.

create or replace function record_insert(guild bigint, bot smallint,
    arrival bigint, received bigint, batch incoming[], numbers bigint[],
    channels bigint[], held boolean[], places lane_place[])
returns void language plpgsql as $$
begin
    insert into log_entry (guild_id, id, arrival, executor_id, target_id,
                           channel_id, lane, seq, dchannel_id, bot, type,
                           dstatus, role, dreason, doc)
    select guild, numbers[b.ordinality], arrival + b.ordinality,
           (b.executor).id::bigint, (b.target).id::bigint,
           (b.channel).id::bigint, (places[b.ordinality]).lane,
           (places[b.ordinality]).seq, nullif(r.channel, 0),
           record_insert.bot, b.type,
           case when r.channel > 0 then null else 0 end, b.role,
           case when r.channel = 0 then 'off'
                when r.channel is null then 'no_channel'
                when held[b.ordinality] then 'held' end,
           format('{"id":"%s","type":%s,"timestamp":%s,"executor":%s,'
                  '"target":%s,"channel":%s,"role":%s,"name":%s,"reason":%s,'
                  '"count":%s,"content":%s,"contentAfter":%s,"messages":%s,'
                  '"messagesTruncated":%s,"emoji":%s,"action":%s,"value":%s',
                  numbers[b.ordinality], b.type,
                  coalesce(b.timestamp, received),
                  named_id((b.executor).id, (b.executor).name),
                  named_id((b.target).id, (b.target).name),
                  named_id((b.channel).id, (b.channel).name),
                  quoted(b.role), quoted(b.name), quoted(b.reason),
                  coalesce(b.count::text, 'null'), quoted(b.content),
                  quoted(b."contentAfter"),
                  case when jsonb_array_length(b.messages) > 100
                       then messages_first(b.messages, 100)
                       else coalesce(b.messages, '[]') end,
                  case when jsonb_array_length(b.messages) > 100
                       then (jsonb_array_length(b.messages) - 100)::text
                       else 'null' end,
                  coalesce(b.emoji, 'null'), quoted(b.action),
                  quoted(b.value))
      from unnest(batch) with ordinality b
     cross join lateral (select channels[b.ordinality]) r (channel)
     where numbers[b.ordinality] is not null;
end $$;


-- The channel a category's entries go to: its own, files that of the text,
-- else the main one. 0: off, null: none.

create or replace function channel_of(c logging_channels, route text)
returns bigint language sql immutable as $$
    select coalesce(case route
           when 'category_modlog' then c.category_modlog
           when 'category_members' then c.category_members
           when 'category_actions' then c.category_actions
           when 'category_text' then c.category_text
           when 'category_voice' then c.category_voice
           when 'category_files' then coalesce(c.category_files,
                                               c.category_text)
           when 'category_server' then c.category_server
           when 'category_roles' then c.category_roles
           when 'category_channels' then c.category_channels
           when 'category_service' then c.category_service
           end, c.main_channel)
$$;


-- Pieces of an entry's JSON.

create or replace function quoted(value text)
returns text language sql stable as $$
    select coalesce(to_json(value)::text, 'null')
$$;


create or replace function named_id(id text, name text)
returns text language sql stable as $$
    select case when id is not null
                then format('{"id":"%s","name":%s}', id,
                            to_json(coalesce(name, '')))
                else 'null' end
$$;


create or replace function messages_first(messages jsonb, n int)
returns jsonb language plpgsql immutable as $$
begin
    return jsonb_path_query_array(messages, '$[0 to $last]',
                                  jsonb_build_object('last', n - 1));
end $$;


-- Remembers the events; the ids to answer with. A duplicate has that of the
-- first, if that was stored.

create or replace function record_events(guild bigint, bot smallint,
    arrival bigint, events text[], verdicts text[], numbers bigint[])
returns text[] language plpgsql as $$
begin
    insert into log_event
    select guild, arrival + place, numbers[place], now(), record_events.bot,
           events[place]
      from generate_subscripts(events, 1) place
     where verdicts[place] is null
        or verdicts[place] not in ('duplicate', 'error');

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
                 and d.recorded_at < now() + interval '1 hour'
               limit 1) k on verdicts[e.place] = 'duplicate'
         order by e.place);
end $$;


create or replace function record_answer(entries jsonb, verdicts text[],
    ids text[])
returns jsonb language plpgsql immutable as $$
declare
    counts  constant jsonb := record_counts(verdicts);
begin
    return jsonb_build_object(
        'recorded', coalesce(counts -> 'recorded', '0'),
        'duplicates', coalesce(counts -> 'duplicate', '0'),
        'dropped', counts - '{recorded,duplicate,error}'::text[],
        'errors', record_errors(entries, verdicts),
        'ids', to_jsonb(ids));
end $$;


-- How many entries came to which end: {"recorded": 5, …}.

create or replace function record_counts(verdicts text[])
returns jsonb language plpgsql immutable as $$
begin
    return (
        select coalesce(jsonb_object_agg(coalesce(v.verdict, 'recorded'), v.n),
                        '{}')
          from (select u.verdict, count(*) as n
                  from unnest(verdicts) u (verdict) group by 1) v);
end $$;


create or replace function record_errors(entries jsonb, verdicts text[])
returns jsonb language plpgsql immutable as $$
begin
    if array_position(verdicts, 'error') is null then
        return '[]';
    end if;

    return (
        select jsonb_agg(jsonb_build_object(
                   'index', place - 1,
                   'error', coalesce(
                       case jsonb_typeof(entries -> (place - 1))
                       when 'string' then entries ->> (place - 1) end,
                       'event_id: is required')) order by place)
          from generate_subscripts(verdicts, 1) place
         where verdicts[place] = 'error');
end $$;


-- Records what the API itself did.

create or replace function record_service(guild bigint, bot smallint,
    log_type int, details jsonb)
returns void language plpgsql as $$
begin
    perform record(guild, bot, jsonb_build_array(
        jsonb_build_object(
            'event_id', gen_random_uuid(),
            'type', log_type,
            'timestamp', ms(clock_timestamp()),
            'executor', '{"id": "0", "name": "API"}'::jsonb) || details));
end $$;


-- POST /servers/{guild}/logs of the operator: the answer, and counts for the
-- metrics.

create or replace function operator_record(guild bigint, bot smallint,
    entries jsonb, out status int, out body text, out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    did  record;
begin
    if not exists (select from server s where s.guild_id = guild) then
        perform refuse(404, 'server: unknown');
    end if;

    did := record_batch(guild, bot, entries);
    status := 200;
    body := record_answer(entries, did.verdicts, did.ids);
    counts := record_counts(did.verdicts);
end $$;


-- POST /logs of the operator: entries of many servers, each with "server" and,
-- for the Pro bot, "bot": "pro". Those of one server and bot are recorded
-- together, the servers in the order of their ids, so that two such requests
-- never wait for each other in a circle.

create or replace function operator_record_many(entries jsonb,
    out status int, out body text, out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    verdicts  text[] := array_fill('error'::text,
                                   array[jsonb_array_length(entries)]);
    ids       text[] := array_fill(null::text,
                                   array[jsonb_array_length(entries)]);
    part      record;
    did       record;
begin
    for part in
        select (e.entry ->> 'server')::bigint as guild,
               (coalesce(e.entry ->> 'bot', 'main') = 'pro')::int::smallint
                   as bot,
               array_agg(e.place order by e.place) as places,
               jsonb_agg(e.entry - '{server,bot}'::text[] order by e.place)
                   as entries
          from jsonb_array_elements(entries) with ordinality e (entry, place)
         where jsonb_typeof(e.entry) = 'object'
         group by 1, 2
         order by 1, 2
    loop
        if not exists (select from server s where s.guild_id = part.guild)
        then
            entries := record_refused(entries, part.places,
                                      'server: unknown');
            continue;
        end if;

        did := record_batch(part.guild, part.bot, part.entries);

        for i in 1 .. cardinality(part.places) loop
            verdicts[part.places[i]] := did.verdicts[i];
            ids[part.places[i]] := did.ids[i];
        end loop;
    end loop;

    status := 200;
    body := record_answer(entries, verdicts, ids);
    counts := record_counts(verdicts);
end $$;


-- The entries with that error at those places.

create or replace function record_refused(entries jsonb, places bigint[],
    error text)
returns jsonb language plpgsql immutable as $$
begin
    return (
        select jsonb_agg(case when e.place = any (places)
                              then to_jsonb(error) else e.entry end
                         order by e.place)
          from jsonb_array_elements(entries) with ordinality
                   e (entry, place));
end $$;
