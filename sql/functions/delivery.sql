-- Delivery: what the worker that delivers asks for and reports. Nothing of a
-- message is sent before the step that names its range is committed, so that
-- after any crash what may have been sent is what is in flight.

drop type if exists delivery_shard, delivery_lane, delivery_work,
                    delivery_row cascade;

create type delivery_shard as (
    shard  smallint,
    owner  text,
    fence  bigint,
    mine   boolean,
    share  int        -- how many are fair for one owner
);

-- all that has to be known to go on with a lane

create type delivery_lane as (
    guild       bigint,
    lane        bigint,
    shard       smallint,
    fence       bigint,
    bot         smallint,
    channel     bigint,
    state       text,
    webhook     bigint,
    secret      bytea,
    head        bigint,
    upto        bigint,
    step        bigint,
    attempts    int,
    attempt_ms  bigint,   -- the age of the last attempt
    wait_ms     bigint,   -- nothing is to be sent before
    message     bigint,   -- the last one delivered
    since       bigint    -- tells one call for it from the next
);

-- one lane's part of a step; the fields of what is not to be done are null

create type delivery_work as (
    guild     bigint,
    lane      bigint,
    shard     smallint,
    fence     bigint,
    step      bigint,     -- the number of this change, or of the last one
    changes   boolean,
    done_to   bigint,     -- decided: all behind the head up to here
    status    smallint,
    reason    text,
    message   bigint,
    attempts  int,
    refused   boolean,    -- what is in flight was not taken
    wait_ms   bigint,
    begin_to  bigint,     -- in flight from now on
    peek      bigint,     -- entries behind this one
    most      int
);

-- a row of a step's answer: first each lane's result, then entries

create type delivery_row as (
    place     int,
    result    text,       -- ok, lost, paused, empty, closing; null: an entry
    seq       bigint,
    expired   boolean,
    doc       text,
    format    smallint,
    color     int,
    buttons   int,
    locale    smallint,
    spoilers  boolean
);


-- Renews the leases of this owner, takes over those that ran out or were held
-- by the dead, up to a fair share, and gives away what it wants to give.

create or replace function delivery_lease(me text, dead text[],
    give smallint[], leaves boolean)
returns setof delivery_shard language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    share  int;
begin
    perform from shard_lease l order by l.shard for update;

    delete from delivery_node n
     where n.until < clock_timestamp() or n.owner = any (dead)
        or n.owner = me;
    insert into delivery_node (owner, until)
    select me, clock_timestamp() + interval '30 s' where not leaves;

    share := (select ceil(64.0 / greatest(count(*), 1)) from delivery_node);

    update shard_lease l
       set until = clock_timestamp() + interval '30 s'
     where l.owner = me and l.until > clock_timestamp();
    update shard_lease l
       set owner = null, until = '-infinity'
     where l.owner = me and l.shard = any (give)
        or l.owner = any (dead)
        or l.until <= clock_timestamp();

    update shard_lease l
       set owner = me, fence = l.fence + 1,
           until = clock_timestamp() + interval '30 s'
     where l.shard in (
               select f.shard from shard_lease f
                where f.owner is null
                  and not leaves
                order by f.shard
                limit greatest(0, share - (select count(*) from shard_lease m
                                            where m.owner = me)));

    return query
        select l.shard, l.owner, l.fence, l.owner is not distinct from me,
               share
          from shard_lease l
         order by l.shard;
end $$;


-- Are the leases of these shards still the owner's?

create or replace function delivery_mine(me text, shard smallint,
    fence bigint)
returns boolean language plpgsql stable as $$
begin
    return exists (
        select from shard_lease l
         where l.shard = delivery_mine.shard
           and l.owner = me
           and l.fence = delivery_mine.fence
           and l.until > clock_timestamp());
end $$;


-- A page of the lanes of this owner that have something to do, those behind
-- that one: called for lately, or all of them.

create or replace function delivery_ready(me text, everything boolean,
    after_guild bigint, after_lane bigint)
returns setof lane_ready language plpgsql as $$
declare
    lately  constant timestamptz := clock_timestamp() - interval '3 s';
