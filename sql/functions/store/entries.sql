-- Finding entries. Those that are hot are looked at one by one, which are few;
-- the others are in blocks: that of an id is the one with the greatest first_id
-- not above it.


-- The first id of that time (ms), or of the nearest that an id can have.

create or replace function id_at(at bigint)
returns bigint language sql immutable as $$
    select case when at is not null
           then time_id(least(greatest(at, 1420070400000), 3619093655551)) end
$$;


-- The first id beyond what may be read. No entry is recorded more than a minute
-- ahead, but by a clock that was wrong: one that took local time for UTC was at
-- most 14 hours ahead.

create or replace function log_high(now bigint, before bigint)
returns bigint language sql immutable as $$
    select least(id_at(before), id_at(now + 50400000))
$$;


-- The types of these categories; with both given, what both allow.

create or replace function types_of(category text[], type int[])
returns smallint[] language plpgsql stable as $$
begin
    if category is null then
        return type;
    end if;

    return array(select t.id from log_type t
                  where t.category = any (types_of.category)
                    and (types_of.type is null
                         or t.id = any (types_of.type)));
end $$;


-- The block that an id is in, if there is such an entry.

create or replace function block_at(guild bigint, bot smallint, id bigint)
returns setof log_block language sql stable as $$
    select k.* from log_block k
     where k.guild_id = guild and k.bot = block_at.bot
       and k.first_id <= block_at.id
     order by k.first_id desc limit 1
$$;


-- These entries, as far as they are there, the newest first. A few of a block
-- are found by their places: a list of all its documents takes longer, and is
-- made where more of them are wanted.

create or replace function entries_named(guild bigint, bot smallint,
    ids bigint[])
returns setof log_found language plpgsql stable as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    return query
        select f.*
          from (select (arrival_found(a, at)).*
                  from arrivals_hot(guild, entries_named.bot) a
                 where a.id = any (entries_named.ids)
                 union all
                select (h.found).*
                  from (select log_heard(w.id, type_at(k.types, w.place),
                                   coalesce(l.said[w.place], split_part(
                                       k.said, E'\n', w.place)),
                                   coalesce(l.docs[w.place], split_part(
                                       l.doc, E'\n', w.place))) as found
                          from (select b.first_id, count(*) > 3 as many,
                                       array_agg(distinct i.id) as ids
                                  from unnest(entries_named.ids) i (id)
                                 cross join lateral (
                                       select x.first_id, x.last_id
                                         from log_block x
                                        where x.guild_id = guild
                                          and x.bot = entries_named.bot
                                          and x.first_id <= i.id
                                        order by x.first_id desc limit 1) b
                                 where b.last_id >= i.id
                                 group by b.first_id) b
                         cross join lateral block_at(
                                   guild, entries_named.bot, b.first_id) k
                         cross join lateral (
                               select case when b.many then
                                           string_to_array(k.said, E'\n') end,
                                      case when b.many then
                                           string_to_array(k.docs, E'\n') end,
                                      case when not b.many then
                                           k.docs || '' end
                               offset 0) l (said, docs, doc)
                         cross join lateral (
                               select i, width_bucket(i, k.ids)
                                 from unnest(b.ids) i offset 0) w (id, place)
                         where k.ids[w.place] = w.id
                        offset 0) h) f
         order by f.id desc;
end $$;


create or replace function entry_named(guild bigint, bot smallint, id bigint)
returns setof log_found language sql stable as $$
    select e.* from entries_named(guild, bot, array[id]) e
$$;


-- The entries of a range of ids and of these types (null: all), the newest
-- first, at most so many (null: all). Block by block, and not all of them.

create or replace function entries_within(guild bigint, bot smallint,
    low bigint, high bigint, types smallint[], most int)
returns setof log_found language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    at    constant timestamptz := clock_timestamp();
    hot   constant log_found[] := array(
              select arrival_found(a, at)
                from arrivals_hot(guild, bot) a
               where a.id >= low and a.id < high
                 and (types is null or a.type = any (types))
               order by a.id desc limit most);
    next  int := 1;        -- of those that are hot
    upto  int := 0;        -- and the last that is above a block's first
    rest  int := most;
    n     int;
    k0    bigint;
    k1    bigint;
    k     log_block;
begin
    select bit_or(kinds_low(t)), bit_or(kinds_high(t))
      into k0, k1
      from unnest(types) t;

    for k in
        select * from log_block b
         where b.guild_id = guild and b.bot = entries_within.bot
           and b.first_id < high
           and b.first_id >= coalesce((
                   select f.first_id
                     from block_at(guild, entries_within.bot, low) f), low)
           and (entries_within.types is null or b.kinds0 & k0 <> 0
                or b.kinds1 & k1 <> 0)
         order by b.first_id desc
    loop
        exit when rest = 0;

        while upto < cardinality(hot) and hot[upto + 1].id > k.first_id loop
            upto := upto + 1;
        end loop;

        return query
            select (h.found).*
              from (select log_heard(u.id, t.type, u.said, u.doc) as found
                      from unnest(k.ids, string_to_array(k.said, E'\n'),
                                  string_to_array(k.docs, E'\n'))
                               with ordinality u (id, said, doc, place)
                     cross join lateral (select type_at(k.types, u.place)
                               ) t (type)
                     where u.id >= low and u.id < high
                       and (types is null or t.type = any (types))
                    offset 0) h
             union all
            select x.* from unnest(hot[next:upto]) x
             order by 1 desc limit rest;

        get diagnostics n = row_count;
        rest := rest - n;
        next := upto + 1;
    end loop;

    return query
        select x.* from unnest(hot[next:]) x order by x.id desc limit rest;
end $$;


-- The oldest entry of a range of ids.

create or replace function entry_first(guild bigint, bot smallint, low bigint,
    high bigint)
returns bigint language plpgsql stable as $$
begin
    return least((
        select k.ids[width_bucket(low - 1, k.ids) + 1]
          from log_block k
         where k.guild_id = guild and k.bot = entry_first.bot
           and k.first_id >= coalesce((
                   select f.first_id
                     from block_at(guild, entry_first.bot, low) f
                    where f.last_id >= low), low)
           and k.first_id < high
           and k.ids[width_bucket(low - 1, k.ids) + 1] < high
         order by k.first_id limit 1), (
        select min(a.id) from arrivals_hot(guild, entry_first.bot) a
         where a.id >= low and a.id < high));
end $$;


-- The newest entry of a range of ids that is in a block, and the newest one
-- that is not.

create or replace function entries_newest(guild bigint, bot smallint,
    low bigint, high bigint)
returns setof bigint language plpgsql stable as $$
begin
    return query
        select k.ids[width_bucket(high - 1, k.ids)]
          from block_at(guild, entries_newest.bot, high - 1) k
         where k.ids[width_bucket(high - 1, k.ids)] >= low;
    return query
        select max(a.id) from arrivals_hot(guild, bot) a
         where a.id >= low and a.id < high
        having max(a.id) is not null;
end $$;
