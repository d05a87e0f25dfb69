-- Checkpoints: what they say is what a count of the entries says, whatever
-- came late, was taken back or was never looked at.

\ir ../setup.psql
select plan(42);

-- "right", or what is not: every checkpoint, with what it is short of, against
-- the entries up to it
create function pg_temp.checked(guild bigint)
returns text language sql as $$
    with happened as (
        select e.type + 1 as place, e.id, 1 as n, null::int as cum
          from log_entry e
         where e.guild_id = guild and e.bot = 0
         union all
        select x.place, x.id, -x.n, null
          from log_correction x
         where x.guild_id = guild and x.bot = 0
         union all
        select u.place, c.last_id, null, u.cum
          from log_checkpoint c
         cross join unnest(c.cum) with ordinality u (cum, place)
         where c.guild_id = guild and c.bot = 0
    )
    select coalesce(min(format('wrong at %s of %s', w.id, w.place)), 'right')
      from (select h.*, sum(h.n) over (partition by h.place
                                       order by h.id) as sum
              from happened h) w
     where w.cum <> coalesce(w.sum, 0)
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

create function pg_temp.owed(guild bigint)
returns int language sql as $$
    select count(*)::int from log_correction c where c.guild_id = guild
$$;

-- "right", or what is not: the totals of pages of a type from behind each of the
-- checkpoints on
create function pg_temp.told(me text, type int)
returns text language plpgsql as $$
declare
    below  bigint;
    got    bigint;
    want   bigint;
begin
    for below in
        select c.last_id + 1 from log_checkpoint c order by 1
    loop
        execute format('select (doc || ''}'')::json ->> ''total'' from '
                       'logs_page(%s, null, null, null, array[$1], 1, $2) '
                       'limit 1', me)
           into got using told.type, below;
        want := (select count(*) from log_entry e
                  where e.type = told.type and e.id < below);

        if got <> want then
            return format('%s instead of %s', got, want);
        end if;
    end loop;

    return 'right';
end $$;

select ms(now()) - 3600000 as at \gset
select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
update log_head set arrival = 0, counted = 0;
delete from log_entry where guild_id = :guild;

select pg_temp.send(:guild, 127, :at, 'a') \g /dev/null
select is(checkpoints_make(), 0, 'there is none for fewer than 128');
select pg_temp.send(:guild, 1, :at + 1000, 'b') \g /dev/null
select is(checkpoints_make(), 2, 'two for 128');
select is(pg_temp.checked(:guild), 'right', 'it counts them');
select is(checkpoints_make(), 0, 'and it is made once');
select is(array_agg(array_length(cum, 1))::text, '{102,102}', 'by every type')
  from log_checkpoint where guild_id = :guild;

select pg_temp.send(:guild, 1000, :at + 2000, 'c') \g /dev/null
select is(checkpoints_make(), 15, 'fifteen for 1000 more');
select is(pg_temp.checked(:guild), 'right', 'which go on from it');
select is(array_agg((select sum(n)::int from unnest(cum) n) order by last_id),
          array(select generate_series(64, 1088, 64)), 'each 64 after the last')
  from log_checkpoint where guild_id = :guild;
select is_empty(format($$
    select c.last_id
      from log_checkpoint c
     where c.guild_id = %s
       and c.sums <> array(select sum(c.cum[t.id + 1])::int from log_type t
                            group by t.category order by t.category)
$$, :guild), 'and by every category');

-- late events

select pg_temp.send(:guild, 1, :at + 2300, 'd') \g /dev/null
select is(pg_temp.made(:guild), 17, 'a late event leaves those above it');
select is(pg_temp.owed(:guild), 1, 'and says what they are short of');
select is(pg_temp.checked(:guild), 'right', 'which makes them right');
select pg_temp.send(:guild, 10, :at - 5000000, 'e'),
       pg_temp.send(:guild, 10, :at - 5000010, 'E') \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'before all of them as well');
