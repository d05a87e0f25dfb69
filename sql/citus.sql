-- Installs or upgrades the schema on a coordinator of Citus, instead of
-- install.sql:  psql -v role=guildlog -f sql/citus.sql
-- In a database with the extension, whose workers are known to it. Only a
-- superuser may do it. Safe to run again; not all in one transaction.
--
-- A server's rows are on one worker, all of them. What is called for one server
-- runs there as a whole. The keeper and delivery run at the coordinator, which
-- has the leases.

\set ON_ERROR_STOP on
\set QUIET on

\if :{?role}
\else
    \set role guildlog
\endif

set client_min_messages = error;

-- Functions of a server call others for the same one in the midst of a
-- statement: that is meant here. Those that are put into a statement have no
-- search path of their own.

select run_command_on_all_nodes(format(
           'alter database %I set citus.allow_nested_distributed_execution '
           '= on', current_database())) \g /dev/null
select run_command_on_all_nodes(format(
           'alter database %I set search_path = guildlog, public',
           current_database())) \g /dev/null

set citus.allow_nested_distributed_execution = on;

select to_regclass('guildlog.server') is not null
       and exists (select from pg_dist_partition
                    where logicalrelid = to_regclass('guildlog.server'))
       as distributed \gset

\if :distributed
\else
    set citus.enable_ddl_propagation = off;
    \ir install.sql
    set citus.enable_ddl_propagation = on;
\endif

-- Fixed data are everywhere; what has a server is where that is; the keeper's
-- own tables, leases and versions stay at the coordinator.

set search_path = guildlog, public;
set client_min_messages = error;

select create_reference_table(t.name::regclass)
  from unnest('{language,log_type,filter_kind,summary}'::text[]) t (name)
 where not exists (select from pg_dist_partition
                    where logicalrelid = t.name::regclass) \g /dev/null

select create_distributed_table('server', 'guild_id')
 where not exists (select from pg_dist_partition
                    where logicalrelid = 'server'::regclass) \g /dev/null

select create_distributed_table(c.oid::regclass::text, 'guild_id',
                                colocate_with => 'guildlog.server')
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'guild_id'
 where c.relnamespace = 'guildlog'::regnamespace
   and c.relkind in ('r', 'p') and not c.relispartition
   and c.relname not in ('log_change', 'log_left_out', 'order_round')
   and not exists (select from pg_dist_partition
                    where logicalrelid = c.oid) \g /dev/null

select run_command_on_workers(
           'create sequence if not exists guildlog.entry_number '
           'minvalue 0 maxvalue 262143 cycle') \g /dev/null

\ir install.sql

set client_min_messages = error;

select create_distributed_function(p.oid::regprocedure, 'guild',
                                   colocate_with => 'guildlog.server')
  from pg_proc p
 where p.pronamespace = 'guildlog'::regnamespace
   and p.prosecdef and 'guild' = any (p.proargnames)
   and p.proname !~ '^delivery_'
   and has_function_privilege(:'role', p.oid, 'execute') \g /dev/null

-- What the keeper does not do here: the rewrite follows what changes by
-- triggers, which there are none of on distributed tables; the index of the
-- search is begun, heavy keys are counted, and the order of entries is kept, by
-- statements that Citus does not take. Answers are exact without them.

do $$
declare
    task  text;
begin
    foreach task in array '{rewrite,searchable,keys,order}'::text[] loop
        execute format($f$
            create or replace function guildlog.%I(budget int,
                out more boolean, out lag bigint)
            language plpgsql as 'begin more := false; lag := 0; end'
        $f$, 'keeper_' || task);
    end loop;
end $$;

-- What is asked about the lanes of many servers is asked of one after the
-- other: rows of several workers cannot be locked by one statement.

set search_path = guildlog, public;

create or replace function delivery_step(me text, work jsonb)
returns setof delivery_row language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    works    constant delivery_work[] := array(
                 select w from jsonb_populate_recordset(
                     null::delivery_work, work) w);
    w        delivery_work;
    l        lane;
    h        lane_head;
    result   text;
    results  text[] := '{}';
