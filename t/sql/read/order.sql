-- The order in which entries arrived: a live tail that comes back after days
-- gets all that came since, in that order, without a look at all there is.

\ir ../setup.psql
select plan(33);

-- so that a few entries are many
create or replace function order_from()
returns int language sql immutable as $$ select 50 $$;
create or replace function order_step()
returns int language sql immutable as $$ select 16 $$;

\set many :guild + 1
select operator_server_put(:many, '{"plan": "pro"}') \g /dev/null

-- of so many days ago: an entry each ten minutes, half an hour late at most, but
-- every fifth, or another one, up to two weeks, and an event that was dropped
create function pg_temp.day(guild bigint, days int, n int, late int default 5)
returns void language plpgsql as $$
declare
    at   constant bigint := ms(date_trunc('day', now(), 'UTC'))
                            - days * 86400000::bigint;
    was  constant bigint := coalesce((select h.arrival from log_head h
                                       where h.guild_id = guild), 0);
begin
    for i in 1 .. n loop
        perform record(guild, 0::smallint, jsonb_build_array(
            jsonb_build_object(
                'event_id', was + i, 'type', (array[5, 17])[1 + i % 2],
                'timestamp', at + (i - i % 4) * 600000
                             - case when i % late = 0
                                    then (i * 7919 % 336) * 3600000 else 0 end,
                'executor', jsonb_build_object('id', (70 + i % 3)::text))));
    end loop;

    update log_event k
       set recorded_at = to_timestamp(at / 1000.0)
                         + (k.arrival - was) * interval '10 minutes',
           entry_id = case when (k.arrival - was) <> 7 then k.entry_id end
     where k.guild_id = guild and k.arrival > was;
    delete from log_entry e
     where e.guild_id = guild and e.arrival = was + 7;
end $$;

-- as the keeper would, turn by turn; how many it took
create function pg_temp.keep(budget int)
returns int language plpgsql as $$
declare
    n  int := 1;
begin
    while (select more from keeper_order(budget)) loop
        n := n + 1;
    end loop;
    return n;
end $$;

-- what a tail reads that begins behind an arrival, so many entries at a time
create function pg_temp.read(guild bigint, since bigint, most int,
    type int[] default null, member bigint default null)
returns bigint[] language plpgsql as $$
declare
    ids    bigint[] := '{}';
    until  constant bigint := (select h.arrival from log_head h
                                where h.guild_id = guild);
    r      log_row[];
begin
    while since < until loop
        r := array(select t from logs_tail(
                       guild, 0::smallint, null, null, null, null, type, null,
                       member, 'either', null, since, most) t);
        since := r[1].channel_id;
        ids := ids || array(select u.id from unnest(r[2:]) u);
    end loop;

    return ids;
end $$;

-- "same", or from where on it is not all entries in the order of arrival
create function pg_temp.compared(guild bigint)
returns text language plpgsql as $$
declare
    every  constant bigint[] := array(
        select e.arrival from log_entry e
         where e.guild_id = guild
           and e.id >= id_at(wall_of(guild)) order by 1);
    since  bigint;
begin
    for since in
        select a from unnest(0 || every) with ordinality u (a, n)
         where n % 11 = 1 or n > cardinality(every) - 5
    loop
        if pg_temp.read(guild, since, 20) is distinct from array(
               select e.id from log_entry e
                where e.guild_id = guild and e.arrival > since
                  and e.id >= id_at(wall_of(guild)) order by e.arrival)
           or pg_temp.read(guild, since, 4, '{17}', 71) is distinct from array(
               select e.id from log_entry e
                where e.guild_id = guild and e.arrival > since
                  and e.type = 17 and e.executor_id = 71
                  and e.id >= id_at(wall_of(guild)) order by e.arrival)
        then
            return since;
        end if;
    end loop;

    return 'same';
end $$;

-- "same", or from which id on a tail that saw that one last, and which is not
-- there any more, does not begin before all entries with a higher one
create function pg_temp.begun(guild bigint)
returns text language plpgsql as $$
declare
    seen  bigint;
begin
    for seen in
        select e.id from log_entry e where e.guild_id = guild order by 1
    loop
        if order_behind(guild, 0::smallint, seen) is distinct from (
               select min(e.arrival) - 1 from log_entry e
                where e.guild_id = guild and e.id > seen)
        then
            return seen;
        end if;
    end loop;

    return 'same';
end $$;


select pg_temp.day(:many, 14, 20) \g /dev/null
delete from log_event where guild_id = :many;
select pg_temp.day(:many, 9, 30, 1) \g /dev/null
select pg_temp.day(:many, d, 60) from generate_series(8, 6, -1) d \g /dev/null
select pg_temp.day(:guild, 6, 20) \g /dev/null

delete from order_round;
select is(order_is_kept('2020-01-01'), true,
          'before the first turn nothing is waited for');
select is(pg_temp.keep(30) > 3, true, 'the order is kept turn by turn');
select is(lag, 0::bigint, 'then nothing is undone') from keeper_order(30);
select is(count(*) between 12 and 16, true, 'row by row')
  from log_order where guild_id = :many;
