-- /alerts: what the people of a server want to be told of.

\ir ../setup.psql
select plan(47);

select '{"name": "bans", "types": [0], "count": 5, "seconds": 30,
         "by": "executor"}' as bans \gset

-- the only alert there is
create function pg_temp.mine() returns text language sql as $$
    select alert_id from alert where guild_id = 900000000000000001 and bot = 0
$$;

select pg_temp.answers(status, body, 401, '{}', 'a dead token lists nothing')
  from alerts_list(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'reads nothing')
  from alert_get(:nobody, '1');
select pg_temp.answers(status, body, 401, '{}', 'makes nothing')
  from alert_create(:nobody, :'bans');
select pg_temp.answers(status, body, 401, '{}', 'changes nothing')
  from alert_patch(:nobody, '1', '{"enabled": true}');
select pg_temp.answers(status, body, 401, '{}', 'and takes nothing away')
  from alert_delete(:nobody, '1');

select pg_temp.answers(status, body, 200, '[]', 'there is none')
  from alerts_list(:me);
select pg_temp.answers(status, body, 404, '{}', 'none is read')
  from alert_get(:me, '1');
select pg_temp.answers(status, body, 404, '{}', 'none is changed')
  from alert_patch(:me, '1', '{"enabled": true}');
select pg_temp.answers(status, body, 404, '{}', 'none goes')
  from alert_delete(:me, '1');

select is(status, 201, 'an alert is made') from alert_create(:me, :'bans');
select is(body, '{"alert_id":"' || pg_temp.mine() || '","name":"bans",'
                '"types":[0],"count":5,"seconds":30,"by":"executor",'
                '"channel":null,"role":null,"enabled":1}',
          'and read, with what it does not say')
  from alert_get(:me, pg_temp.mine());
select is(list.body, '[' || one.body || ']', 'it is listed')
  from alerts_list(:me) list, alert_get(:me, pg_temp.mine()) one;
select is(body::json ->> 'alerts', list.list, 'and part of the configuration')
  from config_get(:me), (select body as list from alerts_list(:me)) list;
select is(body::json ->> 'alerts', null, 'the Pro bot has its own')
  from config_get(:pro);
select is(watched, '{0}', 'its types are watched') from log_head
 where guild_id = :guild and bot = 0;

select is(pg_temp.logged(:guild, 76), 1, 'that is logged');
select is(pg_temp.last_logged(:guild, 76, '{action}'), 'add', 'as added');
select is(pg_temp.last_logged(:guild, 76, '{name}'), 'bans', 'by its name');
select is(pg_temp.last_logged(:guild, 76, '{changes}')::jsonb,
          '[{"key": "by", "old": null, "new": "executor"},
            {"key": "count", "old": null, "new": 5},
            {"key": "enabled", "old": null, "new": true},
            {"key": "seconds", "old": null, "new": 30},
            {"key": "types", "old": null, "new": ["0"]}]',
          'with all that it is');
select is(n.title || ': ' || split_part(n.description, e'\n', 1),
          'Logging options changed: add bans: by: executor',
          'and people are told')
  from notification n where n.guild_id = :guild
 order by n.notification_id desc limit 1;

select pg_temp.answers(status, body, 202, '{}', 'it is changed')
  from alert_patch(:me, pg_temp.mine(), '{"channel": "5", "types": [1, 2]}');
select is(body::jsonb - 'alert_id',
          '{"name": "bans", "types": [1, 2], "count": 5, "seconds": 30,
            "by": "executor", "channel": "5", "role": null, "enabled": 1}',
          'what it does not name stays')
  from alert_get(:me, pg_temp.mine());
select is(pg_temp.last_logged(:guild, 76, '{action}'), 'update',
          'that is logged');
select is(pg_temp.last_logged(:guild, 76, '{changes}')::jsonb,
          '[{"key": "channel", "old": null, "new": "5"},
            {"key": "types", "old": ["0"], "new": ["1", "2"]}]',
          'with what changed');
select is(watched, '{1,2}', 'the other types are watched') from log_head
 where guild_id = :guild and bot = 0;
