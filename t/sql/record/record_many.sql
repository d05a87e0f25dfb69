-- The operator's batches of many servers: one answer, with the places of the
-- whole; nothing a bad entry does touches another.

\ir ../setup.psql
\ir ../operator.psql
select plan(32);

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
               {"index": 4, "error": "server: unknown",
                "code": "unknown_server"}]}',
    'what became of each');
select is(:'counts'::jsonb, '{"recorded": 4, "duplicate": 1, "error": 2,
                              "bot_executor": 1}', 'counted again');
select is(string_agg(coalesce(e.guild_id % 10 || ':' || e.bot, '-'), ' '
                     order by i.place), '2:0 1:0 - 1:1 - 1:0 - 2:0',
          'an id at the place of each')
  from jsonb_array_elements_text(:'answer'::jsonb -> 'ids')
           with ordinality i (id, place)
  left join stored e on e.id = i.id::bigint;
select is(string_agg(event_id, ' ' order by arrival), 'a c',
          'entries of one server keep their order')
  from log_arrival where guild_id = :other and id is not null;
select is(count(*)::int, 0, 'what says whose it is does not stand in it')
  from stored
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
  from stored e
 cross join lateral (select (e.doc || '}')::jsonb) d (doc)
 where e.guild_id = :guild and e.id = :id;
select is(d.doc ->> 'messagesTruncated', '3', 'the others are counted')
  from stored e
 cross join lateral (select (e.doc || '}')::jsonb) d (doc)
 where e.guild_id = :guild and e.id = :id;
select is(d.doc #>> '{messages,99,id}', '100', 'they are the first')
  from stored e
 cross join lateral (select (e.doc || '}')::jsonb) d (doc)
 where e.guild_id = :guild and e.id = :id;

-- a server in trouble: together it is all or nothing, apart the others go on

create function pg_temp.trouble()
returns trigger language plpgsql as $$
begin
    if new.guild_id = 900000000000000002 then
        raise exception 'for the test';
    end if;

    return new;
end $$;
create trigger trouble before insert on log_arrival
    for each row execute function pg_temp.trouble();

select '[{"server": "900000000000000002", "event_id": "t1", "type": 5},
         {"server": "900000000000000001", "event_id": "t2", "type": 5},
         "type: is required",
         {"server": "900000000000000001", "event_id": "t2", "type": 5},
         {"server": "900000000000000002", "event_id": "t3", "type": 5},
         {"server": "900000000000000009", "event_id": "t4", "type": 5}]'
       as mixed \gset
select throws_ok(format('select pg_temp.operator_record_many(%L)', :'mixed'),
                 'P0001', 'for the test', 'one fails for all');
select body as answer, counts, status
  from pg_temp.operator_record_apart(:'mixed') \gset
select is(:status, 200, 'or for itself');
select is(:'answer'::jsonb - '{ids,errors}'::text[],
          '{"recorded": 1, "duplicates": 1, "dropped": {}}',
          'the others are recorded');
select is(array(select e ->> 'index' || ' ' || coalesce(e ->> 'retry', '-')
                  from jsonb_array_elements(:'answer'::jsonb -> 'errors') e),
          '{0 true,2 -,4 true,5 -}',
          'what is to be sent again is told from what is refused');
select is((:'answer'::jsonb #>> '{errors,0,error}'),
          'entry: was not recorded in time, send it again', 'in words, too');
select is(:'counts'::jsonb - 'faults', '{"recorded": 1, "duplicate": 1,
          "error": 2, "postponed": 2}', 'it is counted');
select is(:'counts'::jsonb ->> 'faults', '["server 900000000000000002: '
          '2 entries are to be sent again, P0001 for the test"]',
          'and said why');
select is(count(*)::int, 0, 'none of its events counts as known')
  from log_arrival where guild_id = :other and event_id in ('t1', 't3');
select is(status || body, '503{"error": "nothing was recorded, '
          'send it again", "code": "send_again"}', 'nothing at all is no success')
  from pg_temp.operator_record_apart(
           '[{"server": "900000000000000002", "event_id": "t1", "type": 5}]');
select is(status, 200, 'none has no trouble')
  from pg_temp.operator_record_apart('[]');

drop trigger trouble on log_arrival;
select is(body::jsonb -> 'recorded', '2', 'sent again it is recorded')
  from pg_temp.operator_record_apart(:'mixed');
select is(body::jsonb -> 'duplicates', '4', 'once')
  from pg_temp.operator_record_many(:'mixed');

-- the time of filters: what they do not come to is to be sent again

select filter_patch(:me, 'emails', '{"enabled": true}') \g /dev/null

create function pg_temp.in_no_time(entries jsonb, out verdicts text[],
    out stored int)
language plpgsql as $$
declare
    did  record;
begin
    did := record_batch(900000000000000001, 0::smallint,
                        record_read(entries), record_docs(entries), -1);
    verdicts := did.verdicts;
    stored := num_nonnulls(variadic did.ids);
end $$;

select '[{"event_id": "f1", "type": 5, "content": "a@b.c"},
         {"event_id": "f2", "type": 5, "content": "a@b.c"},
         {"event_id": "f1", "type": 5},
         {"event_id": "f3", "type": 5,
          "executor": {"id": "1", "bot": true}},
         {"event_id": "f4", "type": 39}]' as filtered \gset
select is(verdicts::text, '{NULL,postponed,duplicate,bot_executor,postponed}',
          'one is looked at, and all behind it wait')
  from pg_temp.in_no_time(:'filtered');
select is(verdicts::text, '{duplicate,NULL,duplicate,duplicate,postponed}',
          'the next time it is the next one')
  from pg_temp.in_no_time(:'filtered');
select is(verdicts::text, '{duplicate,duplicate,duplicate,duplicate,NULL}',
          'to the last one')
  from pg_temp.in_no_time(:'filtered');
select is(count(*)::int, 0, 'nothing is stored without a look')
  from stored where guild_id = :guild and doc like '%a@b.c%';

-- timestamps are held against the clock of the database

select is(body::jsonb - 'ids', '{"recorded": 2, "duplicates": 0,
    "dropped": {}, "errors": [
        {"index": 0, "error": "timestamp: must be within the last 30 days and '
        'at most 60 s ahead", "code": "entry_too_old",
         "field": "timestamp"},
        {"index": 1, "error": "x"},
        {"index": 3, "error": "timestamp: must be within the last 30 days and '
        'at most 60 s ahead", "code": "entry_too_old",
         "field": "timestamp"}]}', 'too old, or too far ahead')
  from ms(clock_timestamp()) now
 cross join lateral pg_temp.operator_record(:guild, 0::smallint,
       jsonb_build_array(
           jsonb_build_object('event_id', 'w1', 'type', 5,
                              'timestamp', now - 2592000000 - 1),
           'x',
           jsonb_build_object('event_id', 'w2', 'type', 5,
                              'timestamp', now - 2592000000 + 60000),
           jsonb_build_object('event_id', 'w3', 'type', 5,
                              'timestamp', now + 120000),
           jsonb_build_object('event_id', 'w4', 'type', 5,
                              'timestamp', now + 50000))) r;
select is(count(*)::int, 2, 'only what was recorded is known')
  from log_arrival where guild_id = :guild and event_id like 'w_';

select * from finish();
rollback;
