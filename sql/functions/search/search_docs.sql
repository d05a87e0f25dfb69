-- What is in no segment yet: documents, for the module to look at or to make
-- segments of.


-- Entries of which an event tells, ascending by arrival behind one (at; null:
-- from the first on): those with an id in [low, high), an arrival in (since,
-- until] and of that channel and member, where these are given. The first row
-- has no doc: its arrival is where the next call goes on, null is the end.
-- This ends after so many bytes of documents, or when 4,096 were looked at.

create or replace function search_behind(guild bigint, bot smallint,
    low bigint, high bigint, since bigint, until bigint, at bigint,
    channel bigint, member bigint, side text, bytes int, out id bigint,
    out arrival bigint, out doc text)
returns setof record language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return query
        with event as materialized (
            select k.arrival, k.entry_id
              from log_event k
             where k.guild_id = guild and k.bot = search_behind.bot
               and k.entry_id is not null
               and k.arrival > greatest(since, at) and k.arrival <= until
             order by k.arrival limit 4096
        ), found as materialized (
            select e.id, k.arrival, e.doc,
                   sum(octet_length(e.doc)) over (
                       order by k.arrival rows unbounded preceding)
                   - octet_length(e.doc) as before
              from event k
             cross join lateral log_entry_one(guild, search_behind.bot,
                                              k.entry_id) e
             where k.entry_id >= low and k.entry_id < high
               and (channel is null or e.channel_id = channel)
               and (member is null
                    or side <> 'target' and e.executor_id = member
                    or side <> 'executor' and e.target_id = member)
        )
        select null::bigint,
               coalesce((select max(f.arrival) from found f
                          where f.before < bytes
                            and exists (select from found g
                                         where g.before >= bytes)),
                        (select max(k.arrival) from event k
                         having count(*) = 4096)), null
         union all
        select f.id, f.arrival, f.doc from found f where f.before < bytes;
end $$;


-- The same of entries by id, descending below one (at; null: from the last on).
-- Here it is the id of the first row that tells where the next call goes on.

create or replace function search_below(guild bigint, bot smallint,
    low bigint, high bigint, since bigint, until bigint, at bigint,
    channel bigint, member bigint, side text, bytes int, out id bigint,
    out arrival bigint, out doc text)
returns setof record language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return query
        with entry as materialized (
            select e.id, e.arrival, e.channel_id, e.executor_id, e.target_id,
                   e.doc
              from log_entry e
             where e.guild_id = guild and e.bot = search_below.bot
               and e.id >= low and e.id < least(high, at)
             order by e.id desc limit 4096
        ), found as materialized (
            select e.id, e.arrival, e.doc,
                   sum(octet_length(e.doc)) over (
                       order by e.id desc rows unbounded preceding)
                   - octet_length(e.doc) as before
              from entry e
             where e.arrival > since and e.arrival <= until
               and (channel is null or e.channel_id = channel)
               and (member is null
                    or side <> 'target' and e.executor_id = member
                    or side <> 'executor' and e.target_id = member)
        )
        select coalesce((select min(f.id) from found f
                          where f.before < bytes
                            and exists (select from found g
                                         where g.before >= bytes)),
                        (select min(e.id) from entry e
                         having count(*) = 4096)), null::bigint, null
         union all
        select f.id, f.arrival, f.doc from found f where f.before < bytes;
end $$;


-- For a page or an export: the documents of entries in no segment. The first
-- row has no doc: its id is where the next call goes on, as an arrival or an
-- id; null is the end. No row: the token lives no more.

create or replace function search_tail(token text, guild bigint, bot smallint,
    kind smallint, by_arrival boolean, low bigint, high bigint, since bigint,
    until bigint, at bigint, channel bigint, member bigint, side text,
    bytes int)
returns table (id text, doc text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    if not token_live(guild, token) then
        return;
    end if;

    if by_arrival then
        return query
            select coalesce(f.id, f.arrival)::text, f.doc
              from search_behind(guild, bot, low, high, since, until, at,
                                 channel, member, side, bytes) f;
    else
        return query
            select f.id::text, f.doc
              from search_below(guild, bot, low, high, since, until, at,
                                channel, member, side, bytes) f;
    end if;
end $$;


-- For the index: the same, with arrivals.

create or replace function search_docs(guild bigint, bot smallint,
    by_arrival boolean, low bigint, high bigint, since bigint, until bigint,
    at bigint, bytes int)
returns table (id text, arrival text, doc text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    if by_arrival then
        return query
            select coalesce(f.id, f.arrival)::text, f.arrival::text, f.doc
              from search_behind(guild, bot, low, high, since, until, at,
                                 null, null, null, bytes) f;
    else
        return query
            select f.id::text, f.arrival::text, f.doc
              from search_below(guild, bot, low, high, since, until, at, null,
                                null, null, bytes) f;
    end if;
end $$;
