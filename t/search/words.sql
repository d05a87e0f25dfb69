-- What a search means, said once more in SQL: t/search/fold.t and t/sql/find
-- hold the matcher in C against it. A word is a run of letters, digits and
-- combining marks; letter case does not count, nor does the final form of sigma.
-- An entry is found if its texts (content, contentAfter, the content of its
-- messages) have every word of the query, each as a whole word in any of them, or
-- if the query as it stands is a part of a name, a role or a reason.


create or replace function fold(t text)
returns text language sql immutable as $$
    select replace(lower(t collate "und-x-icu"), 'ς', 'σ')
$$;


-- The inside of a bracket expression: letters and digits of every script,
-- then the marks that words are written with.

create or replace function word_characters()
returns text language sql immutable as $$
    select '[:alnum:]\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c7'
        || '\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06ed'
        || '\u0730-\u074a\u0900-\u0963\u0971-\u0df3\u0e31-\u0e4e'
        || '\u0eb1-\u0ecd\u0f18-\u0fbc\u102b-\u103e\u135d-\u135f'
        || '\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0'
        || '\u3099\u309a\ufe20-\ufe2f'
$$;


create or replace function words_of(t text)
returns text[] language sql immutable as $$
    select array(
        select distinct w
          from regexp_split_to_table(fold(t) collate "und-x-icu",
                                     '[^' || word_characters() || ']+') w
         where w <> '')
$$;


-- The query as it stands, without white space around it.

create or replace function search_part(search text)
returns text language sql immutable as $$
    select fold(regexp_replace(search collate "und-x-icu",
                               '^[[:space:]]+|[[:space:]]+$', '', 'g'))
$$;


-- For each word the expression that finds it whole in a folded text.

create or replace function word_patterns(words text[])
returns text[] language plpgsql immutable as $$
declare
    gap  constant text := '[^' || word_characters() || ']';
begin
    return array(
        select '(^|' || gap || ')' || w || '($|' || gap || ')'
          from unnest(words) w
         order by length(w) desc);
end $$;


-- The texts of an entry. No word goes from one to the next.

create or replace function entry_text(content text, content_after text,
    messages json)
returns text language sql stable as $$
    select concat_ws(' ', content, content_after,
                     (select string_agg(m ->> 'content', ' ')
                        from json_array_elements(messages) m))
$$;


-- Is the entry of that doc found by these patterns of words in its texts, or
-- by that folded part in a name, its role, reason or changes?

create or replace function entry_found(doc text, patterns text[], part text)
returns boolean language plpgsql immutable as $$
declare
    e    record;
    one  text;
begin
    select d.* into e
      from json_to_record((doc || '}')::json) d (
           content text, "contentAfter" text, messages json, executor json,
           target json, channel json, role text, name text, reason text,
           changes jsonb);

    if cardinality(patterns) > 0
       and has_words(fold(entry_text(e.content, e."contentAfter", e.messages)),
                     patterns)
    then
        return true;
    end if;

    foreach one in array array[e.executor ->> 'name', e.target ->> 'name',
                               e.channel ->> 'name', e.role, e.name, e.reason]
                     || array(select s.value from changes_strings(e.changes) s)
    loop
        if strpos(fold(one), part) > 0 then
            return true;
        end if;
    end loop;

    return false;
end $$;


create or replace function has_words(folded text, patterns text[])
returns boolean language plpgsql immutable as $$
declare
    one  text;
begin
    foreach one in array patterns loop
        if folded collate "und-x-icu" !~ one then
            return false;
        end if;
    end loop;

    return true;
end $$;