begin
    for w in select u.* from unnest(works) u order by u.guild, u.lane loop
        perform from lane_head x
          where x.guild_id = w.guild and x.lane = w.lane for update;
    end loop;

    foreach w in array works loop
        select x.* into l from lane x
         where x.guild_id = w.guild and x.lane = w.lane;
        select x.* into h from lane_head x
         where x.guild_id = w.guild and x.lane = w.lane;

        result := case
            when not delivery_mine(me, w.shard, w.fence) then 'lost'
            when h.step = w.step
            then case when w.begin_to is not null and h.upto = h.head
                      then 'paused' else 'ok' end
            when not w.changes or h.step is distinct from w.step - 1
            then 'lost'
            when l.state not in ('active', 'closing')
              or l.paused_at is not null then 'end'
            else 'change' end;

        if result in ('change', 'end') then
            perform delivery_change(w, result = 'change');
            if w.status = 2 and l.reason is not null then
                update lane x
                   set reason = null, forbidden_at = null
                 where x.guild_id = w.guild and x.lane = w.lane
                   and x.state in ('active', 'closing');
            end if;
        end if;

        if result = 'end' then
            result := 'paused';
        elsif result not in ('lost', 'paused') then
            result := case when w.peek is null then 'ok'
                           else delivery_rest(w) end;
        end if;

        results := results || result;
    end loop;

    return query
        select place, results[place], null::bigint, null::boolean, null,
               null::smallint, null::int, null::int, null::smallint,
               null::boolean
          from generate_subscripts(works, 1) place order by place;

    for place in 1 .. cardinality(works) loop
        w := works[place];
        if results[place] = 'ok' and w.peek is not null
           and w.most is distinct from 0
        then
            return query
                select place, null::text, p.*
                  from delivery_load(w.guild, w.lane, w.peek, w.most,
                                     w.bytes) p;
        end if;
    end loop;
end $$;


create or replace function delivery_find(me text, mark text,
    after_guild bigint, after_lane bigint, most int default 1000)
returns setof delivery_lane language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    low    constant timestamptz := (mark::delivery_mark).low
                                   - interval '1 s';
    owned  jsonb;
    r      lane_ready;
    done   delivery_lane;
begin
    done.state := delivery_marked(mark::delivery_mark)::text;
    return next done;

    for done.state, done.head in
        select f.reason, f.n
          from delivery_fail(me, low, after_guild, after_lane) f
        union all
        select 'expired', x
          from delivery_expire(me, after_guild, after_lane) x
         where mark is null
    loop
        return next done;
    end loop;

    owned := (select jsonb_object_agg(s.shard, s.fence) from shard_lease s
               where s.owner = me and s.until > clock_timestamp());

    for r in select x.* from delivery_ready(me, low, after_guild, after_lane) x
    loop
        return query
            select l.guild_id, l.lane, l.shard,
                   (owned ->> l.shard::text)::bigint, l.bot, l.channel_id,
                   case when l.state in ('registering', 'active', 'closing')
                         and l.paused_at is null
                         and (h.not_before is null
                              or h.not_before < clock_timestamp()
                                                + interval '40 s')
                        then l.state end,
                   l.webhook_id, l.secret, h.head, h.upto, h.step, h.attempts,
                   delivery_age(case when l.webhook_id is null
                                     then l.asked_at else h.attempt_at end),
                   greatest(0, ms(h.not_before) - ms(clock_timestamp())),
                   h.last_message_id,
                   (extract(epoch from r.since) * 1000000)::bigint,
                   case when h.upto > h.head
                        then (select string_agg(e.id::text, ',')
                                from doubt_entries(r.guild_id, r.lane,
                                                   h.head + 1, h.upto) e) end,
                   l.verified_at is not null
              from lane l
              join lane_head h
                on h.guild_id = l.guild_id and h.lane = l.lane
             where l.guild_id = r.guild_id and l.lane = r.lane;
    end loop;
end $$;


-- Its size is NGX_GUILDLOG_DELIVERY_PAGE.

create or replace function delivery_ready(me text, low timestamptz,
    after_guild bigint, after_lane bigint)
returns setof lane_ready language plpgsql as $$
declare
    mine  constant smallint[] := array(
              select s.shard from shard_lease s
               where s.owner = me and s.until > clock_timestamp());
