-- Active ignore at work: it drops entries as they come, and takes back those
-- held for it. Both under the lock of record_begin(), so that a count of 5
-- hides exactly 5.


-- requests that run, by queues; a queue is what covers the same entries

call type_make('active_ignore_queues', $$
    requests   bigint[],     -- by queue, the oldest first
    remaining  int[],        -- of each request
    ages       int[],        -- and its place in the order they came in
    ways       text[],       -- of each queue
    subjects   text[],
    types      smallint[],   -- null: any but the protected ones
    firsts     int[],        -- its place among the requests
    lasts      int[]
$$);


-- By what a request finds its entries; "any" finds all of them.

create or replace function active_ignore_way(side text, subject_type smallint)
returns text language sql immutable as $$
    select case when side = 'executor' then 'executor'
                when subject_type in (1, 8, 10) then 'channel'
                when subject_type = 2 then 'emoji'
                when subject_type in (3, 5) then 'any'
                when subject_type = 4 then 'invite'
                when subject_type = 6 then 'message'
                else 'target' end
$$;


-- What an entry is found by, in each of these ways.

create or replace function active_ignore_subjects(executor text, target text,
    channel text, doc jsonb, out way text, out subject text)
returns setof record language sql immutable as $$
    values ('any', ''), ('executor', executor), ('target', target),
           ('target', doc ->> 'role_id'), ('channel', channel),
           ('channel', target),
           ('emoji', doc #>> '{emoji,id}'), ('emoji', doc #>> '{emoji,name}'),
           ('invite', doc ->> 'name'), ('invite', doc ->> 'value')
     union all
    select 'message', m ->> 'id' from jsonb_array_elements(doc -> 'messages') m
$$;


-- Does the request speak of such an entry? Protected types only by name.

create or replace function active_ignore_covers(a active_ignore,
    what log_type, executor text, target text, channel text, doc jsonb)
returns boolean language plpgsql stable as $$
begin
    return case when a.log_type is null then not what.protected
                     else a.log_type = what.id end
       and exists (
               select from active_ignore_subjects(executor, target, channel,
                                                  doc) s
                where s.way = active_ignore_way(a.side, a.subject_type)
                  and (s.way = 'any' or s.subject = a.subject_id));
end $$;


-- The requests that still run, as queues: those that cover the same entries
-- stand in one, the oldest first.

create or replace function active_ignore_asked(guild bigint, bot smallint)
returns active_ignore_queues language plpgsql as $$
begin
    return (
        with asked as (
            select a.request_id, a.remaining, w.way, w.subject, a.log_type,
                   row_number() over (order by a.requested_at,
                                               a.request_id) as age
              from active_ignore a
             cross join lateral (
                       select active_ignore_way(a.side, a.subject_type)
                   ) f (way)
             cross join lateral (
                       select f.way, case when f.way = 'any' then ''
                                          else a.subject_id end
                   ) w (way, subject)
             where a.guild_id = guild
               and a.bot = active_ignore_asked.bot
               and a.remaining > 0
               and a.expires_at > clock_timestamp()
        ), placed as (
            select a.*, row_number() over (order by a.way, a.subject,
                                                    a.log_type, a.age) as place
              from asked a
        ), queued as (
            select p.way, p.subject, p.log_type,
                   min(p.place) as first, max(p.place) as last
              from placed p
             group by p.way, p.subject, p.log_type
        )
        select row(p.requests, p.remaining, p.ages, q.ways, q.subjects, q.types,
                   q.firsts, q.lasts)::active_ignore_queues
          from (select array_agg(request_id order by place),
                       array_agg(remaining order by place),
                       array_agg(age order by place)
                  from placed) p (requests, remaining, ages)
         cross join (select array_agg(way order by first),
                            array_agg(subject order by first),
                            array_agg(log_type order by first),
                            array_agg(first order by first),
                            array_agg(last order by first)
                       from queued) q (ways, subjects, types, firsts, lasts));
end $$;


-- The entries of a batch that requests may cover, each with the queues that do.
-- A join that hashes: looking through all queues for each subject would cost
-- their product.

create or replace function active_ignore_found(guild bigint, bot smallint,
    holds boolean, asked active_ignore_queues, b batch, docs text[],
    verdicts text[], out place bigint, out queues bigint[])
returns setof record language plpgsql set enable_nestloop = off as $$
begin
    return query
        with subjects as materialized (
            select u.place, s.way, s.subject, k.type
              from unnest(b.types, b.executors, b.targets, b.channels, docs,
                          verdicts) with ordinality
                       u (type, executor, target, channel, doc, verdict, place)
              join log_type t on t.id = u.type
              left join logging_type c
                on c.guild_id = guild and c.bot = active_ignore_found.bot
               and c.log_type = u.type
             cross join lateral active_ignore_subjects(u.executor, u.target,
                   u.channel, entry_of(u.doc)) s
             cross join lateral (
                   select u.type union all select -1 where not t.protected
                   ) k (type)
             where u.verdict is null
               and coalesce(c.active_ignore, holds)
        )
        select s.place, array_agg(distinct q.queue)
          from subjects s
          join unnest(asked.ways, asked.subjects, asked.types) with ordinality
                   q (way, subject, type, queue)
            on q.way = s.way and q.subject = s.subject
           and coalesce(q.type, -1) = s.type
         group by s.place;
end $$;


-- Drops what requests that still run cover, the oldest request first. One by
-- one, since each entry uses up one of a count. An entry looks at the heads of
-- its queues alone, however many requests there are.

create or replace function active_ignore_apply(guild bigint, bot smallint,
    settings recording, b batch, docs text[], verdicts text[])
returns text[] language plpgsql as $$
declare
    asked      constant active_ignore_queues := active_ignore_asked(guild,
                                                                    bot);
    counts     int[] := asked.remaining;
    heads      int[] := asked.firsts;
    lasts      constant int[] := asked.lasts;
    ages       constant int[] := asked.ages;
    queue      int;
    oldest     int;
    e          record;
begin
    if asked.requests is null then
        return verdicts;
    end if;

    for e in
        select f.place, f.queues
          from active_ignore_found(guild, bot, (settings.options).active_ignore,
                                   asked, b, docs, verdicts) f
         order by f.place
    loop
        oldest := null;

        foreach queue in array e.queues loop
            if heads[queue] <= lasts[queue]
               and (oldest is null
                    or ages[heads[queue]] < ages[heads[oldest]])
            then
                oldest := queue;
            end if;
        end loop;

        continue when oldest is null;

        verdicts[e.place] := 'active_ignore';
        counts[heads[oldest]] := counts[heads[oldest]] - 1;

        if counts[heads[oldest]] = 0 then
            heads[oldest] := heads[oldest] + 1;
        end if;
    end loop;

    update active_ignore a
       set remaining = r.remaining
      from unnest(asked.requests, counts) r (request_id, remaining)
     where a.guild_id = guild
       and a.bot = active_ignore_apply.bot
       and a.request_id = r.request_id
       and a.remaining > r.remaining;

    return verdicts;
end $$;


-- A new request takes back what it covers of the entries still held, in the
-- order they came in; how many.

create or replace function held_take(guild bigint, bot smallint,
    request bigint)
returns int language plpgsql as $$
declare
    a      active_ignore;
    taken  bigint[];
begin
    perform record_begin(guild, bot, 0);

    -- nothing is added while this has the head

    if not exists (select from log_arrival h
                    where h.guild_id = guild and h.bot = held_take.bot
                      and h.held_to is not null)
    then
        return 0;
    end if;

    perform pg_advisory_xact_lock(hashtext('guildlog.held'),
                                  hashint8(guild));

    select * into a from active_ignore r
     where r.guild_id = guild and r.bot = held_take.bot
       and r.request_id = request;

    taken := array(
        select h.arrival
          from log_arrival h
          join log_type t on t.id = h.type
         cross join lateral (select (h.doc || '}')::jsonb) d (doc)
         where h.guild_id = guild
           and h.bot = held_take.bot
           and h.held_to > clock_timestamp()
           and active_ignore_covers(a, row(t.*)::log_type,
                   d.doc #>> '{executor,id}', d.doc #>> '{target,id}',
                   d.doc #>> '{channel,id}', d.doc)
         order by h.arrival
         limit a.remaining);

    if cardinality(taken) = 0 then
        return 0;
    end if;

    perform arrivals_remove(guild, bot, taken);

    update active_ignore r
       set remaining = r.remaining - cardinality(taken)
     where r.guild_id = guild and r.bot = held_take.bot
       and r.request_id = request;

    return cardinality(taken);
end $$;


-- Takes back what arrived so, and is held; its events stay known.

create or replace function arrivals_remove(guild bigint, bot smallint,
    taken bigint[])
returns void language plpgsql as $$
declare
    first  bigint;
begin
    first := (
        select min(a.id) from log_arrival a
         where a.guild_id = guild and a.bot = arrivals_remove.bot
           and a.arrival = any (taken));

    update log_arrival a
       set id = null, doc = null, held_to = null, dchannel_id = null,
           dstatus = null, dreason = null
     where a.guild_id = guild
       and a.bot = arrivals_remove.bot
       and a.arrival = any (taken)
       and a.held_to is not null;

    update log_head h
       set first_log_at = id_time(entry_first(guild, arrivals_remove.bot, 0,
                                              9223372036854775807))
     where h.guild_id = guild
       and h.bot = arrivals_remove.bot
       and h.first_log_at = id_time(first);

    perform search_removed(guild, bot);
end $$;


-- The servers with entries to be released, in the order of their locks, and how
-- many of each are among the oldest of all.

create or replace function held_due(budget int, out guild_id bigint,
    out bot smallint, out n int)
returns setof record language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    shut  constant record := keeper_shut('requests');
begin
    return query
        select h.guild_id, h.bot, count(*)::int
          from (select x.guild_id, x.bot from log_arrival x
                 where x.held_to is not null
                   and x.held_to <= clock_timestamp()
                   and (x.guild_id, x.bot) not in (
                           select * from unnest(shut.guilds, shut.bots))
                 order by x.held_to limit budget) h
         group by 1, 2
         order by 1, 2;
end $$;


-- Gives delivery what no request can remove any more, at most so many: the
-- entries that have a channel to go to get their place there now. If that fails
-- each server is done in a transaction within this one, and those that fail are
-- left out for a while: the keeper's task of requests tells of them.

create or replace function held_release(budget int default 1000,
    out guild_id bigint, out bot smallint, out id bigint,
    out channel_id bigint)
returns setof record language plpgsql as $$
declare
    due  record;
begin
    if not exists (select from keeper_parked p where p.task = 'requests') then
        begin
            -- in an order, so that none is told of before all are released

            return query
                select d.guild_id, d.bot, r.id, r.channel_id
                  from held_due(budget) d
                 cross join lateral held_release_of(d.guild_id, d.bot, d.n) r
                 where held_begin(d.guild_id, d.bot)
                 order by d.guild_id, d.bot, r.id;
            return;
        exception when others then
            null;
        end;
    end if;

    for due in select * from held_due(budget) loop
        begin
            continue when not held_begin(due.guild_id, due.bot);
            return query
                select due.guild_id, due.bot, r.id, r.channel_id
                  from held_release_of(due.guild_id, due.bot, due.n) r;
            perform keeper_unpark('requests', due.guild_id, due.bot);
        exception
            when lock_not_available or deadlock_detected then
                null;
            when others then
                perform keeper_park('requests', due.guild_id, due.bot,
                                    sqlstate || ' ' || sqlerrm);
        end;
    end loop;
end $$;


-- As record_begin(), but that it waits for a second at most: false if that was
-- in vain. One server is not to be in the way of all.

create or replace function held_begin(guild bigint, bot smallint)
returns boolean language plpgsql set lock_timeout = '1s' as $$
begin
    perform from log_head h
      where h.guild_id = guild and h.bot = held_begin.bot
        and h.turn >= (select n.turn from head_of(guild, held_begin.bot) n)
        for no key update skip locked;

    if found then
        return true;
    end if;

    begin
        perform record_begin(guild, bot, 0);
        return true;
    exception when lock_not_available then
        return false;
    end;
end $$;


-- Those of one bot, in the order they came in, get their places.

create or replace function held_release_of(guild bigint, bot smallint,
    budget int, out id bigint, out channel_id bigint)
returns setof record language plpgsql as $$
declare
    arrivals  bigint[];
    ids       bigint[];
    channels  bigint[];
    ends      lane_ends;
begin
    select array_agg(h.arrival order by h.arrival),
           array_agg(h.id order by h.arrival),
           array_agg(case when h.dstatus is null then h.dchannel_id end
                     order by h.arrival)
      into arrivals, ids, channels
      from (select * from log_arrival x
             where x.guild_id = guild
               and x.bot = held_release_of.bot
               and x.held_to is not null
               and x.held_to <= clock_timestamp()
             order by x.arrival limit budget) h;

    ends := lanes_take(guild, bot, channels);

    -- the join alone would read all that the server has

    update log_arrival a
       set held_to = null, lane = p.lane, seq = p.seq
      from lane_places(array_fill(1, array[cardinality(channels)]),
                       channels, ends) p
     where a.guild_id = guild
       and a.bot = held_release_of.bot
       and a.arrival >= arrivals[1]
       and a.arrival <= arrivals[cardinality(arrivals)]
       and a.held_to is not null
       and a.arrival = arrivals[p.place];

    if arrivals is not null then
        perform alerts_released(guild, bot, arrivals);
    end if;

    return query
        select n.id, n.channel from unnest(ids, channels) n (id, channel)
         where n.channel is not null
         order by n.id;
end $$;


-- What should have been released an hour ago, and could not be: it goes
-- nowhere, as what waited for too long. Blocks are made of it then.

create or replace function held_expire(guild bigint, bot smallint)
returns int language plpgsql as $$
declare
    before  constant timestamptz := clock_timestamp() - interval '1 hour';
    n       int;
begin
    perform record_begin(guild, bot, 0);

    update log_arrival a
       set held_to = null, dstatus = coalesce(a.dstatus, 0),
           dreason = coalesce(a.dreason, 'expired')
     where a.guild_id = guild
       and a.bot = held_expire.bot
       and a.held_to < before;

    get diagnostics n = row_count;
    return n;
end $$;
