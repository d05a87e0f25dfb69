-- What the index says of a search: for each segment in its window, which of the
-- entries are found.

-- the marks of a term in a segment

call type_make('search_piece', $$
    level   smallint,
    first   int,
    place   int,           -- of the term
    counts  int[],         -- null: count them
    marks   smallint[],
    bits    bit varying    -- null: marks
$$);

-- the entries found in a segment: the bits, and the marks besides them

call type_make('search_set', $$
    level   smallint,
    first   int,
    low     bigint,        -- their ids are within these
    high    bigint,
    term    text,          -- null, or what it has is yet to be read
    counts  int[],         -- of the bits, if there are, else of the marks;
                           --   null: not known
    marks   int[],         -- sorted
    bits    bit varying    -- of other entries than the marks
$$);


-- What all of many sorted lists have.

create aggregate search_all(int[]) (sfunc = _int_inter, stype = int[]);


-- What one of two has.

create or replace function search_either(a int[], b int[])
returns int[] language sql immutable return coalesce(a | b, a, b);


-- What both have.

create or replace function search_shared(a int[], b int[])
returns int[] language sql immutable return a & b;


-- The set of each segment in the window: entries with all words, or with one of
-- the strings that hold the query, and with these other terms, whatever else is
-- asked for. One word is but another term, unless the strings are too many to
-- be read one by one.

create or replace function search_sets_found(q log_query, also text[])
returns search_set[] language plpgsql stable as $$
declare
    terms    constant text[] := array(
        select search_term_of(w) from unnest(q.words) w);
    strings  constant text[] := search_strings(q);
    sets     search_set[];
begin
    if cardinality(strings) = 0 then
        return case when cardinality(terms) > 0
                    then search_sets_words(q, terms || also) else '{}' end;
    elsif cardinality(terms) = 1 and not search_strings_many(strings) then
        sets := search_sets_any(q, terms || strings);
    else
        sets := search_sets_either(q, search_sets_words(q, terms),
                                   search_sets_strings(q, strings));
    end if;

    return case when cardinality(also) > 0
                then search_sets_both(sets, search_sets_words(q, also))
                else sets end;
end $$;


-- The terms of the strings that the whole query is a part of. One word is
-- looked for among the words of long strings instead of in these. The bot is
-- told by the strings: in their index nearly all have the same.

create or replace function search_strings(q log_query)
returns text[] language plpgsql stable set enable_seqscan = off as $$
declare
    pattern  constant text := '%' || regexp_replace(q.part, '([\\%_])',
                                                    '\\\1', 'g') || '%';
    other    constant smallint := case when q.words = array[q.part]
                                       then 2 else 1 end;
begin
    if length(q.part) < 3 then
        return array(
            select '#' || s.number from search_string s
             where s.guild_id = q.guild and s.bot = q.bot
               and s.kind in (0, other) and strpos(s.string, q.part) > 0);
    end if;

    return array(
        select '#' || s.number from search_string s
         where s.guild_id = q.guild and s.bot + 0 = q.bot
           and s.string like pattern and s.kind in (0, other));
end $$;


-- The first runs of the segments in the window are within these.

create or replace function search_range(q log_query, out low int, out high int)
language plpgsql stable as $$
begin
    select min(s.first), max(s.first) into low, high
      from search_segment s
     where s.guild_id = q.guild and s.bot = q.bot
       and s.high >= q.low and s.low < q.high;
end $$;


-- Where each of the terms stands, in segments whose first runs are within
-- these. Offset: each is looked for by itself, however little an average server
-- has.

create or replace function search_pieces(q log_query, wanted text[],
    low int default 0, high int default 2147483647)
