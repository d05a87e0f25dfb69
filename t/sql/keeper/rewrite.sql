-- The rewrite of closed days into weeks, and of weeks into days: nothing that is
-- read changes by it, whatever changes meanwhile; the partitions are in order,
-- and without what nobody can see any more.

\ir ../days.psql
\ir ../segments.psql
select plan(77);

\set free 900000000000000002

-- here no other transaction counts

create or replace function transactions_here()
returns text[] language sql as $$ select '{}'::text[] $$;

create function pg_temp.send(guild bigint, n int, days float8,
    type int default 7, bot int default 0)
returns void language sql as $$
    select record(guild, bot::smallint, jsonb_agg(jsonb_build_object(
               'event_id', gen_random_uuid(), 'type', type,
               'name', 'n' || i,
               'timestamp', ms(now()) - (days * 86400000)::bigint + i)))
      from generate_series(1, n) i
$$;

-- all that a reader sees: the head, then the entries
create function pg_temp.seen(guild bigint, bot int)
returns text[] language sql as $$
    select array_agg(case when p.more is null then p::text
                          else (p.doc || '}')::jsonb::text end)
      from token t
     cross join lateral logs_page(t.token_id, t.guild_id, bot::smallint,
           1::smallint, null, null, null, null, 10000,
           9223372036854775807) p
     where t.guild_id = guild and t.permissions = 1
$$;

create function pg_temp.all_seen()
returns text[] language sql as $$
    select pg_temp.seen(900000000000000001, 0)
        || pg_temp.seen(900000000000000001, 1)
$$;

-- the first row that one of them lacks
create function pg_temp.differs(a text[], b text[])
returns text language sql as $$
    select nullif(concat_ws(' ', (select '-' || min(x) from (select unnest(a) except all
                                     select unnest(b)) d (x)),
                    (select '+' || min(x) from (select unnest(b) except all
                                     select unnest(a)) d (x))), '')
$$;

\ir ../weeks.psql

create function pg_temp.run(budget int default 7)
returns int language plpgsql as $$
declare
    steps  int := 0;
begin
    while rewrite_step(budget) loop
        steps := steps + 1;
        if steps > 5000 then
            raise 'it does not end';
        end if;
    end loop;
    return steps;
end $$;

-- what is held is so for no moment longer
create function pg_temp.release()
returns void language sql as $$
    update held_entry set until = now() - interval '1 hour';
    select held_release();
$$;

-- its plan got smaller long ago
create function pg_temp.lapse(guild bigint)
returns void language sql as $$
    select operator_server_put(guild, '{"plan": "free"}');
    update server s
       set lapsed_at = now() - interval '8 days' where s.guild_id = guild;
    select server_lapses();
$$;

-- the steps up to where it settles
create function pg_temp.fill(budget int default 7)
returns void language plpgsql as $$
begin
    loop
        perform rewrite_step(budget);
        exit when exists (select from log_rewrite r where r.step = 'settle');
    end loop;
end $$;

-- the entries of several days, some delivered, some not, some undecided

select operator_server_put(:free, '{"plan": "free", "owner_id": "1"}')
\g /dev/null
select pg_temp.new_token(:free, 1, 'main') \g /dev/null
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select channels_patch(:pro, '{"main_channel": "11"}') \g /dev/null
select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
select pg_temp.send(:guild, 5, d, 7, b)
  from generate_series(0, 20) d, generate_series(0, 1) b \g /dev/null
select pg_temp.send(:free, 3, d + 0.001)
  from generate_series(0, 20) d \g /dev/null
select type_patch(:me, 7, '{"active_ignore": true}') \g /dev/null
select pg_temp.send(:guild, 5, d) from generate_series(0, 20) d \g /dev/null
select pg_temp.release() \g /dev/null

select lane as one from lane where guild_id = :guild and channel_id = 10 \gset
select lane as two from lane where guild_id = :guild and channel_id = 11 \gset
insert into lane_batch values
    (:guild, :one, 1, 50, 1001, now(), 1, 2, null),
    (:guild, :one, 51, 60, null, now(), 1, 0, 'forbidden'),
    (:guild, :one, 61, 62, null, now(), 1, 1, 'unconfirmed'),
    (:guild, :one, 63, 70, 1002, now(), 1, 2, null),
    (:guild, :one, 120, 200, 1003, now(), 1, 2, null),
    (:guild, :two, 1, 80, 1004, now(), 1, 2, null);
