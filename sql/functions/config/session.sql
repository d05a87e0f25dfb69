-- Signing in: what nginx asks of the sessions of people.


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
        select max(e.id)
          from generate_series(0, 1) b (bot)
         cross join lateral (
             select x.id from log_entry x
              where x.guild_id = guild and x.bot = b.bot
              order by x.id desc limit 1) e);
end $$;


-- Begins a session of 12 hours. The body: servers_known(). 403: there was one
-- of that id, so somebody signs in with what has been used.

create or replace function session_begin(id text, user_id bigint, name text,
    guilds bigint[], out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    -- each that begins clears away up to 100 that are over

    delete from session s
     where s.session_id in (select o.session_id from session o
                             where o.expires_at < now()
                             order by o.expires_at limit 100
                               for update skip locked);

    insert into session
    values (id, user_id, name, now() + interval '12 hours', null)
    on conflict on constraint session_pkey do nothing;

    status := case when found then 200 else 403 end;
    body := servers_known(guilds);
end $$;


-- The platform was asked anew. The body: servers_known(). 401: the session is
-- over.

create or replace function session_renew(token text, guilds bigint[],
    out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    status := session_status(0, token);
    body := servers_known(guilds);
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


-- GET /me: the person of a cookie, with the servers that the person manages,
-- and those whose list of access has the person. "server" is 0.

create or replace function me(token text, server bigint, bot smallint,
    kind smallint, person jsonb, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    who  constant bigint := person ->> 'id';
begin
    status := session_status(0, token);
    body := '{}';

    if status <> 200 then
        return;
    end if;

    body := (person - 'servers') || jsonb_build_object('servers', coalesce((
        select jsonb_agg(jsonb_build_object('id', r.id::text, 'name', s.name,
                             'icon', r.icon, 'level', r.level)
                         order by lower(s.name), r.id)
          from (select distinct on (id) *
                  from (select (m ->> 'id')::bigint as id, m ->> 'icon' as icon,
                               'manage' as level
                          from jsonb_array_elements(person -> 'servers') m
                        union all
                        select a.guild_id, null, a.level from access a
                         where a.user_id = who) u
                 order by id, level, icon) r
          join server s on s.guild_id = r.id
         where s.forgotten_at is null), '[]'));
end $$;