begin
    return query
        select r.* from lane_ready r
         where r.shard = any (mine)
           and (low is null or r.since > low)
           and (r.guild_id > after_guild
                or r.guild_id = after_guild and r.lane > after_lane)
         order by r.guild_id, r.lane
         limit 1000;
end $$;


create or replace function delivery_fail(me text, low timestamptz,
    after_guild bigint, after_lane bigint, out reason text, out n bigint)
returns setof record language plpgsql as $$
declare
    r       lane_ready;
    broken  text;
begin
    for r in select x.* from delivery_ready(me, low, after_guild, after_lane) x
    loop
        select l.reason into broken from lane l
         where l.guild_id = r.guild_id and l.lane = r.lane
           and l.state = 'broken' and l.paused_at is null;
        continue when not found;

        perform from lane_tail t
          where t.guild_id = r.guild_id and t.lane = r.lane for update;

        insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                                attempts, status, reason)
        select h.guild_id, h.lane, h.head + 1, t.tail, now(), h.attempts, 0,
               broken
          from lane_head h
          join lane_tail t on t.guild_id = h.guild_id and t.lane = h.lane
         where h.guild_id = r.guild_id and h.lane = r.lane
           and t.tail > h.head
        returning broken, seq_to - seq_from + 1 into reason, n;

        if found then
            return next;
        end if;

        update lane_head h
           set head = t.tail, upto = t.tail, step = h.step + 1, attempts = 0
          from lane_tail t
         where h.guild_id = r.guild_id and h.lane = r.lane
           and t.guild_id = h.guild_id and t.lane = h.lane;
        delete from lane_ready x
         where x.guild_id = r.guild_id and x.lane = r.lane;
    end loop;
end $$;


create or replace function delivery_expire(me text, after_guild bigint,
    after_lane bigint)
returns setof bigint language plpgsql as $$
declare
    h     lane_head;
    last  bigint;
    n     int := 0;
begin
    for h in select w.* from delivery_waiting(me, after_guild, after_lane) w
    loop
        continue when not coalesce((
            select p.expired
              from delivery_peek(h.guild_id, h.lane, h.head, 1) p), false);

        last := (select max(p.seq)
                   from delivery_peek(h.guild_id, h.lane, h.head, 1000) p
                  where p.expired);

        update lane_head x
           set head = last, upto = last, step = x.step + 1
         where x.guild_id = h.guild_id
           and x.lane = h.lane
           and x.step = h.step;
        continue when not found;

        insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                                attempts, status, reason)
        values (h.guild_id, h.lane, h.head + 1, last, now(), 0, 0, 'expired');
        return next last - h.head;

        n := n + 1;
        exit when n = 20;
    end loop;
end $$;


create or replace function delivery_waiting(me text, after_guild bigint,
    after_lane bigint)
returns setof lane_head language plpgsql as $$
declare
    r  lane_ready;
    h  lane_head;
    n  int := 0;
begin
    for r in select x.*
               from delivery_ready(me, null, after_guild, after_lane) x
              order by random()
    loop
        select x.* into h
          from lane l
          join lane_head x
            on x.guild_id = l.guild_id and x.lane = l.lane and x.upto = x.head
          join lane_tail t
            on t.guild_id = l.guild_id and t.lane = l.lane and t.tail > x.head
         where l.guild_id = r.guild_id and l.lane = r.lane
           and l.state = 'registering'
           and l.since < now() - interval '1 hour'
           and l.paused_at is null;
        continue when not found;

        return next h;

        n := n + 1;
        exit when n = 100;
    end loop;
end $$;


create or replace function delivery_doubts(me text, most int default 16)
returns setof delivery_lane language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    owned  constant jsonb := (
               select coalesce(jsonb_object_agg(s.shard, s.fence), '{}')
                 from shard_lease s
                where s.owner = me and s.until > clock_timestamp());
    mine   constant smallint[] := array(
               select k::smallint from jsonb_object_keys(owned) k);
    d      doubt;
    found  text;
