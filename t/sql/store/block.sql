-- "total and categoryCounts are exact": whatever is late, taken back, forgotten
-- or expired, before blocks are made, while they are, and when they are made
-- anew. A plain table has what there should be, and every page is held against
-- it.

\ir ../setup.psql
\ir ../segments.psql
select plan(39);

select setseed(0.25) \g /dev/null
select ms(now()) as now \gset
create temp table model (bot smallint, id bigint, type int, doc text);
create temp table moment as select day_now() as today;
grant select on moment to public;

-- records so many entries, some of which are late, of the same millisecond, twice
-- the same, dropped by a rule, or held and taken back
create function pg_temp.send(n int, lates float8 default 0.1, days int default 29,
    bot int default 0)
returns void language plpgsql as $$
declare
    guild  constant bigint := 900000000000000001;
    was    constant bigint := tail_now(guild, bot::smallint);
    at     constant bigint := ms(clock_timestamp());
begin
    perform record(guild, send.bot::smallint, jsonb_agg(jsonb_build_object(
                'event_id', case when random() < 0.05 then 'twice ' || was
                                 else gen_random_uuid()::text end,
                'type', (random() ^ 3 * 101)::int,
                'content', 'of ' || was || ' the ' || i
                           || repeat('.', (random() * 90)::int),
                'executor', jsonb_build_object('id', 40 + i % 3,
                    'name', 'Ann', 'bot', random() < 0.05),
                'timestamp', case when random() < lates
                    then at - (random() * days * 86400000)::bigint
                    else at - (random() * 20)::int end)))
       from generate_series(1, n) i;

    update log_arrival a set held_to = clock_timestamp() + interval '1 minute'
     where a.guild_id = guild and a.bot = send.bot and a.arrival > was
       and random() < 0.03;
    perform arrivals_remove(guild, send.bot::smallint, array(
                select a.arrival from log_arrival a
                 where a.guild_id = guild and a.bot = send.bot
                   and a.arrival > was and a.held_to is not null));

    insert into model
    select send.bot, a.id, a.type, a.doc from log_arrival a
     where a.guild_id = guild and a.bot = send.bot and a.arrival > was
       and a.id is not null;
end $$;

-- what the page should be: total, counts by category, ids
create function pg_temp.wanted(bot int, after bigint, before bigint,
    category text[], type int[], most int, below bigint)
returns text language sql as $$
    with w as materialized (
        select m.*, t.category from model m
          join log_type t on t.id = m.type
         where m.bot = wanted.bot
           and id_time(m.id) > coalesce(after, 0)
           and id_time(m.id) < coalesce(before, 9007199254740991)
           and id_time(m.id) >= (select wall_of(900000000000000001))
    ), p as materialized (
        select w.* from w
         where (wanted.category is null or w.category = any (wanted.category))
           and (wanted.type is null or w.type = any (wanted.type))
           and w.id < coalesce(below, 9223372036854775807)
    )
    select (select count(*) from p) || ' '
           || coalesce((select json_object_agg(c.category, c.n
                                               order by c.category)::text
                          from (select w.category, count(*) as n from w
                                 where wanted.type is null
                                    or w.type = any (wanted.type)
                                 group by 1) c), '{ }') || ' '
           || coalesce((select string_agg(md5(x.id || x.doc), ' '
                                          order by x.id desc)
                          from (select * from p order by p.id desc
                                 limit most) x), '')
$$;

create function pg_temp.paged(token text, bot int, after bigint, before bigint,
    category text[], type int[], most int, below bigint)
returns text language plpgsql as $$
declare
    rows  log_row[] := array(
        select p from logs_page(token, 900000000000000001, bot::smallint,
                   1::smallint, after, before, category, type, most, below) p);
    head  constant json := (rows[1].doc || '}')::json;
begin
    return head ->> 'total' || ' '
        || coalesce((select json_object_agg(c.key, c.value::int
                                            order by c.key)::text
                       from json_each_text(head -> 'categoryCounts') c), '{ }')
        || ' ' || coalesce((select string_agg(md5(r.id || r.doc), ' '
                                              order by r.ordinality)
                              from unnest(rows[2:]) with ordinality r), '');