begin
    if everything then
        return query
            select r.*
              from lane_ready r
              join shard_lease s on s.shard = r.shard
             where s.owner = me and s.until > clock_timestamp()
               and (r.guild_id, r.lane) > (after_guild, after_lane)
             order by r.guild_id, r.lane
             limit 1000;
    else
        return query
            select r.*
              from shard_lease s
              join lane_ready r on r.shard = s.shard and r.since > lately
             where s.owner = me and s.until > clock_timestamp()
               and (r.guild_id, r.lane) > (after_guild, after_lane)
             order by r.guild_id, r.lane
             limit 1000;
    end if;
end $$;


-- That page, after a decision about what needs no sending. One without a state
-- is not to be delivered now: it is broken or paused, or rests for longer than
-- until it is found again.

create or replace function delivery_find(me text, everything boolean,
    after_guild bigint, after_lane bigint)
returns setof delivery_lane language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    done  delivery_lane;
begin
    for done.state, done.head in
        select f.reason, f.n
          from delivery_fail(me, everything, after_guild, after_lane) f
        union all
        select 'expired', x
          from delivery_expire(me, after_guild, after_lane) x
         where everything
    loop
        return next done;
    end loop;

    return query
        select r.guild_id, r.lane, r.shard, s.fence, l.bot, l.channel_id,
               case when l.state in ('registering', 'active', 'closing')
                     and l.paused_at is null
                     and coalesce(h.not_before < clock_timestamp()
                                                 + interval '40 s', true)
                    then l.state end,
               l.webhook_id, l.secret, h.head, h.upto, h.step, h.attempts,
               ms(clock_timestamp()) - ms(h.attempt_at),
               greatest(0, ms(h.not_before) - ms(clock_timestamp())),
               h.last_message_id,
               (extract(epoch from r.since) * 1000000)::bigint
          from delivery_ready(me, everything, after_guild, after_lane) r
          join shard_lease s on s.shard = r.shard
          join lane l on l.guild_id = r.guild_id and l.lane = r.lane
          join lane_head h on h.guild_id = r.guild_id and h.lane = r.lane
         order by r.guild_id, r.lane;
end $$;


-- What stands in a broken lane is decided: it will not be delivered.

create or replace function delivery_fail(me text, everything boolean,
    after_guild bigint, after_lane bigint, out reason text, out n bigint)
returns setof record language plpgsql as $$
declare
    broken  record;
begin
    for broken in
        select r.guild_id, r.lane, l.reason, t.tail
          from delivery_ready(me, everything, after_guild, after_lane) r
          join lane l
            on l.guild_id = r.guild_id and l.lane = r.lane
           and l.state = 'broken' and l.paused_at is null
          join lane_tail t on t.guild_id = r.guild_id and t.lane = r.lane
         order by r.guild_id, r.lane
           for update of t skip locked
    loop
        insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                                attempts, status, reason)
        select h.guild_id, h.lane, h.head + 1, t.tail, clock_timestamp(),
               h.attempts, 0, broken.reason
          from lane_head h
          join lane_tail t on t.guild_id = h.guild_id and t.lane = h.lane
         where h.guild_id = broken.guild_id
           and h.lane = broken.lane
           and t.tail > h.head
        returning broken.reason, seq_to - seq_from + 1 into reason, n;

        if found then
            return next;
        end if;

        update lane_head h
           set head = t.tail, upto = t.tail, step = h.step + 1, attempts = 0
          from lane_tail t
         where h.guild_id = broken.guild_id and h.lane = broken.lane
           and t.guild_id = h.guild_id and t.lane = h.lane;
        delete from lane_ready r
         where r.guild_id = broken.guild_id and r.lane = broken.lane;
    end loop;
end $$;


-- What waits for a webhook expires as everything else.

create or replace function delivery_expire(me text, after_guild bigint,
    after_lane bigint)
returns setof bigint language plpgsql as $$
declare
    old  record;
begin
    for old in
        select h.guild_id, h.lane, h.head, max(p.seq) as upto
          from delivery_ready(me, true, after_guild, after_lane) r
          join lane l
            on l.guild_id = r.guild_id and l.lane = r.lane
           and l.state = 'registering'
           and l.since < now() - interval '1 hour'
           and l.paused_at is null
          join lane_head h
            on h.guild_id = r.guild_id and h.lane = r.lane and h.upto = h.head
         cross join lateral delivery_peek(h.guild_id, h.lane, h.head, 1000) p
         where p.expired
         group by h.guild_id, h.lane
         order by h.guild_id, h.lane
    loop
        insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                                attempts, status, reason)
        values (old.guild_id, old.lane, old.head + 1, old.upto,
                clock_timestamp(), 0, 0, 'expired');

        update lane_head h
           set head = old.upto, upto = old.upto, step = h.step + 1
         where h.guild_id = old.guild_id and h.lane = old.lane;
        return next old.upto - old.head;
    end loop;
