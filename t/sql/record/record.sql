-- Recording: an event is stored once, under an id that is its time, with the
-- channel it goes to.

\ir ../setup.psql
\ir ../operator.psql
select plan(42);

create function pg_temp.entry(event_id text, more jsonb default '{}')
returns jsonb language sql as $$
    select jsonb_build_object('event_id', event_id, 'type', 5) || more
$$;

-- one entry, whole

select record(:guild, 0::smallint, jsonb_build_array(pg_temp.entry('one',
    '{"timestamp": 1790000000123, "executor": {"id": "1", "name": "A"},
      "target": {"id": "2"}, "channel": {"id": "3", "name": "c"},
      "role": "r", "name": "n", "reason": "why", "count": 4,
      "content": "}", "contentAfter": "after", "action": "act", "value": "v",
      "messages": [{"id": "9", "content": "m"}],
      "emoji": {"id": "8", "name": "e", "animated": false}}'))) as answer
\gset
select is(:'answer'::jsonb - 'ids', '{"recorded": 1, "duplicates": 0,
                                      "dropped": {}, "errors": []}',
          'an entry is recorded');
select :'answer'::json #>> '{ids,0}' as id \gset
select is(doc, format('{"id":"%s","type":5,"timestamp":1790000000123,'
    '"executor":{"id":"1","name":"A"},"target":{"id":"2","name":""},'
    '"channel":{"id":"3","name":"c"},"role":"r","name":"n","reason":"why",'
    '"count":4,"content":"}","contentAfter":"after",'
    '"messages":[{"id": "9", "content": "m"}],"messagesTruncated":null,'
    '"emoji":{"id": "8", "name": "e", "animated": false},"action":"act",'
    '"value":"v"', :'id'), 'its document, in the documented order')
  from stored where guild_id = :guild and id = :id;
select is(type, 5::smallint, 'its type')
  from stored where guild_id = :guild and id = :id;
select is((:id >> 22) + 1420070400000, 1790000000123,
          'its id is its time');

select record(:guild, 0::smallint, jsonb_build_array(pg_temp.entry('bare',
    '{"executor": null, "messages": null}')))::json #>> '{ids,0}' as id \gset
select is(((doc || '}')::jsonb - array['id', 'timestamp'])::text,
          '{"name": null, "role": null, "type": 5, "count": null, '
          '"emoji": null, "value": null, "action": null, "reason": null, '
          '"target": null, "channel": null, "content": null, '
          '"executor": null, "messages": [], "contentAfter": null, '
          '"messagesTruncated": null}', 'what is absent is null')
  from stored where guild_id = :guild and id = :id;
select is(abs((:id >> 22) + 1420070400000 - ms(clock_timestamp())) < 60000,
          true, 'without a time it is now');

-- duplicates

select is(record(:guild, 0::smallint, jsonb_build_array(
              pg_temp.entry('one'), pg_temp.entry('two'),
              pg_temp.entry('two'))) - 'ids',
          '{"recorded": 1, "duplicates": 2, "dropped": {}, "errors": []}',
          'the same event is stored once');
select is((record(:guild, 0::smallint,
                  jsonb_build_array(pg_temp.entry('bare')))
           #>> '{ids,0}'), :'id', 'and answers with the id of the first');
select is(record(:guild, 1::smallint, jsonb_build_array(
              pg_temp.entry('one'))) ->> 'recorded', '1',
          'the other bot has its own events');
update log_arrival set recorded_at = now() - interval '25 hours'
 where guild_id = :guild and event_id = 'two';
select is(record(:guild, 0::smallint, jsonb_build_array(
              pg_temp.entry('two'))) ->> 'recorded', '1',
          'after 24 h it is another event');
select record(:guild, 0::smallint,
              jsonb_build_array(pg_temp.entry('m5'))) \g /dev/null
update log_arrival set recorded_at = now() - interval '23 hours'
 where guild_id = :guild and event_id = 'm5';
select is(record(:guild, 0::smallint, jsonb_build_array(
              pg_temp.entry('m9'), pg_temp.entry('M1'),
              pg_temp.entry('m5'))) - 'ids',
          '{"recorded": 2, "duplicates": 1, "dropped": {}, "errors": []}',
          'before, it is the same one, whatever new ones are around it');
select is(record(:guild, 0::smallint, jsonb_build_array(
              pg_temp.entry('m5'), pg_temp.entry('m6'))) - 'ids',
          '{"recorded": 1, "duplicates": 1, "dropped": {}, "errors": []}',
          'also where it is the first of them');
select is(record(:guild, 0::smallint, '[]'),
          '{"recorded": 0, "duplicates": 0, "dropped": {}, "errors": [],
            "ids": []}', 'an empty batch');

-- order

select setval('entry_number', 0) \g /dev/null
select record(:guild, 0::smallint, (select jsonb_agg(
                  pg_temp.entry('n' || i, '{"timestamp": 1790000000999}')
                  order by i) from generate_series(1, 100) i)) \g /dev/null
select is(string_agg(event_id, ' ' order by id),
          string_agg(event_id, ' ' order by arrival),
          'entries of one millisecond keep the order of the array')
  from log_arrival where guild_id = :guild and event_id ~ '^n';
select is(count(distinct arrival), count(*), 'no arrival is given twice')
  from stored where guild_id = :guild and bot = 0;

select setval('entry_number', 7, false) \g /dev/null
select record(:guild, 0::smallint, jsonb_build_array(
           pg_temp.entry('x', '{"timestamp": 1790000005000}'))) \g /dev/null
select setval('entry_number', 7, false) \g /dev/null
select is(record(:guild, 0::smallint, jsonb_build_array(
              pg_temp.entry('y', '{"timestamp": 1790000005000}')))
          ->> 'recorded', '1', 'a number that is taken is not given again');
select is(count(distinct id)::int, 2, 'both are stored')
  from stored where guild_id = :guild
   and id >> 22 = 1790000005000 - 1420070400000;

-- of those that drew a taken number no other one is stored twice, or late

select setval('entry_number', 8, false) \g /dev/null
select record(:guild, 0::smallint, (select jsonb_agg(
                  pg_temp.entry('z' || i, '{"timestamp": 1790000005000}')
                  order by i) from generate_series(1, 5) i)) -> 'ids' as ids
\gset
select is(array(select e.id::text from log_arrival e
                 where e.guild_id = :guild and e.event_id ~ '^z'
                 order by e.arrival),
          array(select jsonb_array_elements_text(:'ids')),
          'the others keep their places, the ids are those that are stored');
select is(count(*)::int, 5, 'each is stored')
  from stored e
 where e.guild_id = :guild
   and e.id = any (array(select jsonb_array_elements_text(:'ids')::bigint))
   and e.id >> 22 = 1790000005000 - 1420070400000;

-- where all numbers of a millisecond are taken it goes on in the next one

alter sequence entry_number maxvalue 3 restart 0;
select record(:guild, 0::smallint, (select jsonb_agg(
                  pg_temp.entry('full' || i, '{"timestamp": 1790000007000}')
                  order by i) from generate_series(1, 10) i)) as answer \gset
select is(:'answer'::jsonb ->> 'recorded', '10', 'more than there are numbers');
select is(string_agg(((e.id >> 22) - 1790000007000 + 1420070400000)::text, ' '
                     order by e.id), '0 0 0 0 1 1 1 1 2 2',
          'fill one after the other')
  from stored e
 where e.guild_id = :guild
   and e.id = any (array(select jsonb_array_elements_text(
                                    :'answer'::jsonb -> 'ids')::bigint));
select is(count(*)::int, 10, 'with the time that was told')
  from stored e
 where e.guild_id = :guild and e.doc like '%"timestamp":1790000007000,%'
   and e.id = any (array(select jsonb_array_elements_text(
                                    :'answer'::jsonb -> 'ids')::bigint));
alter sequence entry_number maxvalue 262143;

-- Subtransactions of many servers would slow down all others: 65 of them are
-- more than a snapshot holds.

select is(array(select distinct e.xmin::text from log_arrival e
                 where e.guild_id = :guild),
          array[(pg_current_xact_id()::text::bigint % 4294967296)::text],
          'no entry is stored by a subtransaction');

-- routing

create function pg_temp.routed(guild bigint, type int)
returns text language plpgsql as $$
declare
    stored  bigint;
begin
    stored := record(guild, 0::smallint, jsonb_build_array(
              pg_temp.entry(gen_random_uuid()::text,
                            jsonb_build_object('type', type))))
          #>> '{ids,0}';
    return (select concat_ws(' ', e.dchannel_id, e.dstatus, e.dreason)
              from stored e where e.guild_id = guild and e.id = stored);
end $$;

select is(pg_temp.routed(:guild, 5), '0 no_channel', 'nowhere to go');
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select is(pg_temp.routed(:guild, 5), '10', 'the main channel');
select channels_patch(:me, '{"category_text": "11"}') \g /dev/null
select is(pg_temp.routed(:guild, 5), '11', 'that of the category');
select is(pg_temp.routed(:guild, 0), '11', 'files go with the text');
select is(pg_temp.routed(:guild, 39), '10', 'another category does not');
select channels_patch(:me, '{"category_files": "12"}') \g /dev/null
select is(pg_temp.routed(:guild, 0), '12', 'unless they have their own');
select channels_patch(:me, '{"category_text": "0"}') \g /dev/null
select is(pg_temp.routed(:guild, 5), '0 off', 'a category that is off');
select type_patch(:me, 5, '{"log_channel": "13"}') \g /dev/null
select is(pg_temp.routed(:guild, 5), '13', 'a type with its own channel');
select type_patch(:me, 39, '{"log_channel": "0"}') \g /dev/null
select is(pg_temp.routed(:guild, 39), '0 off', 'a type that is off');
select is(pg_temp.routed(:guild, t.id), '10',
          t.route || ' ends in the main channel')
  from (select route, min(id) as id from log_type
         where route not in ('category_text', 'category_files',
                             'category_modlog') group by route) t;

-- the operator's way in

select pg_temp.answers(status, body, 200, '{"ids": [], "errors": [], '
                       '"dropped": {}, "recorded": 0, "duplicates": 0}',
                       'the operator records')
  from pg_temp.operator_record(:guild, 0::smallint, '[]');
select throws_ok($$ select pg_temp.operator_record(900000000000000009, 0::smallint,
                                           '[]') $$,
                 'GL404', 'server: unknown', 'for servers it has put');
select record(:guild, 0::smallint, jsonb_build_array(pg_temp.entry('early',
    '{"timestamp": 1789000000000}'))) \g /dev/null
select is(body::json ->> 'first_log_at', '1789000000000',
          'the first log is the oldest one')
  from server_get(:me);

select * from finish();
rollback;
