-- Sending again what did not arrive. An entry gets another place, in the lane
-- of the channel it would go to today; what became of it is what becomes of it
-- there.


-- What may be sent again: only what is decided. Without being named what
-- failed is; not what was never to be sent, nor what the platform refused for
-- itself, nor what may be there.

create or replace function replay_reasons(asked text[], doubtful boolean)
returns text[] language plpgsql immutable as $$
declare
    wrong  text;
begin
    if asked is null then
        return '{webhook_404,channel_gone,foreign_channel,forbidden,expired}';
    end if;

    select r into wrong from unnest(asked) r
     where r <> all ('{webhook_404,channel_gone,foreign_channel,forbidden,'
                     'expired,rejected,off,no_channel,unconfirmed}');

    if found then
        perform refuse(400, 'reasons: what is ' || wrong
                            || ' is not sent again');
    end if;

    if 'unconfirmed' = any (asked) and not coalesce(doubtful, false) then
        perform refuse(400, 'mayDuplicate: has to be true, what is '
                            'unconfirmed may be there already');
    end if;

    return asked;
end $$;


-- Those of the query that were named by their ids.

create or replace function undelivered_named(q undelivered_query,
    ids bigint[])
returns setof undelivered language plpgsql stable as $$
begin
    return query
        select 0::bigint, e.id, b::smallint, e.id, e.type, d.channel_id,
               d.status, d.reason
          from generate_series(0, 1) b
         cross join lateral entries_named(q.guild, b::smallint, ids) e
         cross join lateral delivery_of(q.guild, b::smallint,
                   row(e.*)::log_found) d
         where d.status < 2
           and d.reason = any (q.reasons)
           and e.id >= q.low and e.id < q.high
           and (q.channel is null or d.channel_id = q.channel)
         order by e.id;
end $$;


-- Gives these entries their new places; of those that stay, why and how many.

create or replace function replay_place(guild bigint, chosen undelivered[],
    out replayed bigint, out doubtful bigint, out skipped jsonb)
language plpgsql as $$
declare
    ways  record;
    ends  lane_ends;
begin
    replayed := 0;
    doubtful := 0;
    skipped := '{}';

    for ways in
        select c.bot, array_agg(c.id order by c.id) as ids,
               array_agg(w.channel order by c.id) as channels,
               array_agg(c.status order by c.id) as statuses,
               w.obstacle
          from unnest(chosen) c
         cross join lateral replay_way(guild, c.bot, c.id, c.type) w
         group by c.bot, w.obstacle
         order by c.bot
    loop
        if ways.obstacle is not null then
            skipped := skipped || jsonb_build_object(ways.obstacle,
                coalesce((skipped ->> ways.obstacle)::int, 0)
                + cardinality(ways.ids));
            continue;
        end if;

        ends := lanes_take(guild, ways.bot, ways.channels);

        insert into replay as r (guild_id, bot, id, lane, seq, at)
        select guild, ways.bot, ways.ids[p.place], p.lane, p.seq,
               clock_timestamp()
          from lane_places(array_fill(1, array[cardinality(ways.channels)]),
                           ways.channels, ends) p
        on conflict on constraint replay_pkey
            do update set lane = excluded.lane, seq = excluded.seq,
                          at = excluded.at, first = false;

        replayed := replayed + cardinality(ways.ids);
        doubtful := doubtful + (select count(*) from unnest(ways.statuses) s
                                 where s = 1);
    end loop;
end $$;


-- Where an entry of that type goes today, or why it does not go. What an alert
-- said goes where the alert does, if it is still there.

create or replace function replay_way(guild bigint, bot smallint,
    entry bigint, type smallint, out channel bigint, out obstacle text)
language plpgsql stable as $$
begin
    select coalesce(case when t.id = alert_type()
                         then alert_channel(guild, replay_way.bot,
                                            entry) end,
                    s.log_channel,
                    channel_of(row(c.*)::logging_channels, t.route))
      into channel
      from log_type t
      left join logging_channels c
        on c.guild_id = guild and c.bot = replay_way.bot
      left join logging_type s
        on s.guild_id = guild and s.bot = replay_way.bot
       and s.log_type = t.id
     where t.id = replay_way.type;

    obstacle := case
        when channel is null then 'no_channel'
        when channel = 0 then 'off'
        when exists (select from lane l
                      where l.guild_id = guild
                        and l.bot = replay_way.bot
                        and l.channel_id = replay_way.channel
                        and l.state = 'broken') then 'lane_broken' end;
end $$;


-- POST /servers/{guild}/replay. Under the lock of record_begin(): of two at
-- once, the second finds that the first has sent it.

create or replace function operator_replay(guild bigint, input jsonb,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at      constant lane_place := place_of(input ->> 'cursor');
    most    constant int := coalesce((input ->> 'limit')::int, 1000);
    ids     constant bigint[] := array(
                select i::bigint
                  from jsonb_array_elements_text(input -> 'ids') i);
    asked   text[];
    q       undelivered_query;
    chosen  undelivered[];
    did     record;
begin
    perform server_lock(guild);
    perform record_begin(guild, b::smallint, 0) from generate_series(0, 1) b;

    if input ? 'reasons' then
        asked := array(select r from jsonb_array_elements_text(
                                    input -> 'reasons') r);
    end if;

    q := row(guild, (input ->> 'lane')::bigint,
             (input ->> 'channel')::bigint,
             id_at(coalesce((input ->> 'after')::bigint, 0) + 1),
             coalesce(id_at((input ->> 'before')::bigint),
                      9223372036854775807),
             replay_reasons(asked, (input ->> 'mayDuplicate')::boolean));

    if cardinality(ids) > 0 then
        chosen := array(select u from undelivered_named(q, ids) u);
    else
        chosen := array(
            select u from undelivered(q, at.lane, at.seq, most + 1) u);
    end if;

    did := replay_place(guild, case when cardinality(ids) > 0 then chosen
                                    else chosen[:most] end);
    status := 200;
    body := json_build_object('replayed', did.replayed,
        'mayDuplicate', did.doubtful, 'skipped', did.skipped,
        'cursor', case when cardinality(ids) = 0
                        and cardinality(chosen) > most
                       then chosen[most].lane || '.' || chosen[most].seq end);
end $$;


-- After a backup was restored: what waits in it may have been sent since it was
-- made. It becomes unconfirmed, so that nothing goes twice by itself; how many
-- entries. For the owner of the schema, while nobody delivers.

create or replace function deliveries_unsure()
returns bigint language plpgsql set search_path = guildlog, pg_temp as $$
declare
    it  record;
    n   bigint := 0;
begin
    for it in
        select h.guild_id, h.lane, h.head, h.attempts, t.tail
          from lane_tail t
          join lane_head h
            on h.guild_id = t.guild_id and h.lane = t.lane
           and t.tail > h.head
    loop
        insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                                attempts, status, reason)
        values (it.guild_id, it.lane, it.head + 1, it.tail, clock_timestamp(),
                it.attempts, 1, 'unconfirmed');
        update lane_head h
           set head = it.tail, upto = it.tail, step = h.step + 2, attempts = 0
         where h.guild_id = it.guild_id and h.lane = it.lane;
        n := n + it.tail - it.head;
    end loop;

    return n;
end $$;
