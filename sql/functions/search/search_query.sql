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
begin
    q.types := null;
    select * into head from search_head h
     where h.guild_id = q.guild and h.bot = q.bot;

    if search_serves(head) and (q.part is not null or search_is_heavy(q)) then
        tail := search_tail(q, head);
        sets := search_sets(q);
    else
        q.types := asked;
        q.bare := true;
        tail := array(select row(f.id, f.type)::log_mark
                        from log_rows(q, q.high, null) f);
        sets := '{}';
    end if;

    counts := search_counts(q, sets, tail, asked, below);
    ids := search_newest(q, sets, tail, types, below, most);
end $$;


-- Is there an index that this server can read?

create or replace function search_serves(head search_head)
returns boolean language plpgsql stable as $$
begin
    return coalesce(head.runs > 0 and (head.version is null
                                       or head.version = search_version()),
                    false);
end $$;


-- Has what log_rows() would walk along so many entries that to look them up in
-- the index costs less?

create or replace function search_is_heavy(q log_query)
returns boolean language plpgsql stable as $$
begin
    return exists (
        select from log_key k
         where k.guild_id = q.guild and k.bot = q.bot and k.heavy
           and (k.kind in (2, 3) and k.key = q.member
                or k.kind = 1 and k.key = q.channel and q.member is null));
end $$;


-- The ids of a search without counting.

create or replace function search_ids(q log_query, below bigint, most int)
returns bigint[] language plpgsql stable as $$
declare
    head   search_head;
    types  constant smallint[] := q.types;
    tail   log_mark[];
begin
    select * into head from search_head h
     where h.guild_id = q.guild and h.bot = q.bot;

    if not search_serves(head) then
        q.bare := true;
        return array(select f.id from log_rows(q, below, most) f);
    end if;

    q.types := null;
    q.high := least(q.high, below);
    tail := search_tail(q, head);
    return search_newest(q, search_sets(q), tail, types, below, most);
end $$;


-- Looks at each entry that is in no run, whatever its type: at those that the
-- events say came later, and in a round at those that it has not come to.

create or replace function search_tail(q log_query, head search_head)
returns log_mark[] language plpgsql stable as $$
declare
    recent  bigint[];
    part    bigint[];
    tail    log_mark[] := '{}';
begin
    if not search_seen(head.seen_at, '44 hours') then
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
         order by 1);

    -- a hundred at a time, for some plans go through an array for each entry;
    -- the bounds say which partitions have them

    for i in 1 .. cardinality(recent) by 100 loop
        part := recent[i : i + 99];
        tail := tail || array(
            select row(e.id, e.type)::log_mark
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.id = any (part)
               and e.id >= part[1] and e.id <= part[cardinality(part)]
               and entry_has_member(e.executor_id, e.target_id, q)
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q));
    end loop;

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


-- The newest entries, at most so many, of these types. The sets are taken in
-- the order of their highest ids, as many at a time as should have enough,
-- until none of the rest can have a newer one.

create or replace function search_newest(q log_query, sets search_set[],
    tail log_mark[], types smallint[], below bigint, most int)
returns bigint[] language plpgsql stable as $$
declare
    ids    bigint[] := '{}';
    batch  search_set[] := '{}';
    n      bigint := 0;
    c      int;
    it     search_set;
begin
    if cardinality(tail) > 0 then
        ids := array(
            select m.id from unnest(tail) m
             where m.id < below and (types is null or m.type = any (types))
             order by m.id desc limit most);
    end if;

    for it in
        select s.* from unnest(sets) s where s.low < below order by s.high desc
    loop
        exit when ids[most] > it.high;
        batch := batch || it;

        if it.counts is null then
            n := n + search_size(it.bits, it.marks);
        else
            foreach c in array it.counts loop
                n := n + (c >> 7);
            end loop;
        end if;

        if n >= most then
            ids := search_newer(q, ids, batch, types, below, most);
            batch := '{}';
            n := 0;
        end if;
    end loop;

    return search_newer(q, ids, batch, types, below, most);
end $$;


-- How many entries a set has that was read.

create or replace function search_size(bits bit varying, marks int[])
returns bigint language sql immutable as $$
    select coalesce(bit_count(bits), 0) + coalesce(cardinality(marks), 0)
$$;


-- The newest of these ids and of what is in the sets. Of a set that has many
-- all places from the first to the last are read once, and told apart by a
-- hash.

create or replace function search_newer(q log_query, ids bigint[],
    sets search_set[], types smallint[], below bigint, most int)