update lane_head set head = 80, upto = 90, refused_to = 100
 where guild_id = :guild;

select checkpoints_make() \g /dev/null
create temp table first as select pg_temp.all_seen() as seen;
select count(*) as entries from log_entry where guild_id = :guild \gset
select count(*) as was from partitions('log_entry')
 where high::bigint <= day_id((now() at time zone 'UTC')::date) \gset

select is(rewrite_waiting() between 26 and :was, true, 'the days wait');

-- one

select rewrite_step(7) \g /dev/null
select is(count(*)::int, 1, 'a step begins one') from log_rewrite;
select name, low, high from log_rewrite \gset
select is(array_length(sources, 1) > 0, true, 'of several days')
  from log_rewrite;
select is(relispartition, false, 'its table is no partition yet')
  from pg_class where oid = :'name'::regclass;
select rewrite_step(7), rewrite_step(7) \g /dev/null
select is(pg_temp.differs(seen, pg_temp.all_seen()), null,
          'no reader sees a difference') from first;

-- all

select pg_temp.run() > 100 as steps \gset
select is(:'steps'::boolean, true, 'it works in small steps');
select is(rewrite_waiting()::int, 0, 'nothing waits any more');
select is(pg_temp.differs(seen, pg_temp.all_seen()), null,
          'every reader sees the same') from first;
select is(count(*)::int, :entries, 'so are the entries')
  from log_entry where guild_id = :guild;
select is(count(*) <= 6, true, 'of which each week is one partition')
  from partitions('log_entry')
 where high::bigint > day_id((now() at time zone 'UTC')::date - 29)
   and high::bigint <= day_id((now() at time zone 'UTC')::date);
select is_empty('select from log_rewrite', 'and none is under way');
select is_empty($$
    select e.id from (
        select e.id, e.tableoid, (e.guild_id, e.bot, e.id) as key,
               lag((e.guild_id, e.bot, e.id)) over (
                   partition by e.tableoid order by e.ctid) as before
          from log_entry e
         where e.tableoid::regclass::text ~ '[0-9]{8}_') e
     where e.key < e.before
$$, 'in order');
select is_empty($$
    select c.conname from pg_constraint c
     where c.conrelid::regclass::text ~ 'log_entry_[0-9]{8}_'
       and c.contype = 'c'
$$, 'without the constraint of the table that was filled');
select is_empty($$ select from pg_trigger where tgname = 'log_change' $$,
                'or a trigger');
select is((select count(*)::int from pg_indexes
            where tablename = (select min(name) from partitions('log_entry')
                                where name ~ '[0-9]{8}_')),
          (select count(*)::int from pg_indexes
            where tablename = 'log_entry'), 'with every index');
select pg_temp.run() \g /dev/null
select is(rewrite_step(7), false, 'then there is nothing to do');

-- deliveries

select is(count(*) filter (where dstatus = 2 and dmessage_id is not null
                             and lane is null) > 100, true,
          'what was delivered is known to the entry')
  from log_entry where guild_id = :guild;
select is(count(*)::int, 10, 'so is what failed') from log_entry
 where guild_id = :guild and dstatus = 0 and dreason = 'forbidden'
   and lane is null and seq is null;
select is(count(*)::int, 0, 'not what may still change') from log_entry
 where guild_id = :guild and (dstatus = 1 or dreason = 'unconfirmed');
select is_empty(format($$
    select h.id from held_entry h join log_entry e
        on e.guild_id = h.guild_id and e.bot = h.bot and e.id = h.id
     where h.guild_id = %s and e.dstatus is not null
       and h.id < day_id((now() at time zone 'UTC')::date)
$$, :guild), 'that it was held is forgotten where it is decided');
select is(count(*) > 0, true, 'and only there') from held_entry
 where guild_id = :guild;

-- one-hour plans

select is(min(id_time(id)) >= ms(now()) - 2 * 86400000, true,
          'what no upgrade would show is gone')
  from log_entry where guild_id = :free;
select is(count(*) filter (where id_time(id) > ms(now()) - 86400000) >= 3,
          true, 'a day is kept') from log_entry where guild_id = :free;

-- late events, also held ones that are taken back, while one is under way

create function pg_temp.send_held(n int, days float8)
returns void language sql as $$
    select record(900000000000000001, 0::smallint, jsonb_agg(
               jsonb_build_object('event_id', gen_random_uuid(), 'type', 7,
                   'executor', '{"id": "77"}'::jsonb, 'timestamp',
                   ms(now()) - (days * 86400000)::bigint + i)))
      from generate_series(1, n) i
