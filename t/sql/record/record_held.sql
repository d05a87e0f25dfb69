-- Active ignore at work: a request hides exactly as many entries as it says,
-- those that come while it runs and those still held when it came, but no
-- protected type that it does not name.

\ir ../setup.psql
select plan(68);

create function pg_temp.send(entry jsonb)
returns text language sql as $$
    select coalesce(nullif(a ->> 'dropped', '{}'), 'recorded')
      from record(900000000000000001, 0::smallint, jsonb_build_array(
               jsonb_build_object('event_id', gen_random_uuid(), 'type', 5)
               || entry)) a
$$;

create function pg_temp.sends(want text, entry jsonb, why text)
returns text language sql as $$
    select is(pg_temp.send(entry), case want when 'recorded' then want
                                   else '{"active_ignore": 1}' end, why)
$$;

create function pg_temp.none()
returns void language sql as $$
    delete from active_ignore a where a.guild_id = 900000000000000001;
    update log_arrival a
       set id = null, doc = null, lane = null, seq = null, held_to = null,
           dchannel_id = null, dstatus = null, dreason = null
     where a.guild_id = 900000000000000001 and a.type <> 69
$$;

select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null

-- where it is off

select active_ignore_executors(:me, '{"id": "1"}') \g /dev/null
select pg_temp.sends('recorded', '{"executor": {"id": "1"}}',
                     'nothing happens where active ignore is off');
select is(count(*)::int, 0, 'nor is anything held')
  from log_arrival where guild_id = :guild and held_to is not null;
select pg_temp.none() \g /dev/null

-- what comes while a request runs

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select active_ignore_executors(:me, '{"id": "1"}') \g /dev/null
select pg_temp.sends('recorded', '{"executor": {"id": "2"}}',
                     'another executor');
select pg_temp.sends('recorded', '{"target": {"id": "1"}}', 'not as target');
select pg_temp.sends('hidden', '{"executor": {"id": "1"}}', 'the executor');
select pg_temp.sends('recorded', '{"executor": {"id": "1"}}',
                     'once, if it does not say how often');
select is(record(:guild, 1::smallint, '[{"event_id": "p", "type": 5,
                 "executor": {"id": "1"}}]') ->> 'recorded', '1',
          'the other bot has its own requests');

create function pg_temp.covers(request jsonb, want text, entry jsonb,
    why text)
returns text language plpgsql as $$
begin
    perform pg_temp.none();
    insert into active_ignore
    values (900000000000000001, 0, 1, 'target', request ->> 'id',
            (request ->> 'type')::int, (request ->> 'logType')::int, 1,
            clock_timestamp(), clock_timestamp() + interval '10 s');
    return pg_temp.sends(want, entry, why);
end $$;

select pg_temp.covers(request::jsonb, want, entry::jsonb, request || ' '
                                                          || entry)
  from (values
    ('{"id": "7", "type": 0}', 'hidden', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 0}', 'recorded', '{"executor": {"id": "7"}}'),
    ('{"id": "7", "type": 9}', 'hidden', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 1}', 'hidden', '{"channel": {"id": "7"}}'),
    ('{"id": "7", "type": 1}', 'hidden', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 8}', 'hidden', '{"channel": {"id": "7"}}'),
    ('{"id": "7", "type": 10}', 'hidden', '{"channel": {"id": "7"}}'),
    ('{"id": "7", "type": 0}', 'recorded', '{"channel": {"id": "7"}}'),
    ('{"id": "7", "type": 2}', 'hidden', '{"emoji": {"id": "7"}}'),
    ('{"id": "7", "type": 2}', 'recorded', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 6}', 'hidden',
     '{"messages": [{"id": "6"}, {"id": "7"}]}'),
    ('{"id": "7", "type": 6}', 'recorded', '{"messages": [{"id": "6"}]}'),
    ('{"id": "abc", "type": 4}', 'hidden', '{"name": "abc"}'),
    ('{"id": "abc", "type": 4}', 'hidden', '{"value": "abc"}'),
    ('{"id": "abc", "type": 4}', 'recorded', '{"reason": "abc"}'),
    ('{"id": "7", "type": 7}', 'hidden', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 7}', 'hidden', '{"role_id": "7"}'),
    ('{"id": "7", "type": 11}', 'hidden', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 12}', 'hidden', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 13}', 'hidden', '{"target": {"id": "7"}}'),
    ('{"id": "7", "type": 3}', 'hidden', '{}'),
    ('{"id": "7", "type": 5}', 'hidden', '{}'),
    ('{"id": "7", "type": 5, "logType": 5}', 'hidden', '{}'),
    ('{"id": "7", "type": 5, "logType": 7}', 'recorded', '{}'),
    ('{"id": "7", "type": 5}', 'recorded', '{"type": 39}'),
    ('{"id": "7", "type": 5}', 'recorded', '{"type": 2}'),
    ('{"id": "7", "type": 5}', 'recorded', '{"type": 58}'),
    ('{"id": "7", "type": 5}', 'recorded', '{"type": 101}'),
    ('{"id": "7", "type": 5, "logType": 39}', 'hidden', '{"type": 39}'))
       v (request, want, entry);

