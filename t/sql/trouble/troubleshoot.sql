-- The troubleshooter and pacing: each finding comes with its cause and goes
-- with its fix, which is told as the change it is.

\ir ../setup.psql
select plan(56);

create function pg_temp.report(path text[], guild bigint, token text,
    live int default 0, probes jsonb default null)
returns text language sql as $$
    select body::jsonb #>> path
      from troubleshoot_get(token, guild, 0::smallint, 1::smallint,
                            live::smallint, '400', probes)
$$;

-- its findings: id severity, in their order; without those left out
create function pg_temp.findings(guild bigint, token text,
    without text default 'BOTS_IGNORED', probes jsonb default null)
returns text language sql as $$
    select coalesce(string_agg(f ->> 'id' || ' ' || (f ->> 'severity'), ', '
                               order by n), '')
      from jsonb_array_elements(pg_temp.report('{findings}', guild, token, 1,
                                               probes)::jsonb)
               with ordinality x (f, n)
     where not f ->> 'id' = any (string_to_array(without, ','))
$$;

create function pg_temp.fix_of(guild bigint, token text, id text,
    probes jsonb default null)
returns jsonb language sql as $$
    select f -> 'fix'
      from jsonb_array_elements(pg_temp.report('{findings}', guild, token, 1,
                                               probes)::jsonb) f
     where f ->> 'id' = fix_of.id limit 1
$$;

-- applies what the report proposes
create function pg_temp.apply(guild bigint, token text, id text,
    probes jsonb default null)
returns text language sql as $$
    select status || ' ' || body
      from troubleshoot_fix(token, guild, 0::smallint, 1::smallint,
                            pg_temp.fix_of(guild, token, id, probes))
$$;

select format('%s, %L', :guild, :'admin') as us \gset

select pg_temp.answers(status, body, 401, '{}', 'a dead token: no report')
  from troubleshoot_get(:nobody, 0::smallint, null, null);
select pg_temp.answers(status, body, 401, '{}', 'no fix')
  from troubleshoot_fix(:nobody, '{"kind": "initialise_guild"}');
select pg_temp.answers(status, body, 401, '[]', 'no questions')
  from troubleshoot_ask(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'no pacing')
  from pacing_get(:nobody);
select pg_temp.answers(status, body, 200, '{"channels" : []}',
                       'there are no channels yet') from pacing_get(:me);

-- the configuration

select is(pg_temp.findings(:us), 'NEVER_INITIALISED blocking, '
          'NO_LOG_CHANNEL blocking', 'at first');
select is(pg_temp.report('{status}', :us), 'broken', 'that is broken');
select is(pg_temp.apply(:us, 'NEVER_INITIALISED'), '200 {"applied": true}',
          'it can be initialised');
select is(pg_temp.logged(:guild, 68), 1, 'as the channels'' PATCH is told');
select is(pg_temp.findings(:us), 'NO_LOG_CHANNEL blocking',
          'a channel is for people to choose');
select pg_temp.answers(status, body, 404, '{}', 'initialising is done once')
  from troubleshoot_fix(:me, '{"kind": "initialise_guild"}');

select status from channels_patch(:me, '{"category_text": "6"}') \g /dev/null
select is(pg_temp.findings(:us), 'NO_LOG_CHANNEL degraded',
          'a channel of a category is better than none');
select is(pg_temp.report('{status}', :us), 'degraded', 'that is degraded');
select status from channels_patch(:me, '{"main_channel": "5",
                     "category_voice": "0"}') \g /dev/null
select is(pg_temp.findings(:us), 'CATEGORY_OFF info', 'a category is off');
select is(pg_temp.report('{status}', :us), 'healthy', 'which is no harm');
select is(pg_temp.report('{counts}', :us),
          '{"info": 2, "blocking": 0, "degraded": 0}', 'with what is counted');
select is(pg_temp.report('{summary,configuredCategories}', :us), '8',
          'eight categories go somewhere');
