-- Counting what the sets of a search have, by where it stands: each type, and
-- each category, has its places in a segment.


-- How many entries of each type; where nobody asked for types, of each category
-- as if all had one of them.

create or replace function search_counts(q log_query, sets search_set[],
    tail log_mark[], asked smallint[], below bigint)
returns log_count[] language plpgsql stable as $$
begin
    return array(
        select row(n.type, sum(n.n),
                   coalesce(sum(n.n) filter (where n.rest), 0))::log_count
          from (select (u.count & 127)::smallint as type, u.count >> 7 as n,
                       u.rest
                  from (select unnest(s.counts) as count,
                               s.high < below as rest
                          from unnest(sets) s
                         where search_is_whole(q, s.low, s.high, below)) u
                union all
                select u.type,
                       search_between(u.bits, u.marks, u.start, u.stop), u.rest
                  from (select unnest(k.types) as type, unnest(k.ends) as stop,
                               unnest(-32769 || k.ends) as start, s.marks,
                               case when s.counts is null then s.bits end
                                   as bits,
                               s.high < below as rest
                          from unnest(sets) s
                          join search_segment g
                            on g.guild_id = q.guild and g.bot = q.bot
                           and g.level = s.level and g.first = s.first
                         cross join lateral (
                               select case when asked is null then g.kinds
                                           else g.types end,
                                      case when asked is null then g.kind_ends
                                           else g.ends end) k (types, ends)
                         where (s.counts is null
                                or s.term is null and s.bits is not null)
                           and search_is_whole(q, s.low, s.high, below)) u
                 where u.type is not null
                union all
                select c.type, b.n, b.rest
                  from unnest(sets) s
                 cross join lateral unnest(search_counts_cut(q, s, below)) c
                 cross join lateral (
                       values (c.rest, true), (c.n - c.rest, false))
                       b (n, rest)
                 where not search_is_whole(q, s.low, s.high, below)
                union all
                select m.type, 1, m.id < below from unnest(tail) m) n
         group by n.type);
end $$;


-- Are all ids between these in the window and on the same side of the position?

create or replace function search_is_whole(q log_query, low bigint,
    high bigint, below bigint)
returns boolean language sql immutable as $$
    select low >= q.low and high < q.high and (high < below or low >= below)
$$;


-- How many behind the one place and not behind the other.

create or replace function search_between(bits bit varying, marks int[],
    start int, stop int)
returns bigint language sql immutable as $$
    select case when bits is null then 0
                else bit_count(substring(bits from start + 32770
                                         for stop - start)) end
           + case when marks is null then 0
                  else width_bucket(stop, marks)
                       - width_bucket(start, marks) end
$$;


create or replace function search_counts_cut(q log_query, it search_set,
    below bigint)
returns log_count[] language plpgsql stable as $$
declare
    g       search_segment;
    types   smallint[];
    starts  int[];
    stops   int[];
    lows    int[];
    highs   int[];
    middle  int[];
begin
    it := search_read(q, it);
    select * into g from search_segment s
     where s.guild_id = q.guild and s.bot = q.bot
       and s.level = it.level and s.first = it.first;
    select * into types, starts, stops
      from search_parts(g, it.bits, it.marks, null);

    lows := search_below(g, q.low, starts, stops);
    highs := search_below(g, greatest(q.high, q.low), starts, stops);
    middle := search_below(g, greatest(least(below, q.high), q.low),
                           starts, stops);

    return array(
        select row(t.type, search_between(it.bits, it.marks, t.low, t.high),
                   search_between(it.bits, it.marks, t.low, t.middle)
                   )::log_count
          from unnest(types, lows, middle, highs) t (type, low, middle, high));
end $$;


-- Where each type of a segment stands that these have any of: between two
-- places, behind the first one and up to the last. Of these types (null: all).

create or replace function search_parts(g search_segment, bits bit varying,
    marks int[], wanted smallint[], out types smallint[], out starts int[],
    out stops int[])
language plpgsql immutable as $$
begin
    select array_agg(t.type), array_agg(t.start), array_agg(t.stop)
      into types, starts, stops
      from unnest(g.types, g.ends, -32769 || g.ends) t (type, stop, start)
     where t.type is not null
       and (wanted is null or t.type = any (wanted))
       and search_between(bits, marks, t.start, t.stop) > 0;
end $$;


-- For each of these parts of a segment the last place in it with an id below
-- that one, or the place that it is behind.

create or replace function search_below(g search_segment, id bigint,
    starts int[], stops int[])
returns int[] language plpgsql stable as $$
declare
    lows   bigint[];
    highs  bigint[];
begin
    if id > g.high then
        return stops;
    elsif id <= g.low then
        return starts;
    end if;

    lows := g.lows || '{}'::bigint[];     -- unpacked once
    highs := g.highs || '{}'::bigint[];

    return array(
        select t.start + coalesce((f.chunk << 8) - t.start - 32769, 0) + (
                   select sum(case when highs[c + 1] < search_below.id then a.n
                                   when lows[c + 1] < search_below.id then (
                              select width_bucket(
                                         search_below.id - 1,
                                         p.ids[a.first : a.first + a.n - 1])
                                from search_place p
                               where p.guild_id = g.guild_id
                                 and p.bot = g.bot and p.level = g.level
                                 and p.first = g.first and p.chunk = c)
                              else 0 end)::int
                     from unnest(case when f.chunk is not null
                                      then array[f.chunk]
                                      when e.last = e.first + 1
                                      then array[e.first, e.last]
                                      else array[e.first] end) c
                    cross join lateral (
                          select greatest(t.start + 32769 - c * 256, 0) + 1,
                                 least(t.stop + 32768 - c * 256, 255) + 1)
                          e (first, last)
                    cross join lateral (
                          select e.first, e.last - e.first + 1) a (first, n))
          from unnest(starts, stops) with ordinality t (start, stop, n)
         cross join lateral (   -- its first and last chunk
               select t.start + 32769 >> 8, t.stop + 32768 >> 8) e (first, last)
         cross join lateral (   -- how many between these are below
               select width_bucket(search_below.id - 1,
                                   highs[e.first + 2 : e.last]) offset 0) w (n)
         cross join lateral (   -- one where some are: all before it are below
               select case when e.last > e.first + 1
                            and (w.n > 0
                                 or lows[e.first + 2] < search_below.id)
                           then e.first + 1 + w.n end) f (chunk)
         order by t.n);
end $$;
