-- /notifications: the last 100 changes, newest first, until acknowledged.

\ir ../setup.psql
select plan(21);

select pg_temp.answers(status, body, 401, '{}', 'a dead token lists nothing')
  from notifications_list(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'acknowledges nothing')
  from notifications_acknowledge(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'not even one')
  from notification_acknowledge(:nobody, '1');
select pg_temp.answers(status, body, 200, '[]', 'an empty list is a list')
  from notifications_list(:pro);

select settings_patch(:me, '{"locale": "de"}') \g /dev/null
select body::json -> 0 as first from notifications_list(:me) \gset
select is((select string_agg(k, ' ') from json_object_keys(:'first'::json) k),
          'id created notificationId notificationType notificationData '
          'acknowledged', 'the fields in the documented order');
select is(:'first'::json ->> 'id', :'first'::json ->> 'notificationId',
          'both ids are the same');
select matches(:'first'::json ->> 'created',
               '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$', 'ISO 8601');
select is(:'first'::json ->> 'notificationType', '70', 'the log type');
select is(:'first'::jsonb -> 'notificationData',
          '{"title": "Language changed", "description": "update: locale: de",
            "executorId": "0"}', 'what happened');
select is(:'first'::json ->> 'acknowledged', '0', 'not yet acknowledged');

select pg_temp.answers(status, body, 404, '{}', 'an unknown one')
  from notification_acknowledge(:me, 'x');
select pg_temp.answers(status, body, 404, '{}', 'nor has the other bot it')
  from notification_acknowledge(:pro, :'first'::json ->> 'id');
select pg_temp.answers(status, body, 200, '{}', 'one is acknowledged')
  from notification_acknowledge(:me, :'first'::json ->> 'id');
select is(array_agg(n ->> 'acknowledged'), '{1,0,0}', 'only that one')
  from notifications_list(:me), json_array_elements(body::json) n;
select pg_temp.answers(status, body, 200, '{}', 'all are acknowledged')
  from notifications_acknowledge(:me);
select is(array_agg(n ->> 'acknowledged'), '{1,1,1}', 'so they are')
  from notifications_list(:me), json_array_elements(body::json) n;

select access_put(:me, i, '{"level": "view"}')
  from generate_series(1, 120) i \g /dev/null
select is(json_array_length(body::json), 100, 'the last 100')
  from notifications_list(:me);
select is(body::json #>> '{0,notificationData,description}',
          'add 120 view', 'newest first')
  from notifications_list(:me);
select is(count(*)::int, 100, 'no more are kept')
  from notification where guild_id = :guild;

select notification_put(:guild, 0::smallint, 68::smallint, 'a title',
                        repeat(e'\x01', 4095))
  from generate_series(1, 100) \g /dev/null
select ok(octet_length(body) <= 1048576, 'an answer of at most 1 MiB')
  from notifications_list(:me);
select is(char_length(body::json #>> '{0,notificationData,description}'),
          1500, 'as a description is cut')
  from notifications_list(:me);

select * from finish();
rollback;
