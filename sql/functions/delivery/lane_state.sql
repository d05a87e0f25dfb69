-- What happens to a lane as a whole. Its owner forgets it then, and finds it
-- anew. Each answers 409 if it is not the caller's, was closed, or went on
-- without the caller, who found it a moment too early.

create or replace function delivery_turn(me text, guild bigint, lane bigint,
    fence bigint, step bigint)
returns lane language plpgsql as $$
declare
    it  lane;
begin
    perform from lane_tail t
      where t.guild_id = guild and t.lane = delivery_turn.lane for update;

    select l.* into it from lane l
     where l.guild_id = guild
       and l.lane = delivery_turn.lane
       for update;

    if not found or it.state = 'closed'
       or not delivery_mine(me, it.shard, fence)
    then
        perform refuse(409, 'another one delivers this lane');
    end if;

    update lane_head h
       set refused_to = greatest(h.refused_to, h.upto), upto = h.head,
           step = h.step + 2
     where h.guild_id = guild
       and h.lane = delivery_turn.lane
       and h.step = delivery_turn.step;

    if not found then
        perform refuse(409, 'this lane went on');
    end if;

    return it;
end $$;


-- Its channel does not work, for that reason, of which the server's people are
-- told once, however often it is tried, until it works.

create or replace function delivery_trouble(it lane, reason text)
returns void language plpgsql as $$
begin
    if it.told is distinct from delivery_trouble.reason then
        update lane l
           set told = delivery_trouble.reason
         where l.guild_id = it.guild_id and l.lane = it.lane;
        perform notification_put(it.guild_id, it.bot, 68::smallint,
                    'A log channel does not work',
                    'channel ' || it.channel_id || ': '
                    || delivery_trouble.reason);
    end if;
end $$;


-- Its channel was looked at. told: the platform says that it is this server's.
-- Where it does not say whose it is the directory is believed: 403 if that
-- knows it under another server only.

