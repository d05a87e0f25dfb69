-- Lanes that the operator stops, and lets go on. Nothing is lost meanwhile:
-- what is recorded joins the lane, and nothing in it expires.


-- GET /servers/{guild}/lanes

create or replace function operator_lanes(guild bigint, out status int,
    out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    if not exists (select from server s where s.guild_id = guild) then
        perform refuse(404, 'server: unknown');
    end if;

    status := 200;
    body := json_build_object(
        'paused', (select s.paused_at is not null from server s
                    where s.guild_id = guild),
        'lanes', coalesce((
            select json_agg(json_build_object('lane', l.lane::text,
                       'bot', bot_name(l.bot),
                       'channelId', l.channel_id::text, 'state', l.state,
                       'reason', l.reason, 'since', ms(l.since),
                       'paused', l.paused_at is not null,
                       'queued', t.tail - h.head,
                       'oldestQueuedMs', case when t.tail > h.head
                           then lane_age(guild, l.lane, h.head + 1)
                           else 0 end)
                       order by l.lane)
              from lane l
              join lane_head h on h.guild_id = guild and h.lane = l.lane
             cross join lateral tail_of(guild, l.lane) t
             where l.guild_id = guild and l.state <> 'closed'), '[]'));
end $$;


-- POST /servers/{guild}/lanes/{lane}/pause

create or replace function operator_lane_pause(guild bigint, lane bigint,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    perform server_lock(guild);
    perform lane_known(guild, lane);
    perform lanes_pause(guild, array[lane]);
    status := 200;
    body := '{}';
end $$;


-- POST /servers/{guild}/lanes/{lane}/resume

create or replace function operator_lane_resume(guild bigint, lane bigint,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    perform server_lock(guild);
    perform lane_known(guild, lane);
    perform lanes_resume(guild, array[lane]);
    status := 200;
    body := '{}';
end $$;


-- POST /servers/{guild}/pause: all lanes, and those to come.

create or replace function operator_pause(guild bigint, out status int,
    out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    perform server_lock(guild);
    update server s set paused_at = now()
     where s.guild_id = guild and s.paused_at is null;
    perform heads_lock(guild);
    perform lanes_pause(guild, array(
        select l.lane from lane l
         where l.guild_id = guild and l.state <> 'closed'));
    status := 200;
    body := '{}';
end $$;


-- POST /servers/{guild}/resume: all lanes, those too that were paused alone.

create or replace function operator_resume(guild bigint, out status int,
    out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    perform server_lock(guild);
    update server s set paused_at = null where s.guild_id = guild;
    perform heads_lock(guild);
    perform lanes_resume(guild, array(
        select l.lane from lane l
         where l.guild_id = guild and l.state <> 'closed'));
    status := 200;
    body := '{}';
end $$;


-- Who records takes lanes in two rounds where an alert fires: nobody else takes
-- several of them meanwhile.

create or replace function heads_lock(guild bigint)
returns void language plpgsql as $$
begin
    perform from log_head h where h.guild_id = guild order by h.bot
        for no key update;
end $$;


create or replace function lane_known(guild bigint, lane bigint)
returns void language plpgsql as $$
begin
    perform from lane l
      where l.guild_id = guild and l.lane = lane_known.lane
        and l.state <> 'closed';

    if not found then
        perform refuse(404, 'lane: unknown');
    end if;
end $$;


create or replace function lanes_pause(guild bigint, lanes bigint[])
returns void language plpgsql as $$
begin
    perform lanes_lock(guild, lanes);
    update lane l
       set paused_at = now()
     where l.guild_id = guild and l.lane = any (lanes)
       and l.paused_at is null;
end $$;


-- They go on at once, with all they have but for what is not kept any more.

create or replace function lanes_resume(guild bigint, lanes bigint[])
returns void language plpgsql as $$
declare
    resumed  bigint;
begin
    perform lanes_lock(guild, lanes);

    for resumed in
        update lane l
           set paused_at = null, resumed_at = now()
         where l.guild_id = guild and l.lane = any (lanes)
           and l.paused_at is not null
        returning l.lane
    loop
        perform lane_skip(guild, resumed);
        perform lane_wake(guild, resumed);
    end loop;
end $$;


-- In one order, the rows of lane_tail first, as whoever adds to them does.

create or replace function lanes_lock(guild bigint, lanes bigint[])
returns void language plpgsql as $$
begin
    perform from lane_tail t
      where t.guild_id = guild and t.lane = any (lanes)
      order by t.lane for update;
    perform from lane l
      where l.guild_id = guild and l.lane = any (lanes)
      order by l.lane for update;
end $$;


-- A lane that was paused for longer than entries are kept has nothing left of
-- them to send.

create or replace function lane_skip(guild bigint, lane bigint)
returns void language plpgsql as $$
declare
    gone  record;
begin
    select h.head, t.tail into gone
      from lane_head h
      join lane_tail t on t.guild_id = guild and t.lane = h.lane
     where h.guild_id = guild and h.lane = lane_skip.lane
       and t.tail > h.head and h.upto = h.head
       for update of h;

    if not found or exists (
           select from lane_entries(guild, lane, gone.head + 1, gone.tail))
    then
        return;
    end if;

    insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                            attempts, status, reason)
    values (guild, lane, gone.head + 1, gone.tail, clock_timestamp(), 0, 0,
            'expired');
    update lane_head h
       set head = gone.tail, upto = gone.tail, step = h.step + 2,
           attempts = 0
     where h.guild_id = guild and h.lane = lane_skip.lane;
end $$;
