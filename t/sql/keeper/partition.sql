-- Partitions: they are made two weeks ahead, and what lies beyond is refused.
-- Those past keeping go.

\set QUIET on

-- who takes a partition away waits for all others, so they wait for this file

set client_min_messages = error;
begin;
lock table guildlog.log_head, guildlog.log_event, guildlog.log_entry;

\ir ../setup.psql
select plan(30);

select partitions_ensure() \g /dev/null
select is((select tableoid::regclass::text from log_entry
            where guild_id = :guild limit 1),
          'log_entry_' || to_char(now() at time zone 'UTC', 'YYYYMMDD'),
          'an entry of today is in the partition of the day');
select is((select tableoid::regclass::text from log_event
            where guild_id = :guild limit 1),
          'log_event_' || to_char(now() at time zone 'UTC', 'YYYYMMDD'),
          'its event is there, too');

create function pg_temp.record_at(guild bigint, at timestamptz)
returns text language plpgsql as $$
declare
    stored  bigint;
begin
    stored := record(guild, 0::smallint, jsonb_build_array(jsonb_build_object(
              'event_id', at, 'type', 5, 'timestamp', ms(at))))
          #>> '{ids,0}';
    return (select tableoid::regclass from log_entry e
             where e.guild_id = guild and e.id = stored);
end $$;

select is(pg_temp.record_at(:guild, now() - interval '30 days'),
          'log_entry_past', 'an old entry is in the past partition');
select is(pg_temp.record_at(:guild, now() + interval '14 days'),
          'log_entry_' || to_char(today() + 14, 'YYYYMMDD'),
          'two weeks ahead are made');
select throws_ok(format($$ select pg_temp.record_at(%s, '2084-01-01') $$,
                        :guild), '23514', null, 'what lies beyond is refused');
select is(partitions_missing(16), 2, 'a later day is missing');
select partitions_ensure(16) \g /dev/null
select is(partitions_missing(16), 0, 'until it is made');
select is(count(*)::int, (select count(*)::int from pg_indexes
                           where tablename = 'log_entry'),
          'a partition has every index')
  from pg_indexes
 where tablename = 'log_entry_' || to_char(today() + 16, 'YYYYMMDD');
select lives_ok('select partitions_ensure(16)', 'once more changes nothing');

-- nobody made them for two weeks

savepoint late;
do $$
declare
    name  text;
begin
    for name in
        select p.name from partitions('log_entry') p
         where p.low::bigint > day_id(today())
    loop
        execute format('drop table %I', name);
    end loop;
end $$;
select lives_ok(format($$ select pg_temp.record_at(%s, now()) $$, :guild),
                'who has recorded today goes on');
select throws_ok(format($$ select record(%s, 1::smallint,
    '[{"event_id": "e", "type": 5}]') $$, :guild), 'GL503',
    'there is no partition for tomorrow: the keeper has not made one for two '
    'weeks', 'who begins to is told why not');
select partitions_ensure() \g /dev/null
select lives_ok(format($$ select record(%s, 1::smallint,
    '[{"event_id": "e", "type": 5}]') $$, :guild), 'then it is recorded');
rollback to late;

-- a default partition of before

savepoint legacy;
create table log_entry_default partition of log_entry default;
insert into log_entry (guild_id, id, arrival, bot, type, doc)
values (:guild, day_id(today() + 18) + 1, 90001, 0, 5, '"id":"1"');
select partitions_ensure(20) \g /dev/null
select is(tableoid::regclass::text, 'log_entry_default', 'its rows stay there')
  from log_entry where guild_id = :guild and arrival = 90001;
select has_table('guildlog', 'log_entry_' || to_char(today() + 19, 'YYYYMMDD'),
                 'other days have their own');
select partitions_expire() \g /dev/null
select has_table('guildlog', 'log_entry_default', 'it stays as long as they');
delete from log_entry where guild_id = :guild and arrival = 90001;
insert into log_entry (guild_id, id, arrival, bot, type, doc)
values (:guild, time_id(1420070400000) - 1, 90002, 0, 5, '"id":"1"');
select partitions_expire() \g /dev/null
select hasnt_table('guildlog', 'log_entry_default',
                   'and goes when they are past keeping');
rollback to legacy;

-- what is past keeping

drop table log_entry_past, log_event_past;
select partition_make('log_entry', 'log_entry_20200101',
                      day_id('2020-01-01')::text, day_id('2020-01-02')::text),
       partition_make('log_event', 'log_event_20200101',
                      '2020-01-01 00:00Z', '2020-01-02 00:00Z'),
       partition_make('log_event', 'log_event_kept',
                      '2020-01-02 00:00Z',
                      (now() - interval '49 hours')::text) \g /dev/null
select partition_make('log_entry', 'log_entry_kept',
           day_id('2020-01-02')::text,
           day_id((now() at time zone 'UTC')::date - 30)::text) \g /dev/null
insert into log_checkpoint
select :guild, 0, i, '{}'
  from unnest(array[day_id('2020-01-01') + 1, next_id(ms(now()))]) id,
       generate_series(id, id + 3) i;
insert into log_head (guild_id, bot) values (:guild + 1, 0), (:guild + 2, 0);
insert into log_checkpoint
select g, 0, day_id('2020-01-01') + 1, '{}'
  from generate_series(:guild + 1, :guild + 2) g;
insert into log_correction values
    (:guild, 0, day_id('2020-01-01') + 1, 6, 1),
    (:guild, 0, next_id(ms(now())), 6, 1);
insert into held_entry values (:guild, 0, day_id('2020-01-01') + 1, null,
                               now()),
                              (:guild, 0, next_id(ms(now())), null, now());
select is(more, true, 'what is past keeping goes') from keeper_expiry(1);
select is(count(*) in (2, 5), true, 'a server after the other')
  from log_checkpoint c where c.last_id < day_id('2020-01-02');
select has_table('guildlog', 'log_entry_20200101', 'first what counts it');
select is(more, true, 'as long as there is some') from keeper_expiry(1);
select is(more, false, 'at last itself') from keeper_expiry(1);
select hasnt_table('guildlog', 'log_entry_20200101', 'entries');
select hasnt_table('guildlog', 'log_event_20200101', 'and events');
select has_table('guildlog', 'log_event_kept', 'not those of two days');
select has_table('guildlog', 'log_entry_kept',
                 'not what has a day of the last 31');
select is(count(*)::int, 4, 'with checkpoints')
  from log_checkpoint where guild_id between :guild and :guild + 2;
select is(count(*)::int, 1, 'and what they are short of')
  from log_correction where guild_id = :guild;
select is(count(*)::int, 1, 'and what was held')
  from held_entry where guild_id = :guild;
insert into log_checkpoint values (:guild, 0, day_id('2020-01-01') + 2, '{}');
select is(partitions_expire(), true, 'when there is none to go');
select is(count(*)::int, 5, 'nothing is looked for')
  from log_checkpoint where guild_id = :guild;

select * from finish();
rollback;
