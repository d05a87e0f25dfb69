-- /config/logging/settings/{log_id}: what one log type does differently.

\ir ../setup.psql
select plan(17);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from type_get(:nobody, 5);
select pg_temp.answers(status, body, 401, '{}', 'and changes nothing')
  from type_patch(:nobody, 5, '{"enabled": false}');
select pg_temp.answers(status, body, 404, '{}', 'the type is not customised')
  from type_get(:me, 5);

select pg_temp.answers(status, body, 202, '{}', 'a type is changed')
  from type_patch(:me, 5, '{"enabled": false, "log_channel": "0",
                            "color": 16777215}');
select pg_temp.answers(status, body, 200,
    '[{"id":"900000000000000001","log_type":5,"enabled":0,"log_channel":"0",'
    '"format_type":null,"color":16777215,"ignore_bot_executors":null,'
    '"ignore_bot_targets":null,"active_ignore":null}]', 'and read back')
  from type_get(:me, 5);
select pg_temp.answers(status, body, 404, '{}', 'only that one')
  from type_get(:me, 6);
select pg_temp.answers(status, body, 404, '{}', 'and only for that bot')
  from type_get(:pro, 5);
select is(pg_temp.last_logged(:guild, 77, '{name}'), 'messageDelete',
          'the entry names the type');
select is(pg_temp.last_logged(:guild, 77, '{changes}')::jsonb,
          '[{"key": "color", "old": null, "new": 16777215},
            {"key": "enabled", "old": null, "new": false},
            {"key": "log_channel", "old": null, "new": "0"}]',
          'the entry has the change');
select pg_temp.answers(status, body, 202, '{}', 'the same again')
  from type_patch(:me, 5, '{"color": 16777215}');
select is(pg_temp.logged(:guild, 77), 1, 'is no change');

select pg_temp.answers(status, body, 202, '{}', 'all follows the server again')
  from type_patch(:me, 5, '{"enabled": null, "log_channel": null,
                            "color": null}');
select pg_temp.answers(status, body, 404, '{}', 'then it is not customised')
  from type_get(:me, 5);
select is(pg_temp.logged(:guild, 77), 2, 'which is logged');
select type_patch(:me, 5, '{"enabled": null}') \g /dev/null
select is(pg_temp.logged(:guild, 77), 2, 'but not when nothing was stored');

select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select throws_ok(format('select type_patch(%s, 5, %L)', :'me',
                        '{"enabled": false, "format_type": 1}'),
                 'GL403', 'format_type: needs the Pro or Pro Lite plan',
                 'the free plan has no formats');
select pg_temp.answers(status, body, 202, '{}', 'null needs no plan')
  from type_patch(:me, 5, '{"enabled": true, "format_type": null}');

select * from finish();
rollback;
