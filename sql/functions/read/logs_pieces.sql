-- GET /logs: a page in pieces, as the store has them, in one snapshot. The
-- module counts, cuts and puts them together. It is asked more often than
-- anything else: small statements cost least, calls cost more.

-- A piece. By what:
--   H  the first: n is the status; of 200 alone types is the state of the page,
--      see page_state(), and doc what the answer has of the window
--   w  types: those of the entries on the page; without it all are
--   k  types: those that are counted by category; without it all are
--   c  types of entries, a character each, to be counted
--   d  counts of days, a line each, to be counted
--   h  entries that are in no block, n of them, ascending: a line of doc and of
--      said for each
--   e  those of a block, the newest block first: of the lines, and of the
--      characters of types (none: all are wanted), those behind the first
--      n >> 16 up to n & 65535
--   r  what became of places: lines of "lane first last status message reason",
--      with - for none
--   l  how far lanes are: lines of "lane head upto refused"
-- In c and d n has 1 for what is in the window, 2 for what is below the
-- position of the page.

call type_make('log_piece', $$
    n      bigint,
    what   text,
    types  text,
    doc    text,
    said   text
$$);


-- placed: places in lanes tell what became of entries. They may lack one; then
-- the module asks without. bytes: so long the documents are, but for the first.

create or replace function logs_pieces(token text, guild bigint, bot smallint,
    kind smallint, after bigint, before bigint, category text[], type int[],
    most int, below bigint, known text default null,
    placed boolean default true, bytes int default 1048576)
returns setof log_piece language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    at         constant bigint := ms(now());
    clock      constant timestamptz := clock_timestamp();
    wall       bigint;
    state      text;
    done       bigint;
    since      timestamptz;
    until      timestamptz;
    newest     bigint;
    last_id    bigint;      -- of all blocks
    walled     boolean;
    low        bigint;
    high       bigint;
    top        bigint;      -- the page is below that
    types      smallint[];  -- null: all
    want       text;
    k0         bigint;
    k1         bigint;
    counts     text;        -- of what is hot
    hot        log_piece;   -- and on the page
    ids        bigint[];    -- of these
    fits       int;         -- how many would be
    oldest     bigint;
    n          int := 0;    -- of the page, in blocks
    got        int;         -- of one
    k          record;
    room       int := bytes;
    ends       bigint;      -- the last one that there was room for
    open       boolean := false;
    piece      log_piece := row(null, 'e', null, null, null);
    first_day  int;
    first_end  bigint;
    last_low   bigint;
    top_day    int;
    whole      int;         -- the first day that is
    days       text;
    days_below text;
    rest       text;        -- of the first day: its last parts
    cut        text;        -- the types of what is before that
    eldest     bigint;      -- of blocks
