-- Answering searches from the index: what its segments say, and a look at each
-- entry that is in none yet. All of it within one snapshot, so the answer is
-- that of a look at all entries.


-- The newest entries of a search below the position, at most so many, and how
-- many there are. asked: the types, where some were asked for.

create or replace function search_page(q log_query, asked smallint[],
    below bigint, most int, out counts log_count[], out ids bigint[])
language plpgsql stable as $$
declare
    head   search_head;
    types  constant smallint[] := q.types;
    sets   search_set[];
    tail   log_mark[];
    marks  log_mark[];
begin
    q.types := null;
    select * into head from search_head h
     where h.guild_id = q.guild and h.bot = q.bot;

    if head.runs > 0 then
        tail := search_tail(q, head);
        sets := search_sets(q);
    else
        q.types := asked;
        q.bare := true;
        tail := array(select row(f.id, f.type)::log_mark
                        from log_rows(q, q.high, null) f);
        sets := '{}';
    end if;

    if q.channel is null and q.member is null and q.role is null then
        counts := search_counts(q, sets, tail, asked, below);
        ids := search_newest(q, sets, tail, types, below, most);
    else
        marks := search_narrow(q, sets, tail, q.high);
        counts := log_counts_marked(marks, below);
        ids := log_ids_marked(marks, types, below, most);
    end if;
end $$;


-- The same without counting.

create or replace function search_ids(q log_query, below bigint, most int)
returns bigint[] language plpgsql stable as $$
declare
    head   search_head;
    types  constant smallint[] := q.types;
    sets   search_set[];
    tail   log_mark[];
begin
    select * into head from search_head h
     where h.guild_id = q.guild and h.bot = q.bot;

    if coalesce(head.runs, 0) = 0 then
        q.bare := true;
        return array(select f.id from log_rows(q, below, most) f);
    end if;

    q.types := null;
    q.high := least(q.high, below);
    tail := search_tail(q, head);
    sets := search_sets(q);

    if q.channel is null and q.member is null and q.role is null then
        return search_newest(q, sets, tail, types, below, most);
    end if;

    return log_ids_marked(search_narrow(q, sets, tail, below), types, below,
                          most);
end $$;


-- Looks at each entry that is in no run, whatever its type: at those that the
-- events say came later, and in a round at those that it has not come to.

create or replace function search_tail(q log_query, head search_head)
returns log_mark[] language plpgsql stable as $$
declare
    recent  bigint[];
    first   bigint;
    last    bigint;
    tail    log_mark[];
begin
    if head.seen_at < now() - interval '44 hours' then
        return array(
            select row(e.id, e.type)::log_mark from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.id >= q.low and e.id < q.high
               and e.arrival > head.arrival
               and (e.id > head.round_id or e.arrival > head.round_to
                    or head.round_to is null)
               and entry_has_member(e.executor_id, e.target_id, q)
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q));
    end if;

    recent := array(
        select k.entry_id from log_event k
         where k.guild_id = q.guild and k.bot = q.bot
           and k.entry_id is not null
           and k.entry_id >= q.low and k.entry_id < q.high
           and k.arrival > coalesce(head.round_to, head.arrival)
           and k.recorded_at > head.seen_at - interval '1 hour');
    select min(i), max(i) into first, last from unnest(recent) i;

    tail := array(   -- the bounds say which partitions have them
        select row(e.id, e.type)::log_mark
          from log_entry e
         where e.guild_id = q.guild and e.bot = q.bot
           and e.id = any (recent) and e.id >= first and e.id <= last
           and entry_has_member(e.executor_id, e.target_id, q)
           and entry_fits(e.type, e.channel_id, e.role, e.doc, q));

    if head.round_to is null then
        return tail;
    end if;

    return tail || array(
        select row(e.id, e.type)::log_mark from log_entry e
         where e.guild_id = q.guild and e.bot = q.bot
           and e.id >= greatest(q.low, head.round_id + 1) and e.id < q.high
           and e.arrival > head.arrival and e.arrival <= head.round_to
           and entry_has_member(e.executor_id, e.target_id, q)
           and entry_fits(e.type, e.channel_id, e.role, e.doc, q));
end $$;


-- How many entries of each type. The bits of a segment are counted by category
-- where that will do, each category by its first type.

create or replace function search_counts(q log_query, sets search_set[],
    tail log_mark[], asked smallint[], below bigint)
returns log_count[] language plpgsql stable as $$
declare
    it      search_set;
    counts  int[] := '{}';
    rest    int[] := '{}';
    part    int[];
