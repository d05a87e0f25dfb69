-- The keeper's steps: each is the turn of one task, the one that is due for
-- the longest time; one that fails leaves the others alone.

\ir ../setup.psql
\ir ../segments.psql
select plan(77);

delete from keeper;

select is(status, 200, 'a step of a new store')
  from keeper_step();
update keeper set due_at = '-infinity';

create function pg_temp.step(out task text, out status int)
language plpgsql as $$
declare
    before  jsonb := (select jsonb_object_agg(k.task, k) from keeper k);
begin
    status := (select s.status from keeper_step() s);
    task := (select string_agg(k.task, ' ') from keeper k
              where coalesce(before, '{}') -> k.task
                    is distinct from to_jsonb(k));
end $$;

create function pg_temp.fact(task text, name text)
returns text language sql as $$
    select body::json #>> array[task, name] from keeper_step()
$$;

-- turns

select is(array(select (pg_temp.step()).task
                  from generate_series(1, (select count(*)
                                             from keeper_tasks())::int)
                 order by 1),
          array(select task from keeper_tasks() order by 1),
          'each task has its turn');
update keeper set due_at = now() + interval '5 minutes';
select is(pg_temp.step()::text, '(,204)', 'then there is nothing to do');
update keeper set due_at = now() where task = 'requests';
select is(pg_temp.step()::text, '(requests,204)', 'until one is due');
update keeper set due_at = clock_timestamp() - interval '1 second';
update keeper set due_at = clock_timestamp() - interval '5 seconds'
 where task = 'expiry';
select is(pg_temp.step()::text, '(expiry,200)',
          'the one that waits longest is the next, and others follow');

update keeper set due_at = now() - interval '1 hour', lag = 0;
update keeper set due_at = clock_timestamp(), lag = 1000
 where task = 'expiry';
select is((select s.status from keeper_step(200) s), 200,
          'work for five turns does not hurry the keeper');
select is((select s.status from keeper_step(199) s), 202,
          'more work than that does');

update keeper set due_at = now() + interval '5 minutes', lag = 0;
update keeper set lag = 1 where task = 'forget';
update keeper set due_at = now() where task in ('requests', 'lanes');
select is((select s.status from keeper_step(20000) s), 200,
          'who is forgotten and has to wait does not hurry it');
update keeper set due_at = now() where task in ('requests', 'forget');
update keeper set due_at = now() - interval '1 second' where task = 'requests';
select is((select s.status from keeper_step(20000) s), 202,
          'a person who can be forgotten now hurries it');

-- the step of one, or of one that never had a turn, is ended from outside each
-- time: nothing of it is left

update keeper set due_at = clock_timestamp() - interval '1 minute';
update keeper set due_at = clock_timestamp() - interval '1 hour'
 where task = 'search';
delete from keeper where task = 'expiry';
select is(array(select distinct keeper_next() from generate_series(1, 1000)
                 order by 1),
          array(select task from keeper_tasks() order by 1),
          'the other tasks have their turns');
select keeper_run('expiry', 1) \g /dev/null

-- what it says

update keeper set due_at = now() + interval '5 minutes';
update keeper set took_us = 123, lag = 45, errors = 6,
       done_at = clock_timestamp() - interval '1 minute'
 where task = 'blocks';
select is(pg_temp.fact('blocks', 'took_us'), '123', 'what a turn took');
select is(pg_temp.fact('blocks', 'lag'), '45', 'what it left');
select is(pg_temp.fact('blocks', 'errors'), '6', 'how often it failed');
select is(pg_temp.fact('blocks', 'error'), null, 'this time it did not');
select is(pg_temp.fact('blocks', 'age_ms')::int between 60000 and 90000,
          true, 'the time of the last step');

-- one that fails

select pg_get_functiondef('keeper_requests'::regproc) as keeper_requests \gset
create or replace function keeper_requests(budget int, out more boolean,
    out lag bigint)
language plpgsql as $$
begin
    delete from guildlog.active_ignore;
    raise exception 'for the test';
end $$;
insert into active_ignore values (:guild, 0, 1, 'executor', '1', null, null, 1,
                                  now(), now() + interval '1 hour');
update keeper set due_at = now() where task = 'requests';
select is(pg_temp.fact('requests', 'error'), 'P0001 for the test',
          'a failure is listed');
select is(count(*)::int, 1, 'nothing is left of it') from active_ignore
 where guild_id = :guild;
select is(pg_temp.fact('requests', 'error'), null, 'it is told once');
select is(pg_temp.fact('requests', 'errors'), '1', 'and counted');
update keeper set due_at = now() - interval '1 second'
 where task = 'partitions';
