-- What is in no segment yet: documents, for the module to look at or to make
-- segments of. They come row by row, for each copy of a megabyte takes longer
-- than to find what is in it; so no function calls another one for them.


-- The next entries of which an event tells, ascending by arrival behind since:
-- the last one's arrival and how many they are, at most 2,048. What came one
-- after the other mostly happened so, too: half of them within a time in which
-- not much else did. Then entries of a sixteenth of that time are read at once,
-- along the primary key; if not, or if that is less, those of a second.

create or replace function search_next(guild bigint, bot smallint,
    since bigint, until bigint, out last bigint, out n int, out width bigint)
language plpgsql stable as $$
declare
    low   bigint;
    high  bigint;
begin
    select max(k.arrival), count(*),
           percentile_disc(0.25) within group (order by k.entry_id),
           percentile_disc(0.75) within group (order by k.entry_id)
      into last, n, low, high
      from (select x.arrival, x.entry_id from log_event x
             where x.guild_id = guild and x.bot = search_next.bot
               and x.entry_id is not null
               and x.arrival > since and x.arrival <= until
             order by x.arrival limit 2048) k;

    width := greatest(1::bigint << 32, case when (
        select count(*) from (
            select from log_entry x
             where x.guild_id = guild and x.bot = search_next.bot
               and x.id >= low and x.id <= high
             order by x.id limit n) e) < n
        then (high - low) / 16 end);
end $$;


-- Whose token lives may read documents; without one, whoever makes segments.

create or replace function search_may(token text, guild bigint)
returns boolean language plpgsql stable as $$
begin
    return case when token is null
           then has_function_privilege(session_user, 'search_job(int)',
                                       'execute')
           else token_live(guild, token) end;
end $$;


-- By arrival: entries behind one (at; null: from the first on), ascending. By
-- id: descending, below one. Of the ids in [low, high), the arrivals in (since,
-- until], and of that channel and member, where these are given. This ends
-- after so many bytes of documents, or when 2,048 by arrival or 16,384 by id
-- were looked at. The last row has no document: its id, be it one or an
-- arrival, is where the next call goes on; null is the end. No row: who asks
-- may not read it.

create or replace function search_tail(token text, guild bigint, bot smallint,
    kind smallint, by_arrival boolean, low bigint, high bigint, since bigint,
    until bigint, at bigint, channel bigint, member bigint, side text,
    bytes int)
returns table (id text, doc text, arrival bigint)
language plpgsql stable security definer
set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    room  int := bytes;
    next  record;
begin
    if not search_may(token, guild) then
        return;
    elsif by_arrival then
        since := greatest(since, at);
        next := search_next(guild, bot, since, until);

        for id, arrival, doc in
            select e.id::text, e.arrival, e.doc
              from (select min(k.entry_id) as low, max(k.entry_id) as high
                      from log_event k
                     where k.guild_id = guild and k.bot = search_tail.bot
                       and k.entry_id is not null
                       and k.arrival > since and k.arrival <= next.last
                     group by k.entry_id / next.width) s
             cross join lateral (
                   select x.id, x.arrival, x.doc from log_entry x
                    where x.guild_id = guild and x.bot = search_tail.bot
                      and x.id >= s.low and x.id <= s.high
                      and x.id >= search_tail.low
                      and x.id < search_tail.high
                      and x.arrival > since and x.arrival <= next.last
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

        id := case when room <= 0 then arrival
                   when next.n = 2048 then next.last end;
    else
        high := least(high, at);

        for id, doc in
            select e.id::text, e.doc
              from (select * from log_entry x
                     where x.guild_id = guild and x.bot = search_tail.bot
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

        id := case when room <= 0 then id else (
            select x.id::text from log_entry x
             where x.guild_id = guild and x.bot = search_tail.bot
               and x.id >= low and x.id < high
             order by x.id desc offset 16383 limit 1) end;
    end if;

    arrival := null;
    doc := null;
    return next;
end $$;
