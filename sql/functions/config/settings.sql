-- The bot's own settings: its language, written as a key, read as a number.


create or replace function locale_of(key text)
returns smallint language plpgsql stable as $$
declare
    locale  smallint;
begin
    select l.locale into locale from language l where l.key = locale_of.key;

    if not found then
        perform refuse(400, 'locale: unknown language');
    end if;

    return locale;
end $$;


create or replace function settings_rows(guild bigint, bot smallint)
returns text language plpgsql stable as $$
begin
    return (
        select '[' || row_to_json(r) || ']'
          from (select s.guild_id::text as id, s.locale
                  from settings s
                 where s.guild_id = guild
                   and s.bot = settings_rows.bot) r);
end $$;


-- GET /config/settings

create or replace function settings_get(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, settings_rows(guild, bot));
end $$;


-- PATCH /config/settings

create or replace function settings_patch(token text, guild bigint,
    bot smallint, kind smallint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  settings;
    after   settings;
    was     smallint;       -- the language until now
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    select * into before from settings s
     where s.guild_id = guild and s.bot = settings_patch.bot;
    after := row(guild, bot, locale_of(input ->> 'locale'));
    was := coalesce(before.locale, (select s.locale from server s
                                     where s.guild_id = guild), 0);

    insert into settings values (after.*)
    on conflict on constraint settings_pkey
        do update set locale = excluded.locale;

    if was <> after.locale then
        perform announce(guild, bot, 70, jsonb_build_object(
            'action', 'update', 'changes', jsonb_build_array(
                change('locale', (select to_jsonb(l.key) from language l
                                   where l.locale = was),
                       input -> 'locale'))));
    end if;

    return answered(202);
end $$;