select is((pg_temp.step()).task, 'partitions', 'others go on');

-- what is undone

select partitions_ensure() \g /dev/null
select is(partitions_missing(), 0, 'the next days have partitions');
select is(partitions_missing(24), 10, 'those that lack one are counted');
select record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', i, 'type', 6))) from generate_series(1, 300) i
\g /dev/null
select is(lag >= 300, true, 'entries that wait for a block')
  from keeper_blocks(1);

-- a server that a task fails for is left out of it, and all others go on

\set bad 900000000000000003
select operator_server_put(:bad, '{"plan": "pro"}') \g /dev/null
select record(:bad, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', i, 'type', 6,
           'timestamp', ms(now()) - 3600000))) from generate_series(1, 900) i
\g /dev/null
select record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', 'k' || i, 'type', 6,
           'timestamp', ms(now()) - 3600000))) from generate_series(1, 700) i
\g /dev/null
select keeper_searchable(20000) \g /dev/null
update search_head set format = 0;

create function pg_temp.a_bad_row()
returns trigger language plpgsql as $$
declare
    it  record := coalesce(new, old);
begin
    if it.guild_id = 900000000000000003 then
        raise exception 'a bad row';
    end if;

    return it;
end $$;
create trigger bad before insert on log_block
    for each row execute function pg_temp.a_bad_row();
create trigger bad before update on search_head
    for each row execute function pg_temp.a_bad_row();

create function pg_temp.turn(its text)
returns text language plpgsql as $$
begin
    update guildlog.keeper
       set due_at = now() + case task when its then interval '0'
                                 else interval '5 minutes' end;
    return guildlog.keeper_run(its, 2000000);
end $$;

select is(pg_temp.turn('blocks'), 'P0001 a bad row',
          'it fails for all once');
select is(pg_temp.turn('blocks'),
          format('server %s: P0001 a bad row', :bad),
          'then for the one alone, which is told');
select is(count(*)::int > 0, true, 'the others have theirs')
  from log_block where guild_id = :guild;
select is(pg_temp.turn('blocks'), null, 'once, for it is left out');

-- the same of what goes from one index of searches to the other

select is(pg_temp.turn('searchable'), 'P0001 a bad row', 'the same of indexes');
select is(pg_temp.turn('searchable'), format('server %s: P0001 a bad row', :bad),
          'it is the only one left out');
select is(pg_temp.turn('searchable'), null, 'and is left out, too');
select is(format, search_format(), 'the index of others goes on')
  from search_head where guild_id = :guild and bot = 0;

-- the module says for whom it failed

drop trigger bad on search_head;
select search_fail(:bad, 0::smallint, 'a bad body') \g /dev/null
select is(pg_temp.turn('search'), format('server %s: a bad body', :bad),
          'it is told by the keeper');
select is(pg_temp.turn('search'), null, 'once');
select is(array(select p.task || ' ' || p.times from keeper_parked p
                 where p.guild_id = :bad order by 1),
          '{blocks 1,search 1,searchable 1}',
          'the number of servers left out is known');

drop trigger bad on log_block;
update keeper_parked set until = now();
select pg_temp.turn('blocks'), pg_temp.turn('searchable') \g /dev/null
select is(array_agg(task), '{search}', 'until it does not fail any more')
  from keeper_parked;
select search_begin(:bad, 0::smallint) \g /dev/null
select is(pg_temp.put(pg_temp.job(:bad), '{}'), 200, 'whatever it was');
select is(count(*)::int, 0, 'nobody is left out') from keeper_parked;

-- the same of each task that goes from server to server. First what both have
-- to do of it; done() says for whom it is done.

create function pg_temp.guilds()
returns setof bigint language sql as $$
    select 900000000000000001 union all select 900000000000000003
$$;
create function pg_temp.done(task text, guild bigint)
returns boolean language sql as $$
    select case task
           when 'settle' then not exists (
               select from log_block k where k.guild_id = guild
                  and k.settle is not null)
           when 'expiry' then not exists (
               select from log_day d where d.guild_id = guild
                  and d.day < day_of(day_id('2020-01-02')))
               and not exists (
               select from log_block k where k.guild_id = guild
                  and k.day < day_of(day_id('2020-01-02')))
           when 'lanes' then not exists (
               select from lane l where l.guild_id = guild)
           when 'requests' then not exists (
               select from active_ignore a where a.guild_id = guild) end
$$;

-- turns with a bad row, until it is mended

