-- Lanes: places of entries, what becomes of them, and the steps of delivery.

\ir ../setup.psql
select plan(101);

create function pg_temp.send(n int, type int default 7)
returns setof bigint language sql as $$
    select i::bigint from jsonb_array_elements_text(record(900000000000000001,
        0::smallint, (select jsonb_agg(jsonb_build_object(
            'event_id', gen_random_uuid(), 'type', type))
            from generate_series(1, n))) -> 'ids') i
$$;

-- what is said of an entry: status, reason, message
create function pg_temp.delivery(id bigint)
returns text language sql as $$
    select delivery_word(d.status) || ' '
           || coalesce(d.reason, d.message_id::text)
      from stored e
     cross join lateral delivery_of(e.guild_id, e.bot, row(e.id, e.type,
         e.dstatus, e.lane, e.seq, e.dchannel_id, e.dmessage_id, e.dreason,
         e.doc)::log_found) d
     where e.guild_id = 900000000000000001 and e.id = delivery.id
$$;

-- a step of one lane
create function pg_temp.step(who text, work jsonb)
returns setof delivery_row language sql as $$
    select s.* from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
      join shard_lease f on f.shard = l.shard
     cross join lateral delivery_step(who, jsonb_build_array(
         jsonb_build_object('guild', l.guild_id, 'lane', l.lane, 'shard',
             l.shard, 'fence', f.fence, 'step',
             h.step + coalesce((work ->> 'changes')::boolean, true)::int,
             'changes', true, 'refused', false) || work)) s
     where l.guild_id = 900000000000000001 and l.state <> 'closed'
       and l.channel_id = 10
$$;

create function pg_temp.result(who text, work jsonb)
returns text language sql as $$
    select s.result from pg_temp.step(who, work) s where s.result is not null
$$;

-- a channel opens a lane

select is(count(*)::int, 0, 'a server begins without lanes')
  from lane where guild_id = :guild;
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select is(string_agg(channel_id || ' ' || state, ','), '10 registering',
          'setting a channel opens a lane') from lane where guild_id = :guild;
select is(count(*)::int, 1, 'which is to be registered')
  from lane_ready where guild_id = :guild;
select lane, shard from lane where guild_id = :guild \gset

-- places

