-- Types of rows. A type that stays as it is must not be made anew: a statement
-- that makes a row of it would wait until the installation has committed.


-- Makes the type with these columns, unless it is there with the same ones.
-- Where they differ, what hangs on the old type goes with it.

create or replace procedure type_make(name text, columns text)
language plpgsql as $$
begin
    execute format('create type type_made as (%s)', columns);

    if type_columns(name) = type_columns('type_made') then
        drop type type_made;
        return;
    end if;

    execute format('drop type if exists guildlog.%I cascade', name);
    execute format('alter type type_made rename to %I', name);
end $$;


create or replace function type_columns(name text)
returns text[] language plpgsql stable as $$
begin
    return (select array_agg(a.attname || ' '
                             || format_type(a.atttypid, a.atttypmod)
                             order by a.attnum)
              from pg_type t
              join pg_attribute a on a.attrelid = t.typrelid
             where t.typnamespace = 'guildlog'::regnamespace
               and t.typname = name
               and a.attnum > 0 and not a.attisdropped);
end $$;
