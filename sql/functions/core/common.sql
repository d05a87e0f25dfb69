-- What every resource uses. These run inside the public functions, with their
-- rights and their search path.


-- Takes the server for a change; false if the token died before its turn came.

create or replace function change_begin(guild bigint, token text)
returns boolean language plpgsql as $$
begin
    if token like '~%' and not session_live(guild, token) then
        return false;
    end if;

    perform server_take(guild);
    perform executor_set(token);
    return token_live(guild, token);
end $$;


-- Ends the request with that status and error.

create or replace function refuse(status int, message text)
returns void language plpgsql as $$
begin
    raise exception using errcode = 'GL' || status, message = message;
end $$;


-- A field of a row as recorded entries have it: with ids as strings, and in a
-- list as many as there are types.

create or replace function change_value(field text, value jsonb)
returns jsonb language plpgsql immutable as $$
begin
    if jsonb_typeof(value) = 'array' then
        return (
            select coalesce(jsonb_agg(left(v.text, 1024) order by v.place),
                            '[]')
              from jsonb_array_elements_text(value)
                   with ordinality v (text, place)
             where v.place <= 102);
    end if;

    return case when jsonb_typeof(value) = 'string'
                     or field ~ '^(main_channel|log_channel|category_)'
                     or field in ('channel', 'role')
                then to_jsonb(left(value #>> '{}', 1024))
                else value end;
end $$;


-- A field that changed.

create or replace function change(field text, before jsonb, after jsonb)
returns jsonb language sql stable as $$
    select jsonb_build_object('key', field,
               'old', change_value(field, before),
               'new', change_value(field, after))
$$;


-- What of a row changed, as the changes of a service entry: all that a new row
-- has, and all that a row had that is gone. Null where nothing did.

create or replace function difference(before jsonb, after jsonb)
returns jsonb language sql stable as $$
    select jsonb_build_object('changes', jsonb_agg(
               change(f.name, b.value, a.value) order by f.name))
      from jsonb_object_keys(coalesce(before, '{}') || coalesce(after, '{}'))
               f (name)
     cross join lateral (select nullif(before -> f.name, 'null')) b (value)
     cross join lateral (select nullif(after -> f.name, 'null')) a (value)
     where a.value is distinct from b.value
       and f.name not in ('guild_id', 'bot')
    having count(*) > 0
$$;


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


-- One row of the directory, by the primary key: see "Planner tricks" in
-- sql/README.md.

create or replace function directory_one(guild bigint, kind int, id bigint)
returns setof directory language sql stable as $$
    select d.* from directory d
     where d.guild_id = guild and d.kind = directory_one.kind
       and d.id >= directory_one.id and d.id <= directory_one.id
     order by d.id limit 1
$$;


-- The strings of an entry's changes, in their order, and where each stands:
-- what was there before and after, and the names of that. Neither keys nor ids.

create or replace function changes_strings(changes jsonb, out place text[],
    out value text)
returns setof record language sql immutable as $$
    select array_remove(array[
               (c.n - 1)::text, s.side,
               case jsonb_typeof(c.it -> s.side)
               when 'array' then (i.n - 1)::text end,
               case jsonb_typeof(i.it) when 'object' then 'name' end], null),
           case jsonb_typeof(i.it) when 'object' then i.it ->> 'name'
                                   else i.it #>> '{}' end
      from jsonb_array_elements(changes) with ordinality c (it, n)
     cross join (values ('old'), ('new')) s (side)
     cross join jsonb_array_elements(
                    case jsonb_typeof(c.it -> s.side)
                    when 'array' then c.it -> s.side
                    else jsonb_build_array(c.it -> s.side) end)
                with ordinality i (it, n)
     where jsonb_typeof(i.it) = 'string'
        or jsonb_typeof(i.it -> 'name') = 'string'
     order by c.n, s.side, i.n
$$;


-- The changes of an entry, as an array; null: it has none.

create or replace function changes_in(e jsonb)
returns jsonb language sql immutable as $$
    select nullif(e -> 'changes', 'null')
$$;
