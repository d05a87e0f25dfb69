-- Making the index of searches. The keeper adds run after run, and merges
-- sixteen segments into one as soon as there are that many. Each of its turns
-- holds the (server, bot)'s row of search_head, so two never work on the same
-- one; readers and recording wait for none of it.

drop type if exists search_item, search_key, search_posting cascade;

-- what an entry is found by

create type search_item as (
    id     bigint,
    type   smallint,
    mark   int,
    words  text,     -- the texts that words are looked for in, folded
    parts  text[]    -- what parts are looked for in
);

create type search_posting as (
    term   text,
    marks  int[]
);

-- a name and the number of a string that it is looked for by

create type search_key as (
    name    text,
    number  int
);


-- One array of many, in the order in which they come.

create aggregate search_joined(int[]) (
    sfunc = array_cat, stype = int[], initcond = '{}'
);


-- How many entries make a run, at most 256.

create or replace function search_run_size()
returns int language sql immutable as $$ select 256 $$;


-- From how many marks on they are bits in a segment of level 2.

create or replace function search_bits_from()
returns int language sql immutable as $$ select 512 $$;


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
set enable_seqscan = off set enable_bitmapscan = off
set work_mem = '32MB' as $$
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
        exit when worked and clock_timestamp() > until;

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
    items  constant search_item[] := search_items(head, batch);
    names  search_posting[];
    keys   search_key[];
begin
    if cardinality(items) > 0 then
        names := search_names(items);
        keys := search_keys(head, names);
        perform search_run_add(head, items, search_postings_words(items)
                               || search_postings_names(names, keys));
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


-- The bounds say which partitions have them.

create or replace function search_items(head search_head, batch bigint[])
returns search_item[] language plpgsql stable as $$
declare
    low   constant bigint := (select min(i) from unnest(batch) i);
    high  constant bigint := (select max(i) from unnest(batch) i);
begin
    return array(
        select row(e.id, e.type,
                   search_mark(head.runs, row_number() over (order by e.id)
                               ::int - 1, e.type),
                   fold(entry_text(d.content, d."contentAfter", d.messages)),
                   array[d.executor ->> 'name', d.target ->> 'name',
                         d.channel ->> 'name', d.role, d.name, d.reason]
                   )::search_item
          from log_entry e
         cross join lateral json_to_record((e.doc || '}')::json) d (
                   content text, "contentAfter" text, messages json,
                   executor json, target json, channel json, role text,
                   name text, reason text)
         where e.guild_id = head.guild_id and e.bot = head.bot
           and e.id = any (batch) and e.id >= low and e.id <= high
         order by e.id);
end $$;


-- Runs have their place in a segment of level 2 before there is one.

create or replace function search_mark(run int, place int, type smallint)
returns int language sql immutable as $$
    select ((run & 255) << 15) + (place << 7) + type
$$;


-- The words of the entries. What stands between blanks mostly is one; what is
-- not is taken apart once, however often it occurs.

create or replace function search_postings_words(items search_item[])
returns search_posting[] language plpgsql immutable as $$
begin
    return array(
        with chunk as materialized (
            select c.chunk collate "C" as chunk, array_agg(i.mark) as marks,
                   (c.chunk collate "C") ~ '^[a-z0-9]+$' as plain
              from unnest(items) i
             cross join lateral unnest(search_chunks(i.words)) c (chunk)
             group by 1
        ), word as (
            select c.chunk as word, c.marks from chunk c where c.plain
            union all
            select w, c.marks from chunk c
             cross join lateral unnest(words_of(c.chunk)) w
             where not c.plain
        )
        select row(search_term_of(w.word),
                   case when count(*) = 1 then min(w.marks)
                        else search_sorted(search_joined(w.marks)) end
                   )::search_posting
          from word w group by w.word);
end $$;


-- What stands between blanks, each once. To sort them as lexemes is fast, but
-- those must not be long.

create or replace function search_chunks(words text)
returns text[] language plpgsql immutable as $$
begin
    if octet_length(words) < 2000 then
        return tsvector_to_array(array_to_tsvector(
                   array_remove(string_to_array(words, ' '), '')));
    else
        return array(select distinct c from string_to_table(words, ' ') c
                      where c <> '');
    end if;
end $$;


create or replace function search_sorted(marks int[])
returns int[] language plpgsql immutable as $$
begin
    return array(select distinct m from unnest(marks) m order by m);
end $$;


-- The names, roles and reasons of the entries, as they are.

create or replace function search_names(items search_item[])
returns search_posting[] language plpgsql immutable as $$
begin
    return array(
        select row(p.part, array_agg(distinct p.mark))::search_posting
          from (select p collate "C", i.mark
                  from unnest(items) i
                 cross join lateral unnest(i.parts) p
                 where p <> '') p (part, mark)
         group by p.part);
end $$;


-- The strings that names are looked for by, each with its number. What is new
-- gets one.

create or replace function search_keys(head search_head,
    names search_posting[])
returns search_key[] language plpgsql as $$
declare
    keys  search_key[];