select is(count(*)::int, 1, 'its channel has a lane') from lane
 where guild_id = :guild and channel_id = 5 and state = 'registering';
select pg_temp.answers(status, body, 202, '{}', 'the same again')
  from alert_patch(:me, pg_temp.mine(), '{"channel": "5", "enabled": true}');
select is(pg_temp.logged(:guild, 76), 2, 'is no change');

select alert_patch(:me, pg_temp.mine(), '{"enabled": false}') \g /dev/null
select is(watched, null, 'one that is off counts nothing') from log_head
 where guild_id = :guild and bot = 0;
select is(count(*)::int, 0, 'nothing differs') from guildlog.check(:guild);
update log_head set watched = '{7}' where guild_id = :guild and bot = 0;
select is(string_agg(what || ' ' || expected || ' ' || found, ''),
          'main bot, watched none {7}', 'what is derived of it is checked')
  from guildlog.check(:guild);
select guildlog.rebuild(:guild) \g /dev/null
select is(watched, null, 'and made anew') from log_head
 where guild_id = :guild and bot = 0;

-- channels and roles of others

insert into server (guild_id) values (900000000000000002);
select operator_channel_put(900000000000000002, 6, '{"name": "theirs"}'),
       operator_role_put(900000000000000002, 8, '{"name": "theirs"}')
\g /dev/null
select throws_ok(format('select alert_create(%s, %L)', :'me',
                        (:'bans'::jsonb || '{"channel": "6"}')), 'GL400',
                 'channel: belongs to another server', 'a foreign channel');
select throws_ok(format('select alert_patch(%s, %L, %L)', :'me',
                        pg_temp.mine(), '{"channel": "6"}'), 'GL400',
                 'channel: belongs to another server', 'in a change, too');
select lives_ok(format('select alert_patch(%s, %L, %L)', :'me',
                       pg_temp.mine(), '{"role": "8"}'),
                'a role of a server whose roles nobody told');
select operator_role_put(:guild, 7, '{"name": "ours"}') \g /dev/null
select throws_ok(format('select alert_patch(%s, %L, %L)', :'me',
                        pg_temp.mine(), '{"role": "8"}'), 'GL400',
                 'role: is none of this server', 'a foreign role');
select throws_ok(format('select alert_patch(%s, %L, %L)', :'me',
                        pg_temp.mine(), '{"role": "900000000000000001"}'),
                 'GL400', 'role: everybody cannot be mentioned', 'everybody');
select lives_ok(format('select alert_patch(%s, %L, %L)', :'me',
                       pg_temp.mine(), '{"role": "7"}'), 'its own role');

-- it goes

select pg_temp.answers(status, body, 202, '{}', 'it is removed')
  from alert_delete(:me, pg_temp.mine());
select is(pg_temp.last_logged(:guild, 76, '{action}'), 'remove',
          'that is logged');
select is(pg_temp.last_logged(:guild, 76, '{name}'), 'bans', 'by its name');
select is(count(*)::int, 0, 'its lane goes') from lane
 where guild_id = :guild and channel_id = 5;

-- how many

create function pg_temp.makes(n int) returns text language sql as $$
    select string_agg(status::text, ' ')
      from generate_series(1, n) g
     cross join lateral alert_create(
           (select token_id from token where guild_id = 900000000000000001
             order by created_at limit 1),
           900000000000000001, 0::smallint, 1::smallint,
           format('{"name": "%s", "types": [0], "count": 1, "seconds": 1,
                    "by": "server"}', g)::jsonb) a
$$;

select is(pg_temp.makes(20), repeat('201 ', 19) || '201', '20 on Pro');
select throws_ok('select pg_temp.makes(1)', 'GL402',
                 'there are at most 20 alerts', 'no more');
select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select is(json_array_length(body::json), 20, 'they stay on a smaller plan')
  from alerts_list(:me);
select throws_ok('select pg_temp.makes(1)', 'GL402',
                 'more than one alert needs a larger plan', 'none comes');

select server_reset(:me) \g /dev/null
select is(count(*)::int, 0, 'a reset takes them') from alert
 where guild_id = :guild;

select * from finish();
rollback;
