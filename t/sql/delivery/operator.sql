-- What did not arrive, sending it again, and pausing: by the schema alone.

\ir ../setup.psql
select ms(now()) as now \gset
select plan(74);

create function pg_temp.send(n int, type int default 7)
returns setof bigint language sql as $$
    select i::bigint from jsonb_array_elements_text(record(900000000000000001,
        0::smallint, (select jsonb_agg(jsonb_build_object(
            'event_id', gen_random_uuid(), 'type', type))
            from generate_series(1, n))) -> 'ids') i
$$;

-- what is said of an entry: status, reason or message, channel
create function pg_temp.said(id bigint)
returns text language sql as $$
    select concat_ws(' ', delivery_word(d.status), coalesce(d.reason, d.message_id::text),
                     d.channel_id)
      from stored e
     cross join lateral delivery_of(e.guild_id, e.bot, row(e.id, e.type,
         e.dstatus, e.lane, e.seq, e.dchannel_id, e.dmessage_id, e.dreason,
         e.doc)::log_found) d
     where e.guild_id = 900000000000000001 and e.id = said.id
$$;

-- a step of the lane of that channel: its result
create function pg_temp.step(channel bigint, work jsonb)
returns text language sql as $$
    select s.result from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
      join shard_lease f on f.shard = l.shard
     cross join lateral delivery_step('a/1/1', jsonb_build_array(
         jsonb_build_object('guild', l.guild_id, 'lane', l.lane, 'shard',
             l.shard, 'fence', f.fence, 'step', h.step + 1, 'changes', true,
             'refused', false) || work)) s
     where l.guild_id = 900000000000000001 and l.state <> 'closed'
       and l.channel_id = channel and s.result is not null
$$;

-- all that waits in the lane ends so
create function pg_temp.ends(channel bigint, status int, why text,
    message bigint default null)
returns text language sql as $$
    select pg_temp.step(channel, jsonb_build_object('done_to', t.tail,
               'status', status, 'reason', why, 'message', message,
               'attempts', 1))
      from lane l join lane_tail t using (guild_id, lane)
     where l.guild_id = 900000000000000001 and l.state <> 'closed'
       and l.channel_id = channel
$$;

-- {field, …} of the answer to a replay
create function pg_temp.replay(input jsonb)
returns text language sql as $$
    select (body::jsonb - 'cursor')::text
      from operator_replay(900000000000000001, input)
$$;

-- ids and reasons that are listed, in order
create function pg_temp.lists(reasons text[])
returns text language sql as $$
    select coalesce(string_agg((e ->> 'id') || ' ' || (e ->> 'reason'), ', '
                               order by n), '')
      from operator_undelivered(900000000000000001, reasons, null, null, null,
                                null, 100, null) u
     cross join lateral json_array_elements(u.body::json -> 'entries')
                with ordinality x (e, n)
$$;

create function pg_temp.peek(lane bigint)
returns table (seq bigint, expired boolean) language sql as $$
    select p.seq, p.expired from lane_head h
     cross join lateral delivery_peek(h.guild_id, h.lane, h.head, 20) p
     where h.lane = peek.lane
$$;

create function pg_temp.numbers(guild bigint)
returns text language sql as $$
    select coalesce(max((s -> 'reasons')::text), '{}')
      from operator_backlog(null, 1000, null) b
     cross join lateral json_array_elements(b.body::json -> 'servers') s
     where s ->> 'server' = guild::text
$$;

-- What is said has to be the same when entries are in blocks, when these say how
-- deliveries were decided, and when nothing but the blocks is left, for as long
-- as nothing waits.

create function pg_temp.blocked(lasting boolean)
returns void language plpgsql as $$
begin
    perform block_make(900000000000000001, 0::smallint);
    update log_block k set settle = 0
     where k.guild_id = 900000000000000001 and k.settle is not null;
    perform blocks_settle(900000000000000001, 0::smallint, 100);

    if not lasting
       and not exists (select from log_block k
                        where k.guild_id = 900000000000000001
                          and k.settle is not null)
    then
        delete from log_arrival a where a.guild_id = 900000000000000001;
    end if;
end $$;

create function pg_temp.always(statement text)
returns text language plpgsql as $$
declare
    it       text;
    as_well  text;
begin
    execute statement into it;
    foreach as_well in array '{true,false}'::text[] loop
        begin
            perform pg_temp.blocked(as_well::boolean);
            execute statement into as_well;
            raise exception using errcode = 'GL999';
        exception when sqlstate 'GL999' then
            if as_well is distinct from it then
                return format('%s, but in blocks %s', it, as_well);
            end if;
        end;
    end loop;

    return it;
