-- What blocks say of deliveries, when these are decided.


-- Of some blocks of a (server, bot), two days after their entries came in: what
-- is decided is said, so that places need not be looked up any more. What is
-- not is looked at again on the next day. How many.

create or replace function blocks_settle(guild bigint, bot smallint, most int)
returns int language plpgsql as $$
declare
    k  log_block;
    n  int := 0;
begin
    if not blocks_take(guild, bot) then
        return 0;
    end if;

    for k in
        select * from log_block b
         where b.guild_id = guild and b.bot = blocks_settle.bot
           and b.settle <= day_now()
         order by b.first_id limit most
    loop
        perform block_settle(k);
        n := n + 1;
    end loop;

    return n;
end $$;


create or replace function block_settle(k log_block)
returns void language plpgsql as $$
declare
    next   constant int := day_now() + 1;
    lines  text[] := string_to_array(k.said, E'\n');
    open   constant log_found[] := array(
        select h
          from unnest(k.ids, lines) u (id, said)
         cross join lateral log_heard(u.id, null, u.said, null) h
         where h.dstatus is null and h.lane is not null);
    told   record;
begin
    for told in
        select array_position(k.ids, d.id) as place, o.dchannel_id, o.lane,
               o.seq, d.status, d.reason, d.message_id
          from unnest(deliveries_first(k.guild_id, open)) d
          join unnest(open) o on o.id = d.id
         where coalesce(d.reason not in ('queued', 'retrying', 'in_flight'),
                        true)
    loop
        lines[told.place] := log_said(told.status, told.reason,
            told.dchannel_id, told.message_id,
            case when told.status < 2 then told.lane end,
            case when told.status < 2 then told.seq end);
    end loop;

    update log_block b
       set said = array_to_string(lines, E'\n'),
           settle = case when exists (select from unnest(lines) l
                                       where l !~ '^[0-9]')
                         then next end,
           lost = exists (select from unnest(lines) l where l ~ '^[01]')
     where b.guild_id = k.guild_id and b.bot = k.bot
       and b.first_id = k.first_id;
end $$;


-- The keeper's task. Undone: blocks whose time has come.

create or replace function keeper_settle(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    shut  constant record := keeper_shut('settle');
    rest  int := greatest(budget / 200, 1);
    due   record;
begin
    for due in
        select distinct b.guild_id, b.bot
          from (select k.guild_id, k.bot from log_block k
                 where k.settle <= day_now()
                   and (k.guild_id, k.bot) not in (
                           select * from unnest(shut.guilds, shut.bots))
                 order by k.settle limit 1000) b
    loop
        exit when rest <= 0;
        rest := rest - greatest(1, keeper_each('settle', due.guild_id, due.bot,
                    'select blocks_settle($1, $2, $3)', rest));
    end loop;

    more := rest <= 0;
    lag := (select count(*) from (select 1 from log_block k
                                   where k.settle <= day_now()
                                   limit 100000) x);
end $$;