returns setof search_piece language plpgsql stable as $$
begin
    return query
        select p.level, p.first, t.place::int, p.counts, p.marks, p.bits
          from unnest(wanted) with ordinality t (term, place)
         cross join generate_series(0, 2) l (level)
         cross join lateral (
               select x.level, x.first, x.counts, x.marks, x.bits
                 from search_common x
                where x.guild_id = q.guild and x.bot = q.bot
                  and x.level = l.level
                  and x.bucket = search_bucket(l.level, t.term)
                  and x.term = t.term
                  and x.first between low and high
                union all
               select c.level, c.first, null,
                      c.marks[coalesce(c.ends[c.at - 1], 0) + 1
                              : c.ends[c.at]], null
                 from (select x.level, x.first, x.ends, x.marks,
                              array_position(x.terms, t.term) as at
                         from search_term x
                        where x.guild_id = q.guild and x.bot = q.bot
                          and x.level = l.level
                          and x.bucket = search_bucket(l.level, t.term)
                          and x.first between low and high
                       offset 0) c
                where c.at is not null
               offset 0) p;
end $$;


-- The same for very many strings: reads all of them, and never one by one. To
-- name the levels lets an index tell them from the words.

create or replace function search_pieces_strings(q log_query,
    wanted text[])
returns setof search_piece language plpgsql stable
set enable_nestloop = off as $$
begin
    return query
        select c.level, c.first, 0, c.counts, c.marks, c.bits
          from search_common c
          join unnest(wanted) t (term) on t.term = c.term
         where c.guild_id = q.guild and c.bot = q.bot
           and (c.level = 0 and c.bucket >= 16
                or c.level = 1 and c.bucket >= 16 << 3
                or c.level = 2 and c.bucket >= 16 << 6)
        union all
        select u.level, u.first, 0, null, u.marks[u.start + 1 : u.stop], null
          from (select c.level, c.first, c.marks, unnest(c.terms) as term,
                       unnest(c.ends) as stop, unnest(0 || c.ends) as start
                  from (select x.level, x.first, x.terms, x.ends,
                               x.marks || '{}'::smallint[] as marks
                          from search_term x
                         where x.guild_id = q.guild and x.bot = q.bot
                           and (x.level = 0 and x.bucket >= 16
                                or x.level = 1 and x.bucket >= 16 << 3
                                or x.level = 2 and x.bucket >= 16 << 6)
                        offset 0) c) u   -- offset: unpacked once
          join unnest(wanted) t (term) on t.term = u.term;
end $$;


