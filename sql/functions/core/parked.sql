-- What a task of the keeper does for one server after the other, and which
-- servers it leaves out for a while because it failed for them.


-- Is the task to be done for each server by itself, in a transaction within
-- that of the step?

create or replace function keeper_apart(task text)
returns boolean language plpgsql stable as $$
begin
    return coalesce((select k.apart from keeper k
                      where k.task = keeper_apart.task), false);
end $$;


-- Leaves a server out of a task that failed for it: for a minute, and each time
-- twice as long, up to a day.

create or replace function keeper_park(task text, guild bigint, bot smallint,
    fault text)
returns void language plpgsql as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    insert into keeper_parked as p (guild_id, bot, task, at, until, times,
                                    fault)
    values (guild, bot, task, at, at + interval '1 minute', 1, fault)
    on conflict on constraint keeper_parked_pkey do update
       set at = excluded.at, times = p.times + 1, fault = excluded.fault,
           until = excluded.at + least(interval '1 day',
                       interval '1 minute' * 2 ^ least(p.times, 11));
end $$;


-- It did not fail any more.

create or replace function keeper_unpark(task text, guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    delete from keeper_parked p
     where p.guild_id = guild and p.bot = keeper_unpark.bot
       and p.task = keeper_unpark.task;
end $$;


-- Whom the task leaves out now. A statement over all servers is told of them by
-- these arrays: where it runs at the workers of Citus there is no such table.

create or replace function keeper_shut(task text, out guilds bigint[],
    out bots smallint[])
language plpgsql stable as $$
begin
    select coalesce(array_agg(p.guild_id), '{}'), array_agg(p.bot)
      into guilds, bots
      from keeper_parked p
     where p.task = keeper_shut.task and p.until > clock_timestamp();
end $$;


-- Does a task for one (server, bot): a query of $1, the server, $2, the bot and
-- $3, how much it may do. What that gives; 0 if the server is left out, or is
-- from now on.

create or replace function keeper_each(task text, guild bigint, bot smallint,
    work text, most int)
returns int language plpgsql as $$
declare
    n  int;
begin
    if not keeper_apart(task) then
        execute work into n using guild, bot, most;
        return n;
    end if;

    if exists (select from keeper_parked p
                where p.guild_id = guild and p.bot = keeper_each.bot
                  and p.task = keeper_each.task
                  and p.until > clock_timestamp())
    then
        return 0;
    end if;

    begin
        execute work into n using guild, bot, most;
        perform keeper_unpark(task, guild, bot);
        return n;
    exception
        when lock_not_available then
            return 0;
        when others then
            perform keeper_park(task, guild, bot, sqlstate || ' ' || sqlerrm);
            return 0;
    end;
end $$;
