-- Packets that wait for each other: they come in with a batch, are told when
-- they are due with all rows of their servers, and end or go. Who was absorbed
-- is a duplicate from then on. Forgetting a server or a person forgets what
-- events have told of them.

\ir ../setup.psql
\ir ../events.psql
\ir ../forget.psql
select plan(51);

\set other 900000000000000002
select operator_server_put(:other, '{"name": "Other"}') \g /dev/null

-- a pair that was due so many ms ago
create function pg_temp.pair(event text, due bigint default 0, guild bigint
    default 900000000000000001, state int default 0, person bigint
    default 765432109876543210)
returns jsonb language sql as $$
    select jsonb_build_array(jsonb_build_object(
               'guild', guild, 'bot', 0, 'event', event, 'kind', 1, 'audit',
               false, 'state', state, 'at', ms(clock_timestamp()) - 5000 - due,
               'due', ms(clock_timestamp()) - due, 'channel', 6,
               'target', person, 'person', person, 'count', 1,
               'doc', json_build_object('server', guild::text, 'event_id',
                                        event, 'type', 18)::text))
$$;

-- what is due: servers, and the events of them
create function pg_temp.due(most int default 100)
returns text language sql as $$
    select coalesce(d.guilds::text, '-') || coalesce((
               select string_agg(' ' || (r::json ->> 'event'), ''
                                 order by r::json ->> 'event')
                 from regexp_split_to_table(d.rows, e'\n') r), '')
      from events_due(most) d
$$;

select is(status || coalesce(guilds::text, '-') || coalesce(rows, '-'),
          '200--', 'nothing waits') from events_due(10);
select is(next, null::bigint, 'and nothing will be due') from events_due(10);

select pg_temp.events(array[:guild, :other], pairs =>
           pg_temp.pair('due', 4000) || pg_temp.pair('later', -4000)
           || pg_temp.pair('ended', 9000, state => 1)
           || pg_temp.pair('others', -3000, :other)) \g /dev/null
select is(pg_temp.due(), '{' || :guild || '} due ended later',
          'all rows of a server of which one is due');
select is(versions, '{1}', 'with its version') from events_due(10);
select is(next between 1000 and 3000, true, 'until the next one is due')
  from events_due(10);
select is(abs(now - ms(clock_timestamp())) < 1000, true, 'by this clock')
  from events_due(10);
select is((r::jsonb - '{at,due}'::text[]), '{"guild": "900000000000000001",
    "bot": 0, "event": "due", "kind": 1, "audit": false, "state": 0,
    "channel": "6", "target": "765432109876543210",
    "person": "765432109876543210", "count": 1,
    "doc": {"server": "900000000000000001", "event_id": "due", "type": 18}}',
    'a row as it was')
  from events_due(10) d
 cross join lateral regexp_split_to_table(d.rows, e'\n') r
 where r::json ->> 'event' = 'due';
select is(array(select jsonb_object_keys(pg_temp.known_of(:guild, 8,
              765432109876543210)::jsonb)), '{due}',
          'a person of whom something waits');
select is(pg_temp.known_of(:guild, 8, 1), null, 'and one of whom nothing does');

-- the same once more, and what waits too long

select pg_temp.events(array[:guild, :other], pairs =>
           pg_temp.pair('due', 0, state => 1)
           || pg_temp.pair('far', -86400000, :other)) \g /dev/null
select is(state, 0::smallint, 'the same once more changes nothing')
  from pair where guild_id = :guild and event_id = 'due';
select is(due < ms(clock_timestamp()) + 11000, true,
          'nothing waits for a clock that is wrong')
  from pair where event_id = 'far';
update pair set due = due - 5000 where guild_id = :other;
select is(pg_temp.due(1), '{' || :guild || '} due ended later',
          'no more servers than are asked for, the longest due first');
select is(next, 0::bigint, 'others are due at once') from events_due(1);
select is(pg_temp.due(), '{' || :guild || ',' || :other
          || '} due ended far later others', 'both');

-- ending

