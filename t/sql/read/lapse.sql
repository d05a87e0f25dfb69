-- A plan that gets smaller hides at once and deletes after 7 days: an upgrade
-- within them shows everything again, by the same index of searches.

\ir ../days.psql
\ir ../segments.psql
select plan(20);

create function pg_temp.send(guild bigint, n int, days float8)
returns void language sql as $$
    select record(guild, 0::smallint, jsonb_agg(jsonb_build_object(
               'event_id', gen_random_uuid(), 'type', 7,
               'name', 'name' || i, 'content', 'word' || i,
               'timestamp', ms(now()) - (days * 86400000)::bigint + i)))
      from generate_series(1, n) i
$$;

-- all turns of the keeper, and all blocks that there are to be
create function pg_temp.keeper()
returns void language plpgsql as $$
declare
    turn  record;
begin
    for i in 1 .. 1000 loop
        select * into turn from keeper_searchable(20000);
        exit when not turn.more;
    end loop;

    perform pg_temp.jobs(900000000000000001);
    update log_head h set due_at = '-infinity'
     where h.guild_id = 900000000000000001 and h.arrival > h.blocked
        or h.due_at > clock_timestamp();

    for i in 1 .. 1000 loop
        select * into turn from keeper_blocks(20000);
        exit when not turn.more;
    end loop;
end $$;

-- what a reader sees: the head, then the entries
create function pg_temp.seen(guild bigint)
returns text[] language sql as $$
    select array_agg(case when p.more is null then p::text
                          else (p.doc || '}')::jsonb::text end)
      from token t
     cross join lateral logs_page(t.token_id, t.guild_id, 0::smallint,
           1::smallint, null, null, null, null, 10000,
           9223372036854775807) p
     where t.guild_id = guild and t.permissions = 1
$$;

create function pg_temp.total(guild bigint)
returns text language sql as $$
    select (regexp_match((pg_temp.seen(guild))[1], '"total": (\d+)'))[1]
$$;

-- which segments there are, and how many of them a search reads
create function pg_temp.index(guild bigint)
returns text language sql as $$
    select string_agg(s.key::text, ' ' order by s.key)
      from search_segment s where s.guild_id = guild
$$;

create function pg_temp.reads(guild bigint)
returns int language sql as $$
    select count(o.day)::int
      from token t
     cross join lateral search_open(t.token_id, t.guild_id, 0::smallint,
           1::smallint, null, null, null) o
     where t.guild_id = guild and t.permissions = 1
$$;

create function pg_temp.plan(guild bigint, plan text)
returns void language sql as $$
    select operator_server_put(guild, jsonb_build_object('plan', plan))
$$;

select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
select pg_temp.send(:guild, 60, d) from generate_series(0.01, 20) d
\g /dev/null
select pg_temp.keeper() \g /dev/null
create function pg_temp.digest(guild bigint)
returns text language sql as $$
    select md5(pg_temp.seen(guild)::text)
$$;

create temp table before as
    select pg_temp.digest(:guild) as page, pg_temp.index(:guild) as index;
select is(index is not null, true, 'there is an index') from before;

-- it lapses, and the keeper has all the time it wants

select pg_temp.plan(:guild, 'pro_lite') \g /dev/null
select cmp_ok(pg_temp.total(:guild)::int, '<', 70, 'a smaller plan hides');
select cmp_ok(pg_temp.reads(:guild), '<=', 2, 'from search, too');
select pg_temp.keeper() \g /dev/null
select pg_temp.plan(:guild, 'free'), pg_temp.keeper() \g /dev/null
select pg_temp.plan(:guild, 'pro') \g /dev/null
select is(pg_temp.digest(:guild), page, 'an upgrade shows everything')
  from before;
select is(pg_temp.index(:guild), index, 'the index that there was')
  from before;
select cmp_ok(pg_temp.reads(:guild), '>=', 20, 'is read again');
select pg_temp.plan(:guild, p), pg_temp.keeper()
  from unnest('{free,pro,pro_lite,pro,free,free}'::text[]) p \g /dev/null
select is(pg_temp.index(:guild), index, 'however often it changes')
  from before;
select pg_temp.plan(:guild, 'pro') \g /dev/null
select is(pg_temp.digest(:guild), page, 'nothing is lost') from before;

-- another change of the server begins no new days

select pg_temp.plan(:guild, 'free') \g /dev/null
update server set lapsed_at = now() - interval '6 days'
 where guild_id = :guild;
select pg_temp.plan(:guild, 'pro_lite') \g /dev/null
select operator_server_put(:guild, '{"name": "x"}') \g /dev/null
select pg_temp.keeper() \g /dev/null
select is(lapsed_at, now() - interval '6 days', 'six days are not enough')
  from server where guild_id = :guild;
select is(pg_temp.index(:guild), index, 'for the index either') from before;

-- a clock that was ahead

update server set lapsed_at = now() + interval '300 days'
 where guild_id = :guild;
select pg_temp.keeper() \g /dev/null
select is(lapsed_at, now(), 'no time to come is waited for')
  from server where guild_id = :guild;
select is(pg_temp.index(:guild), index, 'from now on it is seven days')
  from before;

-- seven days

update server set lapsed_at = now() - interval '7 days 1 minute'
 where guild_id = :guild;
select count(*) as entries from stored where guild_id = :guild \gset
select pg_temp.keeper() \g /dev/null
select is(pg_temp.index(:guild), null, 'after seven days the index goes');
select is(count(*)::int, 0, 'all of it') from search_segment
 where guild_id = :guild;
select cmp_ok(count(*), '<', :entries::bigint, 'and so do entries')
  from stored where guild_id = :guild;
select cmp_ok(count(*), '>=', 60::bigint, 'but those of a day')
  from stored where guild_id = :guild;
select pg_temp.plan(:guild, 'pro') \g /dev/null
select is(pg_temp.total(:guild), count(*)::text,
          'an upgrade shows what is left')
  from stored where guild_id = :guild;
select pg_temp.keeper() \g /dev/null
select is(pg_temp.total(:guild), count(*)::text, 'exactly')
  from stored where guild_id = :guild;
select is(pg_temp.index(:guild) is not null, true, 'with an index of its own');
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'which has what is left');

select * from finish();
rollback;
