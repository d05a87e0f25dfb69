-- Checkpoints: what they say is what a count of the entries says, whatever
-- came late, was taken back or was never looked at.

\ir setup.psql
select plan(22);

-- "right", or what is not: every checkpoint against the entries up to it
create function pg_temp.checked(guild bigint)
returns text language sql as $$
    select coalesce(min('wrong at ' || c.last_id), 'right')
      from log_checkpoint c
     cross join generate_series(0, 101) t
     where c.guild_id = guild and c.bot = 0
       and c.cum[t + 1] <> (select count(*) from log_entry e
                             where e.guild_id = guild and e.bot = 0
                               and e.id <= c.last_id and e.type = t)
$$;

create function pg_temp.send(guild bigint, n int, at bigint, name text)
returns void language sql as $$
    select record(guild, 0::smallint, jsonb_agg(jsonb_build_object(
               'event_id', name || i, 'type', i % 102,
               'timestamp', at + i)))
      from generate_series(1, n) i
$$;

create function pg_temp.made(guild bigint)
returns int language sql as $$
    select count(*)::int from log_checkpoint c where c.guild_id = guild
$$;

select ms(now()) - 3600000 as at \gset
select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
update log_head set counted = arrival;
delete from log_entry where guild_id = :guild;

select pg_temp.send(:guild, 255, :at, 'a') \g /dev/null
select is(checkpoints_make(), 0, 'there is none for fewer than 256');
select pg_temp.send(:guild, 1, :at + 1000, 'b') \g /dev/null
select is(checkpoints_make(), 1, 'one for 256');
select is(pg_temp.checked(:guild), 'right', 'it counts them');
select is(checkpoints_make(), 0, 'and it is made once');
select is(array_length(cum, 1), 102, 'by every type')
  from log_checkpoint where guild_id = :guild;

select pg_temp.send(:guild, 1000, :at + 2000, 'c') \g /dev/null
select is(checkpoints_make(), 3, 'three for 1000 more');
select is(pg_temp.checked(:guild), 'right', 'which go on from it');
select is(array_agg((select sum(n) from unnest(cum) n) order by last_id)::text,
          '{256,512,768,1024}', 'each 256 after the last')
  from log_checkpoint where guild_id = :guild;

-- late events

select pg_temp.send(:guild, 1, :at + 2300, 'd') \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'a late event finds none above');
select is(pg_temp.made(:guild), 2, 'but those below stay');
select checkpoints_make() \g /dev/null
select is(pg_temp.made(:guild), 4, 'they are made again');
select is(pg_temp.checked(:guild), 'right', 'with it');
select pg_temp.send(:guild, 1, :at - 5000000, 'e') \g /dev/null
select is(pg_temp.made(:guild), 0, 'before all of them');
select checkpoints_make() \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'as well');

-- what is too new

select pg_temp.send(:guild, 600, ms(clock_timestamp()) - 2000, 'f')
\g /dev/null
select checkpoints_make() \g /dev/null
select is(max(last_id) < time_id(ms(clock_timestamp()) - 9000), true,
          'what is not 10 s old is left for later')
  from log_checkpoint where guild_id = :guild;

-- the budget

delete from log_checkpoint where guild_id = :guild;
update log_head set counted = 0 where guild_id = :guild;
select is(checkpoints_make(512), 2, 'no more is looked at than is allowed');
select is(checkpoints_make(512), 2, 'and the next call goes on');
select is(pg_temp.checked(:guild), 'right', 'to the same end');

-- entries that are taken back

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
delete from log_checkpoint where guild_id = :guild;
update log_head set counted = 0 where guild_id = :guild;
select record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', 'h' || i, 'type', 7, 'timestamp', :at + 100 * i,
           'executor', '{"id": "77"}'::jsonb)))
  from generate_series(1, 10) i \g /dev/null
select checkpoints_make() \g /dev/null
select is(pg_temp.made(:guild) > 0, true, 'held entries are counted');
select active_ignore_executors(:me, '{"id": "77", "count": 5}') \g /dev/null
select is(count(*)::int, 5, 'five are taken back')
  from log_entry where guild_id = :guild and executor_id = 77;
select is(pg_temp.checked(:guild), 'right', 'the checkpoints know');
select checkpoints_make() \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'and are made again');

select * from finish();
rollback;
