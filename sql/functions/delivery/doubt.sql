-- What is unconfirmed: whether its message was applied is asked again for a
-- day, a minute later, then each time when it is twice as old, at last
-- each 4 hours. A permission to read may have come back, and a look that
-- something cut short costs as long as there was before.

drop type if exists delivery_doubt cascade;


-- A message of this lane is unconfirmed as of now; lane_head is as it was when
-- it was sent.

create or replace function doubt_open(w delivery_work, at timestamptz)
returns void language plpgsql as $$
begin
    insert into doubt (guild_id, lane, seq_from, seq_to, done_at, shard,
                       webhook_id, attempt_at, before_id, look_at)
    select w.guild, w.lane, h.head + 1, w.done_to, at, l.shard, l.webhook_id,
           h.attempt_at, h.last_message_id, at + doubt_pause('0')
      from lane_head h
      join lane l on l.guild_id = h.guild_id and l.lane = h.lane
     where h.guild_id = w.guild and h.lane = w.lane
       and w.done_to > h.head
       and l.webhook_id is not null
       and h.attempt_at is not null;
end $$;


-- From the look at that age to the next one.

create or replace function doubt_pause(age interval)
returns interval language sql immutable as $$
    select least(greatest(age, '1 minute'), '4 hours')
$$;


-- Those to be looked at now, a few at a time: each as a lane of its own, that
-- has nothing but this message. Who dies while he looks leaves them for the
-- next time. apart: this was refused because of one of them; that one is looked
-- at later.

create or replace function delivery_doubts(me text, most int default 16,
    apart boolean default true)
returns setof delivery_lane language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    mine  constant smallint[] := delivery_shards(me);
    d     doubt;
    its   delivery_lane;
begin
    delete from doubt x
     where x.shard = any (mine) and x.done_at < now() - interval '24 hours';

    for d in
        select x.* from doubt x
         where x.shard = any (mine) and x.look_at <= now()
         order by x.look_at limit most
    loop
        begin
            its := doubt_lane(d);
        exception when others then
            if not apart or not delivery_blames(sqlstate) then
                raise;
            end if;
            its := null;
            its.state := 'parked';
            its.ids := format('a doubt of lane %s of server %s, %s,', d.lane,
                              d.guild_id, delivery_cause(sqlstate, sqlerrm));
            update doubt x
               set look_at = now() + interval '10 minutes'
             where x.guild_id = d.guild_id and x.lane = d.lane
               and x.seq_from = d.seq_from;
        end;

        if its.ids is not null then
            return next its;
        end if;
    end loop;
end $$;


-- Null: somebody else has looked.

create or replace function doubt_lane(d doubt)
returns delivery_lane language plpgsql as $$
declare
    its  delivery_lane;
begin
    update doubt x
       set looks = d.looks + 1,
           look_at = now() + doubt_pause(now() - d.done_at)
     where x.guild_id = d.guild_id and x.lane = d.lane
       and x.seq_from = d.seq_from and x.looks = d.looks;

    if not found then
        return null;
    end if;

    select d.guild_id, d.lane, d.shard, null, l.bot, l.channel_id, 'doubt',
           d.webhook_id, null::bytea, d.seq_from - 1, d.seq_to, 0, 0,
           delivery_age(d.attempt_at), 0, d.before_id, 0, null, true
      into its
      from lane l
     where l.guild_id = d.guild_id and l.lane = d.lane;

    its.fence := (select s.fence from shard_lease s where s.shard = d.shard);
    its.ids := (select string_agg(e.id::text, ',')
                  from doubt_entries(d.guild_id, d.lane, d.seq_from,
                                     d.seq_to) e);
    return its;
end $$;


-- Its entries.

create or replace function doubt_entries(guild bigint, lane bigint,
    seq_from bigint, seq_to bigint)
returns table (id bigint, bot smallint, type smallint)
language plpgsql stable as $$
begin
    return query
        select e.id, e.bot, e.type
          from log_arrival e
         where e.guild_id = guild
           and e.lane = doubt_entries.lane
           and e.seq between seq_from and seq_to
         union all
        select e.id, r.bot, e.type
          from replay r
         cross join lateral entry_named(guild, r.bot, r.id) e
         where r.guild_id = guild
           and r.lane = doubt_entries.lane
           and r.seq between seq_from and seq_to
           and not (r.first and exists (
               select from log_arrival x
                where x.guild_id = guild
                  and x.lane = r.lane and x.seq = r.seq));
end $$;


-- Has nothing else been sent by this lane's webhook since the last message that
-- is known, or since it was made? 403 if something may have been: what was sent
-- so long ago would be there, by clocks that differ.

create or replace function delivery_sole(me text, guild bigint, lane bigint,
    fence bigint, step bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it  record;
begin
    select l.shard, h.last_message_id as last,
           h.mixed_at + interval '10 minutes' as sure into it
      from lane l
      join lane_head h on h.guild_id = l.guild_id and h.lane = l.lane
     where l.guild_id = guild
       and l.lane = delivery_sole.lane
       and h.step = delivery_sole.step;

    if not found or not delivery_mine(me, it.shard, fence) then
        perform refuse(409, 'another one delivers this lane');
    end if;

    status := case when coalesce(it.last > time_id(ms(it.sure)),
                                 it.sure is null)
                   then 200 else 403 end;
    body := '{}';
end $$;


-- It is known now: it is that message, or (null) was never applied. Then its
-- entries are sent again, but for those that an operator has sent again; if
-- they have no way to go, that is asked later. A message found after some were
-- sent again may be that one, which says nothing of the others.

create or replace function delivery_proved(me text, guild bigint, lane bigint,
    fence bigint, seq_from bigint, message bigint,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    it  doubt;
begin
    if message is null then
        perform record_begin(guild, b::smallint, 0)
           from generate_series(0, 1) b;
    end if;

    select d.* into it from doubt d
     where d.guild_id = guild
       and d.lane = delivery_proved.lane
       and d.seq_from = delivery_proved.seq_from
       for update;

    if not found or not delivery_mine(me, it.shard, fence) then
        perform refuse(409, 'another one looks at it');
    end if;

    status := 200;
    body := '{}';

    if message is not null and doubt_replayed(it) then
        return;
    elsif message is not null then
        update lane_batch b
           set status = 2, reason = null, message_id = message
         where b.guild_id = guild
           and b.lane = it.lane
           and b.seq_from = it.seq_from
           and b.done_at = it.done_at;
    elsif not doubt_again(it) then
        return;
    end if;

    delete from doubt d
     where d.guild_id = guild and d.lane = it.lane
       and d.seq_from = it.seq_from;
end $$;


create or replace function doubt_replayed(d doubt)
returns boolean language plpgsql stable as $$
begin
    return exists (
        select from doubt_entries(d.guild_id, d.lane, d.seq_from, d.seq_to) e
          join replay r
            on r.guild_id = d.guild_id and r.bot = e.bot and r.id = e.id
         where r.at > d.done_at);
end $$;


create or replace function doubt_again(d doubt)
returns boolean language plpgsql as $$
begin
    return (select skipped = '{}'
              from replay_place(d.guild_id, array(
                       select row(0::bigint, e.id, e.bot, e.id, e.type,
                                  null::bigint, 1::smallint, 'unconfirmed'
                              )::undelivered
                         from doubt_entries(d.guild_id, d.lane, d.seq_from,
                                            d.seq_to) e
                        where not exists (
                                  select from replay r
                                   where r.guild_id = d.guild_id
                                     and r.bot = e.bot and r.id = e.id
                                     and r.at > d.done_at))));
end $$;
