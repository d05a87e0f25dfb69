-- Notifications: the last 100 changes of a bot's configuration, and troubles of
-- its log channels.


-- Tells the server's people of a change: a service entry by executor() with
-- these fields, and a notification. Nothing to tell (null): nothing happens.

create or replace function announce(guild bigint, bot smallint, log_type int,
    details jsonb)
returns void language plpgsql as $$
begin
    if details is null then
        return;
    end if;

    perform record_service(guild, bot, log_type, details);
    perform notification_add(guild, bot, log_type, details);
end $$;


-- GET /notifications: newest first. A description is cut, so that 100 of them
-- never take more than 1 MiB: a control character takes 6 bytes in JSON. The
-- service entry of the change has the rest.

create or replace function notifications_list(token text, guild bigint,
    bot smallint, kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, coalesce((
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select n.notification_id::text as id,
                       to_char(n.created_at at time zone 'UTC',
                               'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created,
                       n.notification_id::text as "notificationId",
                       n.log_type::text as "notificationType",
                       (select row_to_json(d)
                          from (select n.title,
                                       left(n.description, 1500) as description,
                                       n.executor_id::text as "executorId") d)
                           as "notificationData",
                       n.acknowledged::int as acknowledged
                  from notification n
                 where n.guild_id = guild
                   and n.bot = notifications_list.bot
                 order by n.notification_id desc limit 100) r), '[]'));
end $$;


-- POST /notifications/acknowledge: all of them.

create or replace function notifications_acknowledge(token text, guild bigint,
    bot smallint, kind smallint)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if not token_live(guild, token) then
        return answered(401);
    end if;

    update notification n
       set acknowledged = true
     where n.guild_id = guild
       and n.bot = notifications_acknowledge.bot
       and not n.acknowledged;
    return answered(200);
end $$;


-- POST /notifications/{id}/acknowledge

create or replace function notification_acknowledge(token text, guild bigint,
    bot smallint, kind smallint, id text)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if not token_live(guild, token) then
        return answered(401);
    end if;

    update notification n
       set acknowledged = true
     where n.guild_id = guild
       and n.bot = notification_acknowledge.bot
       and n.notification_id::text = id;
    return answered(case when found then 200 else 404 end);
end $$;