end $$;

create function pg_temp.delivery(id bigint)
returns text language sql as $$
    select pg_temp.always(format('select pg_temp.said(%s)', id))
$$;

create function pg_temp.listed(variadic reasons text[] default null)
returns text language sql as $$
    select pg_temp.always(format('select pg_temp.lists(%L)', reasons))
$$;

create function pg_temp.counts(guild bigint)
returns text language sql as $$
    select pg_temp.always(format('select pg_temp.numbers(%s)', guild))
$$;

create function pg_temp.found(channel bigint)
returns boolean language sql as $$
    select exists (select from delivery_find('a/1/1', null, 0, 0) f
                    where f.guild = 900000000000000001
                      and f.channel = found.channel
                      and f.state is not null)
$$;

update shard_lease set owner = null, until = '-infinity';
delete from delivery_node;
select count(*) from delivery_lease('a/1/1', '{}', '{}', false) \g /dev/null


-- a server that has one entry of each kind

delete from log_arrival where guild_id = :guild;

select is(pg_temp.listed(), '', 'a new server lacks nothing');
select pg_temp.send(1) as no_channel \gset
select is(pg_temp.listed(), :'no_channel' || ' no_channel',
          'without a channel an entry goes nowhere');
select channels_patch(:me, '{"main_channel": "10", "category_voice": "0"}')
\g /dev/null
update lane set state = 'active', webhook_id = 5, secret = '\x00'
 where guild_id = :guild;
select pg_temp.ends(10, 2, null, 70) \g /dev/null
select pg_temp.send(1, 17) as off \gset
select pg_temp.send(1) as gone \gset
select is(pg_temp.delivery(:gone), 'not_delivered queued 10', 'it waits');
select is(pg_temp.listed('queued'), :'gone' || ' queued', 'and is listed');
select pg_temp.ends(10, 0, 'webhook_404') \g /dev/null
select pg_temp.send(1) as bad \gset
select pg_temp.ends(10, 0, 'rejected') \g /dev/null
select pg_temp.send(1) as doubtful \gset
select pg_temp.ends(10, 1, 'unconfirmed') \g /dev/null
select pg_temp.send(1) as good \gset
select pg_temp.ends(10, 2, null, 77) \g /dev/null

select is(pg_temp.listed(),
          format('%s no_channel, %s off, %s webhook_404, %s rejected, '
                 '%s unconfirmed', :no_channel, :off, :gone, :bad, :doubtful),
          'undelivered entries are listed, and no others');
select is(pg_temp.listed('off', 'rejected'),
          format('%s off, %s rejected', :off, :bad), 'by reason');
select is(pg_temp.counts(:guild), '{ "no_channel" : 1, "off" : 1, '
          '"rejected" : 1, "unconfirmed" : 1, "webhook_404" : 1 }',
          'they are counted');
-- other files have servers of their own

select is(count(*), 0::bigint, 'of servers behind the cursor')
  from operator_backlog(null, 1000, :guild) b,
       json_array_elements(b.body::json -> 'servers') s
 where (s ->> 'server')::bigint <= :guild;
select is(string_agg(s ->> 'reasons', ''), '{ "off" : 1 }', 'by reason, too')
  from operator_backlog('{off}', 1000, :guild - 1) b,
       json_array_elements(b.body::json -> 'servers') s
 where (s ->> 'server')::bigint = :guild;

-- a page looks at no other servers than its own and the next one

select operator_server_put(:guild + 1, '{"plan": "pro"}'),
       operator_server_put(:guild + 2, '{"plan": "pro"}') \g /dev/null
select record(g, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', i, 'type', 7)))
  from (values (:guild + 1, 3), (:guild + 2, 5000)) s (g, n)
 cross join lateral generate_series(1, s.n) i group by g \g /dev/null
delete from log_arrival where guild_id > :guild + 2;     -- of other files

-- in tables as small as these all rows may be the nearest way to a few

set local enable_seqscan = off;
set local enable_bitmapscan = off;
discard plans;

select pg_temp.looks() as before \gset
select is(body::jsonb - 'servers', jsonb_build_object('cursor', :guild::text),
          'each page has a cursor')
  from operator_backlog(null, 1, :guild - 1);
select cmp_ok(pg_temp.looks() - :before, '<', 1000::bigint,
              'without a look at all servers behind it');
select is(body::jsonb #>> '{servers,0,reasons}', '{"no_channel": 3}',
          'the cursor leads to the next page')
  from operator_backlog(null, 1, :guild);
select is((select string_agg(s ->> 'entries', ',')
             from json_array_elements(body::json -> 'servers') s), '3,5000',
          'the last page has no cursor')
  from operator_backlog('{no_channel}', 1000, :guild);
select is(body::json ->> 'cursor', null, 'which has none')
  from operator_backlog('{no_channel}', 2, :guild);

-- nor at more than a thousand for the sake of a reason

insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at, attempts,
                        status, reason)
