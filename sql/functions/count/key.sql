-- Heavy keys: channels and members with so many entries that these are worth
-- checkpoints of their own. Whoever looks for them holds the (server, bot), as
-- record_begin() does.


-- From how many entries on a key is heavy: the setting guildlog.heavy.

create or replace function heavy_from()
returns int language sql stable as $$
    select coalesce(nullif(current_setting('guildlog.heavy', true), ''),
                    '1600')::int
$$;


-- How many entries lie between two checkpoints.

create or replace function checkpoint_step(kind smallint)
returns int language sql stable as $$
    select case kind when 0 then checkpoint_every() else heavy_from() / 8 end
$$;


-- Looks at entries, about so many, for the keys they have; at how many it did.
-- Servers that are being recorded to are left for the next call.

create or replace function keys_make(budget int default 20000)
returns int language plpgsql as $$
declare
    looked   int := 0;
    head     record;
begin
    for head in
        select h.guild_id, h.bot from log_head h
         where h.counted - h.keyed >= heavy_from() / 2
         order by h.counted - h.keyed desc
    loop
        exit when looked >= budget;
        continue when keeper_parks('keys', head.guild_id, head.bot);
        continue when not head_take(head.guild_id, head.bot);

        looked := looked + keeper_each('keys', head.guild_id, head.bot,
                      'select keys_make_of($1, $2, $3)', budget - looked);
    end loop;

    return looked;
end $$;


-- The same for one (server, bot), which the caller has taken.

create or replace function keys_make_of(guild bigint, bot smallint, budget int)
returns int language plpgsql as $$
declare
    stretch  constant int := heavy_from() / 2;
    looked   int := 0;
begin
    while looked < budget
          and exists (select from log_head h
                       where h.guild_id = guild and h.bot = keys_make_of.bot
                         and h.counted - h.keyed >= stretch)
    loop
        looked := looked + greatest(stretch, keys_look(guild, bot, stretch,
                                                       budget));
    end loop;

    return looked;
end $$;


-- Looks at the next stretch of what is counted; at how many entries it did. A
-- key that comes up three times in it is noticed: of the heavy ones none is
-- missed for long, of the others few are kept. What remains after it is exact
-- near the end: till then entries that were taken back or came late make it
-- differ.

create or replace function keys_look(guild bigint, bot smallint, stretch int,
    budget int)
returns int language plpgsql as $$
declare
    low     constant bigint := (
                select h.keyed_id from log_head h
                 where h.guild_id = guild and h.bot = keys_look.bot);
    high    constant bigint := (checkpoint_last(guild, bot, 0::smallint,
                                                0)).last_id;
    upto    constant bigint[] := array(
                select e.id from log_entry e
                 where e.guild_id = guild and e.bot = keys_look.bot
                   and e.id > low and e.id <= high
                 order by e.id limit stretch);
    passed  constant int := coalesce(cardinality(upto), 0);
    last    constant bigint := coalesce(upto[passed], low);
    looked  int := passed;
    remain  bigint;
    found   log_key[];
    due     log_key;
begin
    found := array(
        select row(guild, keys_look.bot, k.kind, k.key, false, count(*),
                   now())::log_key
          from log_entry e
         cross join lateral (
               values (1, e.channel_id), (2, e.executor_id), (3, e.target_id)
               ) k (kind, key)
         where e.guild_id = guild and e.bot = keys_look.bot
           and e.id > low and e.id <= last
           and k.key is not null
         group by k.kind, k.key);

    insert into log_key (guild_id, bot, kind, key, n)
    select guild, keys_look.bot, f.kind, f.key, 0
      from unnest(found) f
     where f.n >= 3
    on conflict do nothing;

    for due in
        with more as (
            update log_key k
               set n = k.n + f.n
              from unnest(found) f
             where k.guild_id = guild and k.bot = keys_look.bot
               and k.kind = f.kind and k.key = f.key
            returning k.*
        )
        select m.* from more m
         where m.n >= case when m.heavy then checkpoint_step(m.kind)
                           else heavy_from() end
    loop
        looked := looked + key_extend(due, last, budget);
    end loop;

    select count(*) into remain
      from (select from log_entry e
             where e.guild_id = guild and e.bot = keys_look.bot
               and e.id > last and e.id <= high
             limit 2 * stretch) e;

    update log_head h
       set keyed_id = last,
           keyed = least(h.counted - remain,
                         case when remain = 2 * stretch
                              then h.keyed + passed end)
     where h.guild_id = guild and h.bot = keys_look.bot;

    return looked;
end $$;


-- Adds the checkpoints of a key up to an id; how many entries they hold.

create or replace function key_extend(k log_key, upto bigint, budget int)
returns int language plpgsql as $$
declare
    step  constant int := checkpoint_step(k.kind);
    base  log_checkpoint := checkpoint_last(k.guild_id, k.bot, k.kind, k.key);
    made  constant int := checkpoints_extend(base, upto + 1, step, budget);
begin
    base := checkpoint_last(k.guild_id, k.bot, k.kind, k.key);

    update log_key l
       set heavy = k.heavy or made > 0,
           n = (select count(*)
                  from key_entries(k.guild_id, k.bot, k.kind, k.key,
                                   base.last_id + 1, upto + 1, step))
     where l.guild_id = k.guild_id and l.bot = k.bot
       and l.kind = k.kind and l.key = k.key;

    return made * step;
end $$;
