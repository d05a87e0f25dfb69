-- The live tail. Its positions are arrival numbers, which follow the order of
-- commits: an entry that is recorded late has an old id, but a new number.


-- GET /logs/stream: where the tail begins, in the head: behind the entry seen
-- last, or now. doc: of each type whether it is asked for, as '0' or '1'; null:
-- all are. more: that entry is unknown, and logs_resume() has to be asked.

create or replace function logs_begin(token text, guild bigint,
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
                    from log_entry_one(guild, logs_begin.bot, last_id) e);
    else
        since := tail_now(guild, bot);
    end if;

    return next row(200, since is null, null, null, since, null,
                    types_mask(category, type), null, null, null)::log_row;
end $$;


-- The same behind an entry that is unknown: the ids above it are what was not
-- seen.

create or replace function logs_resume(token text, guild bigint,
    bot smallint, kind smallint, search text, after bigint, before bigint,
    category text[], type int[], channel bigint, member bigint,
    member_role text, role text, last_id bigint)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
begin
    if not token_live(guild, token) then
        return next row(401, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    return next row(200, false, null, null, coalesce(
                        order_behind(guild, bot, greatest(
                            last_id, id_at(wall_of(guild)))),
                        tail_now(guild, bot)),
                    null, types_mask(category, type), null, null,
                    null)::log_row;
end $$;


-- What the module of the release before calls for both: it takes a position as
-- it comes.

create or replace function logs_stream(token text, guild bigint,
    bot smallint, kind smallint, search text, after bigint, before bigint,
    category text[], type int[], channel bigint, member bigint,
    member_role text, role text, last_id bigint)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    it  log_row := logs_begin(token, guild, bot, kind, search, after, before,
                              category, type, channel, member, member_role,
                              role, last_id);
begin
    if it.more then
        it := logs_resume(token, guild, bot, kind, search, after, before,
                          category, type, channel, member, member_role, role,
                          last_id);
    end if;

    return next it;
end $$;


create or replace function tail_now(guild bigint, bot smallint)
returns bigint language plpgsql stable as $$
begin
    return coalesce((select h.arrival from log_head h
                      where h.guild_id = guild and h.bot = tail_now.bot), 0);
end $$;


create or replace function types_mask(category text[], type int[])
returns text language plpgsql stable as $$
declare
    types  constant smallint[] := types_of(category, type);
begin
    return (select string_agg((t.id = any (types))::int::text, ''
                              order by t.id)
              from log_type t);
end $$;


-- The entries of these parameters that arrived behind since, in the order in
-- which they arrived, at most so many and so many bytes; seq: their arrivals.
-- The head says up to where this is all of them.

create or replace function logs_tail(guild bigint, bot smallint, search text,
    after bigint, before bigint, category text[], type int[], channel bigint,
    member bigint, member_role text, role text, since bigint, most int)
returns setof log_row language plpgsql volatile security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    at  constant timestamptz := tail_taken(guild, bot);
begin
    -- what is read from here on has all that was committed before

    return query
        select t.* from tail_rows(guild, bot, query_of(
                   guild, bot, wall_of(guild), search, after, before,
                   types_of(category, type), channel, member, member_role,
                   role), at, since, most) t;
end $$;


-- Until when everything that was held and that a request has taken back is
-- known to be gone; null: a request is at work that may take back what it found
-- to be held before. Who takes entries back has this lock from before he looks
-- at the time to the end of his transaction. One expression, so that nothing
-- comes between: the session is that of many requests.

create or replace function tail_taken(guild bigint, bot smallint)
returns timestamptz language plpgsql volatile as $$
declare
    at  constant timestamptz := clock_timestamp();
    a   constant int := hashtext('guildlog.held');
    b   constant int := hashint8(guild);
begin
    return case when pg_try_advisory_lock_shared(a, b)
                then case when pg_advisory_unlock_shared(a, b) then at end end;
end $$;


create or replace function tail_rows(guild bigint, bot smallint, q log_query,
    at timestamptz, since bigint, most int)
returns setof log_row language plpgsql stable as $$
declare
    it        constant log_order := tail_order(guild, bot, since);
    until     bigint := least(tail_end(guild, bot, since, at), it.upto);
    arrivals  bigint[];
    n         int;
begin
    -- the first, and more as long as they begin within 256 KiB

    select array_agg(f.id order by f.arrival) filter (where f.at < 262144),
           array_agg(f.arrival order by f.arrival) filter (where f.at < 262144),
           count(*)
      into q.ids, arrivals, n
      from (select t.id, t.arrival,
                   sum(t.size) over (order by t.arrival) - t.size as at
              from tail_found(q, it, since, until, most) t) f;

    if n = most or n > cardinality(arrivals) then
        until := arrivals[cardinality(arrivals)];
    end if;

    return next row(200, null, null, null, until, null, null, null, null,
                    null)::log_row;

    return query
        select s.id, s.more, s.status, s.reason, s.channel_id, s.message_id,
               s.doc, s.dstatus, s.lane, i.arrival
          from unnest(q.ids, arrivals) i (id, arrival)
          join log_rows_sent(q, null, null, null) s on s.id = i.id
         order by i.arrival;
end $$;


-- Up to where one call looks: not beyond an entry that is held, for it may
-- still be taken back, and nowhere while somebody may be taking back what is
-- not held any more.

create or replace function tail_end(guild bigint, bot smallint, since bigint,
    at timestamptz)
returns bigint language plpgsql stable as $$
begin
    if at is null then
        return since;
    end if;

    return greatest(since, least(
        since + 10000,
        tail_now(guild, bot),
        (select min(e.arrival) - 1
           from held_entry h
          cross join lateral log_entry_one(guild, tail_end.bot, h.id) e
          where h.guild_id = guild
            and h.bot = tail_end.bot
            and h.until > at)));
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

create or replace function tail_found(q log_query, it log_order, since bigint,
    until bigint, most int, out id bigint, out arrival bigint, out size int)
returns setof record language plpgsql stable as $$
begin
    if it.upto is null and tail_has_events(q.guild, q.bot, since) then
        return query
            select e.id, k.arrival, octet_length(e.doc)
              from log_event k
             cross join lateral log_entry_one(q.guild, q.bot, k.entry_id) e
             where k.guild_id = q.guild and k.bot = q.bot
               and k.entry_id is not null
               and k.arrival > since and k.arrival <= until
               and e.id >= q.low and e.id < q.high
               and entry_has_member(e.executor_id, e.target_id, q)
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
             order by k.arrival limit most;
        return;
    end if;

    return query
        select f.id, f.arrival, f.size
          from (select e.id, e.arrival, octet_length(e.doc) as size
                  from log_entry e
                 where e.guild_id = q.guild and e.bot = q.bot
                   and e.id >= greatest(q.low, it.low) and e.id < q.high
                   and e.id <= coalesce(it.high, q.high)
                   and e.arrival > since and e.arrival <= until
                   and entry_has_member(e.executor_id, e.target_id, q)
                   and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                 union all
                (select e.id, l.arrival, octet_length(e.doc)
                   from log_late l
                  cross join lateral log_entry_one(q.guild, q.bot, l.id) e
                  where l.guild_id = q.guild and l.bot = q.bot
                    and l.arrival > since and l.arrival <= until
                    and it.upto is not null
                    and e.id >= q.low and e.id < q.high
                    and entry_has_member(e.executor_id, e.target_id, q)
                    and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                  order by l.arrival limit most)) f
         order by f.arrival limit most;
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
