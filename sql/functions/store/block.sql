-- Blocks: what arrived, in pieces of up to 64 entries of one day in the order
-- of their ids. Nothing refers to a block: it may be made anew at any time.
--
-- Lock: the row of log_made, for whoever changes blocks or days; then that of
-- log_head, for the end.


-- a block that is to be there, but for its (server, bot): a migration may have
-- added columns to the table, of which these functions know nothing

call type_make('block_piece', $$
    first_id  bigint,
    last_id   bigint,
    kinds0    bigint,
    kinds1    bigint,
    day       int,
    settle    int,
    n         smallint,
    lost      boolean,
    types     text,
    ids       bigint[],
    said      text,
    docs      text
$$);


-- How many entries a block has, as a rule. One in the midst of its day takes
-- half as many more before it is divided.

create or replace function block_size()
returns int language sql immutable as $$ select 64 $$;


-- The row of log_made that lives. Each turn changes it, and while somebody has
-- a snapshot all that it was stays. The newest stands last in the index, as a
-- rule, and the look begins there. Who has it changes it by its place.

create or replace function made_of(guild bigint, bot smallint, out place tid,
    out actors bigint[], out lasts bigint[], out new_actors bigint[],
    out new_lasts bigint[])
returns setof record language sql stable as $$
    select m.ctid, m.actors, m.lasts, m.new_actors, m.new_lasts
      from log_made m
     where (m.guild_id, m.bot) <= (guild, made_of.bot)
       and (m.guild_id, m.bot) >= (guild, made_of.bot)
       and (not servers_apart() or m.guild_id = guild)
     order by m.guild_id desc, m.bot desc limit 1
$$;


-- Takes the (server, bot) unless somebody has it.

create or replace function blocks_take(guild bigint, bot smallint)
returns boolean language plpgsql
set enable_seqscan = off set enable_sort = off as $$
begin
    perform from log_made m
      where m.guild_id = guild and m.bot = blocks_take.bot
        and m.ctid = (select n.place from made_of(guild, blocks_take.bot) n)
        for no key update skip locked;

    if not found then
        insert into log_made (guild_id, bot) values (guild, bot)
        on conflict do nothing;
    end if;

    return found;
end $$;


-- The same, and waits for it.

create or replace function blocks_wait(guild bigint, bot smallint)
returns void language plpgsql as $$
begin
    insert into log_made (guild_id, bot) values (guild, bot)
    on conflict do nothing;
    perform from log_made m
      where m.guild_id = guild and m.bot = blocks_wait.bot
        for no key update;
end $$;


-- Makes blocks of what arrived next, at most so many rows; how many, null:
-- somebody else has it in hand. What is held, and all behind it, waits.

create or replace function block_make(guild bigint, bot smallint,
    most int default 4096)
returns int language plpgsql as $$
declare
    h     log_head;
    next  record;
    made  record;
    at    timestamptz;
    soon  timestamptz;
    later timestamptz;
    past  int := 0;
    keeps boolean;
