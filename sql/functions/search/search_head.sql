-- The index of searches of a server and bot: who has one, how far it has come,
-- what takes entries out of it. The module makes the segments and reads them:
-- see "Searching" in sql/README.md. Here they are bytes.
--
-- Invariants: each entry with an arrival up to search_head.arrival is in one
-- segment, but for those of the back part (an id below back_id, an arrival up
-- to back_arrival), and of days before oldest. What arrived later than either
-- of the two has its row in log_arrival. A segment is of one day and is never
-- changed. Who changes any of it holds the row of search_head, which is the
-- last of all locks.


-- The format of the segments. An index of another one is made anew.

create or replace function search_format()
returns smallint language sql immutable as $$ select 1::smallint $$;


-- The first day that an index has: of 30 days, and ten minutes more for
-- requests on their way.

create or replace function search_oldest()
returns int language sql stable as $$
    select day_of(time_id(ms(now()) - 600000 - retention_ms('pro')))
$$;


-- The last day that is over, for ten minutes at least.

create or replace function search_closed()
returns int language sql stable as $$
    select day_of(time_id(ms(now()) - 600000)) - 1
$$;


-- The last arrival before what a request may still take back.

create or replace function search_until(guild bigint, bot smallint)
returns bigint language plpgsql stable as $$
begin
    return (
        select least(h.arrival, (
                   select min(x.arrival) - 1 from log_arrival x
                    where x.guild_id = guild and x.bot = search_until.bot
                      and x.recorded_at <= h.last_at
                      and x.held_to is not null))
          from head_of(guild, bot) h);
end $$;


-- When a server is looked at again of which nothing waits: once a day within
-- the first hour, each at its own time. So what is in no segment is younger
-- than the events.

create or replace function search_daily(guild bigint)
returns timestamptz language sql stable as $$
    select date_trunc('day', now() - interval '10 minutes', 'UTC')
           + interval '1 day 10 minutes'
           + (hashint8(guild) & 2047) * interval '1 second'
$$;


-- Makes the index of a (server, bot) anew: from now on all that there is is its
-- back part. What is being made of it is thrown away.

create or replace function search_begin(guild bigint, bot smallint)
returns void language plpgsql as $$
declare
    until  bigint;
begin
    perform from search_head s
      where s.guild_id = guild and s.bot = search_begin.bot
        and not s.leaving
        for update;

    if not found then
        return;
    end if;

    -- once: what is held may be released between two calls, and what lies
    -- between their results would be in the back part and behind it

    until := coalesce(search_until(guild, bot), 0);

    delete from search_segment s
     where s.guild_id = guild and s.bot = search_begin.bot;
    update search_head s
       set (format, arrival, back_id, back_arrival, erased, oldest, closed,
            due_at, taken_to)
           = (search_format(), until, 9223372036854775807, until,
              s.erased + 1, search_oldest(), 0, now(), null)
     where s.guild_id = guild and s.bot = search_begin.bot;
end $$;


-- The index is not read until it is made anew, by search_begin().

