-- What the operator location calls: entries of one server, or of many.


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
    -- sorted, so that all are ready before the first one is recorded

    for part in
        select p.*, r.ready
          from record_parts(guilds, bots, b, docs) p
         cross join lateral (
             select case when not apart
                    then record_ready(p.guild, p.bot, p.batch, p.docs,
                             case when clock_timestamp() < until
                             then 500 end) end) r (ready)
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
              from record_part(part.guild, part.bot, part.ready) r;
        elsif clock_timestamp() < until then
            begin
                select r.verdicts, r.ids into ended, numbers
                  from record_part(part.guild, part.bot,
                           record_ready(part.guild, part.bot, part.batch,
                                        part.docs, 500)) r;
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


create or replace function record_part(guild bigint, bot smallint,
    ready readied, out verdicts text[], out ids bigint[])
language plpgsql as $$
begin
    select r.verdicts, r.ids into verdicts, ids
      from record_readied(guild, bot, ready, true) r;
    perform server_still_open(guild);
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
