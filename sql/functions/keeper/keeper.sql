-- The keeper: the housekeeping of the store, in short steps. Each step begins
-- where the tables say that the last one ended, so it may be cut off anywhere.
-- Lock: the row of the first task. Only one step runs at a time; a second one
-- does nothing and returns. It is no advisory lock: those anybody may take.

-- The tasks and how often each has its turn. Each is a function keeper_<task>,
-- here or in the room of its subject. It gets the number of entries that it may
-- look at, and says whether there is more to do at once, and what is left
-- undone, in its own unit. Search only says that: the module does the work, see
-- search_job().

create or replace function keeper_tasks(out task text, out every interval)
returns setof record language sql immutable as $$
    values ('partitions',  interval '10 minutes'),
           ('expiry',      interval '10 minutes'),
           ('known',       interval '10 minutes'),
           ('requests',    interval '10 seconds'),
           ('lanes',       interval '10 minutes'),
           ('searchable',  interval '1 minute'),
           ('blocks',      interval '1 second'),
           ('settle',      interval '10 minutes'),
           ('search',      interval '10 seconds'),
           ('forget',      interval '1 second')
$$;


-- Does a step, the turn of one task: 200 if another one is due at once, 202 if
-- it is to hurry besides, 204 if none is. body: {"task": {age_ms, took_us, lag,
-- errors, error, parked}, …}, whoever did them; error is of this step, parked:
-- how many servers are left out. (The module of version 0.2 says when it is
-- night.)

