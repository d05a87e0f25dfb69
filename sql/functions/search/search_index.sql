-- Making the index of searches. The keeper adds run after run, or where many
-- wait sixteen at once, and merges sixteen segments into one as soon as there
-- are that many. Each of its turns holds the (server, bot)'s row of
-- search_head, so two never work on the same one; readers and recording wait
-- for none of it.

-- what an entry is found by

call type_make('search_item', $$
    id     bigint,
    type   smallint,
    mark   int,      -- its place
    words  text,     -- the texts that words are looked for in, folded
    parts  text[],   -- what parts are looked for in
    terms  text[]    -- of its channel, members and role
$$);

call type_make('search_posting', $$
    term   text,
    marks  int[]     -- sorted
$$);

call type_make('search_count', $$
    type  smallint,
    n     bigint
$$);

-- a name and the number of a string that it is looked for by

call type_make('search_key', $$
    name    text,
    number  int
$$);


-- One array of many, in the order in which they come.

create aggregate search_joined(int[]) (
    sfunc = array_cat, stype = int[], initcond = '{}'
);

create aggregate search_joined_texts(text[]) (
    sfunc = array_cat, stype = text[], initcond = '{}'
);


-- How many runs a segment of that level has.

create or replace function search_runs(level int)
returns int language sql immutable as $$
    select 1 << 4 * level
$$;


-- How many entries make a run, at most 256, and a segment of that level.

create or replace function search_run_size()
returns int language sql immutable as $$ select 256 $$;


create or replace function search_most(level int)
returns int language sql immutable as $$
    select search_run_size() * search_runs(level)
$$;


-- How many bytes of entries are put in at once, but for the last one of them.

create or replace function search_bytes()
returns int language sql immutable as $$ select 2000000 $$;


-- From how many marks on those of a word are bits in a segment of level 2.

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


-- seen_at is not later than the time at which the first event that is in no run
-- was recorded. Is it no older than that? Events are kept for 48 hours. A time
-- to come was told by a clock that was ahead: then nobody knows how old it is.

create or replace function search_seen(at timestamptz, age interval)
returns boolean language sql stable as $$
    select at >= now() - age and at <= now() + interval '1 hour'
$$;


-- Works on the index for about so many ms; true if there is more to do. Where
-- most entries wait comes first: so all of them wait for as long, and where
-- the index cannot keep up it takes many at once. All it reads it finds by
-- indexes, however little the planner knows as yet.

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
         where not s.leaving
           and (h.arrival - s.arrival >= search_run_size()
                or s.merge_level is not null
                or not search_seen(s.seen_at, '12 hours'))
         order by search_seen(s.seen_at, '12 hours'),
                  h.arrival - s.arrival desc
    loop
        worked := keeper_each('search', head.guild_id, head.bot,
                      format('select search_work_until($1, $2, %L)::int',
                             until), null) > 0 or worked;
        exit when clock_timestamp() > until;
    end loop;

    return worked;
end $$;


-- Works on that of one (server, bot); whether there was anything to do.

create or replace function search_work_until(guild bigint, bot smallint,
    until timestamptz)
returns boolean language plpgsql as $$
declare
    worked  boolean := false;
begin
    while search_work(guild, bot) loop
        worked := true;
        exit when clock_timestamp() > until;
    end loop;

    return worked;
end $$;


-- What an index depends on besides the entries: the hashes that say where a
-- term is, and which letters count as the same one. Both are the database
-- server's own.

create or replace function search_version()
returns text language plpgsql stable as $$
begin
    return hashtext('guildlog') || ' ' || hashtextextended('guildlog', 0) || ' '
        || pg_collation_actual_version('pg_catalog."und-x-icu"'::regcollation);
end $$;


-- Gives an index to servers that have none but may read far back. Nothing of
-- them can be removed meanwhile: see search_hold(). One of another version is
-- made anew.

create or replace function search_begin()
returns void language plpgsql as $$
declare
    its  constant text := search_version();
begin
    update search_head s
       set version = its where s.version is null;
    update search_head s
       set leaving = true, runs = 0
     where s.version <> its and not s.leaving;

    insert into search_head (guild_id, bot, version)
    select h.guild_id, h.bot, its
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


-- Takes it from a server that may read no further back than an hour, and could
-- not within the last 7 days, so many rows at a time; it is not read from the
-- first ones on. True if there may be more to take.

create or replace function search_end(most int default 20000)
returns boolean language plpgsql as $$
declare
    head  record;
begin
    select s.guild_id, s.bot into head
      from search_head s
      join server v on v.guild_id = s.guild_id
     where s.leaving or not plan_keeps(v.plan, v.lapsed_at)
     order by s.leaving desc limit 1
       for update of s skip locked;

    if not found then
        return false;
    end if;

    update search_head s
       set leaving = true, runs = 0
     where s.guild_id = head.guild_id and s.bot = head.bot
       and not s.leaving;

    if search_forget(head.guild_id, head.bot, most) then
        delete from search_head s
         where s.guild_id = head.guild_id and s.bot = head.bot;
    end if;

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


-- Forgets what the index of a (server, bot) says, at most so many rows; true if
-- nothing is left of it.

create or replace function search_forget(guild bigint, bot smallint, most int)
returns boolean language plpgsql set enable_seqscan = off as $$
declare
    gone  int := 0;
    n     int;
    part  text;
