-- Who asks: a token, or the session of a person in its place.


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
