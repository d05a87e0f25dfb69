-- Many clients at once: limits stay exact, an event is stored once, and a
-- change that waited behind a reset is refused. The clients are sessions of
-- their own, so this file commits what it does, to a server of its own. Runs
-- at the top of the repository.

\ir ../crowd.psql

select 910000000000000000 + ms(clock_timestamp()) as guild \gset
select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select body::json ->> 'unique_id' as token
  from operator_token_create(:guild, '{"permissions": 1, "creator": "1"}')
\gset
select format('%L, %s, 0::smallint, 1::smallint', :'token', :guild) as me \gset

select plan(17);


-- Another session is at work, and goes on until somebody waits for it: it has
-- that lock by then.

create function pg_temp.begun(lock int)
returns void language plpgsql as $$
begin
    while not exists (select from pg_locks
                       where locktype = 'advisory' and objid = lock)
    loop
        if clock_timestamp() > now() + interval '10 seconds' then
            raise 'it has not begun';
        end if;

        perform pg_sleep(0.01);
    end loop;
end $$;

select $$ do 'begin
            for i in 1 .. 1000 loop
                exit when exists (select from pg_stat_activity
                    where pg_backend_pid() = any (pg_blocking_pids(pid)));
                perform pg_sleep(0.01);
            end loop;
        end' $$ as until_waited_for \gset


-- limits

select format('select status from operator_token_create(%s, %L)', :guild,
              '{"permissions": 1, "creator": "1"}') as sql \gset
\set got `t/sql/crowd 12 :'sql'`
select is(:'got'::text, '4 201,8 GL409', 'four more tokens are the five');

select tag_create(:me, jsonb_build_object('tag_name', i, 'content', 'x'))
  from generate_series(1, 23) i \g /dev/null
select format('select status from tag_create(%s, %L)', :'me',
              '{"tag_name": "same", "content": "x"}') as sql \gset
\set got `t/sql/crowd 10 :'sql'`
select is(:'got'::text, '1 201,9 GL409', 'one tag of the same name');
select format('select status from tag_create(%s, %L)', :'me',
              '{"tag_name": "new@", "content": "x"}') as sql \gset
\set got `t/sql/crowd 10 :'sql'`
select is(:'got'::text, '1 201,9 GL402', 'one more is the 25th');


-- the first entries of a bot

select format('select record(%s, 1::smallint, %L) ->> ''recorded''', :guild,
              '[{"event_id": "first@", "type": 0}]') as sql \gset
\set got `t/sql/crowd 12 :'sql'`
select is(:'got'::text, '12 1', 'the first entry of twelve is recorded');
select is((select array[count(*), max(arrival)] from log_head
            where guild_id = :guild and bot = 1), '{1,12}', 'in one log');

select ignore_add(:me, 0, jsonb_build_object('value', i))
  from generate_series(1, 995) i \g /dev/null
select format('select status from ignore_add(%s, 0, %L)', :'me',
              '{"value": "new@"}') as sql \gset
\set got `t/sql/crowd 12 :'sql'`
select is(:'got'::text, '5 202,7 GL402', 'five more ignore entries');

select count(*) as logged from log_arrival
 where guild_id = :guild and type = 69 \gset
select format('select status from active_ignore_executors(%s, %L)', :'me',
              '{"id": "1"}') as sql \gset
\set got `t/sql/crowd 8 :'sql'`
select is(count(*)::int - :logged, 1, 'active ignore is logged once an hour')
  from log_arrival where guild_id = :guild and type = 69;


-- eight clients record the same 200 events, each beginning at another

select translate(format($$
    select record(%s, 0::smallint, jsonb_agg(jsonb_build_object('type', 5,
               'event_id', mod(i + 25 * @, 200), 'timestamp', 1790000000000)))
           ->> 'recorded'
      from generate_series(1, 200) i $$, :guild), e'\n', ' ') as sql \gset
