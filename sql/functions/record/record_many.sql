-- What the operator location calls: entries of one server, or of many.


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
    perform servers_still_open(array[guild]);
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
    did  record;
begin
    did := record_together(guilds, bots, b, docs, errors, apart);
    status := 200;
    counts := record_counts(did.verdicts);
    body := record_answer(record_told(did.told, did.verdicts), counts,
                          did.ids);

    if apart then
        counts := counts || jsonb_build_object('faults', did.faults);

        if did.verdicts <> '{}'
           and array_remove(did.verdicts, 'postponed') = '{}'
        then
            status := 503;
            body := '{"error": "nothing was recorded, send it again", '
                    '"code": "send_again"}';
        end if;
    end if;
end $$;


-- What became of each: told has the errors, those that were known before and
-- others. Together it is all or nothing.

create or replace function record_together(guilds bigint[], bots smallint[],
    b batch, docs text[], errors jsonb, apart boolean default false,
    out verdicts text[], out ids bigint[], out told jsonb, out faults text[])
language plpgsql as $$
declare
    until    constant timestamptz := record_until();
    sorted   record;
    did      record;
    ended    text[];      -- in the order of the sorted ones
    numbers  bigint[];
    places   int[];
begin
    verdicts := array_fill('error'::text, array[cardinality(guilds)]);
    ids := array_fill(null::bigint, array[cardinality(guilds)]);
    faults := '{}';
    sorted := record_heads(guilds, bots, b, docs);
    told := case when sorted.errors = '[]' then errors
                 else record_sorted(errors || sorted.errors) end;

    if sorted.h is null then
        return;
    end if;

    if apart or servers_apart() then
        did := record_heads_apart(sorted.h, sorted.batch, sorted.docs,
                                  case when apart then until end);
        faults := did.faults;
    else
        did := record_readied(sorted.h, record_ready(sorted.h, sorted.batch,
                                  sorted.docs, 500, until), true);
        perform servers_still_open((sorted.h).guilds);
    end if;

    ended := did.verdicts;
    numbers := did.ids;
    places := sorted.places;

    for i in 1 .. cardinality(places) loop
        verdicts[places[i]] := ended[i];
        ids[places[i]] := numbers[i];
    end loop;
end $$;


-- Each server by itself, the smallest ones first, for as long as there is time.
-- Without "until" it is all or nothing: then they come in their order.

create or replace function record_heads_apart(h heads, b batch, docs text[],
    until timestamptz, out verdicts text[], out ids bigint[],
    out faults text[])
language plpgsql as $$
declare
    part   record;
    ended  record;
begin
    verdicts := array_fill('postponed'::text, array[cardinality(b.events)]);
    ids := array_fill(null::bigint, array[cardinality(b.events)]);
    faults := '{}';

    for part in
        select n.guild, n.bot, n.size, n.first, n.first + n.size - 1 as last
          from unnest(h.guilds, h.bots, h.sizes, h.firsts)
                   n (guild, bot, size, first)
         cross join lateral (
               select sum(length(d))
                 from unnest(docs[n.first : n.first + n.size - 1]) d
                where until is not null) l (length)
         order by l.length, n.guild, n.bot
    loop
        exit when clock_timestamp() >= until;

        begin
            ended := record_batch(part.guild, part.bot,
                batch_part(b, part.first, part.last),
                docs[part.first : part.last], 500, true);
            perform servers_still_open(array[part.guild]);
            verdicts[part.first : part.last] := ended.verdicts;
            ids[part.first : part.last] := ended.ids;
        exception when query_canceled or others then
            if until is null then
                raise;
            end if;

            faults := faults || format(
                'server %s: %s entries are to be sent again, %s %s',
                part.guild, part.size, sqlstate, sqlerrm);
        end;
    end loop;
end $$;


-- When to begin with no further server, or with its filters: in two seconds, or
-- when half of the statement's time is over.

create or replace function record_until()
returns timestamptz language plpgsql stable as $$
declare
    whole  constant interval := current_setting('statement_timeout');
