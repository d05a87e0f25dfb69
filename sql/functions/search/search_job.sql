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
    erased  bigint,
    low     bigint,
    high    bigint,
    since   bigint,
    until   bigint,
    keys    bigint[],
    hurry   boolean      -- it was due half a minute ago
$$);


-- The most overdue job, if there is any; nobody else gets it for two minutes. A
-- module that makes segments of another format gets none. Of whom nothing is to
-- be made, that is looked at again at its time.

create or replace function search_job(format int)
returns setof search_work language plpgsql security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    shut  constant record := keeper_shut('search');
    due   record;
    work  search_work;
begin
    if search_job.format <> search_format() then
        return;
    end if;

    for due in
        select s.guild_id, s.bot from search_head s
         where s.due_at <= now() and s.format = search_format()
           and coalesce(s.taken_to <= clock_timestamp(), true)
           and (s.guild_id, s.bot) not in (
                   select * from unnest(shut.guilds, shut.bots))
         order by s.due_at limit 100
    loop
        begin
            work := search_job_of(due.guild_id, due.bot);
        exception when others then
            work := null;
            perform keeper_park('search', due.guild_id, due.bot,
                                sqlstate || ' ' || sqlerrm);
        end;

        if work.what is not null then
            return next work;
            return;
        end if;
    end loop;
end $$;


-- The job of a (server, bot) that is due, if there is one.

create or replace function search_job_of(guild bigint, bot smallint)
returns search_work language plpgsql as $$
declare
    later  constant timestamptz := clock_timestamp() + interval '2 minutes';
    head   search_head;
    work   search_work;
begin
    select * into head from search_head s
     where s.guild_id = guild and s.bot = search_job_of.bot
       and s.due_at <= now() and s.format = search_format()
       and coalesce(s.taken_to <= clock_timestamp(), true)
       for update skip locked;

    if not found then
        return null;
    end if;

    work := search_work_of(head);

    if work.what is not null then
        update search_head s
           set taken_to = later
         where s.guild_id = guild and s.bot = search_job_of.bot;
    else
        head.due_at := search_due(guild, bot);
        update search_head s
           set due_at = head.due_at
         where s.guild_id = guild and s.bot = search_job_of.bot;
    end if;

    return work;
end $$;


-- A run comes first, as soon as it is worth a segment, and once a day whatever
-- there is. Then the back part, and behind that the days that are over.

create or replace function search_work_of(head search_head)
returns search_work language plpgsql as $$
declare
    until  constant bigint := search_until(head.guild_id, head.bot);
    waits  constant bigint := (
        select h.arrival - head.arrival
          from head_of(head.guild_id, head.bot) h);
    work   search_work;
begin
    work.guild := head.guild_id;
    work.bot := head.bot;
    work.erased := head.erased;
    work.low := day_low(head.oldest);
    work.high := 9223372036854775807;
    work.hurry := head.due_at < now() - interval '30 seconds';

    if until > head.arrival
       and (waits >= 1024 or head.closed <> search_closed())
    then
        work.what := 'run';
        work.since := head.arrival;
        work.until := least(until, head.arrival + 16384);
        return work;
    end if;

    if head.back_id > 0 then
        work := search_work_back(head, work);
    end if;

    if work.what is null and head.closed <> search_closed() then
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
        select max(e.id)
          from entries_newest(head.guild_id, head.bot, work.low,
                              head.back_id) e (id));
begin
    if newest is null then
        update search_head s
           set back_id = 0, back_arrival = 0
         where s.guild_id = head.guild_id and s.bot = head.bot;
        return work;
    end if;

    work.what := 'back';
    work.low := greatest(work.low, day_low(day_of(newest)));
    work.high := head.back_id;
    work.since := 0;
    work.until := head.back_arrival;
    return work;
end $$;


-- The first day that is over since the last look, or comes up every fourth day,
-- as entries may come late for days, and has more than eight runs that are not
-- worth their number: to make a day whole costs as much as the runs did, and a
-- few segments more cost a search little. What is left of such a job that came
-- to no end goes.

create or replace function search_work_day(head search_head,
    work search_work)
returns search_work language plpgsql as $$
declare
    its  record;
begin
    delete from search_segment s
     where s.guild_id = head.guild_id and s.bot = head.bot and s.day < 0;

    select s.day, array_agg(s.key) as keys into its
      from search_segment s
     where s.guild_id = head.guild_id and s.bot = head.bot
       and s.day <= search_closed()
       and (s.day > head.closed or (search_closed() - s.day) % 4 = 3)
     group by s.day
    having count(*) filter (where not s.whole) > 8 + sum(s.n) / 8192
     order by s.day limit 1;

    if not found then
        update search_head s
           set closed = search_closed()
         where s.guild_id = head.guild_id and s.bot = head.bot;
        return work;
    end if;

    work.what := 'day';
    work.low := day_low(its.day);
    work.high := day_low(its.day + 1);
    work.since := 0;
    work.until := head.arrival;
    work.keys := its.keys;
    return work;
end $$;


-- When there may be a job next: at once, in a moment if all that waits is held,
-- or tomorrow, also where nothing was ever recorded.

create or replace function search_due(guild bigint, bot smallint)
returns timestamptz language plpgsql as $$
begin
    return coalesce((
        select case when s.back_id > 0 or s.closed <> search_closed()
                      or h.arrival - s.arrival >= 1024
                         and search_until(guild, search_due.bot) > s.arrival
                    then now()
                    when h.arrival - s.arrival >= 1024
                    then now() + interval '5 seconds'
                    else search_daily(guild) end
          from search_head s
         cross join head_of(guild, search_due.bot) h
         where s.guild_id = guild and s.bot = search_due.bot),
        search_daily(guild));
