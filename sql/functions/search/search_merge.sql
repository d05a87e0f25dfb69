-- Merging sixteen segments of a level into one of the next: first what is where
-- in it, then bucket by bucket. What is made counts for nothing until the last
-- bucket is done: then the new segment takes the place of the old ones, whose
-- rows go bucket by bucket, too.


-- Are the newest entries of the segments from that run on within 8 days? Others
-- are not merged: a segment is purged on each day on which some of its entries
-- expire, which takes 9 us an entry. A server has about 60 more then.

create or replace function search_close(head search_head, level int,
    first int)
returns boolean language plpgsql stable as $$
begin
    return (
        select id_time(max(s.high)) - id_time(min(s.high)) < 8 * 86400000
          from search_segment s
         where s.guild_id = head.guild_id and s.bot = head.bot
           and s.level = search_close.level
           and s.first >= search_close.first);
end $$;


-- Takes one step.

create or replace function search_merge(head search_head)
returns void language plpgsql as $$
declare
    buckets  constant int := search_buckets(head.merge_level);
    last     constant int := head.merge_first
                             + search_runs(head.merge_level + 1) - 1;
begin
    if head.merge_step = 0 then
        perform search_merge_places(head, last);
    elsif head.merge_step = 1 then
        perform search_merge_moves(head, last);
    elsif head.merge_step < buckets + 2 then
        perform search_merge_bucket(head, last, head.merge_step - 2);
    elsif head.merge_step = buckets + 2 then
        perform search_merge_done(head, last);
    else
        perform search_merge_sweep(head, last, head.merge_step - buckets - 3);
    end if;

    if head.merge_step < 2 * buckets + 2 then
        head.merge_step := head.merge_step + 1;
    elsif head.merge_level = 0 and head.runs % search_runs(2) = 0
          and search_close(head, 1, head.runs - search_runs(2))
    then
        head.merge_level := 1;
        head.merge_first := head.runs - search_runs(2);
        head.merge_step := 0;
    else
        head.merge_level := null;
    end if;

    update search_head s
       set merge_level = head.merge_level, merge_first = head.merge_first,
           merge_step = head.merge_step
     where s.guild_id = head.guild_id and s.bot = head.bot;
end $$;


-- The entries in the order that they will have.

create or replace function search_merge_places(head search_head, last int)
returns void language plpgsql as $$
begin
    insert into search_place (guild_id, bot, level, first, chunk, ids)
    select head.guild_id, head.bot, head.merge_level + 1, head.merge_first,
           e.place >> 8, array_agg(e.id order by e.place)
      from (select i.id, row_number() over (order by r.rank, i.id) - 1
                         as place
              from search_segment s
             cross join lateral (
                   select search_place_ids(s) offset 0) a (ids)
             cross join lateral unnest(s.types, s.ends, -32769 || s.ends)
                   t (type, stop, start)
             cross join lateral (
                   select category_place(t.type) << 7 | t.type offset 0)
                   r (rank)
             cross join lateral unnest(
                   a.ids[t.start + 32770 : t.stop + 32769]) i (id)
             where s.guild_id = head.guild_id and s.bot = head.bot
               and s.level = head.merge_level
               and s.first between head.merge_first and last
               and t.type is not null) e
     group by e.place >> 8;
end $$;


-- All ids of a segment, by their places.

create or replace function search_place_ids(g search_segment)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select unnest(c.ids)
          from (select p.ids from search_place p
                 where p.guild_id = g.guild_id and p.bot = g.bot
                   and p.level = g.level and p.first = g.first
                 order by p.chunk) c);
end $$;


-- Tells the segments where each of their entries will be.

create or replace function search_merge_moves(head search_head, last int)
returns void language plpgsql as $$
declare
    it   constant search_segment := search_merged(head, last);
    new  constant bigint[] := search_place_ids(it);
begin
    update search_segment s
       set places = array(
               select (n.start + width_bucket(i.id, n.ids))::smallint
                 from (select search_place_ids(s) offset 0) a (ids)
                cross join lateral unnest(s.types, s.ends, -32769 || s.ends)
                      with ordinality t (type, stop, start, n)
                cross join lateral (
                      select f.start,
                             new[f.start + 32770 : f.stop + 32769]
                        from unnest(it.types, it.ends, -32769 || it.ends)
                             f (type, stop, start)
                       where f.type = t.type
                      offset 0) n (start, ids)
                cross join lateral unnest(
                      a.ids[t.start + 32770 : t.stop + 32769])
                      with ordinality i (id, n)
                where t.type is not null
                order by t.n, i.n)
     where s.guild_id = head.guild_id and s.bot = head.bot
       and s.level = head.merge_level
       and s.first between head.merge_first and last;
end $$;


