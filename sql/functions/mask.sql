-- Filters: what each finds in a text, and what it leaves in its place. Their
-- order matters: what may hold something else comes first (a webhook's secret
-- is a link, a link may hold an address), the server's own words last.

drop type if exists masker cascade;

create type masker as (
    filter_id  text,
    action     text,        -- mask or drop
    log_types  smallint[],  -- none: all
    words      text[],      -- in lower case
    mask       text,
    pattern    text         -- null: cards and words, which take more
);


-- No pattern goes back in the text: time grows with its length alone.

create or replace function mask_kinds(out place int, out filter_id text,
    out mask text, out pattern text)
returns setof record language sql immutable as $$
    with part (byte, four) as (
        select b, '(?:' || b || '\.){3}' || b
          from (values ('(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})')) v (b)
    )
    -- tokens of bots, webhooks, JWTs, tokens of well-known services, private
    -- keys to their end or to that of the text
    select 0, 'secrets', '[secret]',
           '[A-Za-z0-9_-]{23,}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}'
           '|mfa\.[A-Za-z0-9_-]{60,}'
           '|(?:https?://)?(?:[a-z]+\.)?discord(?:app)?\.com/api/'
           '(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]+'
           '|eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){2,4}'
           '|\m(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|[rs]k_live_)'
           '[A-Za-z0-9_-]{16,}'
           '|\m(?:AKIA|ASIA)[A-Z0-9]{16}\M'
           '|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----'
           '(?:[^-]|-(?!----))*'
           '(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?'
    union all
    select 1, 'invites', '[invite]',
           '(?i)(?:https?://)?(?<![[:alnum:]_-])(?:[a-z]+\.)?'
           '(?:discord(?:app)?\.com/+invite|discord\.(?:gg|io|li|me)'
           '|dsc\.gg|invite\.gg)/+[[:alnum:]_-]+'
    union all
    select 2, 'links', '[link]',
           '(?i)(?:\m[a-z][a-z0-9+.-]*://|\mwww\.)[^\s<>"]*'
           '[^\s<>".,;:!?''()\]}*|]'
    union all
    select 3, 'emails', '[email]',
           '(?i)[[:alnum:]!#$%&''*+/=?^_`{|}~.-]+@[[:alnum:]-]+'
           '(?:\.[[:alnum:]-]+)+'
    union all
    select 4, 'addresses', '[address]',
           '(?i)(?<![[:alnum:]:.])'
           '(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}'
           '|(?:[0-9a-f]{1,4}:){6}' || four ||
           '|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::'
           '(?:[0-9a-f]{1,4}:){0,5}(?:[0-9a-f]{1,4}|' || four || ')'
           '|[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}::)(?![[:alnum:]:])'
           '|(?<![[:alnum:].])' || four || '(?![[:alnum:]]|\.[0-9])'
      from part
    union all
    select 5, 'cards', '[card]', null
    union all
    -- +49 30 1234567, (555) 123-4567, 030 1234567, 06 12 34 56 78, 0301234567
    select 6, 'phones', '[phone]',
           '(?:(?<![[:alnum:]_+])\+[1-9](?:[ ./()-]{0,2}[0-9]){6,14}'
           '|(?<![[:alnum:]_.,/:#@&!-])'
           '(?:00[1-9](?:[ ./()-]{0,2}[0-9]){6,14}'
           '|(?:\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}'
           '|\(?0[1-9][0-9]{1,4}\)?[ ./-][0-9]{3,}(?:[ .-]?[0-9]{2,})*'
           '|0[1-9](?:[ .-][0-9]{2}){4}'
           '|0[1-9][0-9]{8,9}))(?![[:alnum:]_]|[.,:/-][0-9])'
    union all
    select 7, 'words', '[word]', null
$$;


-- The filters of a (server, bot) that are on, in their order.

create or replace function maskers(guild bigint, bot smallint)
returns masker[] language plpgsql stable as $$
begin
    if not exists (select from filter f
                    where f.guild_id = guild and f.bot = maskers.bot
                      and f.enabled)
    then
        return '{}';
    end if;

    return array(
        select row(f.filter_id, f.action, f.log_types,
                   array(select lower(w collate "und-x-icu")
                           from unnest(f.words) w),
                   k.mask, k.pattern)::masker
          from filter f
          join mask_kinds() k on k.filter_id = f.filter_id
         where f.guild_id = guild and f.bot = maskers.bot and f.enabled
         order by k.place);
end $$;


create or replace function maskers_for(maskers masker[], action text,
    log_type smallint)
returns masker[] language plpgsql immutable as $$
begin
    return array(select m from unnest(maskers) m
                  where m.action = maskers_for.action
                    and (m.log_types = '{}'
                         or log_type = any (m.log_types)));
end $$;


create or replace function mask(maskers masker[], content text)
returns text language plpgsql immutable as $$
declare
    m  masker;
