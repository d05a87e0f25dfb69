-- The server: what the operator says of it, what its administrators read, and
-- what a reset leaves.

\ir ../setup.psql
select plan(32);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from server_get(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'nor the guilds')
  from guilds_get(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'and resets nothing')
  from server_reset(:nobody);

-- put

select is(status, 201, 'a server is created')
  from operator_server_put(900000000000000002, '{"name": "Two"}');
select is(body::jsonb - 'created_at',
          '{"id": "900000000000000002", "name": "Two", "owner_id": null,
            "plan": "free", "locale": 0, "retentionMs": 3600000,
            "first_log_at": null}', 'with the defaults')
  from operator_server_put(900000000000000002, '{}');
select is(status, 200, 'and changed')
  from operator_server_put(900000000000000002, '{"plan": "pro_lite"}');
select is((body::jsonb ->> 'name') || ' ' || (body::jsonb ->> 'retentionMs'),
          'Two 3600000',
          'absent fields keep their values; Pro Lite reads an hour back')
  from operator_server_put(900000000000000002, '{"locale": "ja"}');
select is(body::jsonb ->> 'locale', '18', 'the language is read as a number')
  from operator_server_put(900000000000000002, '{}');
select throws_ok($$ select operator_server_put(900000000000000003,
                                               '{"locale": "xx"}') $$,
                 'GL400', 'locale: unknown language',
                 'an unknown language is refused');

select is(body::jsonb ->> 'plan', 'pro', 'a new one has the usual plan')
  from operator_server_put(900000000000000004, '{"name": "Four"}', 'pro');
select is(body::jsonb ->> 'plan', 'pro', 'and keeps it where another is usual')
  from operator_server_put(900000000000000004, '{"name": "IV"}', 'free');

-- get

select is((select string_agg(k, ' ') from json_object_keys(body::json) k),
          'id name owner_id plan locale retentionMs first_log_at created_at',
          'the fields in the documented order')
  from server_get(:me);
select is((select body::json ->> 'retentionMs' from server_get(:me)),
          '2592000000', 'Pro reads 30 days back');
select is((select abs((body::json ->> 'first_log_at')::bigint
                      - ms(clock_timestamp())) < 60000 from server_get(:me)),
          true,
          'the first entry was the creation of the token');
select is((select body::json ->> 'first_log_at' from server_get(:pro)), null,
          'the Pro bot has no entry');
select is((body::jsonb -> 0) - 'first_log_at',
          '{"id": "900000000000000001", "owner_id": "42"}', 'guilds_get')
  from guilds_get(:me);

-- reset

select pg_temp.new_token(:guild, 1, 'pro') as other \gset
select channels_patch(:me, '{"main_channel": "5"}'),
       options_patch(:me, '{"spoilers": true}'),
       type_patch(:me, 5, '{"enabled": false}'),
       ignore_add(:me, 0, '{"value": "5"}'),
       tag_create(:me, '{"tag_name": "a", "content": "b"}'),
       access_put(:me, 7, '{"level": "view"}'),
       filter_patch(:me, 'links', '{"enabled": true}'),
       active_ignore_executors(:me, '{"id": "5"}'),
       options_patch(:pro, '{"spoilers": true}') \g /dev/null
select count(*) as entries from stored where guild_id = :guild \gset

select pg_temp.answers(status, body, 202, '{}', 'the reset')
  from server_reset(:me);
select pg_temp.answers(status, body, 401, '{}', 'stops the token at once')
  from server_get(:me);

select format('%L, %s, 0::smallint, 1::smallint', :'other', :guild) as me,
       format('%L, %s, 1::smallint, 1::smallint', :'other', :guild) as pro
\gset
select is(status, 200, 'but not those of the other bot')
  from server_get(:me);
select is(status, 404, 'no tokens are left') from token_list(:me);
select is(status, 404, 'no channels') from channels_get(:me);
select is(status, 404, 'no options') from options_get(:me);
select is(status, 404, 'no settings of a type') from type_get(:me, 5);
select is(status, 404, 'no ignore entries') from ignore_get(:me, 0);
select is(status, 404, 'no tags') from tags_get(:me);
select is(status, 404, 'no access') from access_list(:me);
select is(body::json ->> 'enabled', '0', 'no filters')
  from filter_get(:me, 'links');
select is(count(*)::int, 0, 'no active ignore requests')
  from active_ignore where guild_id = :guild;
select is(status, 200, 'the Pro bot keeps its options')
  from options_get(:pro);
select is(count(*)::int, :entries + 1, 'the entries stay, and one is new')
  from stored where guild_id = :guild;
select is(pg_temp.logged(:guild, 78), 1, 'that of the reset');
select is(body::json #>> '{0,notificationType}', '78', 'with a notification')
  from notifications_list(:me);

select * from finish();
rollback;
