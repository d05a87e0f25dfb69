-- A clock that was wrong for hours, ahead or behind, and was set right: nothing
-- is lost, and nothing waits until the wrong time has come.

\ir ../setup.psql
\ir ../segments.psql
select plan(16);

-- entries with that word
create function pg_temp.send(guild bigint, n int, word text)
returns void language sql as $$
    select record(guild, 0::smallint, jsonb_agg(jsonb_build_object(
               'event_id', word || i, 'type', 5, 'content', word || ' ' || i)))
      from generate_series(1, n) i
$$;

-- the jobs of the index of searches as of the next day; whether it has then all
-- that arrived, or knows where it is
create function pg_temp.holds(guild bigint)
returns boolean language plpgsql as $$
begin
    perform keeper_searchable(20000);
    update search_head s set closed = 0, due_at = now()
     where s.guild_id = guild;
    perform pg_temp.jobs(guild);
    return not exists (select from guildlog.check(guild))
       and exists (select from search_head s
                     join log_head h on h.guild_id = guild and h.bot = s.bot
                    where s.guild_id = guild and s.arrival = h.arrival
                      and s.back_id = 0 and s.due_at <= search_daily(guild));
end $$;

create function pg_temp.wrong(guild bigint, way interval)
returns void language sql as $$
    update log_arrival k set recorded_at = recorded_at + way
     where k.guild_id = guild;
    update log_head h set last_at = last_at + way
     where h.guild_id = guild
$$;

select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
select pg_temp.send(:guild, 40, 'early') \g /dev/null
select is(pg_temp.holds(:guild), true, 'an index of searches');

-- it was ahead

select pg_temp.wrong(:guild, '3 hours') \g /dev/null
select pg_temp.send(:guild, 40, 'ahead') \g /dev/null
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'after a clock was ahead, what came then is looked at');
select is(pg_temp.holds(:guild), true, 'and put into the index');

-- it was behind, after it was right

select pg_temp.send(:guild, 40, 'behind') \g /dev/null
update log_arrival a
   set recorded_at = greatest(recorded_at - interval '3 hours', h.since)
  from log_head h
 where a.guild_id = :guild and event_id like 'behind%'
   and h.guild_id = :guild and h.bot = a.bot;
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'what came by a clock that was behind is looked at');
select is(pg_temp.holds(:guild), true, 'and put into the index');

-- by days: the rows are gone before the index came to them

select pg_temp.wrong(:guild, '5 days') \g /dev/null
select pg_temp.send(:guild, 40, 'later') \g /dev/null
drop table log_arrival_past;
select partition_make('log_arrival', today() - i, today() - i + 1)
  from generate_series(1, 6) i
 where to_regclass('guildlog.log_arrival_'
                   || to_char(today() - i, 'YYYYMMDD')) is null
\g /dev/null
update log_arrival set recorded_at = now() - interval '5 days'
 where guild_id = :guild and event_id like 'later%';
update log_head set since = '-infinity' where guild_id = :guild;
select partition_drop(20000) from generate_series(1, 5) \g /dev/null
select cmp_ok(count(*)::int, '>', 0,
              'rows that a clock took for old ones stay until blocks are made')
  from log_arrival where guild_id = :guild and event_id like 'later%';
select block_make(:guild, 0::smallint) \g /dev/null
select partition_drop(20000) from generate_series(1, 5) \g /dev/null
select is(count(*)::int, 0, 'then they go')
  from log_arrival where guild_id = :guild and event_id like 'later%';
select is(format, 0::smallint, 'and nobody relies on them')
  from search_head where guild_id = :guild and bot = 0;
select is(pg_temp.holds(:guild), true, 'the index is made without them');

-- the same event, once before the clock was set and once after

update log_arrival set recorded_at = now() + interval '3 hours'
 where guild_id = :guild and event_id = 'ahead1';
select is(record(:guild, 0::smallint,
                 '[{"event_id": "ahead1", "type": 5}]') ->> 'duplicates',
          '1', 'an event that a clock ahead recorded is known');

-- what is held, and the requests that hold it

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select active_ignore_executors(:me, '{"id": "77", "count": 9}') \g /dev/null
select pg_temp.send(:guild, 4, 'held') \g /dev/null
update log_arrival set held_to = held_to + interval '3 hours'
 where guild_id = :guild;
update active_ignore set requested_at = requested_at + interval '3 hours',
       expires_at = expires_at + interval '3 hours' where guild_id = :guild;
select keeper_requests(20000) \g /dev/null
select is(count(*)::int, 0, 'nothing is held for hours')
  from log_arrival where guild_id = :guild
   and held_to > clock_timestamp() + interval '5 seconds';
select is(record(:guild, 0::smallint, '[{"event_id": "x", "type": 5,
              "executor": {"id": "77"}}]') ->> 'recorded',
          '1', 'no request hides anything for hours');
select options_patch(:me, '{"active_ignore": false}') \g /dev/null

-- what became of an entry was decided before it happened

select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select pg_temp.send(:guild, 4, 'sent') \g /dev/null
select lane from lane where guild_id = :guild and channel_id = 10 \gset
select tail from lane_tail where guild_id = :guild and lane = :lane \gset
insert into lane_batch
values (:guild, :lane, 1, :tail, 1001, now() - interval '3 hours', 1, 2, null);
update lane_head set head = :tail, upto = :tail
 where guild_id = :guild and lane = :lane;

create function pg_temp.sent(guild bigint)
returns text language sql as $$
    select string_agg(distinct p.status || ' ' || p.message_id, ',')
      from token t
     cross join lateral logs_page(t.token_id, t.guild_id, 0::smallint,
           1::smallint, null, null, null, '{5}', 1000, 9223372036854775807) p
     where t.guild_id = guild and t.permissions = 1 and p.doc like '%"sent %'
$$;

select is(pg_temp.sent(:guild), 'delivered 1001',
          'what was delivered is said to be');
insert into lane_batch
values (:guild, :lane, :tail + 5000, :tail + 5000, 1002,
        now() - interval '3 hours', 1, 2, null);
update lane_tail set tail = :tail + 5000
 where guild_id = :guild and lane = :lane;
update lane_head set head = :tail + 5000, upto = :tail + 5000
 where guild_id = :guild and lane = :lane;
update log_arrival set seq = :tail + 5000
 where guild_id = :guild and lane = :lane and seq = :tail;
select is(pg_temp.sent(:guild), 'delivered 1001,delivered 1002',
          'also of entries far from each other');

-- the keeper's tasks

update keeper set due_at = clock_timestamp() + interval '5 minutes';
insert into keeper (task, done_at, due_at)
select task, '-infinity', clock_timestamp() + interval '5 minutes'
  from keeper_tasks() on conflict do nothing;
select is(keeper_next(), null, 'a task waits for its turn');
update keeper set due_at = clock_timestamp() + interval '3 hours'
 where task = 'search';
select is(keeper_next(), 'search', 'but not for hours');

select * from finish();
rollback;