$$;

create function pg_temp.count(guild bigint)
returns int language sql as $$
    select count(*)::int from log_entry e where e.guild_id = guild
$$;

select pg_temp.send(:guild, 4, 10.5) \g /dev/null
select is(pg_temp.count(:guild), :entries + 4,
          'an entry finds its place in a rewritten day');

select pg_temp.again() \g /dev/null
select pg_temp.fill() \g /dev/null
select extract(epoch from (now() at time zone 'UTC') - id_day(high)) / 86400
           as ago
  from log_rewrite where step = 'settle' \gset
select pg_temp.send(:guild, 20, :ago + 0.5) \g /dev/null
select pg_temp.send_held(20, :ago + 0.6) \g /dev/null
select active_ignore_executors(:me, '{"id": "77", "count": 8}') \g /dev/null
select pg_temp.release() \g /dev/null
create temp table second as select pg_temp.all_seen() as seen;
select pg_temp.count(:guild) as entries \gset
select is(count(*) > 30, true, 'what changes meanwhile is noted')
  from log_change;
select pg_temp.run() \g /dev/null
select is(pg_temp.differs(seen, pg_temp.all_seen()), null,
          'and is there') from second;
select is(pg_temp.count(:guild), :entries, 'once');
select is(count(*)::int, 0, 'then nothing is noted any more')
  from log_change;

-- what was copied is taken back

select pg_temp.again() \g /dev/null
select rewrite_step(7) \g /dev/null
select extract(epoch from (now() at time zone 'UTC') - id_day(high)) / 86400
           as ago
  from log_rewrite where step = 'fill' \gset
select pg_temp.send_held(10, :ago + 0.6) \g /dev/null
select pg_temp.fill() \g /dev/null
select active_ignore_executors(:me, '{"id": "77", "count": 10}') \g /dev/null
select is(pg_temp.count(:guild) - :entries <= 2, true, 'it is gone');
select pg_temp.release() \g /dev/null
create temp table third as select pg_temp.all_seen() as seen;
select pg_temp.run() \g /dev/null
select is(pg_temp.differs(seen, pg_temp.all_seen()), null,
          'and stays so') from third;

-- what is left out of a server that may see it again

select pg_temp.again() \g /dev/null
update log_left_out set guild_id = 1;
select pg_temp.send(:free, 9, :ago + 0.4) \g /dev/null
select pg_temp.fill() \g /dev/null
select is(count(*)::int, 1, 'servers of which something is left out are noted')
  from log_left_out where guild_id = :free;
select checkpoints_make() \g /dev/null
select operator_server_put(:free, '{"plan": "pro"}') \g /dev/null
create temp table fourth as select pg_temp.seen(:free, 0) as seen;
select pg_temp.run() \g /dev/null
select is(pg_temp.differs(seen, pg_temp.seen(:free, 0)), null,
          'an upgrade meanwhile gets it back') from fourth;
select is(array_length(pg_temp.seen(:free, 0), 1) >= 10, true, 'all of it');

-- an upgrade counts anew

select pg_temp.lapse(:free) \g /dev/null
select keeper_searchable(20000) \g /dev/null
select pg_temp.send(:free, 600, 0.5), pg_temp.send(:free, 300, 13)
\g /dev/null
select checkpoints_make() \g /dev/null
select is(count(*) > 2, true, 'a free server has checkpoints')
  from log_checkpoint where guild_id = :free;
select pg_temp.again() \g /dev/null
select pg_temp.run(1000) \g /dev/null
select operator_server_put(:free, '{"plan": "pro"}') \g /dev/null
select is((regexp_match((pg_temp.seen(:free, 0))[1], '"total": (\d+)'))[1],
          (select count(*)::text from log_entry where guild_id = :free),
          'what is left out is not counted');
select is(array_length(pg_temp.seen(:free, 0), 1) - 1, pg_temp.count(:free),
          'nor seen');
select checkpoints_make() \g /dev/null
select is((regexp_match((pg_temp.seen(:free, 0))[1], '"total": (\d+)'))[1],
          (select count(*)::text from log_entry where guild_id = :free),
          'also when it is counted again');

-- nor found

select pg_temp.send(:free, 600, 12.5) \g /dev/null
select pg_temp.release() \g /dev/null
select keeper_searchable(20000) \g /dev/null
select pg_temp.jobs(:free) \g /dev/null
select is(count(*) > 0, true, 'there is an index') from search_segment
 where guild_id = :free;
