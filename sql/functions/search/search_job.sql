-- What the module does for the index: it asks for a job, reads the documents,
-- makes segments of them, and puts these. Nothing is locked meanwhile: if
-- somebody else was first, or entries went, what was made is thrown away.


-- What is to be made of a (server, bot): a "run" of what arrived behind since,
-- up to until; a part of the "back" of one day, of the ids in [low, high) what
-- arrived up to until; or a "day" that is over once more, in place of the
-- segments that have these keys. Days before that of low have no segments.

call type_make('search_work', $$
    what    text,
    guild   bigint,
    bot     smallint,
    format  smallint,
    erased  bigint,
    low     bigint,
    high    bigint,
    since   bigint,
    until   bigint,
    keys    bigint[]
$$);


-- The most overdue job, if there is any; nobody else gets it for two minutes.
-- Of whom nothing is to be made, that is looked at again at its time.

create or replace function search_job()
returns setof search_work language plpgsql security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    due   record;
    head  search_head;
    work  search_work;
begin
    perform search_tell(0, null);

    for due in
        select s.guild_id, s.bot from search_head s
         where s.due_at <= now() and s.format = search_format()
           and not exists (select from keeper_parked p
                            where p.guild_id = s.guild_id and p.bot = s.bot
                              and p.task = 'search' and p.until > now())
         order by s.due_at limit 100
    loop
        select * into head from search_head s
         where s.guild_id = due.guild_id and s.bot = due.bot
           and s.due_at <= now() and s.format = search_format()
           for update skip locked;
        continue when not found;

        work := search_work_of(head);
        update search_head s
           set due_at = case when work.what is null
                        then search_due(due.guild_id, due.bot)
                        else now() + interval '2 minutes' end
         where s.guild_id = due.guild_id and s.bot = due.bot;

        if work.what is not null then
            return next work;
            return;
        end if;
    end loop;
end $$;


-- A run comes first, as soon as it is worth a segment, and once a day whatever
-- there is. Then the back part, and behind that the days that are over.

create or replace function search_work_of(head search_head)
returns search_work language plpgsql as $$
declare
    until  constant bigint := search_until(head.guild_id, head.bot);
    waits  constant bigint := (
        select h.arrival - head.arrival from log_head h
         where h.guild_id = head.guild_id and h.bot = head.bot);
    work   search_work;
begin
    work.guild := head.guild_id;
    work.bot := head.bot;
    work.format := head.format;
    work.erased := head.erased;
    work.low := search_first(head.oldest);
    work.high := 9223372036854775807;

    if until > head.arrival
       and (waits >= 1024 or head.closed <> search_closed())
    then
        work.what := 'run';
        work.since := head.arrival;
        work.until := least(until, head.arrival + search_most());
        return work;
    end if;

    if head.back_id > 0 then
        work := search_work_back(head, work);
    elsif head.closed <> search_closed() then
        work := search_work_day(head, work);
    end if;

    return work;
end $$;


-- The newest day of the back part; behind the last one there is none.

create or replace function search_work_back(head search_head,
    work search_work)
returns search_work language plpgsql
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    newest  constant bigint := (
        select e.id from log_entry e
         where e.guild_id = head.guild_id and e.bot = head.bot
           and e.id >= work.low and e.id < head.back_id
         order by e.id desc limit 1);
begin
    if newest is null then
        update search_head s
           set back_id = 0, back_arrival = 0
         where s.guild_id = head.guild_id and s.bot = head.bot;
        return work;
    end if;

    work.what := 'back';
    work.low := greatest(work.low, search_first(search_day(newest)));
    work.high := head.back_id;
    work.since := 0;
    work.until := head.back_arrival;
    return work;
end $$;


-- The first day with many more segments than it needs; of a day that is over
-- since the last look, with more than that. A very large one stays as it is.

create or replace function search_work_day(head search_head,
    work search_work)
returns search_work language plpgsql as $$
declare
    its  record;
begin
    select s.day, array_agg(s.key) as keys into its
      from search_segment s
     where s.guild_id = head.guild_id and s.bot = head.bot
       and s.day <= search_closed()
     group by s.day
    having count(*) > (sum(s.n) + search_most() - 1) / search_most()
                      + case when s.day > head.closed then 0 else 8 end
       and sum(s.n) <= 16 * search_most()
     order by s.day limit 1;

    if not found then
        update search_head s
           set closed = search_closed()
         where s.guild_id = head.guild_id and s.bot = head.bot;
        return work;
    end if;

    work.what := 'day';
    work.low := search_first(its.day);
    work.high := search_first(its.day + 1);
    work.since := 0;
    work.until := head.arrival;
    work.keys := its.keys;
    return work;