end $$;

-- a walk from page to page, of a window and a filter that chance chooses; the
-- first page that is not what it should be
create function pg_temp.walk()
returns text language plpgsql as $$
declare
    token     constant text := (
                  select t.token_id from token t
                   where t.guild_id = 900000000000000001 and t.permissions = 1);
    whose     constant int := (random() < 0.2)::int;
    at        constant bigint := ms(now());
    midnight  constant bigint := at - at % 86400000;
    span      constant float8 := random() ^ 4 * 32 * 86400000;
    edges     constant bigint[] := array[null, at - span::bigint,
                  midnight - ((random() * 30)::int * 86400000::bigint) - 1,
                  (select id_time(m.id) from model m where m.bot = whose
                    order by random() limit 1)];
    after     constant bigint := edges[1 + (random() * 3)::int];
    before    constant bigint := case when random() < 0.5 then edges[
                  1 + (random() * 3)::int] end;
    cats      constant text[] := case when random() < 0.3 then array(
                  select distinct t.category from log_type t
                   where random() < 0.1) end;
    kinds     constant int[] := case when random() < 0.3 then array(
                  select (random() ^ 3 * 101)::int
                    from generate_series(1, (random() * 4)::int)) end;
    most      constant int := (array[1, 3, 20, 100, 1000])[1 + (random() * 4)
                                                           ::int];
    below     bigint := case when random() < 0.3
                             then (select m.id + (random() * 2)::int - 1
                                     from model m where m.bot = whose
                                    order by random() limit 1) end;
    want      text;
    it        text;
begin
    for i in 1 .. 3 loop
        want := pg_temp.wanted(whose, after, before, cats, kinds, most, below);
        it := pg_temp.paged(token, whose, after, before, cats, kinds, most,
                            below);
        if it is distinct from want then
            return format('bot %s, after %s, before %s, %s, %s, most %s, '
                          'below %s: %s, not %s', whose, after, before, cats,
                          kinds, most, below, left(it, 300), left(want, 300));
        end if;

        below := (
            select min(x.id)
              from (select m.id from model m join log_type t on t.id = m.type
                     where m.bot = whose
                       and m.id < coalesce(below, 9223372036854775807)
                       and (kinds is null or m.type = any (kinds))
                       and (cats is null
                            or t.category = any (cats))
                     order by m.id desc limit most) x);
        exit when below is null;
    end loop;

    return 'right';
end $$;

-- "right", or what is not: a walk, or a difference that check() finds
create function pg_temp.judged(n int default 10)
returns text language sql as $$
    select coalesce(
        (select string_agg(x.said, '; ')
           from (select distinct pg_temp.walk() as said
                   from generate_series(1, n)) x
          where x.said <> 'right'),
        (select string_agg(d::text, '; ')
           from (select d from guildlog.check(900000000000000001) d
                  limit 5) d),
        'right')
$$;

create function pg_temp.make(most int, bot int default 0)
returns int language sql as $$
    select block_make(900000000000000001, make.bot::smallint, most)
$$;

create function pg_temp.waits(bot int default 0)
returns bigint language sql as $$
    select h.arrival - h.blocked from log_head h
     where h.guild_id = 900000000000000001 and h.bot = waits.bot
$$;

insert into model
select 0, a.id, a.type, a.doc from log_arrival a
 where a.guild_id = :guild and a.id is not null;

-- before and while blocks are made

select is(pg_temp.judged(5), 'right', 'of nothing');
select pg_temp.send(1) \g /dev/null
select is(pg_temp.judged(5), 'right', 'of an entry');
select pg_temp.send(300), pg_temp.send(50, 0.5, 29, 1) \g /dev/null
select is(pg_temp.judged(), 'right', 'before blocks are made');
select is(pg_temp.make(7), 7, 'some are made');
select is(pg_temp.judged(), 'right', 'of a few');
select is(string_agg(distinct w.said, '; '), 'right', 'while they are made')
  from generate_series(1, 12) i
 cross join lateral (select pg_temp.make(i * 2) as n,
                            pg_temp.judged(3) as said) w;
select is(pg_temp.make(4096) > 0 and pg_temp.waits() = 0, true,
          'all of them');