select is(pg_temp.apply(:us, 'CATEGORY_OFF'), '200 {"applied": true}',
          'it is switched on');
select is(pg_temp.findings(:us), '', 'and nothing else is found');

select status from type_patch(:me, 7, '{"enabled": 0}') \g /dev/null
select is(pg_temp.findings(:us), 'LOG_TYPE_OFF info', 'a type is off');
select is(pg_temp.apply(:us, 'LOG_TYPE_OFF'), '200 {"applied": true}',
          'it is switched on');
select is(pg_temp.logged(:guild, 77), 2, 'as the type''s PATCH is told');
select is(pg_temp.findings(:us), '', 'and found no more');

select is(pg_temp.findings(:us, ''), 'BOTS_IGNORED info', 'bots are ignored');
select is(pg_temp.apply(:us, 'BOTS_IGNORED'), '200 {"applied": true}',
          'they are logged');
select is(pg_temp.findings(:us, ''), '', 'and no more ignored');
select is(pg_temp.logged(:guild, 76), 1, 'as the options'' PATCH is told');

select status from ignore_add(:me, 5, format('{"value": "%s"}', :guild)::jsonb)
\g /dev/null
select is(pg_temp.findings(:us), 'IGNORE_HIDES_ALL degraded',
          'everybody is ignored');
select is(pg_temp.apply(:us, 'IGNORE_HIDES_ALL'), '200 {"applied": true}',
          'they are not any more');
select status from operator_channels_put(:guild, '[
    {"id": "80", "name": "a", "type": 4}, {"id": "81", "type": 0,
     "parent": "80"}, {"id": "82", "type": 0}]') \g /dev/null
select status from ignore_add(:me, 1, '{"value": "80"}') \g /dev/null
select is(pg_temp.findings(:us), '', 'one channel is not all');
select status from ignore_add(:me, 0, '{"value": "82"}') \g /dev/null
select is(pg_temp.findings(:us), 'IGNORE_HIDES_ALL degraded', 'two are');
select is(pg_temp.apply(:us, 'IGNORE_HIDES_ALL'), '200 {"applied": true}',
          'an entry goes');
select is(pg_temp.findings(:us), '', 'and something can be seen');

-- the lanes

update lane set state = 'broken', reason = 'channel_gone'
 where guild_id = :guild and channel_id = 6;
select is(pg_temp.findings(:us), 'CHANNEL_GONE blocking', 'a channel is gone');
select is(pg_temp.apply(:us, 'CHANNEL_GONE'), '200 {"applied": true}',
          'its category follows the main one');
select is(pg_temp.findings(:us), '', 'and nothing is wrong with that');

update lane set reason = 'missing_permissions'
 where guild_id = :guild and channel_id = 5;
select is(pg_temp.findings(:us), 'MISSING_PERMISSION blocking',
          'a permission is missing');
update lane set reason = 'webhook_limit'
 where guild_id = :guild and channel_id = 5;
select is(pg_temp.findings(:us), 'WEBHOOK_LIMIT blocking', 'or room is');
update lane set state = 'broken', reason = 'webhook_404'
 where guild_id = :guild and channel_id = 5;
select is(pg_temp.findings(:us), 'MISSING_WEBHOOK blocking', 'or the webhook');
select is(pg_temp.apply(:us, 'MISSING_WEBHOOK'), '200 {"applied": true}',
          'it is registered anew');
select is(state, 'registering', 'by its lane') from lane
 where guild_id = :guild and channel_id = 5;
select pg_temp.answers(status, body, 404, '{}', 'which is done once')
  from troubleshoot_fix(:me, '{"kind": "register_webhook", "channelId": "5"}');

-- what the platform says

update lane set state = 'active', webhook_id = 77, secret = '',
       again_at = now() - interval '2 minutes'
 where guild_id = :guild and channel_id = 5;