create or replace function keeper_step(budget int default 20000,
    from_hour int default 2, to_hour int default 5, out status int,
    out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    its    text;
    fault  text;
begin
    insert into keeper (task, done_at) values ('partitions', '-infinity')
    on conflict do nothing;
    perform from keeper k where k.task = 'partitions'
        for no key update skip locked;

    if found then
        its := keeper_next();
    end if;

    if its is not null then
        fault := keeper_run(its, budget);
    end if;

    status := case when its is null or keeper_next() is null then 204
                   when keeper_behind(budget) then 202
                   else 200 end;
    body := (
        select jsonb_object_agg(k.task, jsonb_build_object(
                   'age_ms', ms(clock_timestamp()) - ms(k.done_at),
                   'took_us', k.took_us, 'lag', k.lag, 'errors', k.errors,
                   'error', case when k.task = its then fault end,
                   'parked', (select count(*) from keeper_parked p
                               where p.task = k.task)))
          from keeper k join keeper_tasks() t on t.task = k.task
         where k.done_at > '-infinity');
end $$;


-- The task that has been due for the longest time. Chance decides between those
-- that have been for 10 s: a step that is ended from outside leaves no trace,
-- and its task would be the next one for ever. A time further ahead than any
-- turn is was told by a clock that was wrong.

create or replace function keeper_next()
returns text language plpgsql as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    return (
        select t.task
          from keeper_tasks() t
          left join keeper k on k.task = t.task
         where coalesce(k.due_at <= at
                        or k.due_at > at + interval '10 minutes', true)
         order by greatest(k.due_at, at - interval '10 seconds'), random()
         limit 1);
end $$;


-- Are more entries left than five turns would look at? Or is there something to
-- forget, for which somebody waits?

create or replace function keeper_behind(budget int)
returns boolean language plpgsql stable as $$
begin
    return exists (
        select from keeper k
         where k.lag > 5 * budget
            or k.task = 'forget' and k.lag > 0
               and k.due_at <= clock_timestamp());
end $$;


-- Gives a task its turn. Returns what went wrong, or null. A lock that was not
-- free is no error: the task is tried again. A task that failed does each
-- server in a subtransaction of its own from then on (apart), until a turn has
-- reached the last server and none is parked; see keeper_park(). The result
-- also names the servers that were parked since the last turn of the task.

create or replace function keeper_run(task text, budget int)
returns text language plpgsql as $$
declare
    began  constant timestamptz := clock_timestamp();
    its    record;
    turn   record;
    fault  text;
    n      int := 0;       -- servers that failed
begin
    select * into its from keeper_tasks() t where t.task = keeper_run.task;

    insert into keeper (task, done_at) values (task, '-infinity')
    on conflict do nothing;

    begin
        execute format('select more, lag from %I($1)', 'keeper_' || task)
           into turn
          using budget;

        select string_agg('server ' || p.guild_id || ': ' || p.fault, '; '),
               count(*)
          into fault, n
          from keeper_parked p
          join keeper k on k.task = p.task
         where p.task = keeper_run.task and p.at > k.done_at;

        -- one that is not tried again has nothing left to do

        delete from keeper_parked p
         where p.task = keeper_run.task
           and p.until < now() - interval '1 day';

        update keeper k
           set errors = k.errors + n,
               apart = k.apart and turn.more
                       or exists (select from keeper_parked p
                                   where p.task = keeper_run.task),
               done_at = clock_timestamp(), lag = turn.lag,
               due_at = clock_timestamp()
                        + case when turn.more then interval '0'
                               else its.every end,
               took_us = extract(epoch from clock_timestamp() - began)
                         * 1000000
         where k.task = keeper_run.task;
    exception
        when lock_not_available then
            update keeper k
               set due_at = clock_timestamp() + interval '5 seconds'
             where k.task = keeper_run.task;
        when query_canceled or others then
            fault := sqlstate || ' ' || sqlerrm;
            update keeper k
               set errors = k.errors + 1, apart = true,
                   due_at = clock_timestamp()
                            + case when k.apart
                                   then greatest(its.every, '30 seconds')
                                   else least(its.every, '10 seconds') end
             where k.task = keeper_run.task;
    end;

    return fault;
end $$;


-- Forgets the requests of active ignore that ran out, a server after the other,
-- and pairs that have ended. Undone: held entries that were to be released a
-- minute ago.

create or replace function keeper_requests(budget int, out more boolean,
    out lag bigint)
language plpgsql set enable_seqscan = off as $$
declare
    shut  constant record := keeper_shut('requests');
    rest  int := greatest(budget, 1);
    its   record;
begin
    for its in
        select a.guild_id, a.bot from active_ignore a
         where a.expires_at < now() - interval '1 hour'
            or a.requested_at > clock_timestamp() + interval '10 seconds'
         union
        select h.guild_id, h.bot from log_arrival h
         where h.held_to > clock_timestamp() + interval '10 seconds'
            or h.held_to < clock_timestamp() - interval '1 hour'
         union
        select c.guild_id, c.bot
          from (select x.guild_id, x.bot from alert_count x
                 where x.day < day_now() - 1
                   and (x.guild_id, x.bot) not in (
                           select * from unnest(shut.guilds, shut.bots))
                 order by x.day limit 1000) c
    loop
        exit when rest <= 0;
        rest := rest - keeper_each('requests', its.guild_id, its.bot,
                                   'select requests_forget($1, $2, $3)', rest);
    end loop;

    -- who delivers does it; where nobody does, it is done here

    perform from held_release(least(budget, 1000));
    perform pairs_expire();
    more := sessions_forget(budget) = budget or rest <= 0;
    lag := (select count(*) from log_arrival h
             where h.held_to is not null
               and h.held_to < now() - interval '1 minute');
end $$;


-- What ended a minute ago spoils nothing any more, and who decides did not come
-- to it again.

create or replace function pairs_expire()
returns void language plpgsql set enable_seqscan = off as $$
declare
    before  constant bigint := ms(clock_timestamp()) - 60000;
begin
    delete from pair p where p.due < before and p.state = 1;
end $$;


-- The same for one (server, bot), of what alerts counted at most so much; how
-- much was done. A request or a held entry whose time is more than 10 s ahead
-- was written by a clock that was ahead: the request is forgotten, too, and the
-- entry is not held until that time.

create or replace function requests_forget(guild bigint, bot smallint,
    most int)
returns int language plpgsql as $$
declare
    at     constant timestamptz := clock_timestamp();
    ahead  constant timestamptz := at + interval '10 seconds';
    n      int;
    m      int;
begin
    delete from active_ignore a
     where a.guild_id = guild and a.bot = requests_forget.bot
       and (a.expires_at < now() - interval '1 hour'
            or a.requested_at > ahead);

    get diagnostics n = row_count;

    update log_arrival h
       set held_to = at
     where h.guild_id = guild and h.bot = requests_forget.bot
       and h.held_to > ahead;

    n := n + held_expire(guild, bot);

    delete from alert_count c
     where c.guild_id = guild and c.bot = requests_forget.bot
       and c.day < day_now() - 1
       and c.ctid = any (array(
               select x.ctid from alert_count x
                where x.guild_id = guild and x.bot = requests_forget.bot
                  and x.day < day_now() - 1
                limit most));

    get diagnostics m = row_count;
    return n + m;
end $$;


-- Of who has left, or was in voice, the moment is known, so that a second
-- instance of a bot tells nothing twice: within 24 hours. Looks at so many rows
-- from where it ended the last time, and deletes those that are older. A server
-- with a row that cannot be read is left out for a while, if it still has one.
-- Undone: such rows.

create or replace function keeper_known(budget int, out more boolean,
    out lag bigint)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    before  constant bigint := ms(clock_timestamp()) - 86400000;
    last    bigint[] := coalesce((
                select k.place from keeper k where k.task = 'known'),
                '{0,0,0}');
    shut    constant record := keeper_shut('known');
    bad     record;
begin
    more := false;

    perform keeper_unpark('known', p.guild_id, 0::smallint)
       from keeper_parked p
      where p.task = 'known' and p.until <= clock_timestamp()
        and known_reads(p.guild_id, before);

    with seen as materialized (
        select x.guild_id, x.kind, x.id,
               x.guild_id <> all (shut.guilds) as looked,
               known_gone(x.kind, x.doc, before) as old
          from known x
         where (x.guild_id, x.kind, x.id) > (last[1], last[2]::smallint,
                                             last[3])
         order by x.guild_id, x.kind, x.id
         limit budget
    ), gone as (
        delete from known k
         using seen s
         where s.old and s.looked and k.guild_id = s.guild_id
           and k.kind = s.kind and k.id = s.id
           and known_gone(k.kind, k.doc, before)
    )
    select case when count(*) = budget
                then max(array[s.guild_id, s.kind, s.id]) end as place,
           coalesce(array_agg(array[s.guild_id, s.kind, s.id])
                        filter (where s.old is null and s.looked), '{}')
               as keys,
           count(*) filter (where s.old is null) as n
      into bad from seen s;

    lag := bad.n;
    perform keeper_park('known', b.guild, 0::smallint, format(
                'a row of "known" cannot be read: kind %s, id %s', b.kind,
                b.id))
       from (select distinct on (bad.keys[i][1]) bad.keys[i][1] as guild,
                    bad.keys[i][2] as kind, bad.keys[i][3] as id
               from generate_subscripts(bad.keys, 1) i
              order by bad.keys[i][1]) b;

    update keeper k set place = bad.place where k.task = 'known';
end $$;


-- Can all rows of the server be read?

create or replace function known_reads(guild bigint, before bigint)
returns boolean language plpgsql stable as $$
begin
    return not exists (select from known x
                        where x.guild_id = guild
                          and known_gone(x.kind, x.doc, before) is null);
end $$;


-- Has a member left, or somebody left voice, before that? Null: the row cannot
-- be read.

create or replace function known_gone(kind smallint, doc text, before bigint)
returns boolean language plpgsql immutable as $$
begin
    return case when kind not in (4, 5) or doc = ''
                     or (doc::json ->> 'at')::bigint >= before then false
                when kind = 4 then doc::json ->> 'gone' is not null
                else doc::json ->> 'channel_id' is null end;
exception when data_exception then
    return null;
end $$;


-- Deletes closed lanes that nothing refers to, and refusals that count no more.
-- Undone: lanes to be looked at.

create or replace function keeper_lanes(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    most  constant int := greatest(budget / 64, 1);
    past  bigint;
begin
    for past in
        select r.guild_id from refusal r
         where r.since < now() - interval '1 hour'
    loop
        perform keeper_each('lanes', past, 0::smallint,
                            'select refusal_forget($1)', null);
    end loop;

    more := lanes_forget(most) >= most;
    lag := (select count(*) from lane l
             where l.state = 'closed' and l.look_at <= now());
end $$;
