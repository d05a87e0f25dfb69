-- The order in which entries arrived. The events know it, but go after two
-- days; what a live tail needs to find entries that came before is kept by the
-- keeper, once a day has passed.


-- How many arrivals make a row, at most.

create or replace function order_step()
returns int language sql immutable as $$ select 4096 $$;


-- From how many arrivals on a (server, bot) has its order kept: to look at all
-- of fewer takes little.

create or replace function order_from()
returns int language sql immutable as $$ select 20000 $$;


-- Is the order kept of all that was recorded before that time? A day more, for
-- what was on the way through a midnight. A clock that was ahead says nothing.
-- While a server is left out it is not kept: the events are all there is.

create or replace function order_is_kept(at timestamptz)
returns boolean language plpgsql stable as $$
begin
    return not exists (select from order_round r
                        where r.guild_id is not null
                           or least(r.day, today())
                              < (at at time zone 'UTC')::date + 1)
       and not exists (select from keeper_parked p where p.task = 'order');
end $$;


-- The keeper's task, one server after the other; once more from one on that was
-- left out long enough. Undone: 1 as long as there is one left.

create or replace function keeper_order(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
declare
    today  constant date := today();
    round  order_round;
begin
    select * into round from order_round for update;

    if not found then
        insert into order_round (day) values (today - 1) returning * into round;
    end if;

    if round.guild_id is null and round.day <> today then
        round := row(true, today, 0, 0);

    elsif round.guild_id is null then
        select p.guild_id, p.bot - 1 into round.guild_id, round.bot
          from keeper_parked p
         where p.task = 'order' and p.until <= clock_timestamp()
         order by p.guild_id, p.bot limit 1;
    end if;

    if round.guild_id is not null then
        round := order_servers(round, budget);
        update order_round r
           set day = round.day, guild_id = round.guild_id, bot = round.bot;
    end if;

    more := round.guild_id is not null;
    lag := more::int;
end $$;


-- Keeps the order of the next servers, looking at so many of them and their
-- entries; how far it came.

create or replace function order_servers(round order_round, budget int)
returns order_round language plpgsql
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    step  constant int := least(order_step(), budget);
    rest  int := budget;
    head  record;
begin
    for head in
        select h.guild_id, h.bot, h.arrival from log_head h
         where (h.guild_id, h.bot) > (round.guild_id, round.bot)
         order by h.guild_id, h.bot limit budget
    loop
        if head.arrival >= order_from() then
            rest := rest - keeper_each('order', head.guild_id, head.bot,
                        format('select order_server($1, $2, %L, %s, $3)',
                               round.day, step), rest);
        end if;

        if rest < step then
            return round;
        end if;

        rest := rest - 1;
        round.guild_id := head.guild_id;
        round.bot := head.bot;
    end loop;

    if not found then
        round.guild_id := null;
        round.bot := null;
    end if;

    return round;
end $$;


-- The same for one (server, bot), in rows for so many; of how much it was.

create or replace function order_server(guild bigint, bot smallint, day date,
    step int, budget int)
returns int language plpgsql as $$
declare
    looked  int := order_forget(guild, bot, budget);
    n       int;
begin
    while budget - looked >= step loop
        n := order_keep(guild, bot, day, step);
        looked := looked + n;
        exit when n < step;
    end loop;

    return looked;
end $$;


-- Forgets the order of what is past keeping, but at most so much of what came
-- late; of how much that is.

create or replace function order_forget(guild bigint, bot smallint, most int)
returns int language plpgsql as $$
declare
    oldest  constant bigint := kept_from();
    first   bigint;
    n       int;
begin
    delete from log_order o
     where o.guild_id = guild and o.bot = order_forget.bot
       and o.high < oldest;

    first := (select min(o.upto) from log_order o
               where o.guild_id = guild and o.bot = order_forget.bot);

    delete from log_late l
     where l.guild_id = guild and l.bot = order_forget.bot
       and l.arrival = any (array(
               select x.arrival from log_late x
                where x.guild_id = guild and x.bot = order_forget.bot
                  and (first is null or x.arrival <= first)
                  and x.id < oldest
                order by x.arrival limit most));

    get diagnostics n = row_count;
    return n;
end $$;


-- Keeps the order of what arrived next, in a row for at most so much; of how
-- much that is. The first row is for all that arrived before, too, which may be
-- anywhere.

create or replace function order_keep(guild bigint, bot smallint, day date,
    most int)
returns int language plpgsql as $$
declare
    last   constant bigint := (
        select max(o.upto) from log_order o
         where o.guild_id = guild and o.bot = order_keep.bot);
    batch  constant log_event[] := order_batch(guild, bot, coalesce(last, 0),
                                               day, most);
    low    bigint := 0;
    high   bigint := log_high(ms(now()), null);
begin
    if cardinality(batch) = 0 then
        return 0;
    end if;

    -- as late as all of this took is not late

    if last is not null then
        low := (
            select id_at(least(t.first - 300000, 2 * t.first - t.last))
              from (select ms(min(k.recorded_at)) as first,
                           ms(max(k.recorded_at)) as last
                      from unnest(batch) k) t);
        high := low - 1;
    end if;

    insert into log_late
    select guild, order_keep.bot, k.arrival, k.entry_id
      from unnest(batch) k where k.entry_id < low;

    insert into log_order
    select guild, order_keep.bot, max(k.arrival),
           case when last is null then 0
                else coalesce(min(k.entry_id) filter (where k.entry_id >= low),
                              low) end,
           greatest(max(k.entry_id), high)
      from unnest(batch) k;

    return cardinality(batch);
end $$;


-- The events that follow, as far as they were recorded before that day. One of
-- a clock that was ahead is of any day.

create or replace function order_batch(guild bigint, bot smallint,
    last bigint, day date, most int)
returns log_event[] language plpgsql stable as $$
declare
    batch  constant log_event[] := array(
        select k from log_event k
         where k.guild_id = guild and k.bot = order_batch.bot
           and k.entry_id is not null
           and k.arrival > last
         order by k.arrival limit most);
    until  constant bigint := (
        select min(k.arrival) from unnest(batch) k
         where k.recorded_at >= day::timestamp at time zone 'UTC'
           and k.recorded_at < now() + interval '1 hour');
begin
    return array(select k from unnest(batch) k
                  where until is null or k.arrival < until);
end $$;


-- Behind which arrival the first one came that has a higher id; null: none has.

create or replace function order_behind(guild bigint, bot smallint, id bigint)
returns bigint language plpgsql stable as $$
declare
    last   constant bigint := (
        select max(o.upto) from log_order o
         where o.guild_id = guild and o.bot = order_behind.bot);
    first  bigint;
    it     log_order;
begin
    if last is null then
        return (select min(e.arrival) - 1 from log_entry e
                 where e.guild_id = guild and e.bot = order_behind.bot
                   and e.id > order_behind.id);
    elsif (select e.id from log_entry e
            where e.guild_id = guild and e.bot = order_behind.bot
              and e.id > order_behind.id
            order by e.id limit 1) is null
    then
        return null;
    end if;

    for it in
        select * from log_order x
         where x.guild_id = guild and x.bot = order_behind.bot
           and x.high > order_behind.id
         order by x.upto
    loop
        first := (select min(e.arrival) from log_entry e
                   where e.guild_id = guild and e.bot = order_behind.bot
                     and e.id >= greatest(it.low, order_behind.id + 1)
                     and e.id <= it.high and e.arrival <= it.upto);
        exit when first is not null;
    end loop;

    return least(
        first,
        (select l.arrival from log_late l
          where l.guild_id = guild and l.bot = order_behind.bot
            and l.id > order_behind.id
          order by l.arrival limit 1),
        (select k.arrival from log_event k
          where k.guild_id = guild and k.bot = order_behind.bot
            and k.entry_id > order_behind.id
            and k.arrival > last
          order by k.arrival limit 1)) - 1;
end $$;
