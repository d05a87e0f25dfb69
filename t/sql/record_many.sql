-- The operator's batches of many servers: one answer, with the places of the
-- whole; nothing a bad entry does touches another.

\ir setup.psql
\ir operator.psql
select plan(14);

\set other 900000000000000002
select operator_server_put(:other, '{"plan": "pro"}') \g /dev/null

select body as answer, counts, status from pg_temp.operator_record_many('[
    {"server": "900000000000000002", "event_id": "a", "type": 5},
    {"server": "900000000000000001", "event_id": "a", "type": 5},
    "server: is required",
    {"server": "900000000000000001", "bot": "pro", "event_id": "a", "type": 5},
    {"server": "900000000000000009", "event_id": "a", "type": 5},
    {"server": "900000000000000001", "bot": "main", "event_id": "a",
     "type": 5},
    {"server": "900000000000000002", "event_id": "b", "type": 5,
     "executor": {"id": "1", "bot": true}},
    {"server": "900000000000000002", "event_id": "c", "type": 5}]') \gset
select is(:status, 200, 'many servers at once');
select is(:'answer'::jsonb - 'ids', '{"recorded": 4, "duplicates": 1,
    "dropped": {"bot_executor": 1},
    "errors": [{"index": 2, "error": "server: is required"},
               {"index": 4, "error": "server: unknown"}]}',
    'what became of each');
select is(:'counts'::jsonb, '{"recorded": 4, "duplicate": 1, "error": 2,
                              "bot_executor": 1}', 'counted again');
select is(string_agg(coalesce(e.guild_id % 10 || ':' || e.bot, '-'), ' '
                     order by i.place), '2:0 1:0 - 1:1 - 1:0 - 2:0',
          'an id at the place of each')
  from jsonb_array_elements_text(:'answer'::jsonb -> 'ids')
           with ordinality i (id, place)
  left join log_entry e on e.id = i.id::bigint;
select is(string_agg(event_id, ' ' order by arrival), 'a c',
          'entries of one server keep their order')
  from log_event where guild_id = :other and entry_id is not null;
select is(count(*)::int, 0, 'what says whose it is does not stand in it')
  from log_entry
 where guild_id = :guild and (doc like '%"server"%' or doc like '%"bot"%');

select is(body::jsonb, '{"recorded": 0, "duplicates": 0, "dropped": {},
                         "errors": [], "ids": []}', 'none')
  from pg_temp.operator_record_many('[]');
select is(body::jsonb ->> 'errors', '[{"error": "x", "index": 0}]',
          'nothing but errors')
  from pg_temp.operator_record_many('["x"]');

select is(body::jsonb - 'ids', '{"recorded": 1, "duplicates": 1,
    "dropped": {}, "errors": [{"index": 0, "error": "type: is required"}]}',
    'one server')
  from pg_temp.operator_record(:guild, 0::smallint, '["type: is required",
           {"event_id": "z", "type": 5}, {"event_id": "z", "type": 5}]');
select is(counts, '{"recorded": 1}', 'and its counts')
  from pg_temp.operator_record(:guild, 0::smallint, '[{"event_id": "y", "type": 5}]');
select throws_ok($$ select pg_temp.operator_record(900000000000000009, 0::smallint,
                                           '[]') $$,
                 'GL404', 'server: unknown', 'one that is unknown');

-- long lists of messages

select record(:guild, 0::smallint, jsonb_build_array(jsonb_build_object(
           'event_id', 'long', 'type', 3, 'messages',
           (select jsonb_agg(jsonb_build_object('id', i::text))
              from generate_series(1, n) i)))) #>> '{ids,0}' as id,
       n from (values (103)) v (n) \gset
select is(jsonb_array_length(d.doc -> 'messages'), 100,
          'a hundred messages are kept')
  from log_entry e
 cross join lateral (select (e.doc || '}')::jsonb) d (doc)
 where e.guild_id = :guild and e.id = :id;
select is(d.doc ->> 'messagesTruncated', '3', 'the others are counted')
  from log_entry e
 cross join lateral (select (e.doc || '}')::jsonb) d (doc)
 where e.guild_id = :guild and e.id = :id;
select is(d.doc #>> '{messages,99,id}', '100', 'they are the first')
  from log_entry e
 cross join lateral (select (e.doc || '}')::jsonb) d (doc)
 where e.guild_id = :guild and e.id = :id;

select * from finish();
rollback;