-- counts

select pg_temp.none() \g /dev/null
select active_ignore_executors(:me, '{"id": "1", "count": 3}') \g /dev/null
select active_ignore_targets(:me, '{"id": "2", "type": 0, "count": 2}')
\g /dev/null
select is(record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
              'event_id', 'n' || i, 'type', 5,
              'executor', '{"id": "1"}'::jsonb)))
          - '{ids,errors}'::text[], '{"recorded": 7, "duplicates": 0,
                                      "dropped": {"active_ignore": 3}}',
          'a count hides exactly as many')
  from generate_series(1, 10) i;
select is(record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
              'event_id', 'm' || i, 'type', 5,
              'executor', '{"id": "1"}'::jsonb,
              'target', '{"id": "2"}'::jsonb))) -> 'dropped',
          '{"active_ignore": 2}', 'of each request')
  from generate_series(1, 10) i;
select pg_temp.none() \g /dev/null
select active_ignore_executors(:me, '{"id": "1"}') \g /dev/null
update active_ignore set expires_at = now() - interval '1 ms';
select pg_temp.sends('recorded', '{"executor": {"id": "1"}}',
                     'a request runs out');

-- many requests, whose entries overlap: each entry uses up the oldest that
-- covers it and has something left, as when one looks at all of them in turn

