-- Making the index of searches. The keeper adds run after run, and merges
-- sixteen segments into one as soon as there are that many. Each of its turns
-- holds the (server, bot)'s row of search_head, so two never work on the same
-- one; readers and recording wait for none of it.

drop type if exists search_item, search_key, search_posting cascade;

-- what an entry is found by

create type search_item as (
    id     bigint,
    type   smallint,
    words  text[],
    parts  text[]
);

-- a part by a string that it is looked for by

create type search_key as (
    part    text,
    kind    smallint,
    string  text,
    number  int
);

create type search_posting as (
    term   text,
    marks  int[]
);


-- How many entries make a run, at most 256.

create or replace function search_run_size()
returns int language sql immutable as $$ select 256 $$;


-- A word as a term. What would not fit into a row of an index is told by its
-- hashes.

create or replace function search_term_of(word text)
returns text language sql immutable as $$
    select case when octet_length(word) <= 60 then word
           else '!' || md5(word) || md5(reverse(word)) end
$$;


create or replace function search_bucket(level int, term text)
returns smallint language sql immutable as $$
    select (case when left(term, 1) = '#'
            then (16 << 3 * level)
                 + (hashtext(term) & ((4 << 3 * level) - 1))
            else hashtext(term) & ((16 << 3 * level) - 1) end)::smallint
$$;


create or replace function search_buckets(level int)
returns int language sql immutable as $$
    select 20 << 3 * level
$$;


-- How many runs a segment of that level has.

create or replace function search_runs(level int)
returns int language sql immutable as $$
    select 1 << 4 * level
$$;


-- Works on the index for about so many ms; true if there is more to do. All it
-- reads it finds by indexes, however little the planner knows as yet.

create or replace function search_index(budget_ms int default 50)
returns boolean language plpgsql
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    until   constant timestamptz := clock_timestamp()
                                    + budget_ms * interval '1 ms';
    worked  boolean := false;
    head    record;
begin
    for head in
        select s.guild_id, s.bot
          from search_head s
          join log_head h on h.guild_id = s.guild_id and h.bot = s.bot
         where h.arrival - s.arrival >= search_run_size()
            or s.merge_level is not null
            or s.seen_at < now() - interval '12 hours'
         order by random()
    loop
        exit when clock_timestamp() > until;

        while search_work(head.guild_id, head.bot) loop
            worked := true;
            exit when clock_timestamp() > until;
        end loop;
    end loop;

    return worked;
end $$;


-- Gives an index to servers that have none but may read far back. Nothing of
-- them can be removed meanwhile: see search_hold().

create or replace function search_begin()
returns void language plpgsql as $$
begin
    insert into search_head (guild_id, bot)
    select h.guild_id, h.bot
      from (select h.guild_id, h.bot from log_head h
              join server s on s.guild_id = h.guild_id and s.plan = 'pro'
             where not exists (select from search_head x
                                where x.guild_id = h.guild_id
                                  and x.bot = h.bot)
               and h.arrival > 0
             limit 100) n
      join log_head h on h.guild_id = n.guild_id and h.bot = n.bot
       for update of h skip locked
    on conflict do nothing;
end $$;


-- Takes it from one server that may read no further back than an hour.

create or replace function search_end()
returns boolean language plpgsql as $$
declare
    head  record;
begin
    select s.guild_id, s.bot into head
      from search_head s
      join server v on v.guild_id = s.guild_id and v.plan <> 'pro'
     limit 1
       for update of s skip locked;

    if not found then
        return false;
    end if;

    perform search_forget(head.guild_id, head.bot);
    return true;
end $$;


-- Whoever is about to remove held entries waits for the run that is being
-- made. No run has an entry that may still be removed, so then none will.