select pg_temp.lapse(:free) \g /dev/null
select pg_temp.again() \g /dev/null
select pg_temp.run(1000) \g /dev/null
select is(step, 'settle', 'a rewrite waits until the index is gone')
  from log_rewrite;
select keeper_searchable(20000) \g /dev/null
select pg_temp.run(1000) \g /dev/null
select operator_server_put(:free, '{"plan": "pro"}') \g /dev/null
select keeper_searchable(20000) \g /dev/null
select pg_temp.jobs(:free) \g /dev/null
select is_empty(format('select * from guildlog.check(%s)', :free),
                'what is left out is in no other one');

-- what is not decided is carried on even there

select pg_temp.lapse(:free) \g /dev/null
select keeper_searchable(20000) \g /dev/null
select channels_patch(format('%s', (select token_id from token
            where guild_id = :free)), :free, 0::smallint, 1::smallint,
            '{"main_channel": "12"}') \g /dev/null
select pg_temp.send(:free, 3, 12) \g /dev/null
select pg_temp.again() \g /dev/null
select pg_temp.run() \g /dev/null
select is(count(*)::int, 3, 'what waits for its delivery stays')
  from log_entry where guild_id = :free
   and id < time_id(ms(now() - interval '11 days'));

-- one that is broken off

create temp table fifth as select pg_temp.all_seen() as seen;
select pg_temp.again() \g /dev/null
select pg_temp.fill() \g /dev/null
select name as broken from partitions('log_entry_next') \gset
select p.name as source, p.low as low, p.high as high
  from log_rewrite r join partitions('log_entry') p on p.name = r.sources[1]
\gset
delete from log_rewrite;
select rewrite_step(7) \g /dev/null
select hasnt_table('guildlog', :'broken', 'a table that is left goes');
select is(count(*)::int, 1, 'so do triggers, but those of the next one')
  from pg_trigger where tgname = 'log_change';
drop table log_entry_next;
select rewrite_step(7) \g /dev/null
select is_empty($$ select from log_rewrite $$,
                'without its table it ends');
select is_empty($$ select from pg_trigger where tgname = 'log_change' $$,
                'with its triggers');
select pg_temp.fill() \g /dev/null
alter table log_entry detach partition :source;
select rewrite_step(7) \g /dev/null
select hasnt_table('guildlog', 'log_entry_next', 'without a source too');
alter table log_entry attach partition :source
    for values from (:low) to (:high);
select pg_temp.run() \g /dev/null
select is(pg_temp.differs(seen, pg_temp.all_seen()), null,
          'the next one does it all') from fifth;

-- a table that somebody set aside is not taken for one

select name as aside, low, high from partitions('log_entry')
 where name ~ '[0-9]{8}_' order by low::bigint limit 1 \gset
alter table log_entry detach partition :aside;
select pg_temp.again() \g /dev/null
select pg_temp.run() \g /dev/null
select has_table('guildlog', :'aside', 'what was detached by hand stays');
drop table :aside;

-- it waits for who began before: soon again at first, then from time to time,
-- but for no vacuum any more

create or replace function transactions_here()
returns text[] language sql as $$ select '{2/3}'::text[] $$;
create or replace function rewrite_vacuumed(w log_rewrite)
returns boolean language sql as $$
    select w.step_at < now() - interval '10 minutes'
$$;
select pg_temp.again() \g /dev/null
select pg_temp.fill() \g /dev/null
update log_rewrite set step_at = now() - interval '11 minutes'
 where step = 'settle';
select is(rewrite_step(7), true, 'who began before is waited for');
update log_rewrite set step_at = now() - interval '10 seconds'
 where step = 'settle';
select is(rewrite_step(7), false, 'not at every moment');
create or replace function transactions_here()
returns text[] language sql as $$ select '{}'::text[] $$;
select rewrite_step(7) \g /dev/null
select is(count(*)::int, 0, 'then nothing else is')
  from log_rewrite where step = 'settle';
create or replace function rewrite_vacuumed(w log_rewrite)
returns boolean language sql as $$ select true $$;
select pg_temp.run() \g /dev/null

-- what is past keeping is dropped when all of it is

select partition_make('log_entry', 'log_entry_20200106_1',
                      day_id('2020-01-06')::text, day_id('2020-01-13')::text)