select is(count(*) between 40 and 60, true,
          'what came late besides, and nothing else')
  from log_late where guild_id = :many;
select is(count(*)::int, 0, 'each for as long as its entries')
  from log_order where guild_id = :many and high < kept_from();
select is(count(*)::int, 0, 'not of a server with a few entries')
  from log_order where guild_id = :guild;
select is(pg_temp.compared(:many), 'same', 'it is that of arrival');

-- the events go

delete from log_event where guild_id in (:guild, :many);
select is(pg_temp.compared(:many), 'same', 'without events, too');
select is(pg_temp.begun(:many), 'same', 'an unknown id has its place in it');
select is(pg_temp.compared(:guild), 'same', 'and where no order is kept');
select is(pg_temp.begun(:guild), 'same', 'wherever it begins');

-- days go by, and a clock was three ahead for a moment

select pg_temp.day(:many, d, 40) from generate_series(3, 1, -1) d \g /dev/null
update log_event
   set recorded_at = now() + interval '3 days'
 where guild_id = :many and arrival = (select min(arrival) + 20 from log_event
                                        where guild_id = :many);
select is(pg_temp.compared(:many), 'same',
          'entries that have no order yet are found by their events');
select is(pg_temp.begun(:many), 'same', 'where unknown ids would be, too');
select max(upto) as kept from log_order where guild_id = :many \gset
select pg_temp.looks() as looks \gset
select is(pg_temp.read(:many, :kept, 200, '{44}'), '{}', 'that nothing came');
select is(pg_temp.looks() - :looks < 200, true,
          'without a look at everything');
update order_round set day = today() - 2;
select is(order_is_kept(now() - interval '2 days'), false,
          'events stay while their order is not kept');
select is(lag, 1::bigint, 'as work that is to be done') from keeper_order(10);
select is(order_is_kept(now() - interval '10 days'), false,
          'as long as there is a server left');
select pg_temp.keep(20000) \g /dev/null
select is(order_is_kept(now() - interval '2 days'), true, 'not any longer');
delete from log_event
 where guild_id = :many and recorded_at < today() - 1;
select is(pg_temp.compared(:many), 'same', 'and then it knows them itself');
select is(pg_temp.begun(:many), 'same', 'and unknown ids');

-- The first one that is recorded after midnight comes before the last one that
-- began before it.

select pg_temp.day(:many, 1, 2) \g /dev/null
select h.arrival as h from log_head h where h.guild_id = :many \gset
update log_event set recorded_at = date_trunc('day', now(), 'UTC')
 where guild_id = :many and arrival = :h - 1;
update order_round set day = today() - 1;
select pg_temp.keep(20000) \g /dev/null
select is(max(upto)::int, :h - 2, 'what came behind one of the day is for the next')
  from log_order where guild_id = :many;
select is(pg_temp.compared(:many), 'same', 'nobody misses the one between');

update order_round set day = today() + 3;
select is(more, true, 'a round that the clock put into the future counts not')
  from keeper_order(1);
select pg_temp.keep(20000) \g /dev/null

-- What went before anything was kept is of no row: the first one is for all of
-- it, also where midnights cut into it.

\set young :guild + 2
select operator_server_put(:young, '{"plan": "pro"}') \g /dev/null
select pg_temp.day(:young, 5, 60) \g /dev/null
delete from log_event
 where guild_id = :young and (arrival <= 18 or arrival = 20);
update order_round set day = today() - 1;
select pg_temp.keep(20000) \g /dev/null
delete from log_event where guild_id = :young;
select is(pg_temp.compared(:young), 'same', 'nothing is missed that had gone');

-- taken back, when rows were made

delete from log_entry
 where guild_id = :young and arrival in (19, 32, 33, 40, 45, 60);
select is(pg_temp.compared(:young), 'same', 'what is taken back is not missed');
select is(pg_temp.begun(:young), 'same', 'nor where it was seen last');

-- what is past keeping goes, what came late little by little

\set old :guild + 3
insert into log_order values
    (:old, 0, 10, kept_from() - 9, kept_from() - 1),
    (:old, 0, 20, kept_from() - 1, kept_from() + 9),
    (:old, 0, 30, kept_from() + 9, kept_from() + 19);
insert into log_late values
    (:old, 0, 5, kept_from() - 10), (:old, 0, 15, kept_from() - 5),
    (:old, 0, 16, kept_from()), (:old, 0, 25, kept_from() - 5);
select is(array[order_forget(:old, 0::smallint, 1),
                order_forget(:old, 0::smallint, 5),
                order_forget(:old, 0::smallint, 5)], '{1,1,0}',
          'as many as asked for');
select is(string_agg(upto::text, ','), '20,30', 'and no more than is past it')
  from log_order where guild_id = :old;
select is(string_agg(arrival::text, ','), '16,25', 'with its row')
  from log_late where guild_id = :old;

-- a tail that is days behind looks at what it gets, not at everything

select pg_temp.looks() as looks \gset
select is(cardinality(pg_temp.read(:many, :h - 30, 100)) between 20 and 30,
          true, 'the last 30');
select is(pg_temp.looks() - :looks < 150, true, 'are found among as many');

select * from finish();
rollback;