begin
    with string as materialized (
        select n.name, s.kind, s.string collate "C" as string
          from unnest(names) n (name, marks)
         cross join lateral search_strings_of(fold(n.name)) s
    ), known as materialized (
        select s.kind, s.string, f.number, f.run
          from (select distinct x.kind, x.string from string x) s
          left join lateral search_string_find(head, s.kind, s.string) f
            on true
    ), numbered as materialized (
        select k.*, k.number is null as new,
               coalesce(k.number, head.strings + row_number() over (
                                      partition by k.number is null)) as n
          from known k
    ), seen as (
        update search_string s
           set run = head.runs
          from numbered k
         where s.guild_id = head.guild_id and s.bot = head.bot
           and s.number = k.number and k.run <= head.runs - 4096
    ), added as (
        insert into search_string (guild_id, bot, number, run, kind,
                                   string)
        select head.guild_id, head.bot, k.n, head.runs, k.kind, k.string
          from numbered k where k.new
    )
    select array_agg(row(s.name, k.n)::search_key) into keys
      from string s
      join numbered k on k.kind = s.kind and k.string = s.string;

    return coalesce(keys, '{}');
end $$;


-- A string as it is, and if it is a long one its words, too.

create or replace function search_strings_of(folded text,
    out kind smallint, out string text)
returns setof record language sql immutable as $$
    select case when length(folded) <= 24 then 0 else 1 end::smallint, folded
    union all
    select 2::smallint, w
      from unnest(case when length(folded) > 24 then words_of(folded) end) w
$$;


-- Nothing but the index of strings will do to find it, whatever the planner
-- thinks of the table.

create or replace function search_string_find(head search_head,
    kind smallint, string text, out number int, out run int)
returns setof record language sql stable as $$
    select s.number, s.run from search_string s
     where s.guild_id = head.guild_id
       and hashtextextended(s.string, 0)
           = hashtextextended(search_string_find.string, 0)
       and s.bot + 0 = head.bot and s.kind + 0 = search_string_find.kind
       and s.string || '' = search_string_find.string
$$;


create or replace function search_postings_names(names search_posting[],
    keys search_key[])
returns search_posting[] language plpgsql stable as $$
begin
    return array(
        select row('#' || k.number,
                   case when count(*) = 1 then min(n.marks)
                        else search_sorted(search_joined(n.marks)) end
                   )::search_posting
          from unnest(names) n (name, marks)
          join unnest(keys) k (name, number) on k.name = n.name
         group by k.number);
end $$;


create or replace function search_run_add(head search_head,
    items search_item[], postings search_posting[])
returns void language plpgsql as $$
declare
    low   constant bigint := items[1].id;
    high  constant bigint := items[cardinality(items)].id;
begin
    insert into search_run (guild_id, bot, run, ids, types)
    select head.guild_id, head.bot, head.runs, array_agg(i.id order by i.id),
           array_agg(i.type order by i.id)
      from unnest(items) i;

    insert into search_segment (guild_id, bot, level, first, low, high, lows,
                                highs, categories)
    values (head.guild_id, head.bot, 0, head.runs, low, high, array[low],
            array[high], '{}');

    perform search_put(head.guild_id, head.bot, 0::smallint, head.runs,
                       postings);
end $$;


-- Puts postings into a segment: rows of their own for those with many marks,
-- as bits where that takes less, and one for the others of each bucket.

create or replace function search_put(guild bigint, bot smallint,
    level smallint, first int, postings search_posting[])
returns void language plpgsql as $$
declare
    few   constant int := 16 << level;
    bits  constant int := case when level = 2 then search_bits_from() end;
begin
    insert into search_common (guild_id, bot, level, bucket, first, term,
                               counts, marks, bits)
    select guild, search_put.bot, search_put.level,
           search_bucket(search_put.level, p.term), search_put.first, p.term,
           array(select (count(*) * 128 + (m & 127))::int
                   from unnest(p.marks) m group by m & 127),
           case when cardinality(p.marks) < bits is not false
                then p.marks end,
           case when cardinality(p.marks) >= bits
                then search_bits(p.marks) end
      from unnest(postings) p
     where cardinality(p.marks) >= few;

    insert into search_term (guild_id, bot, level, bucket, first, terms, ends,
                             marks)
    select guild, search_put.bot, search_put.level, p.bucket,
           search_put.first, p.terms, search_ends(p.sizes), p.marks
      from (select search_bucket(search_put.level, u.term) as bucket,
                   array_agg(u.term) as terms,
                   array_agg(cardinality(u.marks)) as sizes,
                   search_joined(u.marks) as marks
              from unnest(postings) u
             where cardinality(u.marks) < few
             group by 1) p;
end $$;


-- Where each of pieces of these sizes ends.

create or replace function search_ends(sizes int[])
returns int[] language plpgsql immutable as $$
declare
    stop  int := 0;
begin
    for i in 1 .. cardinality(sizes) loop
        stop := stop + sizes[i];
        sizes[i] := stop;
    end loop;

    return sizes;
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
        select ('x' || coalesce(string_agg(
                           repeat('0', 16 * (w.place - w.before - 1))
                           || lpad(to_hex(w.bits), 16, '0'), ''
                           order by w.place), '')
                || repeat('0', 16 * (1023 - coalesce(max(w.place), -1)))
                )::bit varying
          from (select u.place, u.bits,
                       lag(u.place, 1, -1) over (order by u.place) as before
                  from unnest(places, bits) u (place, bits)) w);
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