begin
    if not blocks_take(guild, bot) then
        return null;
    end if;

    -- what its plan does not show, and will not show again

    keeps := coalesce((select plan_keeps(s.plan, s.lapsed_at) from server s
                        where s.guild_id = guild), true);

    if not keeps then
        past := blocks_expire(guild, bot, day_now() - 1, 300);
    end if;

    select * into h from log_head x
     where x.guild_id = guild and x.bot = block_make.bot
       and x.turn = (select n.turn from head_of(guild, block_make.bot) n);
    next := block_next(h, most);

    if next.n > 0 then
        made := block_pieces(h, next.upto);

        delete from log_block k
         where k.guild_id = guild and k.bot = block_make.bot
           and k.first_id between made.gone[1] and made.gone[
                   cardinality(made.gone)]
           and k.first_id = any (made.gone);
        perform block_put(guild, bot, made.pieces);
        perform days_add(guild, bot, made.days, made.counts);
        perform day_divide(guild, bot)
          where made.days[1] >= day_now() - 1
            and next.upto >> 12 > h.blocked >> 12;
        perform actors_add(guild, bot, made.actors, made.lasts, next.n)
          where made.actors is not null;
    end if;

    -- who records has the head to himself: he may have called for blocks since;
    -- an hour, as what an upgrade brought is not in the order of time

    at := clock_timestamp();
    soon := at + interval '3 seconds';
    later := at + interval '1 day';
    update log_head x
       set blocked = coalesce(next.upto, x.blocked),
           since = greatest(x.since, next.at - interval '1 hour'),
           due_at = case when past > 0 then at
                         when x.arrival = coalesce(next.upto, x.blocked)
                         then case when not keeps and exists (
                                       select from log_day d
                                        where d.guild_id = guild
                                          and d.bot = block_make.bot)
                              then later end
                         when next.n = 0 then soon
                         when x.arrival - next.upto >= block_size() then at
                         else later end
     where x.guild_id = guild and x.bot = block_make.bot and x.turn >= h.turn;

    return next.n;
end $$;


-- Up to which arrival the next blocks go, in one statement: an entry that is
-- held may come in between two. What comes before blocks of its day may touch
-- one each, so that these are few. All documents are in memory at once: no more
-- than 64 MiB of them, and one.

create or replace function block_next(h log_head, most int, out upto bigint,
    out n int, out at timestamptz)
language plpgsql stable as $$
declare
    newest  constant bigint := (
                select k.first_id from log_block k
                 where k.guild_id = h.guild_id and k.bot = h.bot
                 order by k.first_id desc limit 1);
begin
    select max(t.arrival), count(*), max(t.recorded_at) into upto, n, at
      from (select a.arrival, a.recorded_at, count(*) filter (
                       where a.id < newest and exists (
                           select from log_block k
                            where k.guild_id = h.guild_id and k.bot = h.bot
                              and k.first_id > a.id
                              and k.first_id < day_low(day_of(a.id) + 1)))
                       over w as late,
                   sum(coalesce(octet_length(a.doc), 0)) over w
                       - coalesce(octet_length(a.doc), 0) as before
              from log_arrival a
             where a.guild_id = h.guild_id and a.bot = h.bot
               and a.arrival > h.blocked
               and a.recorded_at between h.since and h.last_at
               and a.arrival < coalesce((
                       select min(x.arrival) from log_arrival x
                        where x.guild_id = h.guild_id and x.bot = h.bot
                          and x.arrival > h.blocked
                          and x.recorded_at between h.since and h.last_at
                          and x.held_to is not null), 9223372036854775807)
            window w as (order by a.arrival)
             order by a.arrival limit most) t
     where t.late <= 256 and t.before <= 67108864;
end $$;


-- The blocks that these arrivals make with the blocks where they belong: of
-- those of its day each goes to the one with the greatest first_id that is not
-- above its id, or to the first one. The last block of a day is filled up; any
-- other takes what comes late, and is divided when it has too many. gone:
-- blocks that begin elsewhere now. days and counts: what comes to each day.
-- actors and lasts: who did something, and the last of it.

create or replace function block_pieces(h log_head, upto bigint,
    out pieces block_piece[], out gone bigint[], out days int[],
    out counts text[], out actors bigint[], out lasts bigint[])
language plpgsql stable as $$
declare
    size     constant int := block_size();
    ids      bigint[];
    types    smallint[];
    whos     bigint[];
    settles  int[];
    losts    boolean[];
    saids    text[];
    docs     text[];
