-- GET /config: every part of the configuration as its own read gives it, null
-- where nothing is stored.

create or replace function config_get(token text, guild bigint, bot smallint,
    kind smallint, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    if not token_live(guild, token) then
        status := 401;
        body := '{}';
        return;
    end if;

    status := 200;
    body := concat(
        '{"guilds":', guilds_rows(guild, bot),
        ',"serverlogConfigChannels":',
        coalesce(channels_rows(guild, bot), 'null'),
        ',"serverlogConfigOptions":',
        coalesce(options_rows(guild, bot), 'null'),
        ',"serverlogConfigCustomOptions":',
        coalesce(type_rows(guild, bot, null), 'null'),
        ',"serverlogConfigIgnoreStandard":',
        coalesce(ignore_rows(guild, bot, null), 'null'),
        ',"settingsConfig":', coalesce(settings_rows(guild, bot), 'null'),
        ',"tags":', coalesce(tags_rows(guild, bot), 'null'),
        ',"access":', coalesce(access_rows(guild, bot, null), 'null'), '}');
end $$;
