-- What the lanes of this owner have before them, for the status page. Each
-- machine tells of its own shards, so that the sum over all machines is all.
-- Nearly all lanes are active and have nothing to do: these are counted, and
-- the others looked at.

create or replace function delivery_figures(me text, out status int,
    out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    mine    constant smallint[] := delivery_shards(me);
    lanes   constant bigint := (
        select count(*) from lane l
         where l.shard = any (mine) and l.state <> 'closed');
    others  record;
    held    bigint;
begin
    with odd as (
        select l.guild_id, l.lane from lane l
         where l.shard = any (mine) and l.state <> 'closed'
           and (l.state <> 'active' or l.paused_at is not null
                or l.reason is not null)
         union
        select p.guild_id, p.lane from lane_ready p
         where p.shard = any (mine)
         union
        select l.guild_id, l.lane
          from refusal r
          join lane l on l.guild_id = r.guild_id
         where l.shard = any (mine) and refusal_rest(r.since, r.n) > 0
    ), told as (
        select case when l.state = 'broken' then 'broken'
                    when l.paused_at is not null then 'paused'
                    when refusal_rest(r.since, r.n) > 0 then 'refused'
                    when p.parked_to > clock_timestamp() then 'parked'
                    when l.state = 'active'
                     and (l.reason is not null
                          or h.not_before > clock_timestamp())
                    then 'waiting' else l.state end as state,
               t.tail - h.head as backlog,
               case when t.tail > h.head and l.paused_at is null
                    then lane_age(l.guild_id, l.lane, h.head + 1) end as age_ms
          from odd o
          join lane l on l.guild_id = o.guild_id and l.lane = o.lane
          join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
          join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
          left join refusal r on r.guild_id = l.guild_id
          left join lane_ready p
            on p.guild_id = l.guild_id and p.lane = l.lane
         where l.state <> 'closed'
    ), counted as (
        select d.state, count(*) as n, sum(d.backlog) as backlog,
               max(d.age_ms) as oldest_ms
          from told d group by 1
    )
    select coalesce(jsonb_object_agg(c.state, c.n)
                        filter (where c.state <> 'active'), '{}') as states,
           coalesce(sum(c.n) filter (where c.state <> 'active'), 0) as n,
           coalesce(sum(c.backlog), 0) as backlog,
           coalesce(max(c.oldest_ms), 0) as oldest_ms
      into others from counted c;

    held := (select count(*) from log_arrival e
              where e.held_to is not null and e.dstatus is null
                and shard_of(e.guild_id) = any (mine));

    status := 200;
    body := case when lanes > others.n
                 then jsonb_build_object('active', lanes - others.n)
                 else '{}' end
            || others.states
            || jsonb_build_object('backlog', others.backlog,
                   'oldest_ms', others.oldest_ms, 'held', held);
end $$;