end $$;


-- One step of many lanes in one transaction: what became of messages, which
-- ones are sent next, and the entries behind. A step that was committed already
-- changes nothing more; a lane that is somebody else's, or went on without the
-- caller, is lost to it. In one that was paused nothing new begins.

create or replace function delivery_step(me text, work jsonb)
returns setof delivery_row language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    works    constant delivery_work[] := array(
                 select w from jsonb_populate_recordset(
                     null::delivery_work, work) w);
    results  text[];
begin
    perform from lane_head h
       join unnest(works) w on w.guild = h.guild_id and w.lane = h.lane
      order by h.guild_id, h.lane
        for update of h;

    results := array(
        select case when not delivery_mine(me, w.shard, w.fence) then 'lost'
                    when h.step = w.step
                    then case when w.begin_to is not null
                               and h.upto = h.head then 'paused'
                              else 'ok' end
                    when not w.changes
                      or h.step is distinct from w.step - 1 then 'lost'
                    when l.paused_at is not null then 'end'
                    else 'change' end
          from unnest(works) with ordinality w
          left join lane l on l.guild_id = w.guild and l.lane = w.lane
          left join lane_head h on h.guild_id = w.guild and h.lane = w.lane
         order by w.ordinality);

    perform delivery_change(works[place], results[place] = 'change')
       from generate_subscripts(works, 1) place
      where results[place] in ('change', 'end');

    perform delivery_healed(array(
        select works[place] from generate_subscripts(works, 1) place
         where results[place] in ('change', 'end')
           and (works[place]).status = 2));

    results := array(
        select case when results[place] in ('lost', 'paused')
                    then results[place]
                    when results[place] = 'end' then 'paused'
                    when (works[place]).peek is null then 'ok'
                    else delivery_rest(works[place]) end
          from generate_subscripts(works, 1) place order by place);

    return query
        select place, results[place], null::bigint, null::boolean, null,
               null::smallint, null::int, null::int, null::smallint,
               null::boolean
          from generate_subscripts(works, 1) place order by place;

    return query
        select w.place::int, null, p.*
          from unnest(works) with ordinality
                   w (guild, lane, shard, fence, step, changes, done_to,
                      status, reason, message, attempts, refused, wait_ms,
                      begin_to, peek, most, place)
         cross join lateral delivery_peek(w.guild, w.lane, w.peek, w.most) p
         where results[w.place] = 'ok' and w.peek is not null
         order by w.place, p.seq;
end $$;


-- What kept these lanes from delivering is over. One that somebody else has in
-- hand is set anew there.

create or replace function delivery_healed(works delivery_work[])
returns void language plpgsql as $$
begin
    update lane l
       set reason = null, forbidden_at = null
      from (select x.guild_id, x.lane
              from unnest(works) w
              join lane x on x.guild_id = w.guild and x.lane = w.lane
             where x.reason is not null and x.state in ('active', 'closing')
               for update of x skip locked) h
     where l.guild_id = h.guild_id and l.lane = h.lane;
end $$;


-- begins: so does what is to be sent next.

create or replace function delivery_change(w delivery_work, begins boolean)
returns void language plpgsql as $$
declare
    at  constant timestamptz := clock_timestamp();
begin
    if not begins then
        w.begin_to := null;
    end if;

    insert into lane_batch (guild_id, lane, seq_from, seq_to, message_id,
                            done_at, attempts, status, reason)
    select w.guild, w.lane, h.head + 1, w.done_to, w.message,
           at, w.attempts, w.status, w.reason
      from lane_head h
     where h.guild_id = w.guild and h.lane = w.lane
       and w.done_to > h.head;

    if w.status = 1 then
        perform doubt_open(w, at);
    end if;

    update lane_head h
       set head = coalesce(w.done_to, h.head),
           upto = coalesce(w.begin_to, w.done_to, h.head),
           refused_to = case when w.refused
                             then greatest(h.refused_to, h.upto)
                             else h.refused_to end,
           step = w.step,
           attempts = case when w.done_to is not null then 0
                           else h.attempts end
                      + (w.begin_to is not null)::int,
           attempt_at = case when w.begin_to is not null
                             then clock_timestamp() else h.attempt_at end,
           not_before = clock_timestamp() + w.wait_ms * interval '1 ms',
           last_message_id = coalesce(w.message, h.last_message_id)
     where h.guild_id = w.guild and h.lane = w.lane;
