-- GET /config: every part as its own read gives it, null where nothing is
-- stored. What may be long comes last.
--
-- What is large is read in parts. Rest is empty for the first one, then it is
-- what the part before has in more: 'i' and an ignore list, or 't' and a tag's
-- name, which it begins behind. The last part has no more. Without rest all
-- comes at once. Each part is as things are when it is read.
--
-- As JSON an ignored thing has 700 bytes at most, and a tag 26,000.

create or replace function config_get(token text, guild bigint, bot smallint,
    kind smallint, rest text default null, out status int, out body text,
    out more text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    ignored  text;
    tags     text;
begin
    if not token_live(guild, token) then
        status := 401;
        body := '{}';
        return;
    end if;

    status := 200;

    if rest <> '' then
        select p.* into body, more from config_part(guild, bot, rest, '') p;
        return;
    end if;

    ignored := coalesce(ignore_rows(guild, bot, null,
                            case rest when '' then 1000 end), 'null');
    tags := coalesce(tags_rows(guild, bot, case rest when '' then 25 end),
                     'null');
    body := concat(
        '{"guilds":', guilds_rows(guild, bot),
        ',"serverlogConfigChannels":',
        coalesce(channels_rows(guild, bot), 'null'),
        ',"serverlogConfigOptions":',
        coalesce(options_rows(guild, bot), 'null'),
        ',"serverlogConfigCustomOptions":',
        coalesce(type_rows(guild, bot, null), 'null'),
        ',"settingsConfig":', coalesce(settings_rows(guild, bot), 'null'),
        ',"access":', coalesce(access_rows(guild, bot, null), 'null'),
        ',"alerts":', coalesce(alerts_rows(guild, bot), 'null'),
        ',"serverlogConfigIgnoreStandard":', ignored);

    if ignored <> '' and tags <> ''
       and (rest is null or octet_length(body) <= part_bytes())
    then
        body := concat(body, ',"tags":', tags, '}');
        return;
    end if;

    select p.* into body, more
      from config_part(guild, bot, case ignored when '' then 'i' end, body) p;
end $$;


-- What stands behind that beginning, as rest says; null: behind all ignored.

create or replace function config_part(guild bigint, bot smallint, rest text,
    beginning text, out body text, out more text)
language plpgsql stable as $$
declare
    behind  text := substr(rest, 2);
    part    record;
begin
    body := beginning;

    if rest like 'i%' then
        part := ignore_part(guild, bot,
                            coalesce(nullif(behind, ''), '-1')::int);
        body := concat(body, part.body);
        more := 'i' || part.more;
        rest := null;
    end if;

    if more is null and rest is null then
        body := concat(body, ',"tags":');
        more := case when octet_length(body) > part_bytes() then 't' end;
        behind := '';
    end if;

    if more is not null then
        return;
    end if;

    part := tags_part(guild, bot, behind);
    more := 't' || part.more;
    body := concat(body, part.body, case when more is null then '}' end);
end $$;
