-- A clock that was wrong for hours, ahead or behind, and was set right: nothing
-- is lost, and nothing waits until the wrong time has come.

\ir ../setup.psql
select plan(21);

create or replace function search_run_size()
returns int language sql immutable as $$ select 4 $$;

-- entries with that word
create function pg_temp.send(guild bigint, n int, word text)
returns void language sql as $$
    select record(guild, 0::smallint, jsonb_agg(jsonb_build_object(
               'event_id', word || i, 'type', 5, 'content', word || ' ' || i)))
      from generate_series(1, n) i
$$;

-- how many of them a search finds
create function pg_temp.found(guild bigint, word text)
returns int language sql as $$
    select ((p.doc || '}')::json ->> 'total')::int
      from token t
     cross join lateral logs_page(t.token_id, t.guild_id, 0::smallint,
           1::smallint, word, null, null, null, null, null, null, null, null,
           10, 9223372036854775807) p
     where t.guild_id = guild and t.permissions = 1 limit 1
$$;

-- all that the keeper does for the index of that server
create function pg_temp.work(guild bigint)
returns void language plpgsql as $$
begin
    while search_work(guild, 0::smallint) loop
    end loop;
end $$;

-- what was recorded, and seen, up to now was so by a clock that was wrong by
-- that much
create function pg_temp.wrong(guild bigint, way interval)
returns void language sql as $$
    update search_head s set seen_at = seen_at + way where s.guild_id = guild;
    update log_event k set recorded_at = recorded_at + way
     where k.guild_id = guild
$$;

select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
select pg_temp.send(:guild, 40, 'early') \g /dev/null
select search_begin(), search_begin() \g /dev/null
select pg_temp.work(:guild) \g /dev/null
select is(pg_temp.found(:guild, 'early'), 40, 'a search');

-- it was ahead

select pg_temp.wrong(:guild, '3 hours') \g /dev/null
select pg_temp.send(:guild, 40, 'ahead') \g /dev/null
select is(pg_temp.found(:guild, 'ahead'), 40,
          'after a clock was ahead, what came then is found');
select pg_temp.work(:guild) \g /dev/null
select is(pg_temp.found(:guild, 'ahead'), 40, 'also after the keeper''s turn');
select is(pg_temp.found(:guild, 'early'), 40, 'so is what came before');
select is(sum(cardinality(ids))::bigint, h.arrival, 'each is in it once')
  from search_place p join search_head h using (guild_id, bot)
 where guild_id = :guild and bot = 0 group by h.arrival;

-- it was behind, after it was right

select pg_temp.send(:guild, 40, 'behind') \g /dev/null
update log_event set recorded_at = recorded_at - interval '3 hours'
 where guild_id = :guild and event_id like 'behind%';
select is(pg_temp.found(:guild, 'behind'), 40,
          'what came by a clock that was behind is found');
select pg_temp.work(:guild) \g /dev/null
select is(pg_temp.found(:guild, 'behind'), 40, 'also after the keeper''s turn');

-- by days: the events may be gone

select pg_temp.wrong(:guild, '5 days') \g /dev/null
select pg_temp.send(:guild, 40, 'later') \g /dev/null
delete from log_event where guild_id = :guild and event_id like 'later%';
select is(pg_temp.found(:guild, 'later'), 40,
          'after days ahead the events are not relied on');
select search_index(5000) \g /dev/null
select is(pg_temp.found(:guild, 'later'), 40, 'nor by the keeper');
select is(seen_at < now() + interval '1 hour', true, 'and it is right again')
  from search_head where guild_id = :guild and bot = 0;

-- what was held is held again by a clock that went back

select pg_temp.wrong(:guild, '3 hours') \g /dev/null
insert into held_entry (guild_id, bot, id, until, released)
select guild_id, bot, id, now() + interval '1 hour', true from log_entry
 where guild_id = :guild and arrival = 50;
select pg_temp.work(:guild) \g /dev/null
select is(pg_temp.found(:guild, 'ahead') || ' ' || pg_temp.found(:guild, 'later'),
          '40 40', 'what was in the index is not put in twice');
delete from held_entry where guild_id = :guild;
select pg_temp.work(:guild) \g /dev/null

-- the same event, once before the clock was set and once after

update log_event set recorded_at = now() + interval '3 hours'
 where guild_id = :guild and event_id = 'ahead1';
select is(record(:guild, 0::smallint,
                 '[{"event_id": "ahead1", "type": 5}]') ->> 'duplicates',
          '1', 'an event that a clock ahead recorded is known');

-- what is held, and the requests that hold it

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select active_ignore_executors(:me, '{"id": "77", "count": 9}') \g /dev/null
select pg_temp.send(:guild, 4, 'held') \g /dev/null
update held_entry set until = until + interval '3 hours'
 where guild_id = :guild;
update active_ignore set requested_at = requested_at + interval '3 hours',
       expires_at = expires_at + interval '3 hours' where guild_id = :guild;
select keeper_requests(20000) \g /dev/null
select is(count(*)::int, 0, 'nothing is held for hours')
  from held_entry where guild_id = :guild
   and until > clock_timestamp() + interval '5 seconds';
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
           1::smallint, 'sent', null, null, null, null, null, null, null,
           null, 10, 9223372036854775807) p
     where t.guild_id = guild and t.permissions = 1 and p.more is null
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
update log_entry set seq = :tail + 5000
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

-- what fell behind all partitions

insert into log_event values (:guild, 90000, null, now() - interval '60 days',
                              0, 'old');
select is(tableoid::regclass::text, 'log_event_default', 'an event of long ago')
  from log_event where guild_id = :guild and event_id = 'old';
drop table log_entry_past;
insert into log_entry (guild_id, id, arrival, bot, type, doc)
values (:guild, day_id(today() - 40), 90001, 0, 5, '{"id":"1"');
update order_round set day = today(), guild_id = null;
select keeper_expiry(20000) \g /dev/null
select is(count(*)::int, 0, 'goes') from log_event
 where guild_id = :guild and event_id = 'old';
select is(count(*)::int, 0, 'so does an entry') from log_entry
 where guild_id = :guild and arrival = 90001;

select * from finish();
rollback;