begin
    -- documents are most of it, and are copied once: what is sorted below is
    -- their places

    select array_agg(a.id), array_agg(a.type), array_agg(doc_executor(a.doc)),
           array_agg(case when a.lane is not null
                          then day_of(time_id(ms(a.recorded_at))) + 3 end),
           array_agg(coalesce(a.dstatus < 2, false)),
           array_agg(log_said(a.dstatus, a.dreason, a.dchannel_id, null,
                              a.lane, a.seq)),
           array_agg(a.doc)
      into ids, types, whos, settles, losts, saids, docs
      from log_arrival a
     where a.guild_id = h.guild_id and a.bot = h.bot
       and a.arrival > h.blocked and a.arrival <= upto
       and a.recorded_at between h.since and h.last_at
       and a.id is not null;

    with came as materialized (
        select u.id, type_mark(u.type) as type, u.nr::int, day_of(u.id) as day
          from unnest(ids, types) with ordinality u (id, type, nr)
    ), whole_days as materialized (
        select c.day, min(c.id) as low from came c group by c.day
    ), there as materialized (   -- from the block of the day's oldest on
        select d.day, k.first_id
          from whole_days d
         cross join lateral blocks_since(h.guild_id, h.bot, d.low)
               k (first_id)
    ), placed as materialized (
        select o.*, coalesce(o.above, o.least) as target,
               coalesce(o.above, o.least) is not distinct from o.most as last
          from (select u.*, max(u.first_id) over x as above,
                       min(u.first_id) over y as least,
                       max(u.first_id) over y as most
                  from (select c.*, null::bigint as first_id from came c
                         union all
                        select t.first_id, null, null, t.day, t.first_id
                          from there t) u
                window x as (partition by u.day order by u.id
                             rows unbounded preceding),
                       y as (partition by u.day)) o
         where o.first_id is null
    ), hit as materialized (
        select distinct p.target, p.last from placed p
         where p.target is not null
    ), whole as (
        select p.day, p.target, p.last, p.id, p.type, p.nr, null as settle,
               null as lost, null as said, null as doc
          from placed p
         union all
        select k.day, x.target, x.last, u.id, substr(k.types, u.o::int, 1),
               null, k.settle, k.lost, u.said, u.doc
          from hit x
         cross join lateral block_at(h.guild_id, h.bot, x.target) k
         cross join lateral unnest(k.ids, string_to_array(k.docs, E'\n'),
                   string_to_array(k.said, E'\n'))
                   with ordinality u (id, doc, said, o)
    ), cut as (
        select w.*, row_number() over x - 1 as place, count(*) over (
                   partition by w.day, w.target) as m
          from whole w
        window x as (partition by w.day, w.target order by w.id)
    ), part as (
        select c.*, case when c.last then c.place / size
                         when c.m <= size * 3 / 2 then 0
                         else c.place * ceil(c.m / size::float8)::int / c.m
                         end as part
          from cut c
         order by c.day, c.target, part, c.id
    ), piece as (
        select row(min(c.id), max(c.id),
                   bit_or(kinds_low(mark_type(c.type))),
                   bit_or(kinds_high(mark_type(c.type))),
                   c.day, max(coalesce(c.settle, settles[c.nr])), count(*),
                   bool_or(coalesce(c.lost, losts[c.nr])),
                   string_agg(c.type, ''), array_agg(c.id),
                   string_agg(coalesce(c.said, saids[c.nr]), E'\n'),
                   string_agg(coalesce(c.doc, docs[c.nr]), E'\n')
                   )::block_piece as k
          from part c
         group by c.day, c.target, c.part
    ), came_of as (
        select s.day, array_agg(s.n << 7 | s.type)::text as counts
          from (select c.day, mark_type(c.type) as type, count(*) as n
                  from came c group by 1, 2) s
         group by s.day
    ), did as (
        select u.who, max(u.id) as id from unnest(whos, ids) u (who, id)
         where u.who is not null
         group by 1
    )
    select (select array_agg(p.k) from piece p),
           (select array_agg(x.target order by x.target) from hit x
             where x.target not in (select (p.k).first_id from piece p)),
           (select array_agg(s.day order by s.day) from came_of s),
           (select array_agg(s.counts order by s.day) from came_of s),
           (select array_agg(d.who order by d.who) from did d),
           (select array_agg(d.id order by d.who) from did d)
      into pieces, gone, days, counts, actors, lasts;