select :guild + 10 + n, 1, 1, 1, now(), 1, 0, 'rejected'
  from generate_series(1, 1100) n;
select is(body::jsonb, jsonb_build_object('servers', '[]'::jsonb, 'cursor',
          (:guild + 1010)::text), 'a page may be empty')
  from operator_backlog('{off}', 1000, :guild + 10);
select is(body::json ->> 'cursor', null, 'its cursor leads to the end')
  from operator_backlog('{off}', 1000, :guild + 1010);
delete from lane_batch where guild_id > :guild + 10;

create function pg_temp.heads()
returns bigint language sql as $$
    select sum(s.idx_tup_fetch + s.seq_tup_read)::bigint
      from pg_stat_xact_user_tables s where s.relname = 'lane_head'
$$;
insert into lane (guild_id, lane, bot, channel_id, shard)
select :guild + 3, i, 0, i, 0 from generate_series(1, 1000) i;
insert into lane_tail (guild_id, lane)
select :guild + 3, i from generate_series(1, 1000) i;
insert into lane_head (guild_id, lane)
select :guild + 3, i from generate_series(1, 1000) i;
select pg_temp.heads() as before \gset
select is(json_array_length(body::json -> 'servers'), 2, 'of those servers')
  from operator_backlog('{no_channel}', 1000, :guild);
select cmp_ok(pg_temp.heads() - :before, '<', 100::bigint,
              'and without a look at the lanes that are empty');
reset enable_seqscan;
reset enable_bitmapscan;
discard plans;
delete from lane where guild_id = :guild + 3;
delete from lane_tail where guild_id = :guild + 3;
delete from lane_head where guild_id = :guild + 3;
delete from log_arrival where guild_id in (:guild + 1, :guild + 2);

-- paging

create temp table seen on commit drop as
with recursive page as (
    select body::json as doc from operator_undelivered(900000000000000001,
        null, null, null, null, null, 2, null)
    union all
    select u.body::json from page
     cross join lateral operator_undelivered(900000000000000001, null, null,
         null, null, null, 2, page.doc ->> 'cursor') u
     where page.doc ->> 'cursor' is not null)
select e ->> 'id' as id from page, json_array_elements(doc -> 'entries') e;
select is((select count(distinct id) || ' ' || count(*) from seen), '5 5',
          'pages have each entry once');
