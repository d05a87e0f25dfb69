-- Corrections: what came late, or was taken back, below checkpoints that are
-- there. Counts add them up, the keeper works them into the checkpoints.
-- Whoever makes or moves one holds the (server, bot).


-- Entries came (n = 1; they are there), or go (-1; they are there still).

create or replace function corrections_add(guild bigint, bot smallint,
    ids bigint[], n int)
returns void language plpgsql as $$
declare
    last   constant bigint := (checkpoint_last(guild, bot)).last_id;
    first  constant bigint := (select min(i) from unnest(ids) i);
    late   bigint;
begin
    if first > last then
        return;
    end if;

    -- one by one, so that each opens its partition only

    for late in
        select i from unnest(ids) i where i <= last
    loop
        insert into log_correction as c
        select guild, corrections_add.bot, e.id, e.type + 1, corrections_add.n
          from log_entry_one(guild, corrections_add.bot, late) e
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


-- The same for one (server, bot), which the caller has taken: gives some of the
-- checkpoints, from the first one on that is short of something, what they are
-- short of. Those behind are short of all of it, from the next one on.

create or replace function corrections_fold_of(guild bigint, bot smallint,
    budget int)
returns int language plpgsql as $$
declare
    low      bigint := (
                 select min(x.id) from log_correction x
                  where x.guild_id = guild and x.bot = corrections_fold_of.bot);
    before   log_checkpoint;
    c        log_checkpoint;
    owed     int[] := array_fill(0, array[102]);
    o        record;
    changed  int := 0;
begin
    select * into before from log_checkpoint l
     where l.guild_id = guild and l.bot = corrections_fold_of.bot
       and l.last_id < low
     order by l.last_id desc limit 1;

    for c in
        select * from log_checkpoint l
         where l.guild_id = guild and l.bot = corrections_fold_of.bot
           and l.last_id >= low
         order by l.last_id limit budget
    loop
        for o in
            select x.place, sum(x.n)::int as n from log_correction x
             where x.guild_id = guild and x.bot = corrections_fold_of.bot
               and x.id >= low and x.id <= c.last_id
             group by x.place
        loop
            owed[o.place] := owed[o.place] + o.n;
        end loop;

        c.cum := array(select u.cum + u.n
                         from unnest(c.cum, owed) with ordinality
                                  u (cum, n, place)
                        order by u.place);
        update log_checkpoint l
           set cum = c.cum
         where l.guild_id = guild and l.bot = c.bot
           and l.last_id = c.last_id;

        perform checkpoints_split(before, c);
        before := c;
        low := c.last_id + 1;
        changed := changed + 1;
    end loop;

    perform corrections_move(guild, bot, low, owed, changed = 0);
    return greatest(changed, 1);
end $$;


-- What is owed to the checkpoints from that id on, if there are any, stands
-- there; all that was owed before is done.

create or replace function corrections_move(guild bigint, bot smallint,
    low bigint, owed int[], whole boolean)
returns void language plpgsql as $$
begin
    delete from log_correction x
     where x.guild_id = guild and x.bot = corrections_move.bot
       and (whole or x.id < low);

    insert into log_correction as x (guild_id, bot, id, place, n)
    select guild, corrections_move.bot, low, u.place, u.n
      from unnest(owed) with ordinality u (n, place)
     where u.n <> 0
       and exists (select from log_checkpoint l
                    where l.guild_id = guild and l.bot = corrections_move.bot
                      and l.last_id >= low)
    on conflict on constraint log_correction_pkey
        do update set n = x.n + excluded.n;
end $$;


-- Late entries may have made the way between two checkpoints a long one.

create or replace function checkpoints_split(before log_checkpoint,
    c log_checkpoint)
returns void language plpgsql as $$
begin
    if (select sum(u.cum - u.before) from unnest(c.cum, before.cum)
                                              u (cum, before))
       > 2 * checkpoint_every()
    then
        perform checkpoints_extend(before, c.last_id, 100000);
    end if;
end $$;
