-- What every resource uses.

\ir ../setup.psql
select plan(15);

-- ids

select is(next_id(1790000000000) >> 22, 1790000000000 - 1420070400000,
          'an id begins with its time');
select is((next_id(1790000000000) >> 18) & 15, 0::bigint, 'then the node');
set local guildlog.node = 15;
select is((next_id(1790000000000) >> 18) & 15, 15::bigint, 'up to 15');
select is(next_id(1790000000000) >> 22, 1790000000000 - 1420070400000,
          'the node does not change the time');
select is(count(distinct next_id(1790000000000))::int, 10000,
          'no two ids are the same')
  from generate_series(1, 10000);
select is(next_id(9223372036854775807 / 4194304 + 1420070400000) > 0, true,
          'ids last until 2084');

-- differences

select is(difference('{"a": 1}', '{"a": 1}'), null, 'no difference');
select is(difference('{"a": 1, "b": 2}', '{"a": 1, "b": true}'),
          '{"changes": [{"key": "b", "old": 2, "new": true}]}',
          'a field changed');
select is(difference('{"a": 1, "b": null}', '{"a": null, "b": null}'),
          '{"changes": [{"key": "a", "old": 1, "new": null}]}',
          'a field emptied');
select is(difference(null, '{"a": 1, "b": null}'),
          '{"changes": [{"key": "a", "old": null, "new": 1}]}', 'a new row');
select is(difference('{"a": 1, "guild_id": 5, "bot": 0}', null),
          '{"changes": [{"key": "a", "old": 1, "new": null}]}',
          'a deleted row');
select is(difference('{"log_channel": 9223372036854775807, "a": [1, 2]}',
                     '{"log_channel": 0, "a": []}'),
          '{"changes": [{"key": "a", "old": ["1", "2"], "new": []},
                        {"key": "log_channel", "old": "9223372036854775807",
                         "new": "0"}]}', 'IDs and lists are of strings');
select is(length(difference(null, jsonb_build_object('a', repeat('ä', 5000)))
                 #>> '{changes,0,new}'), 1024, 'cut to what an entry may hold');

-- refusals

select throws_ok($$ select refuse(402, 'why') $$, 'GL402', 'why',
                 'a refusal has a status and an error');
select lives_ok(format('select announce(%s, 0::smallint, 70, null)', :guild),
                'a change of nothing makes no entry');

select * from finish();
rollback;