select throws_ok(format('select operator_undelivered(%s, null, null, null,
    null, null, 2, %L)', :guild, c), 'GL400', null, 'no cursor: ' || c)
  from unnest('{x,1,1.,-1.2,1.99999999999999999999}'::text[]) c;
select throws_ok('select operator_undelivered(5, null, null, null, null, null,
    2, null)', 'GL404', null, 'an unknown server');

-- again

select throws_ok(format('select operator_replay(%s, %L)', :guild, i), 'GL400',
                 null, 'refused: ' || i)
  from unnest(array['{"reasons": ["queued"]}', '{"reasons": ["held"]}',
                    '{"reasons": ["unconfirmed"]}', '{"cursor": "x"}',
                    '{"reasons": ["unconfirmed"], "mayDuplicate": false}'
             ]) i;

select is(pg_temp.replay('{}'),
          '{"skipped": {}, "replayed": 1, "mayDuplicate": 0}',
          'failed entries are replayed, and no others');
select is(pg_temp.delivery(:gone), 'not_delivered queued 10', 'it waits');
select is(pg_temp.listed('queued', 'webhook_404'), :'gone' || ' queued',
          'a replayed entry is listed once');
select is(pg_temp.replay('{}'),
          '{"skipped": {}, "replayed": 0, "mayDuplicate": 0}',
          'the same again changes nothing');
select is(string_agg(p.seq || ' ' || (p.doc::json ->> 'id'), ','), t.tail
          || ' ' || :'gone', 'delivery sees the replayed entry')
  from lane l join lane_tail t using (guild_id, lane)
  join lane_head h using (guild_id, lane)
 cross join lateral (select seq, doc || '}' as doc, expired
                       from delivery_peek(:guild, l.lane, h.head, 20)) p
 where l.guild_id = :guild and not p.expired group by t.tail;
select pg_temp.step(10, jsonb_build_object('begin_to', t.tail))
  from lane l join lane_tail t using (guild_id, lane)
 where l.guild_id = :guild \g /dev/null
select is(pg_temp.delivery(:gone), 'unknown in_flight 10', 'it is sent');
select pg_temp.ends(10, 0, 'forbidden') \g /dev/null
select is(pg_temp.delivery(:gone), 'not_delivered forbidden 10',
          'a replayed entry may fail again');
select is(pg_temp.listed('webhook_404', 'forbidden'), :'gone' || ' forbidden',
          'for another reason');
select channels_patch(:me, '{"main_channel": "11"}') \g /dev/null
select is(pg_temp.replay('{"channel": "11"}')::jsonb ->> 'replayed', '0',
          'another channel has no such entry');
select is(pg_temp.replay('{"channel": "10"}')::jsonb ->> 'replayed', '1',
          'its own channel has it');
select is(pg_temp.delivery(:gone), 'not_delivered queued 11',
          'it goes to the channel of today');
update lane set state = 'active', webhook_id = 6, secret = '\x00'
 where guild_id = :guild and channel_id = 11;
select pg_temp.ends(11, 2, null, 78) \g /dev/null
select is(pg_temp.delivery(:gone), 'delivered 78 11', 'and arrives');
select is(pg_temp.replay(format('{"ids": ["%s", "%s"]}', :gone, :good)::jsonb)
          ::jsonb ->> 'replayed', '0', 'what arrived never goes again');

update log_arrival set dstatus = 0, dreason = 'webhook_404', lane = null
 where guild_id = :guild and id = :gone;
select is(pg_temp.delivery(:gone), 'delivered 78 11',
          'and its row cannot say otherwise');
select is(pg_temp.listed('webhook_404'), '', 'nor the list');

update log_arrival set dstatus = 0, dreason = 'rejected', lane = null
 where guild_id = :guild and id = :bad;
select is(pg_temp.listed('rejected'), :'bad' || ' rejected',
          'a status of its own is one, and listed once');

-- what has to be named

select is(pg_temp.replay(format('{"ids": ["%s", "%s", "%s", "%s"]}', :bad,
                                :off, :no_channel, :doubtful)::jsonb),
          '{"skipped": {}, "replayed": 0, "mayDuplicate": 0}',
          'ids alone choose none of these');
select is(pg_temp.replay('{"reasons": ["off", "no_channel", "rejected",
                                       "unconfirmed"],
                           "mayDuplicate": true}'),
          '{"skipped": {"off": 1}, "replayed": 3, "mayDuplicate": 1}',
          'but for what is still off, named they go');
select is(pg_temp.delivery(:off), 'not_delivered off', 'that stays');
select is(pg_temp.delivery(:no_channel), 'not_delivered queued 11',
          'a channel was found');
select is(pg_temp.delivery(:doubtful), 'not_delivered queued 11',
          'entries in doubt are replayed if named');
select pg_temp.ends(11, 0, 'expired') \g /dev/null
update lane set state = 'broken', reason = 'webhook_404'
 where guild_id = :guild and channel_id = 11;
select is(pg_temp.replay('{}')::jsonb -> 'skipped', '{"lane_broken": 3}',
          'a broken lane gets no entries');
update lane set state = 'active', reason = null
 where guild_id = :guild and channel_id = 11;

-- a page at a time

select is(pg_temp.replay('{"limit": 2}')::jsonb ->> 'replayed', '2',
          'as many at once as "limit" says');
select is(pg_temp.replay('{"limit": 2}')::jsonb ->> 'replayed', '1',
          'the rest follows');

-- paused

select lane from lane where guild_id = :guild and channel_id = 11 \gset
select throws_ok(format('select operator_lane_pause(%s, 5)', :guild),
                 'GL404', null, 'an unknown lane');
select operator_lane_pause(:guild, :lane) \g /dev/null
select is(pg_temp.found(11), false, 'nobody delivers what is paused');
select is(pg_temp.step(11, jsonb_build_object('begin_to', h.head + 1)),
          'paused', 'a worker that has the lane begins nothing')
  from lane_head h where h.guild_id = :guild and h.lane = :lane;
select is(h.upto, h.head, 'so nothing is in flight')
  from lane_head h where h.guild_id = :guild and h.lane = :lane;