begin
    select at - retention_ms(s.plan),
           page_state(h.version || ' ' || h.arrival, s.plan), h.blocked,
           h.since, h.last_at, h.arrival,
           (select x.last_id from log_block x
             where x.guild_id = guild and x.bot = logs_pieces.bot
             order by x.first_id desc limit 1),
           placed and not exists (
               select from replay r
                where r.guild_id = guild and r.bot = logs_pieces.bot
                  and not r.first)
      into wall, state, done, since, until, newest, last_id, placed
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
        return next row(case when wall is null then 401 else 304 end, 'H',
                        null, null, null)::log_piece;
        return;
    end if;

    walled := coalesce(after < wall - 1 or below < id_at(wall), false);
    low := id_at(greatest(wall, after + 1));
    high := greatest(log_high(at, before), low);
    top := greatest(least(below, high), low);

    if category is not null or type is not null then
        types := types_of(category, type);
        select coalesce(string_agg(type_mark(t), ''), ''),
               coalesce(bit_or(kinds_low(t)), 0),
               coalesce(bit_or(kinds_high(t)), 0)
          into want, k0, k1
          from unnest(types) t;
    end if;

    -- what is hot, in one walk where all of it may be on the page

    if newest = done then
        null;
    elsif newest - done <= most then
        select string_agg(type_mark(e.type), '' order by e.id), min(e.id),
               array_agg(e.id order by e.id) filter (where e.fits),
               string_agg(e.doc, E'\n' order by e.id) filter (where e.fits),
               string_agg(e.said, E'\n' order by e.id) filter (where e.fits)
          into counts, oldest, ids, hot.doc, hot.said
          from (select a.id, a.type, a.doc,
                       arrival_said(row(a.*)::log_arrival, clock) as said,
                       a.id < top and (types is null
                                       or a.type = any (types)) as fits
                  from log_arrival a
                 where a.guild_id = guild and a.bot = logs_pieces.bot
                   and a.arrival > done
                   and a.recorded_at between since and until
                   and a.id >= low and a.id < high) e;
    else
        select string_agg(type_mark(a.type), '' order by a.id), min(a.id),
               array_agg(a.id order by a.id)
                   filter (where a.id < top and (types is null
                                                 or a.type = any (types)))
          into counts, oldest, ids
          from log_arrival a
         where a.guild_id = guild and a.bot = logs_pieces.bot
           and a.arrival > done
           and a.recorded_at between since and until
           and a.id >= low and a.id < high;
    end if;

    -- The entries of blocks are counted by whole days, and where one is cut, by
    -- its whole parts, if it has parts, and the types of what is left: of the
    -- first day, of the last one (as a rule nothing happened behind the window)
    -- and of that of the position.

    first_day := day_of(low);
    first_end := case when low > day_low(first_day)
                      then least(high, day_low(first_day + 1)) else low
                      end;
    last_low := case when last_id >= high
                     then greatest(first_end, day_low(day_of(high - 1)))
                     else high end;
    whole := first_day + (first_end > low)::int;
    top_day := case when top < high then day_of(top) else 2147483647 end;

    select string_agg(d.counts, E'\n') filter (
               where d.day >= whole and d.day < top_day),
           string_agg(d.counts, E'\n') filter (
               where d.day >= whole and d.day >= top_day),
           max(array_to_string(d.parts[(low - 1) / part_ids() % 8 + 2:],
                               E'\n')) filter (where d.day < whole)
      into days_below, days, rest
      from log_day d
     where d.guild_id = guild and d.bot = logs_pieces.bot
       and d.day >= first_day + (first_end = high)::int
       and d.day <= day_of(high - 1) - (last_low < high)::int;

    if rest > '' then
        first_end := (low - 1) / part_ids() * part_ids() + part_ids();
    end if;

    select string_agg(
               case when x.first_id >= low and x.last_id < first_end
                    then x.types
                    else substr(x.types, width_bucket(low - 1, x.ids) + 1,
                                width_bucket(first_end - 1, x.ids)
                                - width_bucket(low - 1, x.ids)) end, ''),
           min(case when x.first_id >= low then x.first_id
                    else x.ids[width_bucket(low - 1, x.ids) + 1] end)
      into cut, eldest
      from log_block x
     where x.guild_id = guild and x.bot = logs_pieces.bot
       and x.first_id < first_end
       and x.first_id >= coalesce((
               select f.first_id
                 from block_at(guild, logs_pieces.bot, low) f), low);

    if eldest is null then
        eldest := (select x.first_id from log_block x
                    where x.guild_id = guild and x.bot = logs_pieces.bot
                      and x.first_id >= first_end and x.first_id < high
                    order by x.first_id limit 1);
    end if;

    return next row(200, 'H', page_known(state, at - wall,
                                         least(oldest, eldest), walled, after,
                                         below),
                    '"retentionMs":' || at - wall || ',"walled":' || walled,
                    null)::log_piece;

    if cut is not null then
        return next row(case when top_day > first_day then 3 else 1 end, 'c',
                        cut, null, null)::log_piece;
    end if;

    if rest > '' then
        return next row(case when top_day > first_day then 3 else 1 end, 'd',
                        null, rest, null)::log_piece;
    end if;

    return next row(3, 'd', null, days_below, null)::log_piece;

    if top < high then
        return next row(1, 'd', null, days, null)::log_piece;
        return query select * from day_within(
            guild, bot, greatest(low, day_low(top_day)), top, 2);
    end if;

    if last_low < high then
        return query select * from day_within(
            guild, bot, last_low, high, case when top = high then 3 else 1 end);
    end if;

    if want is not null then
        return next row(0, 'w', want, null, null)::log_piece;
        if type is not null then
            return next row(0, 'k', (
                select coalesce(string_agg(type_mark(t), ''), '')
                  from unnest(type) t
                 where t between 0 and 101), null, null)::log_piece;
        end if;
    end if;

    if counts is not null and top = high then
        return next row(3, 'c', counts, null, null)::log_piece;
    elsif counts is not null then
        return query
            select case when a.id < top then 3 else 1 end::bigint, 'c'::text,
                   string_agg(type_mark(a.type), ''), null::text, null::text
              from log_arrival a
             where a.guild_id = guild and a.bot = logs_pieces.bot
               and a.arrival > done
               and a.recorded_at between since and until
               and a.id >= low and a.id < high
             group by a.id < top;
    end if;

    -- where bytes are too many, no entry comes from beyond one that does not

    if cardinality(ids) > most or octet_length(hot.doc) > bytes
       or hot.doc is null and ids is not null
    then
        fits := least(cardinality(ids), most);
        select array_agg(e.id order by e.id),
               string_agg(e.doc, E'\n' order by e.id),
               string_agg(e.said, E'\n' order by e.id)
          into ids, hot.doc, hot.said
          from (select f.id, f.doc,
                       arrival_said(row(f.*)::log_arrival, clock) as said,
                       sum(octet_length(f.doc)) over (
                           order by f.id desc rows unbounded preceding)
                       - octet_length(f.doc) as before
                  from (select a.* from log_arrival a
                         where a.guild_id = guild and a.bot = logs_pieces.bot
                           and a.arrival > done
                           and a.recorded_at between since and until
                           and a.id >= low and a.id < top
                           and (types is null or a.type = any (types))
                         order by a.id desc limit most) f) e
         where e.before < bytes;

        if cardinality(ids) < fits then
            low := greatest(low, ids[1]);
        end if;
    end if;

    for k in
        select b.first_id, b.last_id, b.n, b.settle, b.types, b.ids, b.said,
               b.docs, case when b.first_id < low
                            then width_bucket(low - 1, b.ids) else 0
                            end as first,
               case when b.last_id >= top
                    then width_bucket(top - 1, b.ids) else b.n end as last
          from log_block b
         where b.guild_id = guild and b.bot = logs_pieces.bot
           and b.first_id < top and done > 0
           and (want is null or b.kinds0 & k0 <> 0 or b.kinds1 & k1 <> 0)
         order by b.first_id desc limit most + 2
    loop
        exit when k.last_id < low or low >= top or room <= 0;
        got := k.last - k.first;

        if want is not null then
            got := got - length(translate(
                substr(k.types, k.first + 1, got), want, ''));
            piece.types := k.types;
        end if;

        continue when got = 0;
        n := n + got;
        open := open or k.settle is not null;

        if octet_length(k.docs) > room or want is not null and 4 * got < k.n
        then
            select c.ids, c.docs, c.said into k.ids, k.docs, k.said
              from block_cut(k.ids, k.docs, k.said, k.types, k.first, k.last,
                             want, room) c;
            k.first := 0;
            k.last := cardinality(k.ids);
            piece.types := null;
        end if;

        if not placed then
            k.said := log_told(guild, bot, k.ids, k.said);
        end if;

        piece.n := k.first << 16 | k.last;
        piece.doc := k.docs;
        piece.said := k.said;
        return next piece;
        room := room - octet_length(k.docs);
        ends := k.ids[k.first + 1];
        exit when n + coalesce(cardinality(ids)
                               - width_bucket(k.first_id - 1, ids), 0)
                  >= most;
    end loop;

    if room <= 0 and ids[1] < ends then
        select array_agg(u.id order by u.id),
               string_agg(u.doc, E'\n' order by u.id),
               string_agg(u.said, E'\n' order by u.id)
          into ids, hot.doc, hot.said
          from unnest(ids, string_to_array(hot.doc, E'\n'),
                      string_to_array(hot.said, E'\n')) u (id, doc, said)
         where u.id >= ends;
    end if;

    if ids is not null then
        hot.what := 'h';
        hot.n := cardinality(ids);
        if not placed then
            hot.said := log_told(guild, bot, ids, hot.said);
        end if;
        return next hot;
    end if;

    if placed and (open or ids is not null)
       and exists (select from lane l where l.guild_id = guild)
    then
        return query select * from places_told(
            guild, greatest(id_time(least(ids[1], ends)) - 1000,
                            at - 4 * 86400000::bigint),
            least(id_time(top) + 10000, at + 3600000), most + 100);
    end if;
