-- GET /config: every part as its own read gives it.

\ir ../setup.psql
select plan(12);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from config_get(:nobody);
select is((select string_agg(k, ' ') from json_object_keys(body::json) k),
          'guilds serverlogConfigChannels serverlogConfigOptions '
          'serverlogConfigCustomOptions serverlogConfigIgnoreStandard '
          'settingsConfig tags access', 'the parts')
  from config_get(:me);
select is(count(*)::int, 7, 'null where nothing is stored')
  from config_get(:me), json_each(body::json) p
 where p.value::text = 'null';

select channels_patch(:me, '{"main_channel": "5"}'),
       options_patch(:me, '{"spoilers": true}'),
       type_patch(:me, 5, '{"enabled": false}'),
       ignore_add(:me, 0, '{"value": "5"}'),
       settings_patch(:me, '{"locale": "ja"}'),
       tag_create(:me, '{"tag_name": "a", "content": "b"}'),
       access_put(:me, 7, '{"level": "view"}') \g /dev/null

select is(c.body::json ->> part, single.body, part)
  from config_get(:me) c,
       (select 'guilds' part, body from guilds_get(:me)
        union all
        select 'serverlogConfigChannels', body from channels_get(:me)
        union all
        select 'serverlogConfigOptions', body from options_get(:me)
        union all
        select 'serverlogConfigCustomOptions', body from type_get(:me, 5)
        union all
        select 'serverlogConfigIgnoreStandard', body from ignore_get(:me, 0)
        union all
        select 'settingsConfig', body from settings_get(:me)
        union all
        select 'tags', body from tags_get(:me)
        union all
        select 'access', body from access_list(:me)) single;

select type_patch(:me, 7, '{"color": 1}'), ignore_add(:me, 6, '{"value": "8"}')
\g /dev/null
select is(json_array_length(body::json -> 'serverlogConfigCustomOptions')
          + json_array_length(body::json -> 'serverlogConfigIgnoreStandard'),
          4, 'all customised types and all lists')
  from config_get(:me);

select * from finish();
rollback;
