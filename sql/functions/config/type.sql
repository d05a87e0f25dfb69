-- Settings of single log types; a field that is null follows the server's.


-- The rows of one log type, or of all that are customised.

create or replace function type_rows(guild bigint, bot smallint, log_id int)
returns text language plpgsql stable as $$
begin
    return (
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select t.guild_id::text as id, t.log_type,
                       t.enabled::int as enabled,
                       t.log_channel::text as log_channel,
                       t.format_type, t.color,
                       t.ignore_bot_executors::int as ignore_bot_executors,
                       t.ignore_bot_targets::int as ignore_bot_targets,
                       t.active_ignore::int as active_ignore
                  from logging_type t
                 where t.guild_id = guild
                   and t.bot = type_rows.bot
                   and (log_id is null or t.log_type = log_id)
                 order by t.log_type) r);
end $$;


-- GET /config/logging/settings/{log_id}

create or replace function type_get(token text, guild bigint, bot smallint,
    kind smallint, log_id int, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    if not token_live(guild, token) then
        status := 401;
        body := '{}';
        return;
    end if;

    body := coalesce(type_rows(guild, bot, log_id), '{}');
    status := case body when '{}' then 404 else 200 end;
end $$;


-- PATCH /config/logging/settings/{log_id}: a type that follows the server in
-- everything is not customised, and has no row.

create or replace function type_patch(token text, guild bigint, bot smallint,
    kind smallint, log_id int, input jsonb, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    before  logging_type;
    after   logging_type;
    custom  boolean;
begin
    body := '{}';

    if not change_begin(guild, token) then
        status := 401;
        return;
    end if;

    perform format_allowed(guild, input);
    perform channels_refuse(guild, jsonb_build_object('log_channel',
                                       input -> 'log_channel'));

    select * into before from logging_type t
     where t.guild_id = guild and t.bot = type_patch.bot
       and t.log_type = log_id;
    after := jsonb_populate_record(before, input || keys_of(guild, bot)
                 || jsonb_build_object('log_type', log_id));

    custom := num_nonnulls(after.enabled, after.log_channel,
                           after.format_type, after.color,
                           after.ignore_bot_executors,
                           after.ignore_bot_targets, after.active_ignore) > 0;

    if before is distinct from after then
        delete from logging_type t
         where t.guild_id = guild and t.bot = type_patch.bot
           and t.log_type = log_id;
        insert into logging_type select after.* where custom;

        perform announce(guild, bot, 77,
            jsonb_build_object('action', 'update', 'name', t.key)
            || difference(to_jsonb(before) - 'log_type',
                          to_jsonb(after) - 'log_type'))
           from log_type t where t.id = log_id;
    end if;

    if before.log_channel is distinct from after.log_channel then
        perform lanes_sync(guild, bot, array[after.log_channel]);
    elsif input ? 'log_channel' then
        perform lanes_again(guild, bot, array[after.log_channel]);
    end if;

    status := 202;
end $$;