end $$;


-- When there may be a job next: at once, in a moment if all that waits is held,
-- or tomorrow.

create or replace function search_due(guild bigint, bot smallint)
returns timestamptz language plpgsql as $$
begin
    return (
        select case when s.back_id > 0 or s.closed <> search_closed()
                      or h.arrival - s.arrival >= 1024
                         and search_until(guild, search_due.bot) > s.arrival
                    then now()
                    when h.arrival - s.arrival >= 1024
                    then now() + interval '5 seconds'
                    else search_daily(guild) end
          from search_head s
          join log_head h on h.guild_id = s.guild_id and h.bot = s.bot
         where s.guild_id = guild and s.bot = search_due.bot);
end $$;


-- Puts what was made: of a run up to the arrival done, whose job said since; of
-- the back part down to the id done, whose job said since as high. 200, or 409
-- if all of it is to be thrown away. took_ms is for the figures.

create or replace function search_put(guild bigint, bot smallint, what text,
    erased bigint, since bigint, done bigint, keys bigint[], days int[],
    ns int[], kinds bytea[], dirs bytea[], bodies bytea[],
    took_ms int default 0, out status int)
language plpgsql security definer set search_path = guildlog, pg_temp
set enable_seqscan = off as $$
declare
    head  search_head;
begin
    select * into head from search_head s
     where s.guild_id = guild and s.bot = search_put.bot
       and s.format = search_format()
       for update;
    status := case when found and search_fits(head, what, erased, since, keys)
                   then 200 else 409 end;

    if status = 409 then
        return;
    end if;

    delete from search_segment s
     where s.guild_id = guild and s.bot = search_put.bot
       and s.key = any (keys);
    insert into search_segment (guild_id, bot, day, key, n, kinds, dir, body)
    select guild, search_put.bot, u.day, nextval('search_key'), u.n, u.kinds,
           u.dir, u.body
      from unnest(days, ns, kinds, dirs, bodies) u (day, n, kinds, dir, body)
     where u.day >= head.oldest;

    case what
    when 'run' then
        head.arrival := done;
    when 'back' then
        head.back_id := case when done > search_first(head.oldest)
                             then done else 0 end;
        head.back_arrival := case when head.back_id > 0
                                  then head.back_arrival else 0 end;
    when 'day' then
        head.closed := greatest(head.closed, days[1]);
    end case;

    update search_head s
       set (arrival, back_id, back_arrival, closed)
           = (head.arrival, head.back_id, head.back_arrival, head.closed)
     where s.guild_id = guild and s.bot = search_put.bot;
    update search_head s
       set due_at = search_due(guild, search_put.bot)
     where s.guild_id = guild and s.bot = search_put.bot;

    perform keeper_unpark('search', guild, bot);
    perform search_tell(took_ms, 0);
end $$;


-- Is the index still what it was when the job was asked for?

create or replace function search_fits(head search_head, what text,
    erased bigint, since bigint, keys bigint[])
returns boolean language plpgsql as $$
begin
    return case what
           when 'run' then head.erased = search_fits.erased
                           and head.arrival = since
           when 'back' then head.erased = search_fits.erased
                            and head.back_id = since
           when 'day' then cardinality(keys) = (
               select count(*) from search_segment s
                where s.guild_id = head.guild_id and s.bot = head.bot
                  and s.key = any (keys))
           else false end;
end $$;


-- The job failed: the server is left out for a while.

create or replace function search_fail(guild bigint, bot smallint, cause text)
returns void language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    perform keeper_park('search', guild, bot, cause);
    perform search_tell(0, 1);
end $$;


-- Tells the keeper's figures of the task, which no turn of the keeper does:
-- that it is being done, and with it how long a job took, and errors more. Lag
-- is looked at once a second. It counts entries of servers that are due.

create or replace function search_tell(took_ms int, errors int)
returns void language plpgsql as $$
begin
    insert into keeper (task, done_at) values ('search', '-infinity')
    on conflict do nothing;

    if search_tell.errors is not null then
        update keeper k
           set took_us = took_ms * 1000, errors = k.errors + search_tell.errors
         where k.task = 'search';
        return;
    end if;

    update keeper k
       set done_at = clock_timestamp(),
           lag = (select coalesce(sum(h.arrival - s.arrival), 0)
                    from search_head s
                    join log_head h
                      on h.guild_id = s.guild_id and h.bot = s.bot
                   where s.due_at <= now() and s.format = search_format())
     where k.task = 'search'
       and k.done_at < clock_timestamp() - interval '1 second';
end $$;
