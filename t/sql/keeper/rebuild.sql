-- "The service goes on" while what is derived from the entries of a server is
-- made anew: what is recorded or taken back meanwhile is neither held up nor
-- undone. Another session rebuilds, so this file commits what it does, to a
-- server of its own. Runs at the top of the repository.

\ir ../crowd.psql

select 920000000000000000 + ms(clock_timestamp()) as guild \gset
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select body::json ->> 'unique_id' as token
  from operator_token_create(:guild, '{"permissions": 1, "creator": "1"}')
\gset
select format('%L, %s, 0::smallint, 1::smallint', :'token', :guild) as me \gset
select options_patch(:me, '{"active_ignore": true}') \g /dev/null

-- an entry of that time, by somebody
create function pg_temp.send(guild bigint, who text, ago interval)
returns text language sql as $$
    select record(guild, 0::smallint, jsonb_build_array(jsonb_build_object(
               'event_id', gen_random_uuid(), 'type', 5, 'executor',
               jsonb_build_object('id', who, 'name', 'Ann'),
               'timestamp', ms(now() - ago)))) ->> 'recorded'
$$;

-- waits until the condition holds
create function pg_temp.until(condition text)
returns void language plpgsql as $$
declare
    holds  boolean := false;
begin
    while not holds loop
        if clock_timestamp() > now() + interval '20 seconds' then
            raise 'it does not hold: %', condition;
        end if;

        perform pg_sleep(0.01), pg_stat_clear_snapshot();
        execute 'select ' || condition into holds;
    end loop;
end $$;

select plan(6);

select pg_temp.send(:guild, '1', '2 hours') \g /dev/null
select pg_temp.send(:guild, '2', '1 hour') \g /dev/null
update log_arrival set held_to = now() + interval '1 hour'
 where guild_id = :guild and held_to is not null;
select is(first_log_at, (select id_time(min(id)) from log_arrival
                          where guild_id = :guild), 'the first one is held')
  from log_head where guild_id = :guild and bot = 0;

-- it looks at what was delivered last, and waits there

insert into log_day values (:guild, 0, 5, '{129}');
begin;
lock table lane_batch in access exclusive mode;
select format('select guildlog.rebuild(%s)', :guild) as sql \gset
\setenv REBUILD :sql
\! PGOPTIONS='-c deadlock_timeout=1min' psql -XAtqc "$REBUILD" > /dev/null 2>&1 &
select pg_temp.until('exists (select from pg_stat_activity
    where pg_backend_pid() = any (pg_blocking_pids(pid)))') \g /dev/null

set local lock_timeout = '2s';
select is(pg_temp.send(:guild, '3', '10 minutes'), '1',
          'while it looks, entries are recorded');
select is(status, 200, 'and taken back')
  from active_ignore_executors(:me, '{"id": "1", "count": 1}');
commit;

select pg_temp.until(format('not exists (select from pg_stat_activity
    where query = %L)', :'sql')) \g /dev/null

select is(first_log_at, (select id_time(min(id)) from log_arrival
                          where guild_id = :guild),
          'the first log is not the one that was taken back')
  from log_head where guild_id = :guild and bot = 0;
select is(count(*)::int, 0, 'what contradicted the entries is gone')
  from log_day where guild_id = :guild;
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'and nothing differs');

select * from finish();