end $$;


-- The blocks of an id's day, from the one it is in on. Within a statement the
-- planner may walk along all blocks of the server, of which most have few.

create or replace function blocks_since(guild bigint, bot smallint, id bigint)
returns setof bigint language plpgsql stable as $$
declare
    low  constant bigint := day_low(day_of(id));
begin
    return query
        select k.first_id from log_block k
         where k.guild_id = guild and k.bot = blocks_since.bot
           and k.first_id < day_low(day_of(id) + 1)
           and k.first_id >= greatest(low, (
                   select f.first_id
                     from block_at(guild, blocks_since.bot, id) f));
end $$;


-- In a block a type is a character.

create or replace function type_mark(type int)
returns text language sql immutable as $$ select chr(26 + type) $$;


create or replace function mark_type(mark text)
returns smallint language sql immutable as $$
    select (ascii(mark) - 26)::smallint
$$;


create or replace function type_at(types text, place bigint)
returns smallint language sql immutable as $$
    select mark_type(substr(types, place::int, 1))
$$;


-- The bits of a type.

create or replace function kinds_low(type int)
returns bigint language sql immutable as $$
    select case when type < 62 then 1::bigint << type else 0 end
$$;


create or replace function kinds_high(type int)
returns bigint language sql immutable as $$
    select case when type >= 62 then 1::bigint << (type - 62) else 0 end
$$;


create or replace function block_put(guild bigint, bot smallint,
    pieces block_piece[])
returns void language plpgsql as $$
begin
    insert into log_block (guild_id, bot, first_id, last_id, kinds0, kinds1,
                           day, settle, n, lost, types, ids, said, docs)
    select guild, block_put.bot, p.first_id, p.last_id, p.kinds0, p.kinds1,
           p.day, p.settle, p.n, p.lost, p.types, p.ids, p.said, p.docs
      from unnest(pieces) p
    on conflict on constraint log_block_pkey
        do update set last_id = excluded.last_id, kinds0 = excluded.kinds0,
                      kinds1 = excluded.kinds1, settle = excluded.settle,
                      n = excluded.n, lost = excluded.lost,
                      types = excluded.types, ids = excluded.ids,
                      said = excluded.said, docs = excluded.docs;
end $$;


-- So many entries more on these days.

create or replace function days_add(guild bigint, bot smallint, days int[],
    counts text[])
returns void language plpgsql as $$
begin
    insert into log_day as d (guild_id, bot, day, counts)
    select guild, days_add.bot, u.day, u.counts
      from unnest(days, counts) u (day, counts)
    on conflict on constraint log_day_pkey
        do update set counts = counts_sum(d.counts, excluded.counts),
                      parts = null;
end $$;


-- A day has eight parts: how much of ids one is.

create or replace function part_ids()
returns bigint language sql immutable as $$ select day_low(1) / 8 $$;


-- How many blocks make a day one that has parts.

create or replace function day_blocks()
returns int language sql immutable as $$ select 64 $$;


-- The counts of the parts of a day; null of one in which nothing is.

create or replace function day_parts(guild bigint, bot smallint, day int)
returns text[] language plpgsql stable as $$
begin
    return (
        select array_agg(c.counts order by p)
          from generate_series(0, 7) p
          left join (
               select s.part, array_agg(s.n << 7 | s.type
                                        order by s.type)::text as counts
                 from (select u.id / part_ids() % 8 as part,
                              mark_type(u.type) as type, count(*) as n
                         from log_block k
                        cross join lateral unnest(
                                  k.ids, string_to_array(k.types, null))
                              u (id, type)
                        where k.guild_id = guild and k.bot = day_parts.bot
                          and k.first_id >= day_low(day_parts.day)
                          and k.first_id < day_low(day_parts.day + 1)
                        group by 1, 2) s
                group by s.part) c on c.part = p);
