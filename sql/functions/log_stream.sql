-- The live tail. Its positions are arrival numbers, which follow the order of
-- commits: an entry that is recorded late has an old id, but a new number.


-- GET /logs/stream: where the tail begins, in the head: behind the entry seen
-- last, or now. If that entry is unknown, the ids above it are what was not
-- seen.

create or replace function logs_stream(token text, guild bigint,
    bot smallint, kind smallint, search text, after bigint, before bigint,
    category text[], type int[], channel bigint, member bigint,
    member_role text, role text, last_id bigint)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    since  bigint;
begin
    if not token_live(guild, token) then
        return next row(401, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    if last_id is not null then
        since := (select e.arrival
                    from log_entry_one(guild, logs_stream.bot, last_id) e);
        since := coalesce(since, order_behind(
                     guild, bot, greatest(last_id, id_at(wall_of(guild)))));
    end if;

    since := coalesce(since, (
        select h.arrival from log_head h
         where h.guild_id = guild and h.bot = logs_stream.bot), 0);

    return next row(200, null, null, null, since, null, null, null, null,
                    null)::log_row;
end $$;


-- The entries of these parameters that arrived behind since, in the order in
-- which they arrived, at most so many. The head says up to where this is all
-- of them.

create or replace function logs_tail(guild bigint, bot smallint, search text,
    after bigint, before bigint, category text[], type int[], channel bigint,
    member bigint, member_role text, role text, since bigint, most int)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    it     constant log_order := tail_order(guild, bot, since);
    until  bigint := least(tail_end(guild, bot, since), it.upto);
    q      log_query;
begin
    q := query_of(guild, bot, wall_of(guild), search, after, before,
                  types_of(category, type), channel, member, member_role,
                  role);
    q.ids := tail_ids(q, it, since, until, most);

    if cardinality(q.ids) = most then
        until := (select e.arrival
                    from log_entry_one(guild, logs_tail.bot, q.ids[most]) e);
    end if;

    return next row(200, null, null, null, until, null, null, null, null,
                    null)::log_row;

    return query
        select s.*
          from unnest(q.ids) with ordinality i (id, place)
          join log_rows_sent(q, null, null, null) s on s.id = i.id
         order by i.place;
end $$;


-- Up to where one call looks: not beyond an entry that is held, for it may
-- still be taken back. Who takes one back looks at its time before he commits.

create or replace function tail_end(guild bigint, bot smallint, since bigint)
returns bigint language plpgsql stable as $$
begin
    return greatest(since, least(
        since + 10000,
        (select h.arrival from log_head h
          where h.guild_id = guild and h.bot = tail_end.bot),
        (select min(e.arrival) - 1
           from held_entry h
          cross join lateral log_entry_one(guild, tail_end.bot, h.id) e
          where h.guild_id = guild
            and h.bot = tail_end.bot
            and h.until > clock_timestamp() - interval '1 second')));
end $$;


-- What the order says of arrivals behind that one, if anything.

create or replace function tail_order(guild bigint, bot smallint,
    since bigint)
returns log_order language plpgsql stable as $$
begin
    return (select o from log_order o
             where o.guild_id = guild and o.bot = tail_order.bot
               and o.upto > since
             order by o.upto limit 1);
end $$;


-- The entries that arrived behind one and up to another, at most so many. The
-- order says where to look for them; what it says nothing of yet the events
-- know, who know all of the last day besides. The rest is looked for in all of
-- the window.

create or replace function tail_ids(q log_query, it log_order, since bigint,
    until bigint, most int)
returns bigint[] language plpgsql stable as $$
begin
    if it.upto is null and tail_has_events(q.guild, q.bot, since) then
        return array(
            select e.id
              from log_event k
             cross join lateral log_entry_one(q.guild, q.bot, k.entry_id) e
             where k.guild_id = q.guild and k.bot = q.bot
               and k.entry_id is not null
               and k.arrival > since and k.arrival <= until
               and e.id >= q.low and e.id < q.high
               and entry_has_member(e.executor_id, e.target_id, q)
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
             order by k.arrival limit most);
    end if;

    return array(
        select f.id
          from (select e.id, e.arrival
                  from log_entry e
                 where e.guild_id = q.guild and e.bot = q.bot
                   and e.id >= greatest(q.low, it.low) and e.id < q.high
                   and e.id <= coalesce(it.high, q.high)
                   and e.arrival > since and e.arrival <= until
                   and entry_has_member(e.executor_id, e.target_id, q)
                   and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                 union all
                (select e.id, l.arrival
                   from log_late l
                  cross join lateral log_entry_one(q.guild, q.bot, l.id) e
                  where l.guild_id = q.guild and l.bot = q.bot
                    and l.arrival > since and l.arrival <= until
                    and it.upto is not null
                    and e.id >= q.low and e.id < q.high
                    and entry_has_member(e.executor_id, e.target_id, q)
                    and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                  order by l.arrival limit most)) f
         order by f.arrival limit most);
end $$;


-- Do the events know all that arrived behind that one, of which the order says
-- nothing?

create or replace function tail_has_events(guild bigint, bot smallint,
    since bigint)
returns boolean language plpgsql stable as $$
begin
    return exists (select from log_order o
                    where o.guild_id = guild and o.bot = tail_has_events.bot)
        or exists (select from log_event k
                    where k.guild_id = guild and k.bot = tail_has_events.bot
                      and k.entry_id is not null
                      and k.arrival <= since
                      and k.recorded_at >= date_trunc('day', now(), 'UTC')
                                           - interval '1 day');
end $$;


create or replace function entry_has_member(executor bigint, target bigint,
    q log_query)
returns boolean language sql immutable as $$
    select q.member is null
        or q.side <> 'target' and executor is not distinct from q.member
        or q.side <> 'executor' and target is not distinct from q.member
$$;


-- Of these servers and bots, by their place, those where more than that many
-- entries have arrived, and how many.

create or replace function logs_news(guilds bigint[], bots smallint[],
    arrivals bigint[])
returns table (place bigint, arrival bigint)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return query
        select t.place, h.arrival
          from unnest(guilds, bots, arrivals)
                   with ordinality t (guild, bot, arrival, place)
          join log_head h
            on h.guild_id = t.guild and h.bot = t.bot
         where h.arrival > t.arrival
         order by t.place;
end $$;


-- Of these tokens, by their place, those that live no more.

create or replace function logs_tokens(guilds bigint[], tokens text[])
returns table (place bigint, arrival bigint)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return query
        select t.place, null::bigint
          from unnest(guilds, tokens) with ordinality t (guild, token, place)
         where not token_live(t.guild, t.token);
end $$;