end $$;


-- What a range of ids, of one day, has in blocks, to be counted: pieces with
-- these flags. Parts of the day that the range begins with are counted as such.

create or replace function day_within(guild bigint, bot smallint,
    low bigint, high bigint, flags bigint)
returns setof log_piece language plpgsql stable as $$
declare
    begins  constant text := (
                select array_to_string(d.parts[:high / part_ids() % 8], E'\n')
                  from log_day d
                 where d.guild_id = guild and d.bot = day_within.bot
                   and d.day = day_of(low) and low = day_low(d.day));
begin
    if begins > '' then
        return next row(flags, 'd', null, begins, null)::log_piece;
        low := high - high % part_ids();
    end if;

    return query
        select flags, 'c'::text, string_agg(
                   case when x.first_id >= low and x.last_id < high
                        then x.types
                        else substr(x.types,
                                    width_bucket(low - 1, x.ids) + 1,
                                    width_bucket(high - 1, x.ids)
                                    - width_bucket(low - 1, x.ids)) end,
                   ''), null::text, null::text
          from log_block x
         where x.guild_id = guild and x.bot = day_within.bot
           and x.first_id < high
           and x.first_id >= coalesce((
                   select f.first_id
                     from block_at(guild, day_within.bot, low) f), low);
end $$;


