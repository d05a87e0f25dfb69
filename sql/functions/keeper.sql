-- The keeper: the housekeeping of the store, in steps short enough to be in
-- nobody's way. Each begins where the tables say the last one ended, so one
-- may be cut off anywhere; two at once is one too many, and the second goes.

-- The tasks and how often each has its turn. Each is a function keeper_<task>
-- that gets the number of entries it may look at, and says whether there is
-- more to do at once, and what is left undone, in its own unit.

create or replace function keeper_tasks(out task text, out every interval)
returns setof record language sql immutable as $$
    values ('partitions',  interval '10 minutes'),
           ('expiry',      interval '10 minutes'),
           ('requests',    interval '1 minute'),
           ('checkpoints', interval '1 second')
$$;


-- Does a step, the turn of one task: 200 if another one is due at once, 204 if
-- not. body: {"task": {age_ms, took_us, lag, errors, error}, …}, whoever did
-- them; error is of this step.

create or replace function keeper_step(budget int default 20000, out status int,
    out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    its    text;
    fault  text;
begin
    if pg_try_advisory_xact_lock(hashtext('guildlog.keeper')) then
        its := keeper_next();
    end if;

    if its is not null then
        fault := keeper_run(its, budget);
    end if;

    status := case when its is not null and keeper_next() is not null
                   then 200 else 204 end;
    body := (
        select jsonb_object_agg(k.task, jsonb_build_object(
                   'age_ms', ms(clock_timestamp()) - ms(k.done_at),
                   'took_us', k.took_us, 'lag', k.lag, 'errors', k.errors,
                   'error', case when k.task = its then fault end))
          from keeper k join keeper_tasks() t on t.task = k.task
         where k.done_at > '-infinity');
end $$;


-- The task that has been due for the longest time.

create or replace function keeper_next()
returns text language plpgsql as $$
begin
    return (
        select t.task
          from keeper_tasks() t
          left join keeper k on k.task = t.task
         where coalesce(k.due_at <= clock_timestamp(), true)
         order by k.due_at nulls first, t.task limit 1);
end $$;


-- Gives a task its turn; what went wrong, if anything. Somebody in the way is
-- nothing wrong: it is tried again.

create or replace function keeper_run(task text, budget int)
returns text language plpgsql as $$
declare
    began  constant timestamptz := clock_timestamp();
    every  constant interval := (select t.every from keeper_tasks() t
                                  where t.task = keeper_run.task);
    turn   record;
    fault  text;
begin
    insert into keeper (task, done_at) values (task, '-infinity')
    on conflict do nothing;

    begin
        execute format('select more, lag from %I($1)', 'keeper_' || task)
           into turn using budget;

        update keeper k
           set done_at = clock_timestamp(), lag = turn.lag,
               due_at = clock_timestamp()
                        + case when turn.more then interval '0'
                               else every end,
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
               set errors = k.errors + 1,
                   due_at = clock_timestamp() + greatest(every,
                                                         '30 seconds')
             where k.task = keeper_run.task;
    end;

    return fault;
end $$;


-- Partitions for the days to come. Undone: days without one, today's first.

create or replace function keeper_partitions(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    ready  constant boolean := partitions_ensure();
begin
    more := false;
    lag := case when ready then 0 else partitions_missing() end;
end $$;


-- Drops what is past keeping. Undone: partitions that are.

create or replace function keeper_expiry(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    perform partitions_expire();
    more := false;
    lag := (select count(*) from partitions_expired());
end $$;


-- Forgets the requests of active ignore that ran out.

create or replace function keeper_requests(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    delete from active_ignore a
     where a.expires_at < now() - interval '1 hour';
    more := false;
    lag := 0;
end $$;


-- Makes checkpoints. Undone: entries of servers that are to get one.

create or replace function keeper_checkpoints(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    more := checkpoints_make(budget) * 256 >= budget;
    lag := coalesce((select sum(h.arrival - h.counted) from log_head h
                      where h.arrival - h.counted >= 256), 0);
end $$;
