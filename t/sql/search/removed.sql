-- What takes entries out of the index of searches, or the index away: entries
-- that are removed, days that expire, plans that end, a clock that was wrong.

\ir ../days.psql
\ir ../segments.psql
select plan(35);

select ms(now()) as at, day_of(time_id(ms(now()))) as today \gset
\set other :guild + 1

-- a request takes back what arrived so
create function pg_temp.removed(guild bigint, arrival bigint)
returns void language sql as $$
    update log_arrival a set held_to = clock_timestamp() + interval '1 minute'
     where a.guild_id = guild and a.bot = 0 and a.arrival = removed.arrival;
    select arrivals_remove(guild, 0::smallint, array[arrival])
$$;

create function pg_temp.differences(guild bigint)
returns bigint language sql as $$
    select count(*) from guildlog.check(guild)
$$;

select pg_temp.recorded(:guild, 20, :at - 5 * 86400000, 21600000) \g /dev/null
select keeper_searchable(20000) \g /dev/null
select arrival from search_head where guild_id = :guild and bot = 0 \gset

-- entries that go

select pg_temp.job(:guild) as job \gset
select pg_temp.removed(:guild, :arrival) \g /dev/null
select is(pg_temp.put(:'job', pg_temp.wanted(:'job')), 409,
          'what was being made with it is thrown away');
select is(pg_temp.jobs(:guild) ~ '^back 200(, back 200)+$', true,
          'and made again');
select is(pg_temp.differences(:guild), 0::bigint, 'without it');

select pg_temp.recorded(:guild, 1100, :at - 9000, 1) \g /dev/null
select pg_temp.job(:guild) as job \gset
select pg_temp.removed(:guild, :arrival + 9) \g /dev/null
select is(pg_temp.put(:'job', pg_temp.wanted(:'job')), 409,
          'a run that has it is thrown away');
select is(pg_temp.jobs(:guild), 'run 200', 'and made again');
select is(pg_temp.differences(:guild), 0::bigint, 'without it');

-- what check says

create function pg_temp.found(guild bigint, broken text)
returns text language plpgsql as $$
declare
    found  text;
begin
    execute broken using guild;
    found := (select string_agg(distinct regexp_replace(
                         format('%s: %s, %s', d.structure, d.expected,
                                d.found), '\d{10,}', 'N'), '; ')
                from guildlog.check(guild) d
               where d.structure in ('search_segment', 'log_arrival'));
    raise exception using errcode = 'GL999', message = coalesce(found, '');
exception when sqlstate 'GL999' then
    return sqlerrm;
end $$;

select is(pg_temp.found(:guild, $$
    update log_arrival e set id = null, doc = null from search_head s
     where s.guild_id = $1 and e.guild_id = $1 and e.bot = 0
       and e.arrival = s.arrival $$),
    'search_segment: in no segment, in 1', 'an entry went untold');
select is(pg_temp.found(:guild, $$
    delete from search_segment s where s.guild_id = $1 and s.n > 100 $$),
    'search_segment: in one segment, in 0', 'a segment went');
select is(pg_temp.found(:guild, $$
    insert into search_segment
    select s.guild_id, s.bot, s.day, nextval('search_key'), s.whole, s.n,
           s.kinds, s.dir, s.body
      from search_segment s where s.guild_id = $1 and s.n > 100 $$),
    'search_segment: in one segment, in 2', 'a segment is there twice');
select is(pg_temp.found(:guild, $$
    update search_segment s set body = '\x0102' where s.guild_id = $1 $$),
    'search_segment: in one segment, in 0', 'a body is cut off');
select is(pg_temp.found(:guild, $$
    update search_segment s set day = s.day - 100
     where s.guild_id = $1 and s.n > 100 $$)
    like 'search_segment: a day from % on, an earlier one; '
         'search_segment: in one segment, in 0', true,
    'a segment is of a day past keeping');
select is(pg_temp.found(:guild, $$
    with h as (update search_head s set arrival = 0 where s.guild_id = $1)
    delete from log_arrival k where k.guild_id = $1 $$)
    like 'log_arrival: a row, none%', true, 'what arrived is gone');

-- days that expire

select pg_temp.recorded(:guild, 3, :at - 29 * 86400000::bigint, 1) \g /dev/null
update search_head set closed = 0, due_at = now() where guild_id = :guild;
select pg_temp.jobs(:guild) \g /dev/null
insert into search_segment
select guild_id, bot, :today - 32, nextval('search_key'), whole, n, kinds, dir,
       body
  from search_segment where guild_id = :guild limit 1;
update search_head set oldest = :today - 33 where guild_id = :guild;
select pg_temp.recorded(:guild, 2, :at - 32 * 86400000::bigint, 1) \g /dev/null
update search_head set closed = 0, due_at = now() where guild_id = :guild;
select pg_temp.job(:guild) as job \gset
select is(min(day_of(i)), :today - 32, 'a run has a day that expires')
  from unnest(pg_temp.wanted(:'job')) i;
select is((t.more, t.lag)::text, '(f,0)', 'while the keeper forgets the day')
  from keeper_searchable(20000) t;
