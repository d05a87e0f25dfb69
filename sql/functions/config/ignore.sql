-- Ignore lists: what is not logged.


-- The entries of a list, or of all; '' if they are more than so many.

create or replace function ignore_rows(guild bigint, bot smallint,
    ignore_type int, most int default null)
returns text language plpgsql stable as $$
begin
    return (
        select case when count(*) > most then ''
                    else '[' || string_agg(row_to_json(r)::text, ',') || ']' end
          from (select i.guild_id::text as id, i.ignore_type, i.ignore_value
                  from ignore_entry i
                 where i.guild_id = guild
                   and i.bot = ignore_rows.bot
                   and (ignore_rows.ignore_type is null
                        or i.ignore_type = ignore_rows.ignore_type)
                 order by i.ignore_type, i.ignore_value limit most + 1) r);
end $$;


-- A part of the array of all entries: one list, the first behind that one, or
-- its end. More is the list; null: the array ends.

create or replace function ignore_part(guild bigint, bot smallint, behind int,
    out body text, out more int)
language plpgsql stable as $$
declare
    rows  text;
begin
    more := (select min(i.ignore_type) from ignore_entry i
              where i.guild_id = guild and i.bot = ignore_part.bot
                and i.ignore_type > behind);
    rows := ignore_rows(guild, bot, more);
    body := case when more is null then ']'
                 else case behind when -1 then '[' else ',' end
                      || substr(rows, 2, length(rows) - 2) end;
end $$;


create or replace function ignore_name(ignore_type int)
returns text language sql immutable as $$
    select ('{channels,channel categories,executors,targets,message content,'
            'executor roles,target roles}'::text[])[ignore_type + 1]
$$;


-- The list as the key of a change; see conf/viewer/change-keys.tsv.

create or replace function ignore_key(ignore_type int)
returns text language sql immutable as $$
    select 'ignored_' || ('{channels,categories,executors,targets,content,'
           'executor_roles,target_roles}'::text[])[ignore_type + 1]
$$;


-- GET /config/logging/ignore/{ignore_type}

create or replace function ignore_get(token text, guild bigint, bot smallint,
    kind smallint, ignore_type int)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, ignore_rows(guild, bot, ignore_type));
end $$;


-- POST /config/logging/ignore/{ignore_type}: at most 1,000 entries a list.
-- What is there already is no change.

create or replace function ignore_add(token text, guild bigint, bot smallint,
    kind smallint, ignore_type int, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    insert into ignore_entry
    values (guild, bot, ignore_type, input ->> 'value')
    on conflict do nothing;

    if not found then
        return answered(202);
    end if;

    if (select count(*) from ignore_entry i
         where i.guild_id = guild and i.bot = ignore_add.bot
           and i.ignore_type = ignore_add.ignore_type) > 1000
    then
        perform refuse(402, 'an ignore list has at most 1000 entries');
    end if;

    perform announce(guild, bot, 69, jsonb_build_object(
        'action', 'add', 'name', ignore_name(ignore_type),
        'value', input ->> 'value', 'changes', jsonb_build_array(
            change(ignore_key(ignore_type), null, input -> 'value'))));
    return answered(202);
end $$;


-- DELETE /config/logging/ignore/{ignore_type}: what is not there is no change.

create or replace function ignore_remove(token text, guild bigint,
    bot smallint, kind smallint, ignore_type int, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    delete from ignore_entry i
     where i.guild_id = guild
       and i.bot = ignore_remove.bot
       and i.ignore_type = ignore_remove.ignore_type
       and i.ignore_value = input ->> 'value';

    if found then
        perform announce(guild, bot, 69, jsonb_build_object(
            'action', 'remove', 'name', ignore_name(ignore_type),
            'value', input ->> 'value', 'changes', jsonb_build_array(
                change(ignore_key(ignore_type), input -> 'value', null))));
    end if;

    return answered(202);
end $$;
