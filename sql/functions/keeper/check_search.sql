-- Comparing the index of searches with the entries.


create or replace function check_search(guild bigint, bot smallint,
    low bigint)
returns setof difference language plpgsql stable set work_mem = '64MB' as $$
declare
    head  search_head;
begin
    select * into head from search_head s
     where s.guild_id = guild and s.bot = check_search.bot
       and not s.leaving and s.runs > 0;

    if not found then
        return;
    end if;

    return query select * from check_search_entries(head, low);
    return query
        select d.*
          from search_segment s
         cross join lateral check_segment(head, s,
                                           check_search.low) d
         where s.guild_id = guild and s.bot = check_search.bot
           and s.high >= check_search.low
         order by s.level, s.first;
    return query
        select 'search_string', format('"%s", kind %s', s.string, s.kind),
               'one row', count(*) || ' rows'
          from search_string s
         where s.guild_id = guild and s.bot = check_search.bot
         group by s.kind, s.string having count(*) > 1;
end $$;


-- Each entry is in one segment, or in none and found by its event.

create or replace function check_search_entries(head search_head, low bigint)
returns setof difference language plpgsql stable as $$
begin
    return query
        with indexed as (
            select i.id, count(*) as n
              from search_segment s
              join search_place p
                on p.guild_id = s.guild_id and p.bot = s.bot
               and p.level = s.level and p.first = s.first
             cross join lateral unnest(p.ids) i (id)
             where s.guild_id = head.guild_id and s.bot = head.bot
               and s.high >= check_search_entries.low
               and i.id >= check_search_entries.low
             group by i.id
        ), entry as (
            select e.id,
                   e.arrival <= head.arrival
                   or coalesce(e.arrival <= head.round_to
                               and e.id <= head.round_id, false) as done,
                   e.arrival > coalesce(head.round_to, head.arrival) as tail,
                   e.arrival
              from log_entry e
             where e.guild_id = head.guild_id and e.bot = head.bot
               and e.id >= check_search_entries.low
        )
        select 'search_place', 'entry ' || coalesce(e.id, i.id),
               case when e.done then 'in one segment' else 'in no segment' end,
               'in ' || coalesce(i.n, 0)
          from entry e
          full join indexed i on i.id = e.id
         where coalesce(i.n, 0) <> coalesce(e.done, false)::int
         union all
        select 'log_event', 'entry ' || e.id, 'an event', 'none'
          from entry e
         where e.tail and search_seen(head.seen_at, '44 hours')
           and not exists (
               select from log_event k
                where k.guild_id = head.guild_id and k.bot = head.bot
                  and k.arrival = e.arrival and k.entry_id = e.id)
         order by 2;
end $$;


-- What the entries of a segment are found by, and what it says. The numbers of
-- strings are told as these strings, "#" and the kind before them.

create or replace function check_segment(head search_head, seg search_segment,
    low bigint)
returns setof difference language plpgsql stable set work_mem = '64MB' as $$
declare
    ids   constant bigint[] := search_place_ids(seg);
    kept  constant bigint[] := array(select i from unnest(ids) i
                                      where i >= low);
begin
    return query
        with wanted as (
            select distinct w.term, i.id
              from generate_series(1, cardinality(kept), 30) n
             cross join lateral search_items(head, kept[n : n + 29]) b
             cross join lateral unnest(b.items) i
             cross join lateral (
                   select search_term_of(w) from unnest(words_of(i.words)) w
                    union all
                   select format('#%s %s', s.kind, s.string)
                     from unnest(i.parts) p
                    cross join lateral search_strings_of(fold(p)) s
                    where p <> ''
                    union all
                   select unnest(i.terms)) w (term)
        ), said as (
            select case when left(p.term, 1) <> '#' then p.term
                        when s.number is null then p.term || ', no string'
                        else format('#%s %s', s.kind, s.string) end as term,
                   ids[p.mark + 32769] as id
              from segment_postings(seg) p
              left join search_string s
                on s.guild_id = head.guild_id and s.bot = head.bot
               and s.number = case when left(p.term, 1) = '#'
                                   then substr(p.term, 2)::int end
             where ids[p.mark + 32769] >= low
        )
        select 'search_term', format('segment %s of level %s, term "%s"',
                                     seg.first, seg.level,
                                     coalesce(w.term, s.term)),
               count(w.id) filter (where s.id is null) || ' entries more',
               count(s.id) filter (where w.id is null) || ' too many'
          from wanted w
          full join said s on s.term = w.term and s.id = w.id
         where w.id is null or s.id is null
         group by coalesce(w.term, s.term)
         order by 2;
    return query
        select 'search_common', format('segment %s of level %s, term "%s"',
                                       seg.first, seg.level, c.term),
               m.n || ' entries', w.n || ' counted'
          from search_common c
         cross join lateral (
               select search_size(c.bits, c.marks::int[])) m (n)
         cross join lateral (
               select coalesce(sum(x >> 7), 0) from unnest(c.counts) x) w (n)
         where c.guild_id = seg.guild_id and c.bot = seg.bot
           and c.level = seg.level and c.first = seg.first
           and m.n <> w.n
         order by 2;
end $$;


-- The terms of a segment, with each of their marks.

create or replace function segment_postings(seg search_segment, out term text,
    out mark int)
returns setof record language plpgsql stable as $$
begin
    return query
        select u.term, m::int
          from search_term t
         cross join lateral (
               select t.marks || '{}'::smallint[] offset 0) a (marks)
         cross join lateral unnest(t.terms, t.ends, 0 || t.ends)
               u (term, stop, start)
         cross join lateral unnest(a.marks[u.start + 1 : u.stop]) m
         where t.guild_id = seg.guild_id and t.bot = seg.bot
           and t.level = seg.level and t.first = seg.first
           and u.term is not null;
    return query
        select c.term, m::int
          from search_common c
         cross join lateral unnest(c.marks) m
         where c.guild_id = seg.guild_id and c.bot = seg.bot
           and c.level = seg.level and c.first = seg.first;
    return query
        select c.term, z.place::int - 32769
          from search_common c
         cross join lateral string_to_table(c.bits::text, null)
               with ordinality z (bit, place)
         where c.guild_id = seg.guild_id and c.bot = seg.bot
           and c.level = seg.level and c.first = seg.first
           and z.bit = '1';
end $$;
