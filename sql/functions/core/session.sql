-- Sessions of people who signed in. Where a token's id stands, a session stands
-- as ~SESSION.USER.RIGHT, which nginx makes of a cookie. No token has such an
-- id. RIGHT is m where the user manages the server: the session knows whether
-- the platform said so. It is r or w, to read or to change, and the number of
-- the bot, if the list of access decides. Guild 0 stands for no server.


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
    told    bigint[];      -- null: the session is from before it was kept
begin
    select s.servers into told from session s
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
       and case when rights = 'm' then coalesce(guild = any (told), true)
           else exists (
               select from access a
                where a.guild_id = guild
                  and a.bot = right(rights, 1)::smallint
                  and a.user_id = who
                  and (rights like 'r%' or a.level = 'manage')) end;

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


-- Who does what nobody does, and what a token does.

create or replace function executor_api()
returns jsonb language sql immutable as $$
    select '{"id": "0", "name": "API"}'::jsonb
$$;


create or replace function executor()
returns jsonb language sql stable as $$
    select coalesce(nullif(current_setting('guildlog.executor', true),
                           '')::jsonb, executor_api())
$$;


-- Of these servers, those that are known, as a JSON array of strings: at most
-- 100, those with the most recent entries.

create or replace function servers_known(guilds bigint[])
returns text language plpgsql stable as $$
begin
    return (
        select coalesce(json_agg(k.id::text order by k.last desc nulls last,
                                                     k.id), '[]')
          from (select s.guild_id as id, entry_last(s.guild_id) as last
                  from server s
                 where s.guild_id = any (guilds) and s.forgotten_at is null
                 order by 2 desc nulls last, 1 limit 100) k);
end $$;


-- Its newest entry, of either bot. Not a part of servers_known(): on Citus this
-- is asked where the server is.

create or replace function entry_last(guild bigint)
returns bigint language plpgsql stable as $$
begin
    return (
        select max(greatest(
                   (select k.last_id from log_block k
                     where k.guild_id = guild and k.bot = h.bot
                     order by k.first_id desc limit 1),
                   (select max(a.id) from log_arrival a
                     where a.guild_id = guild and a.bot = h.bot
                       and a.arrival > h.blocked
                       and a.recorded_at between h.since and h.last_at)))
          from log_head h
         where h.guild_id = guild);
end $$;


-- Begins a session of 12 hours of a person who manages these servers, as the
-- platform says. The body: servers_known(). 403: there was one of that id, so
-- somebody signs in with what has been used.

create or replace function session_begin(id text, user_id bigint, name text,
    guilds bigint[], out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    insert into session (session_id, user_id, name, expires_at, servers)
    values (id, user_id, name, now() + interval '12 hours',
            coalesce(guilds, '{}'))
    on conflict on constraint session_pkey do nothing;

    status := case when found then 200 else 403 end;
    body := servers_known(guilds);
end $$;


-- Sessions that are over go: they have names of people. How many went.

create or replace function sessions_forget(most int)
returns int language plpgsql as $$
declare
    gone  int;
begin
    delete from session s
     where s.session_id in (select o.session_id from session o
                             where o.expires_at < now()
                             order by o.expires_at limit most
                               for update skip locked);
    get diagnostics gone = row_count;

    return gone;
end $$;


-- The platform was asked anew. The body: servers_known(). 401: the session is
-- over.

create or replace function session_renew(token text, guilds bigint[],
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    status := session_status(0, token);
    body := servers_known(guilds);

    update session s
       set servers = coalesce(guilds, '{}')
     where status = 200 and s.session_id = session_part(token, 1);
end $$;


-- Ends the session, on every machine. 401: it was over.

create or replace function session_end(token text, out status int,
    out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    body := '{}';
    status := session_status(0, token);

    update session s
       set ended_at = now()
     where status = 200 and s.session_id = session_part(token, 1);
end $$;
