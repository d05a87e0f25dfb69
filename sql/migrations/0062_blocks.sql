-- The entries of a store of before become blocks, and what arrived in the last
-- three days becomes log_arrival. Nothing is recorded meanwhile, 30 to 40
-- seconds for a million entries: it is refused with 503, and bots send it
-- again. All is read as before. It is one transaction with the functions of
-- this release.

set local lock_timeout = 0;
set local work_mem = '256MB';
set local enable_seqscan = off;
lock table log_head in exclusive mode;

-- What is held and not released is not in blocks, nor what came behind it.

create temp table upgraded on commit drop as
select h.guild_id, h.bot, h.arrival as last, coalesce((
           select min(e.arrival) - 1
             from held_entry x
             join log_entry e
               on e.guild_id = x.guild_id and e.bot = x.bot and e.id = x.id
            where x.guild_id = h.guild_id and x.bot = h.bot
              and not x.released), h.arrival) as blocked
  from log_head h;

do $$
declare
    u      record;
    today  constant int := (((extract(epoch from now()) * 1000)::bigint
                             - 1420070400000) / 86400000)::int;
begin
    for u in
        select * from upgraded order by guild_id, bot
    loop
        insert into log_block (guild_id, first_id, last_id, kinds0, kinds1, day,
                               settle, bot, n, lost, types, ids, said, docs)
        select u.guild_id, min(p.id), max(p.id),
               bit_or(case when p.type < 62 then 1::bigint << p.type
                      else 0 end),
               bit_or(case when p.type >= 62 then 1::bigint << (p.type - 62)
                      else 0 end),
               p.day,
               case when bool_or(p.dstatus is null and p.lane is not null)
                    then greatest(p.day + 3, today) end,
               u.bot, count(*), coalesce(bool_or(p.dstatus < 2), false),
               string_agg(chr(26 + p.type), '' order by p.id),
               array_agg(p.id order by p.id),
               string_agg(
                   case when p.dstatus = 0 and p.dreason is not null
                             and coalesce(p.lane, p.dchannel_id,
                                          p.dmessage_id) is null
                        then '0 r' || p.dreason
                        else concat_ws(' ', p.dstatus, 'r' || p.dreason,
                                       'c' || p.dchannel_id,
                                       'm' || p.dmessage_id, 'l' || p.lane,
                                       's' || p.seq) end, E'\n' order by p.id),
               string_agg(p.doc, E'\n' order by p.id)
          from (select e.id, e.type, e.dstatus, e.dchannel_id, e.dmessage_id,
                       e.doc, coalesce(e.lane, x.lane) as lane,
                       coalesce(e.seq, x.seq) as seq,
                       case when e.dstatus is not null or e.dreason <> 'held'
                            then e.dreason end as dreason,
                       ((e.id >> 22) / 86400000)::int as day,
                       (row_number() over (partition by (e.id >> 22) / 86400000
                                           order by e.id) - 1) / 64 as piece
                  from log_entry e
                  left join held_entry x
                    on x.guild_id = e.guild_id and x.bot = e.bot
                   and x.id = e.id and e.dstatus is null
                   and e.dreason = 'held'
                 where e.guild_id = u.guild_id and e.bot = u.bot
                   and e.arrival <= u.blocked) p
         group by p.day, p.piece;
    end loop;
end $$;

insert into log_day (guild_id, bot, day, counts)
select c.guild_id, c.bot, c.day, array_agg(c.n << 7 | c.type)::text
  from (select k.guild_id, k.bot, k.day, ascii(t.type) - 26 as type,
               count(*) as n
          from log_block k
         cross join lateral unnest(string_to_array(k.types, null)) t (type)
         group by 1, 2, 3, 4) c
 group by 1, 2, 3;

insert into log_actor (guild_id, bot, executor_id, last_id)
select e.guild_id, e.bot, e.executor_id, max(e.id)
  from log_entry e
  join upgraded u on u.guild_id = e.guild_id and u.bot = e.bot
 where e.executor_id is not null and e.arrival <= u.blocked
 group by 1, 2, 3;

-- Arrivals without a gap, up to the last one that was given.

insert into log_arrival (guild_id, arrival, recorded_at, id, lane, seq,
                         dchannel_id, held_to, bot, type, dstatus, dreason,
                         event_id, doc)
select k.guild_id,
       u.last - count(*) over (partition by k.guild_id, k.bot)
       + row_number() over (partition by k.guild_id, k.bot order by k.arrival),
       k.recorded_at, e.id, coalesce(e.lane, x.lane), coalesce(e.seq, x.seq),
       e.dchannel_id, case when not x.released then x.until end, k.bot,
       coalesce(e.type, 0), e.dstatus,
       case when e.dstatus is not null then e.dreason end, k.event_id, e.doc
  from log_event k
  join upgraded u on u.guild_id = k.guild_id and u.bot = k.bot
  left join log_entry e
    on e.guild_id = k.guild_id and e.bot = k.bot and e.id = k.entry_id
  left join held_entry x
    on x.guild_id = e.guild_id and x.bot = e.bot and x.id = e.id
 where k.recorded_at > now() - interval '3 days';

update log_head h
   set blocked = h.arrival - w.n,
       since = coalesce(w.since, now()) - interval '1 hour',
       last_at = greatest(w.last_at, now()),
       due_at = case when w.n > 0 then now() end
  from (select u.guild_id, u.bot, count(k.arrival) as n,
               min(k.recorded_at) as since, max(k.recorded_at) as last_at
          from upgraded u
          left join log_event k
            on k.guild_id = u.guild_id and k.bot = u.bot
           and k.arrival > u.blocked
           and k.recorded_at > now() - interval '3 days'
         group by 1, 2) w
 where h.guild_id = w.guild_id and h.bot = w.bot;

-- What still waits in a lane for longer is found as what was sent again.

insert into replay (guild_id, bot, id, lane, seq, at, first)
select e.guild_id, e.bot, e.id, e.lane, e.seq,
       to_timestamp(((e.id >> 22) + 1420070400000) / 1000.0), true
  from lane_tail t
  join lane_head h
    on h.guild_id = t.guild_id and h.lane = t.lane and t.tail > h.head
  join (select n.guild_id, n.bot, n.id, n.lane, n.seq from log_entry n
         where n.lane is not null and n.dstatus is null
         union all
        select x.guild_id, x.bot, x.id, x.lane, x.seq from held_entry x
         where x.lane is not null) e
    on e.guild_id = t.guild_id and e.lane = t.lane and e.seq > h.head
 where not exists (select from log_arrival a
                    where a.guild_id = e.guild_id and a.lane = e.lane
                      and a.seq = e.seq)
on conflict do nothing;

-- The index of searches speaks of other arrivals: it is made anew.

update search_head set format = 0, erased = erased + 1, taken_to = null;
update forgotten_person p
   set arrivals = array(
           select coalesce((select h.arrival from log_head h
                             where h.guild_id = p.guild_id and h.bot = b), 0)
             from generate_series(0, 1) b order by b);

do $$
begin
    if exists (select from pg_attribute
                where attrelid = to_regclass('status_servers')
                  and attname = 'not_counted')
    then
        alter view status_servers
            rename column not_counted to not_in_blocks;
    end if;
end $$;

analyze log_block;
reset enable_seqscan;
