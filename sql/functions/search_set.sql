-- What the index says of a search: for each segment in its window, which of the
-- entries are found.

drop type if exists search_piece, search_set cascade;

-- the marks of a term in a segment

create type search_piece as (
    level   smallint,
    first   int,
    place   int,           -- of the term
    counts  int[],         -- null: count them
    marks   int[],
    bits    bit varying    -- null: marks
);

-- the entries found in a segment: the bits, and the marks besides them

create type search_set as (
    level   smallint,
    first   int,
    low     bigint,        -- their ids are within these
    high    bigint,
    counts  int[],         -- null: not known
    marks   int[],
    bits    bit varying
);


-- The set of each segment in the window: entries with all words, or with one of
-- the strings that hold the query.

create or replace function search_sets(q log_query)
returns search_set[] language plpgsql stable as $$
declare
    terms    constant text[] := array(
        select search_term_of(w) from unnest(words_of(q.part)) w);
    strings  constant text[] := search_strings(q);
    words    search_set[];
    parts    search_set[];
begin
    words := search_sets_words(q, terms);

    if cardinality(strings) = 0 then
        return words;
    end if;

    parts := search_sets_strings(q, strings);

    return array(
        select case when p is null then w when w is null then p
                    else search_either(w, p) end
          from unnest(words) w
          full join unnest(parts) p
            on p.level = w.level and p.first = w.first);
end $$;


-- The terms of the strings that the whole query is a part of. One word is
-- looked for among the words of long strings instead of in these.

create or replace function search_strings(q log_query)
returns text[] language plpgsql stable set enable_seqscan = off as $$
declare
    pattern  constant text := '%' || regexp_replace(q.part, '([\\%_])',
                                                    '\\\1', 'g') || '%';
    other    constant smallint := case when words_of(q.part) = array[q.part]
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
         where s.guild_id = q.guild and s.bot = q.bot
           and s.string like pattern and s.kind in (0, other));
end $$;


-- Where each of the terms stands, in the segments of the window.

create or replace function search_pieces(q log_query, wanted text[])
returns setof search_piece language plpgsql stable as $$
begin
    return query
        select c.level, c.first, t.place::int, c.counts, c.marks, c.bits
          from unnest(wanted) with ordinality t (term, place)
         cross join generate_series(0, 2) l (level)
          join search_common c
            on c.guild_id = q.guild and c.bot = q.bot and c.level = l.level
           and c.bucket = search_bucket(l.level, t.term) and c.term = t.term
        union all
        select c.level, c.first, t.place::int, null,
               c.marks[coalesce(c.ends[a.at - 1], 0) + 1 : c.ends[a.at]], null
          from unnest(wanted) with ordinality t (term, place)
         cross join generate_series(0, 2) l (level)
          join search_term c
            on c.guild_id = q.guild and c.bot = q.bot and c.level = l.level
           and c.bucket = search_bucket(l.level, t.term)
         cross join lateral array_position(c.terms, t.term) a (at)
         where a.at is not null;
end $$;


-- The same for very many strings: reads all of them, and never one by one.

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
           and c.bucket >= 16 << 3 * c.level
        union all
        select c.level, c.first, 0, null, a.marks[u.start + 1 : u.stop], null
          from search_term c
         cross join lateral (   -- offset: unpacked once
               select c.marks || '{}'::int[] offset 0) a (marks)
         cross join lateral unnest(c.terms, c.ends, 0 || c.ends)
               u (term, stop, start)
          join unnest(wanted) t (term) on t.term = u.term
         where c.guild_id = q.guild and c.bot = q.bot
           and c.bucket >= 16 << 3 * c.level;
end $$;