begin
    delete from doubt x
     where x.shard = any (mine) and x.done_at < now() - interval '24 hours';

    for d in
        select x.* from doubt x
         where x.shard = any (mine) and x.look_at <= now()
         order by x.look_at limit 16
    loop
        update doubt x
           set looks = d.looks + 1, look_at = now() + doubt_pause(d.looks + 1)
         where x.guild_id = d.guild_id and x.lane = d.lane
           and x.seq_from = d.seq_from;

        found := (select string_agg(e.id::text, ',')
                    from doubt_entries(d.guild_id, d.lane, d.seq_from,
                                       d.seq_to) e);
        continue when found is null;

        return query
            select d.guild_id, d.lane, d.shard,
                   (owned ->> d.shard::text)::bigint, l.bot, l.channel_id,
                   'doubt', d.webhook_id, null::bytea, d.seq_from - 1,
                   d.seq_to, 0::bigint, 0, delivery_age(d.attempt_at),
                   0::bigint, d.before_id, 0::bigint, found, true
              from lane l
             where l.guild_id = d.guild_id and l.lane = d.lane;
    end loop;
end $$;


create or replace function delivery_figures(me text, out status int,
    out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    at     constant timestamptz := clock_timestamp();
    mine   constant smallint[] := array(
               select s.shard from shard_lease s
                where s.owner = me and s.until > clock_timestamp());
    lanes  jsonb;
    it     record;
    held   bigint;
begin
    select jsonb_object_agg(c.state, c.n) into lanes
      from (select case when l.paused_at is not null then 'paused'
                        when l.state = 'active'
                         and (l.reason is not null or h.not_before > at)
                        then 'waiting' else l.state end as state,
                   count(*) as n
              from lane l
              join lane_head h
                on h.guild_id = l.guild_id and h.lane = l.lane
             where l.shard = any (mine) and l.state <> 'closed'
             group by 1) c;

    select coalesce(sum(t.tail - h.head), 0) as backlog,
           coalesce(max(lane_age(l.guild_id, l.lane, h.head + 1))
                    filter (where l.paused_at is null), 0) as oldest
      into it
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
      join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
     where l.shard = any (mine) and l.state <> 'closed' and t.tail > h.head;

    held := (select count(*) from held_entry e
              where not e.released and e.channel_id is not null
                and shard_of(e.guild_id) = any (mine));

    status := 200;
    body := coalesce(lanes, '{}') || jsonb_build_object(
        'backlog', it.backlog, 'oldest_ms', it.oldest, 'held', held);
end $$;


create or replace function operator_backlog(reason text[], most int,
    behind bigint, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    s       record;
    listed  jsonb := '[]';
    more    boolean := false;
begin
    for s in
        select c.guild_id, sum(c.n) as n,
               jsonb_object_agg(c.reason, c.n) as reasons
          from undelivered_counts(coalesce(behind, 0)) c
         where operator_backlog.reason is null
            or c.reason = any (operator_backlog.reason)
         group by c.guild_id
         order by c.guild_id
         limit most + 1
    loop
        more := jsonb_array_length(listed) = most;
        exit when more;

        listed := listed || jsonb_build_object('server', s.guild_id::text,
            'entries', s.n, 'reasons', s.reasons, 'oldestQueuedMs', coalesce((
                select max(lane_age(h.guild_id, h.lane, h.head + 1))
                  from lane_head h
                  join lane_tail t
                    on t.guild_id = h.guild_id and t.lane = h.lane
                 where h.guild_id = s.guild_id and t.tail > h.head), 0));
    end loop;

    status := 200;
    body := jsonb_build_object('servers', listed, 'cursor',
        case when more then listed -> -1 ->> 'server' end);
end $$;


-- Functions in SQL that read a server's tables are planned without Citus once
-- they are part of a statement; these are none.

create or replace function directory_one(guild bigint, kind int, id bigint)
returns setof directory language plpgsql stable as $$
begin
    return query
        select d.* from directory d
         where d.guild_id = guild and d.kind = directory_one.kind
           and d.id = directory_one.id;
end $$;


create or replace function log_entry_one(guild bigint, bot smallint,
    id bigint)
returns setof log_entry language plpgsql stable as $$
begin
    return query
        select e.* from log_entry e
         where e.guild_id = guild and e.bot = log_entry_one.bot
           and e.id = log_entry_one.id;
end $$;


-- A plan has to know the server to know its worker.

alter role :"role" set plan_cache_mode = force_custom_plan;
