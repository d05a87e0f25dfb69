-- "guildlog.check(guild) compares every derived structure with the entries and
-- tells differences; guildlog.rebuild(guild) makes them anew while service goes
-- on." No row where nothing differs, whatever is recorded, taken back, late,
-- delivered or kept house with.

\ir ../setup.psql
\ir ../forget.psql
select plan(59);

create temp sequence nth;

-- so many entries of several types, members and channels
create function pg_temp.send(n int, bot int default 0, ago int default 3600)
returns void language sql as $$
    select record(900000000000000001, bot::smallint, jsonb_agg(
               jsonb_build_object(
                   'event_id', gen_random_uuid(), 'type', 1 + i % 9,
                   'timestamp', ms(now()) - ago * 1000
                                + nextval('pg_temp.nth'),
                   'executor', jsonb_build_object('id', (1 + i % 3)::text,
                                                  'name', 'Ann' || i % 3),
                   'target', jsonb_build_object('id', (1 + i % 2)::text,
                                                'name', 'Ben'),
                   'channel', '{"id": "5", "name": "general"}'::jsonb,
                   'role', 'role ' || i % 5, 'reason', 'for being ' || i,
                   'content', 'word' || i % 7 || ' and Größe')))
      from generate_series(1, n) i
$$;

-- what check says of the structure, or of all
create function pg_temp.told(of text default null)
returns setof text language sql as $$
    select concat_ws(' | ', c.structure, c.what, c.expected, c.found)
      from guildlog.check(900000000000000001) c
     where of is null or c.structure = of
$$;

-- breaks something, which is to be told, and made anew
create function pg_temp.broken(structure text, wanted text, sql text,
    why text)
returns setof text language plpgsql as $$
begin
    execute sql;
    return next matches((select min(t) from pg_temp.told(structure) t),
                        wanted, why || ': told');
    perform guildlog.rebuild(900000000000000001);
    return next is_empty('select pg_temp.told()', '... and mended');
    perform pg_temp.keep();
    return next is_empty('select pg_temp.told()',
                         '... and made anew by the keeper');
end $$;

select options_patch(:me, '{"ignore_bot_targets": false}') \g /dev/null
select is_empty('select pg_temp.told()', 'nothing differs of a new server');

-- all that happens to entries

select pg_temp.send(300), pg_temp.send(60, 1) \g /dev/null
select is_empty('select pg_temp.told()', '... recorded');
select pg_temp.keep() \g /dev/null
select is_empty('select pg_temp.told()', '... kept house with');
select cmp_ok(count(*)::int, '>=', 4, 'there are blocks')
  from log_block where guild_id = :guild;
select cmp_ok(count(*)::int, '>=', 1, 'there are segments')
  from search_segment where guild_id = :guild;

select pg_temp.send(70, 0, 7200) \g /dev/null
select is_empty('select pg_temp.told()', '... late');
select block_make(:guild, 0::smallint, 30) \g /dev/null
select is_empty('select pg_temp.told()', '... and put into blocks');

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select channels_patch(:me, '{"main_channel": "300000000000000001"}')
\g /dev/null
select pg_temp.send(20, 0, 5400) \g /dev/null
select is_empty('select pg_temp.told()', '... held');
select active_ignore_executors(:me, '{"id": "1", "count": 5}') \g /dev/null
select is_empty('select pg_temp.told()', '... taken back');
update log_arrival set held_to = now() - interval '1 minute'
 where guild_id = :guild and held_to is not null;
select held_release() \g /dev/null
select is_empty('select pg_temp.told()', '... released');
select options_patch(:me, '{"active_ignore": false}') \g /dev/null
select pg_temp.send(40) \g /dev/null
select pg_temp.keep() \g /dev/null
select is_empty('select pg_temp.told()', '... kept house with again');

select lane from lane where guild_id = :guild \gset
update lane_head set head = 20, upto = 25 where lane = :lane;
insert into lane_batch (guild_id, lane, seq_from, seq_to, message_id, done_at,
                        attempts, status)