select is((pg_temp.findings(:us, '', '[{"channelId": "5", "result": "ok",
    "webhooks": ["77"]}]'), pg_temp.findings(:us, '', '[{"channelId": "5",
    "result": "forbidden"}]'), pg_temp.findings(:us, '', '[{"channelId": "5",
    "result": "channel_gone"}]'), pg_temp.findings(:us, '', '[{"channelId":
    "5", "result": "ok", "webhooks": ["78"]}]'))::text,
    '("","MISSING_PERMISSION blocking","CHANNEL_GONE blocking",'
    '"MISSING_WEBHOOK blocking")', 'what it says of a channel');
select is(pg_temp.apply(:us, 'MISSING_WEBHOOK', '[{"channelId": "5",
    "result": "ok", "webhooks": []}]'), '200 {"applied": true}',
    'a webhook that only the platform lacks is registered anew, too');
select is(pg_temp.report('{summary,incomplete}', :us, 1),
          '["channel 5: not asked"]', 'what it was not asked is told');
select is(pg_temp.report('{summary,incomplete}', :us, 0), '[]',
          'but not if that is as asked for');

-- what went out

insert into lane_batch (guild_id, lane, seq_from, seq_to, message_id, done_at,
                        attempts, status, reason)
select :guild, l.lane, n, n, n, now() - n * interval '1 second', 1, 2, null
  from lane l, generate_series(1, 31) n
 where l.guild_id = :guild and l.channel_id = 5;
select is(pg_temp.findings(:us), 'CHANNEL_OVER_LIMIT degraded',
          'more than thirty messages a minute');
select is(body::json #>> '{channels,0,ratePerMinute}', '31', 'are counted')
  from pacing_get(:me);
update lane_batch set message_id = null, status = 0, reason = 'webhook_404'
 where guild_id = :guild and seq_from > 20;
select is(pg_temp.findings(:us), 'RECENT_FAILURES degraded', 'some failed');
select is(concat_ws(' ', c ->> 'failureRatio', c ->> 'overCeiling',
                    c ->> 'unhealthy'), '0.355 false false', 'in that ratio')
  from pacing_get(:me), json_array_elements(body::json -> 'channels') c;

-- a lane that is broken is so, whatever else keeps it

create function pg_temp.pacing(guild bigint, channel text)
returns text language sql as $$
    select concat_ws(' ', p.state, p."stateReason")
      from pacing_rows(guild, 0::smallint) p where p."channelId" = channel
$$;
update lane set paused_at = now() where guild_id = :guild and channel_id = 5;
select is(pg_temp.pacing(:guild, '5'), 'paused operator', 'a lane is paused');
insert into refusal values (:guild, now(), 50);
update lane set state = 'broken', reason = 'channel_gone'
 where guild_id = :guild and channel_id = 5;
select is(pg_temp.pacing(:guild, '5'), 'broken channel_gone',
          'a broken one is broken');
update lane set paused_at = null, state = 'active', reason = null
 where guild_id = :guild and channel_id = 5;
select is(pg_temp.pacing(:guild, '5'), 'paused refused', 'its server rests');
delete from refusal where guild_id = :guild;

-- lanes that were closed are not looked at, however many there are

insert into lane (guild_id, lane, bot, channel_id, shard, state)
select :guild, n, 0, n, 0, 'closed' from generate_series(10001, 12000) n;
analyze lane;

create function pg_temp.lanes_read()
returns bigint language sql as $$
    select sum(s.idx_tup_fetch + s.seq_tup_read)::bigint
      from pg_stat_xact_user_tables s
     where s.schemaname = 'guildlog' and s.relname = 'lane'
$$;

select pg_temp.lanes_read() as before \gset
select pg_temp.report('{status}', :us) \g /dev/null
select is(pg_temp.lanes_read() - :before < 100, true,
          'a report looks at open lanes only');

-- no fix

select throws_ok(format($$ select troubleshoot_fix(%s, '%s') $$, :'me', f),
                 'GL400', null, 'no fix: ' || f)
  from unnest('{"{\"kind\": \"magic\"}","{\"kind\": \"remove_ignore\"}"}'
              ::text[]) f;

select * from finish();
rollback;
