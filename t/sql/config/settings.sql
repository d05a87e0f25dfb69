-- /config/settings: a language written as a key is read back as a number.

\ir ../setup.psql
select plan(13);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from settings_get(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'a dead token changes nothing')
  from settings_patch(:nobody, '{"locale": "de"}');
select pg_temp.answers(status, body, 404, '{}', 'nothing is stored yet')
  from settings_get(:me);

select pg_temp.answers(status, body, 202, '{}', 'a language is set')
  from settings_patch(:me, '{"locale": "de"}');
select pg_temp.answers(status, body, 200,
    '[{"id":"900000000000000001","locale":9}]', 'and read back as a number')
  from settings_get(:me);
select is(pg_temp.logged(:guild, 70), 1, 'the change is logged');
select is(pg_temp.last_logged(:guild, 70, '{executor,id}'), '0',
          'the executor is 0');
select is(pg_temp.last_logged(:guild, 70, '{changes,0,new}'), 'de',
          'the entry has the language');

select pg_temp.answers(status, body, 202, '{}', 'the same again')
  from settings_patch(:me, '{"locale": "de"}');
select is(pg_temp.logged(:guild, 70), 1, 'is no change');

select pg_temp.answers(status, body, 404, '{}', 'the Pro bot has its own')
  from settings_get(:pro);
select is((select body::json ->> 'locale' from server_get(:me)), '9',
          'the server is read in the language of the bot');

select throws_ok(format('select settings_patch(%s, %L)', :'me',
                        '{"locale": "xx"}'),
                 'GL400', 'locale: unknown language',
                 'an unknown language is refused');

select * from finish();
rollback;