\g /dev/null
select partitions_expire() \g /dev/null
select hasnt_table('guildlog', 'log_entry_20200106_1', 'a week goes');
select is_empty(format($$
    select from generate_series(%s::bigint, %s::bigint, 1000000000000) i
     where not exists (select from partitions('log_entry') p
                        where i >= p.low::bigint and i < p.high::bigint)
       and not (i >= %s and i < %s)
$$, day_id((now() at time zone 'UTC')::date - 30), time_id(ms(now())),
    :low, :high), 'with no day of the last 30');
-- what waits for its delivery is not looked for among all that went before

create function pg_temp.looked()
returns bigint language sql as $$
    select sum(pg_stat_get_xact_blocks_fetched(i.indexrelid))::bigint
      from pg_index i join pg_class c on c.oid = i.indrelid
     where c.relname ~ '^lane_batch'
$$;

update lane_tail set tail = tail + 100000 where guild_id = :guild;
insert into lane_batch (guild_id, lane, seq_from, seq_to, message_id, done_at,
                        attempts, status)
select t.guild_id, t.lane, i, i, i, now() - interval '16 days', 1, 2
  from lane_tail t, lateral generate_series(t.tail - 99999, t.tail) i
 where t.guild_id = :guild;
select pg_temp.send(:guild, 300, 15) \g /dev/null
select pg_temp.release() \g /dev/null
select pg_temp.again() \g /dev/null
select pg_temp.looked() as before \gset
select pg_temp.run(50) \g /dev/null
select cmp_ok(pg_temp.looked() - :before, '<', 90000::bigint,
              'what waits is not looked for in all that was delivered');

-- its indexes are as small as they can be with room for late events

create function pg_temp.many(first int, step int)
returns void language sql as $$
    insert into log_entry (guild_id, id, arrival, channel_id, executor_id, bot,
                           type, doc)
    select 5, time_id(ms(now() - interval '12 days')) + i, i, i % 5, i % 7, 0,
           i % 3, '{"id":"' || i || '"'
      from generate_series(first, 20000, step) i
$$;

create function pg_temp.place()
returns regclass language sql as $$
    select tableoid::regclass from log_entry where guild_id = 5 limit 1
$$;

create function pg_temp.indexes()
returns setof text language sql as $$
    select regexp_replace(d.def, '^.* USING | WITH \([^)]*\)', '', 'g')
      from pg_index i
     cross join lateral pg_get_indexdef(i.indexrelid) d (def)
     where i.indrelid = pg_temp.place()
$$;

select pg_temp.many(1, 4) \g /dev/null
create temp table indexes as select pg_temp.indexes() as index;
select pg_temp.again() \g /dev/null
select pg_temp.run(500) \g /dev/null
select pg_indexes_size(pg_temp.place()) as size \gset
select pg_temp.place() as place \gset
reindex table :place;
select cmp_ok(:size::numeric, '<', pg_indexes_size(pg_temp.place()) * 1.04,
              'indexes made anew would take no less');
select set_eq('select pg_temp.indexes()', 'select index from indexes',
              'they are those that it had');
select pg_temp.many(2, 400) \g /dev/null
select cmp_ok(pg_indexes_size(pg_temp.place())::numeric, '<', :size * 1.1,
              'of a hundred entries one may come late');

insert into to_do values (pg_temp.place()::text);
select rewrite_step(1) \g /dev/null
select pg_temp.run(500) \g /dev/null
select cmp_ok(pg_indexes_size(pg_temp.place())::numeric, '>', :size * 1.1,
              'those of a week too large for one turn are made bit by bit');
select set_eq('select pg_temp.indexes()', 'select index from indexes',
              'and are all there, too');

-- a week with a bad row is left out, and others are rewritten: a constraint that
-- nothing was looked at for holds in the new table alone

delete from keeper;
select pg_temp.again() \g /dev/null
select pg_temp.place() as place \gset
select high::bigint from partitions('log_entry') where name = :'place' \gset
alter table log_entry add constraint bad check (guild_id <> 5) not valid;

create function pg_temp.turns()
returns text[] language plpgsql as $$
declare
    told   text[] := '{}';
    fault  text;
begin
    for i in 1 .. 400 loop
        fault := keeper_run('rewrite', 2000, true);
        told := told || array_remove(array[substr(fault, 1, 35)], null);
        exit when not exists (select from log_rewrite)
              and rewrite_waiting() = 0
              and not exists (select from rewrite_due());
    end loop;
    return told;
end $$;

select is(pg_temp.turns(), array[
           substr('23514 new row for relation "log_entry_', 1, 35),
           substr(format('what is before %s: 23514 new', id_day(:high)),
                  1, 35)], 'it fails, then it is told by its week');
