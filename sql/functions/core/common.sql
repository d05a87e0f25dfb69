-- What every resource uses. These run inside the public functions, with their
-- rights and their search path.


-- A time as the API writes it: ms since the epoch.

create or replace function ms(at timestamptz)
returns bigint language sql stable as $$
    select (extract(epoch from at) * 1000)::bigint
$$;


-- A new id of that time (ms): 42 bits of time since 2015, 4 bits of node
-- (the setting guildlog.node, 0 to 15, one for each machine of a cluster) and
-- an 18-bit number.

create or replace function node_id()
returns bigint language sql stable as $$
    select coalesce(nullif(current_setting('guildlog.node', true), ''),
                    '0')::bigint << 18
$$;


create or replace function next_id(at bigint)
returns bigint language sql volatile as $$
    select ((at - 1420070400000) << 22) | node_id()
         | nextval('guildlog.entry_number')
$$;


-- True while the token of that server is neither revoked nor expired.

create or replace function token_live(guild bigint, token text)
returns boolean language plpgsql stable as $$
begin
    perform from token t
     where t.guild_id = guild
       and t.token_id = token
       and t.revoked_at is null
       and t.expires_at > now();

    return found;
end $$;


-- Makes the changes of one server wait for each other until the transaction
-- ends; false if the token died before its turn came.

create or replace function change_begin(guild bigint, token text)
returns boolean language plpgsql as $$
begin
    perform from server s where s.guild_id = guild for no key update;
    return token_live(guild, token);
end $$;


-- Ends the request with that status and error.

create or replace function refuse(status int, message text)
returns void language plpgsql as $$
begin
    raise exception using errcode = 'GL' || status, message = message;
end $$;


-- What of a row changed, as the content before and after of a service entry:
-- a line for each field, none on the side where there is no row. Null where
-- nothing did.

create or replace function difference(before jsonb, after jsonb)
returns jsonb language sql stable as $$
    select jsonb_build_object('content', left(
               string_agg(f.name || ': ' || coalesce(b.value, 'null'), e'\n'
                          order by f.name) filter (where before is not null),
               4000),
           'contentAfter', left(
               string_agg(f.name || ': ' || coalesce(a.value, 'null'), e'\n'
                          order by f.name) filter (where after is not null),
               4000))
      from jsonb_object_keys(coalesce(before, '{}') || coalesce(after, '{}'))
               f (name)
     cross join lateral (select before ->> f.name) b (value)
     cross join lateral (select after ->> f.name) a (value)
     where a.value is distinct from b.value
       and f.name not in ('guild_id', 'bot')
    having count(*) > 0
$$;


-- Tells the server's people of a change: a service entry by executor "0" with
-- these fields, and a notification. Nothing to tell (null): nothing happens.

create or replace function announce(guild bigint, bot smallint, log_type int,
    details jsonb)
returns void language plpgsql as $$
begin
    if details is null then
        return;
    end if;

    perform record_service(guild, bot, log_type, details);
    perform notification_add(guild, bot, log_type, details);
end $$;


-- The key of a row of the configuration, whatever a body may say.

create or replace function keys_of(guild bigint, bot smallint)
returns jsonb language sql stable as $$
    select jsonb_build_object('guild_id', guild, 'bot', bot)
$$;


-- An answer that may be large has so many bytes of text in one part, and what
-- exceeds them by the last row: less than 1 MiB as JSON, where a control
-- character has six.

create or replace function part_bytes()
returns int language sql immutable as $$
    select 131072
$$;