end $$;


-- Counts the parts of the oldest day that lacks them and has been over for a
-- day, so that hardly anything comes late. Called once in 4,096 entries, as
-- what comes late all the time would have a day counted each time: 0.4 s, of
-- one with 300,000. Of few blocks it counts none, as that takes no longer than
-- to read parts.

create or replace function day_divide(guild bigint, bot smallint)
returns void language plpgsql as $$
declare
    its        constant int := (
                   select min(d.day) from log_day d
                    where d.guild_id = guild and d.bot = day_divide.bot
                      and d.day < day_now() - 1 and d.parts is null);
    its_parts  text[] := '{}';
begin
    if its is null then
        return;
    end if;

    if (select count(*) from log_block k
         where k.guild_id = guild and k.bot = day_divide.bot
           and k.first_id >= day_low(its) and k.first_id < day_low(its + 1))
       >= day_blocks()
    then
        its_parts := day_parts(guild, bot, its);
    end if;

    update log_day d
       set parts = its_parts
     where d.guild_id = guild and d.bot = day_divide.bot and d.day = its;
end $$;


create or replace function counts_sum(a text, b text)
returns text language plpgsql immutable as $$
begin
    return (
        select array_agg(s.n << 7 | s.type)::text
          from (select v & 127 as type, sum(v >> 7)::bigint as n
                  from unnest(a::bigint[] || b::bigint[]) v
                 group by 1) s);
end $$;


-- Who did it, as the document says in front; null: nobody. A regular expression
-- would cost as much as all else of making a block.

create or replace function doc_executor(doc text)
returns bigint language sql immutable as $$
    select nullif(split_part(split_part(left(doc, 130), ',"executor":{"id":"',
                                        2), '"', 1), '')::bigint
$$;


-- Who acted, each with the last entry, the last ones first. 2,000 are told of;
-- those beyond take the places of who is forgotten.

create or replace function actors_united(actors bigint[], lasts bigint[],
    out actors_of bigint[], out lasts_of bigint[])
language plpgsql immutable as $$
begin
    select array_agg(d.who), array_agg(d.id) into actors_of, lasts_of
      from (select u.who, max(u.id) as id from unnest(actors, lasts) u (who, id)
             group by u.who order by 2 desc limit 2048) d;
end $$;


-- These did something, last by these entries. A row for each would be written
-- again with each few blocks; what is dead of it stays as long as anybody has a
-- snapshot, and is looked at again each time. Nor are all 2,048 written each
-- time: those of a few blocks are kept apart.

create or replace function actors_add(guild bigint, bot smallint,
    actors bigint[], lasts bigint[], entries int)
returns void language plpgsql
set enable_seqscan = off set enable_sort = off as $$
declare
    m    constant record := (select x from made_of(guild, bot) x);
    new  constant record := actors_united(m.new_actors || actors,
                                          m.new_lasts || lasts);
begin
    update log_made x
       set new_actors = new.actors_of, new_lasts = new.lasts_of
     where x.guild_id = guild and x.bot = actors_add.bot and x.ctid = m.place;

    if cardinality(new.actors_of) > greatest(256, entries) then
        perform actors_put(guild, bot);
    end if;
end $$;


-- Puts them together: those since an id, and without one who is forgotten.

create or replace function actors_put(guild bigint, bot smallint,
    low bigint default 0, gone bigint default null)
returns void language plpgsql as $$
begin
    perform actors_set(guild, bot, array_agg(k.who), array_agg(k.id))
       from actors_kept(guild, bot) k
      where k.id >= low and k.who is distinct from gone;
end $$;


-- These are all.

create or replace function actors_set(guild bigint, bot smallint,
    actors bigint[], lasts bigint[])
returns void language plpgsql as $$
declare
    all_of  constant record := actors_united(actors, lasts);
