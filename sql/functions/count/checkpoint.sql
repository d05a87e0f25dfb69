-- Checkpoints: for the counting of many entries at once. Whoever changes or
-- counts holds the (server, bot), as record_begin() does.

-- an entry of a key; apart: the key is its target, and not its executor

-- How many entries lie between two checkpoints: whoever counts walks through as
-- many at most at each end. They are made two at a time, or more.

create or replace function checkpoint_every()
returns int language sql immutable as $$ select 64 $$;


-- Makes checkpoints for what is older than 10 s, looking at about so many
-- entries; how many it made, 0 when there is nothing left to do. Servers that
-- are being recorded to are left for the next call.

create or replace function checkpoints_make(budget int default 20000)
returns int language plpgsql as $$
declare
    until_id  constant bigint := time_id(ms(clock_timestamp()) - 10000);
    made      int := 0;
    looked    int := 0;
    more      int;
    head      record;
begin
    for head in
        select h.guild_id, h.bot from log_uncounted u
          join log_head h on h.guild_id = u.guild_id and h.bot = u.bot
         order by h.arrival - h.counted desc
    loop
        exit when looked >= budget;

        continue when keeper_parks('checkpoints', head.guild_id, head.bot);

        if head_take(head.guild_id, head.bot) then
            more := keeper_each('checkpoints', head.guild_id, head.bot,
                                format('select checkpoints_count($1, $2, %s, '
                                       '$3)', until_id), budget - looked);
            made := made + more;
            looked := looked + greatest(more * checkpoint_every(), 256);
        end if;
    end loop;

    return made;
end $$;


-- Takes the (server, bot) unless somebody has it.

create or replace function head_take(guild bigint, bot smallint)
returns boolean language plpgsql as $$
begin
    perform from log_head h
      where h.guild_id = guild and h.bot = head_take.bot
        for update skip locked;
    return found;
end $$;


-- So many entries have arrived that they may get a checkpoint: whoever records
-- calls this.

create or replace function checkpoints_come_due(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    insert into log_uncounted (guild_id, bot) values (guild, bot)
    on conflict do nothing;
end $$;


-- Adds the checkpoints that follow the last one, if entries wait for two. Who
-- has fewer waiting is not listed any more.

create or replace function checkpoints_count(guild bigint, bot smallint,
    until_id bigint, budget int)
returns int language plpgsql as $$
declare
    made  int := 0;
begin
    if checkpoints_wait(guild, bot) then
        made := checkpoints_follow(guild, bot, until_id, budget);
    end if;

    if not checkpoints_wait(guild, bot) then
        delete from log_uncounted u
         where u.guild_id = guild and u.bot = checkpoints_count.bot;
    end if;

    return made;
end $$;


create or replace function checkpoints_wait(guild bigint, bot smallint)
returns boolean language plpgsql stable as $$
begin
    return exists (
        select from log_head h
         where h.guild_id = guild and h.bot = checkpoints_wait.bot
           and h.arrival - h.counted >= 2 * checkpoint_every());
end $$;


create or replace function checkpoints_follow(guild bigint, bot smallint,
    until_id bigint, budget int)
returns int language plpgsql as $$
declare
    last  log_checkpoint := checkpoint_last(guild, bot);
    made  constant int :=
          checkpoints_extend(last, until_id, greatest(budget, 256));
begin
    last := checkpoint_last(guild, bot);

    update log_head h
       set counted = h.arrival - (
               select count(*)
                 from (select from log_entry e
                        where e.guild_id = guild
                          and e.bot = checkpoints_follow.bot
                          and e.id > last.last_id
                        limit 1000) e)
     where h.guild_id = guild and h.bot = checkpoints_follow.bot;

    return made;
end $$;


-- The last checkpoint; before the first one there is nothing.

create or replace function checkpoint_last(guild bigint, bot smallint)
returns log_checkpoint language plpgsql stable as $$
declare
    last  log_checkpoint;
begin
    select * into last from log_checkpoint c
     where c.guild_id = guild and c.bot = checkpoint_last.bot
     order by c.last_id desc limit 1;

    if not found then
        last.guild_id := guild;
        last.bot := bot;
        last.last_id := 0;
        last.cum := array_fill(0, array[102]);
    end if;

    return last;
end $$;


-- Adds checkpoints behind one of them, looking at no more entries than the
-- budget; how many it made.

create or replace function checkpoints_extend(base log_checkpoint,
    until_id bigint, budget int)
returns int language plpgsql as $$
declare
    made  int;
begin
    insert into log_checkpoint (guild_id, bot, last_id, cum)
    select c.guild_id, c.bot, c.last_id, c.cum
      from checkpoints_next(base, until_id, budget) c;

    get diagnostics made = row_count;
    return made;
end $$;


-- Entry by entry: to sum up 102 counts for each of them takes longer.

create or replace function checkpoints_next(base log_checkpoint,
    until_id bigint, budget int)
returns setof log_checkpoint language plpgsql stable as $$
declare
    cum  int[] := base.cum;
    n    int := 0;
    e    record;
begin
    for e in
        select x.id, x.type from log_entry x
         where x.guild_id = base.guild_id and x.bot = base.bot
           and x.id > base.last_id and x.id < until_id
         order by x.id limit budget
    loop
        cum[e.type + 1] := cum[e.type + 1] + 1;
        n := n + 1;

        if n = checkpoint_every() then
            base.last_id := e.id;
            base.cum := cum;
            return next base;
            n := 0;
        end if;
    end loop;
end $$;


-- The window of the server grows over what may have been left out of a rewrite
-- since it was counted: it is counted anew.

create or replace function counted_forget(guild bigint)
returns void language plpgsql as $$
begin
    perform from log_head h where h.guild_id = guild order by h.bot for update;

    delete from log_checkpoint c where c.guild_id = guild;
    delete from log_correction c where c.guild_id = guild;
    update log_head h set counted = 0 where h.guild_id = guild;
    perform checkpoints_come_due(guild, h.bot)
       from log_head h where h.guild_id = guild;
end $$;


-- Forgets what was counted up to an id, a server after the other, until it is
-- so many rows; true if there is more. It takes no lock: only the keeper
-- counts, which this is, and entries that are being recorded are younger.

create or replace function counted_expire(oldest bigint, most int)
returns boolean language plpgsql as $$
declare
    gone  int := 0;
    head  record;
begin
    for head in
        select h.guild_id, h.bot from log_head h
         cross join lateral (
               select 1 from log_checkpoint c
                where c.guild_id = h.guild_id and c.bot = h.bot
                  and c.last_id < oldest
                order by c.last_id limit 1) c   -- one by one, by the index
    loop
        if gone >= most then
            return true;
        end if;

        gone := gone + keeper_each('expiry', head.guild_id, head.bot,
                    format('select counted_expire_of($1, $2, %s)', oldest),
                    null);
    end loop;

    return false;
end $$;


-- The same for one (server, bot); how many rows.

create or replace function counted_expire_of(guild bigint, bot smallint,
    oldest bigint)
returns int language plpgsql as $$
declare
    n  int;
begin
    delete from log_checkpoint c
     where c.guild_id = guild and c.bot = counted_expire_of.bot
       and c.last_id < oldest;

    get diagnostics n = row_count;
    return n;
end $$;