end $$;


-- Is there more in the lane? If not, it is called for by the next entry, for
-- which the row of lane_tail stands.

create or replace function delivery_rest(w delivery_work)
returns text language plpgsql as $$
declare
    it  record;
begin
    select l.state, l.paused_at, h.head, h.upto into it
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
     where l.guild_id = w.guild and l.lane = w.lane;

    if it.state not in ('active', 'closing') then
        return 'lost';
    end if;

    if it.paused_at is not null then
        return 'paused';
    end if;

    if it.upto > it.head then
        return 'ok';
    end if;

    perform from lane_tail t
      where t.guild_id = w.guild and t.lane = w.lane and t.tail = it.head
        for update skip locked;

    if not found then
        return 'ok';
    end if;

    if it.state = 'closing' then
        return 'closing';
    end if;

    delete from lane_ready r where r.guild_id = w.guild and r.lane = w.lane;

    return 'empty';
end $$;


-- Entries of a lane, with what their message depends on. After 24 h they have
-- expired; the entries of late events are younger than their ids, and what was
-- sent again or stood in a paused lane is as young as that.

create or replace function delivery_peek(guild bigint, lane bigint,
    behind bigint, most int, out seq bigint, out expired boolean,
    out doc text, out format smallint, out color int, out buttons int,
    out locale smallint, out spoilers boolean)
returns setof record language plpgsql stable as $$
declare
    old     constant timestamptz := now() - interval '24 hours';
    mine    constant lane := (
                select l from lane l
                 where l.guild_id = guild and l.lane = delivery_peek.lane);
    option  constant logging_options := options_of(guild, mine.bot);
    spoken  constant smallint := coalesce(
                (select s.locale from settings s
                  where s.guild_id = guild and s.bot = mine.bot),
                (select s.locale from server s where s.guild_id = guild), 0);
    shown   constant int :=
                ('userID' = any (option.buttons))::int
                + ('supportServer' = any (option.buttons))::int * 2
                + ('customise' = any (option.buttons))::int * 4;
begin
    return query
        select e.seq,
               e.id < time_id(ms(old)) and coalesce(e.again < old, true)
               and coalesce(mine.resumed_at < old, true)
               and not exists (
                   select from log_event k
                    where k.guild_id = guild and k.bot = mine.bot
                      and k.arrival = e.arrival
                      and k.entry_id is not null
                      and k.recorded_at > old),
               e.doc, coalesce(t.format_type, option.format_type),
               coalesce(t.color, -1), shown, spoken, option.spoilers
          from ((select n.seq, n.id, n.arrival, n.type, n.doc,
                        null::timestamptz as again
                   from log_entry n
                  where n.guild_id = guild
                    and n.lane = delivery_peek.lane
                    and n.seq > behind
                  order by n.seq limit most)
                union all
                (select h.seq, n.id, n.arrival, n.type, n.doc, null
                   from held_entry h
                   join log_entry n
                     on n.guild_id = guild and n.bot = mine.bot
                    and n.id = h.id
                  where h.guild_id = guild
                    and h.lane = delivery_peek.lane
                    and h.seq > behind
                  order by h.seq limit most)
                union all
                (select r.seq, n.id, n.arrival, n.type, n.doc, r.at
                   from replay r
                   join log_entry n
                     on n.guild_id = guild and n.bot = mine.bot
                    and n.id = r.id
                  where r.guild_id = guild
                    and r.lane = delivery_peek.lane
                    and r.seq > behind
                  order by r.seq limit most)
                order by 1 limit most) e
          left join logging_type t
            on t.guild_id = guild and t.bot = mine.bot
           and t.log_type = e.type
         order by e.seq;
end $$;


-- Gives held entries their places; how many.