create or replace function search_drop(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    update search_head s
       set format = 0, erased = s.erased + 1
     where s.guild_id = guild and s.bot = search_drop.bot;
end $$;


-- A body is not as it must be, as its reader found: the index is made anew. One
-- that is gone tells nothing.

create or replace function search_bad(token text, guild bigint, bot smallint,
    kind smallint, key bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp
set enable_seqscan = off as $$
begin
    status := case when token_live(guild, token) then 204 else 401 end;
    body := '{}';

    if status = 204
       and exists (select from search_segment s
                    where s.guild_id = guild and s.bot = search_bad.bot
                      and s.key = search_bad.key)
    then
        perform search_drop(guild, bot);
    end if;
end $$;


-- Entries went, which are in no segment. Whoever removes entries calls this in
-- his transaction.

create or replace function search_removed(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    update search_head s
       set erased = s.erased + 1
     where s.guild_id = guild and s.bot = search_removed.bot;
end $$;


-- So many entries have arrived that they are worth a segment: whoever records
-- calls this as his last act. He does not wait for one who is just putting the
-- last run, and is not seen by him either: then the next 1024 call for both, or
-- the daily look.

create or replace function search_come_due(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    update search_head s
       set due_at = now()
     where s.guild_id = guild and s.bot = search_come_due.bot
       and s.due_at > now();
end $$;


-- Rows of log_arrival before that time are about to go. An index that has not
-- come to all of them, or has a back part in which what came since may not be
-- told from what was there, is not read until it is made anew; true: there was
-- one.

create or replace function search_forgets(before timestamptz)
returns boolean language plpgsql as $$
begin
    update search_head s
       set format = 0, erased = s.erased + 1
     where s.format > 0
       and exists (select from log_arrival k
                    where k.guild_id = s.guild_id and k.bot = s.bot
                      and k.arrival > case when s.back_id > 0
                                           then s.back_arrival
                                           else s.arrival end
                      and k.recorded_at < before);
    return found;
end $$;


-- Gives a (server, bot) an index, if it may read far back: with its first
-- entries, and when its plan begins to let it. The keeper makes it. Who calls
-- this holds its log_head, as does whoever removes entries, for he does not see
-- the new row as yet.

create or replace function search_give(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    insert into search_head as h (guild_id, bot)
    select s.guild_id, search_give.bot from server s
     where s.guild_id = guild and s.plan = 'pro' and s.forgotten_at is null
    on conflict on constraint search_head_pkey
        do update set leaving = false, format = 0 where h.leaving;
end $$;


-- Takes it from a server that server_lapses() has named: so many segments at a
-- time.

create or replace function search_leave(guild bigint, bot smallint, most int)
returns int language plpgsql as $$
declare
    n  int;
begin
    perform search_drop(guild, bot);

    delete from search_segment s
     where s.guild_id = guild and s.bot = search_leave.bot
       and s.key = any (array(
               select x.key from search_segment x
                where x.guild_id = guild and x.bot = search_leave.bot
                limit most));
    get diagnostics n = row_count;

    if n < most then
        delete from search_head s
         where s.guild_id = guild and s.bot = search_leave.bot;
    end if;

    return 1;
end $$;


-- Forgets the days that nobody may read any more.

create or replace function search_expire(guild bigint, bot smallint)
returns int language plpgsql as $$
begin
    update search_head s
       set oldest = search_oldest()
     where s.guild_id = guild and s.bot = search_expire.bot;

    delete from search_segment s
     where s.guild_id = guild and s.bot = search_expire.bot
       and s.day < search_oldest();
    return 1;
end $$;


-- The keeper's task: days that are past keeping, indexes that leave, and those
-- that have to be made anew. One that has not the first of its days lost it to
-- a clock that was ahead; a time further ahead than any was told by one. While
-- a person of the server is being forgotten its entries change. Undone: nothing
-- that anybody would notice.

create or replace function keeper_searchable(budget int, out more boolean,
    out lag bigint)
language plpgsql set enable_seqscan = off as $$
declare
    most  constant int := greatest(budget / 200, 1);
    done  int := 0;
    due   record;
begin
    perform server_lapses();

    update search_head s
       set due_at = now() where s.due_at > now() + interval '26 hours';

    for due in
        (select s.guild_id, s.bot, 1 as counts,
                'select search_expire($1, $2)' as work
           from search_head s
          where s.oldest < search_oldest() and s.format > 0
          limit most)
         union all
        (select s.guild_id, s.bot, most, 'select search_leave($1, $2, $3)'
           from search_head s
          where s.leaving
          limit 10)
         union all
        (select s.guild_id, s.bot, 1, 'select 1 from search_begin($1, $2)'
           from (select * from search_head where format < search_format()
                  union
                 select * from search_head where format > search_format()
                  union
                 select * from search_head where oldest > search_oldest()) s
          where not s.leaving
            and not exists (select from forgotten_person p
                             where p.guild_id = s.guild_id)
          limit most)
    loop
        done := done + due.counts * keeper_each(
                           'searchable', due.guild_id, due.bot, due.work, most);
    end loop;

    more := done >= most;
    lag := 0;
end $$;
