-- Recording: entries of one or many servers, those of each in the order of the
-- array, in one transaction. A batch goes through the stages below, each of
-- which is a statement over all servers, and a loop over those that need
-- something special. What became of the entry at a place stands at that place
-- of "verdicts": error (somebody has told why), time (it happened too long ago,
-- or is to come), postponed (it is to be sent again), duplicate, absorbed (its
-- event is to be known from now on, and no more), the rule that dropped it, or
-- null as long as it goes on.

-- Entries, one at each place of the arrays, or at those named. An array that
-- says nothing of any of them may be null. Their documents, which are most of
-- what there is to copy, go beside it, each as entry_doc() makes it.

call type_make('batch', $$
    events          text[],      -- null: an error
    types           smallint[],  -- null: it was absorbed by another one
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
    first_at  bigint,            -- of the server's first log, ms
    watched   smallint[]         -- the types that alerts count; null: none
$$);


-- Servers and bots of which there are entries, in the order in which they are
-- taken. The entries of each stand beside each other in the batch.

call type_make('heads', $$
    guilds    bigint[],          -- ascending, and so are the bots of each
    bots      smallint[],
    sizes     int[],             -- how many entries each has
    firsts    int[],             -- the place of its first one
    heads     int[],             -- of each entry: which of these it is of
    arrivals  bigint[],          -- what was the last arrival of each
    untils    timestamptz[],     -- the time of these arrivals
    turns     bigint[],          -- see heads_turns()
    settings  recording[],
    lone      bigint             -- the server, if there is but one: on Citus a
                                 -- statement is about one that it names
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


-- Records a batch of one server. No statement below may read a table from end
-- to end: see "Planner tricks" in sql/README.md. Filters may take filter_ms in
-- all. timed: an entry that happened too long ago, or is to come, is an error.

create or replace function record_batch(guild bigint, bot smallint, b batch,
    docs text[], filter_ms int default 2000, timed boolean default false,
    out verdicts text[], out ids bigint[])
language plpgsql as $$
declare
    h  constant heads := heads_one(guild, bot, cardinality(b.events));
begin
    select r.verdicts, r.ids into verdicts, ids
      from record_readied(h, record_ready(h, b, docs, filter_ms), timed) r;
end $$;


create or replace function heads_one(guild bigint, bot smallint, n int)
returns heads language sql immutable as $$
    select row(array[guild], array[bot], array[n], array[1],
               array_fill(1, array[n]), null, null, null, null, guild)::heads
$$;


-- A part of a batch: the entries of one of many servers.

create or replace function batch_part(b batch, low int, high int)
returns batch language plpgsql immutable as $$
begin
    return row(
        b.events[low : high], b.types[low : high], b.times[low : high],
        b.executors[low : high], b.executor_bots[low : high],
        b.executor_roles[low : high], b.targets[low : high],
        b.target_bots[low : high], b.target_roles[low : high],
        b.channels[low : high], b.parents[low : high],
        b.categories[low : high], b.proxied[low : high],
        (select array_agg(p - low + 1) from unnest(b.prefixed) p
          where p between low and high),
        (select array_agg(p - low + 1) from unnest(b.crowded) p
          where p between low and high))::batch;
end $$;


-- What takes long comes first, before anybody has to wait for it: filters look
-- at each entry that is not known, also at those that a rule will drop. Those
-- of one server may take filter_ms, and begin before that time (null: any).
-- Chance says whose are first: in another order the last would always be last.

create or replace function record_ready(h heads, b batch, docs text[],
    filter_ms int, until timestamptz default null)
returns readied language plpgsql set enable_seqscan = off as $$
declare
    read      record;
    its       record;
    part      record;
    masked    text[];
    verdicts  text[];
begin
    if b.prefixed is not null then
        read := record_prefixes(h, b, docs);
        b := read.b;
        docs := read.docs;
    end if;

    for its in
        select n.guild, n.bot, n.first, n.first + n.size - 1 as last
          from unnest(h.guilds, h.bots, h.firsts, h.sizes)
                   n (guild, bot, first, size)
         where docs <> '{}'    -- of a single bad entry
           and exists (select from filter f
                        where f.guild_id = n.guild and f.bot = n.bot
                          and (h.lone is null or f.guild_id = h.lone)
                          and f.enabled)
         order by random()
    loop
        if masked is null then
            masked := docs;
            verdicts := array_fill(null::text, array[cardinality(b.events)]);
        end if;

        part := record_filtered(its.guild, its.bot,
            b.events[its.first : its.last], b.types[its.first : its.last],
            docs[its.first : its.last],
            case when until is null or clock_timestamp() < until
                 then filter_ms end);
        masked[its.first : its.last] := part.masked;
        verdicts[its.first : its.last] := part.verdicts;
    end loop;

    return row(b, docs, masked, verdicts)::readied;
end $$;


-- The entries of one server behind its filters; filter_ms: null if there is no
-- time for them.

create or replace function record_filtered(guild bigint, bot smallint,
    events text[], types smallint[], docs text[], filter_ms int,
    out masked text[], out verdicts text[])
language plpgsql as $$
declare
    h  heads := heads_one(guild, bot, cardinality(events));
begin
    h.untils := array[(
        select l.last_at from head_of(guild, bot) l)];
    masked := docs;
    verdicts := record_known(h, events);

    if filter_ms is null then
        verdicts := array(
            select coalesce(v.verdict, 'postponed')
              from unnest(verdicts) with ordinality v (verdict, place)
             order by v.place);
    elsif cardinality(docs) > 0 then
        select f.docs, f.verdicts into masked, verdicts
          from record_filter(maskers(guild, bot),
                   mask_needles_of(guild, bot), types, filter_ms, docs,
                   verdicts) f;
    end if;
end $$;


create or replace function record_readied(h heads, r readied, timed boolean,
    out verdicts text[], out ids bigint[])
language plpgsql set enable_seqscan = off as $$
declare
    b         constant batch := r.batch;
    docs      text[] := r.docs;
    received  bigint;
    routes    bigint[];
    special   record;
    did       record;
begin
    h := heads_take(h);
    received := ms(clock_timestamp());
    h.settings := record_settings(h);
    special := heads_special(h.settings);
    verdicts := record_known(h, b.events);

    if array_position(b.types, null) is not null then
        verdicts := array(
            select case when v.verdict is null and v.type is null
                        then 'absorbed' else v.verdict end
              from unnest(verdicts, b.types) with ordinality
                       v (verdict, type, place)
             order by v.place);
    end if;

    if timed then
        verdicts := record_times(b.times, received, verdicts);
    end if;

    did := record_rules(h, b, docs, special.roles, special.places, verdicts);
    verdicts := did.verdicts;
    routes := did.routes;

    if special.holds then
        verdicts := heads_hide(h, b, docs, verdicts);
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

    ids := record_store(h, received, b, docs, verdicts, routes,
                        special.holds, special.first_at);
    if special.counts then
        perform alerts_see(h, received, b, docs, verdicts, special.holds);
    end if;

    ids := record_answered(h, b.events, verdicts, ids);
    perform heads_come_due(h);
end $$;


-- A run of the index of searches may be due.

create or replace function heads_come_due(h heads)
returns void language plpgsql as $$
begin
    perform search_come_due(n.guild, n.bot)
       from unnest(h.guilds, h.bots, h.sizes, h.arrivals)
                n (guild, bot, size, arrival)
      where n.arrival >> 10 < n.arrival + n.size >> 10;
end $$;


-- Active ignore, of the servers that have it.

create or replace function heads_hide(h heads, b batch, docs text[],
    verdicts text[])
returns text[] language plpgsql as $$
declare
    its  record;
begin
    for its in
        select n.place, n.guild, n.bot, n.first, n.first + n.size - 1 as last
          from unnest(h.guilds, h.bots, h.firsts, h.sizes) with ordinality
                   n (guild, bot, first, size, place)
         where (h.settings[n.place]).holds
         order by n.place
    loop
        verdicts[its.first : its.last] := active_ignore_apply(its.guild,
            its.bot, h.settings[its.place],
            batch_part(b, its.first, its.last), docs[its.first : its.last],
            verdicts[its.first : its.last]);
    end loop;

    return verdicts;
end $$;


-- Takes a (server, bot) to the end of the transaction: its head as it was
-- before these n arrivals, but for last_at, which is their time.

create or replace function record_begin(guild bigint, bot smallint, n int)
returns log_head language plpgsql as $$
declare
    head  log_head;
begin
    select * into head
      from record_begins(array[guild], array[bot], array[n]);
    head.arrival := head.arrival - n;

    return head;
end $$;


-- Makes the heads that are missing. Their keys do not say that there is one
-- already, as it may have gone on: who makes one holds its number meanwhile.

create or replace function heads_make(guilds bigint[], bots smallint[])
returns void language plpgsql as $$
declare
    turns  bigint[] := heads_turns(guilds, bots);
begin
    perform pg_advisory_xact_lock(hashtextextended(
                format('head %s %s', guilds[n], bots[n]), 0))
       from generate_subscripts(turns, 1) n
      where turns[n] is null;
    turns := heads_turns(guilds, bots);

    insert into log_head (guild_id, bot, since, last_at)
    select guilds[n], bots[n], clock_timestamp(), clock_timestamp()
      from generate_subscripts(turns, 1) n
     where turns[n] is null;
end $$;


-- Takes the heads of these to the end of the transaction, in their order; their
-- turns. Where one is missing they are taken one by one, as who makes one has
-- to wait for others, too.

create or replace function heads_hold(guilds bigint[], bots smallint[])
returns bigint[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
    lone   constant bigint := lone_of(guilds);
    turns  bigint[];
begin
    if cardinality(guilds) > 1
       and array_position(heads_turns(guilds, bots), null) is not null
    then
        perform heads_hold(guilds[n : n], bots[n : n])
           from generate_subscripts(guilds, 1) n;
    end if;

    loop
        turns := array(
            select (select h.turn from log_head h
                     where h.guild_id = n.guild and h.bot = n.bot
                       and (lone is null or h.guild_id = lone)
                     order by h.turn desc limit 1 for update)
              from unnest(guilds, bots) n (guild, bot));
        exit when array_position(turns, null) is null;
        perform heads_make(guilds, bots);
    end loop;

    return turns;
end $$;


-- The same, and their heads behind so many arrivals, which makes arrival
-- numbers follow the order of commits and counts exact. last_at is the time of
-- these, and never goes back, whatever the clock does. Blocks are due when 64
-- wait, or one has for a day.

create or replace function record_begins(guilds bigint[], bots smallint[],
    sizes int[])
returns setof log_head language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone   constant bigint := lone_of(guilds);
    turns  constant bigint[] := heads_hold(guilds, bots);
    at     constant timestamptz := clock_timestamp();  -- when they are had
    later  constant timestamptz := at + interval '1 day';
begin
    return query
        update log_head h
           set arrival = h.arrival + n.size,
               turn = turn_of(h.arrival + n.size),
               last_at = case when n.size > 0 then greatest(h.last_at, at)
                              else h.last_at end,
               due_at = case
                   when h.arrival + n.size - h.blocked >= block_size()
                   then least(h.due_at, at)
                   when n.size = 0 then h.due_at
                   else coalesce(h.due_at, later)
                   end
          from unnest(guilds, bots, sizes, turns) n (guild, bot, size, turn)
         where h.guild_id = any (array[n.guild]) and h.bot = n.bot
           and h.turn = n.turn and (lone is null or h.guild_id = lone)
        returning h.*;
end $$;


-- Takes those that a batch is about, and says what was there before.

create or replace function heads_take(h heads)
returns heads language plpgsql as $$
begin
    select array_agg(l.arrival - n.size order by n.place),
           array_agg(l.last_at order by n.place),
           array_agg(l.turn order by n.place)
      into h.arrivals, h.untils, h.turns
      from unnest(h.guilds, h.bots, h.sizes) with ordinality
               n (guild, bot, size, place)
      join record_begins(h.guilds, h.bots, h.sizes) l
        on l.guild_id = n.guild and l.bot = n.bot;

    if cardinality(h.heads) > 0
       and current_setting('guildlog.day', true)
           is distinct from today()::text
    then
        perform partitions_reach();
        perform set_config('guildlog.day', today()::text, false);
    end if;

    if 0 = any (h.arrivals) then
        perform search_give(n.guild, n.bot)
           from unnest(h.guilds, h.bots, h.sizes, h.arrivals)
                    n (guild, bot, size, arrival)
          where n.arrival = 0 and n.size > 0;
    end if;

    return h;
end $$;


-- What the configuration of each says. Each row is looked up by its key.

create or replace function record_settings(h heads)
returns recording[] language plpgsql stable as $$
begin
    return array(
        select row(coalesce(s.plan, 'free') = 'free', k.options,
                   (k.options).active_ignore
                   or exists (select from logging_type t
                               where t.guild_id = n.guild and t.bot = n.bot
                                 and (h.lone is null or t.guild_id = h.lone)
                                 and t.active_ignore),
                   case when exists (select from ignore_entry i
                                      where i.guild_id = n.guild
                                        and (h.lone is null
                                             or i.guild_id = h.lone)
                                        and i.bot = n.bot)
                        then ignored_of(n.guild, n.bot) end,
                   case when c.guild_id is not null
                        then row(c.*)::logging_channels end,
                   l.first_log_at, l.watched)::recording
          from unnest(h.guilds, h.bots, h.turns)
                   with ordinality n (guild, bot, turn, place)
          left join lateral (
               select x.plan from server x
                where x.guild_id = n.guild
                  and (h.lone is null or x.guild_id = h.lone) offset 0) s
            on true
          left join lateral (
               select x.first_log_at, x.watched from log_head x
                where x.guild_id = n.guild and x.bot = n.bot
                  and x.turn = n.turn
                  and (h.lone is null or x.guild_id = h.lone) offset 0) l
            on true
          left join lateral (
               select x.* from logging_channels x
                where x.guild_id = n.guild and x.bot = n.bot
                  and (h.lone is null or x.guild_id = h.lone) offset 0) c
            on true
          left join lateral (
               select x.* from logging_options x
                where x.guild_id = n.guild and x.bot = n.bot
                  and (h.lone is null or x.guild_id = h.lone) offset 0) o
            on true
         cross join lateral (
               select case when o.guild_id is not null
                           then row(o.*)::logging_options
                           else options_default() end offset 0) k (options)
         order by n.place);
end $$;


-- What of that needs more than a look.

create or replace function heads_special(settings recording[],
    out roles boolean, out places boolean, out holds boolean,
    out counts boolean, out first_at bigint)
language plpgsql immutable as $$
begin
    select bool_or((s.lists).executor_roles is not null
                   or (s.lists).target_roles is not null),
           bool_or((s.lists).channels is not null
                   or (s.lists).categories is not null),
           bool_or(s.holds), bool_or(s.watched is not null),
           case when bool_and(s.first_at is not null)
                then max(s.first_at) end
      into roles, places, holds, counts, first_at
      from unnest(settings) s;
end $$;


create or replace function ignored_of(guild bigint, bot smallint)
returns ignored language plpgsql stable as $$
begin
    return (
        select row(
                array_agg(i.ignore_value) filter (where i.ignore_type = 0),
                array_agg(i.ignore_value) filter (where i.ignore_type = 1),
                array_agg(i.ignore_value) filter (where i.ignore_type = 2),
                array_agg(i.ignore_value) filter (where i.ignore_type = 3),
                array_agg(i.ignore_value) filter (where i.ignore_type = 4),
                array_agg(i.ignore_value) filter (where i.ignore_type = 5),
                array_agg(i.ignore_value) filter (where i.ignore_type = 6)
                )::ignored
          from ignore_entry i
         where i.guild_id = guild and i.bot = ignored_of.bot);
end $$;


-- Those that are known: recorded within 24 hours, and not after "untils". Ids
-- that grow with time, as the platform's do, lie behind all that a server has:
-- one question says it of all of its entries. It looks at whole days, of which
-- the first event that is found is one to be looked at. The others are asked
-- for one by one, so that it is the whole index that is asked, whatever the
-- statistics of a young partition say.

create or replace function record_known(h heads, events text[])
returns text[] language plpgsql as $$
declare
    since   constant timestamptz := date_trunc('day',
                                        now() - interval '24 hours', 'UTC');
    latest  constant timestamptz := (select max(u) from unnest(h.untils) u);
    old     int[];             -- heads that may know some
    known   int[] := '{}';     -- places
    n       int;               -- of events that differ
begin
    select array_agg(d.head) filter (where d.old), sum(d.n) into old, n
      from (select e.head, e.n, (
                       select true from log_arrival l
                        where l.guild_id = g.guild and l.bot = g.bot
                          and (h.lone is null or l.guild_id = h.lone)
                          and l.event_id between e.low and e.high
                          and l.recorded_at >= since
                          and l.recorded_at <= latest
                          and l.recorded_at <= g.until limit 1) as old
              from (select u.head, min(u.id collate "C") as low,
                           max(u.id collate "C") as high,
                           count(distinct u.id collate "C") as n
                      from unnest(h.heads, events) u (head, id)
                     group by u.head) e
              join unnest(h.guilds, h.bots, h.untils) with ordinality
                       g (guild, bot, until, head) on g.head = e.head
            offset 0) d;

    if old is not null then
        known := array(
            select u.place
              from unnest(h.heads, events) with ordinality u (head, id, place)
              join unnest(h.guilds, h.bots, h.untils) with ordinality
                       g (guild, bot, until, head) on g.head = u.head
             where u.head = any (old)
               and (select true from log_arrival l
                     where l.guild_id = g.guild and l.bot = g.bot
                       and (h.lone is null or l.guild_id = h.lone)
                       and l.event_id = u.id
                       and l.recorded_at > now() - interval '24 hours'
                       and l.recorded_at <= latest
                       and l.recorded_at <= g.until limit 1));
    end if;

    if known = '{}' and n = cardinality(events) then
        return array_fill(null::text, array[n]);
    end if;

    return array(
        select case when e.id is null then 'error'
                    when k.place is not null or e.nth > 1 then 'duplicate'
                    end
          from (select n.id, n.place,
                       row_number() over (partition by n.head, n.id
                                          order by n.place) as nth
                  from unnest(h.heads, events) with ordinality
                           n (head, id, place)) e
          left join unnest(known) k (place) on k.place = e.place
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
            'messagesTruncated', jsonb_array_length(e -> 'messages') - 100
                + coalesce((e ->> 'messagesTruncated')::int, 0)));
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