select is(status || body, '409{}', 'others were first')
  from pg_temp.ends(array[:guild], pg_temp.pair('due'),
           pg_temp.pair('ended'), versions => '{1}');
select is(pg_temp.due(1), '{' || :guild || '} due ended later',
          'nothing has ended then');

select body as answer, counts from pg_temp.ends(array[:guild],
    pg_temp.pair('due'), pg_temp.pair('ended'), pg_temp.pair('due'), '[
    {"server": 900000000000000001, "event_id": "audit", "type": 18,
     "executor": {"id": "42"}}]') \gset
select is(:'answer'::jsonb - 'ids'::text, '{"recorded": 1, "duplicates": 0,
    "dropped": {}, "errors": [], "verdicts": ["recorded"]}',
    'both are recorded as one');
select is(jsonb_array_length(:'answer'::jsonb -> 'ids'), 1, 'with one id');
select is(:'counts'::jsonb, '{"recorded": 1}', 'counted as one');
select is(array(select event_id || ':' || state || doc from pair
                 where guild_id = :guild and event_id <> 'later'),
          '{due:1}', 'what has ended has no document, what goes is gone');
select is(pg_temp.version_of(:guild), 2::bigint,
          'who has read before may still bring what comes');
select is(pg_temp.logged(:guild, 18), 1, 'there is one entry');
select is((id is null, doc is null, arrival)::text, '(t,t,4)',
          'what was absorbed arrived without one')
  from log_arrival where guild_id = :guild and event_id = 'due';
select is(body::jsonb -> 'verdicts', '["duplicate", "duplicate"]',
          'so both are duplicates from then on')
  from pg_temp.events(array[:guild], entries => '[
    {"server": 900000000000000001, "event_id": "due", "type": 18},
    {"server": 900000000000000001, "event_id": "audit", "type": 18}]');
select is(body::jsonb -> 'verdicts', '["duplicate"]', 'for another bot, too')
  from pg_temp.ends(array[:guild], absorbed => pg_temp.pair('due'), entries =>
    '[{"server": 900000000000000001, "event_id": "audit", "type": 18}]');
select is(array(select arrival from log_arrival where guild_id = :guild
                 order by 1), '{1,2,3,4}', 'without another arrival');
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'nothing contradicts');
select pg_temp.ends(array[:other], absorbed => pg_temp.pair('alone', 0,
                                                            :other))
\g /dev/null
select is(count(*)::int, 1, 'one may be absorbed alone')
  from log_arrival where guild_id = :other and id is null;

-- of two servers somebody else has changed one

select pg_temp.events(array[:guild, :other], pairs => pg_temp.pair('mine')
           || pg_temp.pair('his own', guild => :other)
           || pg_temp.pair('his other', guild => :other)) \g /dev/null
select pg_temp.version_of(:guild) - 1 as before,
       pg_temp.version_of(:other) as version \gset
select status, body as answer, counts, joined, alone from pg_temp.ends(
    array[:guild, :other], pg_temp.pair('mine') || pg_temp.pair('his own',
    guild => :other), pg_temp.pair('his other', guild => :other),
    pg_temp.pair('mine') || pg_temp.pair('his own', guild => :other), '[
    {"server": 900000000000000001, "event_id": "mine too", "type": 18},
    {"server": 900000000000000002, "event_id": "his too", "type": 18}]',
    array[:before, :version], '{1,2}', '{4,8}') \gset
select is(array[:status, :joined, :alone]::int[], '{200,2,8}',
          'the other one ends');
select is(:'counts'::jsonb, '{"recorded": 1}', 'and is counted');
select is(:'answer'::jsonb -> 'verdicts', '["recorded"]', 'and is answered');
select is(array(select event_id || ':' || state from pair
                 where event_id ~ '^(mine|his)' order by 1),
          '{his own:1,mine:0}', 'its rows end and go, those of the first wait');
select is(array(select event_id from log_arrival
                 where event_id ~ '^(mine|his)' order by 1),
          '{his own,his too}', 'its events are known, those of the first are not');
select is(array[pg_temp.version_of(:guild), pg_temp.version_of(:other)],
          array[:before + 1, :version]::bigint[], 'for batches both are as they were');
