-- How fast the log channels fill, and how well.

call type_make('pacing', $$
    "channelId"         text,
    "ratePerMinute"     int,       -- messages in the last minute
    "ceilingPerMinute"  int,
    "overCeiling"       boolean,
    "failureRatio"      float8,    -- of the attempts of the last 5 minutes
    unhealthy           boolean,
    queued              bigint,
    "oldestQueuedMs"    bigint,    -- its age; 0: nothing is queued
    state               text,
    "stateReason"       text
$$);


-- One row for each log channel of the bot. A message that took three attempts
-- failed twice; so did one that is refused for now and waits for its third.

create or replace function pacing_rows(guild bigint, bot smallint)
returns setof pacing language plpgsql stable as $$
declare
    rests  constant boolean := rest_ms(guild) > 0;
begin
    return query
        select l.channel_id::text, r.messages, 30, r.messages > 30, f.ratio,
               l.state = 'broken' or w.waits or w.parked or rests
               or f.ratio > 0.5,
               t.tail - h.head,
               case when t.tail > h.head
                    then lane_age(guild, l.lane, h.head + 1) else 0 end,
               case when l.state = 'broken' then 'broken'
                    when l.paused_at is not null or rests or w.parked
                      or l.state = 'active' and w.waits then 'paused'
                    else l.state end,
               case when l.state = 'broken' then l.reason
                    when l.paused_at is not null then 'operator'
                    when rests then 'refused'
                    when w.parked then 'internal_error'
                    else coalesce(l.reason,
                                  case when w.waits then 'retrying' end) end
          from lane l
          join lane_head h on h.guild_id = guild and h.lane = l.lane
         cross join lateral tail_of(guild, l.lane) t
         cross join lateral (
                   select l.reason is not null
                          or h.refused_to > h.head
                             and coalesce(h.not_before > clock_timestamp(),
                                          false),
                          exists (select from lane_ready p
                                   where p.guild_id = guild
                                     and p.lane = l.lane
                                     and p.parked_to > clock_timestamp())
               ) w (waits, parked)
         cross join lateral (
                   select count(*) filter (
                              where b.status = 2
                                and b.done_at > now() - interval '1 minute'
                          )::int,
                          count(*) filter (where b.status = 2),
                          sum(greatest(b.attempts, 1))
                     from lane_batch b
                    where b.guild_id = guild and b.lane = l.lane
                      and b.done_at > now() - interval '5 minutes'
               ) r (messages, good, attempts)
         cross join lateral (
                   select greatest(0, h.attempts - (h.upto > h.head)::int)
               ) p (refused)
         cross join lateral (
                   select round(coalesce(1 - r.good::numeric / nullif(
                              coalesce(r.attempts, 0) + p.refused, 0), 0), 3
                          )::float8) f (ratio)
         where l.guild_id = guild
           and l.bot = pacing_rows.bot
           and l.state in ('registering', 'active', 'broken')
         order by l.channel_id;
end $$;


-- How long that entry of a lane has waited, in ms.

create or replace function lane_age(guild bigint, lane bigint, seq bigint)
returns bigint language plpgsql stable as $$
begin
    return greatest(0, ms(clock_timestamp()) - id_time((
        select min(e.id)
          from (select n.id from log_arrival n
                 where n.guild_id = guild and n.lane = lane_age.lane
                   and n.seq = lane_age.seq
                 union all
                select time_id(ms(r.at)) from replay r
                 where r.guild_id = guild and r.lane = lane_age.lane
                   and r.seq = lane_age.seq) e)));
end $$;


-- GET /config/logging/pacing

create or replace function pacing_get(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, json_build_object('channels', coalesce(
        (select json_agg(p) from pacing_rows(guild, bot) p), '[]'))::text);
end $$;
