-- Partitions: there is always one to insert into, and those that are made
-- later take over what the default one holds. Those past keeping go.

\set QUIET on

-- who takes a partition away waits for all others, so they wait for this file

set client_min_messages = error;
begin;
lock table guildlog.log_head, guildlog.log_event, guildlog.log_entry;

\ir ../setup.psql
select plan(28);

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
select is(pg_temp.record_at(:guild, '2084-01-01'), 'log_entry_default',
          'where no partition is made yet the default one takes it');

select today() + 5 as day, to_char(today() + 5, 'YYYYMMDD') as later \gset
select is(pg_temp.record_at(:guild, now() + interval '5 days'),
          'log_entry_default', 'also for an entry five days ahead');
select is(pg_temp.record_at(:guild, now() + interval '4 days'),
          'log_entry_default', 'also for one four days ahead');
select partitions_ensure(6) \g /dev/null
select is(partitions_missing(6), 2, 'one such day is made in a transaction');
select partitions_ensure(6) \g /dev/null
select is(partitions_missing(6), 1, 'then the next one');
select is((select tableoid::regclass::text from log_entry
            where guild_id = :guild and id >= day_id(:'day')
              and id < day_id(:'day'::date + 1)),
          'log_entry_' || :'later', 'until the partition of its day is made');
select is(count(*)::int, 1, 'only what belongs there is moved')
  from log_entry_default where guild_id = :guild;
select is(count(*)::int, (select count(*)::int from pg_indexes
                           where tablename = 'log_entry'),
          'a partition has every index')
  from pg_indexes where tablename = 'log_entry_' || :'later';
select partitions_ensure(6) \g /dev/null
select is(partitions_missing(6), 0, 'at last the days that are empty');
select lives_ok('select partitions_ensure(6)', 'once more changes nothing');

-- what is past keeping

drop table log_entry_past;
select partition_make('log_entry', 'log_entry_20200101', 'id',
                      day_id('2020-01-01')::text, day_id('2020-01-02')::text),
       partition_make('log_event', 'log_event_20200101', 'recorded_at',
                      '2020-01-01 00:00Z', '2020-01-02 00:00Z'),
       partition_make('log_event', 'log_event_kept', 'recorded_at',
                      '2020-01-02 00:00Z',
                      (now() - interval '49 hours')::text) \g /dev/null
select partition_make('log_entry', 'log_entry_kept', 'id',
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
select is(pg_temp.record_at(:guild, now() - interval '29 days'),
          'log_entry_default', 'late entries still find a place');

select * from finish();
rollback;
