-- The tails of lanes, where recording puts what is to be delivered. Lanes and
-- the order of their locks are explained in delivery/lane.sql.

-- a place in a lane

call type_make('lane_place', $$
    lane  bigint,
    seq   bigint
$$);

-- lanes of several servers, and what was the last number in each of them,
-- before entries came

call type_make('lane_ends', $$
    heads     int[],
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
begin
    return lanes_takes(array[guild], array[bot],
                       array_fill(1, array[cardinality(channels)]), channels);
end $$;


-- The same of entries of many: heads says which one each is of. Each lane is
-- looked up by an index that is in the order of what is asked for.

create or replace function lanes_takes(guilds bigint[], bots smallint[],
    heads int[], channels bigint[])
returns lane_ends language plpgsql
set enable_hashjoin = off set enable_mergejoin = off
set enable_bitmapscan = off set enable_sort = off as $$
declare
    lone    constant bigint := lone_of(guilds);
    their   int[];       -- heads
    used    bigint[];    -- and their channels
    counts  bigint[];    -- for each of them
    grown   bigint[];    -- the same in the order of the lanes
    turns   bigint[];    -- of their tails: see heads_turns()
    ends    lane_ends;
begin
    select array_agg(u.head), array_agg(u.channel), array_agg(u.n)
      into their, used, counts
      from (select e.head, e.channel, count(*) as n
              from unnest(heads, channels) e (head, channel)
             where e.channel > 0 group by e.head, e.channel) u;

    if used is null then
        return null;
    end if;

    loop
        select array_agg(u.head), array_agg(u.lane), array_agg(t.tail),
               array_agg(u.channel), array_agg(u.n), array_agg(t.turn)
          into ends.heads, ends.lanes, ends.tails, ends.channels, grown, turns
          from (select u.head, l.guild_id, l.lane, u.channel, u.n
                  from unnest(their, used, counts) u (head, channel, n)
                 cross join lateral (
                       select x.guild_id, x.lane from lane x
                        where x.guild_id = guilds[u.head]
                          and x.bot = bots[u.head]
                          and (lone is null or x.guild_id = lone)
                          and x.channel_id >= u.channel
                          and x.channel_id <= u.channel
                          and x.state <> 'closed'
                        order by x.channel_id limit 1) l
                 order by u.head, l.lane offset 0) u
         cross join lateral (
               select x.tail, x.turn from lane_tail x
                where x.guild_id = u.guild_id and x.lane = u.lane
                  and (lone is null or x.guild_id = lone)
                order by x.turn desc limit 1 for update) t;

        -- one that is closed, or was meanwhile, is opened anew

        exit when cardinality(ends.lanes) = cardinality(used)
              and not exists (
                  select from unnest(ends.heads, ends.lanes) e (head, lane)
                   where (select x.state from lane x
                           where x.guild_id = guilds[e.head]
                             and (lone is null or x.guild_id = lone)
                             and x.lane >= e.lane and x.lane <= e.lane
                           order by x.lane limit 1) = 'closed');

        perform lanes_open(guilds[u.head], bots[u.head], u.channels)
           from (select e.head, array_agg(e.channel) as channels
                   from unnest(their, used) e (head, channel)
                  group by e.head order by e.head) u;
    end loop;

    perform lanes_grow(guilds, ends.heads, ends.lanes, turns, grown);

    return ends;
end $$;


-- So many more entries for these lanes: there is something to do.

create or replace function lanes_grow(guilds bigint[], heads int[],
    lanes bigint[], turns bigint[], grown bigint[])
returns void language plpgsql
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  constant bigint := lone_of(guilds);
begin
    update lane_tail t
       set tail = t.tail + e.n, turn = turn_of(t.tail + e.n)
      from unnest(heads, lanes, turns, grown) e (head, lane, turn, n)
     where t.guild_id = any (array[guilds[e.head]]) and t.lane = e.lane
       and t.turn = e.turn and (lone is null or t.guild_id = lone);

    insert into lane_ready (guild_id, lane, shard, since)
    select l.guild_id, l.lane, l.shard, clock_timestamp()
      from unnest(heads, lanes) e (head, lane)
      join lane l on l.guild_id = guilds[e.head] and l.lane = e.lane
                 and (lone is null or l.guild_id = lone)
     order by e.head, l.lane
    on conflict do nothing;
end $$;


-- The places that were taken, in the order of these channels.

create or replace function lane_places(heads int[], channels bigint[],
    ends lane_ends, out place int, out lane bigint, out seq bigint)
returns setof record language sql immutable as $$
    select n, e.lane,
           e.tail + row_number() over (partition by e.head, e.lane order by n)
      from generate_subscripts(channels, 1) n
      left join unnest((ends).heads, (ends).lanes, (ends).tails,
                       (ends).channels) e (head, lane, tail, channel)
        on e.head = heads[n] and e.channel = channels[n]
$$;


-- The shard that a number belongs to.

create or replace function shard_of(n bigint)
returns smallint language sql immutable as $$
    select mod(mod(hashint8(n), 64) + 64, 64)::smallint
$$;