select is(corrections_fold(1), 1, 'they get it one by one');
select is(pg_temp.checked(:guild), 'right', 'the others stay right');
select is(corrections_fold(2), 2, 'from where it was left');
select is(pg_temp.checked(:guild), 'right', 'to where it is left');
select pg_temp.send(:guild, 3, :at + 100, 'x') \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'also when more come meanwhile');
select count(corrections_fold()) from generate_series(1, 3) \g /dev/null
select is(pg_temp.owed(:guild), 0, 'at last nothing is owed');
select is(pg_temp.checked(:guild), 'right', 'to any of them');
select is(checkpoints_make(), 0, 'and there is nothing to make');

select pg_temp.send(:guild, 1000, :at + 500, 'y') \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'a thousand late ones');
select corrections_fold() \g /dev/null
select is(max(n) <= 128, true, 'do not make the ways long')
  from (select count(e.id) as n from log_checkpoint c
          join lateral (select max(b.last_id) as last_id
                          from log_checkpoint b
                         where b.guild_id = c.guild_id
                           and b.last_id < c.last_id) b on true
          join log_entry e on e.guild_id = c.guild_id
           and e.id > b.last_id and e.id <= c.last_id
         where c.guild_id = :guild
         group by c.last_id) w;
select is(pg_temp.checked(:guild), 'right', 'and all is right again');

-- what is too new

select pg_temp.send(:guild, 600, ms(clock_timestamp()) - 2000, 'f')
\g /dev/null
select checkpoints_make() \g /dev/null
select is(max(last_id) < time_id(ms(clock_timestamp()) - 9000), true,
          'entries younger than 10 s are left for later')
  from log_checkpoint where guild_id = :guild;

delete from log_entry
 where guild_id = :guild and id > time_id(ms(now()) - 60000);

-- the budget

select counted_forget(:guild) \g /dev/null
select is(checkpoints_make(512), 8, 'no more is looked at than is allowed');
select is(checkpoints_make(512), 8, 'and the next call goes on');
select is(pg_temp.checked(:guild), 'right', 'to the same end');

-- entries that are taken back

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select counted_forget(:guild) \g /dev/null
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
select corrections_fold() \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'and are repaired');

-- what is counted by them

select options_patch(:me, '{"active_ignore": false}') \g /dev/null
select pg_temp.send(:guild, 600, :at + 10000, 'k') \g /dev/null
select checkpoints_make() \g /dev/null
select record(:guild, 0::smallint, jsonb_build_array(jsonb_build_object(
           'event_id', 'alone', 'type', 50, 'timestamp', :at + 10100)))
\g /dev/null
select is(pg_temp.told(:'me', 50), 'right',
          'pages count one of a type that came late');
select corrections_fold_of(:guild, 0::smallint, 2) \g /dev/null
select is(pg_temp.told(:'me', 50), 'right',
          'also where some of the checkpoints know it');
select count(corrections_fold()) from generate_series(1, 5) \g /dev/null
select is(pg_temp.told(:'me', 50), 'right', 'and where all do');

select array_agg(id) as some from log_entry
 where guild_id = :guild and id % 3 = 0 \gset
select entries_remove(:guild, 0::smallint, :'some') \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'a third taken back');
select pg_temp.send(:guild, 600, :at + 20000, 'm') \g /dev/null
select checkpoints_make() \g /dev/null
select is(pg_temp.checked(:guild), 'right', 'and more behind them');
select count(corrections_fold()) from generate_series(1, 9) \g /dev/null
select is(pg_temp.owed(:guild), 0, 'what they owe');
select is(pg_temp.checked(:guild), 'right', 'is made up for');

-- a longer window counts anew

select counted_forget(:guild) \g /dev/null
select is(pg_temp.made(:guild) + pg_temp.owed(:guild), 0, 'no count is left');
select checkpoints_make() \g /dev/null
select is(pg_temp.made(:guild) > 0, true, 'they are made again');
select is(pg_temp.checked(:guild), 'right', 'with what there is');

select * from finish();
rollback;
