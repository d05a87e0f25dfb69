-- /active/ignore: requests of Basic and Admin tokens, kept until they expire.

\ir ../setup.psql
select plan(24);

create function pg_temp.newest(guild bigint)
returns text language sql as $$
    select concat_ws(' ', side, subject_id, subject_type, log_type, remaining,
                     extract(epoch from expires_at - requested_at)::int || 's')
      from active_ignore a where a.guild_id = guild
     order by a.request_id desc limit 1
$$;

select pg_temp.answers(status, body, 401, '{}', 'a dead token asks for nothing')
  from active_ignore_targets(:nobody, '{"id": "5", "type": 0}');
select pg_temp.answers(status, body, 401, '{}', 'on neither side')
  from active_ignore_executors(:nobody, '{"id": "5"}');

select pg_temp.answers(status, body, 200, '{}', 'a Basic token asks')
  from active_ignore_targets(:basic, '{"id": "5", "type": 1}');
select is(pg_temp.newest(:guild), 'target 5 1 1 10s',
          'once, in the next 10 s, by default');
select is(pg_temp.logged(:guild, 69), 1, 'it is logged');
select is(pg_temp.last_logged(:guild, 69, '{value}'),
          (select token_id from token
            where guild_id = :guild and permissions = 2),
          'the entry has the id of the token');
select pg_temp.answers(status, body, 200, '{}', 'and asks again')
  from active_ignore_executors(:basic, '{"id": "6", "logType": 5,
                                         "count": 100, "time": 300}');
select is(pg_temp.newest(:guild), 'executor 6 5 100 300s', 'for more');
select is(pg_temp.logged(:guild, 69), 1, 'logged at most once an hour');
update token set ignore_logged_at = now() - interval '61 minutes'
 where guild_id = :guild;
select active_ignore_executors(:basic, '{"id": "6"}') \g /dev/null
select is(pg_temp.logged(:guild, 69), 2, 'so again after an hour');
select active_ignore_targets(:me, '{"id": "5", "type": 5}') \g /dev/null
select is(pg_temp.logged(:guild, 69), 3, 'and for each token');

select active_ignore_targets(:me, '{"id": "5", "type": 0, "time": 301}')
\g /dev/null
select is(pg_temp.newest(:guild), 'target 5 0 1 300s',
          'a longer time is 300 s');
select throws_ok(format('select active_ignore_targets(%s, %L)', :'me', e),
                 'GL400', m, m)
  from (values ('{"id": "5", "type": 0, "time": 0}', 'time: must be 1 or more'),
               ('{"id": "5", "type": 0, "count": 0}',
                'count: must be 1 to 100'),
               ('{"id": "5", "type": 0, "count": 101}',
                'count: must be 1 to 100')) v (e, m);
select throws_ok(format('select active_ignore_executors(%s, %L)', :'me',
                        '{"id": "5", "type": 0}'),
                 'GL400', 'type: only targets have it', 'type of an executor');

-- protected types

select throws_ok(format('select active_ignore_targets(%s, %L)', :'basic',
                        format('{"id": "5", "type": 0, "logType": %s}', t)),
                 'GL403', 'logType: takes an Admin token',
                 'a Basic token cannot cover type ' || t)
  from unnest('{39,2,101}'::int[]) t;
select is(count(*)::int, 20, 'there are 20 protected types in all')
  from log_type where protected;
select pg_temp.answers(status, body, 200, '{}', 'an Admin token can')
  from active_ignore_targets(:me, '{"id": "5", "type": 0, "logType": 39}');
select is(pg_temp.logged(:guild, 69), 4, 'it is logged');
select active_ignore_targets(:me, '{"id": "5", "type": 0, "logType": 39}')
\g /dev/null
select is(pg_temp.logged(:guild, 69), 5, 'each time');
select is(count(*)::int, 0, 'no notification: no configuration has changed')
  from notification where guild_id = :guild and log_type = 69;

select * from finish();
rollback;
