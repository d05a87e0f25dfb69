-- Who may use the dashboard: level manage or view.


-- The row of one user, or of all.

create or replace function access_rows(guild bigint, bot smallint,
    user_id bigint)
returns text language plpgsql stable as $$
begin
    return (
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select a.guild_id::text as id, a.user_id::text as user_id,
                       a.level
                  from access a
                 where a.guild_id = guild
                   and a.bot = access_rows.bot
                   and (access_rows.user_id is null
                        or a.user_id = access_rows.user_id)
                 order by a.user_id) r);
end $$;


-- The user as the target of a service entry, by the name in the directory.

create or replace function user_named(guild bigint, user_id bigint)
returns jsonb language plpgsql stable as $$
begin
    return jsonb_build_object('id', user_id::text, 'name', coalesce(
        (select d.name from directory_one(guild, 0, user_id) d), ''));
end $$;


-- GET /config/access

create or replace function access_list(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, access_rows(guild, bot, null));
end $$;


-- GET /config/access/{user_id}

create or replace function access_get(token text, guild bigint, bot smallint,
    kind smallint, user_id bigint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, access_rows(guild, bot, user_id));
end $$;


-- PUT /config/access/{user_id}: at most 200 users.

create or replace function access_put(token text, guild bigint, bot smallint,
    kind smallint, user_id bigint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  text;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    select a.level into before from access a
     where a.guild_id = guild and a.bot = access_put.bot
       and a.user_id = access_put.user_id;

    if before = input ->> 'level' then
        return answered(202);
    end if;

    if before is null
       and (select count(*) from access a
             where a.guild_id = guild and a.bot = access_put.bot) >= 200
    then
        perform refuse(402, 'at most 200 users have access');
    end if;

    insert into access values (guild, bot, user_id, input ->> 'level')
    on conflict on constraint access_pkey
        do update set level = excluded.level;

    perform announce(guild, bot, 99, jsonb_build_object(
        'action', case when before is null then 'add' else 'update' end,
        'target', user_named(guild, user_id),
        'name', input ->> 'level', 'changes', jsonb_build_array(
            change('level', to_jsonb(before), input -> 'level'))));
    return answered(202);
end $$;


-- DELETE /config/access/{user_id}?revoke=: 1: with the live tokens of the bot
-- that the user made.

create or replace function access_delete(token text, guild bigint,
    bot smallint, kind smallint, user_id bigint, revoke int default 0)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  text;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    delete from access a
     where a.guild_id = guild and a.bot = access_delete.bot
       and a.user_id = access_delete.user_id
    returning a.level into before;

    if not found then
        return answered(404);
    end if;

    perform announce(guild, bot, 99, jsonb_build_object(
        'action', 'remove', 'target', user_named(guild, user_id),
        'changes', jsonb_build_array(
            change('level', to_jsonb(before), null))));

    if revoke = 1 then
        perform token_end(guild, bot, null, user_id);
    end if;

    return answered(202);
end $$;
