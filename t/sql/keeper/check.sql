-- "guildlog.check(guild) compares every derived structure with the entries and
-- tells differences; guildlog.rebuild(guild) makes them anew while service goes
-- on." No row where nothing differs, whatever is recorded, taken back, late,
-- delivered or kept house with.

\ir ../setup.psql
\ir ../forget.psql
select plan(55);

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
select cmp_ok(count(*)::int, '>=', 4, 'there are checkpoints')
  from log_checkpoint where guild_id = :guild;
select cmp_ok(count(*)::int, '>=', 1, 'there are segments')
  from search_segment where guild_id = :guild;

select pg_temp.send(70, 0, 7200) \g /dev/null
select is_empty('select pg_temp.told()', '... late');
select cmp_ok(count(*)::int, '>', 0, 'there are corrections')
  from log_correction where guild_id = :guild;

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select channels_patch(:me, '{"main_channel": "300000000000000001"}')
\g /dev/null
select pg_temp.send(20, 0, 5400) \g /dev/null
select is_empty('select pg_temp.told()', '... held');
select active_ignore_executors(:me, '{"id": "1", "count": 5}') \g /dev/null
select is_empty('select pg_temp.told()', '... taken back');
update held_entry set until = now() - interval '1 hour';
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

select pg_temp.broken('log_checkpoint', 'main bot, place 3, .* \| \d+ \| \d+',
    $$ update log_checkpoint set cum[3] = cum[3] + 1
        where (guild_id, bot, last_id) in (
              select guild_id, bot, max(last_id) from log_checkpoint
               where bot = 0 group by 1, 2) $$,
    'a checkpoint');
select pg_temp.broken('log_correction', 'none$',
    $$ insert into log_correction
       values (900000000000000001, 0, log_high(ms(now()), null), 1, 1) $$,
    'a correction without a checkpoint');
select pg_temp.broken('log_checkpoint', 'place 1',
    $$ insert into log_correction
       select guild_id, bot, max(last_id), 1, 3 from log_checkpoint
        where bot = 0 group by 1, 2 $$,
    'a wrong correction');
select pg_temp.broken('log_event', 'an event',
    $$ select pg_temp.send(3);
       delete from log_event k using log_head h
        where h.guild_id = k.guild_id and h.bot = 0 and k.bot = 0
          and k.arrival = h.arrival $$, 'the events');
select pg_temp.broken('log_head', 'arrival',
    $$ update log_head set arrival = 7, counted = 0 $$,
    'the last arrival');
select pg_temp.broken('log_head', 'counted, or listed',
    $$ select pg_temp.send(300);
       update log_head set counted = 0; delete from log_uncounted $$,
    'a server that waits to be counted');
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
    $$ update log_entry e set seq = 30
        where e.lane is not null and e.seq = 31 $$,
    'two entries in one place');
select pg_temp.broken('held_entry', 'a row',
    $$ delete from held_entry where released and lane is not null $$,
    'entries that are held by nothing');

select * from finish();
rollback;