delete from pair where event_id ~ '^(mine|his)';

-- what is left

update pair set due = ms(clock_timestamp()) - 61000;
select pairs_expire() \g /dev/null
select is(array(select event_id from pair order by 1), '{far,later,others}',
          'what ended a minute ago goes, what waits does not');

-- a person

\set person 765432109876543210
select pg_temp.ago(1) as id \gset
select pg_temp.events(array[:guild], (format('[
    {"guild": %s, "kind": 4, "id": %s, "doc": "{\"a\":\"quokka\"}"},
    {"guild": %1$s, "kind": 5, "id": %2$s, "doc": "{\"a\":\"quokka\"}"},
    {"guild": %1$s, "kind": 7, "id": 5, "doc": "{\"by\":\"%2$s\"}"}]',
    :guild, :person))::jsonb
    || pg_temp.message(:id, 'a quokka', author => :person)
    || pg_temp.message(:id + 1, 'to <@765432109876543210>')
    || pg_temp.message(:id + 2, 'of another')
    || pg_temp.message(:id + 3, '', author => :person),
    pg_temp.pair('his')) \g /dev/null
insert into said values (:guild, :id + 4, :person, 6, 'a quokka, in short');
insert into said_long
select :guild, :id + 1000 + n, :person, 6, 'quokka ' || n
  from generate_series(1, 3000) n;
select pg_temp.version_of(:guild) as version \gset
select operator_person_forget(:guild, :person) \g /dev/null
select is(pg_temp.version_of(:guild) > :version, true,
          'who has read of the person reads again');
select is(array[pg_temp.known_of(:guild, 4, :person),
                pg_temp.known_of(:guild, 5, :person)], '{null,null}',
          'what the person was goes at once');
select is(state || doc, '1', 'and what waits')
  from pair where event_id = 'his';
select is(pg_temp.forget(400) > 1, true, 'the rest goes in turns');
select is(pg_temp.stands('quokka'), '{}', 'no word is left');
select is(pg_temp.stands('765432109876543210'),
          '{pair.person_id,pair.target_id}',
          'nor the id, but for a minute in what spoils');
select is(pg_temp.known_of(:guild, 9, :id + n), d, w)
  from (values (1, '{"content" : "to <@0>"}', 'what others wrote stays'),
               (2, '{"content" : "of another"}', 'as it is'),
               (3, '', 'what was deleted is still known to be'),
               (0, null, 'what the person wrote is gone')) v (n, d, w);
select is(pg_temp.known_of(:guild, 7, 5), '{"by":"0"}', 'and in things');

-- a server

select pg_temp.events(array[:other], jsonb_build_array(jsonb_build_object(
           'guild', :other, 'kind', 4, 'id', 5, 'doc', '{}'))
           || pg_temp.message(pg_temp.ago(1), 'x', :other)
           || pg_temp.message(pg_temp.ago(9), 'x', :other),
           pg_temp.pair('gone', 0, :other)) \g /dev/null
insert into said_long values (:other, pg_temp.ago(100), 5, 6, 'x');
select pg_temp.version_of(:other) as version \gset
select operator_server_forget(:other) \g /dev/null
select is(pg_temp.known_of(:other, 0, 0)::json ->> 'obstacle',
          'server: is being forgotten', 'what is being forgotten');
select is(pg_temp.due() like '%' || :other || '%', false, 'is due no more');
select is(status, 409, 'takes no events')
  from pg_temp.events(array[:other]::bigint[], versions =>
           array[:version + 1]);
select is(status, 409, 'and ends none')
  from pg_temp.ends(array[:other]::bigint[], versions =>
           array[:version + 1]);
select pg_temp.forget() \g /dev/null
select is((select count(*) from said where guild_id = :other)
          + (select count(*) from said_long where guild_id = :other)
          + (select count(*) from known where guild_id = :other)
          + (select count(*) from pair where guild_id = :other)
          + (select count(*) from event_head where guild_id = :other),
          0::bigint, 'nothing of it is left');

select * from finish();
rollback;