select pg_temp.send(3) \g /dev/null
select results_eq(
    format('select e.seq from stored e where e.guild_id = %s
               and e.lane = %s order by e.arrival', :guild, :lane),
    'select generate_series(1, 4)::bigint',
    'entries have places without a gap; the entry of the change is the first');
select is(tail, 4::bigint, 'the last one is known')
  from lane_tail where guild_id = :guild;
select id as e1 from stored where guild_id = :guild and seq = 1 \gset
select id as e2 from stored where guild_id = :guild and seq = 2 \gset
select id as e3 from stored where guild_id = :guild and seq = 3 \gset
select id as e4 from stored where guild_id = :guild and seq = 4 \gset
select is(pg_temp.delivery(:e1), 'not_delivered queued', 'they are queued');

-- leases

update shard_lease set owner = null, until = '-infinity';
delete from delivery_node;
select is(count(*)::int, 64, 'the first owner has all shards')
  from delivery_lease('a/1/1', '{}', '{}', false) where mine;
select is(count(*)::int, 0, 'a second one none')
  from delivery_lease('b/1/1', '{}', '{}', false) where mine;
select is(array_agg(owner), array['b/1/1'], 'of whom the others know')
  from delivery_lease('a/1/1', '{}', '{}', false) where shard is null;
select is(max(share), 32, 'until the first one gives away its half')
  from delivery_lease('a/1/1', '{}', '{}', false);
select is(count(*)::int, 2, 'what it gives')
  from delivery_lease('a/1/1', '{}', '{0,1}', false)
 where not mine and shard is not null;
select is(count(*)::int, 2, 'is taken')
  from delivery_lease('b/1/1', '{}', '{}', false) where mine;
select count(*) from delivery_lease('b/1/1', '{}', '{}', false, 7) \g /dev/null
select is(count(*)::int, 0, 'what an owner asked before that comes too late')
  from delivery_lease('b/1/1', '{}', '{0,1}', false, 6);
select is(count(*)::int, 2, '... to give anything away')
  from shard_lease where owner = 'b/1/1';
select is(count(*)::int, 64, 'what the dead had is taken at once')
  from delivery_lease('a/1/1', '{b/1/1}', '{}', false) where mine;
select fence from shard_lease where shard = 0 \gset
update shard_lease set until = now() - interval '1 s' where shard = 0;
select is(fence, (:fence + 1)::bigint, 'a lease that ran out is another one')
  from delivery_lease('a/1/1', '{}', '{}', false) where shard = 0;
update shard_lease set owner = 'c/1/1', until = now() + interval '1 hour'
 where shard = 0;
insert into delivery_node values ('c/1/1', now() + interval '1 hour');
select is(max(share) || ' ' || max(owner) filter (where shard = 0), '32 c/1/1',
          'when the clock goes back a lease is still its owner''s')
  from delivery_lease('a/1/1', '{}', '{}', false);
update shard_lease set until = until - interval '31 s' where shard = 0;
update delivery_node set until = until - interval '31 s' where owner = 'c/1/1';
select is(count(*)::int, 64, 'for no longer than it would be else')
  from delivery_lease('a/1/1', '{}', '{}', false) where mine;
select is(count(*)::int, 0, 'who leaves takes nothing')
  from delivery_lease('a/1/1', '{}', array(select s::smallint
                          from generate_series(0, 63) s),
                      true) where mine;
select count(*) from delivery_lease('a/1/1', '{}', '{}', false) \g /dev/null

-- registration

select quote_literal(row(now(), now(), '0'::xid8)::delivery_mark) as mark \gset
select is(state || ' ' || head || ' ' || upto, 'registering 0 0',
          'the owner finds the lane')
  from delivery_find('a/1/1', :mark, 0, 0) where guild = :guild;
select is(count(*)::int, 1, 'whatever comes behind another one')
  from delivery_find('a/1/1', null, :guild, :lane - 1)
 where lane is not null;
select is(count(*)::int, 0, 'once')
  from delivery_find('a/1/1', null, :guild, :lane) where lane is not null;
select is(count(*)::int, 0, 'nobody else does')
  from delivery_find('b/1/1', null, 0, 0) where lane is not null;
select fence from shard_lease where shard = :shard \gset
select throws_ok(format('select delivery_registered(''b/1/1'', %s, %s, %s, 0,
                         5, ''\x00'')', :guild, :lane, :fence), 'GL409', null,
                 'another owner cannot register it');
select delivery_registered('a/1/1', :guild, :lane, :fence, 0, 5, '\x00')
\g /dev/null
select is(state || ' ' || webhook, 'active 5', 'it is registered')
  from delivery_find('a/1/1', :mark, 0, 0) where guild = :guild;
select throws_ok(format('select delivery_registered(''a/1/1'', %s, %s, %s, 0,
                         5, ''\x00'')', :guild, :lane, :fence), 'GL409', null,
                 'a webhook that was found twice is registered once');
select is(state, 'active', 'and stays so')
  from lane where guild_id = :guild and lane = :lane;

-- steps

select is(string_agg(seq || '', ',' order by seq), '1,2,3,4', 'entries')
  from pg_temp.step('a/1/1', '{"changes": false, "peek": 0, "most": 20}');
select is(pg_temp.result('b/1/1', '{"begin_to": 2}'), 'lost',
          'only the owner changes it');
select is(pg_temp.result('a/1/1', '{"begin_to": 2}'), 'ok', 'intent');
select is(pg_temp.delivery(:e2), 'unknown in_flight', 'they are in flight');
select is(pg_temp.delivery(:e3), 'not_delivered queued', 'the others are not');
select is(pg_temp.result('a/1/1', '{"step": 2, "begin_to": 4}'), 'lost',
          'an old step has no effect');
select is(pg_temp.result('a/1/1', '{"step": 3, "begin_to": 2}'), 'ok',
          'the same step again has the same result');
select is(pg_temp.result('a/1/1', '{"step": 3, "begin_to": 4}'), 'lost',
          'another one with its number, as a former owner''s, is not it');
select is(pg_temp.result('a/1/1', '{"step": 3, "done_to": 1, "status": 1}'),
          'lost', 'nor is one that ends something');
select is(upto, 2::bigint, 'changes nothing')
  from lane_head where guild_id = :guild;
select is(pg_temp.result('a/1/1', '{"refused": true, "wait_ms": 500}'), 'ok',
          'refused');
select is(pg_temp.delivery(:e2), 'not_delivered retrying', 'for now');
select is(wait_ms between 1 and 500, true, 'until then nothing is sent')
  from delivery_find('a/1/1', null, 0, 0) where guild = :guild;
update lane set reason = 'missing_permissions', forbidden_at = now(),
       told = 'missing_permissions'
 where guild_id = :guild;
update lane_head set not_before = now() + interval '1 minute'
 where guild_id = :guild;
select is(state, null, 'for longer it is not to be delivered now')
  from delivery_find('a/1/1', null, 0, 0) where guild = :guild;
select pg_temp.result('a/1/1', '{"begin_to": 2}') \g /dev/null
select is(pg_temp.result('a/1/1', '{"done_to": 2, "status": 2, "message": 77,
          "attempts": 2, "begin_to": 3}'), 'ok', 'outcome and intent');
select is(pg_temp.delivery(:e1), 'delivered 77', 'delivered');
select is(pg_temp.delivery(:e2), 'delivered 77', 'both');
select is(coalesce(reason, forbidden_at::text, told), null,
          'a delivery clears the failures of the lane')
  from lane where guild_id = :guild;
select is(pg_temp.delivery(:e3), 'unknown in_flight', 'the next is in flight');
select is(pg_temp.result('a/1/1', '{"done_to": 3, "status": 1,
          "reason": "unconfirmed", "attempts": 1, "peek": 3, "most": 20}'),
          'ok', 'unknown');
select is(pg_temp.delivery(:e3), 'unknown unconfirmed', 'stays unknown');
select is(pg_temp.result('a/1/1', '{"done_to": 4, "status": 0,
          "reason": "rejected", "attempts": 1, "peek": 4, "most": 20}'),
          'empty', 'the lane is empty');
select is(count(*)::int, 0, 'and ready no more')
  from lane_ready where guild_id = :guild;

-- a broken lane

\set step '(select step from lane_head where guild_id = :guild and lane = :lane)'

select pg_temp.send(1) as e5 \gset
select pg_temp.result('a/1/1', '{"begin_to": 5}') \g /dev/null
select :step as found \gset
select delivery_waits('a/1/1', :guild, :lane, :fence, :step,
                      'missing_permissions', 'forbidden', 60000) \g /dev/null
select is(pg_temp.result('a/1/1', format('{"step": %s, "done_to": 5,
              "status": 1, "reason": "unconfirmed", "attempts": 1}',
              :found + 1)::jsonb), 'lost',
          'who found the lane before it had to wait has lost it');
select is(pg_temp.delivery(:e5), 'not_delivered retrying',
          'its entry was refused for now');
select delivery_lost('a/1/1', :guild, :lane, :fence, :step) \g /dev/null
select is(state, 'registering', 'a lost webhook is made anew')
  from lane where guild_id = :guild;
select delivery_lost('a/1/1', :guild, :lane, :fence, :step) \g /dev/null
create function pg_temp.busy() returns trigger language plpgsql as
$$ begin raise 'it is busy' using errcode = '40P01'; end $$;
create trigger busy before insert on lane_batch
    for each row execute function pg_temp.busy();
prepare found as select count(*) from delivery_find('a/1/1', :mark, 0, 0);
select throws_ok('found', '40P01', 'it is busy',
                 'of what passes no lane is to blame');
drop trigger busy on lane_batch;
select count(*) from delivery_find('a/1/1', :mark, 0, 0) \g /dev/null
select is(pg_temp.delivery(:e5), 'not_delivered webhook_404',
          'a second loss within an hour is final');
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select is(state, 'registering', 'unless the channel is set again')
  from lane where guild_id = :guild;

-- a webhook that it has, and is not to have any more

select delivery_registered('a/1/1', :guild, :lane, :fence, :step, 5, '\x00')
\g /dev/null
update lane set forbidden_at = now() - interval '2 hours'
 where guild_id = :guild;
select delivery_waits('a/1/1', :guild, :lane, :fence, :step,
                      'missing_permissions', 'forbidden', 1) \g /dev/null
select is(state, 'broken', 'what was forbidden for an hour is given up')
  from lane where guild_id = :guild;
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select pg_temp.send(1) as e6 \gset
select is(pg_temp.result('a/1/1', '{"begin_to": 7}') || ' '
          || pg_temp.delivery(:e6), 'paused not_delivered queued',
          'when its channel is set again nothing begins without a new one')
  from lane where guild_id = :guild and state = 'registering';
select is(status, 200, 'which may be asked for')
  from delivery_asks('a/1/1', :guild, :lane, :fence, :step);
select is(webhook_id, null, 'in the place of the other')
  from lane where guild_id = :guild;

-- a wait that the platform wants, and one for what has been mended

select delivery_registered('a/1/1', :guild, :lane, :fence, :step, 5, '\x00')
\g /dev/null
update lane_head set not_before = now() + interval '1 hour'
 where guild_id = :guild;
select operator_lane_pause(:guild, :lane), operator_lane_resume(:guild, :lane)
\g /dev/null
select channels_patch(:me, '{"main_channel": "11"}'),
       channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select is(not_before, now() + interval '1 hour',
          'neither a pause nor a change of channels shortens a wait')
  from lane_head where guild_id = :guild and lane = :lane;
update lane set reason = 'missing_permissions',
       refused_at = now() - interval '2 minutes'
 where guild_id = :guild and lane = :lane;
update lane_head set attempt_at = now() - interval '1 minute'
 where guild_id = :guild and lane = :lane;
select operator_lane_pause(:guild, :lane), operator_lane_resume(:guild, :lane)
\g /dev/null
select is(not_before, now() + interval '1 hour',
          'nor of one that failed, and was tried since')
  from lane_head where guild_id = :guild and lane = :lane;
update lane_head set attempt_at = null
 where guild_id = :guild and lane = :lane;
update lane set reason = 'missing_permissions', again_at = null,
       refused_at = now() - interval '1 minute'
 where guild_id = :guild and lane = :lane;
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select is(not_before <= clock_timestamp(), true,
          'but one that failed begins anew at once')
  from lane_head where guild_id = :guild and lane = :lane;
update lane set reason = 'missing_permissions',
       refused_at = clock_timestamp()
 where guild_id = :guild and lane = :lane;
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select is(not_before > clock_timestamp() + interval '50 s', true,
          'at most once a minute')
  from lane_head where guild_id = :guild and lane = :lane;
update lane set reason = 'missing_permissions', again_at = null,
       refused_at = clock_timestamp()
 where guild_id = :guild and lane = :lane;
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select is(not_before between clock_timestamp()
                     and clock_timestamp() + interval '10 s', true,
          'not in the moment in which it failed')
  from lane_head where guild_id = :guild and lane = :lane;
update lane_head set not_before = null where guild_id = :guild;

-- a held entry

select delivery_registered('a/1/1', :guild, :lane, :fence, :step, 6, '\x00')
\g /dev/null
select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select pg_temp.send(1, 5) as e7 \gset
update log_arrival set held_to = clock_timestamp()
 where guild_id = :guild and held_to is not null;
select is((select seq from stored where guild_id = :guild and id = :e7),
          null, 'a held entry has no place');
select delivery_release() \g /dev/null
select is(count(*)::int, 1, 'until it is released')
  from pg_temp.step('a/1/1', '{"changes": false, "peek": 0, "most": 20}') s
 where s.doc like '{"id":"' || :e7 || '"%';

-- a channel that is used no more

select channels_patch(:me, '{"main_channel": null}') \g /dev/null
select is(state, 'closing', 'closes when its lane is empty')
  from lane where guild_id = :guild and lane = :lane;

-- its end

update lane_head h set head = t.tail, upto = t.tail, step = h.step + 1
  from lane_tail t
 where h.guild_id = :guild and h.lane = :lane
   and t.guild_id = h.guild_id and t.lane = h.lane;
select channels_patch(:me, '{"main_channel": "10"}') \g /dev/null
select channels_patch(:me, '{"main_channel": null}') \g /dev/null
select is(state || ' ' || (asked_at is not null), 'closing true',
          'set and left again it looks for its webhook, and does not just go')
  from lane where guild_id = :guild and lane = :lane;
select delivery_closed('a/1/1', :guild, :lane, :fence, :step) \g /dev/null
select is(state || ' ' || (look_at > now()), 'closed true',
          'the lane is closed and will be looked at again')
  from lane where guild_id = :guild and lane = :lane;
select throws_ok(format('select delivery_waits(%L, %s, %s, %s, h.step, %L, %L,'
                        ' 1) from lane_head h where h.lane = %s', 'a/1/1',
                        :guild, :lane, :fence, 'x', 'forbidden', :lane),
                 'GL409', null, 'who has it at hand still does not wake it');
select throws_ok(format('select delivery_asks(%L, %s, %s, %s, h.step)'
                        ' from lane_head h where h.lane = %s', 'a/1/1',
                        :guild, :lane, :fence, :lane),
                 'GL409', null, 'nor gets a webhook for it');
select is(lanes_forget(10), 0, 'later');
update lane set look_at = now() where guild_id = :guild and lane = :lane;
select is(lanes_forget(10), 1, 'it is looked at');
select is(state || ' ' || (look_at > now()), 'closed true',
          'it stays while entries refer to it')
  from lane where guild_id = :guild and lane = :lane;
update lane set look_at = now() where guild_id = :guild and lane = :lane;
create temporary table arrived as
    select * from log_arrival where guild_id = :guild and lane = :lane;
delete from log_arrival where guild_id = :guild and lane = :lane;
delete from doubt where guild_id = :guild and lane = :lane;
select is(lanes_forget(10), 1, 'it is looked at again');
select is((select count(*) from lane where guild_id = :guild and lane = :lane)
          + (select count(*) from lane_head
              where guild_id = :guild and lane = :lane)
          + (select count(*) from lane_tail
              where guild_id = :guild and lane = :lane), 0::bigint,
          'it is deleted with its rows when no entry does');
insert into log_arrival select * from arrived;
select channels_patch(:me, '{"category_voice": "12"}') \g /dev/null
select lane as idle from lane where guild_id = :guild and channel_id = 12
\gset
select channels_patch(:me, '{"category_voice": "13"}') \g /dev/null
select is((select count(*) from lane where guild_id = :guild
                                       and lane = :idle)
          + (select count(*) from lane_ready where guild_id = :guild
                                               and lane = :idle), 0::bigint,
          'a lane without entries is deleted with its channel');

-- a channel of another server

select operator_server_put(900000000000000002, '{"plan": "free"}'),
       operator_channel_put(900000000000000002, 14, '{}') \g /dev/null
select throws_ok(format('select channels_patch(%s, %L)', :'me',
                        '{"category_voice": "14"}'), 'GL400',
                 'category_voice: belongs to another server',
                 'is refused where the directory knows it');
insert into lane (guild_id, lane, bot, channel_id, shard)
select :guild, 99, 0, 14, :shard;
insert into lane_head (guild_id, lane) values (:guild, 99);
select is((select status from delivery_verified('a/1/1', :guild, 99, :fence, 0,
                                                false)) || ' '
          || (select status from delivery_verified('a/1/1', :guild, 99, :fence,
                                                   0, true)), '403 200',
          'a lane to it ends, unless the platform says that it is the '
          'server''s');
delete from lane_head where guild_id = :guild and lane = 99;
delete from lane where guild_id = :guild and lane = 99;

-- a webhook that two lanes have

insert into lane (guild_id, lane, bot, channel_id, shard, state, webhook_id)
values (:guild, 98, 0, 15, 0, 'closing', 7),
       (900000000000000002, 97, 0, 15, 0, 'active', 7);
insert into lane_head (guild_id, lane) values (:guild, 98);
insert into lane_tail (guild_id, lane) values (:guild, 98);
select is(s.result, 'shared', 'is told of when one of them closes')
  from shard_lease f
 cross join lateral delivery_step('a/1/1', jsonb_build_array(
           jsonb_build_object('guild', :guild, 'lane', 98, 'shard', 0, 'fence',
               f.fence, 'step', 0, 'changes', false, 'refused', false,
               'peek', 0, 'most', 20))) s
 where f.shard = 0 and s.result is not null;
delete from lane where lane in (97, 98);
delete from lane_head where lane = 98;
delete from lane_tail where lane = 98;

-- a channel that the directory learns of under another server

insert into lane (guild_id, lane, bot, channel_id, shard, state, webhook_id,
                  verified_at)
select :guild, 90 + c, 0, 700 + c, 0, 'active', 700 + c, now()
  from generate_series(1, 3) c;
insert into lane_head (guild_id, lane)
select :guild, 90 + c from generate_series(1, 3) c;
insert into lane_tail (guild_id, lane)
select :guild, 90 + c from generate_series(1, 3) c;
delete from lane_ready where guild_id = :guild;
create function pg_temp.verified(guild bigint)
returns text language sql as $$
    select string_agg(l.channel_id || case
               when l.verified_at is not null then ' verified'
               when exists (select from lane_ready r
                             where r.guild_id = guild and r.lane = l.lane)
               then ' to be looked at' end, ', ' order by l.channel_id)
      from lane l where l.guild_id = guild and l.channel_id between 701 and 703
$$;
select operator_channel_put(:guild, 702, '{"name": "its own"}') \g /dev/null
select operator_channels_put(900000000000000002, '[{"id": 701}, {"id": 702}]')
\g /dev/null
select is(pg_temp.verified(:guild),
          '701 to be looked at, 702 verified, 703 verified',
          'it is verified again, if the own server has it not');
update lane set verified_at = now()
 where guild_id = :guild and channel_id between 701 and 703;
select operator_channels_put(900000000000000002,
           '[{"id": 701, "name": "n"}, {"id": 703}]') \g /dev/null
select is(pg_temp.verified(:guild),
          '701 verified, 702 verified, 703 to be looked at',
          'a channel that the directory has already changes nothing');
select operator_channel_put(:guild, 701, '{"name": "n"}') \g /dev/null
select is(pg_temp.verified(:guild),
          '701 verified, 702 verified, 703 to be looked at',
          'nor is what a server has for its own lanes');
delete from directory where kind = 1 and id between 701 and 703;
delete from lane_ready where guild_id = :guild and lane between 91 and 93;
delete from lane_head where guild_id = :guild and lane between 91 and 93;
delete from lane_tail where guild_id = :guild and lane between 91 and 93;
delete from lane where guild_id = :guild and lane between 91 and 93;

-- refusals

select refusals_add(900000000000000002, 49) \g /dev/null
select is(rest_ms(900000000000000002), 0::bigint, 'forty-nine are borne');
select is(rest > 590000, true, 'with the fiftieth a server rests')
  from delivery_refused('{900000000000000002}', '{1}');
update refusal set since = since - interval '10 minutes';
select is(rest_ms(900000000000000002), 0::bigint, 'for ten minutes');
select refusals_add(900000000000000002, 1) \g /dev/null
select is(n, 1, 'after which it is counted anew')
  from refusal where guild_id = 900000000000000002;

delete from refusal where guild_id = 900000000000000002;
select count(refusals_told(900000000000000002, 50)) from generate_series(1, 60)
\g /dev/null
select is(count(*)::int, 0, 'nobody can rest a server that tested nothing')
  from refusal where guild_id = 900000000000000002;
insert into troubleshoot_use (guild_id, since, reports, tested_at)
values (900000000000000002, now(), 0, now());
select count(refusals_told(900000000000000002, 50)) from generate_series(1, 60)
\g /dev/null
select is(n, 1, 'a test message is refused once')
  from refusal where guild_id = 900000000000000002;

-- what waits for webhooks: of fifty lanes ten have entries that are young

create function pg_temp.expire(out lanes int, out entries int)
language sql as $$
    select count(f.head)::int, coalesce(sum(f.head), 0)::int
      from delivery_find('a/1/1', null, 0, 0) f where f.state = 'expired'
$$;

insert into lane (guild_id, lane, bot, channel_id, shard, since)
select :guild, n, 0, n, 0, now() - interval '2 hours'
  from generate_series(101, 150) n;
insert into lane_head (guild_id, lane)
select :guild, n from generate_series(101, 150) n;
insert into lane_tail (guild_id, lane, tail)
select :guild, n, case when n > 140 then 200 else 3 end
  from generate_series(101, 150) n;
insert into lane_ready (guild_id, lane, shard, since)
select :guild, n, 0, now() from generate_series(101, 150) n;
insert into log_arrival (guild_id, bot, id, arrival, recorded_at, type, lane,
                         seq, event_id, doc)
select t.guild_id, 0, time_id(ms(a.at)) + t.lane * 1000 + n,
       t.lane * 1000 + n, a.at, 7, t.lane, n, t.lane || ' ' || n, '{'
  from lane_tail t
 cross join lateral (select now() - case when t.lane > 140 then '0'
                                         else interval '25 h' end) a (at)
 cross join lateral generate_series(1, t.tail) n
 where t.guild_id = :guild and t.lane between 101 and 150;

create function pg_temp.expired()
returns int language sql as $$
    select count(*)::int
      from stored e
     cross join lateral lane_delivery(e.guild_id, e.lane, e.seq,
                                      to_timestamp(id_time(e.id) / 1000)) d
     where e.guild_id = 900000000000000001
       and e.lane between 101 and 150
       and d.reason = 'expired'
$$;

select is(lanes || ' ' || entries, '20 60', 'some expire')
  from pg_temp.expire();
select is(lanes || ' ' || entries, '20 60', 'then others')
  from pg_temp.expire();
select is(pg_temp.expired(), 120, 'until all have that are a day old');
select pg_temp.looks() as looks \gset
select is(lanes, 0, 'and no other does') from pg_temp.expire();
select is(pg_temp.looks() - :looks < 200, true,
          'only the first lanes are looked at');

-- one that was held stands behind younger ones

insert into lane (guild_id, lane, bot, channel_id, shard, since)
values (:guild, 151, 0, 151, 0, now() - interval '2 hours');
insert into lane_head (guild_id, lane) values (:guild, 151);
insert into lane_tail (guild_id, lane, tail) values (:guild, 151, 3);
insert into lane_ready (guild_id, lane, shard, since)
values (:guild, 151, 0, now());
insert into log_arrival (guild_id, bot, id, arrival, recorded_at, type, lane,
                         seq, event_id, doc)
select :guild, 0, time_id(ms(a.at)) + 151000 + n, 151000 + n, a.at, 7, 151, n,
       '151 ' || n, '{'
  from generate_series(1, 3) n
 cross join lateral (select now() - case when n = 2 then '23 h'
                                         else interval '25 h' end) a (at);

select is(lanes || ' ' || entries, '1 1', 'what is young does not expire')
  from pg_temp.expire();

-- lanes whose entries are past keeping; the third one still has one of them

insert into lane (guild_id, lane, bot, channel_id, shard, state)
select :guild, n, 0, n, 0, case when n = 202 then 'closing' else 'active' end
  from generate_series(201, 203) n;
insert into lane_head (guild_id, lane, head, upto)
select :guild, n, 2, 2 from generate_series(201, 203) n;
insert into lane_tail (guild_id, lane, tail)
select :guild, n, 5 from generate_series(201, 203) n;
insert into log_arrival (guild_id, bot, id, arrival, recorded_at, type, lane,
                         seq, event_id, doc)
values (:guild, 0, 203, 300000, now(), 7, 203, 5, '203', '{');

select is(string_agg(s.result, ', ' order by s.place), 'empty, closing, ok',
          'a lane that has only what is past keeping has come to its end')
  from shard_lease f
 cross join lateral delivery_step('a/1/1', (
           select jsonb_agg(jsonb_build_object('guild', :guild, 'lane', n,
                      'shard', 0, 'fence', f.fence, 'step', 0, 'changes', false,
                      'refused', false, 'peek', 2, 'most', 20) order by n)
             from generate_series(201, 203) n)) s
 where f.shard = 0 and s.result is not null;
select is(array_agg(t.tail - h.head order by t.lane), '{0,0,3}',
          'no entry is left in it')
  from lane_tail t
  join lane_head h on h.guild_id = t.guild_id and h.lane = t.lane
 where t.guild_id = :guild and t.lane between 201 and 203;

-- many looked up at once

insert into lane_head (guild_id, lane, head, upto, refused_to)
values (:guild, 5, 3003, 3010, 3020);
insert into lane_batch (guild_id, lane, seq_from, seq_to, message_id, done_at,
                        attempts, status, reason)
select :guild, 5, n * 7 + 1, n * 7 + 7, case when n % 3 = 0 then n end, now(),
       1, case when n % 3 = 0 then 2 else 0 end,
       case when n % 3 > 0 then 'expired' end
  from generate_series(0, 428) n;

-- how many of these are not what each is said to be by itself
create function pg_temp.differ(seqs bigint[])
returns int language sql as $$
    select count(*)::int
      from unnest(seqs) s (seq)
     cross join lateral lane_delivery(900000000000000001, 5, s.seq,
                                      to_timestamp(0)) l
      full join lane_deliveries(900000000000000001, 5, array(
               select row(x, 5, x, to_timestamp(0))::log_open
                 from unnest(seqs) x)) d
        on d.id = s.seq
     where (d.status, d.reason, d.message_id)
           is distinct from (l.status, l.reason, l.message_id)
$$;

select is(pg_temp.differ(array(select generate_series(2900, 3030))), 0,
          'a range of a lane up to what is queued');
select is(pg_temp.differ(array(select generate_series(3, 900, 2))), 0,
          'one that begins inside of a message');
select is(pg_temp.differ(array(select generate_series(3, 3030, 50))), 0,
          'and those far apart');

select * from finish();
rollback;
