-- Entries as JSON: what the function record() takes, and the document that is
-- stored of each.


create or replace function record_read(entries jsonb)
returns batch language plpgsql stable as $$
declare
    b  batch;
begin
    select coalesce(array_agg(e ->> 'event_id'), '{}'),
           array_agg((e ->> 'type')::smallint),
           array_agg((e ->> 'timestamp')::bigint),
           array_agg(e #>> '{executor,id}'),
           array_agg((e #>> '{executor,bot}')::boolean),
           array_agg(translate(e #>> '{executor,roles}', '[]', '{}')),
           array_agg(e #>> '{target,id}'),
           array_agg((e #>> '{target,bot}')::boolean),
           array_agg(translate(e #>> '{target,roles}', '[]', '{}')),
           array_agg(e #>> '{channel,id}'),
           array_agg(e #>> '{channel,parent}'),
           array_agg(e #>> '{channel,category}'),
           array_agg((e ->> 'proxied')::boolean),
           array_agg(place) filter (where e ->> 'reason' like '[%'),
           array_agg(place) filter (where e @? '$.messages[100]')
      into b
      from (select case jsonb_typeof(u.entry)
                   when 'object' then u.entry else '{}' end, u.place
              from jsonb_array_elements(entries) with ordinality
                       u (entry, place)
             order by u.place) n (e, place);

    return b;
end $$;


create or replace function record_docs(entries jsonb)
returns text[] language plpgsql stable as $$
begin
    return array(
        select case jsonb_typeof(u.entry)
               when 'object' then entry_doc(u.entry - 'messagesTruncated') end
          from jsonb_array_elements(entries) with ordinality u (entry, place)
         order by u.place);
end $$;


-- Pieces of an entry's JSON.

create or replace function quoted(value text)
returns text language sql stable as $$
    select coalesce(to_json(value)::text, 'null')
$$;


-- the hash of a picture is for messages: no answer has it
create or replace function named_id(it jsonb)
returns text language sql stable as $$
    select case when it ->> 'id' is not null
                then format('{"id":"%s","name":%s%s}', it ->> 'id',
                            to_json(coalesce(it ->> 'name', '')),
                            ',"avatar":' || to_json(it ->> 'avatar'))
                else 'null' end
$$;


-- The changes of an entry, also as the platform's audit log names them.

create or replace function changes_of(changes jsonb)
returns jsonb language plpgsql immutable as $$
begin
    return (
        select coalesce(jsonb_agg(jsonb_build_object(
                   'key', c ->> 'key',
                   'old', change_number(coalesce(
                              nullif(c -> 'old', 'null'),
                              change_given(c -> 'old_value'))),
                   'new', change_number(coalesce(
                              nullif(c -> 'new', 'null'),
                              change_given(c -> 'new_value'))))
                   order by place), '[]')
          from jsonb_array_elements(changes) with ordinality u (c, place));
end $$;


-- A value of the platform: what is none of ours is kept as the text of its
-- JSON, and what is too long is cut.

create or replace function change_given(value jsonb)
returns jsonb language plpgsql immutable as $$
begin
    if jsonb_typeof(value) = 'string' then
        return to_jsonb(left(value #>> '{}', 1024));
    elsif jsonb_typeof(value) = 'object'
       or (jsonb_typeof(value) = 'array'
           and (jsonb_array_length(value) > 100
                or exists (select from jsonb_array_elements(value) i (it)
                            where not change_item(i.it))))
    then
        return to_jsonb(left(value::text, 1024));
    end if;

    return value;
end $$;


-- A number that nginx can read: one beyond 64 bits, or with very many digits,
-- is a text, since a jsonb writes all of them.

create or replace function change_number(value jsonb)
returns jsonb language plpgsql immutable as $$
begin
    return case when jsonb_typeof(value) <> 'number' then value
                when value::numeric between -9223372036854775808
                                        and 9223372036854775807
                     and scale(value::numeric) <= 400 then value
                when abs(value::numeric) between 1e-300 and 1.797e308
                then to_jsonb(value::float8::text)
                else to_jsonb(left(value::text, 1024)) end;
end $$;


-- Whether it may be an item of a value: a text, or an id with a name.

create or replace function change_item(it jsonb)
returns boolean language plpgsql immutable as $$
begin
    return case jsonb_typeof(it)
           when 'string' then length(it #>> '{}') <= 1024
           when 'object' then
               it - '{id,name}'::text[] = '{}'
               and jsonb_typeof(it -> 'id') = 'string'
               and it ->> 'id' ~ '^[0-9]{1,20}$'
               and coalesce(jsonb_typeof(it -> 'name'), 'null')
                   in ('string', 'null')
               and coalesce(length(it ->> 'name'), 0) <= 100
           else false end;
end $$;


-- What stands behind the document of an entry that has one of these, and of no
-- other.

create or replace function entry_doc_rare(e jsonb)
returns text language plpgsql stable as $$
declare
    changes  constant jsonb := changes_in(e);
    image    constant jsonb := nullif(e -> 'image', 'null');
begin
    if num_nonnulls(changes, e ->> 'until', e ->> 'role_id', image) = 0 then
        return '';
    end if;

    return format(',"changes":%s,"until":%s,"role_id":%s,"image":%s',
                  case when changes is null then 'null'
                       else changes_of(changes)::text end,
                  coalesce(e ->> 'until', 'null'), quoted(e ->> 'role_id'),
                  case when image is null then 'null'
                       else jsonb_build_object(
                                'before', image -> 'before',
                                'after', image -> 'after')::text end);
end $$;


-- The document of an entry but for its id, type, time and outer braces.

create or replace function entry_doc(e jsonb)
returns text language sql stable as $$
    select format('"executor":%s,"target":%s,"channel":%s,"role":%s,'
                  '"name":%s,"reason":%s,"count":%s,"content":%s,'
                  '"contentAfter":%s,"messages":%s,"messagesTruncated":%s,'
                  '"emoji":%s,"action":%s,"value":%s',
                  named_id(e -> 'executor'), named_id(e -> 'target'),
                  named_id(e -> 'channel'), quoted(e ->> 'role'),
                  quoted(e ->> 'name'), quoted(e ->> 'reason'),
                  coalesce(e ->> 'count', 'null'), quoted(e ->> 'content'),
                  quoted(e ->> 'contentAfter'),
                  coalesce(e ->> 'messages', '[]'),
                  coalesce(e ->> 'messagesTruncated', 'null'),
                  coalesce(e ->> 'emoji', 'null'), quoted(e ->> 'action'),
                  quoted(e ->> 'value')) || entry_doc_rare(e)
$$;


-- And back again.

create or replace function entry_of(doc text)
returns jsonb language sql immutable as $$
    select ('{' || doc || '}')::jsonb
$$;
