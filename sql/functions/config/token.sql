-- Tokens: their facts, never the tokens themselves.


-- GET /auth: the live tokens of the bot.

create or replace function token_list(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, (
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select t.guild_id::text as id, t.token_id as unique_id,
                       t.permissions, t.creator::text as creator,
                       ms(t.created_at) as created_at,
                       ms(t.expires_at) as expires_at, t.name
                  from token t
                 where t.guild_id = guild
                   and t.bot = token_list.bot
                   and t.revoked_at is null
                   and t.expires_at > now()
                 order by t.created_at, t.token_id) r));
end $$;


-- Whether the token lives, for what nginx answers by itself.

create or replace function token_check(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, '{}');
end $$;


-- Revokes live tokens of the bot, from now on: that one, and those that the
-- person made. True if there were any. The caller has the row of the server.

create or replace function token_end(guild bigint, bot smallint, id text,
    maker bigint)
returns boolean language plpgsql as $$
declare
    gone  text;
begin
    -- active ignore takes the row of its token behind this

    perform record_take(guild, bot);

    for gone in
        update token t
           set revoked_at = now()
         where t.guild_id = guild and t.bot = token_end.bot
           and (t.token_id = id or t.creator = maker)
           and t.revoked_at is null and t.expires_at > now()
        returning t.token_id
    loop
        perform announce(guild, bot, 71, jsonb_build_object(
            'action', 'revoke', 'name', gone));
    end loop;

    return found;
end $$;


-- DELETE /auth?tokenId=

create or replace function token_revoke(token text, guild bigint, bot smallint,
    kind smallint, token_id text)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    return answered(case when token_end(guild, bot, token_id, null)
                         then 200 else 404 end);
end $$;


-- The facts of a new token, for the caller to sign. At most 5 live ones a
-- server, over both bots. The caller has the row of the server.

create or replace function token_make(guild bigint, bot smallint,
    permissions smallint, creator bigint, name text)
returns answer language plpgsql as $$
declare
    made     constant timestamptz := date_trunc('second', clock_timestamp());
    expires  constant timestamptz := made + interval '90 days';
    id       constant text := gen_random_uuid();
begin
    delete from token t where t.guild_id = guild and t.expires_at <= now();

    if (select count(*) from token t
         where t.guild_id = guild and t.revoked_at is null) >= 5
    then
        perform refuse(409, 'a server has at most 5 live tokens');
    end if;

    insert into token (guild_id, token_id, bot, permissions, creator,
                       created_at, expires_at, name)
    values (guild, id, bot, permissions, creator, made, expires, name);

    perform announce(guild, bot, 72, jsonb_build_object(
        'action', 'create', 'name', id));
    return answered(201, (
        select row_to_json(r)
          from (select id as unique_id, guild::text as guild,
                       case bot when 1 then 'pro' else 'main' end as bot,
                       permissions, ms(made) / 1000 as iat,
                       ms(expires) / 1000 as exp) r)::text);
end $$;


-- POST /auth: the person of a cookie makes a token. A token makes none.

create or replace function token_create(token text, guild bigint, bot smallint,
    kind smallint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    if token not like '~%' then
        return answered(403);
    end if;

    return token_make(guild, bot, (input ->> 'permissions')::smallint,
                      (executor() ->> 'id')::bigint, input ->> 'name');
end $$;


-- POST /servers/{guild}/tokens of the operator.

create or replace function operator_token_create(guild bigint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    perform server_lock(guild);
    return token_make(guild,
                      coalesce(input ->> 'bot' = 'pro', false)::int::smallint,
                      (input ->> 'permissions')::smallint,
                      (input ->> 'creator')::bigint, null);
end $$;
