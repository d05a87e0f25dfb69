-- The tails of lanes, where recording puts what is to be delivered. Lanes and
-- the order of their locks are explained in delivery/lane.sql.

-- a place in a lane

call type_make('lane_place', $$
    lane  bigint,
    seq   bigint
$$);

-- lanes and what was the last number in each of them, before entries came

call type_make('lane_ends', $$
    lanes     bigint[],
    tails     bigint[],
    channels  bigint[]
$$);


-- One lane for each of these channels, if it has none: the channel's webhook
-- is registered by who delivers.

create or replace function lanes_open(guild bigint, bot smallint,
    channels bigint[])
returns void language plpgsql as $$
begin
    with opened as (
        insert into lane (guild_id, lane, bot, channel_id, shard, paused_at)
        select guild, n.id, lanes_open.bot, c.channel,
               shard_of(n.id),
               (select s.paused_at from server s where s.guild_id = guild)
          from (select distinct u.channel from unnest(channels) u (channel)
                 where u.channel > 0
                   and not exists (
                       select from lane l
                        where l.guild_id = guild
                          and l.bot = lanes_open.bot
                          and l.channel_id = u.channel
                          and l.state <> 'closed')) c
         cross join lateral (select next_id(ms(clock_timestamp()))
                              where c.channel > 0) n (id)
        on conflict do nothing
        returning lane.lane, shard
    ), tails as (
        insert into lane_tail (guild_id, lane)
        select guild, o.lane from opened o
    ), heads as (
        insert into lane_head (guild_id, lane)
        select guild, o.lane from opened o
    )
    insert into lane_ready (guild_id, lane, shard, since)
    select guild, o.lane, o.shard, clock_timestamp() from opened o;
end $$;


-- Takes places for entries that go to these channels (0 or null: to none):
-- those that lane_places() says. The caller has the (server, bot) to itself by
-- record_begin(), so that the numbers of a lane follow the order of commits and
-- have no gap.

create or replace function lanes_take(guild bigint, bot smallint,
    channels bigint[])
returns lane_ends language plpgsql as $$
declare
    used    bigint[];
    counts  bigint[];    -- for each of them
    ends    lane_ends;
begin
    select array_agg(u.channel), array_agg(u.n) into used, counts
      from (select c, count(*) from unnest(channels) c where c > 0
             group by c) u (channel, n);

    if used is null then
        return null;
    end if;

    loop
        select array_agg(q.lane), array_agg(q.tail), array_agg(q.channel_id)
          into ends.lanes, ends.tails, ends.channels
          from (select t.lane, t.tail, l.channel_id
                  from lane l
                  join lane_tail t
                    on t.guild_id = guild and t.lane = l.lane
                 where l.guild_id = guild
                   and l.bot = lanes_take.bot
                   and l.channel_id = any (used)
                   and l.state <> 'closed'
                 order by t.lane for update of t) q;

        -- one that is closed, or was meanwhile, is opened anew

        exit when cardinality(ends.lanes) = cardinality(used)
              and not exists (select from lane l
                               where l.guild_id = guild
                                 and l.lane = any (ends.lanes)
                                 and l.state = 'closed');

        perform lanes_open(guild, bot, used);
    end loop;

    perform lanes_grow(guild, ends, used, counts);

    return ends;
end $$;


-- So many more entries for the lanes of these channels: there is something to
-- do.

create or replace function lanes_grow(guild bigint, ends lane_ends,
    used bigint[], counts bigint[])
returns void language plpgsql as $$
begin
    update lane_tail t
       set tail = t.tail + u.n
      from unnest(ends.lanes, ends.channels) e (lane, channel)
      join unnest(used, counts) u (channel, n) on u.channel = e.channel
     where t.guild_id = guild and t.lane = e.lane;

    insert into lane_ready (guild_id, lane, shard, since)
    select guild, l.lane, l.shard, clock_timestamp()
      from lane l
     where l.guild_id = guild and l.lane = any (ends.lanes)
     order by l.lane
    on conflict do nothing;
end $$;


-- The places that were taken, in the order of these channels.

create or replace function lane_places(channels bigint[], ends lane_ends,
    out place int, out lane bigint, out seq bigint)
returns setof record language sql immutable as $$
    select n, e.lane,
           e.tail + row_number() over (partition by e.lane order by n)
      from generate_subscripts(channels, 1) n
      left join unnest((ends).lanes, (ends).tails, (ends).channels)
                    e (lane, tail, channel)
        on e.channel = channels[n]
$$;


-- The shard that a number belongs to.

create or replace function shard_of(n bigint)
returns smallint language sql immutable as $$
    select mod(mod(hashint8(n), 64) + 64, 64)::smallint
$$;
