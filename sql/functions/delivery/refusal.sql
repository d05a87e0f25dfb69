-- Refusals: what the platform refused to a server. An address that is refused
-- too much is shut out, with all servers that it speaks for. So the count is by
-- server, and here: the lanes of a server are on several machines, and its
-- tokens ask at any of them.


-- So many more. Ten minutes begin with the first.

create or replace function refusals_add(guild bigint, n int)
returns void language plpgsql as $$
declare
    at    constant timestamptz := clock_timestamp();
    past  constant timestamptz := at - interval '10 minutes';
begin
    if n = 0 then
        return;
    end if;

    insert into refusal as r (guild_id, since, n) values (guild, at, n)
    on conflict on constraint refusal_pkey do update
       set since = case when r.since <= at and r.since > past
                        then r.since else at end,
           n = case when r.since <= at and r.since > past
                    then r.n else 0 end + excluded.n;
end $$;


-- How long the lanes of a server rest, in ms: with 50 refusals they do until
-- the ten minutes are over; 0: they do not. What began later than now is from
-- before the clock went back.

create or replace function refusal_rest(since timestamptz, n int)
returns bigint language sql volatile as $$
    select case when n >= 50 and since <= clock_timestamp()
                then greatest(0, ms(since + interval '10 minutes')
                                 - ms(clock_timestamp()))
                else 0 end
$$;


create or replace function rest_ms(guild bigint)
returns bigint language plpgsql volatile as $$
begin
    return coalesce((select refusal_rest(r.since, r.n) from refusal r
                      where r.guild_id = guild), 0);
end $$;


-- The worker that delivers tells what was refused to these servers; those of
-- them that rest now, and for how long. A server whose refusals cannot be
-- counted rests for a minute; the keeper's task of lanes tells of it.

create or replace function delivery_refused(guilds bigint[], counts int[],
    out guild bigint, out rest bigint)
returns setof record language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    told  record;
begin
    for told in
        select u.guild_id, u.n from unnest(guilds, counts) u (guild_id, n)
         order by u.guild_id
    loop
        guild := told.guild_id;

        begin
            perform refusals_add(told.guild_id, told.n);
            rest := rest_ms(told.guild_id);
        exception when others then
            perform keeper_park('lanes', told.guild_id, 0::smallint,
                                sqlstate || ' ' || sqlerrm);
            rest := 60000;
        end;

        return next;
    end loop;
end $$;


-- The test message that the server asked for within the last minute was
-- refused, which is counted once.

create or replace function refusals_told(guild bigint, n int, out status int,
    out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    update troubleshoot_use u
       set told_at = u.tested_at
     where u.guild_id = guild
       and u.tested_at > now() - interval '1 minute'
       and u.told_at is distinct from u.tested_at;

    if found then
        perform refusals_add(guild, least(n, 1));
    end if;

    status := 200;
    body := '{}';
end $$;


create or replace function refusal_forget(guild bigint)
returns int language plpgsql as $$
begin
    delete from refusal r
     where r.guild_id = guild and r.since < now() - interval '1 hour';
    return 1;
end $$;