select record(:guild, 0::smallint, json_build_array(json_build_object(
    'event_id', 'old', 'type', 7, 'timestamp', :now - 2 * 86400000))::jsonb)
    #>> '{ids,0}' as old \gset
update log_arrival set recorded_at = now() - interval '2 days'
 where guild_id = :guild and id = :old;
update log_head set since = '-infinity' where guild_id = :guild;
update replay set at = now() - interval '2 days' where guild_id = :guild;
select is(string_agg(seq::text, ',') filter (where expired),
          (select tail::text from lane_tail where lane = :lane),
          'it holds one that is too old')
  from pg_temp.peek(:lane);
select operator_lane_resume(:guild, :lane) \g /dev/null
select is(pg_temp.found(11), true, 'resumed, it is found');
select is(bool_or(expired), false, 'and nothing is too old any more')
  from pg_temp.peek(:lane);
update lane set resumed_at = now() - interval '25 hours' where lane = :lane;
select is(count(*) filter (where expired)::int, 1, 'for a day')
  from pg_temp.peek(:lane);
update lane_head h set head = t.tail, upto = t.tail from lane_tail t
 where h.lane = :lane and t.lane = :lane;
insert into lane_batch
select :guild, :lane, seq, seq, null, now(), 0, 0, 'expired'
  from stored where guild_id = :guild and id = :old;
select is(pg_temp.replay('{"reasons": ["expired"]}')::jsonb ->> 'replayed',
          '1', 'an entry that was too old is replayed');
select is(bool_or(expired), false, 'and is young then')
  from pg_temp.peek(:lane);

-- paused for longer than entries are kept

select operator_lane_pause(:guild, :lane) \g /dev/null
delete from replay where guild_id = :guild;
update lane_head set upto = head + 1 where lane = :lane;
select operator_lane_resume(:guild, :lane) \g /dev/null
select is(t.tail - h.head, 1::bigint, 'what may have been sent is not decided')
  from lane_head h join lane_tail t using (guild_id, lane)
 where h.lane = :lane;
update lane_head set upto = head where lane = :lane;
select operator_lane_pause(:guild, :lane), operator_lane_resume(:guild, :lane)
    \g /dev/null
select is(h.head, t.tail, 'a lane that has nothing left waits for nothing')
  from lane_head h join lane_tail t using (guild_id, lane)
 where h.lane = :lane;

select operator_pause(:guild) \g /dev/null
select channels_patch(:me, '{"main_channel": "12"}') \g /dev/null
select is(pg_temp.found(12), false, 'a server that is paused opens paused lanes');
select operator_resume(:guild) \g /dev/null
select is(pg_temp.found(12), true, 'until it is resumed');

-- after a backup was restored

update lane set webhook_id = 7, secret = '\x00', state = 'active'
 where guild_id = :guild and channel_id = 12;
select pg_temp.send(1) \g /dev/null
select pg_temp.send(1) as e1 \gset restored_
select cmp_ok(deliveries_unsure()::int, '>=', 2, 'what waits is in doubt');
select is(pg_temp.delivery(:restored_e1), 'unknown unconfirmed 12',
          'it is not sent by itself');
select is(deliveries_unsure()::int, 0, 'there is no more of it');
select is(pg_temp.replay(format('{"ids": ["%s"], "reasons": ["unconfirmed"],
    "mayDuplicate": true}', :restored_e1)::jsonb)::jsonb ->> 'mayDuplicate',
    '1', 'it may be sent again');

-- what an alert said

select alert_create(:me, '{"name": "it", "types": [7], "count": 1, "seconds": 1,
                           "by": "server", "channel": "13"}') \g /dev/null
select pg_temp.send(1) \g /dev/null
select id as told from stored where guild_id = :guild and type = 101 \gset
select pg_temp.ends(13, 0, 'channel_gone') \g /dev/null
select pg_temp.replay(format('{"ids": ["%s"]}', :told)::jsonb) \g /dev/null
select is(pg_temp.said(:told), 'not_delivered queued 13',
          'what an alert said goes where the alert does');
select pg_temp.ends(13, 0, 'channel_gone') \g /dev/null
select alert_delete(:me, a.alert_id) from alert a \g /dev/null
select pg_temp.replay(format('{"ids": ["%s"]}', :told)::jsonb) \g /dev/null
select is(pg_temp.said(:told), 'not_delivered queued 12',
          'and where its type does once the alert is gone');

select * from finish();
rollback;