create function pg_temp.mended(task text, event text, its_table text)
returns setof text language plpgsql as $$
declare
    before  bigint := (select k.errors from keeper k
                        where k.task = mended.task);
begin
    execute format('create trigger bad before %s on %I for each row '
                   'execute function pg_temp.a_bad_row()', event, its_table);

    return next is(pg_temp.turn(task), 'P0001 a bad row',
                   task || ': it fails for all once');
    return next is(pg_temp.turn(task),
                   'server 900000000000000003: P0001 a bad row',
                   'then for the one alone');
    return next is((select array_agg(pg_temp.done(task, g) order by g)
                      from pg_temp.guilds() g), '{t,f}',
                      'the task goes on for others');
    return next is(coalesce(pg_temp.turn(task), '') || ' '
                   || (select k.errors - before from keeper k
                        where k.task = mended.task), ' 2',
                   'it is listed once, and counted');

    execute format('drop trigger bad on %I', its_table);
    update keeper_parked set until = now();
    perform pg_temp.turn(task);

    return next is((select bool_and(pg_temp.done(task, g))
                      from pg_temp.guilds() g)
                   and not exists (select from keeper_parked), true,
                   'it is done when that is mended');
end $$;

update log_block k set settle = 1
 where k.guild_id in (select pg_temp.guilds());
select pg_temp.mended('settle', 'update', 'log_block');

insert into log_block
select g, first_id, first_id, 1, 0, day_of(first_id), null, 0, 1, false,
       chr(26), array[first_id], '0 roff',
       '{"id":"' || first_id || '","type":0,'
  from pg_temp.guilds() g, day_id('2020-01-01') first_id;
insert into log_day
select g, 0, day_of(day_id('2020-01-01')), '{128}' from pg_temp.guilds() g;
select pg_temp.mended('expiry', 'delete', 'log_block');

insert into lane (guild_id, lane, bot, channel_id, shard, state, look_at)
select g, 77, 0, 5, 0, 'closed', now() - interval '1 hour'
  from pg_temp.guilds() g;
insert into lane_tail (guild_id, lane) select g, 77 from pg_temp.guilds() g;
select pg_temp.mended('lanes', 'delete', 'lane');

-- what a server was left out of is done without it

select keeper_park('lanes', :bad, 0::smallint, 'a bad row') \g /dev/null
update keeper_parked set until = now() - interval '25 hours';
select pg_temp.turn('lanes') \g /dev/null
select is(count(*)::int, 0, 'it is not left out of what is done')
  from keeper_parked;

-- entries that are released and refusals that are counted for many servers at
-- once: the keeper tells whom they left out

\set third 900000000000000004
select operator_server_put(:third, '{"plan": "pro"}') \g /dev/null
update server set plan = 'pro' where guild_id = :bad;
select pg_temp.new_token(g, 1, 'main') from pg_temp.guilds() g
 where g <> :guild union all
select pg_temp.new_token(:third, 1, 'main') \g /dev/null
insert into lane (guild_id, lane, bot, channel_id, shard, state)
select g, 88, 0, 10, 0, 'active'
  from unnest(array[:guild, :bad, :third]) g;
insert into lane_tail (guild_id, lane)
select g, 88 from unnest(array[:guild, :bad, :third]) g;
insert into lane_head (guild_id, lane)
select g, 88 from unnest(array[:guild, :bad, :third]) g;
select options_patch(t.token_id, t.guild_id, 0::smallint, 1::smallint,
                     '{"active_ignore": true, "ignore_bot_targets": false}'),
       channels_patch(t.token_id, t.guild_id, 0::smallint, 1::smallint,
                      '{"main_channel": "10"}')
  from token t where t.permissions = 1 \g /dev/null
