-- Corrections: what came late, or was taken back, below checkpoints that are
-- there. Counts add them up, the keeper works them into the checkpoints.
-- Whoever makes or moves one holds the (server, bot).


-- Entries came (n = 1; they are there), or go (-1; they are there still).

create or replace function corrections_add(guild bigint, bot smallint,
    ids bigint[], n int)
returns void language plpgsql as $$
declare
    last   bigint;
    first  bigint;
    late   bigint;
begin
    select greatest(h.keyed_id, (
               select c.last_id from log_checkpoint c
                where c.guild_id = guild and c.bot = corrections_add.bot
                  and c.kind = 0 and c.key = 0
                order by c.last_id desc limit 1)),
           (select min(i) from unnest(ids) i)
      into last, first
      from log_head h
     where h.guild_id = guild and h.bot = corrections_add.bot;

    if first > last then
        return;
    end if;

    -- one by one, so that each opens its partition only

    for late in
        select i from unnest(ids) i where i <= last
    loop
        insert into log_correction as c
        select guild, corrections_add.bot, k.kind, k.key, e.id, k.place,
               corrections_add.n
          from log_entry_one(guild, corrections_add.bot, late) e
         cross join lateral (
               values (0, 0, e.type + 1),
                      (1, e.channel_id, e.type + 1),
                      (2, e.executor_id, e.type + 1),
                      (3, e.target_id, e.type + 1),
                      (3, nullif(e.target_id, e.executor_id), e.type + 103)
               ) k (kind, key, place)
         where (select true from log_checkpoint l
                 where l.guild_id = guild
                   and l.bot = corrections_add.bot
                   and l.kind = k.kind and l.key = k.key
                   and l.last_id >= late
                 limit 1)
        on conflict on constraint log_correction_pkey
            do update set n = c.n + excluded.n;
    end loop;
end $$;


-- Works corrections into checkpoints, as many of these as that; how many it
-- changed. Again from the first one on where it did not come to the last.

create or replace function corrections_fold(budget int default 300)
returns int language plpgsql as $$
declare
    changed  int := 0;
    owed     record;
begin
    for owed in
        select distinct c.guild_id, c.bot from log_correction c
    loop
        exit when changed >= budget;

        if head_take(owed.guild_id, owed.bot) then
            changed := changed + keeper_each('corrections', owed.guild_id,
                           owed.bot, 'select corrections_fold_of($1, $2, $3)',
                           budget - changed);
        end if;
    end loop;

    return changed;
end $$;


-- The same for one (server, bot), which the caller has taken.

create or replace function corrections_fold_of(guild bigint, bot smallint,
    budget int)
returns int language plpgsql as $$
declare
    changed  int := 0;
    owed     record;
begin
    for owed in
        select distinct c.kind, c.key from log_correction c
         where c.guild_id = guild and c.bot = corrections_fold_of.bot
    loop
        exit when changed >= budget;

        changed := changed + greatest(1, corrections_move(
            guild, bot, owed.kind, owed.key, budget - changed));
    end loop;

    return changed;
end $$;


-- Gives some of the checkpoints of a key, from the first one on that is short
-- of something, what they are short of. Those behind are short of all of it,
-- from the next one on.

create or replace function corrections_move(guild bigint, bot smallint,
    kind smallint, key bigint, budget int)
returns int language plpgsql as $$
declare
    low      bigint := (
                 select min(x.id) from log_correction x
                  where x.guild_id = guild and x.bot = corrections_move.bot
                    and x.kind = corrections_move.kind
                    and x.key = corrections_move.key);
    before   log_checkpoint;
    c        log_checkpoint;
    owed     int[] := array_fill(0, array[204]);
    o        record;
    changed  int := 0;
begin
    select * into before from log_checkpoint l
     where l.guild_id = guild and l.bot = corrections_move.bot
       and l.kind = corrections_move.kind and l.key = corrections_move.key
       and l.last_id < low
     order by l.last_id desc limit 1;

    for c in
        select * from log_checkpoint l
         where l.guild_id = guild and l.bot = corrections_move.bot
           and l.kind = corrections_move.kind and l.key = corrections_move.key
           and l.last_id >= low
         order by l.last_id limit budget
    loop
        for o in
            select x.place, sum(x.n)::int as n from log_correction x
             where x.guild_id = guild and x.bot = corrections_move.bot
               and x.kind = corrections_move.kind
               and x.key = corrections_move.key
               and x.id >= low and x.id <= c.last_id
             group by x.place
        loop
            owed[o.place] := owed[o.place] + o.n;
        end loop;

        c.cum := array(select u.cum + u.n
                         from unnest(c.cum, owed[:cardinality(c.cum)])
                                  with ordinality u (cum, n, place)
                        order by u.place);
        update log_checkpoint l
           set cum = c.cum
         where l.guild_id = guild and l.bot = c.bot
           and l.kind = c.kind and l.key = c.key and l.last_id = c.last_id;

        perform checkpoints_split(before, c);
        before := c;
        low := c.last_id + 1;
        changed := changed + 1;
    end loop;

    delete from log_correction x
     where x.guild_id = guild and x.bot = corrections_move.bot
       and x.kind = corrections_move.kind and x.key = corrections_move.key
       and (changed = 0 or x.id < low);

    insert into log_correction as x (guild_id, bot, kind, key, id, place, n)
    select guild, corrections_move.bot, corrections_move.kind,
           corrections_move.key, low, u.place, u.n
      from unnest(owed) with ordinality u (n, place)
     where u.n <> 0
       and exists (select from log_checkpoint l
                    where l.guild_id = guild and l.bot = corrections_move.bot
                      and l.kind = corrections_move.kind
                      and l.key = corrections_move.key
                      and l.last_id >= low)
    on conflict on constraint log_correction_pkey
        do update set n = x.n + excluded.n;

    return changed;
end $$;


-- Late entries may have made the way between two checkpoints a long one.

create or replace function checkpoints_split(before log_checkpoint,
    c log_checkpoint)
returns void language plpgsql as $$
declare
    step  constant int := checkpoint_step(c.kind);
begin
    if (select sum(u.cum - u.before)
          from unnest(c.cum[:102], before.cum[:102]) u (cum, before))
       > 2 * step
    then
        perform checkpoints_extend(before, c.last_id, step, 100000);
    end if;
end $$;
