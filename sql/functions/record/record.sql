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

-- A batch as it is before anything is locked: prefixes are read, and filters
-- have looked at it.

call type_make('readied', $$
    batch     batch,
    docs      text[],
    masked    text[],            -- the documents behind filters; null: none
    verdicts  text[]             -- the filters'; null: none is on
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
    lists     ignored,
    channels  logging_channels,
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
language plpgsql as $$
begin
    select r.verdicts, r.ids into verdicts, ids
      from record_readied(guild, bot,
               record_ready(guild, bot, b, docs, filter_ms), timed) r;
end $$;


-- What takes long comes first, before anybody has to wait for it: filters look
-- at each entry that is not known, also at those that a rule will drop.
-- filter_ms: null if there is no time for them.

create or replace function record_ready(guild bigint, bot smallint, b batch,
    docs text[], filter_ms int)
returns readied language plpgsql set enable_seqscan = off as $$
declare
    did   readied;
    read  record;
begin
    if b.prefixed is not null then
        read := record_prefixes(guild, b, docs);
        b := read.b;
        docs := read.docs;
    end if;

    did.batch := b;
    did.docs := docs;

    if exists (select from filter f
                where f.guild_id = guild and f.bot = record_ready.bot
                  and f.enabled)
    then
        did.verdicts := record_known(guild, bot, b.events, (
            select h.last_at from log_head h
             where h.guild_id = guild and h.bot = record_ready.bot));

        if filter_ms is null then
            did.verdicts := array(
                select coalesce(v.verdict, 'postponed')
                  from unnest(did.verdicts) with ordinality v (verdict, place)
                 order by v.place);
        else
            select f.docs, f.verdicts into did.masked, did.verdicts
              from record_filter(maskers(guild, bot),
                       mask_needles_of(guild, bot), b.types, filter_ms, docs,
                       did.verdicts) f;
        end if;
    end if;

    return did;
end $$;


create or replace function record_readied(guild bigint, bot smallint,
    r readied, timed boolean, out verdicts text[], out ids bigint[])
language plpgsql set enable_seqscan = off as $$
declare
    b         constant batch := r.batch;
    docs      text[] := r.docs;
    head      log_head;
    received  bigint;
    settings  recording;
    routes    bigint[];
    did       record;
begin
    head := record_begin(guild, bot, cardinality(b.events));
    received := ms(clock_timestamp());
    settings := record_settings(guild, bot);
    verdicts := record_known(guild, bot, b.events, head.last_at);

    if timed then
        verdicts := record_times(b.times, received, verdicts);
    end if;

    did := record_rules(guild, bot, settings, b, docs, verdicts);
    verdicts := did.verdicts;
    routes := did.routes;

    if settings.holds then
        verdicts := active_ignore_apply(guild, bot, settings, b, docs,
                                        verdicts);
    end if;

    if r.verdicts is not null then
        docs := coalesce(r.masked, docs);
        verdicts := array(
            select coalesce(v.verdict, v.filtered)
              from unnest(verdicts, r.verdicts) with ordinality
                       v (verdict, filtered, place)
             order by v.place);
    end if;

    if b.crowded is not null then
        docs := record_truncate(b.crowded, docs);
    end if;

    ids := record_store(head, received, settings, b, docs, verdicts, routes);
    ids := record_answered(guild, bot, b.events, verdicts, ids);

    if head.arrival >> 10 < head.arrival + cardinality(b.events) >> 10 then
        perform search_come_due(guild, bot);
    end if;
end $$;


-- Takes the (server, bot) to the end of the transaction, which makes arrival
-- numbers follow the order of commits and counts exact: its head as it was
-- before these n arrivals, but for last_at, which is their time and never goes
-- back, whatever the clock does. Blocks are due when 64 wait, or one has for a
-- day.

create or replace function record_begin(guild bigint, bot smallint, n int)
returns log_head language plpgsql as $$
declare
    at    constant timestamptz := clock_timestamp();
    head  log_head;
begin
    insert into log_head as h (guild_id, bot, arrival, since, last_at, due_at)
    values (guild, bot, n, at, at,
            case when n >= block_size() then at
                 when n > 0 then at + interval '1 day' end)
    on conflict on constraint log_head_pkey
        do update set arrival = h.arrival + n,
                      last_at = case when n > 0
                          then greatest(h.last_at, clock_timestamp())
                          else h.last_at end,
                      due_at = case
                          when h.arrival + n - h.blocked >= block_size()
                          then least(h.due_at, at)
                          when n = 0 then h.due_at
                          else coalesce(h.due_at, at + interval '1 day') end
    returning * into head;

    head.arrival := head.arrival - n;

    if n > 0 and current_setting('guildlog.day', true)
                 is distinct from today()::text
    then
        perform partitions_reach();
        perform set_config('guildlog.day', today()::text, false);
    end if;

    if head.arrival = 0 and n > 0 then
        perform search_give(guild, bot);
    end if;

    return head;
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
           h.first_log_at
      into it.free, it.options, it.holds, it.lists, it.channels, it.first_at
      from log_head h
      left join logging_options o
        on o.guild_id = guild and o.bot = record_settings.bot
     where h.guild_id = guild and h.bot = record_settings.bot;

    it.holds := it.holds or (it.options).active_ignore;

    return it;
end $$;


-- Those that are known: recorded within 24 hours, and not after "until".

create or replace function record_known(guild bigint, bot smallint,
    events text[], until timestamptz)
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

    if record_between(guild, bot, low, high, until) then

        -- one by one, so that it is the whole index that is asked, whatever
        -- the statistics of a young partition say

        known := array(
            select u.id
              from unnest(events) u (id)
             where (select true from log_arrival l
                     where l.guild_id = guild
                       and l.bot = record_known.bot
                       and l.event_id = u.id
                       and l.recorded_at > now() - interval '24 hours'
                       and l.recorded_at <= until
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
    low text, high text, until timestamptz)
returns boolean language plpgsql stable as $$
declare
    since  constant timestamptz := date_trunc('day',
                                       now() - interval '24 hours', 'UTC');
begin
    return exists (
        select from log_arrival l
         where l.guild_id = guild
           and l.bot = record_between.bot
           and l.event_id between low and high
           and l.recorded_at >= since
           and l.recorded_at <= until);
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


-- Takes the (server, bot) for a change of its configuration, which waits for a
-- second at most: others of the same server have it, and 55006 says so. A table
-- that somebody locks is 55P03 as everywhere.

create or replace function record_take(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    if not held_begin(guild, bot) then
        raise exception using errcode = '55006',
            message = format('the log of server %s is taken', guild);
    end if;
end $$;


-- Records what the API itself did, or a person by it. Waits as record_take()
-- does.

create or replace function record_service(guild bigint, bot smallint,
    log_type int, details jsonb)
returns void language plpgsql set lock_timeout = '1s' as $$
begin
    perform record_take(guild, bot);
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
