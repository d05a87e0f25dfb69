-- Sessions of people who signed in. Where a token's id stands, a session stands
-- as ~SESSION.USER.RIGHT, which nginx makes of a cookie. No token has such an
-- id. RIGHT is r or w, to read or to change, and the number of the bot. The
-- session knows which servers the user manages, as the platform said; at others
-- the list of access decides. Guild 0 stands for no server. The module of
-- before says m, and no number, where its cookie says that the user manages the
-- server.


create or replace function session_part(token text, n int)
returns text language sql immutable as $$
    select split_part(substr(token, 2), '.', n)
$$;


-- What such a session may do at a server: 200, 403, 401 if it is over, or 419
-- if the platform has to be asked anew before.

create or replace function session_status(guild bigint, token text)
returns int language plpgsql stable as $$
declare
    who     constant bigint := session_part(token, 2);
    rights  constant text := session_part(token, 3);
    told    bigint[];      -- null: the session is from before it was kept
    asked   timestamptz;
begin
    select s.servers, s.asked_at into told, asked from session s
     where s.session_id = session_part(token, 1) and s.user_id = who
       and s.ended_at is null and s.expires_at > now();

    if not found then
        return 401;
    elsif asked < now() - interval '15 minutes' then
        return 419;
    elsif guild = 0 then
        return 200;
    end if;

    perform from server s
     where s.guild_id = guild and s.forgotten_at is null
       and (guild = any (told) or (rights = 'm' and told is null)
            or (rights <> 'm' and exists (
                    select from access a
                     where a.guild_id = guild
                       and a.bot = right(rights, 1)::smallint
                       and a.user_id = who
                       and (rights like 'r%' or a.level = 'manage'))));

    return case when found then 200 else 403 end;
end $$;


-- True if it is a session that lives. 403: it may not do that. 419: before that
-- the platform has to be asked.

create or replace function session_live(guild bigint, token text)
returns boolean language plpgsql stable as $$
declare
    status  constant int := case when token like '~%'
                            then session_status(guild, token) else 401 end;
begin
    if status in (403, 419) then
        perform refuse(status, '');
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


-- Takes all sessions of a person, until the transaction ends: also those that
-- begin meanwhile, so that nobody waits for somebody who waits.

create or replace function sessions_take(who bigint)
returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtext('guildlog.session'), hashint8(who));
end $$;


-- The platform said which servers a person manages: what is lost is lost in all
-- sessions at once. Race: an answer may be older than what another session was
-- told, so it gives nothing to others.

create or replace function sessions_narrow(who bigint, guilds bigint[])
returns void language plpgsql set enable_seqscan = off as $$
begin
    update session s
       set servers = array(select g from unnest(s.servers) g
                            where g = any (guilds))
     where s.user_id = who and not s.servers <@ guilds;
end $$;


-- Of these servers, those that are known, as a JSON array of strings: for the
-- module of before.

create or replace function servers_known(guilds bigint[])
returns text language plpgsql stable as $$
begin
    return (select coalesce(json_agg(s.guild_id::text), '[]') from server s
             where s.guild_id = any (guilds) and s.forgotten_at is null);
end $$;


-- Begins a session of 12 hours of a person who manages these servers, as the
-- platform says: icons are theirs, access is its token. A person has 20, and
-- the oldest one goes. 403: there was one of that id, so somebody signs in with
-- what has been used. The module of before says no more than guilds. The body:
-- servers_known().

create or replace function session_begin(id text, user_id bigint, name text,
    guilds bigint[], avatar text default null, icons text[] default null,
    access text default null, out status int, out body text)
language plpgsql security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    told  constant bigint[] := coalesce(guilds, '{}');
begin
    perform sessions_take(user_id);

    insert into session (session_id, user_id, name, expires_at, servers,
                         asked_at, avatar, icons, access)
    values (id, user_id, name, now() + interval '12 hours', told,
            case when access is not null then now() end, avatar,
            jsonb_object(told::text[], icons), access)
    on conflict on constraint session_pkey do nothing;

    status := case when found then 200 else 403 end;

    if status = 200 then
        perform sessions_narrow(user_id, told);

        delete from session s
         where s.session_id in (
                   select o.session_id from session o
                    where o.user_id = session_begin.user_id
                    order by (o.ended_at is null) desc, o.expires_at desc,
                             o.session_id = id desc
                   offset 20);
    end if;

    body := servers_known(told);
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


-- What the platform is asked with. The body: {"access"}, sealed; {} if it need
-- not be asked. 401: the session is over.

create or replace function session_ask(token text, out status int,
    out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    status := session_status(0, token);
    body := '{}';

    if status = 419 then
        status := 200;
        body := (select json_build_object('access', coalesce(s.access, ''))
                   from session s
                  where s.session_id = session_part(token, 1));
    end if;
end $$;


-- The platform was asked anew. 401: the session is over. The body:
-- servers_known().

create or replace function session_renew(token text, guilds bigint[],
    icons text[] default null, out status int, out body text)
language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    told  constant bigint[] := coalesce(guilds, '{}');
begin
    status := 401;

    if session_status(0, token) <> 401 then
        perform sessions_take(session_part(token, 2)::bigint);

        update session s
           set servers = told,
               icons = jsonb_object(told::text[], session_renew.icons),
               asked_at = case when s.asked_at is not null then now() end
         where s.session_id = session_part(token, 1) and s.ended_at is null;

        if found then
            status := 200;
            perform sessions_narrow(session_part(token, 2)::bigint, told);
        end if;
    end if;

    body := servers_known(told);
end $$;


-- Ends sessions of a person: the one of that id, or all. What they had of the
-- person goes; that there was one of that id stays for as long as a cookie of
-- it may. How many ended.

create or replace function sessions_end(who bigint, id text)
returns int language plpgsql set enable_seqscan = off as $$
declare
    ended  int;
begin
    perform sessions_take(who);

    update session s
       set ended_at = now(), name = '', servers = '{}', avatar = null,
           icons = null, access = null
     where s.user_id = who and (id is null or s.session_id = id)
       and s.ended_at is null and s.expires_at > now();
    get diagnostics ended = row_count;

    return ended;
end $$;


-- Ends the session, on every machine; or all of its person. 401: it was over.

create or replace function session_end(token text, whole boolean default false,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    body := '{}';
    status := 401;

    if session_status(0, token) <> 401
       and sessions_end(session_part(token, 2)::bigint,
               case when not whole then session_part(token, 1) end) > 0
    then
        status := 200;
    end if;
end $$;