create or replace function search_sets_words(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
declare
    it    search_set;
    sets  search_set[];
    seg   record;
begin
    if cardinality(terms) = 0 then
        return '{}';
    elsif cardinality(terms) = 1 then
        return array(
            select row(s.level, s.first, s.low, s.high, p.counts, p.marks,
                       p.bits)::search_set
              from search_pieces(q, terms) p
              join search_segment s
                on s.guild_id = q.guild and s.bot = q.bot
               and s.level = p.level and s.first = p.first
             where s.high >= q.low and s.low < q.high);
    end if;

    for seg in
        select s.level, s.first, s.low, s.high,
               array_agg(p order by cardinality(p.marks)) as pieces
          from search_pieces(q, terms) p
          join search_segment s
            on s.guild_id = q.guild and s.bot = q.bot
           and s.level = p.level and s.first = p.first
         where s.high >= q.low and s.low < q.high
         group by 1, 2, 3, 4
        having count(*) = cardinality(terms)
    loop
        it := search_all(seg.pieces);

        if it.bits is not null or cardinality(it.marks) > 0 then
            it.level := seg.level;
            it.first := seg.first;
            it.low := seg.low;
            it.high := seg.high;
            sets := sets || it;
        end if;
    end loop;

    return coalesce(sets, '{}');
end $$;


-- What is in all of the pieces, the shortest first and bits last.

create or replace function search_all(pieces search_piece[])
returns search_set language plpgsql stable as $$
declare
    it     search_set;
    piece  search_piece;
begin
    it.marks := pieces[1].marks;
    it.bits := pieces[1].bits;

    foreach piece in array pieces[2 :] loop
        if it.bits is not null then
            it.bits := it.bits & piece.bits;
        elsif piece.bits is not null then
            it.marks := search_within(it.marks, piece.bits, 1);
        else
            it.marks := search_both(it.marks, piece.marks);
        end if;

        exit when cardinality(it.marks) = 0;
    end loop;

    return it;
end $$;


-- The marks that are in both lists, of which the second is sorted.

create or replace function search_both(few int[], many int[])
returns int[] language plpgsql immutable as $$
declare
    sorted  constant int[] := many || '{}'::int[];   -- unpacked once
begin
    return array(select m from unnest(few) m
                  where sorted[width_bucket(m, sorted)] = m);
end $$;


-- The marks that are not in the list, which is sorted.

create or replace function search_without(few int[], many int[])
returns int[] language plpgsql immutable as $$
declare
    sorted  constant int[] := many || '{}'::int[];   -- unpacked once
begin
    return array(select m from unnest(few) m
                  where (sorted[width_bucket(m, sorted)] = m) is not true);
end $$;


-- The marks whose bit is that.

create or replace function search_within(marks int[], bits bit varying,
    value int)
returns int[] language plpgsql immutable as $$
declare
    plain  constant bit varying := bits || B'';   -- unpacked once
begin
    return array(select m from unnest(marks) m
                  where get_bit(plain, m >> 7) = value);
end $$;


create or replace function search_sets_strings(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
begin
    if cardinality(terms) > 500 then
        return search_sets_many(q, terms);
    end if;

    return array(
        select search_any(s.level, s.first, s.low, s.high, array_agg(p))
          from search_pieces(q, terms) p
          join search_segment s
            on s.guild_id = q.guild and s.bot = q.bot
           and s.level = p.level and s.first = p.first
         where s.high >= q.low and s.low < q.high
         group by s.level, s.first, s.low, s.high);
end $$;


-- Of very many strings: of a large segment the bits at once, 64 by 64.

create or replace function search_sets_many(q log_query, terms text[])
returns search_set[] language plpgsql stable as $$
begin
    return array(
        with piece as materialized (
            select s.level, s.first, s.low, s.high, p.marks, p.bits
              from search_pieces_strings(q, terms) p
              join search_segment s
                on s.guild_id = q.guild and s.bot = q.bot
               and s.level = p.level and s.first = p.first
             where s.high >= q.low and s.low < q.high
        ), word as (
            select p.first, m >> 13 as place,
                   bit_or(1::bigint << 63 - (m >> 7 & 63)) as bits
              from piece p, unnest(p.marks) m
             where p.level = 2
             group by 1, 2
        ), large as (
            select w.first, search_bits_of(array_agg(w.place),
                                           array_agg(w.bits)) as bits
              from word w group by w.first
        ), small as (
            select d.level, d.first, array_agg(d.m) as marks
              from (select distinct p.level, p.first, m
                      from piece p, unnest(p.marks) m
                     where p.level < 2) d
             group by 1, 2
        )
        select row(p.level, p.first, p.low, p.high, null, l.marks,
                   case when p.bits is null then b.bits
                        when b.bits is null then p.bits
                        else p.bits | b.bits end)::search_set
          from (select x.level, x.first, x.low, x.high,
                       bit_or(x.bits) as bits
                  from piece x group by 1, 2, 3, 4) p
          left join small l on l.level = p.level and l.first = p.first
          left join large b on p.level = 2 and b.first = p.first);
end $$;


-- What is in any of the pieces of a segment. One of them is likely to have
-- most of it, and knows its counts: to these those come that only others have.

create or replace function search_any(level smallint, first int, low bigint,
    high bigint, pieces search_piece[])
returns search_set language plpgsql stable as $$
declare
    it    search_set;
    most  search_piece;
begin
    select p.* into most from unnest(pieces) p
     order by bit_length(p.bits) desc nulls last, cardinality(p.marks) desc
     limit 1;

    it.level := level;
    it.first := first;
    it.low := low;
    it.high := high;
    it.counts := most.counts;
    it.marks := most.marks;
    it.bits := most.bits;

    if cardinality(pieces) > 1 and it.bits is not null then
        it.bits := (select bit_or(p.bits) from unnest(pieces) p);
        it.counts := case when it.bits = most.bits then it.counts end;
    end if;

    return search_with(it, array(
        select distinct m from unnest(pieces) p, unnest(p.marks) m
         where p.place <> most.place));
end $$;


-- The set, whose marks are sorted, and these marks.

create or replace function search_with(it search_set, marks int[])
returns search_set language plpgsql immutable as $$
declare
    more  int[] := marks;
begin
    if cardinality(more) > 0 and it.bits is not null then
        more := search_within(more, it.bits, 0);
    end if;

    if cardinality(more) > 0 and cardinality(it.marks) > 0 then
        more := search_without(more, it.marks);
    end if;

    if cardinality(more) > 0 then
        if it.bits is null then
            it.counts := coalesce(it.counts, search_counted(it.marks));
        end if;

        it.counts := case when it.counts is not null
                          then it.counts || search_counted(more) end;
        it.marks := it.marks || more;
    end if;

    return it;
end $$;


-- What is in one set or the other of the same segment.

create or replace function search_either(a search_set, b search_set)
returns search_set language plpgsql stable as $$
declare
    bits  bit varying;
begin
    if b.bits is not null and a.bits is null
       or a.bits is null and cardinality(b.marks) > cardinality(a.marks)
    then
        b.marks := array(select m from unnest(b.marks) m order by m);
        return search_either(b, a);
    elsif b.bits is not null then
        bits := a.bits | b.bits;

        if bits <> a.bits then
            a.counts := null;
            a.marks := search_within(a.marks, b.bits, 0);
            a.bits := bits;
        end if;
    end if;

    return search_with(a, b.marks);
end $$;


-- How many marks of each type: 128 times the number, and the type.

create or replace function search_counted(marks int[])
returns int[] language plpgsql immutable as $$
begin
    return array(select (count(*) * 128 + (m & 127))::int
                   from unnest(marks) m group by m & 127);
end $$;
