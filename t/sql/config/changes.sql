-- PATCH /config: several changes, all of them or none.

\ir ../setup.psql
select plan(21);

-- changes as nginx hands them on, and in one: [name, piece, body]...
create function pg_temp.changes(variadic changes text[], out calls jsonb,
    out input jsonb)
language sql as $$
    select jsonb_agg(jsonb_path_query_array(c::jsonb, '$[0 to 1]')
                     order by place),
           jsonb_build_object('changes', jsonb_agg(
               jsonb_build_object('body', c::jsonb -> 2) order by place))
      from unnest(changes) with ordinality u (c, place)
$$;

select calls, input
  from pg_temp.changes('["channels_patch", null, {"main_channel": "5"}]') \gset
select pg_temp.answers(status, body, 401, '{}', 'a dead token changes nothing')
  from config_patch(:nobody, :'calls', :'input');

-- each kind

select calls, input
  from pg_temp.changes('["channels_patch", null, {"main_channel": "5"}]',
           '["options_patch", null, {"spoilers": true}]',
           '["type_patch", "5", {"log_channel": "6"}]',
           '["types_patch", null, {"types": [6, 7], "set": {"color": 1}}]',
           '["filter_patch", "links", {"enabled": true}]',
           '["settings_patch", null, {"locale": "ja"}]',
           '["ignore_add", "2", {"value": "7"}]',
           '["ignore_remove", "2", {"value": "7"}]',
           '["tag_create", null, {"tag_name": "a", "content": "b"}]',
           '["alert_create", null, {"name": "a", "types": [39], "count": 5,
             "seconds": 30, "by": "executor"}]',
           '["access_put", "7", {"level": "view"}]') \gset
select status, body from config_patch(:me, :'calls', :'input') \gset
select is(:status, 200, 'all are made');
select is((select string_agg(c ->> 'status', ' ')
             from json_array_elements(:'body'::json -> 'changes') c),
          '202 200 202 202 202 202 202 202 201 201 202',
          'each is answered as its own endpoint does');
select is(:'body'::jsonb #>> '{changes,8,body,tag_id}', t.tag_id,
          'a tag by its id') from tag t where t.guild_id = :guild;
select is(string_agg(n.log_type::text, ' ' order by n.notification_id),
          '68 76 77 77 76 70 69 69 74 76 99', 'each is told')
  from notification n where n.guild_id = :guild and n.log_type <> 72;
select is(string_agg(e.type::text, ' ' order by e.arrival),
          '68 76 77 77 76 70 69 69 74 76 99', '... and logged')
  from stored e where e.guild_id = :guild and e.bot = 0
   and e.type <> 72;
select is(string_agg(l.channel_id::text, ' ' order by l.channel_id), '5 6',
          'channels have lanes')
  from lane l where l.guild_id = :guild and l.state <> 'closed';

select tag_id as tag from tag t where t.guild_id = :guild \gset
select alert_id as alert from alert a where a.guild_id = :guild \gset
select calls, input
  from pg_temp.changes(format('["tag_patch", "%s", {"content": "c"}]', :'tag'),
           format('["tag_delete", "%s"]', :'tag'),
           format('["alert_patch", "%s", {"count": 6}]', :'alert'),
           format('["alert_delete", "%s"]', :'alert'),
           '["access_delete", "7"]',
           '["channels_patch", null, {"main_channel": null}]') \gset
select is((select string_agg(c ->> 'status', ' ')
             from json_array_elements(body::json -> 'changes') c),
          '200 200 202 202 202 202', 'what was made is changed, and goes')
  from config_patch(:me, :'calls', :'input');
select is(body::json ->> 'tags', null, 'it is gone') from config_get(:me);

-- none, if one is refused

select body as before from config_get(:me) \gset
select count(*) as notes from notification \gset

create function pg_temp.refused(me text, state text, message text, why text,
    variadic changes text[])
returns setof text language plpgsql as $$
declare
    c  record;
begin
    c := pg_temp.changes(variadic
             '["settings_patch", null, {"locale": "de"}]'::text || changes);
    return next throws_ok(format('select config_patch(%s, %L, %L)', me,
                                 c.calls, c.input),
                          state, 'changes' || message, why);
end $$;

select pg_temp.refused(:'me', 'GL400',
    '[1].body.main_channel: cannot be off', 'a field',
    '["channels_patch", null, {"main_channel": "0"}]',
    '["ignore_add", "0", {"value": "9"}]');
select pg_temp.refused(:'me', 'GL404',
    '[1].path: names nothing that is there', why || ' that is not there',
    change)
  from (values ('a tag', '["tag_patch", "1", {"color": 1}]'),
               ('a tag to delete', '["tag_delete", "1"]'),
               ('an alert', '["alert_patch", "1", {"count": 1}]'),
               ('an alert to delete', '["alert_delete", "1"]'),
               ('access', '["access_delete", "1"]')) v (why, change);
select pg_temp.refused(:'me', 'GL409', '[2].body.tag_name: is taken',
    'a name that the change before took',
    '["tag_create", null, {"tag_name": "x", "content": "y"}]',
    '["tag_create", null, {"tag_name": "X", "content": "y"}]');

select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select pg_temp.refused(:'me', 'GL402',
    '[2]: more than one alert needs a larger plan', 'what the plan has not',
    variadic array_fill('["alert_create", null, {"name": "a", "types": [39],
        "count": 5, "seconds": 30, "by": "server"}]'::text, '{2}'));

select is(body, :'before', 'nothing was changed') from config_get(:me);
select is(count(*), :notes::bigint, '... and nothing told') from notification;

-- the other bot

select calls, input
  from pg_temp.changes('["ignore_add", "2", {"value": "8"}]') \gset
select config_patch(:pro, :'calls', :'input') \g /dev/null
select is(count(*)::int, 1, 'each bot has its own')
  from ignore_entry i where i.guild_id = :guild and i.bot = 1;
select is(count(*)::int, 0, '... and only that')
  from ignore_entry i where i.guild_id = :guild and i.bot = 0;

select * from finish();
rollback;
