-- Checkpoints: for the counting of many entries at once. Whoever changes or
-- counts holds the (server, bot), as record_begin() does.


-- Makes checkpoints, one every 256 entries, for what is older than 10 s,
-- looking at about so many entries; how many it made, 0 when there is nothing
-- left to do. Servers that are being recorded to are left for the next call.

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
        select h.guild_id, h.bot from log_head h
         where h.arrival - h.counted >= 256
         order by h.arrival - h.counted desc
    loop
        exit when looked >= budget;

        perform from log_head h
          where h.guild_id = head.guild_id and h.bot = head.bot
            for update skip locked;

        if found then
            more := checkpoints_extend(head.guild_id, head.bot, until_id,
                                       budget - looked);
            made := made + more;
            looked := looked + greatest(more * 256, 256);
        end if;
    end loop;

    return made;
end $$;


-- Adds the checkpoints that follow the last one of a (server, bot).

create or replace function checkpoints_extend(guild bigint, bot smallint,
    until_id bigint, budget int)
returns int language plpgsql as $$
declare
    base  log_checkpoint;
    made  int;
begin
    select * into base from log_checkpoint c
     where c.guild_id = guild and c.bot = checkpoints_extend.bot
     order by c.last_id desc limit 1;

    insert into log_checkpoint
    with tail as (
        select e.id, e.type,
               (row_number() over (order by e.id) - 1) / 256 as step
          from log_entry e
         where e.guild_id = guild
           and e.bot = checkpoints_extend.bot
           and e.id > coalesce(base.last_id, 0)
           and e.id < until_id
         order by e.id
         limit greatest(budget, 256)
    ), step as (
        select t.step, max(t.id) as last_id from tail t
         group by t.step having count(*) = 256
    ), counted as (
        select t.step, t.type, count(*) as n from tail t group by 1, 2
    ), running as (
        select s.last_id, k.type,
               coalesce(base.cum[k.type + 1], 0)
               + sum(coalesce(c.n, 0)) over (partition by k.type
                                             order by s.step) as n
          from step s
         cross join generate_series(0, 101) k (type)
          left join counted c on c.step = s.step and c.type = k.type
    )
    select guild, checkpoints_extend.bot, r.last_id,
           array_agg(r.n::int order by r.type)
      from running r group by r.last_id;

    get diagnostics made = row_count;

    update log_head h
       set counted = h.arrival - (
               select count(*)
                 from (select from log_entry e
                        where e.guild_id = guild
                          and e.bot = checkpoints_extend.bot
                          and e.id > coalesce((
                                  select max(c.last_id) from log_checkpoint c
                                   where c.guild_id = guild
                                     and c.bot = checkpoints_extend.bot), 0)
                        limit 1000) e)
     where h.guild_id = guild and h.bot = checkpoints_extend.bot;

    return made;
end $$;


-- An entry came or went at that id: what was counted above it no longer holds.

create or replace function checkpoints_drop(guild bigint, bot smallint,
    id bigint)
returns void language plpgsql as $$
begin
    delete from log_checkpoint c
     where c.guild_id = guild
       and c.bot = checkpoints_drop.bot
       and c.last_id >= checkpoints_drop.id;

    if found then
        update log_head h
           set counted = 0
         where h.guild_id = guild and h.bot = checkpoints_drop.bot;
    end if;
end $$;


-- The window of the server grows over what may have been left out of a rewrite
-- since it was counted: it is counted anew.

create or replace function counted_forget(guild bigint)
returns void language plpgsql as $$
begin
    perform from log_head h where h.guild_id = guild order by h.bot for update;

    delete from log_checkpoint c where c.guild_id = guild;
    update log_head h set counted = 0 where h.guild_id = guild;
end $$;
