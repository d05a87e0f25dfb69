-- Partitions: they are made two weeks ahead, and what lies beyond is refused.
-- Those past keeping go.

\set QUIET on

-- who takes a partition away waits for all others, so they wait for this file

set client_min_messages = error;
begin;
lock table guildlog.log_head, guildlog.log_arrival;

\ir ../setup.psql
select plan(21);

select partitions_ensure() \g /dev/null

create function pg_temp.record_at(guild bigint, at timestamptz)
returns text language plpgsql as $$
declare
    stored  bigint;
begin
    stored := record(guild, 0::smallint, jsonb_build_array(jsonb_build_object(
              'event_id', at, 'type', 5, 'timestamp', ms(at))))
          #>> '{ids,0}';
    return (select tableoid::regclass from log_arrival e
             where e.guild_id = guild and e.id = stored);
end $$;

select is(pg_temp.record_at(:guild, at),
          'log_arrival_' || to_char(now() at time zone 'UTC', 'YYYYMMDD'),
          'what arrives today is in the partition of the day, whenever it '
          'happened')
  from unnest(array[now(), now() - interval '30 days']) at;
select is(partitions_missing(14), 0, 'two weeks ahead are made');
select is(partitions_missing(16), 2, 'a later day is missing');
select partitions_ensure(16) \g /dev/null
select is(partitions_missing(16), 0, 'until it is made');
select is(count(*)::int, (select count(*)::int from pg_indexes
                           where tablename = 'log_arrival'),
          'a partition has every index')
  from pg_indexes
 where tablename = 'log_arrival_' || to_char(today() + 16, 'YYYYMMDD');
select lives_ok('select partitions_ensure(16)', 'once more changes nothing');

-- nobody made them for two weeks

savepoint late;
do $$
declare
    name  text;
begin
    for name in
        select p.name from partitions('log_arrival') p
         where p.low > now()
    loop
        execute format('drop table %I', name);
    end loop;
end $$;
select lives_ok(format($$ select pg_temp.record_at(%s, now()) $$, :guild),
                'a session that has recorded today goes on');
select set_config('guildlog.day', '', false) \g /dev/null
select is(partitions_missing(1), 1, 'tomorrow has no partition');
select lives_ok(format($$ select record(%s, 1::smallint,
    '[{"event_id": "e", "type": 5}]') $$, :guild), 'who begins to record ...');
select is(partitions_missing(1), 0, '... makes it');
rollback to late;

-- what is past keeping

drop table log_arrival_past;
select partition_make('log_arrival', '2020-01-01', '2020-01-02'),
       partition_make('log_arrival', today() - 3, today() - 2) \g /dev/null
insert into log_arrival (guild_id, bot, arrival, recorded_at, type, event_id,
                         id, lane, seq, doc)
select :guild + 1, 0, n, '2020-01-01 12:00Z', 5, n,
       day_low(day_now() - 5) + n, 9, n, '{"id":"' || day_low(day_now() - 5) + n
       || '","type":5,'
  from generate_series(1, 5) n;
insert into log_head (guild_id, bot, arrival, first_log_at, last_at, due_at)
values (:guild + 1, 0, 5, 1, now(), now());
insert into lane_head (guild_id, lane, head, upto) values (:guild + 1, 9, 2, 2);
insert into lane_tail (guild_id, lane, tail) values (:guild + 1, 9, 5);
select operator_server_put(:guild + 1, '{"plan": "pro"}') \g /dev/null

select is(more, false, 'what is in no block yet') from keeper_expiry(20000);
select has_table('guildlog', 'log_arrival_20200101', '... stays');
select is(lag >= 1, true, '... and is told') from keeper_expiry(20000);
select block_make(:guild + 1, 0::smallint) \g /dev/null
select is(more, true, 'what waits in lanes') from keeper_expiry(2);
select is(array_agg(r.seq || ' ' || r.first order by r.seq), '{3 true,4 true}',
          '... finds its place elsewhere, a part at a time')
  from replay r where r.guild_id = :guild + 1;
select keeper_expiry(2) \g /dev/null
select is(array_agg(p.seq order by p.seq), '{3,4,5}',
          '... and is in the lane once')
  from lane_entries(:guild + 1, 9, 1, 9) p where p.seq > 2;
select is(more, true, 'then it goes') from keeper_expiry(2);
select hasnt_table('guildlog', 'log_arrival_20200101', 'the oldest one first');
select has_table('guildlog', 'log_arrival_' || to_char(today() - 3, 'YYYYMMDD'),
                 'not those of the last three days');
select is(array_agg(p.seq order by p.seq), '{3,4,5}',
          'what waited is in the lane as before')
  from lane_entries(:guild + 1, 9, 1, 9) p;

select * from finish();
rollback;
