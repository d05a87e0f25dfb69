-- "Who appears as executor inside the window, at most 2,000, most recent first":
-- exact while those of a few blocks are not put together with those of before,
-- whatever is recorded, late, forgotten or past keeping.

\ir ../setup.psql
\ir ../forget.psql
select plan(19);

select setseed(0.5) \g /dev/null

-- so many entries by as many people of 600, the last ones by people after "first"
create function pg_temp.send(n int, first int default null)
returns void language sql as $$
    select record(900000000000000001, 0::smallint, jsonb_agg(
               jsonb_build_object(
                   'event_id', gen_random_uuid(), 'type', 5,
                   'timestamp', ms(clock_timestamp())
                       - case when random() < 0.1
                              then (random() * 20 * 86400000)::bigint
                              else 0 end,
                   'executor', jsonb_build_object(
                       'id', (1000 + coalesce(first + i,
                                              (random() * 600)::int))::text,
                       'name', 'Ann' || i))))
      from generate_series(1, n) i
$$;

create function pg_temp.make()
returns void language plpgsql as $$
begin
    while block_make(900000000000000001, 0::smallint, 300) > 0 loop
    end loop;
end $$;

-- how many wait
create function pg_temp.wait()
returns int language sql as $$
    select coalesce(cardinality(m.new_actors), 0) from log_made m
     where m.guild_id = 900000000000000001 and m.bot = 0
$$;

-- "right", or what is not: of the answer, or of what check() finds
create function pg_temp.judged(token text)
returns text language plpgsql as $$
declare
    want  text := (
              select string_agg(x.who, ' ' order by x.id desc)
                from (select e.doc_id as who, max(e.id) as id
                        from (select s.id, ('{' || substr(s.doc, 2) || '}')::json
                                     -> 'executor' ->> 'id' as doc_id
                                from stored s
                               where s.guild_id = 900000000000000001
                                 and s.bot = 0) e
                       where e.doc_id is not null
                       group by 1 order by 2 desc limit 2000) x);
    it    text := (
              select string_agg(a ->> 'id', ' ' order by o)
                from logs_actors(token, 900000000000000001, 0::smallint,
                                 1::smallint) l
               cross join lateral json_array_elements(l.body::json -> 'actors')
                     with ordinality u (a, o));
begin
    return case when it is distinct from want
                then format('%s, not %s', it, want)
                else coalesce((select string_agg(d::text, '; ')
                                 from (select d
                                         from guildlog.check(900000000000000001)
                                              d limit 5) d), 'right') end;
end $$;

select token_id as token from token
 where guild_id = :guild and permissions = 1 limit 1 \gset

select pg_temp.send(40) \g /dev/null
select is(pg_temp.judged(:'token'), 'right', 'none in a block');
select pg_temp.make() \g /dev/null
select ok(pg_temp.wait() between 1 and 40, 'who did something waits');
select is(pg_temp.judged(:'token'), 'right', '... and is told of');
select is(actors, null, '... and stands nowhere else') from log_made
 where guild_id = :guild and bot = 0;

select pg_temp.send(100), pg_temp.make() from generate_series(1, 3) \g /dev/null
select is(pg_temp.judged(:'token'), 'right', 'in several rounds');
select pg_temp.send(100), pg_temp.make() from generate_series(1, 3) \g /dev/null
select ok(pg_temp.wait() <= 256, 'no more than some wait');
select ok(cardinality(actors) > 256, 'the others are put together')
  from log_made where guild_id = :guild and bot = 0;
select is(pg_temp.judged(:'token'), 'right', '... each told of once');
select pg_temp.send(30) \g /dev/null
select is(pg_temp.judged(:'token'), 'right', '... and once more, with new ones');

-- forgotten, while they wait

select pg_temp.send(400), pg_temp.make(), pg_temp.send(20, 700), pg_temp.make()
\g /dev/null
select ok(1710 = any (new_actors), 'one who waits') from log_made
 where guild_id = :guild and bot = 0;
select operator_person_forget(:guild, 1710) \g /dev/null
select keeper_forget(2000) from generate_series(1, 20) \g /dev/null
select ok(not 1710 = any (actors || new_actors), '... is forgotten')
  from log_made where guild_id = :guild and bot = 0;
select is(pg_temp.judged(:'token'), 'right', '... the others are not');

-- past keeping

select pg_temp.send(10, 800), pg_temp.make() \g /dev/null
select blocks_expire(:guild, 0::smallint, day_now() - 3, 3000) \g /dev/null
select is(pg_temp.wait(), 0, 'before days go, nobody waits');
select is(pg_temp.judged(:'token'), 'right', 'who did something since is left');

-- made anew

update log_made set actors = '{1,2}', lasts = '{1,2}' where guild_id = :guild;
select isnt(pg_temp.judged(:'token'), 'right', 'what is wrong');
select guildlog.rebuild(:guild) \g /dev/null
select is(pg_temp.judged(:'token'), 'right', '... is made anew');
select pg_temp.send(20), pg_temp.make() \g /dev/null
select is(pg_temp.judged(:'token'), 'right', '... and goes on');

-- more than are told of

select pg_temp.send(700, 2000), pg_temp.make(), pg_temp.send(900, 3000),
       pg_temp.make(), pg_temp.send(800, 4000), pg_temp.make() \g /dev/null
select ok(cardinality(actors) <= 2048, 'no more are kept than have to be')
  from log_made where guild_id = :guild and bot = 0;
select is(pg_temp.judged(:'token'), 'right', '... the last ones');

select * from finish();
rollback;
