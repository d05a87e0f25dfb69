-- Alerts fire in the transaction that records.

\ir ../setup.psql
select plan(43);

select channels_patch(:me, '{"main_channel": "5", "category_service": "6"}')
\g /dev/null

create temp table at as select ms(clock_timestamp()) as ms;

-- records an entry of that type so many seconds from the beginning
create function pg_temp.told(type int, seconds numeric, more jsonb default '{}')
returns void language sql as $$
    select record(900000000000000001, 0::smallint, jsonb_build_array(
               jsonb_build_object(
                   'event_id', gen_random_uuid(), 'type', type,
                   'timestamp', (ms - 3600000 + seconds * 1000)::bigint,
                   'executor', '{"id": "7", "name": "Ann"}'::jsonb,
                   'target', '{"id": "8", "name": "Bob"}'::jsonb,
                   'channel', '{"id": "9", "name": "room"}'::jsonb) || more))
      from at
$$;

create function pg_temp.alerts() returns int language sql as $$
    select pg_temp.logged(900000000000000001, 101)
$$;

-- a field of the last one
create function pg_temp.said(field text) returns text language sql as $$
    select (e.doc || '}')::json #>> field::text[] from stored e
     where e.guild_id = 900000000000000001 and e.type = 101
     order by e.arrival desc limit 1
$$;

-- only one alert, with these fields beside those
create function pg_temp.only(more jsonb) returns void language sql as $$
    select alert_delete(t.token_id, t.guild_id, 0::smallint, 1::smallint,
                        a.alert_id)
      from token t join alert a on a.guild_id = t.guild_id
     where t.guild_id = 900000000000000001 and t.permissions = 1;
    select alert_create(t.token_id, t.guild_id, 0::smallint, 1::smallint,
                        '{"name": "it", "types": [39], "count": 3,
                          "seconds": 10, "by": "executor"}' || more)
      from token t
     where t.guild_id = 900000000000000001 and t.permissions = 1;
$$;

select pg_temp.only('{"role": "4"}') \g /dev/null
select pg_temp.told(39, 0), pg_temp.told(39, 5) \g /dev/null
select is(pg_temp.alerts(), 0, 'two are too few');
select pg_temp.told(39, 10.001) \g /dev/null
select is(pg_temp.alerts(), 0, 'three of which the last is too late');
select pg_temp.told(39, 10), pg_temp.told(39, 9, '{"executor": {"id": "3"}}'),
       pg_temp.told(41, 9), pg_temp.told(39, 9, '{"executor": null}')
\g /dev/null
select is(pg_temp.alerts(), 1, 'a late one completes them');
select is((e.doc || '}')::jsonb - '{id,timestamp}'::text[],
          '{"type": 101, "executor": {"id": "0", "name": "API"},
            "target": {"id": "7", "name": "Ann"}, "channel": null,
            "role": null, "name": "it", "reason": null, "count": 3,
            "content": null, "contentAfter": null, "messages": [],
            "messagesTruncated": null, "emoji": null, "action": "alert",
            "value": "3 in 10 s", "changes": null, "until": null,
            "role_id": "4", "image": null}', 'what it says')
  from stored e where e.guild_id = :guild and e.type = 101;
select is(id_time(e.id), ms - 3590000, 'it is of the time of that entry')
  from stored e, at where e.guild_id = :guild and e.type = 101;
select is(e.dchannel_id, 6::bigint, 'it goes where service logs go')
  from stored e where e.guild_id = :guild and e.type = 101;
select is(t.tail, e.seq, 'and waits in their lane') from stored e
  join lane_tail t on t.guild_id = e.guild_id and t.lane = e.lane
 where e.guild_id = :guild and e.type = 101;

select pg_temp.told(39, s) from generate_series(11, 19) s \g /dev/null
select is(pg_temp.alerts(), 1, 'then it is silent');
select pg_temp.told(39, 4) \g /dev/null
select is(pg_temp.alerts(), 1, 'for what comes late, too');
select pg_temp.told(39, 20) \g /dev/null
select is(pg_temp.alerts(), 2, 'until so many seconds have passed');
select is(max(cardinality(times)), 1, 'what was before is forgotten')
  from alert_count where guild_id = :guild;
select is(count(*)::int, 0, 'nothing differs') from guildlog.check(:guild);

-- by whom

select pg_temp.only('{"by": "server"}') \g /dev/null
select pg_temp.told(39, n, jsonb_build_object('executor',
                               jsonb_build_object('id', n::text)))
  from generate_series(1, 3) n \g /dev/null
select is(pg_temp.alerts(), 3, 'by the server, whoever it was');
select is(pg_temp.said('{target}'), null, 'it names none');

select pg_temp.only('{"by": "target", "types": [40]}') \g /dev/null
select pg_temp.told(40, n, jsonb_build_object('executor', null))
  from generate_series(31, 33) n \g /dev/null
select is(pg_temp.alerts(), 4, 'by the target');
select is(pg_temp.said('{target,name}'), 'Bob',
          'whom it names');

select pg_temp.only('{"by": "channel", "types": [18, 17]}') \g /dev/null
select pg_temp.told(17 + n % 2, n) from generate_series(41, 43) n \g /dev/null
select is(pg_temp.alerts(), 5, 'by the channel, of several types');
select is(pg_temp.said('{channel,name}'), 'room',
          'which it names');
select is(pg_temp.said('{target}'), null, 'and no person');
select pg_temp.told(18, n, '{"channel": null}')
  from generate_series(61, 63) n \g /dev/null
