-- /config/logging/settings: the options of the whole server.

\ir ../setup.psql
select plan(16);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from options_get(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'and changes nothing')
  from options_patch(:nobody, '{"spoilers": true}');
select pg_temp.answers(status, body, 404, '{}', 'nothing is stored yet')
  from options_get(:me);

select pg_temp.answers(status, body, 200, '{}', 'one option is set')
  from options_patch(:me, '{"spoilers": true}');
select pg_temp.answers(status, body, 200,
    '[{"id":"900000000000000001","spoilers":1,"proxy_integration":0,'
    '"ignore_bot_targets":1,"ignore_bot_executors":1,"format_type":0,'
    '"buttons":["userID","supportServer","customise"],"active_ignore":0}]',
    'the other fields have their defaults')
  from options_get(:me);
select is(pg_temp.last_logged(:guild, 76, '{changes}')::jsonb,
          '[{"key": "spoilers", "old": false, "new": true}]',
          'the entry names what changed');
select pg_temp.answers(status, body, 200, '{}', 'the same again')
  from options_patch(:me, '{"spoilers": true}');
select is(pg_temp.logged(:guild, 76), 1, 'is no change');

select options_patch(:me, '{"format_type": 3, "buttons": [],
                            "ignore_bot_targets": false}') \g /dev/null
select is((body::jsonb -> 0) - array['id', 'spoilers', 'proxy_integration',
                                     'ignore_bot_executors', 'active_ignore'],
          '{"format_type": 3, "buttons": [], "ignore_bot_targets": 0}',
          'several fields at once')
  from options_get(:me);
select options_patch(:me, '{"buttons": null}') \g /dev/null
select is(body::json #>> '{0,buttons}',
          '["userID","supportServer","customise"]', 'null is the default again')
  from options_get(:me);
select throws_ok(format('select options_patch(%s, %L)', :'me',
                        '{"buttons": ["other"]}'), '23514', null,
                 'an unknown button is refused');

select operator_server_put(:guild, '{"plan": "pro_lite"}') \g /dev/null
select pg_temp.answers(status, body, 200, '{}', 'Pro Lite has formats')
  from options_patch(:me, '{"format_type": 2}');
select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select throws_ok(format('select options_patch(%s, %L)', :'me',
                        '{"spoilers": false, "format_type": 1}'),
                 'GL403', 'format_type: needs the Pro or Pro Lite plan',
                 'the free plan does not have format_type');
select is(body::json #>> '{0,spoilers}', '1', 'then nothing is applied')
  from options_get(:me);
select pg_temp.answers(status, body, 200, '{}', 'null needs no plan')
  from options_patch(:me, '{"format_type": null}');
select pg_temp.answers(status, body, 404, '{}', 'the Pro bot has its own')
  from options_get(:pro);

select * from finish();
rollback;