end $$;


-- Puts what was made: of a run up to the arrival done, whose job said since; of
-- the back part down to the id done, whose job said since as high. A day may
-- come in parts: each "part" is kept, and made are its keys; "day" has the last
-- ones, and parts are the keys of those before. 200, or 409 if all of it is to
-- be thrown away. shape: of each segment its day, how many entries it has, and
-- how many bytes of the blob its kinds, its dir and its body are. To read an
-- array of them would take PostgreSQL ten times as long.

create or replace function search_put(guild bigint, bot smallint, what text,
    erased bigint, since bigint, done bigint, keys bigint[], parts bigint[],
    shape int[], blob bytea, out status int, out made bigint[])
language plpgsql security definer set search_path = guildlog, pg_temp
set enable_seqscan = off as $$
declare
    head   search_head;
    fits   boolean;
    due    timestamptz;
    taken  timestamptz;
begin
    select * into head from search_head s
     where s.guild_id = guild and s.bot = search_put.bot for update;
    fits := coalesce(search_fits(head, what, erased, since, keys, parts),
                     false);
    status := case when fits then 200 else 409 end;

    if fits then
        if what = 'day' then    -- its parts take the place of its segments
            delete from search_segment s
             where s.guild_id = guild and s.bot = search_put.bot
               and s.key = any (keys);
            update search_segment s
               set day = -s.day
             where s.guild_id = guild and s.bot = search_put.bot
               and s.day < 0 and s.key = any (parts);
        end if;

        made := search_add(head, what, shape, blob);
        perform search_move(head, what, done, shape[1]);
        perform keeper_unpark('search', guild, bot);
    end if;

    if fits and what = 'part' then
        taken := clock_timestamp() + interval '2 minutes';
    elsif fits then
        due := search_due(guild, bot);
    end if;

    update search_head s
       set due_at = coalesce(due, s.due_at), taken_to = taken
     where s.guild_id = guild and s.bot = search_put.bot;
end $$;


-- Is the index still what it was when the job was asked for?

create or replace function search_fits(head search_head, what text,
    erased bigint, since bigint, keys bigint[], parts bigint[])
returns boolean language plpgsql as $$
begin
    return head.format = search_format() and head.erased = search_fits.erased
           and case
           when what = 'run' then head.arrival = since
           when what = 'back' then head.back_id = since
           when what = 'day' then cardinality(keys || parts) = (
               select count(*) from search_segment s
                where s.guild_id = head.guild_id and s.bot = head.bot
                  and s.key = any (case when s.day < 0 then parts
                                   else keys end))
           when what = 'part' then true end;
end $$;


-- New segments, but for those of days that expired meanwhile; their keys.

create or replace function search_add(head search_head, what text, shape int[],
    blob bytea)
returns bigint[] language plpgsql as $$
declare
    made  bigint[];
begin
    with segment as (
        select shape[i] as day, shape[i + 1] as n, shape[i + 2] as kinds,
               shape[i + 3] as dir, shape[i + 4] as body,
               1 + coalesce(sum(shape[i + 2] + shape[i + 3] + shape[i + 4])
                   over (order by i rows between unbounded preceding
                                             and 1 preceding), 0)::int as at
          from generate_series(1, cardinality(shape), 5) i
    ), added as (
        insert into search_segment (guild_id, bot, day, key, whole, n, kinds,
                                    dir, body)
        select head.guild_id, head.bot,
               case when what = 'part' then -u.day else u.day end,
               nextval('search_key'), what <> 'run', u.n,
               substring(blob from u.at for u.kinds),
               substring(blob from u.at + u.kinds for u.dir),
               substring(blob from u.at + u.kinds + u.dir for u.body)
          from segment u
         where u.day >= head.oldest
        returning key
    )
    select array_agg(a.key) into made from added a;

    return made;
end $$;


-- How far the index has come then.

create or replace function search_move(head search_head, what text,
    done bigint, day int)
returns void language plpgsql as $$
declare
    goes_on  constant boolean := done > day_low(head.oldest);
begin
    update search_head s
       set arrival = case when what = 'run' then done else s.arrival end,
           back_id = case when what <> 'back' then s.back_id
                          when goes_on then done else 0 end,
           back_arrival = case when what <> 'back' or goes_on
                          then s.back_arrival else 0 end,
           closed = case when what = 'day' then greatest(s.closed, day)
                    else s.closed end
     where s.guild_id = head.guild_id and s.bot = head.bot;
end $$;


-- The job failed: the server is left out for a while. Without a cause it was
-- given back.

create or replace function search_fail(guild bigint, bot smallint, cause text,
    out status int)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    if cause is not null then
        perform keeper_park('search', guild, bot, cause);
    end if;

    update search_head s
       set taken_to = null
     where s.guild_id = guild and s.bot = search_fail.bot;
    status := 200;
end $$;


-- The keeper's task tells of what the module does. Undone: entries of servers
-- that are due. Servers that it failed for are told by the keeper, as those of
-- each task.

create or replace function keeper_search(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    more := false;
    lag := (select coalesce(sum(h.arrival - s.arrival), 0)
              from search_head s
             cross join lateral head_of(s.guild_id, s.bot) h
             where s.due_at <= now() and s.format = search_format());
end $$;
