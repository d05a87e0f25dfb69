-- Whether the functions are as new as a module that needs this migration. The
-- number is that of the last one.

create or replace function schema_fits(needed int)
returns boolean language plpgsql immutable security definer
set search_path = guildlog, pg_temp as $$
begin
    return needed <= 83;
end $$;
