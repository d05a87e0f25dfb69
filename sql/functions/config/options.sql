-- Logging options of the whole server.


create or replace function options_rows(guild bigint, bot smallint)
returns text language plpgsql stable as $$
begin
    return (
        select '[' || row_to_json(r) || ']'
          from (select o.guild_id::text as id,
                       o.spoilers::int as spoilers,
                       o.proxy_integration::int as proxy_integration,
                       o.ignore_bot_targets::int as ignore_bot_targets,
                       o.ignore_bot_executors::int as ignore_bot_executors,
                       o.format_type, o.buttons,
                       o.active_ignore::int as active_ignore
                  from logging_options o
                 where o.guild_id = guild
                   and o.bot = options_rows.bot) r);
end $$;


-- Refuses a format to the plans without formats.

create or replace function format_allowed(guild bigint, input jsonb)
returns void language plpgsql stable as $$
begin
    if input ->> 'format_type' is not null
       and (select s.plan from server s where s.guild_id = guild) = 'free'
    then
        perform refuse(403, 'format_type: needs the Pro or Pro Lite plan');
    end if;
end $$;


-- GET /config/logging/settings

create or replace function options_get(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, options_rows(guild, bot));
end $$;


-- PATCH /config/logging/settings: null is the default again.

create or replace function options_patch(token text, guild bigint,
    bot smallint, kind smallint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  logging_options;
    after   logging_options;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    perform format_allowed(guild, input);

    before := options_of(guild, bot);
    after := jsonb_populate_record(options_default(), jsonb_strip_nulls(
                 to_jsonb(before) || input || keys_of(guild, bot)));

    if before is not distinct from after then
        return answered(200);
    end if;

    delete from logging_options o
     where o.guild_id = guild and o.bot = options_patch.bot;
    insert into logging_options values (after.*);

    perform announce(guild, bot, 76, '{"action": "update"}'
        || coalesce(difference(to_jsonb(before), to_jsonb(after)), '{}'));
    return answered(200);
end $$;