returns bigint[] language plpgsql stable set enable_nestloop = off as $$
begin
    if cardinality(sets) = 0 then
        return ids;
    end if;

    return array(
        select i.id
          from unnest(sets) s
         cross join lateral search_latest(q, s, types, below, most) l (marks)
         cross join lateral (   -- offset: each looked for, or all together
               select p.ids[(m & 255) + 1]
                 from unnest(l.marks) m
                cross join lateral (
                      select x.ids from search_place x
                       where x.guild_id = q.guild and x.bot = q.bot
                         and x.level = s.level and x.first = s.first
                         and x.chunk = m + 32768 >> 8
                      offset 0) p
                where cardinality(l.marks) < 48
                union all
               select p.ids[(m & 255) + 1]
                 from unnest(l.marks) m
                 join (select x.chunk, x.ids from search_place x
                        where x.guild_id = q.guild and x.bot = q.bot
                          and x.level = s.level and x.first = s.first
                          and x.chunk between l.marks[1] + 32768 >> 8
                              and l.marks[cardinality(l.marks)] + 32768 >> 8
                       offset 0) p on p.chunk = m + 32768 >> 8
                where cardinality(l.marks) >= 48) i (id)
         where i.id >= q.low and i.id < below
         union all
        select unnest(ids)
         order by 1 desc limit most);
end $$;


-- Marks of a set, sorted, among which those with the newest entries are: for
-- each type as many as are asked for.

create or replace function search_latest(q log_query, it search_set,
    types smallint[], below bigint, most int)
returns int[] language plpgsql stable as $$
declare
    g       search_segment;
    starts  int[];
    stops   int[];
begin
    it := search_read(q, it);

    -- as few are looked up sooner than told apart

    if it.bits is null and types is null and cardinality(it.marks) <= 512
    then
        return it.marks;
    end if;

    select * into g from search_segment s
     where s.guild_id = q.guild and s.bot = q.bot
       and s.level = it.level and s.first = it.first;
    select p.starts, p.stops into starts, stops
      from search_parts(g, it.bits, it.marks, types) p;
    stops := search_below(g, below, starts, stops);

    return search_sorted(
        search_upmost(array(
            select unnest(it.marks[greatest(r.start, r.stop - most) + 1
                                   : r.stop])
              from (select width_bucket(t.start, it.marks) as start,
                           width_bucket(t.stop, it.marks) as stop
                      from unnest(starts, stops) t (start, stop)) r), g, most)
        || search_latest_bits(it.bits, g, starts, stops, most));
end $$;


-- Of these marks those in the chunks that reach as far up as the ones that
-- surely have enough.

create or replace function search_upmost(marks int[], g search_segment,
    most int)
returns int[] language plpgsql immutable as $$
declare
    lows   constant bigint[] := g.lows || '{}'::bigint[];   -- unpacked once
    highs  constant bigint[] := g.highs || '{}'::bigint[];
begin
    if cardinality(marks) <= most then
        return marks;
    end if;

    return array(
        select m from unnest(marks) m
         where highs[(m + 32768 >> 8) + 1] >= (
                   select lows[(u + 32768 >> 8) + 1] as low
                     from unnest(marks) u
                    order by low desc
                   offset most - 1 limit 1));
end $$;


-- The same of bits, of which none need be told apart before.

create or replace function search_latest_bits(bits bit varying,
    g search_segment, starts int[], stops int[], most int)
returns int[] language plpgsql immutable as $$
declare
    plain  constant bit varying := bits || B'';   -- unpacked once
    lows   constant bigint[] := g.lows || '{}'::bigint[];
    highs  constant bigint[] := g.highs || '{}'::bigint[];
begin
    if bits is null then
        return '{}';
    end if;

    return array(
        with part as (
            select lows[c + 1] as low, highs[c + 1] as high, a.first,
                   substring(plain from a.first + 1 for a.n) as bits
              from unnest(starts, stops) t (start, stop)
             cross join lateral generate_series(t.start + 32769 >> 8,
                                                t.stop + 32768 >> 8) c
             cross join lateral (
                   select greatest(t.start + 32769, c << 8),
                          least(t.stop + 32768, c << 8 | 255)) p (first, last)
             cross join lateral (
                   select p.first, p.last - p.first + 1) a (first, n)
             where t.stop > t.start
            offset 0
        ), counted as materialized (
            select p.*, bit_count(p.bits) as n from part p
             where bit_count(p.bits) > 0
        ), summed as (
            select c.*, sum(c.n) over (order by c.low desc) as sum
              from counted c
        )
        select b.first - 32769 + sum(length(z.zeros) + 1) over (
                   partition by b.first order by z.n)::int
          from counted b
         cross join lateral string_to_table(b.bits::text, '1')
               with ordinality z (zeros, n)
         where b.high >= coalesce((select max(s.low) from summed s
                                    where s.sum >= most), b.high)
           and z.n <= b.n);
end $$;
