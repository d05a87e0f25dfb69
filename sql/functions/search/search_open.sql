-- Reading the index of searches. The first statement of a search says what
-- there is, all at one moment; those that follow read parts of segments, which
-- never change.


-- The head of a search and the segments of its days. In the first row key is
-- the status, and head, of 200 alone, is JSON: the ids in [low, high) are
-- inside of the window, those below top are below the position; state is what
-- may be known of the page, see page_state(). The segments have what arrived
-- up to arrival, but for ids below backId of those up to backArrival. What
-- arrived then, up to until, is to be looked at by arrival, the back part by
-- id: see search_tail(). Without an index all is the back part. erased (null
-- without an index) is for logs_found().

create or replace function search_open(token text, guild bigint, bot smallint,
    kind smallint, after bigint, before bigint, below bigint,
    known text default null)
returns table (key text, day text, n text, kinds bytea, dir bytea, head text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    at      constant bigint := ms(now());
    high    constant bigint := log_high(at, before);
    wall    bigint;
    walled  boolean;
    state   text;
    until   bigint;
    low     bigint;
    its     search_head;
begin
    select at - retention_ms(s.plan),
           page_state(h.version || ' ' || h.arrival, s.plan),
           coalesce(h.arrival, 0)
      into wall, state, until
      from server s
      left join head_of(guild, bot) h on true
     where s.guild_id = guild
       and (exists (select from token t
                     where t.guild_id = guild
                       and t.token_id = token
                       and t.revoked_at is null
                       and t.expires_at > now())
            or session_live(guild, token));

    if not found or page_holds(known, state, at) then
        return query
            select case when wall is null then '401' else '304' end,
                   null::text, null::text, null::bytea, null::bytea,
                   null::text;
        return;
    end if;

    walled := coalesce(after < wall - 1 or below < id_at(wall), false);
    low := id_at(greatest(wall, after + 1));
    state := page_known(state, at - wall, entry_first(guild, bot, low, high),
                        walled, after, below);

    select * into its from search_head s
     where s.guild_id = guild and s.bot = search_open.bot
       and s.format = search_format() and s.oldest <= day_of(low);

    if not found then
        its.arrival := until;
        its.back_id := high;
        its.back_arrival := until;
    end if;

    return query
        select '200', null::text, null::text, null::bytea, null::bytea,
               json_build_object(
                   'low', low, 'high', high, 'top', least(below, high),
                   'retention', at - wall, 'walled', walled,
                   'arrival', its.arrival, 'until', until,
                   'backId', its.back_id, 'backArrival', its.back_arrival,
                   'erased', its.erased, 'format', search_format(),
                   'state', state)::text;

    if its.guild_id is not null and low < high then
        return query
            select s.key::text, s.day::text, s.n::text, s.kinds, s.dir,
                   null::text
              from search_segment s
             where s.guild_id = guild and s.bot = search_open.bot
               and s.day >= day_of(low) and s.day <= day_of(high - 1);
    end if;
end $$;


-- Parts of the bodies of segments, each by its place, from 1 on. One of which
-- the segment is gone has no row: then the search begins again. The place 0
-- says that the token lives no more.

create or replace function search_slices(token text, guild bigint,
    bot smallint, kind smallint, days int[], keys bigint[], froms int[],
    lens int[])
returns table (place text, piece bytea)
language plpgsql stable security definer
set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    if not token_live(guild, token) then
        return query select '0', null::bytea;
        return;
    end if;

    return query
        select u.place::text, substring(s.body from u.low + 1 for u.size)
          from unnest(days, keys, froms, lens) with ordinality
                   u (day, key, low, size, place)
         cross join lateral (   -- as log_entry_one()
               select x.body from search_segment x
                where x.guild_id = guild and x.bot = search_slices.bot
                  and x.day = u.day
                  and x.key >= u.key and x.key <= u.key
                order by x.key limit 1) s;
end $$;
