-- What the module is asked to make segments of, and what becomes of these: in
-- which order, once, and only as long as the index is what it was.

\ir ../days.psql
\ir ../segments.psql
select plan(60);

select ms(now()) as at, day_of(time_id(ms(now()))) as today \gset
\set other :guild + 1
\set free :guild + 2

create function pg_temp.head(guild bigint)
returns search_head language sql as $$
    select s from search_head s where s.guild_id = guild and s.bot = 0
$$;

create function pg_temp.ids(guild bigint, low bigint, high bigint)
returns bigint[] language sql as $$
    select array_agg(e.id order by e.id desc) from stored e
     where e.guild_id = guild and e.bot = 0 and e.id >= low and e.id < high
$$;

create function pg_temp.segments_of(guild bigint)
returns text language sql as $$
    select string_agg(format('%s x %s', day_of(time_id(ms(now()))) - s.day,
                             s.n), ', ' order by s.day, s.n)
      from search_segment s where s.guild_id = guild and s.bot = 0
$$;

-- who gets an index

select pg_temp.recorded(:guild, 20, :at - 5 * 86400000, 21600000) \g /dev/null
select pg_temp.recorded(:guild, 2, :at - 32 * 86400000::bigint, 1) \g /dev/null
select operator_server_put(:free, '{"plan": "free"}') \g /dev/null
select pg_temp.recorded(:free, 2, :at - 1000, 1) \g /dev/null
select operator_server_put(:other, '{"plan": "pro"}') \g /dev/null

select is(pg_temp.job(:guild), null, 'a server without an index has no job');
select is((t.more, t.lag)::text, '(f,0)', 'the keeper gives it')
  from keeper_searchable(20000) t;
select is(array_agg(s.guild_id), array[:guild::bigint],
          'to a server on the 30-day plan that has entries')
  from search_head s where s.guild_id between :guild and :free;
select is((h.arrival, h.back_id, h.back_arrival, h.closed)::text,
          format('(%s,9223372036854775807,%1$s,0)', l.arrival),
          'all that there is is its back part')
  from pg_temp.head(:guild) h
  join log_head l on l.guild_id = h.guild_id and l.bot = 0;

-- the back part, from the newest day on

select pg_temp.job(:guild) as job \gset
select erased, low, high, until from (select (:'job'::search_work).*) j \gset a_
select is(:'job'::search_work::text,
          format('(back,%s,0,%s,%s,9223372036854775807,0,%s,,f)', :guild,
                 :a_erased, day_low(day_of(max(e.id))),
                 max(h.arrival)),
          'first of its back part is the newest day')
  from stored e
  join log_head h on h.guild_id = e.guild_id and h.bot = e.bot
 where e.guild_id = :guild;
select is((select count(*)::int from search_job(1)), 0,
          'nobody else gets the same job');

update search_head set taken_to = clock_timestamp() where guild_id = :guild;
select is((select count(*)::int from search_job(2)), 0,
          'a module that makes others segments gets none');
select pg_temp.job(:guild) as job \gset
select is((:'job'::search_work).what, 'back',
          'who does not finish it loses it to another one');
select is(pg_temp.wanted(:'job'), pg_temp.ids(:guild, :a_low, :a_high),
          'its entries are read by id, from the last one on');

select is(pg_temp.put(pg_temp.but(:'job', '{"erased": 99}'), '{}'), 409,
          'what entries were taken from meanwhile is thrown away');
select is(pg_temp.put(pg_temp.but(:'job', '{"high": 99}'), '{}'), 409,
          'and what begins elsewhere');
select is(pg_temp.put(pg_temp.but(:'job', '{"what": "what"}'), '{}'), 409,
          'and what is no job');
select is((h.back_id, h.taken_to)::text, '(9223372036854775807,)',
          'then it is to be made again') from pg_temp.head(:guild) h;

-- of its newest day, which may have no more than two
select ids[cardinality(ids) - 1] as second_last
  from pg_temp.wanted(:'job') w (ids) \gset
select is(pg_temp.put(:'job', '{}', :second_last), 200,
          'a part of a day may be put');
select is((j.what, j.low, j.high)::text,
          format('(back,%s,%s)', :a_low, :second_last),
          'then the rest of the day is next') from pg_temp.job(:guild) j;
select is(pg_temp.put(:'job', '{}'), 409, 'nothing is put twice');

select search_begin(:guild, 0::smallint) \g /dev/null
select is(pg_temp.put(:'job', '{}'), 409,
          'what was asked for before the index was begun anew is thrown away');
select is(pg_temp.jobs(:guild), 'back 200, back 200, back 200, back 200, '
          'back 200' || case when :at % 86400000 <> 0 then ', back 200' else ''
                        end, 'one day after the other is made');
select is((h.back_id, h.back_arrival)::text, '(0,0)',
          'behind the last one the back part ends')
  from pg_temp.head(:guild) h;
