-- /config/logging/ignore/{ignore_type}: lists of at most 1,000 entries.

\ir ../setup.psql
select plan(21);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from ignore_get(:nobody, 0);
select pg_temp.answers(status, body, 401, '{}', 'adds nothing')
  from ignore_add(:nobody, 0, '{"value": "5"}');
select pg_temp.answers(status, body, 401, '{}', 'and removes nothing')
  from ignore_remove(:nobody, 0, '{"value": "5"}');
select pg_temp.answers(status, body, 404, '{}', 'the list is empty')
  from ignore_get(:me, 0);

select pg_temp.answers(status, body, 202, '{}', 'an entry is added')
  from ignore_add(:me, 0, '{"value": "5"}');
select pg_temp.answers(status, body, 200, '[{"id":"900000000000000001",'
                       '"ignore_type":0,"ignore_value":"5"}]', 'and read back')
  from ignore_get(:me, 0);
select pg_temp.answers(status, body, 404, '{}', 'only in that list')
  from ignore_get(:me, 1);
select pg_temp.answers(status, body, 404, '{}', 'and only for that bot')
  from ignore_get(:pro, 0);
select is(pg_temp.last_logged(:guild, 69, '{value}'), '5', 'it is logged');
select matches(pg_temp.last_logged(:guild, 69, '{changes,0,key}'),
               '^ignored_[a-z_]+$', 'as a change of that list');
select pg_temp.answers(status, body, 202, '{}', 'the same again')
  from ignore_add(:me, 0, '{"value": "5"}');
select is(pg_temp.logged(:guild, 69), 1, 'is no change');

select pg_temp.answers(status, body, 202, '{}', 'what is not there is removed')
  from ignore_remove(:me, 0, '{"value": "6"}');
select is(pg_temp.logged(:guild, 69), 1, 'which is no change');
select pg_temp.answers(status, body, 202, '{}', 'the entry is removed')
  from ignore_remove(:me, 0, '{"value": "5"}');
select pg_temp.answers(status, body, 404, '{}', 'the list is empty')
  from ignore_get(:me, 0);
select is(pg_temp.logged(:guild, 69), 2, 'it is logged');

select ignore_add(:me, 4, jsonb_build_object('value', i::text))
  from generate_series(1, 1000) i \g /dev/null
select throws_ok(format('select ignore_add(%s, 4, %L)', :'me',
                        '{"value": "x"}'),
                 'GL402', 'an ignore list has at most 1000 entries',
                 'the 1,001st is refused');
select pg_temp.answers(status, body, 202, '{}', 'one of the 1,000 is not')
  from ignore_add(:me, 4, '{"value": "7"}');
select pg_temp.answers(status, body, 202, '{}', 'nor is one of another list')
  from ignore_add(:me, 2, '{"value": "x"}');
select is(json_array_length(body::json), 1000, 'the list is read whole')
  from ignore_get(:me, 4);

select * from finish();
rollback;
