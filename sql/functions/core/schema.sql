-- Whether the schema is as new as a module that needs this migration.

create or replace function schema_fits(needed int)
returns boolean language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return (select max(v.version) >= needed from schema_version v);
end $$;
