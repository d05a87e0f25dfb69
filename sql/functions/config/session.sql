-- The person of a cookie.


-- GET /me: the person of a cookie, with the servers that the person manages,
-- and those whose list of access has the person. "server" is 0. The module of
-- before hands in what its cookie says of the person.

create or replace function me(token text, server bigint, bot smallint,
    kind smallint, person jsonb default null)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    if not session_live(0, token) then
        return answered(401);
    end if;

    return answered(200, (
        select jsonb_build_object('id', s.user_id::text, 'name', s.name,
                   'avatar', s.avatar,
                   'servers', person_servers(s.user_id, s.servers, s.icons))
          from session s
         where s.session_id = session_part(token, 1))::text);
end $$;


-- Servers of a person: those that the platform told, and those that list the
-- person; of what both tell the platform's word counts.

create or replace function person_servers(who bigint, told bigint[],
    icons jsonb)
returns jsonb language plpgsql stable as $$
begin
    return coalesce((
        select jsonb_agg(jsonb_build_object('id', s.guild_id::text,
                             'name', s.name,
                             'icon', icons ->> s.guild_id::text,
                             'level', r.level)
                         order by lower(s.name), s.guild_id)
          from (select distinct on (u.id) u.id, u.level
                  from (select unnest(told) as id, 'manage' as level
                        union all
                        select a.guild_id, a.level from access a
                         where a.user_id = who) u
                 order by u.id, u.level) r
          join server s on s.guild_id = r.id
         where s.forgotten_at is null), '[]');
end $$;


-- GET /me/sessions: those of the person that have not ended, the last one used
-- first. used: within 15 minutes behind that.

create or replace function sessions_list(token text, server bigint,
    bot smallint, kind smallint, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
begin
    status := case session_status(0, token) when 401 then 401 else 200 end;
    body := '{}';

    if status = 200 then
        body := (
            select jsonb_agg(jsonb_build_object('id', s.session_id,
                       'since', ms(s.expires_at - interval '12 hours'),
                       'used', ms(coalesce(s.asked_at, s.expires_at
                                           - interval '12 hours')),
                       'current', s.session_id = session_part(token, 1))
                       order by s.asked_at desc nulls last, s.expires_at desc,
                                s.session_id)
              from session s
             where s.user_id = session_part(token, 2)::bigint
               and s.ended_at is null and s.expires_at > now());
    end if;
end $$;


-- DELETE /me/sessions/{session_id}: one of the person, on every machine.

create or replace function sessions_remove(token text, server bigint,
    bot smallint, kind smallint, session_id text, out status int,
    out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    body := '{}';
    status := case session_status(0, token) when 401 then 401 else 404 end;

    if status = 404
       and sessions_end(session_part(token, 2)::bigint, session_id) > 0
    then
        status := 200;
    end if;
end $$;


-- DELETE /me/sessions: all of the person, this one, too.

create or replace function sessions_remove_all(token text, server bigint,
    bot smallint, kind smallint)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    ended  record := session_end(token, true);
begin
    return answered(ended.status, ended.body);
end $$;