begin
    foreach it in array sets loop
        part := search_set_counts(q, search_cut(q, it, q.low, q.high),
                                  asked is null);
        counts := counts || part;

        if it.high < below then
            rest := rest || part;
        elsif it.low < below then
            rest := rest
                    || search_set_counts(q, search_cut(q, it, q.low, below),
                                         asked is null);
        end if;
    end loop;

    return array(
        select row(n.type, sum(n.n), sum(n.rest))::log_count
          from (select (c & 127)::smallint as type, c >> 7 as n, 0 as rest
                  from unnest(counts) c
                union all
                select (c & 127)::smallint, 0, c >> 7 from unnest(rest) c
                union all
                select m.type, 1, (m.id < below)::int from unnest(tail) m) n
         group by n.type);
end $$;


create or replace function search_set_counts(q log_query, it search_set,
    by_category boolean)
returns int[] language plpgsql stable as $$
begin
    if it.counts is not null then
        return it.counts;
    elsif it.bits is null then
        return search_counted(it.marks);
    elsif by_category then
        return search_counted(it.marks) || array(
            select bit_count(it.bits & c.bits)::int * 128 + c.type
              from search_segment s
             cross join lateral unnest(s.categories, search_category_types())
                   c (bits, type)
             where s.guild_id = q.guild and s.bot = q.bot
               and s.level = it.level and s.first = it.first);
    else
        return search_counted(it.marks) || array(
            select (count(*) * 128 + e.type)::int
              from search_entries_bits(q, it, null) e
             group by e.type);
    end if;
end $$;


-- The part of a set with ids from low to below high: all of the runs that lie
-- inside, and one by one the entries of those that lie across.

create or replace function search_cut(q log_query, it search_set, low bigint,
    high bigint)
returns search_set language plpgsql stable as $$
declare
    inside  boolean[];  -- null: across
begin
    if it.low >= low and it.high < high then
        return it;
    end if;

    inside := (
        select array_agg(case when r.low >= search_cut.low
                                   and r.high < search_cut.high then true
                              when r.high >= search_cut.low
                                   and r.low < search_cut.high then null
                              else false end order by r.place)
          from search_segment s
         cross join lateral unnest(s.lows, s.highs) with ordinality
               r (low, high, place)
         where s.guild_id = q.guild and s.bot = q.bot
           and s.level = it.level and s.first = it.first);

    it.counts := null;
    it.marks := array(
        select m from unnest(it.marks) m
         where inside[(m >> 15) - (it.first & 255) + 1]
        union all
        select e.mark
          from search_entries(q, it, array(
                   select (it.first & 255) + r.place::int - 1
                     from unnest(inside) with ordinality r (inside, place)
                    where r.inside is null)) e
         where e.id >= low and e.id < high);
    it.bits := it.bits & (
        select ('x' || string_agg(repeat(case when r.inside then 'f'
                                              else '0' end, 64), ''
                                  order by r.place))::bit varying
          from unnest(inside) with ordinality r (inside, place)
         where it.bits is not null);

    return it;
end $$;


-- The entries of a set that are in these runs of its segment (null: all).

create or replace function search_entries(q log_query, it search_set,
    runs int[], out id bigint, out type smallint, out mark int)
returns setof record language plpgsql stable as $$
begin
    return query
        select r.ids[(m >> 7 & 255) + 1], (m & 127)::smallint, m
          from (select m >> 15 as run, array_agg(m) as marks
                  from unnest(it.marks) m
                 where runs is null or m >> 15 = any (runs)
                 group by m >> 15) g
          join search_run r
            on r.guild_id = q.guild and r.bot = q.bot
           and r.run = (it.first & ~255) + g.run
         cross join lateral unnest(g.marks) m;

    if it.bits is not null then
        return query select * from search_entries_bits(q, it, runs);
    end if;
end $$;


create or replace function search_entries_bits(q log_query, it search_set,
    runs int[], out id bigint, out type smallint, out mark int)
returns setof record language plpgsql stable as $$
declare
    plain  constant bit varying := it.bits || B'';   -- unpacked once
begin
    return query
        select e.ids[p.place], e.types[p.place],
               search_mark(g.run, p.place - 1, e.types[p.place])
          from unnest(coalesce(runs, array(select generate_series(0, 255))))
               g (run)
         cross join lateral (
               select substring(plain from g.run * 256 + 1 for 256)) b (bits)
          join search_run r
            on r.guild_id = q.guild and r.bot = q.bot
           and r.run = (it.first & ~255) + g.run
         cross join lateral (   -- offset: unpacked once
               select r.ids || '{}'::bigint[], r.types || '{}'::smallint[]
               offset 0) e (ids, types)
         cross join lateral (   -- a bit that is set ends each run of others
               select sum(length(z.zeros) + 1) over (order by z.n)::int, z.n
                 from string_to_table(b.bits::text, '1') with ordinality
                      z (zeros, n)) p (place, n)
         where p.n <= bit_count(b.bits);
