-- /config/logging/channels: a channel, off ("0"), or the main one (null).

\ir ../setup.psql
select plan(17);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from channels_get(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'and changes nothing')
  from channels_patch(:nobody, '{"main_channel": "5"}');
select pg_temp.answers(status, body, 404, '{}', 'nothing is stored yet')
  from channels_get(:me);

select pg_temp.answers(status, body, 202, '{}', 'channels are set')
  from channels_patch(:me, '{"main_channel": "5", "category_text": "0",
                             "category_files": "9223372036854775807"}');
select pg_temp.answers(status, body, 200,
    '[{"id":"900000000000000001","main_channel":"5","category_modlog":null,'
    '"category_members":null,"category_actions":null,"category_text":"0",'
    '"category_voice":null,"category_files":"9223372036854775807",'
    '"category_server":null,"category_roles":null,"category_channels":null,'
    '"category_service":null}]', 'IDs are read back as strings')
  from channels_get(:me);
select is(pg_temp.last_logged(:guild, 68, '{changes}')::jsonb,
          '[{"key": "category_files", "old": null,
             "new": "9223372036854775807"},
            {"key": "category_text", "old": null, "new": "0"},
            {"key": "main_channel", "old": null, "new": "5"}]',
          'the entry names what changed');

select pg_temp.answers(status, body, 202, '{}', 'one follows the main one')
  from channels_patch(:me, '{"category_text": null}');
select is(body::json -> 0 ->> 'category_text', null, 'so it is null')
  from channels_get(:me);
select is(body::json -> 0 ->> 'main_channel', '5', 'and the others stayed')
  from channels_get(:me);
select is(pg_temp.last_logged(:guild, 68, '{changes}')::jsonb,
          '[{"key": "category_text", "old": "0", "new": null}]',
          'the entry has the old value');
select is(pg_temp.logged(:guild, 68), 2, 'each change is logged');
select pg_temp.answers(status, body, 202, '{}', 'the same again')
  from channels_patch(:me, '{"main_channel": "5"}');
select is(pg_temp.logged(:guild, 68), 2, 'is no change');

select throws_ok(format('select channels_patch(%s, %L)', :'me',
                        '{"main_channel": "0"}'), 'GL400',
                 'main_channel: cannot be off', 'the main channel stays on');
select throws_ok(format('select channels_patch(%s, %L)', :'me',
                        '{"category_files": "0"}'), 'GL400',
                 'category_files: cannot be off',
                 'categories of files stay on, too');
select pg_temp.answers(status, body, 404, '{}', 'the Pro bot has its own')
  from channels_get(:pro);

select channels_patch(:me, '{"guild_id": 1, "bot": 1, "category_voice": "6"}')
\g /dev/null
select is(body::json -> 0 ->> 'category_voice', '6',
          'a body cannot name another server or bot')
  from channels_get(:me);

select * from finish();
rollback;
