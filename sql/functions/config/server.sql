-- The server itself: reading it, resetting it, and what the operator says of
-- it.


create or replace function server_object(guild bigint, bot smallint)
returns text language plpgsql stable as $$
begin
    return (
        select row_to_json(r)
          from (select s.guild_id::text as id, s.name,
                       s.owner_id::text as owner_id, s.plan,
                       coalesce(b.locale, s.locale) as locale,
                       retention_ms(s.plan) as "retentionMs",
                       h.first_log_at, ms(s.created_at) as created_at
                  from server s
                  left join settings b
                    on b.guild_id = guild and b.bot = server_object.bot
                  left join head_of(guild, server_object.bot) h on true
                 where s.guild_id = guild) r);
end $$;


-- GET /servers/{guild}

create or replace function server_get(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, server_object(guild, bot));
end $$;


-- DELETE /servers/{guild}: the bot starts anew, its tokens stop at once; the
-- log entries stay.

create or replace function server_reset(token text, guild bigint,
    bot smallint, kind smallint)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    -- what records takes its requests of active ignore in this order

    perform record_take(guild, bot);

    delete from logging_channels c
     where c.guild_id = guild and c.bot = server_reset.bot;
    delete from logging_options o
     where o.guild_id = guild and o.bot = server_reset.bot;
    delete from logging_type t
     where t.guild_id = guild and t.bot = server_reset.bot;
    delete from ignore_entry i
     where i.guild_id = guild and i.bot = server_reset.bot;
    delete from active_ignore a
     where a.guild_id = guild and a.bot = server_reset.bot;
    delete from tag t
     where t.guild_id = guild and t.bot = server_reset.bot;
    delete from filter f
     where f.guild_id = guild and f.bot = server_reset.bot;
    delete from alert a
     where a.guild_id = guild and a.bot = server_reset.bot;
    delete from alert_count c
     where c.guild_id = guild and c.bot = server_reset.bot;
    perform alerts_sync(guild, bot);
    delete from access a
     where a.guild_id = guild and a.bot = server_reset.bot;
    update token t
       set revoked_at = now()
     where t.guild_id = guild and t.bot = server_reset.bot
       and t.revoked_at is null;
    perform lanes_sync(guild, bot);

    perform announce(guild, bot, 78, '{"action": "reset"}');
    return answered(202);
end $$;


create or replace function guilds_rows(guild bigint, bot smallint)
returns text language plpgsql stable as $$
begin
    return (
        select '[' || row_to_json(r) || ']'
          from (select s.guild_id::text as id, s.owner_id::text as owner_id,
                       h.first_log_at
                  from server s
                  left join head_of(guild, bot) h on true
                 where s.guild_id = guild) r);
end $$;


-- GET /config/guilds

create or replace function guilds_get(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, guilds_rows(guild, bot));
end $$;


-- PUT /servers/{guild} of the operator: creates the server or changes the
-- fields that are there. A new one whose plan is not said gets the
-- usual one.

create or replace function operator_server_put(guild bigint, input jsonb,
    usual text default 'free', out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    default_locale  smallint;
    was             server;
    keeps           boolean;
begin
    if input ->> 'locale' is not null then
        default_locale := locale_of(input ->> 'locale');
    end if;

    insert into server (guild_id) values (guild) on conflict do nothing;
    status := case when found then 201 else 200 end;
    perform server_lock(guild);

    if status = 201 and input ->> 'plan' is null then
        input := input || jsonb_build_object('plan', usual);
    end if;

    select * into was from server s
     where s.guild_id = guild for no key update;

    keeps := plan_keeps(input ->> 'plan', null);

    if keeps then
        was.lapsed_at := null;
    elsif input ->> 'plan' is not null and plan_keeps(was.plan, null) then
        was.lapsed_at := now();
    end if;

    update server s
       set lapsed_at = was.lapsed_at,
           name = coalesce(input ->> 'name', s.name),
           owner_id = coalesce((input ->> 'owner_id')::bigint, s.owner_id),
           plan = coalesce(input ->> 'plan', s.plan),
           locale = coalesce(default_locale, s.locale)
     where s.guild_id = guild;

    if keeps and was.plan <> 'pro' then
        perform from log_head h
          where h.guild_id = guild order by h.bot for update;
        perform search_give(guild, h.bot)
           from log_head h where h.guild_id = guild and h.arrival > 0;
    end if;

    body := server_object(guild, 0::smallint);
end $$;