create or replace function search_hold(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    perform from search_head s
      where s.guild_id = guild and s.bot = search_hold.bot for update;
end $$;


-- Forgets the index of a (server, bot), whose entries no longer are what they
-- were. It is made anew from what there is.

create or replace function search_forget(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    delete from search_head s
     where s.guild_id = guild and s.bot = search_forget.bot;
    delete from search_run r
     where r.guild_id = guild and r.bot = search_forget.bot;
    delete from search_segment s
     where s.guild_id = guild and s.bot = search_forget.bot;
    delete from search_term t
     where t.guild_id = guild and t.bot = search_forget.bot;
    delete from search_common c
     where c.guild_id = guild and c.bot = search_forget.bot;
    delete from search_string s
     where s.guild_id = guild and s.bot = search_forget.bot;
end $$;


-- One piece of work: some buckets merged, or a run made. False: there is
-- nothing to do.

create or replace function search_work(guild bigint, bot smallint)
returns boolean language plpgsql as $$
declare
    head  search_head;
begin
    select * into head from search_head s
     where s.guild_id = guild and s.bot = search_work.bot
       for update skip locked;

    if not found then
        return false;
    elsif head.merge_level is not null then
        perform search_merge(head);
        return true;
    else
        return search_extend(head);
    end if;
end $$;


-- The last arrival whose entry no request can remove any more.

create or replace function search_until(guild bigint, bot smallint)
returns bigint language plpgsql as $$
begin
    return (
        select least(h.arrival, (
                   select min(e.arrival) - 1
                     from held_entry x
                     join log_entry e
                       on e.guild_id = guild and e.bot = search_until.bot
                      and e.id = x.id
                    where x.guild_id = guild and x.bot = search_until.bot
                      and x.until > clock_timestamp() - interval '1 second'))
          from log_head h
         where h.guild_id = guild and h.bot = search_until.bot);
end $$;


-- Makes the next run. The events know what arrived in the last two days; what
-- came before is put in by id, in a round over all that there is.

create or replace function search_extend(head search_head)
returns boolean language plpgsql as $$
declare
    until  constant bigint := search_until(head.guild_id, head.bot);
    at     constant timestamptz := clock_timestamp();
    size   constant int := search_run_size();
    batch  log_event[];
begin
    if head.round_to is null and head.seen_at < at - interval '40 hours' then
        head.round_to := until;
        head.round_id := 0;
        head.seen_at := at;
    end if;

    if head.round_to is not null then
        perform search_round(head);
        return true;
    end if;

    batch := array(
        select k from log_event k
         where k.guild_id = head.guild_id and k.bot = head.bot
           and k.entry_id is not null
           and k.arrival > head.arrival and k.arrival <= until
           and k.recorded_at > head.seen_at - interval '1 hour'
         order by k.arrival limit size);

    if cardinality(batch) < size
       and not coalesce(batch[1].recorded_at < at - interval '12 hours',
                        false)
    then
        update search_head s
           set seen_at = coalesce(batch[1].recorded_at, at)
         where s.guild_id = head.guild_id and s.bot = head.bot
           and s.seen_at < at - interval '12 hours';
        return false;
    end if;

    head.arrival := batch[cardinality(batch)].arrival;
    head.seen_at := batch[cardinality(batch)].recorded_at;
    perform search_run_make(head, array(select k.entry_id
                                          from unnest(batch) k));
    return true;
end $$;


-- The next run of a round, of the entries between the two arrivals.

create or replace function search_round(head search_head)
returns void language plpgsql as $$
declare
    size   constant int := search_run_size();
    more   boolean := true;
    batch  bigint[];
begin
    batch := array(
        select w.id
          from (select e.id, e.arrival from log_entry e
                 where e.guild_id = head.guild_id and e.bot = head.bot
                   and e.id > head.round_id
                 order by e.id limit 4096) w
         where w.arrival > head.arrival and w.arrival <= head.round_to
         limit size);

    if cardinality(batch) = size then
        head.round_id := batch[size];
    else
        select max(w.id), count(*) = 4096 into head.round_id, more
          from (select e.id from log_entry e
                 where e.guild_id = head.guild_id and e.bot = head.bot
                   and e.id > head.round_id
                 order by e.id limit 4096) w;
    end if;

    if not more then
        head.arrival := head.round_to;
        head.round_to := null;
        head.round_id := null;
    end if;

    perform search_run_make(head, batch);
end $$;


-- Puts these entries into a run and the head as it is then.

create or replace function search_run_make(head search_head, batch bigint[])
returns void language plpgsql as $$
declare
    items  search_item[];
    keys   search_key[];
begin
    items := array(
        select row(e.id, e.type, words_of(entry_text(d.doc)),
                   entry_parts(d.doc))::search_item
          from log_entry e
         cross join lateral (   -- offset: read once, not by every function
               select (e.doc || '}')::jsonb offset 0) d (doc)
         where e.guild_id = head.guild_id and e.bot = head.bot
           and e.id = any (batch)
         order by e.id);

    if cardinality(items) > 0 then
        keys := search_keys(head, items);
        perform search_run_add(head, items, keys);
        head.runs := head.runs + 1;
        head.strings := greatest(head.strings, (select max(k.number)
                                                  from unnest(keys) k));

        if head.runs % search_runs(1) = 0 then
            head.merge_level := 0;
            head.merge_first := head.runs - search_runs(1);
            head.merge_step := 0;
        end if;
    end if;

    update search_head s
       set (arrival, round_to, round_id, seen_at, runs, strings,
            merge_level, merge_first, merge_step)
           = (head.arrival, head.round_to, head.round_id, head.seen_at,
              head.runs, head.strings, head.merge_level, head.merge_first,
              head.merge_step)
     where s.guild_id = head.guild_id and s.bot = head.bot;
end $$;


-- The strings that the entries' names, roles and reasons are looked for by,
-- each with its number. What is new gets one.

create or replace function search_keys(head search_head, items search_item[])
returns search_key[] language plpgsql as $$
declare
    keys  search_key[];
begin
    keys := array(
        select row(p.part, s.kind, s.string,
                   search_number(head.guild_id, head.bot, s.kind, s.string)
                   )::search_key
          from (select distinct p collate "C"
                  from unnest(items) i, unnest(i.parts) p
                 where p <> '') p (part)
         cross join lateral search_strings_of(fold(p.part)) s);

    update search_string s
       set run = head.runs
      from (select distinct k.number from unnest(keys) k) k
     where s.guild_id = head.guild_id and s.bot = head.bot
       and s.number = k.number and s.run <= head.runs - 4096;

    insert into search_string (guild_id, bot, number, run, kind, string)
    select head.guild_id, head.bot, head.strings + row_number() over (),
           head.runs, n.kind, n.string
      from (select distinct k.kind, k.string collate "C" as string
              from unnest(keys) k where k.number is null) n;

    return array(
        select row(k.part, k.kind, k.string, coalesce(k.number, search_number(
                       head.guild_id, head.bot, k.kind, k.string))
                   )::search_key
          from unnest(keys) k);
end $$;


-- A string as it is, and if it is a long one its words, too.

create or replace function search_strings_of(folded text,
    out kind smallint, out string text)
returns setof record language plpgsql immutable as $$
begin
    if length(folded) <= 24 then
        return query select 0::smallint, folded;
    else
        return query select 1::smallint, folded
                     union all
                     select 2::smallint, w from unnest(words_of(folded)) w;
    end if;
end $$;


create or replace function search_number(guild bigint, bot smallint,
    kind smallint, string text)
returns int language plpgsql stable as $$
begin
    return (select s.number from search_string s
             where s.guild_id = guild and s.bot = search_number.bot
               and s.kind = search_number.kind
               and hashtextextended(s.string, 0)
                   = hashtextextended(search_number.string, 0)
               and s.string = search_number.string);
end $$;


create or replace function search_run_add(head search_head,
    items search_item[], keys search_key[])
returns void language plpgsql as $$
declare
    low       bigint := items[1].id;
    high      bigint := items[cardinality(items)].id;
    postings  search_posting[];
begin
    insert into search_run (guild_id, bot, run, ids, types)
    select head.guild_id, head.bot, head.runs, array_agg(i.id order by i.id),
           array_agg(i.type order by i.id)
      from unnest(items) i;

    insert into search_segment (guild_id, bot, level, first, low, high, lows,
                                highs, categories)
    values (head.guild_id, head.bot, 0, head.runs, low, high, array[low],
            array[high], '{}');

    postings := array(
        select row(t.term, array_agg(t.mark order by t.mark))::search_posting
          from (select search_term_of(w) collate "C" as term,
                       ((i.ordinality - 1) * 128 + i.type)::int as mark
                  from unnest(items) with ordinality i, unnest(i.words) w
                union all
                select distinct '#' || k.number,
                       ((i.ordinality - 1) * 128 + i.type)::int
                  from unnest(items) with ordinality i, unnest(i.parts) p
                  join unnest(keys) k on k.part collate "C" = p) t
         group by t.term);

    perform search_put(head.guild_id, head.bot, 0::smallint, head.runs,
                       postings);
end $$;


-- Puts postings into a segment: rows of their own for those with many marks,
-- as bits where that takes less, and one for the others of each bucket.

create or replace function search_put(guild bigint, bot smallint,
    level smallint, first int, postings search_posting[])
returns void language plpgsql as $$
declare
    few  constant int := 16 << level;
begin
    insert into search_common (guild_id, bot, level, bucket, first, term,
                               counts, marks, bits)
    select guild, search_put.bot, search_put.level,
           search_bucket(search_put.level, p.term), search_put.first, p.term,
           array(select (count(*) * 128 + (m & 127))::int
                   from unnest(p.marks) m group by m & 127),
           case when not b.much then p.marks end,
           case when b.much then search_bits(p.marks) end
      from unnest(postings) p
     cross join lateral (
           select search_put.level = 2 and cardinality(p.marks) >= 2048)
           b (much)
     where cardinality(p.marks) >= few;

    insert into search_term (guild_id, bot, level, bucket, first, terms, ends,
                             marks)
    with posting as materialized (
        select b.bucket, p.term, p.marks,
               row_number() over (order by b.bucket, p.term collate "C")
                   as place,
               sum(cardinality(p.marks)) over (
                   partition by b.bucket order by p.term collate "C")::int
                   as stop
          from unnest(postings) p
         cross join lateral (
               select search_bucket(search_put.level, p.term) offset 0)
               b (bucket)
         where cardinality(p.marks) < few
    ), listed as (
        select p.bucket, array_agg(m order by p.place, m) as marks
          from posting p, unnest(p.marks) m
         group by p.bucket
    )
    select guild, search_put.bot, search_put.level, l.bucket,
           search_put.first, t.terms, t.ends, l.marks
      from (select p.bucket, array_agg(p.term order by p.place) as terms,
                   array_agg(p.stop order by p.place) as ends
              from posting p group by p.bucket) t
      join listed l on l.bucket = t.bucket;
end $$;


-- The addresses of these marks as bits of a segment of level 2.

create or replace function search_bits(marks int[])
returns bit varying language plpgsql immutable as $$
begin
    return (
        select search_bits_of(array_agg(w.place), array_agg(w.bits))
          from (select m >> 13 as place,
                       bit_or(1::bigint << 63 - (m >> 7 & 63)) as bits
                  from unnest(marks) m group by 1) w);
end $$;


-- The same of 64 bits at each of these places.

create or replace function search_bits_of(places int[], bits bigint[])
returns bit varying language plpgsql immutable as $$
begin
    return (
        select ('x' || string_agg(lpad(to_hex(coalesce(w.bits, 0)), 16, '0'),
                                  '' order by i))::bit varying
          from generate_series(0, 1023) i
          left join unnest(places, bits) w (place, bits) on w.place = i);
end $$;


-- The keeper's task. Undone: entries of servers that are to get a run.

create or replace function keeper_search(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    more := search_index(budget / 400);
    lag := coalesce((select sum(h.arrival - s.arrival)
                       from search_head s
                       join log_head h
                         on h.guild_id = s.guild_id and h.bot = s.bot
                      where h.arrival - s.arrival >= search_run_size()), 0);
end $$;


-- Servers that came to their index or lost it, and what is past keeping.
-- Undone: nothing that anybody would notice.

create or replace function keeper_searchable(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    perform search_begin();
    more := search_end()
            or search_expire(day_id((now() at time zone 'UTC')::date - 31));
    lag := 0;
end $$;