-- What they become.

create or replace function search_merged(head search_head, last int)
returns search_segment language plpgsql stable as $$
begin
    return search_segment_of(
        head, head.merge_level + 1, head.merge_first, array(
            select row(t.type, t.stop - t.start)::search_count
              from search_segment s
             cross join lateral unnest(s.types, s.ends, -32769 || s.ends)
                   t (type, stop, start)
             where s.guild_id = head.guild_id and s.bot = head.bot
               and s.level = head.merge_level
               and s.first between head.merge_first and last
               and t.type is not null));
end $$;


create or replace function search_merge_bucket(head search_head, last int,
    bucket int)
returns void language plpgsql as $$
begin
    perform search_put(search_merged(head, last), array(
        select row(x.term, search_sorted(array_agg(x.place)))::search_posting
          from (select u.term, a.places[m + 32769]::int as place
                  from search_segment s
                  join search_term t
                    on t.guild_id = s.guild_id and t.bot = s.bot
                   and t.level = s.level and t.first = s.first
                 cross join lateral (   -- offset: unpacked once
                       select t.marks || '{}'::smallint[],
                              s.places || '{}'::smallint[]
                       offset 0) a (marks, places)
                 cross join lateral unnest(t.terms, t.ends, 0 || t.ends)
                       u (term, stop, start)
                 cross join lateral unnest(a.marks[u.start + 1 : u.stop]) m
                 where s.guild_id = head.guild_id and s.bot = head.bot
                   and s.level = head.merge_level
                   and s.first between head.merge_first and last
                   and t.bucket = search_merge_bucket.bucket
                   and u.term is not null
                union all
                select c.term, a.places[m + 32769]
                  from search_segment s
                  join search_common c
                    on c.guild_id = s.guild_id and c.bot = s.bot
                   and c.level = s.level and c.first = s.first
                 cross join lateral (
                       select s.places || '{}'::smallint[] offset 0) a (places)
                 cross join lateral unnest(c.marks) m
                 where s.guild_id = head.guild_id and s.bot = head.bot
                   and s.level = head.merge_level
                   and s.first between head.merge_first and last
                   and c.bucket = search_merge_bucket.bucket) x
         group by x.term));
end $$;


-- The new segment takes the place of the old ones.

create or replace function search_merge_done(head search_head, last int)
returns void language plpgsql as $$
declare
    it  constant search_segment := search_merged(head, last);
begin
    delete from search_segment s
     where s.guild_id = head.guild_id and s.bot = head.bot
       and s.level = head.merge_level
       and s.first between head.merge_first and last;
    delete from search_place p
     where p.guild_id = head.guild_id and p.bot = head.bot
       and p.level = head.merge_level
       and p.first between head.merge_first and last;

    if it.types is not null then
        perform search_segment_add(it);
    end if;
end $$;


create or replace function search_merge_sweep(head search_head, last int,
    bucket int)
returns void language plpgsql as $$
begin
    delete from search_term t
     where t.guild_id = head.guild_id and t.bot = head.bot
       and t.level = head.merge_level
       and t.bucket = search_merge_sweep.bucket
       and t.first between head.merge_first and last;

    delete from search_common c
     where c.guild_id = head.guild_id and c.bot = head.bot
       and c.level = head.merge_level
       and c.bucket = search_merge_sweep.bucket
       and c.first between head.merge_first and last;
end $$;


-- Lets go of what is past keeping, a little at a time: segments without an
-- entry from this id on, of the others the terms that only older entries have,
-- then the strings that no segment has. True if there may be more. A merge
-- that is under way carries all of it on, and is waited for.

create or replace function search_expire(oldest bigint)
returns boolean language plpgsql as $$
declare
    until  constant timestamptz := clock_timestamp()
                                   + interval '50 milliseconds';
    seg    search_segment;
    head   search_head;
begin
    for seg in
        select s.*
          from search_segment s
          join search_head h on h.guild_id = s.guild_id and h.bot = s.bot
         where (s.high < oldest or s.low < oldest and s.purged < oldest)
           and h.merge_level is null
         limit 20
           for update of h skip locked
    loop
        if seg.high < oldest then
            perform search_drop(seg);
        else
            perform search_purge(seg, oldest);
        end if;

        update search_head h
           set stale = true
         where h.guild_id = seg.guild_id and h.bot = seg.bot;

        if clock_timestamp() > until then
            return true;
        end if;
    end loop;

    for head in
        select h.* from search_head h
         where h.stale and h.merge_level is null
           and not exists (
               select from search_segment s
                where s.guild_id = h.guild_id and s.bot = h.bot
                  and s.low < oldest and s.purged < oldest)
         limit 20
           for update skip locked
    loop
        perform search_strings_drop(head);

        if clock_timestamp() > until then
            return true;
        end if;
    end loop;

    return found;