begin
    return clock_timestamp() + least(
        interval '2 s', nullif(whole, interval '0') / 2);
end $$;


-- The entries by server and bot, with their places in the whole: those of
-- servers that may be written for. h is null if there are none. They may be in
-- that order: then nothing has to be moved.

create or replace function record_heads(guilds bigint[], bots smallint[],
    b batch, lines text[], out h heads, out batch batch, out docs text[],
    out places int[], out errors jsonb)
language plpgsql stable as $$
declare
    shut   text[];
    moved  record;
begin
    errors := '[]';
    h := heads_ordered(guilds, bots);

    if h.heads is not null and array_position(b.events, null) is null
       and num_nonnulls(variadic server_obstacles(h.guilds)) = 0
    then
        batch := b;
        docs := lines;
        places := array(select generate_subscripts(guilds, 1));
        return;
    end if;

    shut := server_obstacles(guilds);
    errors := (
        select coalesce(jsonb_agg(record_error(n.place::int, n.obstacle,
                   case n.obstacle when 'server: unknown'
                   then 'unknown_server' else 'forgotten' end)), '[]')
          from unnest(shut, b.events) with ordinality
                   n (obstacle, event, place)
         where n.event is not null and n.obstacle is not null);

    select array_agg(u.guild) as guilds, array_agg(u.bot) as bots,
           array_agg(u.place::int) as places,
           row(array_agg(u.event), array_agg(u.type), array_agg(u.at),
               array_agg(u.executor), array_agg(u.executor_bot),
               array_agg(u.executor_roles), array_agg(u.target),
               array_agg(u.target_bot), array_agg(u.target_roles),
               array_agg(u.channel), array_agg(u.parent),
               array_agg(u.category), array_agg(u.proxied),
               array_agg(u.nth::int) filter (where u.place = any (b.prefixed)),
               array_agg(u.nth::int) filter (where u.place = any (b.crowded))
              )::batch as batch,
           array_agg(u.doc) as docs
      into moved
      from (select n.*, row_number() over (
                       order by n.guild, coalesce(n.bot, 0), n.place) as nth
              from unnest(guilds, bots, b.events, b.types, b.times,
                          b.executors, b.executor_bots, b.executor_roles,
                          b.targets, b.target_bots, b.target_roles,
                          b.channels, b.parents, b.categories,
                          b.proxied, lines, shut) with ordinality
                       n (guild, bot, event, type, at, executor,
                          executor_bot, executor_roles, target,
                          target_bot, target_roles, channel, parent,
                          category, proxied, doc, obstacle, place)
             where n.event is not null and n.obstacle is null
             order by n.guild, coalesce(n.bot, 0), n.place) u;

    h := heads_ordered(moved.guilds, moved.bots);
    batch := moved.batch;
    docs := moved.docs;
    places := moved.places;
end $$;


-- The servers and bots of entries that are in their order; null: they are not,
-- or there are none.

create or replace function heads_ordered(guilds bigint[], bots smallint[])
returns heads language plpgsql immutable as $$
declare
    h       heads;
    its     bigint[] := '{}';
    bot_of  smallint[] := '{}';
    firsts  int[] := '{}';
    sizes   int[] := '{}';
    heads   int[] := '{}';
    n       int := 0;
    guild   bigint;
    bot     smallint;
begin
    for i in 1 .. coalesce(cardinality(guilds), 0) loop
        bot := coalesce(bots[i], 0);

        if guilds[i] = guild and bot = bot_of[n] then
            sizes[n] := sizes[n] + 1;
        elsif guilds[i] < guild or guilds[i] = guild and bot < bot_of[n]
              or guilds[i] is null
        then
            return null;
        else
            guild := guilds[i];
            n := n + 1;
            its[n] := guild;
            bot_of[n] := bot;
            firsts[n] := i;
            sizes[n] := 1;
        end if;

        heads[i] := n;
    end loop;

    if n > 0 then
        h := row(its, bot_of, sizes, firsts, heads, null, null, null, null,
                 lone_of(its))::heads;
    end if;

    return h;
end $$;