create or replace function delivery_verified(me text, guild bigint,
    lane bigint, fence bigint, step bigint, told boolean,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it  lane;
begin
    select l.* into it
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
     where l.guild_id = guild
       and l.lane = delivery_verified.lane
       and h.step = delivery_verified.step
       for update of l;

    if not found or not delivery_mine(me, it.shard, fence) then
        perform refuse(409, 'another one delivers this lane');
    end if;

    body := '{}';

    if not told and channels_astray(guild, array[it.channel_id]) <> '{}' then
        status := 403;
        return;
    end if;

    update lane l
       set verified_at = now()
     where l.guild_id = guild and l.lane = it.lane;
    status := 200;
end $$;


-- It is about to ask for a webhook: whoever finds it without one, soon after,
-- cannot tell whether one is on its way. What it had before is gone.

create or replace function delivery_asks(me text, guild bigint, lane bigint,
    fence bigint, step bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at  constant timestamptz := clock_timestamp();
    it  lane;
begin
    select l.* into it
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
     where l.guild_id = guild
       and l.lane = delivery_asks.lane
       and (l.webhook_id is null or l.state = 'registering')
       and l.state <> 'closed'
       and h.step = delivery_asks.step
       for update of l;

    if not found or not delivery_mine(me, it.shard, fence) then
        perform refuse(409, 'another one delivers this lane');
    end if;

    update lane l
       set asked_at = at, webhook_id = null, secret = null
     where l.guild_id = guild and l.lane = it.lane;

    status := 200;
    body := '{}';
end $$;


-- It has a webhook. One whose channel is used no more closes at once. made: it
-- was just made for it; what another one has sent is not known.

create or replace function delivery_registered(me text, guild bigint,
    lane bigint, fence bigint, step bigint, webhook bigint, secret bytea,
    made boolean default false, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at    constant timestamptz := clock_timestamp();
    it    lane := delivery_turn(me, guild, lane, fence, step);
    used  constant boolean := it.state = 'registering'
              and it.channel_id = any (channels_used(guild, it.bot));
begin
    update lane l
       set state = case when used then 'active' else 'closing' end,
           since = now(), reason = null, forbidden_at = null, asked_at = null,
           webhook_id = webhook, secret = delivery_registered.secret,
           told = null
     where l.guild_id = guild and l.lane = it.lane;

    update lane_head h
       set mixed_at = case when not made then at end
     where h.guild_id = guild and h.lane = it.lane;

    perform lane_wake(guild, it.lane);
    status := 200;
    body := '{}';
end $$;


-- Its webhook is gone and never used again. It gets another one, once an hour.

create or replace function delivery_lost(me text, guild bigint, lane bigint,
    fence bigint, step bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at    constant timestamptz := clock_timestamp();
    it     lane := delivery_turn(me, guild, lane, fence, step);
    again  constant boolean := it.lost_at > now() - interval '1 hour';
begin
    update lane l
       set state = case when again then 'broken' else 'registering' end,
           reason = case when again then 'webhook_404' end,
           since = now(), webhook_id = null, secret = null, lost_at = now(),
           refused_at = at
     where l.guild_id = guild and l.lane = it.lane;

    if again then
        perform delivery_trouble(it, 'webhook_404');
    end if;

    perform lane_wake(guild, it.lane);
    status := 200;
    body := '{}';
end $$;


-- The platform will not have it: final for what is in it. That a channel is
-- another server's counts as a refusal.

create or replace function delivery_broken(me text, guild bigint,
    lane bigint, fence bigint, step bigint, reason text,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at    constant timestamptz := clock_timestamp();
    it  lane := delivery_turn(me, guild, lane, fence, step);
begin
    update lane l
       set state = 'broken', reason = delivery_broken.reason, since = now(),
           webhook_id = null, secret = null, asked_at = null,
           verified_at = null, refused_at = at
     where l.guild_id = guild and l.lane = it.lane;

    if reason = 'foreign_channel' then
        perform refusals_add(guild, 1);
    end if;

    perform delivery_trouble(it, reason);
    perform lane_wake(guild, it.lane);
    status := 200;
    body := '{}';
end $$;


-- A permission or room is missing: what waits was refused for now; it is tried
-- again for an hour, then final for that reason. Without one ("final" is null)
-- it is never final: it is the bot that has no token, or a bad one.

create or replace function delivery_waits(me text, guild bigint, lane bigint,
    fence bigint, step bigint, reason text, final text, wait_ms bigint,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it    lane := delivery_turn(me, guild, lane, fence, step);
    over  constant boolean := final is not null
                              and it.forbidden_at < now() - interval '1 hour';
    at    constant timestamptz := clock_timestamp();
begin
    perform delivery_trouble(it, case when over then final else reason end);

    update lane l
       set state = case when over then 'broken' else l.state end,
           reason = case when over then final
                         else delivery_waits.reason end,
           forbidden_at = case when final is not null
                               then coalesce(l.forbidden_at, at) end,
           asked_at = case when final is null then l.asked_at end,
           refused_at = at
     where l.guild_id = guild and l.lane = it.lane;

    perform lane_wake(guild, it.lane);
    update lane_head h
       set not_before = at + wait_ms * interval '1 ms',
           refused_to = case when final is null then h.refused_to
                             else greatest(h.refused_to, t.tail) end
      from lane_tail t
     where h.guild_id = guild and h.lane = it.lane
       and t.guild_id = guild and t.lane = it.lane;
    status := 200;
    body := '{}';
end $$;


-- The platform limits a call of its bot: nothing is sent for it before that
-- time, by whoever has it then. Its channel works, so nobody is told.

create or replace function delivery_limited(me text, guild bigint,
    lane bigint, fence bigint, step bigint, wait_ms bigint,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    until  constant timestamptz := clock_timestamp()
                                   + wait_ms * interval '1 ms';
    shard  constant smallint := (
               select l.shard from lane l
                where l.guild_id = guild and l.lane = delivery_limited.lane);
    mine   constant boolean := delivery_mine(me, shard, fence);
begin
    update lane_head h
       set not_before = until
     where h.guild_id = guild
       and h.lane = delivery_limited.lane
       and h.step = delivery_limited.step
       and mine;

    if not found then
        perform refuse(409, 'another one delivers this lane');
    end if;

    status := 200;
    body := '{}';
end $$;


-- It has no webhook any more: it is closed, unless it is needed again.

create or replace function delivery_closed(me text, guild bigint,
    lane bigint, fence bigint, step bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it    lane := delivery_turn(me, guild, lane, fence, step);
    ends  constant boolean := it.state = 'closing' and exists (
              select from lane_tail t
                join lane_head h
                  on h.guild_id = t.guild_id and h.lane = t.lane
               where t.guild_id = guild and t.lane = it.lane
                 and t.tail = h.head);
begin
    if ends then
        perform lane_end(guild, it.lane);
    else
        update lane l
           set state = 'registering', since = now(), webhook_id = null,
               secret = null, asked_at = null
         where l.guild_id = guild and l.lane = it.lane;
        perform lane_wake(guild, it.lane);
    end if;

    status := 200;
    body := '{}';
end $$;