begin
    update log_made x
       set actors = all_of.actors_of, lasts = all_of.lasts_of,
           new_actors = null, new_lasts = null
     where x.guild_id = guild and x.bot = actors_set.bot
       and x.ctid = (select m.place from made_of(guild, actors_set.bot) m);
end $$;


-- Who acted in blocks, by their last entry there; some stand there twice.

create or replace function actors_kept(guild bigint, bot smallint,
    out who bigint, out id bigint)
returns setof record language plpgsql stable as $$
begin
    return query
        select u.who, u.id
          from made_of(guild, actors_kept.bot) m
         cross join lateral unnest(m.actors || m.new_actors,
                                   m.lasts || m.new_lasts) u (who, id);
end $$;


-- The keeper's task: blocks for servers of which 64 rows wait, or one since
-- yesterday, those first that have been due for the longest time. Of these in
-- the order of their locks, as each keeps its log_head to the end of the turn.
-- Undone: rows of these servers.

create or replace function keeper_blocks(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    at    timestamptz := clock_timestamp();   -- a condition of the index
    shut  record := keeper_shut('blocks');
    rest  int := greatest(budget / 10, 1);
    due   record;
    n     int;
    did   boolean := false;
begin
    for due in
        select d.guild_id, d.bot
          from (select h.guild_id, h.bot from log_head h
                 where h.due_at <= at
                   and (h.guild_id, h.bot) not in (
                           select * from unnest(shut.guilds, shut.bots))
                 order by h.due_at limit 50) d
         order by d.guild_id, d.bot
    loop
        exit when rest <= 0;
        n := keeper_each('blocks', due.guild_id, due.bot,
                         'select block_make($1, $2, $3)', least(rest, 4096));
        rest := rest - greatest(n, 32);
        did := did or coalesce(n > 0, false);
    end loop;

    -- what others have in hand is not looked at again and again

    at := clock_timestamp();
    shut := keeper_shut('blocks');
    more := did and (
        select min(h.due_at) from log_head h
         where h.due_at <= at
           and (h.guild_id, h.bot) not in (
                   select * from unnest(shut.guilds, shut.bots))) is not null;
    lag := coalesce((select sum(h.arrival - h.blocked) from log_head h
                      where h.due_at <= at), 0);
end $$;


-- Deletes whole days of a (server, bot), the oldest first, until it is so many
-- blocks; how many. What came late and is of such a day goes from log_arrival,
-- too, with its place in a lane.

create or replace function blocks_expire(guild bigint, bot smallint,
    before int, most int)
returns int language plpgsql as $$
declare
    past  int;
    gone  int := 0;
    n     int;
begin
    if not blocks_take(guild, bot) then
        return 0;
    end if;

    for past in
        delete from log_day d
         where d.guild_id = guild and d.bot = blocks_expire.bot
           and d.day < before and d.day = any (array(
                   select x.day from log_day x
                    where x.guild_id = guild and x.bot = blocks_expire.bot
                      and x.day < before
                    order by x.day limit greatest(1, most / 100)))
        returning d.day
    loop
        delete from log_block k
         where k.guild_id = guild and k.bot = blocks_expire.bot
           and k.first_id >= day_low(past) and k.first_id < day_low(past + 1);
        get diagnostics n = row_count;
        gone := gone + n;
    end loop;

    -- whatever is to go is of a day that went: all arrivals are read for it

    if not found then
        return 0;
    end if;

    update log_arrival a
       set id = null, doc = null, lane = null, seq = null
      from log_head h
     where h.guild_id = guild and h.bot = blocks_expire.bot
       and a.guild_id = guild and a.bot = blocks_expire.bot
       and a.arrival <= h.blocked and a.id < day_low(before);
    perform actors_put(guild, bot, day_low(before))
      where exists (select from actors_kept(guild, blocks_expire.bot) k
                     where k.id < day_low(before));
    delete from replay r
     where r.guild_id = guild and r.bot = blocks_expire.bot
       and r.id < day_low(before);

    return gone;
end $$;