\set got `t/sql/crowd 8 :'sql'`
select is(:'got'::text, '7 0,1 200', 'an event is stored once');
select is((count(*), count(distinct arrival), count(distinct id))::text,
          '(200,200,200)', 'each event has a number and an id of its own')
  from log_arrival where guild_id = :guild and type = 5;


-- the fields of one member, put by many

select translate(format($$
    select status from operator_member_put(%s, 1, (array['{"name": "n"}',
        '{"bot": true}', '{"roles": ["5"]}'])[1 + mod(@, 3)]::jsonb) $$,
    :guild), e'\n', ' ') as sql \gset
\set got `t/sql/crowd 9 :'sql'`
select is((name, bot, roles)::text, '(n,t,{5})', 'no field is lost')
  from directory where guild_id = :guild and kind = 0 and id = 1;


-- a change that comes while a reset is under way

select format($$ begin; select server_reset(%s); select pg_advisory_lock(7012);
    %s;
    commit $$, :'me', :'until_waited_for') as sql \gset
\setenv RESET :sql
\! echo "$RESET" | psql -XAtq > /dev/null &
select pg_temp.begun(7012) \g /dev/null
select is(status, 200, 'until it is done the token is live')
  from server_get(:me);
select is(status, 401, 'but a change waits for it and is refused')
  from settings_patch(:me, '{"locale": "de"}');


-- a request of active ignore that waits for the log, while its token ends

select body::json ->> 'unique_id' as token
  from operator_token_create(:guild, '{"permissions": 1, "creator": "1"}')
\gset
select format('%L, %s, 0::smallint, 1::smallint', :'token', :guild) as me \gset
select options_patch(:me, '{"active_ignore": 1}') \g /dev/null

select format($$ begin; select record_begin(%s, 0::smallint, 0);
    select pg_advisory_lock(7013);
    %s;
    select status from server_reset(%s);
    commit $$, :guild, :'until_waited_for', :'me') as sql \gset
\setenv RESET :sql
\! echo "$RESET" | psql -XAtq > /dev/null &
select pg_temp.begun(7013) \g /dev/null
select is(status, 401, 'a reset does not wait for it, and its token is dead')
  from active_ignore_executors(:me, '{"id": "1"}');
select is(count(*)::int, 0, 'nothing is ignored by it')
  from active_ignore where guild_id = :guild;


-- a person who is to be forgotten again, while the keeper is at it

select record(:guild, 0::smallint, jsonb_build_array(jsonb_build_object(
           'event_id', gen_random_uuid(), 'type', 7,
           'executor', '{"id": "55500000000000001", "name": "x"}'::jsonb)))
\g /dev/null
select operator_person_forget(:guild, 55500000000000001) \g /dev/null

select format($$ begin; select from forgotten_person where guild_id = %s
      for update;
    select pg_advisory_lock(7014);
    %s;
    select people_forget(1000);
    commit $$, :guild, :'until_waited_for') as sql \gset
\setenv FORGET :sql
\! echo "$FORGET" | psql -XAtq > /dev/null &
select pg_temp.begun(7014) \g /dev/null
select is(status, 202, 'this and the keeper do not wait for each other')
  from operator_person_forget(:guild, 55500000000000001);
select is(count(*)::int, 0, 'the keeper''s turn did not fail')
  from forgotten_person where guild_id = :guild and error is not null;

-- who makes a partition waits neither for readers nor for who records

begin;
savepoint before;
insert into log_arrival (guild_id, id, arrival, recorded_at, bot, type, event_id,
                         doc)
values (5, next_id(ms(now())), 1, now(), 0, 5, 'one', '"id":"1"');
select $$ set lock_timeout = '5s'; select partition_make('log_arrival',
    '2083-01-01', '2083-01-02') $$ as sql \gset
\setenv MAKE :sql
\! echo "$MAKE" | psql -XAtq > /dev/null 2>&1
rollback to before;
select has_table('guildlog', 'log_arrival_20830101',
                 'a partition is made meanwhile');
drop table if exists log_arrival_20830101;
commit;

select * from finish();