create or replace function search_sets_words(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
begin
    if cardinality(terms) < 2 then
        return search_sets_one(q, terms);
    end if;

    return array(
        select row(x.level, x.first, s.low, s.high, null, null,
                   case when x.bits is null then x.marks
                        else array(select m from unnest(x.marks) m
                                    where get_bit(b.bits, m + 32768) = 1) end,
                   case when x.marks is null then b.bits end)::search_set
          from (select p.level, p.first, search_all(p.marks::int[]) as marks,
                       bit_and(p.bits) as bits
                  from search_range(q) r
                 cross join lateral search_pieces(q, terms, r.low, r.high) p
                 group by 1, 2
                having count(*) = cardinality(terms)) x
          join search_segment s
            on s.guild_id = q.guild and s.bot = q.bot
           and s.level = x.level and s.first = x.first
           and s.high >= q.low and s.low < q.high
         cross join lateral (   -- offset: unpacked once
               select x.bits || B'' offset 0) b (bits)
         where x.marks is null or cardinality(x.marks) > 0);
end $$;


-- What a single term has. If that is all there is to the query, then where it
-- is counted it is not read yet.

create or replace function search_sets_one(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
declare
    alone  constant boolean := num_nonnulls(q.part, q.channel, q.member,
                                            q.role) = 1;
begin
    return array(
        select row(s.level, s.first, s.low, s.high,
                   case when n.counts is not null then terms[1] end, n.counts,
                   case when n.counts is null then p.marks::int[] end,
                   case when n.counts is null then p.bits || B'' end
                   )::search_set
          from search_pieces(q, terms) p
          join search_segment s
            on s.guild_id = q.guild and s.bot = q.bot
           and s.level = p.level and s.first = p.first
         cross join lateral (
               select case when alone then p.counts end) n (counts)
         where s.high >= q.low and s.low < q.high);
end $$;


-- The set with what it has.

create or replace function search_read(q log_query, it search_set)
returns search_set language plpgsql stable as $$
begin
    if it.term is not null then
        select c.marks, c.bits into it.marks, it.bits
          from search_common c
         where c.guild_id = q.guild and c.bot = q.bot and c.level = it.level
           and c.bucket = search_bucket(it.level, it.term)
           and c.term = it.term and c.first = it.first;
        it.term := null;
    end if;

    return it;
end $$;


-- Are they so many that to read all there are costs less than to look for each?

create or replace function search_strings_many(terms text[])
returns boolean language sql immutable as $$
    select cardinality(terms) > 800
$$;


create or replace function search_sets_strings(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
begin
    if cardinality(terms) = 1 then
        return search_sets_one(q, terms);
    elsif search_strings_many(terms) then
        return search_sets_many(q, terms);
    else
        return search_sets_any(q, terms);
    end if;
end $$;


-- What one of the terms has.

create or replace function search_sets_any(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
begin
    return array(
        select row(x.level, x.first, s.low, s.high, null, null,
                   case when x.bits is null then x.marks
                        else array(select m from unnest(x.marks) m
                                    where get_bit(x.bits, m + 32768) = 0) end,
                   x.bits)::search_set
          from (select p.level, p.first,
                       search_sorted(search_joined(p.marks::int[])) as marks,
                       bit_or(p.bits || B'') as bits   -- unpacked once
                  from search_range(q) r
                 cross join lateral search_pieces(q, terms, r.low, r.high) p
                 group by 1, 2) x
          join search_segment s
            on s.guild_id = q.guild and s.bot = q.bot
           and s.level = x.level and s.first = x.first
           and s.high >= q.low and s.low < q.high);
end $$;


-- Of very many strings: of a large segment the bits at once, 64 by 64.

create or replace function search_sets_many(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
begin
    return array(
        with piece as materialized (
            select p.level, p.first, p.marks, p.bits
              from search_pieces_strings(q, terms) p
        ), word as (
            select m.first, m.mark + 32768 >> 6 as place,
                   bit_or(1::bigint << 63 - (m.mark & 63)) as bits
              from (select p.first, unnest(p.marks) as mark
                      from piece p where p.level = 2) m
             group by 1, 2
        ), rare as materialized (
            select w.first, search_bits_of(array_agg(w.place),
                                           array_agg(w.bits)) as bits
              from word w group by w.first
        ), common as materialized (
            select p.first, bit_or(p.bits) as bits
              from piece p where p.bits is not null
             group by p.first
        ), small as materialized (
            select p.level, p.first, search_sorted(array_agg(m::int)) as marks
              from piece p, unnest(p.marks) m
             where p.level < 2
             group by 1, 2
        )
        select row(s.level, s.first, s.low, s.high, null, null, l.marks,
                   coalesce(c.bits | r.bits, c.bits, r.bits))::search_set
          from search_segment s
          left join small l on l.level = s.level and l.first = s.first
          left join rare r on s.level = 2 and r.first = s.first
          left join common c on s.level = 2 and c.first = s.first
         where s.guild_id = q.guild and s.bot = q.bot
           and s.high >= q.low and s.low < q.high
           and num_nonnulls(l.marks, r.bits, c.bits) > 0);
end $$;


-- What is in the one or the other, segment by segment.

create or replace function search_sets_either(q log_query, a search_set[],
    b search_set[])
returns search_set[] language plpgsql stable as $$
begin
    return array(
        select case when y.level is null then x when x.level is null then y
                    else search_sets_joined(q, x, y) end
          from unnest(a) x
          full join unnest(b) y on y.level = x.level and y.first = x.first);
end $$;


-- What is in one set or the other of the same segment.

create or replace function search_sets_joined(q log_query, a search_set,
    b search_set)
returns search_set language plpgsql stable as $$
begin
    a := search_read(q, a);
    b := search_read(q, b);

    if a.bits is null then
        a.counts := b.counts;
    end if;

    if num_nonnulls(a.bits, b.bits) <> 1 then
        a.counts := null;
    end if;

    a.bits := coalesce(a.bits | b.bits, a.bits, b.bits) || B'';   -- unpacked
    a.marks := search_either(a.marks, b.marks);

    if a.bits is not null and cardinality(a.marks) > 0 then
        a.marks := array(select m from unnest(a.marks) m
                          where get_bit(a.bits, m + 32768) = 0);
    end if;

    return a;
end $$;