end $$;


-- The newest entries, at most so many, of these types. The sets are taken in
-- the order of their highest ids, until none of the rest can have a newer one.

create or replace function search_newest(q log_query, sets search_set[],
    tail log_mark[], types smallint[], below bigint, most int)
returns bigint[] language plpgsql stable as $$
declare
    ids  bigint[];
    it   search_set;
begin
    ids := array(
        select m.id from unnest(tail) m
         where m.id < below and (types is null or m.type = any (types))
         order by m.id desc limit most);

    for it in
        select * from unnest(sets) s where s.low < below order by s.high desc
    loop
        exit when ids[most] > it.high;

        ids := array(
            select i.id
              from (select unnest(ids) as id
                    union all
                    select unnest(search_set_newest(q, it, types, below,
                                                    most))) i
             order by i.id desc limit most);
    end loop;

    return ids;
end $$;


-- The same of one set. It looks into the runs with the highest ids, as many as
-- surely have enough, and into those that reach above the lowest id of these.
-- Of bits the types are not known before; then as many as should have enough
-- are tried first.

create or replace function search_set_newest(q log_query, it search_set,
    types smallint[], below bigint, most int)
returns bigint[] language plpgsql stable as $$
declare
    runs  int[];
    ids   bigint[];
begin
    if types is null or it.bits is null then
        it.marks := array(select m from unnest(it.marks) m
                           where types is null or m & 127 = any (types));
        runs := search_runs_newest(q, it, below, most);
        return search_runs_ids(q, it, runs, types, below, most);
    end if;

    runs := search_runs_newest(q, it, below, most * 16);
    ids := search_runs_ids(q, it, runs, types, below, most);

    if ids[most] is null or ids[most] < (
           select max(h.high)
             from search_segment s
            cross join lateral unnest(s.highs) with ordinality h (high, place)
            where s.guild_id = q.guild and s.bot = q.bot
              and s.level = it.level and s.first = it.first
              and h.place - 1 <> all (runs))
    then
        return search_runs_ids(q, it, null, types, below, most);
    end if;

    return ids;
end $$;


create or replace function search_runs_ids(q log_query, it search_set,
    runs int[], types smallint[], below bigint, most int)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select e.id from search_entries(q, it, runs) e
         where e.id >= q.low and e.id < below
           and (types is null or e.type = any (types))
         order by e.id desc limit most);
end $$;


create or replace function search_runs_newest(q log_query, it search_set,
    below bigint, most int)
returns int[] language plpgsql stable as $$
declare
    plain  constant bit varying := it.bits || B'';   -- unpacked once
begin
    if it.bits is null and cardinality(it.marks) <= most then
        return null;
    end if;

    return (
        with run as (
            select (it.first & 255) + r.place::int - 1 as run, r.low, r.high
              from search_segment s
             cross join lateral unnest(s.lows, s.highs) with ordinality
                   r (low, high, place)
             where s.guild_id = q.guild and s.bot = q.bot
               and s.level = it.level and s.first = it.first
               and r.high >= q.low and r.low < below
        ), found as (
            select r.run, r.low, r.high,
                   case when r.low >= q.low and r.high < below
                        then coalesce(m.n, 0) + coalesce(bit_count(substring(
                             plain from r.run * 256 + 1 for 256)), 0)
                        else 0 end as sure,
                   m.n > 0 or it.bits is not null as has
              from run r
              left join (select m >> 15 as run, count(*) as n
                           from unnest(it.marks) m group by 1) m
                on m.run = r.run
        ), summed as (
            select f.*, sum(f.sure) over (order by f.high desc, f.run
                   rows between unbounded preceding and 1 preceding) as before
              from found f
        )
        select array_agg(s.run)
          from summed s
         where s.has
           and s.high >= (select min(f.low) from summed f
                           where coalesce(f.before, 0) < most));
end $$;


-- All entries of the sets and the tail that the other filters let through, the
-- newest first.

create or replace function search_narrow(q log_query, sets search_set[],
    tail log_mark[], below bigint)
returns log_mark[] language plpgsql stable as $$
begin
    q.part := null;
    q.bare := true;

    return array(
        select row(m.id, m.type)::log_mark
          from (select e.id, e.type
                  from unnest(sets) s
                 cross join lateral search_entries(
                       q, search_cut(q, s, q.low, below), null) e
                  join log_rows(q, below, null) f on f.id = e.id
                union all
                select t.id, t.type from unnest(tail) t) m
         order by m.id desc);
end $$;
