-- Many clients at once: an active ignore request for 5 hides exactly 5,
-- whether it comes before, between or after the entries, and an event that
-- several send is stored once. The clients are sessions of their own, so this
-- file commits what it does, to a server of its own. Runs at the top of the
-- repository.

\ir ../crowd.psql

select 920000000000000000 + ms(clock_timestamp()) as guild \gset
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select operator_server_put(:guild + 1, '{"plan": "pro"}') \g /dev/null
select body::json ->> 'unique_id' as token
  from operator_token_create(:guild, '{"permissions": 1, "creator": "1"}')
\gset
select format('%L, %s, 0::smallint, 1::smallint', :'token', :guild) as me \gset
select options_patch(:me, '{"active_ignore": true}') \g /dev/null

select plan(9);

-- @ of a crowd records 20 entries, one after the other
select translate(format($$
    do $do$ begin for i in 1 .. 20 loop
        perform record(%s, 0::smallint, jsonb_build_array(jsonb_build_object(
            'event_id', gen_random_uuid(), 'type', 5, 'executor',
            '{"id": "EXECUTOR"}'::jsonb)));
        commit;
    end loop; end $do$; select 'done' $$, :guild), e'\n', ' ') as send \gset

create function pg_temp.hidden(guild bigint, executor bigint)
returns int language sql as $$
    select 160 - count(*)::int from log_arrival e
     where e.guild_id = guild
       and (e.doc || $q$}$q$)::json #>> $q${executor,id}$q$ = executor::text
$$;

-- the request comes first

select active_ignore_executors(:me, '{"id": "1", "count": 5, "time": 60}')
\g /dev/null
select replace(:'send', 'EXECUTOR', '1') as sql \gset
\set got `t/sql/crowd 8 :'sql'`
select is(:'got'::text, '8 done', 'eight clients record');
select is(pg_temp.hidden(:guild, 1), 5, 'five entries are hidden');

-- it comes last

select replace(:'send', 'EXECUTOR', '2') as sql \gset
\set got `t/sql/crowd 8 :'sql'`
update log_arrival set held_to = clock_timestamp() + interval '1 minute'
 where guild_id = :guild;
select active_ignore_executors(:me, '{"id": "2", "count": 5}') \g /dev/null
select is(pg_temp.hidden(:guild, 2), 5, 'five that are held are taken back');

-- it comes in between, and so do others

select replace(:'send', 'EXECUTOR', '3')
       || translate(format($$; select status from active_ignore_executors(%s,
              '{"id": "3", "count": 5, "time": 60}') $$, :'me'), e'\n', ' ')
           as sql \gset
\set got `t/sql/crowd 8 :'sql'`
select is(:'got'::text, '8 200,8 done', 'eight requests for five each');
select is(pg_temp.hidden(:guild, 3) + sum(remaining)::int, 40,
          'hide forty, or will')
  from active_ignore where guild_id = :guild and subject_id = '3';

-- the same event from everybody

select translate(format($$
    select record(%s, 0::smallint, '[{"event_id": "same", "type": 5},
                                     {"event_id": "own@", "type": 5}]')
           - '{ids,errors,dropped}'::text[] $$, :guild), e'\n', ' ') as sql
\gset
\set got `t/sql/crowd 8 :'sql'`
select is(count(*)::int, 1, 'one event is one entry')
  from log_arrival where guild_id = :guild and event_id = 'same';
select is(count(*)::int, 8, 'the others are their own')
  from log_arrival where guild_id = :guild and event_id like 'own%';

-- batches of two servers, in either order

select translate(format($$
    do $do$ begin for i in 1 .. 30 loop
        perform operator_record_many(
            array(select s from generate_series(%s::bigint, %s::bigint) s
                   order by case when @ %% 2 = 0 then s else -s end),
            null, array[gen_random_uuid(), gen_random_uuid()]::text[],
            array[5, 5]::smallint[], null, null, null, null, null, null, null,
            null, null, null, null, null, null,
            entry_doc('{}') || chr(10) || entry_doc('{}'), '[]');
        commit;
    end loop; end $do$; select 'done' $$, :guild, :guild + 1), e'\n', ' ')
    as sql \gset
\set got `t/sql/crowd 8 :'sql'`
select is(:'got'::text, '8 done', 'never wait for each other in a circle');
select is(count(*)::int, 240, 'and are all stored')
  from log_arrival where guild_id = :guild + 1 and id is not null;

select * from finish();
