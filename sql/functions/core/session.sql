-- Sessions of people who signed in. Where a token's id stands, a session stands
-- as ~SESSION.USER.RIGHT, which nginx makes of a cookie. No token has such an
-- id. RIGHT is m if the platform says that the user manages the server. It is r
-- or w, to read or to change, and the number of the bot, if the list of access
-- decides. Guild 0 stands for no server.


create or replace function session_part(token text, n int)
returns text language sql immutable as $$
    select split_part(substr(token, 2), '.', n)
$$;


-- What such a session may do at a server: 200, 403, or 401 if it is over.

create or replace function session_status(guild bigint, token text)
returns int language plpgsql stable as $$
declare
    who     constant bigint := session_part(token, 2);
    rights  constant text := session_part(token, 3);
begin
    perform from session s
     where s.session_id = session_part(token, 1) and s.user_id = who
       and s.ended_at is null and s.expires_at > now();

    if not found then
        return 401;
    end if;

    if guild = 0 then
        return 200;
    end if;

    perform from server s
     where s.guild_id = guild and s.forgotten_at is null
       and (rights = 'm' or exists (
               select from access a
                where a.guild_id = guild
                  and a.bot = right(rights, 1)::smallint
                  and a.user_id = who
                  and (rights like 'r%' or a.level = 'manage')));

    return case when found then 200 else 403 end;
end $$;


-- True if it is a session that lives; 403 if it may not do that.

create or replace function session_live(guild bigint, token text)
returns boolean language plpgsql stable as $$
declare
    status  constant int := case when token like '~%'
                            then session_status(guild, token) else 401 end;
begin
    if status = 403 then
        perform refuse(403, '');
    end if;

    return status = 200;
end $$;


-- Who makes the changes of this transaction: the executor of what it announces.

create or replace function executor_set(token text)
returns void language plpgsql as $$
begin
    perform set_config('guildlog.executor', coalesce((
        select jsonb_build_object('id', s.user_id::text, 'name', s.name)::text
          from session s
         where token like '~%' and s.session_id = session_part(token, 1)), ''),
        true);
end $$;


create or replace function executor()
returns jsonb language sql stable as $$
    select coalesce(nullif(current_setting('guildlog.executor', true), ''),
                    '{"id": "0", "name": "API"}')::jsonb
$$;
