-- /filters: a fixed set, off by default.

\ir ../setup.psql
select plan(16);

select pg_temp.answers(status, body, 401, '{}', 'a dead token lists nothing')
  from filters_list(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'reads nothing')
  from filter_get(:nobody, 'links');
select pg_temp.answers(status, body, 401, '{}', 'and changes nothing')
  from filter_patch(:nobody, 'links', '{"enabled": true}');

select is((select string_agg(f ->> 'filter_id', ' ')
             from json_array_elements(body::json) f),
          'invites links emails phones addresses secrets cards words',
          'the fixed set')
  from filters_list(:me);
select pg_temp.answers(status, body, 200, '{"filter_id":"links","enabled":0,'
                       '"action":"mask","words":[],"log_types":[]}',
                       'off by default')
  from filter_get(:me, 'links');
select pg_temp.answers(status, body, 404, '{}', 'there is no other')
  from filter_get(:me, 'other');
select pg_temp.answers(status, body, 404, '{}', 'nor can it be changed')
  from filter_patch(:me, 'other', '{"enabled": true}');

select pg_temp.answers(status, body, 202, '{}', 'a filter is changed')
  from filter_patch(:me, 'words', '{"enabled": true, "action": "drop",
                     "words": ["one", "two"], "log_types": [5, 7]}');
select pg_temp.answers(status, body, 200, '{"filter_id":"words","enabled":1,'
                       '"action":"drop","words":["one","two"],'
                       '"log_types":[5,7]}', 'and read back')
  from filter_get(:me, 'words');
select is(pg_temp.logged(:guild, 76), 1, 'it is logged');
select unalike(pg_temp.last_logged(:guild, 76, '{changes}'), '%two%',
               'the entry does not show the words');
select pg_temp.answers(status, body, 202, '{}', 'the same again')
  from filter_patch(:me, 'words', '{"action": "drop"}');
select is(pg_temp.logged(:guild, 76), 1, 'is no change');
select filter_patch(:me, 'words', '{"words": []}') \g /dev/null
select is(pg_temp.logged(:guild, 76), 2, 'a change of the words alone is one');
select throws_ok(format('select filter_patch(%s, %L, %L)', :'me', 'links',
                        '{"words": ["a"]}'), 'GL400',
                 'words: only the filter "words" has them',
                 'other filters have no words');
select is(body::json ->> 'enabled', '0', 'the Pro bot has its own')
  from filter_get(:pro, 'words');

select * from finish();
rollback;