select is(sum(n)::int, (select count(*)::int from stored
                         where guild_id = :guild and bot = 0) - 2,
          'all entries are in it, but those past keeping')
  from search_segment where guild_id = :guild;
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'it has what the entries say');
select is(h.due_at > now() and h.due_at < now() + interval '25 hours', true,
          'it is looked at again the next day') from pg_temp.head(:guild) h;
select is(h.closed, search_closed(), 'it was looked at today')
  from pg_temp.head(:guild) h;

-- what arrives

select arrival from log_head where guild_id = :guild and bot = 0 \gset
select pg_temp.recorded(:guild, (1023 - :arrival)::int, :at - 9000, 1)
\g /dev/null
select is(h.due_at > now(), true, 'a few entries are not worth a segment')
  from pg_temp.head(:guild) h;
select pg_temp.recorded(:guild, 1, :at - 7500, 1) \g /dev/null
select is(h.due_at <= now(), true,
          'each 1,024th entry makes the server due') from pg_temp.head(:guild) h;
select is(pg_temp.job(:guild), null, 'but 1,024 are waited for');
select pg_temp.recorded(:guild, 1100, :at - 7000, 1) \g /dev/null
select pg_temp.recorded(:guild, 2, :at - 86400000 * 3, 1) \g /dev/null
update search_head set due_at = now() - interval '31 seconds'
 where guild_id = :guild;
select pg_temp.job(:guild) as job \gset
select is((j.what, j.since, j.until, j.low, j.high, j.hurry)::text,
          format('(run,%s,%s,%s,9223372036854775807,t)', :arrival, l.arrival,
                 day_low(search_oldest())),
          'then there is a run, and it was due for long')
  from (select (:'job'::search_work).*) j, log_head l
 where l.guild_id = :guild and l.bot = 0;
select is(pg_temp.wanted(:'job', 2000),
          (select array_agg(e.id order by e.arrival) from stored e
            where e.guild_id = :guild and e.bot = 0 and e.arrival > :arrival),
          'its entries are read in the order in which they arrived');
select is(pg_temp.wanted(:'job', 1000000), pg_temp.wanted(:'job', 9000),
          'however many bytes at a time');
select is(pg_temp.put(pg_temp.but(:'job', '{"since": 1}'), '{}'), 409,
          'what begins at another arrival is thrown away');

select is(pg_temp.put(:'job', pg_temp.wanted(:'job')), 200, 'it is put');
select is(pg_temp.put(:'job', '{}'), 409, 'and not twice');
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'a late entry is in a segment of its day');
select is((select count(*)::int from search_head
            where guild_id = :guild and due_at > now()), 1,
          'nothing is due then');

update search_head set arrival = arrival - 20000, due_at = now()
 where guild_id = :guild;
select is(j.until - j.since, 16384::bigint, 'a run has so many at most')
  from pg_temp.job(:guild) j;
update search_head set arrival = arrival + 20000, taken_to = null
 where guild_id = :guild;

-- what is held

select pg_temp.recorded(:guild, 1200, :at - 5000, 1) \g /dev/null
update log_arrival set held_to = clock_timestamp() + interval '1 minute'
 where guild_id = :guild and bot = 0
   and arrival = (select arrival - 99 from log_head
                   where guild_id = :guild and bot = 0);
select is(j.until, (select arrival - 100 from log_head
                     where guild_id = :guild and bot = 0),
          'a run ends before what may be taken back')
  from pg_temp.job(:guild) j;
update search_head s set arrival = h.arrival - 2000, taken_to = null
  from log_head h
 where h.guild_id = :guild and s.guild_id = :guild and h.bot = s.bot;
update log_arrival a set held_to = clock_timestamp() + interval '1 minute'
  from search_head s
 where a.guild_id = :guild and a.bot = 0 and s.guild_id = :guild
   and s.bot = 0 and a.arrival = s.arrival + 1;
select is(pg_temp.job(:guild), null, 'where all that waits is held there is '
          'no job');
select is(h.due_at - now(), interval '5 seconds', 'for some seconds')
  from pg_temp.head(:guild) h;
update log_arrival set held_to = null where guild_id = :guild;
select search_begin(:guild, 0::smallint) \g /dev/null
select pg_temp.jobs(:guild) \g /dev/null

-- once a day

select pg_temp.recorded(:guild, 3, :at - 86400000 * 2, 3600000) \g /dev/null
select is(pg_temp.job(:guild), null, 'a few entries wait');
update search_head set due_at = now() where guild_id = :guild;
select is(pg_temp.job(:guild), null, 'the same day, however often one looks');
update search_head set closed = closed - 1, due_at = now()
 where guild_id = :guild;
select is(pg_temp.jobs(:guild), 'run 200', 'and are put the next day');
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'all of them');

-- days that are over

create function pg_temp.run(guild bigint, at bigint)
returns void language plpgsql as $$
declare
    job  search_work;
begin
    perform pg_temp.recorded(guild, 1, at, 1);
    update search_head s set closed = 0, due_at = now() where s.guild_id = guild;
    job := pg_temp.job(guild);
    perform pg_temp.put(job, pg_temp.wanted(job));
    update search_head s set closed = search_closed(), due_at = now()
     where s.guild_id = guild;