begin
    if content is null then
        return null;
    end if;

    foreach m in array maskers loop
        content := case
            when m.pattern is not null
            then regexp_replace(content collate "und-x-icu", m.pattern,
                                m.mask, 'g')
            when m.filter_id = 'cards' then mask_cards(content, m.mask)
            else mask_words(content, m.words, m.mask) end;
    end loop;

    return content;
end $$;


create or replace function mask_messages(maskers masker[], messages jsonb)
returns jsonb language plpgsql immutable as $$
begin
    if messages is null then
        return null;
    end if;

    return (
        select coalesce(jsonb_agg(case
                   when m.message ->> 'content' is null then m.message
                   else jsonb_set(m.message, '{content}', to_jsonb(
                            mask(maskers, m.message ->> 'content'))) end
                   order by m.place), '[]')
          from jsonb_array_elements(messages) with ordinality
                   m (message, place));
end $$;


-- Cards stand in runs of digits, which may be set apart in groups.

create or replace function mask_cards(content text, mask text)
returns text language plpgsql immutable as $$
declare
    pattern  constant text := '(?<![[:alnum:]_@#&!.-])[0-9](?:[ -]?[0-9]){12,}'
                              '(?![[:alnum:]_])';
    runs     text[];
    between  text[];
    masked   text;
begin
    runs := array(select m[1] from regexp_matches(content, pattern, 'g') m);

    if runs = '{}' then
        return content;
    end if;

    between := regexp_split_to_array(content, pattern);
    masked := between[1];

    for i in 1 .. cardinality(runs) loop
        masked := masked || mask_run(runs[i], mask) || between[i + 1];
    end loop;

    return masked;
end $$;


-- 13 to 16 or 19 digits in one group, or in the groups that are printed on
-- cards, beginning with any of the run.

create or replace function mask_run(run text, mask text)
returns text language plpgsql immutable as $$
declare
    groups   constant text[] := regexp_split_to_array(run, '[ -]');
    lengths  constant int[] := array(select length(g) from unnest(groups) g);
    place    int := 1;   -- of the group in the run
    i        int := 1;
    n        int;        -- groups of a card, 0 for none
    masked   text := '';
begin
    if not lengths && '{4,13,14,15,16,19}' then
        return run;
    end if;

    while i <= cardinality(groups) loop
        n := case
             when lengths[i] in (13, 14, 15, 16, 19) then 1
             when lengths[i : i + 4] = '{4,4,4,4,3}' then 5
             when lengths[i : i + 3] = '{4,4,4,4}' then 4
             when lengths[i : i + 2] in ('{4,6,4}', '{4,6,5}') then 3
             else 0 end;

        if n > 0 and card_valid(array_to_string(groups[i : i + n - 1], ''))
        then
            masked := masked || mask;
        else
            masked := masked || groups[i];
            n := 1;
        end if;

        for j in i .. i + n - 1 loop
            place := place + lengths[j] + 1;
        end loop;

        masked := masked || substr(run, place - 1, 1);
        i := i + n;
    end loop;

    return masked;
end $$;


-- The digits of a card's number: one of an issuer, with the right last digit
-- (Luhn).

create or replace function card_valid(digits text)
returns boolean language plpgsql immutable as $$
declare
    sum    int := 0;
    digit  int;
begin
    if digits !~ '^[2-6]' then
        return false;
    end if;

    for i in 1 .. length(digits) loop
        digit := ascii(substr(digits, -i + length(digits) + 1, 1)) - 48;

        if i % 2 = 0 then
            digit := digit * 2 - case when digit > 4 then 9 else 0 end;
        end if;

        sum := sum + digit;
    end loop;

    return sum % 10 = 0;
end $$;


-- Whole words, whatever their case; where words are not set apart by spaces
-- (Thai, Chinese, Japanese) and beside signs, anywhere. Only the words that
-- occur at all become a pattern. A mask is no text to look in.

create or replace function mask_words(content text, words text[], mask text)
returns text language plpgsql immutable as $$
declare
    folded    constant text := lower(content collate "und-x-icu");
    letter    constant text := '[[:alnum:]_]';
    spaceless constant text := '[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]';
    pattern   text;
begin
    pattern := (
        select string_agg(
                   case when w.word ~ ('^' || letter)
                         and w.word !~ ('^' || spaceless)
                        then '(?<!' || letter || ')' else '' end
                   || regexp_replace(w.word, '([^[:alnum:][:space:]_])',
                                     '\\\1', 'g')
                   || case when w.word ~ (letter || '$')
                            and w.word !~ (spaceless || '$')
                           then '(?!' || letter || ')' else '' end,
                   '|' order by length(w.word) desc)
          from unnest(words) w (word)
         where strpos(folded, w.word) > 0);

    if pattern is null then
        return content;
    end if;

    return regexp_replace(content collate "und-x-icu",
        '(?!(?<=\[)(?:secret|invite|link|email|address|card|phone)\])(?:'
        || pattern || ')', mask, 'gi');
end $$;
