-- What the lanes of this owner have before them, for the status page. Each
-- machine tells of its own shards, so that the sum over all machines is all.

create or replace function delivery_figures(me text, out status int,
    out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    mine   constant smallint[] := delivery_shards(me);
    lanes  jsonb;
    waits  record;
    held   bigint;
begin
    select jsonb_object_agg(c.state, c.n) into lanes
      from (select case when l.state = 'broken' then 'broken'
                        when l.paused_at is not null then 'paused'
                        when refusal_rest(r.since, r.n) > 0 then 'refused'
                        when p.lane is not null then 'parked'
                        when l.state = 'active'
                         and (l.reason is not null
                              or h.not_before > clock_timestamp())
                        then 'waiting' else l.state end as state,
                   count(*) as n
              from lane l
              join lane_head h
                on h.guild_id = l.guild_id and h.lane = l.lane
              left join refusal r on r.guild_id = l.guild_id
              left join lane_ready p
                on p.guild_id = l.guild_id and p.lane = l.lane
               and p.parked_to > clock_timestamp()
             where l.shard = any (mine) and l.state <> 'closed'
             group by 1) c;

    select coalesce(sum(t.tail - h.head), 0) as backlog,
           coalesce(max(lane_age(l.guild_id, l.lane, h.head + 1))
                    filter (where l.paused_at is null), 0) as oldest_ms
      into waits
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
      join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
     where l.shard = any (mine) and l.state <> 'closed'
       and t.tail > h.head;

    held := (select count(*) from held_entry e
              where not e.released and e.channel_id is not null
                and shard_of(e.guild_id) = any (mine));

    status := 200;
    body := coalesce(lanes, '{}') || to_jsonb(waits)
            || jsonb_build_object('held', held);
end $$;