create function pg_temp.fits(a active_ignore, e jsonb)
returns boolean language sql as $$
    select case when a.log_type is null then e ->> 'type' <> '39'
                else a.log_type = (e ->> 'type')::int end
       and coalesce(case
           when a.side = 'executor' then a.subject_id = e #>> '{executor,id}'
           when a.subject_type = 1
           then a.subject_id in (e #>> '{channel,id}', e #>> '{target,id}')
           when a.subject_type = 2
           then a.subject_id in (e #>> '{emoji,id}', e #>> '{emoji,name}')
           when a.subject_type = 4
           then a.subject_id in (e ->> 'name', e ->> 'value')
           when a.subject_type = 5 then true
           when a.subject_type = 6
           then a.subject_id in (select m ->> 'id' from jsonb_array_elements(
                                     e -> 'messages') m)
           else a.subject_id = e #>> '{target,id}' end, false)
$$;

create function pg_temp.in_turn(entries jsonb)
returns text[] language plpgsql as $$
declare
    rest   active_ignore[] := array(
        select a from active_ignore a order by a.requested_at, a.request_id);
    drops  text[] := '{}';
begin
    for i in 0 .. jsonb_array_length(entries) - 1 loop
        for j in 1 .. cardinality(rest) loop
            if rest[j].remaining > 0
               and pg_temp.fits(rest[j], entries -> i)
            then
                rest[j].remaining := rest[j].remaining - 1;
                drops := drops || i::text;
                exit;
            end if;
        end loop;
    end loop;

    return drops || array(select r.remaining::text from unnest(rest) r);
end $$;

create function pg_temp.at_once(entries jsonb)
returns text[] language plpgsql as $$
declare
    ids  jsonb := record(900000000000000001, 0::smallint, entries) -> 'ids';
begin
    return array(select i::text
                   from generate_series(0, jsonb_array_length(ids) - 1) i
                  where ids -> i = 'null')
           || array(select a.remaining::text from active_ignore a
                     order by a.requested_at, a.request_id);
end $$;

create function pg_temp.differences(rounds int)
returns int language plpgsql as $$
declare
    n        int := 0;
    entries  jsonb;
    drops    text[];
begin
    for round in 1 .. rounds loop
        perform pg_temp.none();
        insert into active_ignore
        select 900000000000000001, 0, i,
               case when t.type is null then 'executor' else 'target' end,
               (random() * 9)::int, t.type,
               (array[5, 7, 39, null])[1 + random() * 3],
               1 + (random() * 2)::int,
               now() - (random() * 5)::int * interval '1 second',
               clock_timestamp() + interval '1 hour'
          from generate_series(1, 40) i
         cross join lateral (
               select (array[null, 0, 1, 2, 4, 5, 6])[1 + i * 0
                                                      + random() * 6]) t (type);
        entries := (
            select jsonb_agg(jsonb_build_object(
                       'event_id', gen_random_uuid(),
                       'type', (array[5, 7, 39])[1 + random() * 2],
                       'executor', jsonb_build_object('id', e.f[8]),
                       'target', jsonb_build_object('id', e.f[9]),
                       'channel', jsonb_build_object('id', e.f[1]),
                       'emoji', jsonb_build_object('id', e.f[2],
                                                   'name', e.f[3]),
                       'name', e.f[4], 'value', e.f[5],
                       'messages', jsonb_build_array(
                           jsonb_build_object('id', e.f[6]),
                           jsonb_build_object('id', e.f[7]))))
              from (select i, array_agg((random() * 30)::int::text) as f
                      from generate_series(1, 30) i
                     cross join generate_series(1, 9) group by i) e);
        drops := pg_temp.in_turn(entries);
        n := n + (drops <> pg_temp.at_once(entries))::int;
    end loop;

    return n;
end $$;

select is(pg_temp.differences(40), 0,
          'of many requests the oldest that fits is used up first');

-- what is held

select pg_temp.none() \g /dev/null
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select clock_timestamp() as before \gset
select record(:guild, 0::smallint, '[
    {"event_id": "h1", "type": 5, "executor": {"id": "1"}},
    {"event_id": "h2", "type": 5, "executor": {"id": "1"}},
    {"event_id": "h3", "type": 5, "executor": {"id": "2"}},
    {"event_id": "h4", "type": 39, "executor": {"id": "1"}}]') as answer \gset
select :'answer'::json #>> '{ids,0}' as h1, :'answer'::json #>> '{ids,1}' as h2
\gset
select is(a.dstatus || '' || a.dreason || a.lane, null, 'no status yet')
  from log_arrival a where a.guild_id = :guild and a.id = :h1;
select is(e.dreason || e.dchannel_id, 'held10', 'an entry is held')
  from stored e where e.guild_id = :guild and e.id = :h1;
select is(e.held_to - interval '3 s' between :'before'
          and clock_timestamp(), true, 'for 3 s')
  from stored e where e.guild_id = :guild and e.id = :h1;
-- however long what follows takes
update log_arrival set held_to = held_to + interval '1 hour'
 where guild_id = :guild;
select is(count(*)::int, 0, 'and not for delivery') from held_release(100000)
 where guild_id = :guild;
select active_ignore_executors(:me, '{"id": "1"}') \g /dev/null
select is(count(*)::int, 0, 'a request that comes late takes it back')
  from stored where guild_id = :guild and id = :h1;
select is(count(*)::int, 1, 'the first one')
  from stored where guild_id = :guild and id = :h2;
select is(record(:guild, 0::smallint, '[{"event_id": "h1", "type": 5}]')
          - 'ids', '{"recorded": 0, "duplicates": 1, "dropped": {},
                     "errors": []}', 'its event stays known');
select is(count(*)::int, 0, 'without an entry')
  from log_arrival where guild_id = :guild and id = :h1;
select is(remaining::int, 0, 'its count is used up')
  from active_ignore where guild_id = :guild and subject_id = '1';
select pg_temp.sends('recorded', '{"executor": {"id": "1"}}',
                     'and hides nothing more');
update log_arrival set held_to = held_to + interval '1 hour'
 where guild_id = :guild;
select active_ignore_executors(:me, '{"id": "1", "count": 100}') \g /dev/null
select is(count(*)::int, 0, 'a larger one takes all that there are')
  from stored e
 where e.guild_id = :guild and e.type = 5
   and e.doc like '%"executor":{"id":"1",%';
select is(pg_temp.logged(:guild, 39), 1, 'but not what is protected');
select is(remaining::int, 98, 'and counts them')
  from active_ignore where guild_id = :guild and remaining > 0;
select pg_temp.sends('hidden', '{"executor": {"id": "1"}}',
                     'the rest is for what comes');

select pg_temp.none() \g /dev/null
select record(:guild, 0::smallint, '[
    {"event_id": "r1", "type": 5, "executor": {"id": "1"}}]')
    #>> '{ids,0}' as r1 \gset
update log_arrival set held_to = clock_timestamp()
 where guild_id = :guild and held_to is not null;
select active_ignore_executors(:me, '{"id": "1"}') \g /dev/null
select is(count(*)::int, 1, 'what is held no more stays')
  from stored where guild_id = :guild and id = :r1;
select is(id::text || ' ' || channel_id, :'r1' || ' 10',
          'and is released to its channel')
  from held_release(100000) where guild_id = :guild;
select is(count(*)::int, 0, 'once') from held_release(100000)
 where guild_id = :guild;

-- more of them than are released at once; what comes last happened first

create function pg_temp.places()
returns bigint[] language sql as $$
    select array_agg(substr(a.event_id, 2)::bigint order by a.seq)
      from log_arrival a
     where a.guild_id = 900000000000000001 and a.seq is not null
$$;

select pg_temp.none() \g /dev/null
select record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', 'b' || i, 'type', 5,
           'timestamp', ms(clock_timestamp()) - i * 1000)))
  from generate_series(0, 299) i \g /dev/null
