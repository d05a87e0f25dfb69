-- What is past keeping is gone everywhere: no table keeps a name, a reason or a
-- word of an entry that expired, however little of a segment of the index it
-- was, and what is left is found as before.

\ir ../days.psql
select plan(21);

-- so that a few entries make segments of every level, with marks and with bits
create or replace function search_run_size()
returns int language sql immutable as $$ select 4 $$;
create or replace function search_bits_from()
returns int language sql immutable as $$ select 96 $$;

-- the day that it is

create temp table passed as select 0 as days;
create or replace function today()
returns date language sql stable as $$
    select (now() at time zone 'UTC')::date + p.days from pg_temp.passed p
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

-- the keeper's turns until all is done
create function pg_temp.keeper()
returns void language plpgsql as $$
declare
    task  text;
    turn  record;
begin
    update order_round set day = today(), guild_id = null;

    foreach task in array '{partitions,searchable,search,expiry,searchable}'
                          ::text[] loop
        for i in 1 .. 1000 loop
            execute format('select * from keeper_%s(20000)', task) into turn;
            exit when not turn.more;
        end loop;
    end loop;
end $$;

create function pg_temp.pass(days int)
returns void language sql as $$
    update pg_temp.passed set days = pass.days;
    select pg_temp.keeper();
$$;

-- how many a search finds, and how many there are
create function pg_temp.found(guild bigint, word text)
returns bigint language plpgsql as $$
declare
    q  constant log_query := query_of(guild, 0::smallint, 0, word, null, null,
                                      null, null, null, null, null);
begin
    return (select sum(c.n) from search_page(q, null, q.high, 10) s
             cross join lateral unnest(s.counts) c);
end $$;

create function pg_temp.levels(guild bigint)
returns text language sql as $$
    select string_agg(distinct s.level::text, ' ' order by s.level::text)
      from search_segment s where s.guild_id = guild
$$;

create function pg_temp.days(guild bigint)
returns bigint language sql as $$
    select max((s.high - s.low) / (day_id('2026-01-02') - day_id('2026-01-01')))
      from search_segment s where s.guild_id = guild
$$;

\set gone :guild + 1
\set small :guild + 2
select operator_server_put(:gone, '{"plan": "pro"}'),
       operator_server_put(:small, '{"plan": "pro"}') \g /dev/null
select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
select pg_temp.send(:guild, 1, '{0}', '{first}') \g /dev/null
select search_begin(), search_index(60000) \g /dev/null
select pg_temp.send(:guild, 34, '{29.99, 0}', '{oldmark, newmark}')
  from generate_series(1, 40) \g /dev/null
select pg_temp.send(:gone, 40, '{29.99}', '{oldmark}') \g /dev/null
select pg_temp.send(:small, 6, '{29.99, 1}', '{oldmark, newmark}') \g /dev/null
select pg_temp.keeper() \g /dev/null
select search_index(60000) \g /dev/null

select is(pg_temp.levels(:guild), '0 1 2', 'an index of every level');
select is(pg_temp.found(:guild, 'oldmark'), 680::bigint, 'finds names');
select is(pg_temp.found(:guild, 'oldmarkcontent'), 680::bigint, 'and words');
select is(pg_temp.found(:gone, 'oldmark'), 40::bigint, 'of a server');
select is(pg_temp.found(:small, 'oldmark'), 3::bigint, 'of each');
select is(pg_temp.having('oldmark') ~ '^log_entry.* search_common search_string '
          'search_term$', true, 'which is in its tables');

select pg_temp.pass(1) \g /dev/null
select is(pg_temp.found(:guild, 'oldmark'), 680::bigint,
          'as long as it is kept');
select pg_temp.pass(3) \g /dev/null
select is(count(*)::int, 0, 'when its entries are gone') from log_entry
 where id < kept_from();
select is(pg_temp.having('oldmark'), null, 'no table has it');
select is(pg_temp.found(:guild, 'newmark'), 680::bigint, 'names are found');
select is(pg_temp.found(:guild, 'newmarkcontent'), 680::bigint, 'words too');
select is(pg_temp.found(:guild, 'newmark17'), 40::bigint, 'rare ones too');
select is(pg_temp.found(:guild, 'one 17'), 40::bigint, 'and parts of names');
select is(pg_temp.found(:small, 'newmark'), 3::bigint, 'in a small server');
select is(count(*)::int, 0, 'nothing is left of a server without entries')
  from search_string where guild_id = :gone;

-- a segment is not of so many days that it would be looked through every day

\set slow :guild + 3
select operator_server_put(:slow, '{"plan": "pro"}') \g /dev/null
select pg_temp.send(:slow, 4, array[29 - i / 30.0], '{slowmark}')
  from generate_series(1, 600) i \g /dev/null
select search_begin(), search_index(60000) \g /dev/null
select cmp_ok(pg_temp.days(:slow), '<=', 8::bigint, 'a segment has few days');
select is(pg_temp.levels(:slow), '0 1', 'though it is not small for that');
select is(pg_temp.found(:slow, 'slowmark'), 2400::bigint, 'nothing is missed');

-- what comes after it

select pg_temp.send(:guild, 200, '{0}', '{latermark}') \g /dev/null
select search_index(60000) \g /dev/null
select is(pg_temp.found(:guild, 'latermark'), 200::bigint,
          'what comes then is found');
select is(pg_temp.found(:guild, 'newmark'), 680::bigint, 'and what was');
select pg_temp.pass(34) \g /dev/null
select is(pg_temp.having('newmark|latermark'), null, 'until it is gone as well');

select * from finish();
rollback;
