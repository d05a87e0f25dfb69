-- A channel belongs to one server, refusals are counted by server, and closed
-- lanes are deleted.

alter table lane
    add column verified_at timestamptz,  -- when its channel was found to be
                                         -- the server's; null: not yet
    add column refused_at timestamptz,   -- when it was last refused as a whole
    add column again_at timestamptz,     -- when a request last had it tried
                                         -- again; may lie ahead
    add column told text,                -- the trouble the server was told of
    add column look_at timestamptz;      -- closed: may it be deleted by then?

update lane set told = reason where reason is not null;

-- Who else has this channel, and who else this webhook: the two questions that
-- are asked across servers.

create index directory_channel on directory (id) where kind = 1;
create index lane_webhook on lane (webhook_id) where webhook_id is not null;

create index lane_closed on lane (look_at) where state = 'closed';


-- What the platform refused to a server in the ten minutes that began then.

create table refusal (
    guild_id  bigint primary key,
    since     timestamptz not null,
    n         int not null
) with (fillfactor = 50);


-- Lanes to a channel that the directory knows under another server, and not
-- under theirs: nothing of them goes on. Their webhook may be the other
-- server's, so it is forgotten and not deleted. What is in flight is looked for
-- first: those lanes end when they are verified.

create temporary table lane_astray on commit drop as
select l.guild_id, l.lane, l.bot, l.channel_id, t.tail > h.head as waits
  from lane l
  join lane_head h
    on h.guild_id = l.guild_id and h.lane = l.lane and h.upto = h.head
  join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
 where l.state <> 'closed'
   and exists (select from directory d
                where d.kind = 1 and d.id = l.channel_id
                  and d.guild_id <> l.guild_id)
   and not exists (select from directory d
                    where d.guild_id = l.guild_id and d.kind = 1
                      and d.id = l.channel_id);

update lane l
   set state = case when l.state = 'closing' and not a.waits
                    then 'closed' else 'broken' end,
       reason = 'foreign_channel', told = 'foreign_channel', since = now(),
       webhook_id = null, secret = null, asked_at = null
  from lane_astray a
 where l.guild_id = a.guild_id and l.lane = a.lane;

insert into notification
select a.guild_id, a.bot,
       (((extract(epoch from clock_timestamp()) * 1000)::bigint
         - 1420070400000) << 22) | nextval('entry_number'),
       clock_timestamp(), 68, 'A log channel does not work',
       'channel ' || a.channel_id || ': foreign_channel', 0
  from lane_astray a;

delete from lane_ready r
 using lane_astray a
 where r.guild_id = a.guild_id and r.lane = a.lane and not a.waits;
insert into lane_ready (guild_id, lane, shard, since)
select l.guild_id, l.lane, l.shard, clock_timestamp()
  from lane_astray a
  join lane l on l.guild_id = a.guild_id and l.lane = a.lane
 where a.waits
on conflict on constraint lane_ready_pkey
    do update set since = excluded.since;

update lane set look_at = now() where state = 'closed';