begin
    foreach part in array '{search_segment, search_place, search_term,
                            search_common, search_string}'::text[] loop
        execute format('
            delete from %1$I
             where ctid = any (array(select x.ctid from %1$I x
                                      where x.guild_id = $1 and x.bot = $2
                                      limit $3))', part)
          using guild, bot, most - gone;

        get diagnostics n = row_count;
        gone := gone + n;
    end loop;

    return gone < most;
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
       and not s.leaving
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
                    cross join lateral log_entry_one(
                              guild, search_until.bot, x.id) e
                    where x.guild_id = guild and x.bot = search_until.bot
                      and x.until > clock_timestamp() - interval '1 second'))
          from log_head h
         where h.guild_id = guild and h.bot = search_until.bot);
end $$;


-- Makes the next run. The events know what arrived in the last two days; what
-- came before is put in by id, in a round over all that there is. Only their
-- arrival says which events are next: recorded_at may have been told by a clock
-- that was wrong. Where nearly all that arrives is dropped, or known, a short
-- run is made in time.

create or replace function search_extend(head search_head)
returns boolean language plpgsql as $$
declare
    -- a clock that went back holds again what was released, and is in a run
    until  constant bigint := greatest(head.arrival,
                                  search_until(head.guild_id, head.bot));
    at     constant timestamptz := clock_timestamp();
    batch  log_event[];
    made   record;
begin
    if head.round_to is null and not search_seen(head.seen_at, '40 hours') then
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
         order by k.arrival
         limit search_most(search_level(head, until - head.arrival)));
    batch := batch[: search_most(search_level(head, cardinality(batch)))];

    if cardinality(batch) = 0 then
        update search_head s
           set arrival = greatest(s.arrival, until), seen_at = at
         where s.guild_id = head.guild_id and s.bot = head.bot
           and (s.arrival < until or s.seen_at < at - interval '12 hours');
        return head.arrival < until;
    end if;

    if cardinality(batch) < search_run_size()
       and until - head.arrival < search_most(1)
       and batch[1].recorded_at >= at - interval '12 hours'
    then
        update search_head s
           set seen_at = least(batch[1].recorded_at, at)
         where s.guild_id = head.guild_id and s.bot = head.bot
           and s.seen_at < at - interval '12 hours';
        return false;
    end if;

    select * into made
      from search_items(head, array(select k.entry_id from unnest(batch) k));

    head.arrival := batch[made.taken].arrival;
    head.seen_at := least(batch[made.taken].recorded_at, at);
    perform search_make(head, made.items);
    return true;
end $$;


-- The next run of a round, of the entries between the two arrivals.

create or replace function search_round(head search_head)
returns void language plpgsql as $$
declare
    most   constant int := search_most(1);
    batch  bigint[];
    made   record;
    last   bigint;
    more   boolean;
begin
    select array_agg(w.id order by w.id)
               filter (where w.arrival > head.arrival
                         and w.arrival <= head.round_to),
           max(w.id), count(*) = most
      into batch, last, more
      from (select e.id, e.arrival from log_entry e
             where e.guild_id = head.guild_id and e.bot = head.bot
               and e.id > head.round_id
             order by e.id limit most) w;

    select * into made
      from search_items(head, batch[: search_most(search_level(
                                          head, cardinality(batch)))]);

    if made.taken < cardinality(batch) then
        last := batch[made.taken];
        more := true;
    end if;

    head.round_id := last;

    if not more then
        head.arrival := head.round_to;
        head.round_to := null;
        head.round_id := null;
    end if;

    perform search_make(head, made.items);
end $$;


-- The level of the next segment, where so many entries wait for it: as many as
-- sixteen runs have become one of level 1 at once, which takes half as long as
-- to make the runs and merge them.

create or replace function search_level(head search_head, n bigint)
returns int language sql immutable as $$
    select case when n >= search_most(1) and head.runs % search_runs(1) = 0
           then 1 else 0 end
$$;


-- Puts these entries into a segment and the head as it is then.

create or replace function search_make(head search_head, items search_item[])
returns void language plpgsql as $$
declare
    level  constant int := (cardinality(items) > search_run_size())::int;
    names  search_posting[];
    keys   search_key[];
begin
    if cardinality(items) > 0 then
        names := search_names(items);
        keys := search_keys(head, names);
        perform search_add(head, level, items, search_postings_words(items)
                           || search_postings_names(names, keys)
                           || search_postings_filters(items));
        head.runs := head.runs + search_runs(level);
        head.strings := greatest(head.strings, (select max(k.number)
                                                  from unnest(keys) k));

        if head.runs % search_runs(level + 1) = 0
           and search_close(head, level, head.runs - search_runs(level + 1))
        then
            head.merge_level := level;
            head.merge_first := head.runs - search_runs(level + 1);
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
                      where h.arrival - s.arrival >= search_run_size()
                        and not s.leaving), 0);
end $$;


-- Servers that came to their index or lost it, and what is past keeping.
-- Undone: nothing that anybody would notice.

create or replace function keeper_searchable(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    perform server_lapses();
    perform search_begin();
    more := search_end(budget) or search_expire(kept_from());
    lag := 0;
end $$;
