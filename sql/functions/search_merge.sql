-- Merging sixteen segments of a level into one of the next, bucket by bucket.
-- What is made counts for nothing until the last bucket is done: then the new
-- segment takes the place of the old ones, whose rows go bucket by bucket, too.


-- Does one bucket.

create or replace function search_merge(head search_head)
returns void language plpgsql as $$
declare
    buckets  constant int := search_buckets(head.merge_level);
begin
    if head.merge_step < buckets then
        perform search_merge_bucket(head);
    elsif head.merge_step = buckets then
        perform search_merge_done(head);
    else
        perform search_merge_sweep(head);
    end if;

    if head.merge_step < 2 * buckets then
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


create or replace function search_merge_bucket(head search_head)
returns void language plpgsql as $$
declare
    last      constant int := head.merge_first
                              + search_runs(head.merge_level + 1) - 1;
    postings  search_posting[];
begin
    postings := array(
        select row(x.term, search_joined(x.marks order by x.first)
                   )::search_posting
          from (select u.term, t.first, a.marks[u.start + 1 : u.stop] as marks
                  from search_term t
                 cross join lateral (   -- offset: unpacked once
                       select t.marks || '{}'::int[] offset 0) a (marks)
                 cross join lateral unnest(t.terms, t.ends, 0 || t.ends)
                       u (term, stop, start)
                 where t.guild_id = head.guild_id and t.bot = head.bot
                   and t.level = head.merge_level
                   and t.bucket = head.merge_step
                   and t.first between head.merge_first and last
                   and u.term is not null
                union all
                select c.term, c.first, c.marks from search_common c
                 where c.guild_id = head.guild_id and c.bot = head.bot
                   and c.level = head.merge_level
                   and c.bucket = head.merge_step
                   and c.first between head.merge_first and last) x
         group by x.term);

    perform search_put(head.guild_id, head.bot,
                       (head.merge_level + 1)::smallint, head.merge_first,
                       postings);
end $$;


-- The new segment takes the place of the old ones.

create or replace function search_merge_done(head search_head)
returns void language plpgsql as $$
declare
    last  constant int := head.merge_first
                          + search_runs(head.merge_level + 1) - 1;
begin
    insert into search_segment (guild_id, bot, level, first, low, high, lows,
                                highs, categories)
    select head.guild_id, head.bot, head.merge_level + 1, head.merge_first,
           min(u.low), max(u.high), array_agg(u.low order by r.run),
           array_agg(u.high order by r.run),
           case when head.merge_level = 1 then search_categories(head)
                else '{}' end
      from generate_series(head.merge_first, last) r (run)
      left join (select s.first + p.place - 1 as run, p.low, p.high
                   from search_segment s
                  cross join lateral unnest(s.lows, s.highs)
                        with ordinality p (low, high, place)
                  where s.guild_id = head.guild_id and s.bot = head.bot
                    and s.level = head.merge_level
                    and s.first between head.merge_first and last) u
        on u.run = r.run
    having count(u.run) > 0;

    delete from search_segment s
     where s.guild_id = head.guild_id and s.bot = head.bot
       and s.level = head.merge_level
       and s.first between head.merge_first and last;
end $$;


create or replace function search_merge_sweep(head search_head)
returns void language plpgsql as $$
declare
    last    constant int := head.merge_first
                            + search_runs(head.merge_level + 1) - 1;
    swept   constant int := head.merge_step
                            - search_buckets(head.merge_level) - 1;
begin
    delete from search_term t
     where t.guild_id = head.guild_id and t.bot = head.bot
       and t.level = head.merge_level
       and t.bucket = swept
       and t.first between head.merge_first and last;

    delete from search_common c
     where c.guild_id = head.guild_id and c.bot = head.bot
       and c.level = head.merge_level
       and c.bucket = swept
       and c.first between head.merge_first and last;
end $$;


-- Each category's entries of what becomes a segment of level 2, in the order
-- of search_category_types().

create or replace function search_categories(head search_head)
returns bit varying[] language plpgsql stable as $$
declare
    marks  constant int[] := array(
        select search_mark(r.run, t.place::int - 1, t.type)
          from search_run r
         cross join lateral unnest(r.types) with ordinality t (type, place)
         where r.guild_id = head.guild_id and r.bot = head.bot
           and r.run between head.merge_first
                         and head.merge_first + search_runs(2) - 1);
begin
    return array(
        select search_bits(array(
                   select m from unnest(marks) m
                     join log_type t on t.id = m & 127
                    where t.category = c.category))
          from (select category, min(id) as id from log_type group by 1) c
         order by c.id);
end $$;


-- For each category its first type, which may stand for the others where only
-- categories count.

create or replace function search_category_types()
returns smallint[] language plpgsql stable as $$
begin
    return array(select min(t.id) from log_type t
                  group by t.category order by 1);
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
    delete from search_run r
     where r.guild_id = guild and r.bot = search_drop.bot
       and r.run >= search_drop.first
       and r.run < search_drop.first + search_runs(search_drop.level);
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
