-- The logging options that hold for a server and bot.


create or replace function options_default()
returns logging_options language sql immutable as $$
    select row(null, null, false, false, true, true, 0,
               '{userID,supportServer,customise}', false)::logging_options
$$;


-- The options that hold: the stored ones or the defaults.

create or replace function options_of(guild bigint, bot smallint)
returns logging_options language plpgsql stable as $$
declare
    it  logging_options;
begin
    select * into it from logging_options o
     where o.guild_id = guild and o.bot = options_of.bot;

    if not found then
        it := options_default();
    end if;

    return it;
end $$;