select is(pg_temp.make(4096), 0, 'then there are no more');
select is(pg_temp.judged(12), 'right', 'when all are in blocks');
select pg_temp.send(500, 0.02), pg_temp.send(500, 0.5),
       pg_temp.send(100, 0.5, 29, 1) \g /dev/null
select is(pg_temp.judged(12), 'right', 'before more are made');
select count(pg_temp.make(150)), pg_temp.make(30, 1)
  from generate_series(1, 4) \g /dev/null
select is(pg_temp.judged(12), 'right', 'when more are made');
select count(pg_temp.make(4096)), pg_temp.make(4096, 1)
  from generate_series(1, 9) \g /dev/null
select is(pg_temp.waits(), 0::bigint, 'until none waits');
select is(pg_temp.judged(20), 'right', 'when all of these are');
select is((max(k.n) <= 96, min(k.n) > 0)::text, '(t,t)',
          'no block is too large')
  from log_block k where k.guild_id = :guild;

-- bursts of late entries in a day that is full of them

select pg_temp.send(400, 1, 1) \g /dev/null
select pg_temp.make(100), pg_temp.send(70, 1, 1), pg_temp.make(4096)
\g /dev/null
select is(pg_temp.judged(12), 'right', 'late entries in the midst of a day');
select record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', 'same' || i, 'type', 5, 'timestamp', :now - 99999999)))
  from generate_series(1, 200) i \g /dev/null
insert into model
select 0, a.id, a.type, a.doc from log_arrival a
 where a.guild_id = :guild and a.event_id ~ '^same';
select pg_temp.make(4096) \g /dev/null
select is(pg_temp.judged(12), 'right', 'many of the same millisecond');

-- the parts of days that have many blocks

create or replace function block_size()
returns int language sql immutable as $$ select 4 $$;
create or replace function day_blocks()
returns int language sql immutable as $$ select 4 $$;
select pg_temp.send(900, 1) \g /dev/null
select pg_temp.make(4096) from generate_series(1, 5) \g /dev/null
select day_divide(:guild, 0::smallint) from generate_series(1, 31) \g /dev/null
select cmp_ok(count(*)::int, '>=', 20, 'days have parts')
  from log_day where guild_id = :guild and bot = 0 and parts <> '{}';
select is(pg_temp.judged(40), 'right', 'and pages are counted by them');
select pg_temp.send(80, 1), pg_temp.make(50) \g /dev/null
select is(pg_temp.judged(20), 'right', 'late entries of such days');
select pg_temp.send(80, 0), pg_temp.make(4096), pg_temp.make(4096)
\g /dev/null
select is(pg_temp.judged(12), 'right', 'parts are made again with later ones');
create or replace function block_size()
returns int language sql immutable as $$ select 64 $$;
create or replace function day_blocks()
returns int language sql immutable as $$ select 64 $$;

-- what is held waits, and all behind it

select pg_temp.send(20, 0), pg_temp.send(20, 0) \g /dev/null
update log_arrival set held_to = clock_timestamp() + interval '1 minute'
 where guild_id = :guild and bot = 0
   and arrival = (select arrival - 9 from log_head
                   where guild_id = :guild and bot = 0)
returning id is not null as stored \g /dev/null
select pg_temp.make(4096) \g /dev/null
select is(pg_temp.waits(), 10::bigint, 'what is held waits, and all behind it');
select is(pg_temp.judged(), 'right', 'and is there');
select arrivals_remove(:guild, 0::smallint, array(
           select arrival from log_arrival
            where guild_id = :guild and held_to is not null)) \g /dev/null
delete from model m
 where m.bot = 0
   and not exists (select from stored e
                    where e.guild_id = :guild and e.bot = 0 and e.id = m.id)
   and id_time(m.id) > :now;
select is(pg_temp.judged(), 'right', 'when it is taken back it is not');
select pg_temp.make(4096) \g /dev/null
select is(pg_temp.waits(), 0::bigint, 'then blocks are made');

-- somebody else who has it in hand, and what comes to nothing

create function pg_temp.undone()
returns void language plpgsql as $$
begin
    perform pg_temp.send(200), pg_temp.make(150);
    raise exception using errcode = 'GL999';