select is(array_agg(p.guild_id), array[:high], 'that is left out')
  from keeper_parked p where p.task = 'rewrite';
select is(pg_temp.place()::text, :'place', 'and is as it was');
select is_empty($$ select from to_do t join partitions('log_entry') p
                     on p.name = t.name
                   where p.high::bigint > day_id(today() - 29)
                     and p.high::bigint <= day_id(today())
                     and p.name ~ '[0-9]{8}_'
                     and p.high::bigint not in
                         (select guild_id from keeper_parked) $$,
                'others are rewritten');
select is_empty($$ select from pg_trigger where tgname = 'log_change' $$,
                'nothing is left of it');
alter table log_entry drop constraint bad;
update keeper_parked set until = now();
select is(pg_temp.turns(), '{}', 'when it is mended');
select isnt(pg_temp.place()::text, :'place', 'it is rewritten, too');
select is(count(*)::int, 0, 'and left out no more') from keeper_parked;

-- which days become a week, and which a week becomes days

drop function rewrite_due();
alter function rewrite_due_truly() rename to rewrite_due;

create function pg_temp.days(first date, n int)
returns bigint[] language sql as $$
    select array_agg(day_id(first + i)) from generate_series(0, n) i
$$;

-- the partitions of the store are these, from the oldest one on: days that begin
create function pg_temp.store(variadic days date[])
returns void language plpgsql as $$
declare
    name  text;
begin
    for name in
        select p.name from partitions('log_entry') p
         where p.high::bigint <= day_id(today())
    loop
        execute format('drop table %I', name);
    end loop;

    for i in 1 .. cardinality(days) - 1 loop
        perform partition_make('log_entry', 'log_entry_' || i,
                               day_id(days[i])::text,
                               day_id(days[i + 1])::text);
    end loop;
end $$;

-- the Monday of a week that was over two days ago, or so many weeks before
create function pg_temp.monday(weeks int default 0)
returns date language sql as $$
    select date_trunc('week', today() - 9)::date - weeks * 7
$$;

select pg_temp.store(variadic array(select m + i from pg_temp.monday() m,
                                  generate_series(0, today() - m) i))
\g /dev/null
select results_eq('select low, high, bounds from rewrite_due()',
                  $$ select day_id(m), day_id(m + 7), pg_temp.days(m, 0)
                            || day_id(m + 7) from pg_temp.monday() m $$,
                  'days become a week two days after it');
select pg_temp.run() \g /dev/null
select is(count(*)::int, 1, 'which is one partition')
  from partitions('log_entry')
 where low::bigint = day_id(pg_temp.monday())
   and high::bigint = day_id(pg_temp.monday() + 7);
select is_empty('select from rewrite_due()', 'once');

select pg_temp.store(today() - 28, today() - 21, today() - 14) \g /dev/null
select is_empty('select from rewrite_due()', 'a week stays for weeks');
select pg_temp.store(today() - 29, today() - 22, today() - 15) \g /dev/null
select results_eq('select low, bounds from rewrite_due()',
                  $$ select day_id(today() - 29),
                            pg_temp.days(today() - 29, 7) $$,
                  'it becomes days three days before the first one goes');
select pg_temp.send(:guild, 5, d) from generate_series(20, 29) d \g /dev/null
select pg_temp.count(:guild) as entries \gset
select pg_temp.run() \g /dev/null
select is(count(*)::int, 7, 'each of them a partition')
  from partitions('log_entry')
 where high::bigint <= day_id(today() - 22)
   and high::bigint - low::bigint = day_id(today()) - day_id(today() - 1);
select is(pg_temp.count(:guild), :entries, 'with all entries');
select is_empty('select from rewrite_due()', 'which no week is made of');

select pg_temp.store(today() - 40, today() - 20) \g /dev/null
select pg_temp.count(:guild) as entries \gset
select pg_temp.send(:guild, 5, d) from unnest('{22,30,35}'::int[]) d
\g /dev/null
select results_eq('select low, high, bounds from rewrite_due()',
                  $$ select day_id(today() - 31), day_id(today() - 20),
                            pg_temp.days(today() - 31, 7)
                            || day_id(today() - 20) $$,
                  'what has more days loses those of a week at once');
select pg_temp.run() \g /dev/null
select is(pg_temp.count(:guild), :entries + 10, 'and what is past keeping');

select * from finish();
rollback;
