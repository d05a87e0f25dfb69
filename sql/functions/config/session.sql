-- The person of a cookie.


-- GET /me: the person of a cookie, with the servers that the person manages,
-- and those whose list of access has the person. "server" is 0.

create or replace function me(token text, server bigint, bot smallint,
    kind smallint, person jsonb, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    who   constant bigint := person ->> 'id';
    told  constant bigint[] := (
              select s.servers from session s
               where s.session_id = session_part(token, 1));
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
                         where coalesce((m ->> 'id')::bigint = any (told),
                                        true)
                        union all
                        select a.guild_id, null, a.level from access a
                         where a.user_id = who) u
                 order by id, level, icon) r
          join server s on s.guild_id = r.id
         where s.forgotten_at is null), '[]'));
end $$;
