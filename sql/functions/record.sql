-- Recording: entries of one server and bot, in the order of the array, in one
-- transaction. An array goes through the stages below; the verdict of an
-- entry is null as long as it goes on.

drop type if exists incoming, document, named cascade;

create type incoming as (
    place     int,        -- in the array, from 0
    event_id  text,
    type      smallint,
    at        bigint,     -- ms since the epoch
    entry     jsonb,
    verdict   text,       -- duplicate, or the rule that dropped it
    id        bigint      -- the one it is stored under
);

create type named as (id text, name text);

create type document as (
    id                   text,
    type                 smallint,
    timestamp            bigint,
    executor             named,
    target               named,
    channel              named,
    role                 jsonb,
    name                 jsonb,
    reason               jsonb,
    count                jsonb,
    content              jsonb,
    "contentAfter"       jsonb,
    messages             jsonb,
    "messagesTruncated"  jsonb,
    emoji                jsonb,
    action               jsonb,
    value                jsonb
);


-- Records entries and answers with what became of each:
-- {recorded, duplicates, dropped, errors, ids}.

create or replace function record(guild bigint, bot smallint, entries jsonb)
returns jsonb language plpgsql set search_path = guildlog, pg_temp as $$
declare
    arrival  bigint;
    batch    incoming[];
begin
    arrival := record_begin(guild, bot, jsonb_array_length(entries));
    batch := record_read(entries);
    batch := record_known(guild, bot, batch);
    batch := record_store(guild, bot, arrival, batch);

    return record_answer(batch);
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


create or replace function record_read(entries jsonb)
returns incoming[] language plpgsql as $$
begin
    return array(
        select row(e.place - 1, e.entry ->> 'event_id', e.entry -> 'type',
                   coalesce((e.entry -> 'timestamp')::bigint,
                            ms(clock_timestamp())),
                   jsonb_strip_nulls(e.entry), null, null)::incoming
          from jsonb_array_elements(entries)
                   with ordinality e (entry, place)
         order by e.place);
end $$;


-- The same event twice within 24 h, or within the array, is a duplicate; it
-- answers with the id of the first. Another machine's transaction that came
-- first may have begun later, by less than a minute.

create or replace function record_known(guild bigint, bot smallint,
    batch incoming[])
returns incoming[] language plpgsql as $$
begin
    return array(
        select row(b.place, b.event_id, b.type, b.at, b.entry,
                   case when k.event_id is not null
                          or row_number() over same > 1
                        then 'duplicate' end,
                   k.entry_id)::incoming
          from unnest(batch) b
          left join log_event k
            on k.guild_id = guild
           and k.bot = record_known.bot
           and k.event_id = b.event_id
           and k.recorded_at > now() - interval '24 hours'
           and k.recorded_at < now() + interval '1 minute'
        window same as (partition by b.event_id order by b.place)
         order by b.place);
end $$;


-- Stores what is left and remembers the events. A late entry may draw a
-- number that was taken in its millisecond long ago: then all draw anew.

create or replace function record_store(guild bigint, bot smallint,
    arrival bigint, batch incoming[])
returns incoming[] language plpgsql as $$
declare
    numbered  incoming[];
begin
    loop
        numbered := array(
            select row(b.place, b.event_id, b.type, b.at, b.entry, b.verdict,
                       case when b.verdict is null
                            then next_id(b.at) else b.id end)::incoming
              from unnest(batch) b);
        begin
            perform record_insert(guild, bot, arrival, numbered);
            exit;
        exception when unique_violation then
            continue;
        end;
    end loop;

    insert into log_event
    select guild, arrival + b.place + 1, b.id, now(), record_store.bot,
           b.event_id
      from unnest(numbered) b
     where b.verdict is distinct from 'duplicate';

    update log_head h
       set first_log_at = f.at
      from (select min(b.at) as at from unnest(numbered) b
             where b.verdict is null) f
     where h.guild_id = guild
       and h.bot = record_store.bot
       and (h.first_log_at is null or h.first_log_at > f.at);

    return numbered;
end $$;


create or replace function record_insert(guild bigint, bot smallint,
    arrival bigint, batch incoming[])
returns void language plpgsql as $$
begin
    insert into log_entry (guild_id, id, arrival, executor_id, target_id,
                           channel_id, dchannel_id, bot, type, dstatus, role,
                           dreason, doc)
    select guild, b.id, arrival + b.place + 1,
           (b.entry #>> '{executor,id}')::bigint,
           (b.entry #>> '{target,id}')::bigint,
           (b.entry #>> '{channel,id}')::bigint,
           nullif(r.channel, 0), record_insert.bot, b.type,
           case when r.channel > 0 then null else 0 end,
           b.entry ->> 'role',
           case when r.channel = 0 then 'off'
                when r.channel is null then 'no_channel' end,
           entry_doc(b)
      from unnest(batch) b
      join log_type t on t.id = b.type
      left join logging_channels c
        on c.guild_id = guild and c.bot = record_insert.bot
      left join logging_type s
        on s.guild_id = guild and s.bot = record_insert.bot
       and s.log_type = b.type
     cross join lateral (select coalesce(s.log_channel,
                                         channel_of(c, t.route))) r (channel)
     where b.verdict is null;
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


create or replace function named_of(it jsonb)
returns named language sql immutable as $$
    select case when it ->> 'id' is not null
           then row(it ->> 'id', coalesce(it ->> 'name', ''))::named end
$$;


-- The finished JSON of an entry, but for its delivery and the closing brace.

create or replace function entry_doc(e incoming)
returns text language sql stable as $$
    select left(row_to_json(row(
               e.id, e.type, e.at, named_of(e.entry -> 'executor'),
               named_of(e.entry -> 'target'), named_of(e.entry -> 'channel'),
               e.entry -> 'role', e.entry -> 'name', e.entry -> 'reason',
               e.entry -> 'count', e.entry -> 'content',
               e.entry -> 'contentAfter', coalesce(e.entry -> 'messages', '[]'),
               e.entry -> 'messagesTruncated', e.entry -> 'emoji',
               e.entry -> 'action', e.entry -> 'value')::document)::text, -1)
$$;


create or replace function record_answer(batch incoming[])
returns jsonb language plpgsql as $$
begin
    return (
        select jsonb_build_object(
                   'recorded', count(*) filter (where b.verdict is null),
                   'duplicates',
                       count(*) filter (where b.verdict = 'duplicate'),
                   'dropped', '{}'::jsonb,
                   'errors', '[]'::jsonb,
                   'ids', coalesce(jsonb_agg(b.id::text order by b.place),
                                   '[]'))
          from unnest(batch) b);
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


-- POST /servers/{guild}/logs of the operator: {recorded, duplicates, dropped,
-- errors, ids}.

create or replace function operator_record(guild bigint, bot smallint,
    entries jsonb, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    if not exists (select from server s where s.guild_id = guild) then
        perform refuse(404, 'server: unknown');
    end if;

    status := 200;
    body := record(guild, bot, entries)::text;
end $$;
