-- What is past keeping is gone everywhere: no table keeps a name, a reason or a
-- word of an entry that expired, and what is left stays as it was.

\ir ../days.psql
\ir ../segments.psql
select plan(12);

-- other files have servers of their own

delete from log_arrival where guild_id <> :guild;
delete from log_head where guild_id <> :guild;

-- the day that it is

create temp table passed as select 0 as days;
grant select on passed to public;
create or replace function today()
returns date language sql stable as $$
    select (now() at time zone 'UTC')::date + p.days from pg_temp.passed p
$$;
create or replace function day_now()
returns int language sql stable as $$
    select day_of(time_id(ms(now()))) + p.days from pg_temp.passed p
$$;
create or replace function search_oldest()
returns int language sql stable as $$
    select day_of(time_id(ms(now()))) - 30 + p.days from pg_temp.passed p
$$;

-- entries of so many days ago that say this word wherever there is a text; of
-- several, by turns
create function pg_temp.send(guild bigint, n int, days float8[],
    words text[])
returns void language sql as $$
    select record(guild, 0::smallint, jsonb_agg(jsonb_build_object(
               'event_id', gen_random_uuid(), 'type', (array[5, 17])[1 + i % 2],
               'timestamp', ms(now()) - (days[1 + i % cardinality(days)]
                                         * 86400000)::bigint + i,
               'executor', jsonb_build_object('id', '77', 'name',
                                              word || ' one ' || i),
               'target', jsonb_build_object('id', '78', 'name',
                                            word || ' two ' || i),
               'channel', jsonb_build_object('id', '88', 'name',
                                             word || ' three'),
               'role', word || ' role', 'name', word || ' name',
               'reason', word || ' ' || repeat('reason ', 9) || i,
               'content', word || 'content ' || i || ' ' || word || i,
               'contentAfter', word || 'after')))
      from generate_series(1, n) i
     cross join lateral (select words[1 + i % cardinality(words)]) w (word)
$$;

-- the tables that have it in any column
create function pg_temp.having(word text)
returns text language plpgsql as $$
declare
    name   text;
    found  boolean;
    names  text[] := '{}';
begin
    for name in
        select c.relname from pg_class c
         where c.relnamespace = 'guildlog'::regnamespace and c.relkind = 'r'
    loop
        execute format('select exists (select from %I t where t::text ~* $1)',
                       name)
           into found
          using word || '|' || encode(convert_to(word, 'UTF8'), 'hex');
        names := names || case when found then name end;
    end loop;

    return (select string_agg(n, ' ' order by n) from unnest(names) n
             where n is not null);
end $$;

-- the keeper's turns until all is done, and those of the module
create function pg_temp.keeper()
returns void language plpgsql as $$
declare
    task  text;
    turn  record;
    head  record;
begin
    foreach task in array '{partitions,blocks,searchable,expiry}'::text[] loop
        for i in 1 .. 1000 loop
            execute format('select * from keeper_%s(20000)', task) into turn;
            exit when not turn.more;
        end loop;
    end loop;

    for head in select s.guild_id from search_head s loop
        update search_head s set closed = 0, due_at = now()
         where s.guild_id = head.guild_id;
        perform pg_temp.jobs(head.guild_id), pg_temp.fill(head.guild_id);
    end loop;
end $$;

-- so many days have passed in all: what is there was recorded as long ago
create function pg_temp.pass(days int)
returns void language sql as $$
    select partition_make('log_arrival', d::date, d::date + 1)
      from generate_series(today() - 75, today() - 1, interval '1 day') d
     where to_regclass('guildlog.log_arrival_' || to_char(d, 'YYYYMMDD'))
           is null;
    update log_arrival a
       set recorded_at = a.recorded_at
                         - (pass.days - p.days) * interval '1 day'
      from pg_temp.passed p;
    update log_head h
       set since = h.since - (pass.days - p.days) * interval '1 day',
           due_at = '-infinity'
      from pg_temp.passed p;
    update pg_temp.passed set days = pass.days;
    select pg_temp.keeper();
$$;

\set gone :guild + 1
\set small :guild + 2
select operator_server_put(:gone, '{"plan": "pro"}'),
       operator_server_put(:small, '{"plan": "pro"}') \g /dev/null
select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null

-- 30 days ago, less a quarter of an hour if that is the same day
select 30 - least(0.01, (1 - extract(epoch from now()) % 86400 / 86400) / 2)
    as old \gset
select pg_temp.send(:guild, 34, array[:old, 0], '{oldmark, newmark}')
  from generate_series(1, 40) \g /dev/null
select pg_temp.send(:gone, 40, array[:old], '{oldmark}') \g /dev/null
select pg_temp.send(:small, 6, array[:old, 1], '{oldmark, newmark}')
    \g /dev/null
select pg_temp.pass(0) \g /dev/null

select is(pg_temp.having('oldmark')
          ~ '^log_arrival_\d+ log_block search_segment$', true,
          'a name is in entries and in the index of searches');
select is(pg_temp.having('newmark')
          ~ '^log_arrival_\d+ log_block search_segment$', true,
          'and so is a younger one');
select is(sum(n)::int, 723, 'the index has all of them')
  from search_segment where day < search_oldest() + 2;

select pg_temp.pass(1) \g /dev/null
select is(count(*)::int, 0, 'when a day is past the window')
  from search_segment where day < search_oldest();
select is(pg_temp.having('oldmark') ~ '^log_arrival_\d+ log_block$', true,
          'its names are in the entries alone');
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'of the others there is an index');
select pg_temp.pass(3) \g /dev/null
select is(count(*)::int, 0, 'when its entries are gone') from stored
 where id < kept_from();
select is(pg_temp.having('oldmark'), null,
          'no table has it, though it arrived three days ago');
select pg_temp.pass(5) \g /dev/null
select is(count(*)::int, 0, 'nothing is left of a server without entries')
  from search_segment where guild_id = :gone;
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'what is left is as it was');

-- what comes after it

select pg_temp.send(:guild, 200, '{0}', '{latermark}') \g /dev/null
select pg_temp.pass(5) \g /dev/null
select is(pg_temp.having('latermark')
          ~ '^log_arrival_\d+ log_block search_segment$', true,
          'what comes then is in its tables');
select pg_temp.pass(39) \g /dev/null
select is(pg_temp.having('newmark|latermark'), null, 'until it is gone as well');

select * from finish();
rollback;
