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


-- PATCH /config: several changes, in their order; all of them, or none. What is
-- refused is named by its place. calls: what each is, as [the name of its
-- endpoint, the piece of its path]; input has the bodies.
--
-- A lane that an entry of one change was added to may be closed by the next
-- change: so all lanes are taken first, see delivery/lane.sql.

create or replace function config_patch(token text, guild bigint,
    bot smallint, kind smallint, calls jsonb, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    place    int;
    did      answer;
    answers  text[];
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    perform record_take(guild, bot);
    perform lanes_lock(guild, array(
        select l.lane from lane l
         where l.guild_id = guild and l.bot = config_patch.bot
           and l.state <> 'closed'));

    for n in 0 .. jsonb_array_length(calls) - 1 loop
        place := n;
        did := config_change(token, guild, bot, kind, calls -> n ->> 0,
                             calls -> n ->> 1,
                             input -> 'changes' -> n -> 'body');
        answers := answers || format('{"status":%s,"body":%s}',
                                     did.status, did.body);
    end loop;

    return answered(200, format('{"changes":[%s]}',
                                array_to_string(answers, ',')));
exception when others then
    if sqlstate not like 'GL4%' or sqlerrm = '' then
        raise;
    end if;

    perform refuse(right(sqlstate, 3)::int, concat('changes[', place, ']',
                case when sqlerrm ~ '^path: ' then '.'
                     when sqlerrm ~ '^\w+: ' then '.body.'
                     else ': ' end, sqlerrm));
end $$;


-- One of them, as its own endpoint does it. What is gone is refused, and whose
-- session ended meanwhile begins anew, which nginx does by itself.

create or replace function config_change(token text, guild bigint,
    bot smallint, kind smallint, name text, piece text, input jsonb)
returns answer language plpgsql as $$
declare
    did  answer;
begin
    case name
    when 'channels_patch' then
        did := channels_patch(token, guild, bot, kind, input);
    when 'options_patch' then
        did := options_patch(token, guild, bot, kind, input);
    when 'type_patch' then
        did := type_patch(token, guild, bot, kind, piece::int, input);
    when 'types_patch' then
        did := types_patch(token, guild, bot, kind, input);
    when 'filter_patch' then
        did := filter_patch(token, guild, bot, kind, piece, input);
    when 'settings_patch' then
        did := settings_patch(token, guild, bot, kind, input);
    when 'ignore_add' then
        did := ignore_add(token, guild, bot, kind, piece::int, input);
    when 'ignore_remove' then
        did := ignore_remove(token, guild, bot, kind, piece::int, input);
    when 'tag_create' then
        did := tag_create(token, guild, bot, kind, input);
    when 'tag_patch' then
        did := tag_patch(token, guild, bot, kind, piece, input);
    when 'tag_delete' then
        did := tag_delete(token, guild, bot, kind, piece);
    when 'alert_create' then
        did := alert_create(token, guild, bot, kind, input);
    when 'alert_patch' then
        did := alert_patch(token, guild, bot, kind, piece, input);
    when 'alert_delete' then
        did := alert_delete(token, guild, bot, kind, piece);
    when 'access_put' then
        did := access_put(token, guild, bot, kind, piece::bigint, input);
    when 'access_delete' then
        did := access_delete(token, guild, bot, kind, piece::bigint);
    end case;

    if did.status = 401 then
        raise exception using errcode = '40001',
            message = 'the session ended meanwhile';
    elsif did.status = 404 then
        perform refuse(404, 'path: names nothing that is there');
    end if;

    return did;
end $$;