-- Of those places of a block: the entries of these types, the newest ones that
-- fit, and one at least. As in entries_named() a few are found by their places.

create or replace function block_cut(inout ids bigint[], inout docs text,
    inout said text, types text, first int, last int, want text, room int)
language plpgsql stable as $$
declare
    places  constant int[] := array(
        select p from generate_series(first + 1, last) p
         where want is null or strpos(want, substr(types, p, 1)) > 0);
    list    text[];
begin
    if cardinality(places) > 3 then
        list := string_to_array(docs, E'\n');
    else
        docs := docs || '';
    end if;

    select array_agg(f.id order by f.id),
           string_agg(f.doc, E'\n' order by f.id),
           string_agg(f.said, E'\n' order by f.id)
      into ids, docs, said
      from (select u.*, sum(octet_length(u.doc)) over (
                            order by u.id desc rows unbounded preceding)
                        - octet_length(u.doc) as before
              from (select block_cut.ids[p],
                           coalesce(list[p],
                                    split_part(block_cut.docs, E'\n', p)),
                           split_part(block_cut.said, E'\n', p)
                      from unnest(places) p offset 0) u (id, doc, said)) f
     where f.before < room;
end $$;


-- What became of places at about that time (ms), and how far lanes are.

create or replace function places_told(guild bigint, since bigint,
    until bigint, most int)
returns setof log_piece language plpgsql stable as $$
begin
    return query
        select 0::bigint, 'r'::text, null::text, string_agg(
                   concat_ws(' ', b.lane, b.seq_from, b.seq_to, b.status,
                             coalesce(b.message_id::text, '-'),
                             coalesce(b.reason, '-')), E'\n'), null::text
          from (select * from lane_batch x
                 where x.guild_id = guild
                   and x.done_at >= to_timestamp(since / 1000.0::float8)
                   and x.done_at < to_timestamp(until / 1000.0::float8)
                 order by x.done_at desc limit most) b
         union all
        select 0, 'l', null, string_agg(
                   concat_ws(' ', h.lane, h.head, h.upto, h.refused_to),
                   E'\n'), null
          from lane_head h
         where h.guild_id = guild;
end $$;