select is(pg_temp.put(:'job', pg_temp.wanted(:'job')), 200, 'the run is put');
select is(min(s.day) >= search_oldest() and max(s.day) > :today - 30, true,
          'no segment is of a day past keeping, others are')
  from search_segment s where s.guild_id = :guild;
select is(s.oldest, search_oldest(), 'the index says so')
  from search_head s where s.guild_id = :guild;
select is(pg_temp.differences(:guild), 0::bigint, 'it has all the others');

-- a clock that was ahead

update search_head set oldest = oldest + 7, due_at = now() + interval '9 days'
 where guild_id = :guild;
select keeper_searchable(20000) \g /dev/null
select is((s.oldest = search_oldest(), s.due_at <= now(), s.back_id > 0)::text,
          '(t,t,t)', 'what it took away is made anew')
  from search_head s where s.guild_id = :guild;
select pg_temp.jobs(:guild) \g /dev/null
update search_head set due_at = now() + interval '9 days'
 where guild_id = :guild;
select keeper_searchable(20000) \g /dev/null
select is(s.due_at <= now(), true, 'and nobody waits for that time')
  from search_head s where s.guild_id = :guild;

-- rows that go

create function pg_temp.drops(leaves int default 0)
returns void language plpgsql as $$
begin
    while (select count(*) from partitions_expired()) > leaves loop
        exit when not partition_drop(20000);
    end loop;
end $$;

select pg_temp.jobs(:guild), pg_temp.drops(1) \g /dev/null
select pg_temp.recorded(:guild, 2, :at - 9000, 1) \g /dev/null
update log_arrival set recorded_at = recorded_at - interval '74 hours'
 where guild_id = :guild;
update log_head set since = '-infinity' where guild_id = :guild;
select search_forgets(now() - interval '75 hours') \g /dev/null
select is(s.format, search_format(), 'the index needs rows that are there')
  from search_head s where s.guild_id = :guild;
update log_arrival set recorded_at = recorded_at - interval '1 day'
 where guild_id = :guild;
select is(partition_drop(20000), true, 'before they go');
select is((s.format, count(k.*))::text, format('(0,%s)', count(k.*)),
          'the index is given up')
  from search_head s
  join log_arrival k on k.guild_id = s.guild_id and k.bot = s.bot
 where s.guild_id = :guild group by s.format;
select pg_temp.drops() \g /dev/null
select cmp_ok(count(*)::int, '>', 0, 'as long as they are in no block they stay')
  from log_arrival where guild_id = :guild;
select block_make(:guild, 0::smallint, 20000) \g /dev/null
select pg_temp.drops() \g /dev/null
select is(count(*)::int, 0, 'then they go')
  from log_arrival where guild_id = :guild;
select keeper_searchable(20000) \g /dev/null
select pg_temp.jobs(:guild) \g /dev/null
select is(pg_temp.differences(:guild), 0::bigint, 'it is made anew');

-- rebuilding

select erased from search_head where guild_id = :guild \gset
select guildlog.rebuild(:guild) \g /dev/null
select is((s.back_id > 0, s.erased > :erased)::text, '(t,t)',
          'a rebuild makes it anew')
  from search_head s where s.guild_id = :guild and s.bot = 0;
select pg_temp.jobs(:guild) \g /dev/null
select is(pg_temp.differences(:guild), 0::bigint, 'with all that there is');

-- plans

select operator_server_put(:other, '{"plan": "free"}') \g /dev/null
select pg_temp.recorded(:other, 5, :at - 86400000, 1) \g /dev/null
select keeper_searchable(20000) \g /dev/null
select is(count(*)::int, 0, 'an hour needs no index')
  from search_head where guild_id = :other;
select operator_server_put(:other, '{"plan": "pro"}') \g /dev/null
select keeper_searchable(20000) \g /dev/null
select is(pg_temp.jobs(:other), 'back 200', 'an upgrade gives it one');
select operator_server_put(:other, '{"plan": "free"}') \g /dev/null
select keeper_searchable(20000) \g /dev/null
select is(pg_temp.differences(:other), 0::bigint,
          'it stays for some days when the plan ends');
select pg_temp.recorded(:other, 1030, :at - 9000, 1) \g /dev/null
select is(pg_temp.jobs(:other), 'run 200', 'and goes on');
update server set lapsed_at = now() - interval '8 days'
 where guild_id = :other;
select pg_temp.job(:other) as job \gset
select keeper_searchable(1) \g /dev/null
select is((s.leaving, s.format)::text, '(t,0)',
          'then it goes, a little at a time')
  from search_head s where s.guild_id = :other;
select search_begin(:other, 0::smallint) \g /dev/null
select is(s.format, 0::smallint, 'and nobody begins it anew')
  from search_head s where s.guild_id = :other;
select operator_server_put(:other, '{"plan": "pro"}') \g /dev/null
select keeper_searchable(20000), keeper_searchable(20000) \g /dev/null
select is(pg_temp.jobs(:other), 'back 200, back 200',
          'an upgrade gives it a new one');

select * from finish();
rollback;