end $$;


create or replace function search_drop(seg search_segment)
returns void language plpgsql as $$
begin
    delete from search_segment s
     where s.guild_id = seg.guild_id and s.bot = seg.bot
       and s.level = seg.level and s.first = seg.first;
    delete from search_place p
     where p.guild_id = seg.guild_id and p.bot = seg.bot
       and p.level = seg.level and p.first = seg.first;
    delete from search_term t
     where t.guild_id = seg.guild_id and t.bot = seg.bot
       and t.level = seg.level
       and t.bucket < search_buckets(seg.level)
       and t.first = seg.first;
    delete from search_common c
     where c.guild_id = seg.guild_id and c.bot = seg.bot
       and c.level = seg.level
       and c.bucket < search_buckets(seg.level)
       and c.first = seg.first;
end $$;


-- Takes the terms out of a segment that no entry from this id on has. Those of
-- each type that are older are the first of it: their places go up to "dead".
-- Their marks stay where a term does: no window reaches these entries.

create or replace function search_purge(seg search_segment, oldest bigint)
returns void language plpgsql set enable_seqscan = off as $$
declare
    dead  constant int[] := search_below(
        seg, oldest, -32769 || seg.ends[: cardinality(seg.ends) - 1],
        seg.ends);
    t     record;
begin
    delete from search_common c
     using generate_series(0, search_buckets(seg.level) - 1) b
     where c.guild_id = seg.guild_id and c.bot = seg.bot
       and c.level = seg.level and c.bucket = b and c.first = seg.first
       and not exists (
           select from unnest(dead, seg.ends) p (start, stop)
            where search_between(c.bits, c.marks::int[], p.start, p.stop) > 0);

    for t in
        select b.bucket, l.*
          from generate_series(0, search_buckets(seg.level) - 1) b (bucket)
          join search_term x
            on x.guild_id = seg.guild_id and x.bot = seg.bot
           and x.level = seg.level and x.bucket = b.bucket
           and x.first = seg.first
         cross join lateral search_term_living(x, seg.ends, dead) l
         where l.terms is not null
    loop
        update search_term x
           set terms = t.terms, ends = t.ends, marks = t.marks
         where x.guild_id = seg.guild_id and x.bot = seg.bot
           and x.level = seg.level and x.bucket = t.bucket
           and x.first = seg.first;
    end loop;

    update search_segment s
       set purged = oldest
     where s.guild_id = seg.guild_id and s.bot = seg.bot
       and s.level = seg.level and s.first = seg.first;
end $$;


-- What is left of a row of terms; null: all of it.

create or replace function search_term_living(t search_term, stops int[],
    dead int[], out terms text[], out ends int[], out marks smallint[])
language plpgsql immutable as $$
declare
    plain   constant smallint[] := t.marks || '{}'::smallint[];  -- unpacked
    living  constant int[] := array(
        select u.n::int
          from unnest(t.ends, 0 || t.ends) with ordinality u (stop, start, n)
         where u.stop is not null
           and exists (
               select from unnest(plain[u.start + 1 : u.stop]) m
                where m > dead[width_bucket(m - 1, stops) + 1])
         order by u.n);
begin
    if cardinality(living) = cardinality(t.ends) then
        return;
    end if;

    terms := array(select u.term
                     from unnest(t.terms) with ordinality u (term, n)
                     join unnest(living) l (n) on l.n = u.n
                    order by u.n);
    ends := search_ends(array(
        select t.ends[l.n] - coalesce(t.ends[l.n - 1], 0)
          from unnest(living) with ordinality l (n, place)
         order by l.place));
    marks := array(
        select m.mark
          from unnest(living) l (n)
         cross join lateral unnest(
               plain[coalesce(t.ends[l.n - 1], 0) + 1 : t.ends[l.n]])
               with ordinality m (mark, place)
         order by l.n, m.place);
end $$;


-- Forgets the strings that no segment has.

create or replace function search_strings_drop(head search_head)
returns void language plpgsql as $$
begin
    with used as materialized (
        select substr(u.term, 2)::int as number
          from search_term t
         cross join lateral unnest(t.terms) u (term)
         where t.guild_id = head.guild_id and t.bot = head.bot
           and left(u.term, 1) = '#'
        union
        select substr(c.term, 2)::int
          from search_common c
         where c.guild_id = head.guild_id and c.bot = head.bot
           and left(c.term, 1) = '#'
    )
    delete from search_string s
     where s.guild_id = head.guild_id and s.bot = head.bot
       and s.number not in (select u.number from used u);

    update search_head h
       set stale = false
     where h.guild_id = head.guild_id and h.bot = head.bot;
end $$;
