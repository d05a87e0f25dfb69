-- Alerts: what the people of a server want to be told of. How they fire is in
-- record/alert.sql. Their rows, and the types that they count (log_head), are
-- changed only by who has the (server, bot), as who records does.


-- An alert, or all.

create or replace function alert_rows(guild bigint, bot smallint,
    alert_id text)
returns setof text language plpgsql stable as $$
begin
    return query
        select row_to_json(r)::text
          from (select a.alert_id, a.name, a.types, a.count, a.seconds, a.by,
                       a.channel::text, a.role::text,
                       a.enabled::int as enabled
                  from alert a
                 where a.guild_id = guild and a.bot = alert_rows.bot
                   and (alert_rows.alert_id is null
                        or a.alert_id = alert_rows.alert_id)
                 order by a.alert_id) r;
end $$;


create or replace function alerts_rows(guild bigint, bot smallint)
returns text language plpgsql stable as $$
begin
    return (select '[' || string_agg(r, ',') || ']'
              from alert_rows(guild, bot, null) r);
end $$;


-- Holds an alert against what is known of its server.

create or replace function alert_check(guild bigint, input jsonb)
returns void language plpgsql stable as $$
declare
    role  constant bigint := input ->> 'role';
begin
    perform channels_refuse(guild, jsonb_build_object('channel',
                                       input -> 'channel'));

    if role = guild then
        perform refuse(400, 'role: everybody cannot be mentioned');
    end if;

    if role is not null
       and exists (select from directory d
                    where d.guild_id = guild and d.kind = 2)
       and not exists (select from directory_one(guild, 2, role))
    then
        perform refuse(400, 'role: is none of this server');
    end if;
end $$;


-- How many alerts a plan has. A smaller one takes none away.

create or replace function alerts_most(plan text)
returns int language sql immutable as $$
    select case plan when 'pro' then 20 when 'pro_lite' then 5 else 1 end
$$;


-- What recording looks at first: the types that some alert counts.

create or replace function alerts_sync(guild bigint, bot smallint)
returns void language plpgsql as $$
declare
    types  constant smallint[] := alerts_watched(guild, bot);
begin
    update log_head h
       set watched = types
     where h.guild_id = guild and h.bot = alerts_sync.bot;
end $$;


-- After a change: the lane of its channel, and what is counted of it, follow.

create or replace function alert_changed(guild bigint, bot smallint,
    before alert, after alert)
returns void language plpgsql as $$
declare
    tells  constant text[] := '{name,channel,role}';
begin
    if to_jsonb(before) - tells is distinct from to_jsonb(after) - tells then
        delete from alert_count c
         where c.guild_id = guild and c.bot = alert_changed.bot
           and c.alert_id = before.alert_id;
        perform alerts_sync(guild, bot);
    end if;

    if before.channel is distinct from after.channel then
        perform lanes_sync(guild, bot, array[after.channel]);
    end if;

    perform announce(guild, bot, 76, jsonb_build_object(
        'action', case when before.alert_id is null then 'add'
                       when after.alert_id is null then 'remove'
                       else 'update' end,
        'name', coalesce(after.name, before.name))
        || alert_difference(before, after));
end $$;


-- What of an alert changed. One that comes or goes is named already.

create or replace function alert_difference(before alert, after alert)
returns jsonb language plpgsql stable as $$
declare
    told  constant text[] := case
              when before.alert_id is null or after.alert_id is null
              then '{alert_id,name}' else '{alert_id}' end;
begin
    return coalesce(difference(to_jsonb(before) - told,
                               to_jsonb(after) - told), '{}');
end $$;


-- GET /alerts

create or replace function alerts_list(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, coalesce(alerts_rows(guild, bot), '[]'));
end $$;


-- GET /alerts/{alert_id}

create or replace function alert_get(token text, guild bigint, bot smallint,
    kind smallint, alert_id text)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, (
        select r from alert_rows(guild, bot, alert_id) r));
end $$;


-- POST /alerts: so many as the plan has.

create or replace function alert_create(token text, guild bigint,
    bot smallint, kind smallint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    new   alert;
    most  int;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    perform alert_check(guild, input);

    new := jsonb_populate_record(null::alert, '{"enabled": true}' || input
                                              || keys_of(guild, bot));
    new.alert_id := next_id(ms(clock_timestamp()));
    most := (select alerts_most(s.plan) from server s
              where s.guild_id = guild);

    if (select count(*) from alert a
         where a.guild_id = guild and a.bot = alert_create.bot) >= most
    then
        perform refuse(402, case most
            when 1 then 'more than one alert needs a larger plan'
            when 5 then 'more than 5 alerts need the Pro plan'
            else 'there are at most 20 alerts' end);
    end if;

    perform record_take(guild, bot);
    insert into alert values (new.*);
    perform alert_changed(guild, bot, null, new);
    return answered(201, format('{"alert_id":"%s"}', new.alert_id));
end $$;


-- PATCH /alerts/{alert_id}

create or replace function alert_patch(token text, guild bigint,
    bot smallint, kind smallint, alert_id text, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  alert;
    after   alert;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    select * into before from alert a
     where a.guild_id = guild and a.bot = alert_patch.bot
       and a.alert_id = alert_patch.alert_id;

    if not found then
        return answered(404);
    end if;

    perform alert_check(guild, input);

    after := jsonb_populate_record(before, input - 'alert_id'
                                           || keys_of(guild, bot));

    if before is not distinct from after then
        perform lanes_again(guild, bot, array[after.channel])
          where input ? 'channel';
        return answered(202);
    end if;

    perform record_take(guild, bot);
    update alert a
       set (name, types, count, seconds, by, channel, role, enabled)
         = (after.name, after.types, after.count, after.seconds, after."by",
            after.channel, after.role, after.enabled)
     where a.guild_id = guild and a.bot = alert_patch.bot
       and a.alert_id = alert_patch.alert_id;
    perform alert_changed(guild, bot, before, after);
    return answered(202);
end $$;


-- DELETE /alerts/{alert_id}

create or replace function alert_delete(token text, guild bigint,
    bot smallint, kind smallint, alert_id text)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    old  alert;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    if not exists (select from alert a
                    where a.guild_id = guild and a.bot = alert_delete.bot
                      and a.alert_id = alert_delete.alert_id)
    then
        return answered(404);
    end if;

    perform record_take(guild, bot);
    delete from alert a
     where a.guild_id = guild and a.bot = alert_delete.bot
       and a.alert_id = alert_delete.alert_id
    returning * into old;
    perform alert_changed(guild, bot, old, null);
    return answered(202);
end $$;
