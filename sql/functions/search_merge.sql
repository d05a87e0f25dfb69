-- Merging sixteen segments of a level into one of the next: first what is where
-- in it, then bucket by bucket. What is made counts for nothing until the last
-- bucket is done: then the new segment takes the place of the old ones, whose
-- rows go bucket by bucket, too.


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
    elsif head.merge_level = 0 and head.runs % search_runs(2) = 0 then
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
-- entry from this id on, and strings that none of the others has. True if there
-- may be more.

create or replace function search_expire(oldest bigint)
returns boolean language plpgsql as $$
declare
    seg   record;
    gone  int := 0;
begin
    for seg in
        select s.guild_id, s.bot, s.level, s.first
          from search_segment s
          join search_head h on h.guild_id = s.guild_id and h.bot = s.bot
         where s.high < oldest and h.merge_level is null
         limit 20
           for update of h skip locked
    loop
        perform search_drop(seg.guild_id, seg.bot, seg.level, seg.first);
        gone := gone + 1;
    end loop;

    return gone = 20;
end $$;


create or replace function search_drop(guild bigint, bot smallint,
    level smallint, first int)
returns void language plpgsql as $$
declare
    oldest  int;
begin
    delete from search_segment s
     where s.guild_id = guild and s.bot = search_drop.bot
       and s.level = search_drop.level and s.first = search_drop.first;
    delete from search_place p
     where p.guild_id = guild and p.bot = search_drop.bot
       and p.level = search_drop.level and p.first = search_drop.first;
    delete from search_term t
     where t.guild_id = guild and t.bot = search_drop.bot
       and t.level = search_drop.level
       and t.bucket < search_buckets(search_drop.level)
       and t.first = search_drop.first;
    delete from search_common c
     where c.guild_id = guild and c.bot = search_drop.bot
       and c.level = search_drop.level
       and c.bucket < search_buckets(search_drop.level)
       and c.first = search_drop.first;

    oldest := (select min(s.first) from search_segment s
                where s.guild_id = guild and s.bot = search_drop.bot);
    delete from search_string s
     where s.guild_id = guild and s.bot = search_drop.bot
       and s.run + 4096 <= oldest;
end $$;
