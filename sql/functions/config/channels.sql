-- Log channels: the main one and those of the categories. Null follows the
-- main channel, "0" switches a category off.


create or replace function channels_rows(guild bigint, bot smallint)
returns text language plpgsql stable as $$
begin
    return (
        select '[' || row_to_json(r) || ']'
          from (select c.guild_id::text as id,
                       c.main_channel::text as main_channel,
                       c.category_modlog::text as category_modlog,
                       c.category_members::text as category_members,
                       c.category_actions::text as category_actions,
                       c.category_text::text as category_text,
                       c.category_voice::text as category_voice,
                       c.category_files::text as category_files,
                       c.category_server::text as category_server,
                       c.category_roles::text as category_roles,
                       c.category_channels::text as category_channels,
                       c.category_service::text as category_service
                  from logging_channels c
                 where c.guild_id = guild
                   and c.bot = channels_rows.bot) r);
end $$;


-- GET /config/logging/channels

create or replace function channels_get(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, channels_rows(guild, bot));
end $$;


-- PATCH /config/logging/channels

create or replace function channels_patch(token text, guild bigint,
    bot smallint, kind smallint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  logging_channels;
    after   logging_channels;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    select * into before from logging_channels c
     where c.guild_id = guild and c.bot = channels_patch.bot;
    after := jsonb_populate_record(before, input || keys_of(guild, bot));

    if after.main_channel = 0 then
        perform refuse(400, 'main_channel: cannot be off');
    end if;

    if after.category_files = 0 then
        perform refuse(400, 'category_files: cannot be off');
    end if;

    perform channels_refuse(guild, input);

    if before is not distinct from after then
        perform lanes_again(guild, bot, channels_in(input));
        return answered(202);
    end if;

    delete from logging_channels c
     where c.guild_id = guild and c.bot = channels_patch.bot;
    insert into logging_channels values (after.*);
    perform lanes_sync(guild, bot, channels_in(input));

    perform announce(guild, bot, 68, '{"action": "update"}'
        || coalesce(difference(to_jsonb(before), to_jsonb(after)), '{}'));
    return answered(202);
end $$;


-- The channels a request names.

create or replace function channels_in(input jsonb)
returns bigint[] language sql immutable as $$
    select array_agg(v.value::bigint) from jsonb_each_text(input) v
$$;


-- Refuses channels of another server, by the name of the field.

create or replace function channels_refuse(guild bigint, input jsonb)
returns void language plpgsql stable as $$
declare
    astray  constant bigint[] := channels_astray(guild, channels_in(input));
    field   text;
begin
    select min(v.key) into field from jsonb_each_text(input) v
     where v.value::bigint = any (astray);

    if field is not null then
        perform refuse(400, field || ': belongs to another server');
    end if;
end $$;