select is(pg_temp.alerts(), 5, 'without a channel nothing counts');

-- a channel of its own; what is off

select type_patch(:me, 101, '{"enabled": false}') \g /dev/null
select pg_temp.only('{"count": 1, "channel": "77"}') \g /dev/null
select pg_temp.told(39, 100) \g /dev/null
select is(pg_temp.alerts(), 6, 'also if the type is off');
select is(e.dchannel_id, 77::bigint, 'into its own channel')
  from stored e where e.guild_id = :guild and e.type = 101
 order by e.arrival desc limit 1;
select pg_temp.only('{"count": 1, "enabled": false}') \g /dev/null
select pg_temp.told(39, 200) \g /dev/null
select is(pg_temp.alerts(), 6, 'one that is off says nothing');
select channels_patch(:me, '{"category_service": "0"}'),
       pg_temp.only('{"count": 1}') \g /dev/null
select pg_temp.told(39, 300) \g /dev/null
select is(e.dreason, 'off', 'nor where service logs are off')
  from stored e where e.guild_id = :guild and e.type = 101
 order by e.arrival desc limit 1;
select is(pg_temp.alerts(), 7, 'but it is recorded');

-- what does not count

select ignore_add(:me, 2, '{"value": "66"}') \g /dev/null
select pg_temp.told(39, 400, '{"executor": {"id": "66"}}') \g /dev/null
select is(pg_temp.alerts(), 7, 'what a rule drops');
select pg_temp.told(39, 400, '{"event_id": "twice"}'),
       pg_temp.told(39, 420, '{"event_id": "twice"}') \g /dev/null
select is(pg_temp.alerts(), 8, 'what is known');
select type_patch(:me, 101, '{"enabled": null}'),
       pg_temp.only('{"count": 1, "types": [101], "by": "server"}'),
       pg_temp.told(101, 500) \g /dev/null
select is(pg_temp.alerts(), 10, 'one of rules that acted counts');
select is(count(*)::int, 1, 'but none of its own')
  from stored e where e.guild_id = :guild and e.type = 101
   and (e.doc || '}')::jsonb ->> 'name' = 'it'
   and id_time(e.id) = (select ms - 3100000 from at);

-- what is held counts when it is released

select options_patch(:me, '{"active_ignore": true}'),
       pg_temp.only('{"count": 2, "types": [5]}') \g /dev/null
select pg_temp.told(5, 600), pg_temp.told(5, 601) \g /dev/null
select is(pg_temp.alerts(), 10, 'what is held does not count as yet');
update log_arrival set held_to = now() where guild_id = :guild
   and held_to is not null;
select is(count(*)::int, 2, 'it is released') from held_release();
select is(pg_temp.alerts(), 11, 'and counts');
select is(pg_temp.said('{target,name}'), 'Ann',
          'by what it says');
select is(id_time(e.id), (select ms - 2999000 from at), 'and its own time')
  from stored e where e.guild_id = :guild and e.type = 101
 order by e.arrival desc limit 1;
select pg_temp.told(5, 700), pg_temp.told(5, 701) \g /dev/null
select active_ignore_executors(:me, '{"id": "7", "count": 1}') \g /dev/null
update log_arrival set held_to = now() where guild_id = :guild
   and held_to is not null;
select held_release() \g /dev/null
select is(pg_temp.alerts(), 11, 'what is taken back does not');

-- an alert that begins anew

select options_patch(:me, '{"active_ignore": false}'),
       pg_temp.only('{"count": 2}') \g /dev/null
select pg_temp.told(39, 800) \g /dev/null
select alert_patch(:me, alert_id, '{"seconds": 11}') from alert
 where guild_id = :guild \g /dev/null
select pg_temp.told(39, 801) \g /dev/null
select is(pg_temp.alerts(), 11, 'with other seconds it begins anew');
select alert_patch(:me, alert_id, '{"name": "x", "channel": "8"}') from alert
 where guild_id = :guild \g /dev/null
select pg_temp.told(39, 802) \g /dev/null
select is(pg_temp.said('{name}'), 'x',
          'with another name it goes on');

-- a channel that is gone, and people who are forgotten

select is(body, '{"applied": true}', 'the troubleshooter clears a channel')
  from troubleshoot_fix(:me, '{"kind": "clear_log_channel", "channelId": "8"}');
select is(channel, null, 'of alerts, too') from alert where guild_id = :guild;
select operator_person_forget(:guild, 7) \g /dev/null
select is(count(*)::int, 0, 'what is counted of a person goes with them')
  from alert_count where guild_id = :guild and subject = 7;
insert into alert_count select guild_id, bot, alert_id, 5, day_now(), null, '{}'
  from alert where guild_id = :guild;

-- what nobody asks for any more goes

insert into alert_count
select c.guild_id, c.bot, c.alert_id, n, c.day, null, '{}'
  from alert_count c, generate_series(101, 110) n
 where c.guild_id = :guild and c.subject = 5;
update alert_count set day = day - 2 where guild_id = :guild;
select ok(more, 'a turn is short: there is more to do')
  from keeper_requests(4);
select ok(count(*) > 5, 'not all goes at once')
  from alert_count where guild_id = :guild;
select keeper_requests(1000) \g /dev/null
select is(count(*)::int, 0, 'after a day it is forgotten')
  from alert_count where guild_id = :guild;

select * from finish();
rollback;
