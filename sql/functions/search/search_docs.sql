-- What is in no segment yet: documents, for the module to look at or to make
-- segments of. They come row by row, for each copy of a megabyte takes longer
-- than to find what is in it.


-- Entries of which an event tells, ascending by arrival behind one (at; null:
-- from the first on): those with an id in [low, high), an arrival in (since,
-- until] and of that channel and member, where these are given. This ends after
-- so many bytes of documents, or when 2,048 were looked at. The last row has no
-- document: its arrival is where the next call goes on, null is the end.
--
-- What came one after the other mostly happened so, too: what happened within a
-- second is read along the primary key, whose order no other index has.

create or replace function search_behind(guild bigint, bot smallint,
    low bigint, high bigint, since bigint, until bigint, at bigint,
    channel bigint, member bigint, side text, bytes int, out id bigint,
    out arrival bigint, out doc text)
returns setof record language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    last  bigint;
    n     int;
    room  int := bytes;
begin
    since := greatest(since, at);

    select max(k.arrival), count(*) into last, n
      from (select x.arrival from log_event x
             where x.guild_id = guild and x.bot = search_behind.bot
               and x.entry_id is not null
               and x.arrival > since and x.arrival <= until
             order by x.arrival limit 2048) k;

    for id, arrival, doc in
        select e.id, e.arrival, e.doc
          from (select min(k.entry_id) as low, max(k.entry_id) as high
                  from log_event k
                 where k.guild_id = guild and k.bot = search_behind.bot
                   and k.entry_id is not null
                   and k.arrival > since and k.arrival <= last
                 group by k.entry_id >> 32) s
         cross join lateral (
               select x.id, x.arrival, x.doc from log_entry x
                where x.guild_id = guild and x.bot = search_behind.bot
                  and x.id >= s.low and x.id <= s.high
                  and x.id >= search_behind.low and x.id < search_behind.high
                  and x.arrival > since and x.arrival <= last
                  and (channel is null or x.channel_id = channel)
                  and (member is null
                       or side <> 'target' and x.executor_id = member
                       or side <> 'executor' and x.target_id = member)
                order by x.id) e
         order by e.arrival
    loop
        return next;
        room := room - octet_length(doc);
        exit when room <= 0;
    end loop;

    if room > 0 then
        arrival := case when n = 2048 then last end;
    end if;

    id := null;
    doc := null;
    return next;
end $$;


-- The same of entries by id, descending below one (at; null: from the last on).
-- 16,384 are looked at. It is the id of the last row that tells where the next
-- call goes on.

create or replace function search_below(guild bigint, bot smallint,
    low bigint, high bigint, since bigint, until bigint, at bigint,
    channel bigint, member bigint, side text, bytes int, out id bigint,
    out arrival bigint, out doc text)
returns setof record language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    room  int := bytes;
begin
    high := least(high, at);

    for id, arrival, doc in
        select e.id, e.arrival, e.doc
          from (select * from log_entry x
                 where x.guild_id = guild and x.bot = search_below.bot
                   and x.id >= low and x.id < high
                 order by x.id desc limit 16384) e
         where e.arrival > since and e.arrival <= until
           and (channel is null or e.channel_id = channel)
           and (member is null
                or side <> 'target' and e.executor_id = member
                or side <> 'executor' and e.target_id = member)
    loop
        return next;
        room := room - octet_length(doc);
        exit when room <= 0;
    end loop;

    if room > 0 then
        id := (select x.id from log_entry x
                where x.guild_id = guild and x.bot = search_below.bot
                  and x.id >= low and x.id < high
                order by x.id desc offset 16383 limit 1);
    end if;

    arrival := null;
    doc := null;
    return next;
end $$;


-- For a page or an export: the documents of entries in no segment. The id of
-- the last row is where the next call goes on, as an arrival or an id; null is
-- the end. No row: the token lives no more.

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