select :guild, :lane, n, n + 9, n, clock_timestamp(), 1, 2
  from generate_series(1, 11, 10) n;
select is_empty('select pg_temp.told()', '... delivered');

select pg_temp.send(900, 0, 600) \g /dev/null
select pg_temp.keep() \g /dev/null
select is_empty('select pg_temp.told()', '... and much more recorded');

-- each structure

select pg_temp.broken('log_day', 'main bot, day \d+, type 3 .* \d+ .* \d+',
    $$ update log_day set counts = counts_sum(counts, array[1 << 7 | 3]::text)
        where bot = 0 $$, 'the counts of a day');
select pg_temp.broken('log_day', 'main bot, day \d+, type \d+ .* \d+ .* 0',
    $$ delete from log_day where bot = 0 $$, 'a day that is gone');
select pg_temp.broken('log_day', 'day \d+, parts',
    $$ update log_day set parts = array[null, '{129}'] where bot = 0 $$,
    'parts of a day');
select pg_temp.broken('log_head', 'arrival',
    $$ update log_head set arrival = 7 $$,
    'the last arrival');
select pg_temp.broken('log_head', 'first_log_at',
    $$ update log_head set first_log_at = ms(now()) $$, 'the first log');
select pg_temp.broken('search_segment', 'in one segment \| in 0',
    $$ delete from search_segment where bot = 0 $$, 'entries of a segment');

-- lanes, which are but mended

select pg_temp.broken('lane', 'upto',
    $$ update lane_head set upto = 9 where head = 20 $$, 'a lane behind');
select pg_temp.broken('lane', 'not decided',
    $$ delete from lane_batch where seq_from = 11 $$, 'a gap');

select pg_temp.broken('lane_batch', 'behind 10',
    $$ update lane_batch set seq_from = 8 where seq_from = 11 $$,
    'a place that was decided twice');
select pg_temp.broken('lane', 'something to do',
    $$ delete from lane_ready $$, 'a lane that is not called for');
select pg_temp.broken('lane', '2 entries',
    $$ update log_arrival e set seq = 30
        where e.lane is not null and e.seq = 31 $$,
    'two entries in one place');
-- what nothing else has, and cannot be made anew

create function pg_temp.lost(structure text, wanted text, sql text, why text)
returns text language plpgsql as $$
declare
    told  text;
begin
    execute sql;
    told := (select min(t) from pg_temp.told(structure) t);
    raise exception using errcode = 'GL999', message = coalesce(told, 'none');
exception when sqlstate 'GL999' then
    return matches(sqlerrm, wanted, why || ': told');
end $$;

select pg_temp.lost('log_arrival', 'a row \| none',
    $$ select pg_temp.send(3);
       delete from log_arrival a using log_head h
        where h.guild_id = a.guild_id and h.bot = 0 and a.bot = 0
          and a.arrival = h.arrival $$, 'what arrived is gone');
select pg_temp.lost('log_arrival', 'recorded between',
    $$ select pg_temp.send(3);
       update log_head set since = now() + interval '1 hour' $$,
    'what arrived is not looked for');
select pg_temp.lost('log_arrival', 'recorded between',
    $$ select pg_temp.send(3);
       update log_head set last_at = now() - interval '1 hour' $$,
    '... or not far enough');
select pg_temp.lost('log_arrival', 'in a block \| in none',
    $$ delete from log_block where bot = 0 $$, 'blocks are gone');
select pg_temp.lost('log_block', what, format('update log_block set %s', change),
                    what)
  from (values ('n', 'n = n + 1'), ('types', 'types = types || types'),
               ('docs', 'docs = docs || chr(10) || ''{'' '),
               ('said', 'said = said || chr(10) || ''0'' '),
               ('last_id', 'last_id = last_id + 1'), ('day', 'day = day - 1'),
               ('kinds', 'kinds0 = kinds0 # 1'),
               ('entry \d+', 'ids[2] = ids[1]'),
               ('of type', 'types = translate(types, chr(29), chr(30))'))
       v (what, change);

select * from finish();
rollback;