create or replace function delivery_release(out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    status := 200;
    body := (select count(*) from held_release());
end $$;


-- What happens to a lane. Its owner forgets it then, and finds it anew. Each
-- answers 409 if it is not the caller's, or went on without the caller, who
-- found it a moment too early.

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
       and delivery_mine(me, l.shard, fence)
       for update;

    if not found then
        perform refuse(409, 'another one delivers this lane');
    end if;

    update lane_head h
       set refused_to = greatest(h.refused_to, h.upto), upto = h.head,
           step = h.step + 1
     where h.guild_id = guild
       and h.lane = delivery_turn.lane
       and h.step = delivery_turn.step;

    if not found then
        perform refuse(409, 'this lane went on');
    end if;

    return it;
end $$;


-- Its channel does not work, for that reason, of which the server's people are
-- told once.

create or replace function delivery_trouble(it lane, reason text)
returns void language plpgsql as $$
begin
    if it.reason is distinct from delivery_trouble.reason then
        perform notification_put(it.guild_id, it.bot, 68::smallint,
                    'A log channel does not work',
                    'channel ' || it.channel_id || ': '
                    || delivery_trouble.reason);
    end if;
end $$;


-- It has a webhook. One whose channel is used no more closes at once.

create or replace function delivery_registered(me text, guild bigint,
    lane bigint, fence bigint, step bigint, webhook bigint, secret bytea,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it  lane := delivery_turn(me, guild, lane, fence, step);
begin
    update lane l
       set state = case when it.state = 'registering'
                         and it.channel_id = any (
                                 channels_used(guild, it.bot)) then 'active'
                        else 'closing' end,
           since = now(), reason = null, forbidden_at = null,
           webhook_id = webhook, secret = delivery_registered.secret
     where l.guild_id = guild and l.lane = it.lane;

    perform lane_wake(guild, it.lane);
    status := 200;
    body := '{}';
end $$;


-- Its webhook is gone and never used again. It gets another one, once an hour.

create or replace function delivery_lost(me text, guild bigint, lane bigint,
    fence bigint, step bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it     lane := delivery_turn(me, guild, lane, fence, step);
    again  constant boolean := it.lost_at > now() - interval '1 hour';
begin
    update lane l
       set state = case when again then 'broken' else 'registering' end,
           reason = case when again then 'webhook_404' end,
           since = now(), webhook_id = null, secret = null, lost_at = now()
     where l.guild_id = guild and l.lane = it.lane;

    if again then
        perform delivery_trouble(it, 'webhook_404');
    end if;

    perform lane_wake(guild, it.lane);
    status := 200;
    body := '{}';
end $$;


-- The platform will not have it: final for what is in it.

create or replace function delivery_broken(me text, guild bigint,
    lane bigint, fence bigint, step bigint, reason text,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it  lane := delivery_turn(me, guild, lane, fence, step);
begin
    update lane l
       set state = 'broken', reason = delivery_broken.reason, since = now(),
           webhook_id = null, secret = null
     where l.guild_id = guild and l.lane = it.lane;

    perform delivery_trouble(it, reason);
    perform lane_wake(guild, it.lane);
    status := 200;
    body := '{}';
end $$;


-- A permission or room is missing: it is tried again for an hour, then final
-- for that reason. Without one ("final" is null) it is never final: it is the
-- bot that has no token, or a bad one.

create or replace function delivery_waits(me text, guild bigint, lane bigint,
    fence bigint, step bigint, reason text, final text, wait_ms bigint,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it    lane := delivery_turn(me, guild, lane, fence, step);
    over  constant boolean := final is not null
                              and it.forbidden_at < now() - interval '1 hour';
begin
    perform delivery_trouble(it, case when over then final else reason end);

    update lane l
       set state = case when over then 'broken' else l.state end,
           reason = case when over then final
                         else delivery_waits.reason end,
           forbidden_at = case when final is not null
                               then coalesce(l.forbidden_at, now()) end
     where l.guild_id = guild and l.lane = it.lane;

    perform lane_wake(guild, it.lane);
    update lane_head h
       set not_before = clock_timestamp() + wait_ms * interval '1 ms'
     where h.guild_id = guild and h.lane = it.lane;
    status := 200;
    body := '{}';
end $$;


-- Its webhook was deleted: it is closed, unless it is needed again.

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
    update lane l
       set state = case when ends then 'closed' else 'registering' end,
           since = now(), webhook_id = null, secret = null
     where l.guild_id = guild and l.lane = it.lane;

    if ends then
        delete from lane_ready r
         where r.guild_id = guild and r.lane = it.lane;
    else
        perform lane_wake(guild, it.lane);
    end if;

    status := 200;
    body := '{}';
end $$;
