-- Delivery: the shards whose lanes a worker may deliver, and whether it has the
-- secret of the webhooks.

call type_make('delivery_shard', $$
    shard  smallint,
    owner  text,
    fence  bigint,
    mine   boolean,
    share  int        -- how many are fair for one owner
$$);


-- What is sealed with the secret of the webhooks, behind the owner in whose
-- name: the mark of whoever comes first. In a store of before it is the secret
-- of the webhook that is there for longest.

create or replace function delivery_secret(mark bytea,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    status := 200;
    body := (select s.owner || ' ' || s.sealed from delivery_secret s);

    if body is null then
        insert into delivery_secret (owner, sealed)
        select coalesce(w.lane::text, 'guildlog'), coalesce(w.secret, mark)
          from (values (true)) v
          left join lateral (select l.lane, l.secret from lane l
                              where l.secret is not null
                              order by l.since limit 1) w on true
        on conflict do nothing;

        body := (select s.owner || ' ' || s.sealed from delivery_secret s);
    end if;
end $$;


-- For who changes the secret: all webhooks are to be looked up at the platform
-- again and sealed anew, and the next machine's secret is the one that counts.
-- They are there, so each lane is like one that has asked for its webhook: left
-- before it has looked, it looks all the same.

create or replace function delivery_secret_reset()
returns void language plpgsql as $$
declare
    at     constant timestamptz := clock_timestamp();
    known  lane;
begin
    delete from delivery_secret;

    for known in
        update lane l
           set state = case l.state when 'active' then 'registering'
                                    else l.state end,
               webhook_id = null, secret = null, asked_at = at
         where l.secret is not null
        returning l.*
    loop
        perform lane_wake(known.guild_id, known.lane);
    end loop;
end $$;


-- Renews the leases of this owner, takes over those that ran out or were held
-- by the dead, up to a fair share, and gives away what it wants to give. An
-- owner who has none has a row all the same: his share stands idle if he died.
-- What ends later than any lease does is from before the clock went back.
--
-- asked: how often he has asked so far. Race: an owner whose answer was lost
-- asks again, and hears that what he wanted to give is still his. Comes what he
-- asked first only then, it is not for now. A module of before does not count.

create or replace function delivery_lease(me text, dead text[],
    give smallint[], leaves boolean, asked bigint default 0)
returns setof delivery_shard language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    share  int;
begin
    perform from shard_lease l order by l.shard for update;

    if exists (select from delivery_node n
                where n.owner = me and n.asked > delivery_lease.asked)
    then
        return;
    end if;

    delete from delivery_node n
     where n.until < clock_timestamp() or n.owner = any (dead)
        or n.owner = me;
    update delivery_node n
       set until = clock_timestamp() + interval '30 s'
     where n.until > clock_timestamp() + interval '30 s';
    insert into delivery_node (owner, until, asked)
    select me, clock_timestamp() + interval '30 s', delivery_lease.asked
     where not leaves;

    share := (select ceil(64.0 / greatest(count(*), 1)) from delivery_node);

    update shard_lease l
       set until = clock_timestamp() + interval '30 s'
     where l.owner = me and l.until > clock_timestamp()
        or l.until > clock_timestamp() + interval '30 s';
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
        union all
        select null, n.owner, null, false, share
          from delivery_node n
         where n.owner <> me
           and not exists (select from shard_lease l where l.owner = n.owner)
         order by 1;
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


-- The shards whose leases this owner has.

create or replace function delivery_shards(me text)
returns smallint[] language plpgsql stable as $$
begin
    return array(select l.shard from shard_lease l
                  where l.owner = me and l.until > clock_timestamp());
end $$;
