-- Who asks: a token, or the session of a person in its place.

-- what nginx sends

call type_make('answer', $$
    status  int,
    body    text        -- JSON
$$);


create or replace function answered(status int, body text default '{}')
returns answer language sql immutable as $$
    select row(status, body)::answer
$$;


-- True while the token of that server is neither revoked nor expired, or the
-- session in its place may do that.

create or replace function token_live(guild bigint, token text)
returns boolean language plpgsql stable as $$
begin
    perform from token t
     where t.guild_id = guild
       and t.token_id = token
       and t.revoked_at is null
       and t.expires_at > now();

    return found or session_live(guild, token);
end $$;


-- The answer of a read: what there is; 404 where that is null, 401 to a token
-- that lives no more. What there is was looked up before.

create or replace function answer_read(guild bigint, token text, it text)
returns answer language plpgsql stable as $$
declare
    status  constant int := case when not token_live(guild, token) then 401
                                 when it is null then 404
                                 else 200 end;
begin
    return answered(status, case status when 200 then it else '{}' end);
end $$;