update log_arrival set held_to = null where held_to is not null;
select record(g, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', 'held' || i, 'type', 5)))
  from unnest(array[:guild, :bad, :third]) g, generate_series(1, 3) i
 group by g \g /dev/null
:keeper_requests;
select pg_temp.turn('requests') \g /dev/null
select errors as before from keeper where task = 'requests' \gset
update log_arrival set held_to = now() - interval '5 minutes'
 where held_to is not null;
create trigger bad before update on log_arrival
    for each row execute function pg_temp.a_bad_row();

select is(array_agg(guild_id::text order by guild_id),
          array[:'guild', :'guild', :'guild', :'third', :'third', :'third'],
          'a server whose held entries cannot be released holds up no others')
  from held_release();
drop trigger bad on log_arrival;
select is(count(*)::int, 0, 'it is left out') from held_release();
select is(pg_temp.turn('requests'), format('server %s: P0001 a bad row', :bad),
          'the keeper lists it');
select is(pg_temp.fact('requests', 'lag') || ' '
          || pg_temp.fact('requests', 'parked') || ' '
          || (pg_temp.fact('requests', 'errors')::int - :before), '3 1 1',
          'its other entries are released and counted');
update keeper_parked set until = now();
select is(count(*)::int, 3, 'it is tried again') from held_release();
select is(count(*)::int, 0, 'and is like others then') from keeper_parked;

create trigger bad before insert on refusal
    for each row execute function pg_temp.a_bad_row();
select is(array_agg(guild || ' ' || (rest > 0) order by guild),
          array[:'guild' || ' true', :'bad' || ' true', :'third' || ' false'],
          'one whose refusals cannot be counted rests, others by their count')
  from delivery_refused(array[:third, :bad, :guild], '{49,1,50}');
select is(pg_temp.turn('lanes'), format('server %s: P0001 a bad row', :bad),
          'the keeper lists it');
drop trigger bad on refusal;
delete from keeper_parked;

-- requests of active ignore that ran out

delete from active_ignore;
select pg_temp.turn('requests') \g /dev/null
insert into active_ignore (guild_id, bot, request_id, side, subject_id,
                           remaining, requested_at, expires_at)
select g, 0, 1, 'executor', '5', 1, now() - interval '3 hours',
       now() - interval '2 hours'
  from pg_temp.guilds() g;
select pg_temp.mended('requests', 'delete', 'active_ignore');

-- of who left a day ago nothing is known any more; others are as they were

insert into known (guild_id, kind, id, doc)
select g, n.kind, n.id, format(n.doc, ms(clock_timestamp()) - n.hours * 3600000)
  from unnest(array[:guild, :bad]) g
 cross join (values (4, 1, 25, '{"gone":true,"at":%s,"ahead":3}'),
                    (4, 2, 23, '{"gone":true,"at":%s,"ahead":3}'),
                    (4, 3, 99, '{"premium_since":"x","at":%s,"ahead":0}'),
                    (5, 1, 25, '{"at":%s,"ahead":0}'),
                    (5, 2, 23, '{"at":%s,"ahead":0}'),
                    (5, 3, 99, '{"channel_id":"7","at":%s,"ahead":0}'),
                    (7, 1, 99, '{"name":"x","at":%s}'))
       n (kind, id, hours, doc);
select keeper_known(3) from generate_series(1, 4) \g /dev/null
select is(array_agg(k.kind || '.' || k.id order by k.guild_id, k.kind, k.id)
              ::text, '{4.2,4.3,5.2,5.3,7.1,4.2,4.3,5.2,5.3,7.1}',
          'of who left a day ago nothing is known, a few rows at a time')
  from known k;
select keeper_known(3) from generate_series(1, 3) \g /dev/null
insert into known values (:guild, 5, 9, '{"at":1}');
select keeper_known(100) \g /dev/null
select is(place, null, 'at the end it begins again')
  from keeper where task = 'known';
select pg_temp.turn('known') \g /dev/null
select is(count(*)::int, 10, 'as the task does it') from known;

-- one row that cannot be read

insert into known values (:bad, 5, 7, '{"at"'), (:bad, 5, 9, '{"at":1}'),
                         (:third, 5, 9, '{"at":1}');
select is(pg_temp.turn('known'),
          format('server %s: a row of "known" cannot be read: kind 5, id 7',
                 :bad), 'a row that cannot be read is told');
select is(array_agg(k.guild_id || '.' || k.id order by k.guild_id, k.id)::text,
          format('{%s.7}', :bad), '... and left alone; others go')
  from known k where k.id in (7, 9);
select is(lag || ' ' || errors, '1 1', '... it is counted')
  from keeper where task = 'known';
insert into known values (:bad, 5, 9, '{"at":1}'), (:third, 5, 9, '{"at":1}');
select is(pg_temp.turn('known'), null, 'its server is left out for a while');
select is(array_agg(k.guild_id order by k.guild_id), array[:bad]::bigint[],
          '... and others are not')
  from known k where k.id = 9;
update keeper_parked set until = now();
delete from known k where k.guild_id = :bad and k.id = 7;
select is(pg_temp.turn('known'), null, 'when it is mended');
select is(count(*)::int, 0, '... it is done as well') from known k where k.id = 9;
select is(count(*)::int, 0, '... and nobody is left out') from keeper_parked;

select * from finish();
rollback;