end $$;

select pg_temp.run(:guild, :at - 86400000 * 2) from generate_series(1, 7)
\g /dev/null
update search_head set closed = search_closed() - 5, due_at = now()
 where guild_id = :guild;
select is(pg_temp.jobs(:guild), '', 'eight runs of a day stay as they are');
select pg_temp.run(:guild, :at - 86400000 * 2) \g /dev/null
update search_segment set n = n + 1024
 where guild_id = :guild and day = :today - 2;
update search_head set closed = search_closed() - 5, due_at = now()
 where guild_id = :guild;
select is(pg_temp.jobs(:guild), '', 'and nine that are large');
update search_segment set n = n - 1024
 where guild_id = :guild and day = :today - 2;
update search_head set due_at = now() where guild_id = :guild;
select is(pg_temp.jobs(:guild), '', 'a day that was looked at stays so, too');
update search_head set closed = search_closed() - 5, due_at = now()
 where guild_id = :guild;
select pg_temp.job(:guild) as job \gset
select is((j.what, j.low, j.high, j.since, j.until)::text,
          format('(day,%s,%s,0,%s)', day_low(:today - 2),
                 day_low(:today - 1), l.arrival),
          'one with nine small ones is made anew')
  from (select (:'job'::search_work).*) j, log_head l
 where l.guild_id = :guild and l.bot = 0;
select is((select array_agg(key order by key)
             from unnest((:'job'::search_work).keys) key),
          (select array_agg(key order by key) from search_segment
            where guild_id = :guild and day = :today - 2),
          'in place of all its segments');

select pg_temp.wanted(:'job') as ids \gset
create function pg_temp.day(job search_work, keys bigint[], ids bigint[],
    parts bigint[])
returns int language sql as $$
    select p.status
      from pg_temp.segments(ids) s
     cross join lateral search_put(job.guild, job.bot, 'day', job.erased, 0, 0,
               day.keys, parts, s.shape, s.blob) p
$$;
select is(p.status, 409, 'a part of before entries went is thrown away')
  from pg_temp.segments((:'ids'::bigint[])[1:2]) s
 cross join lateral search_put(:guild, 0::smallint, 'part',
                (:'job'::search_work).erased - 1, 0, 0, '{}', '{}', s.shape,
                s.blob) p;
select p.status, p.made
  from pg_temp.segments((:'ids'::bigint[])[1:2]) s
 cross join lateral search_put(:guild, 0::smallint, 'part',
                (:'job'::search_work).erased, 0, 0, '{}', '{}', s.shape,
                s.blob) p \gset
select is(:status, 200, 'a part of it may come before');
select is(count(*)::int, 0, 'which is not read as yet')
  from search_open(:me, null, null, null) where key = (:'made'::bigint[])[1]::text;
select is(pg_temp.day(:'job', (:'job'::search_work).keys || 1::bigint,
                      (:'ids'::bigint[])[3:], :'made'), 409,
          'it is thrown away if a segment went');
select is(pg_temp.day(:'job', (:'job'::search_work).keys,
                      (:'ids'::bigint[])[3:], :'made'::bigint[] || 1::bigint),
          409, 'or a part');
select is(pg_temp.day(:'job', (:'job'::search_work).keys,
                      (:'ids'::bigint[])[3:], :'made'), 200, 'else it is put');
select is((select count(*)::int from search_segment
            where guild_id = :guild and day = :today - 2), 2,
          'these are its segments then');
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'with all of its entries');
select is(array_agg(distinct (kinds, dir, length(body) - 7 * n)::text),
          array['("\\x01","\\x0203",0)'], 'byte by byte')
  from search_segment where guild_id = :guild;

-- one bad server stops no other

select operator_server_put(:guild + 3, '{"plan": "pro"}') \g /dev/null
insert into search_head (guild_id, bot, format, due_at)
values (:guild + 3, 0, search_format(), '-infinity');
select is((select count(*)::int from search_job(1)
            where guild = :guild + 3), 0, 'a server without entries has no job');
select cmp_ok((select due_at from search_head where guild_id = :guild + 3),
              '>', now(), 'and is looked at again tomorrow');

update search_head set due_at = '-infinity' where guild_id = :guild + 3;
create function pg_temp.bad() returns trigger language plpgsql as $$
begin raise 'bad'; end $$;
create trigger bad before update on search_head for each row
  when (new.guild_id % 10 = 4) execute function pg_temp.bad();
select lives_ok('select count(*) from search_job(1)',
                'a server that fails is left out');

-- a hold runs out while the index is begun

create temp sequence calls;
create or replace function guildlog.search_until(guild bigint, bot smallint)
returns bigint language plpgsql stable as $$
begin
    return nextval('calls');
end $$;

select search_begin(:guild, 0::smallint) \g /dev/null
select is(h.arrival, h.back_arrival,
          'what is behind the back part begins where that ends')
  from pg_temp.head(:guild) h;

select * from finish();
rollback;
