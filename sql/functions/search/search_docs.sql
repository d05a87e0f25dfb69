-- What is in no segment yet: documents, for the module to look at or to make
-- segments of. They come row by row, for each copy of a megabyte takes longer
-- than to find what is in it; so no function calls another one for them.


-- Whose token lives may read documents; without one, whoever makes segments.

create or replace function search_may(token text, guild bigint)
returns boolean language plpgsql stable as $$
begin
    return case when token is null
           then has_function_privilege(session_user, 'search_job(int)',
                                       'execute')
           else token_live(guild, token) end;
end $$;


-- Down to which id the blocks below one have so many bytes of documents.

create or replace function search_floor(guild bigint, bot smallint,
    low bigint, high bigint, bytes int)
returns bigint language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
declare
    k      log_block;
    floor  bigint;
    room   int := bytes;
begin
    for k in
        select * from log_block b
         where b.guild_id = guild and b.bot = search_floor.bot
           and b.first_id < high
         order by b.first_id desc
    loop
        if k.last_id < low then
            return low;
        end if;

        room := room - octet_length(k.docs);

        if room <= 0 then
            return greatest(low, coalesce(floor, k.first_id));
        end if;

        floor := k.first_id;
    end loop;

    return low;
end $$;


-- By arrival: entries behind one (at; null: from the first on), ascending. By
-- id: descending, below one. Of the ids in [low, high), the arrivals in (since,
-- until], and of that channel and member where these are given, or nearly so:
-- what else ends in these ids may come, too. This ends after so many bytes of
-- documents, or when 2,048 by arrival were looked at. The last row has no
-- document: its id, be it one or an arrival, is where the next call goes on;
-- null is the end. No row: who asks may not read it.

create or replace function search_tail(token text, guild bigint, bot smallint,
    kind smallint, by_arrival boolean, low bigint, high bigint, since bigint,
    until bigint, at bigint, channel bigint, member bigint, side text,
    bytes int)
returns table (id text, doc text, arrival bigint)
language plpgsql stable security definer
set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    place   constant text := channel || '"';    -- with zeros in front, too
    person  constant text := member || '"';
    room    int := bytes;
    next    bigint;
    late    bigint[];
    floor   bigint;
begin
    if not search_may(token, guild) then
        return;
    elsif by_arrival then
        since := greatest(since, at);
        next := (select x.arrival from log_arrival x
                  where x.guild_id = guild and x.bot = search_tail.bot
                    and x.arrival > since and x.arrival <= until
                  order by x.arrival offset 2047 limit 1);

        for id, arrival, doc in
            select e.id::text, e.arrival, e.doc
              from log_arrival e
             where e.guild_id = guild and e.bot = search_tail.bot
               and e.arrival > since and e.arrival <= coalesce(next, until)
               and e.id >= low and e.id < search_tail.high
               and coalesce(strpos(e.doc, place) > 0, true)
               and coalesce(strpos(e.doc, person) > 0, true)
             order by e.arrival
        loop
            return next;
            room := room - octet_length(doc);
            exit when room <= 0;
        end loop;

        id := case when room <= 0 then arrival else next end;
    else
        high := least(high, at);
        floor := search_floor(guild, bot, low, high, bytes);
        late := arrivals_late(guild, bot, until, floor, high);

        for id, doc in
            select e.id::text, e.doc
              from (select u.id, u.doc
                      from log_block k
                     cross join lateral unnest(k.ids,
                               string_to_array(k.docs, E'\n')) u (id, doc)
                     where k.guild_id = guild and k.bot = search_tail.bot
                       and k.first_id < high and k.last_id >= floor
                       and k.first_id >= coalesce((
                               select f.first_id
                                 from block_at(guild, search_tail.bot,
                                               floor) f), 0)
                       and coalesce(strpos(k.docs, place) > 0, true)
                       and coalesce(strpos(k.docs, person) > 0, true)
                     union all
                    select a.id, a.doc
                      from arrivals_hot(guild, search_tail.bot) a
                     where a.arrival <= until) e
             where e.id >= floor and e.id < high and e.id <> all (late)
               and coalesce(strpos(e.doc, place) > 0, true)
               and coalesce(strpos(e.doc, person) > 0, true)
             order by e.id desc
        loop
            return next;
            room := room - octet_length(doc);
            exit when room <= 0;
        end loop;

        id := case when room <= 0 then id
                   when floor > low then floor::text end;
    end if;

    arrival := null;
    doc := null;
    return next;
end $$;