exception when sqlstate 'GL999' then
    return;
end $$;
select pg_temp.undone() \g /dev/null
select is(pg_temp.judged(), 'right', 'what was rolled back is not there');

-- the same with the index of searches

select keeper_searchable(20000), pg_temp.jobs(:guild) \g /dev/null
select pg_temp.send(300), pg_temp.make(200) \g /dev/null
select is(pg_temp.judged(), 'right', 'with an index of searches');

-- a person who is forgotten

select operator_person_forget(:guild, 41) \g /dev/null
select pg_temp.send(60, 0), pg_temp.make(30) \g /dev/null
do $$
begin
    while exists (select from forgotten_person) loop
        perform keeper_forget(20000);
    end loop;
end $$;
update model m set doc = e.doc
  from stored e
 where e.guild_id = :guild and e.bot = m.bot and e.id = m.id;
select is(pg_temp.judged(), 'right', 'a person who was forgotten');
select is(count(*) filter (where doc ~ '"id":"41"') > 0
          and count(*) filter (where doc ~ '"id":"41"') < 60, true,
          'but for what came later')
  from stored where guild_id = :guild;

-- making it anew

delete from log_day where guild_id = :guild;
select isnt(pg_temp.judged(0), 'right', 'days that are gone are found out');
select guildlog.rebuild(:guild) \g /dev/null
select is(pg_temp.judged(12), 'right', 'when all is made anew');
select pg_temp.send(200), pg_temp.make(150) \g /dev/null
select is(pg_temp.judged(), 'right', 'and goes on');

-- days that expire: the keeper's, as many as there are, then what comes late

create or replace function day_now()
returns int language sql stable as $$
    select m.today from pg_temp.moment m
$$;
update moment set today = today + 12;
create function pg_temp.expired()
returns void language plpgsql as $$
begin
    while (select k.more from keeper_expiry(20000) k) loop
    end loop;

    delete from model m using moment t where day_of(m.id) < t.today - 31
       and not exists (
           select from log_arrival a
             join log_head h on h.guild_id = a.guild_id and h.bot = a.bot
            where a.guild_id = 900000000000000001 and a.bot = m.bot
              and a.id = m.id and a.arrival > h.blocked);
end $$;
select pg_temp.expired() \g /dev/null
select is(pg_temp.judged(12), 'right', 'what expired is gone, to an entry');
select is(count(*)::int, 0, 'and no day of it is left')
  from log_block k, moment t
 where k.guild_id = :guild and k.day < t.today - 31;
select pg_temp.send(100, 0.9), pg_temp.make(4096), pg_temp.expired()
\g /dev/null
select is(pg_temp.judged(12), 'right', 'what comes too late goes with it');
update moment set today = today - 12;

-- a plan that ends, and what it leaves

select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select pg_temp.send(50, 0), pg_temp.make(4096) \g /dev/null
select is(pg_temp.judged(12), 'right', 'an hour is all that is seen');
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select is(pg_temp.judged(12), 'right', 'until the plan returns');
select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
update server set lapsed_at = now() - interval '8 days'
 where guild_id = :guild;
select pg_temp.send(50, 0), keeper_searchable(20000) \g /dev/null
select count(pg_temp.make(4096)), count(pg_temp.make(4096, 1))
  from generate_series(1, 40) \g /dev/null
select is(pg_temp.judged(12), 'right', 'a week later the rest goes');
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
delete from model m where day_of(m.id) < day_now() - 1;
select is(pg_temp.judged(12), 'right', 'what is left is exact');

-- documents of a MiB each

select pg_temp.make(4096), pg_temp.send(90, 0, 1, 1) \g /dev/null
update log_arrival a set doc = a.doc || ',"x":"' || repeat('x', 1048576) || '"'
  from log_head h
 where h.guild_id = a.guild_id and h.bot = a.bot and a.arrival > h.blocked
   and a.guild_id = :guild and a.bot = 1 and a.id is not null;
select is(block_make(:guild, 1::smallint) between 60 and 80, true,
          'no more than 64 MiB of documents are in memory at once');

select * from finish();
rollback;