update log_arrival set held_to = held_to - interval '4 s'
 where guild_id = :guild;
update log_arrival set held_to = null      -- other files have servers of theirs
 where guild_id <> :guild and held_to is not null;
select is(count(*)::int, 10, 'of many a call releases so many')
  from held_release(10) where guild_id = :guild;
select pg_temp.looks() as looks \gset
select count(*) from held_release(20) \g /dev/null
select is(pg_temp.looks() - :looks < 400, true,
          'and looks at nothing that is not held');
select is(pg_temp.places(), array(select generate_series(0, 29)::bigint),
          'in the order in which they came');
select arrivals_remove(:guild, 0::smallint, array(
           select a.arrival from log_arrival a
            where a.guild_id = :guild and a.held_to is not null
            order by a.arrival limit 20)) \g /dev/null
select is(count(*)::int, 20, 'those that are gone are in nobody''s way')
  from held_release(20) where guild_id = :guild;
select is(pg_temp.places(), array(select generate_series(0, 29)
                                   union all
                                  select generate_series(50, 69))::bigint[],
          'and have no place');

select pg_temp.none() \g /dev/null
select channels_patch(:me, '{"main_channel": null}') \g /dev/null
select pg_temp.send('{"executor": {"id": "1"}}') \g /dev/null
select is(e.dstatus || e.dreason, '0no_channel',
          'what goes nowhere has its status at once')
  from stored e where e.guild_id = :guild and e.type = 5;
update log_arrival set held_to = clock_timestamp()
 where guild_id = :guild and held_to is not null;
select is(count(*)::int, 0, 'and is for nobody') from held_release(100000)
 where guild_id = :guild;

-- a type's own

select pg_temp.none() \g /dev/null
select type_patch(:me, 5, '{"active_ignore": false}') \g /dev/null
select active_ignore_executors(:me, '{"id": "1", "count": 9}') \g /dev/null
select pg_temp.sends('recorded', '{"executor": {"id": "1"}}',
                     'a type that says otherwise');
select options_patch(:me, '{"active_ignore": false}') \g /dev/null
select type_patch(:me, 7, '{"active_ignore": true}') \g /dev/null
select pg_temp.sends('hidden', '{"executor": {"id": "1"}, "type": 7}',
                     'or does so alone');

-- the first log

delete from log_arrival where guild_id = :guild;
update log_head set first_log_at = null where guild_id = :guild and bot = 0;
delete from active_ignore where guild_id = :guild;
select pg_temp.send('{"executor": {"id": "1"}, "type": 7}') \g /dev/null
select is(first_log_at > 0, true, 'the first log is known')
  from log_head where guild_id = :guild and bot = 0;
select active_ignore_executors(:me, '{"id": "1"}') \g /dev/null
select is(first_log_at, null, 'until it is taken back')
  from log_head where guild_id = :guild and bot = 0;

select * from finish();
rollback;
