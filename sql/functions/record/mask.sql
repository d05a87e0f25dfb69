-- Filters: what each finds in a text, and what it leaves in its place. Their
-- order matters: what may hold something else comes first (a webhook's secret
-- is a link, a link may hold an address), the server's own words last.
--
-- Bound: the time of an entry grows with its length, whatever it says and
-- whatever words a server has. A pattern never goes back in the text, but
-- each place where one matches costs some 10 us. Behind mask_most() of them
-- the texts that are left are masked as a whole, without a look.

call type_make('masker', $$
    filter_id  text,
    action     text,        -- mask or drop
    log_types  smallint[],  -- none: all
    mask       text,
    pattern    text,        -- null: cards and words, which take more
    guard      text         -- where this is not in there is no match; null:
                            -- that is not known
$$);


-- How many places of an entry are masked one by one.

create or replace function mask_most()
returns int language sql immutable as $$ select 1000 $$;


create or replace function mask_kinds(out place int, out filter_id text,
    out mask text, out pattern text, out guard text)
returns setof record language sql immutable as $$
    with part (byte, four) as (
        select b, '(?:' || b || '\.){3}' || b
          from (values ('(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})')) v (b)
    )
    -- Secrets have a pattern each: a match costs less where there are few.
    -- Private keys, to their end or to that of the text; webhooks; JWTs;
    -- tokens of bots; tokens of well-known services.
    select 0, 'secrets', '[secret]',
           '-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----'
           '(?:[^-]|-(?!----))*'
           '(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?',
           'PRIVATE KEY'
    union all
    select 1, 'secrets', '[secret]',
           '(?:https?://)?(?:[a-z]+\.)?discord(?:app)?\.com/api/'
           '(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]+',
           '/webhooks/'
    union all
    select 2, 'secrets', '[secret]',
           'eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){2,4}',
           'eyJ'
    union all
    select 3, 'secrets', '[secret]',
           '[A-Za-z0-9_-]{23,}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}',
           '.'
    union all
    select 4, 'secrets', '[secret]', 'mfa\.[A-Za-z0-9_-]{60,}', 'mfa.'
    union all
    select 5, 'secrets', '[secret]',
           '\m(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|[rs]k_live_)'
           '[A-Za-z0-9_-]{16,}', null
    union all
    select 6, 'secrets', '[secret]', '\m(?:AKIA|ASIA)[A-Z0-9]{16}\M', 'IA'
    union all
    select 7, 'invites', '[invite]',
           '(?i)(?:https?://)?(?<![[:alnum:]_-])(?:[a-z]+\.)?'
           '(?:discord(?:app)?\.com/+invite|discord\.(?:gg|io|li|me)'
           '|dsc\.gg|invite\.gg)/+[[:alnum:]_-]+', '/'
    union all
    select 8, 'links', '[link]',
           '(?i)(?:\m[a-z][a-z0-9+.-]*://|\mwww\.)[^\s<>"]*'
           '[^\s<>".,;:!?''()\]}*|]', null
    union all
    select 9, 'emails', '[email]',
           '(?i)[[:alnum:]!#$%&''*+/=?^_`{|}~.-]+@[[:alnum:]-]+'
           '(?:\.[[:alnum:]-]+)+', '@'
    union all
    select 10, 'addresses', '[address]',
           '(?i)(?<![[:alnum:]:.])'
           '(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}'
           '|(?:[0-9a-f]{1,4}:){6}' || four ||
           '|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::'
           '(?:[0-9a-f]{1,4}:){0,5}(?:[0-9a-f]{1,4}|' || four || ')'
           '|[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}::)(?![[:alnum:]:])'
           '|(?<![[:alnum:].])' || four || '(?![[:alnum:]]|\.[0-9])', null
      from part
    union all
    select 11, 'cards', '[card]', null, null
    union all
    -- +49 30 1234567, (555) 123-4567, 030 1234567, 06 12 34 56 78, 0301234567
    select 12, 'phones', '[phone]',
           '(?:(?<![[:alnum:]_+])\+[1-9](?:[ ./()-]{0,2}[0-9]){6,14}'
           '|(?<![[:alnum:]_.,/:#@&!-])'
           '(?:00[1-9](?:[ ./()-]{0,2}[0-9]){6,14}'
           '|(?:\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}'
           '|\(?0[1-9][0-9]{1,4}\)?[ ./-][0-9]{3,}(?:[ .-]?[0-9]{2,})*'
           '|0[1-9](?:[ .-][0-9]{2}){4}'
           '|0[1-9][0-9]{8,9}))(?![[:alnum:]_]|[.,:/-][0-9])', null
    union all
    select 13, 'words', '[word]', null, null
$$;


-- The filters of a (server, bot) that are on, in their order.

create or replace function maskers(guild bigint, bot smallint)
returns masker[] language plpgsql stable as $$
begin
    return array(
        select row(f.filter_id, f.action, f.log_types, k.mask, k.pattern,
                   k.guard)::masker
          from filter f
          join mask_kinds() k on k.filter_id = f.filter_id
         where f.guild_id = guild and f.bot = maskers.bot and f.enabled
         order by k.place);
end $$;


-- The words of the server, as mask_words() looks for them.

create or replace function mask_needles_of(guild bigint, bot smallint)
returns text[] language plpgsql stable as $$
begin
    return (select mask_needles(f.words) from filter f
             where f.guild_id = guild and f.bot = mask_needles_of.bot
               and f.filter_id = 'words' and f.enabled);
end $$;


-- Those with that action that apply to any of these types.

create or replace function maskers_for(maskers masker[], action text,
    log_types smallint[])
returns masker[] language plpgsql immutable as $$
begin
    return array(select m from unnest(maskers) m
                  where m.action = maskers_for.action
                    and (m.log_types = '{}'
                         or m.log_types && maskers_for.log_types));
end $$;


-- The texts of an entry with a mask wherever one of these finds something. The
-- words come last, and look at all texts at once.

create or replace function mask_texts(maskers masker[], needles text[],
    texts text[])
returns text[] language plpgsql immutable as $$
declare
    most   constant int := mask_most();
    finds  int := 0;
    last   text;         -- the mask of what was found last
    m      masker;
    words  masker;
    did    record;
begin
    for i in 1 .. coalesce(cardinality(texts), 0) loop
        continue when texts[i] is null;

        foreach m in array maskers loop
            if finds > most then
                return mask_rest(texts, i, last);
            elsif m.filter_id = 'words' then
                words := m;
                continue;
            elsif m.pattern is null then
                did := mask_cards(texts[i], m.mask);
            elsif m.guard is null or strpos(texts[i], m.guard) > 0 then
                did := mask_pattern(texts[i], m.pattern, m.mask);
            else
                continue;
            end if;

            if did.finds > 0 then
                texts[i] := did.masked;
                finds := finds + did.finds;
                last := m.mask;
            end if;
        end loop;
    end loop;

    if words.filter_id is null or needles is null then
        return texts;
    end if;

    return mask_words(texts, needles, words.mask, most - finds);
end $$;


-- From one of the texts on nothing but a mask.

create or replace function mask_rest(texts text[], place int, mask text)
returns text[] language plpgsql immutable as $$
begin
    return array(
        select case when n < place or texts[n] is null or texts[n] = ''
                    then texts[n] else mask end
          from generate_subscripts(texts, 1) n
         order by n);
end $$;


create or replace function mask_pattern(content text, pattern text, mask text,
    out masked text, out finds int)
language plpgsql immutable as $$
begin
    finds := 0;
    masked := regexp_replace(content collate "und-x-icu", pattern, mask, 'g');

    if masked <> content then
        finds := greatest(1, cardinality(string_to_array(masked, mask))
                             - cardinality(string_to_array(content, mask)));
    end if;
end $$;


-- Cards stand in runs of digits, which may be set apart in groups. A group that
-- had to be looked at counts as a find.

create or replace function mask_cards(content text, mask text,
    out masked text, out finds int)
language plpgsql immutable as $$
declare
    pattern  constant text := '(?<![[:alnum:]_@#&!.-])[0-9](?:[ -]?[0-9]){12,}'
                              '(?![[:alnum:]_])';
    runs     text[];
    between  text[];
    did      record;
begin
    finds := 0;
    masked := content;
    runs := array(select m[1] from regexp_matches(content, pattern, 'g') m);

    if runs = '{}' then
        return;
    end if;

    between := regexp_split_to_array(content, pattern);
    masked := between[1];

    for i in 1 .. cardinality(runs) loop
        did := mask_run(runs[i], mask);
        masked := masked || did.masked || between[i + 1];
        finds := finds + did.looked;
    end loop;
end $$;


-- 13 to 16 or 19 digits in one group, or in the groups that are printed on
-- cards, beginning with any of the run. One of very many groups is masked as a
-- whole where any of them may be a card's. Eight groups cost about as much as a
-- find.

create or replace function mask_run(run text, mask text, out masked text,
    out looked int)
language plpgsql immutable as $$
declare
    groups   constant text[] := string_to_array(replace(run, '-', ' '), ' ');
    lengths  int[];
    last     int := cardinality(groups);
    place    int := 1;   -- of the group in the run
    i        int := 1;
    n        int;        -- groups of a card, 0 for none
begin
    looked := 0;
    masked := run;

    if last > 200 then
        if run ~ '\m(?:[0-9]{4}|[0-9]{13,16}|[0-9]{19})\M' then
            masked := mask;
            looked := 1;
        end if;

        return;
    end if;

    lengths := array(select length(g) from unnest(groups) g);

    if not lengths && '{4,13,14,15,16,19}' then
        return;
    end if;

    masked := '';
    looked := last / 8;

    while i <= last loop
        n := case
             when lengths[i] in (13, 14, 15, 16, 19) then 1
             when lengths[i] <> 4 or i + 2 > last then 0
             when lengths[i + 1] = 6
             then case when lengths[i + 2] in (4, 5) then 3 else 0 end
             when lengths[i : i + 4] = '{4,4,4,4,3}' then 5
             when lengths[i : i + 3] = '{4,4,4,4}' then 4
             else 0 end;
        looked := looked + (n > 0)::int;

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
end $$;


-- The digits of a card's number: one of an issuer, with the right last digit
-- (Luhn: every second digit from the right counts twice, less 9 above 9).

create or replace function card_valid(digits text)
returns boolean language plpgsql immutable as $$
declare
    rest  bigint := digits::bigint;
    sum   int := 0;
begin
    if digits !~ '^[2-6]' then
        return false;
    end if;

    while rest > 0 loop
        sum := sum + rest % 10 + rest / 10 % 10 * 2
               - case when rest / 10 % 10 > 4 then 9 else 0 end;
        rest := rest / 100;
    end loop;

    return sum % 10 = 0;
end $$;


-- Whole words, whatever their case; where words are not set apart by spaces
-- (Thai, Chinese, Japanese) and beside signs, anywhere.
--
-- No pattern is made of the words: where each run of letters stands between
-- \1 and \2, a whole word is no more than a string, and whether it stands in
-- a text is asked of all texts at once. A text keeps its length without these
-- marks, so a place found in it is that in the text as it was written.

create or replace function mask_plain(content text)
returns text language plpgsql immutable as $$
begin
    if content ~ '[\u0001-\u0006]' then
        content := translate(content, e'\1\2\3\4\5\6', repeat(e'\7', 6));
    end if;

    return mask_lower(content);
end $$;


create or replace function mask_lower(content text)
returns text language sql immutable as $$
    select lower(replace(content, 'İ', 'i') collate "und-x-icu")
$$;


create or replace function mask_marked(content text)
returns text language plpgsql immutable as $$
begin
    return regexp_replace(content collate "und-x-icu", '[[:alnum:]_]+',
                          e'\1\\&\2', 'g');
end $$;


-- The words as they stand in such a text.

create or replace function mask_needles(words text[])
returns text[] language plpgsql immutable as $$
declare
    spaceless  constant text := '[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]';
    marked     text;
begin
    if array_to_string(words, '') ~ '[\u0001-\u0006]' then
        words := array(select mask_plain(w) from unnest(words) w);
    end if;

    marked := mask_marked(e'\6' || mask_lower(array_to_string(words, e'\6'))
                          || e'\6');

    if octet_length(marked) > length(marked) then
        marked := regexp_replace(marked,
            e'\6\1(?=' || spaceless || ')', e'\6', 'g');
        marked := regexp_replace(marked,
            '(' || spaceless || e')\2(?=\6)', '\1', 'g');
    end if;

    return string_to_array(trim(both e'\6' from marked), e'\6');
end $$;


-- Masks them, the longest first. \3 is the first letter of one that was found,
-- \4 each other, \5 one of a mask, which is no text to look in. At most so many
-- are masked one by one.

create or replace function mask_words(texts text[], needles text[],
    mask text, most int)
returns text[] language plpgsql immutable as $$
declare
    plain   constant text[] := array(
                select mask_plain(coalesce(texts[n], ''))
                  from generate_subscripts(texts, 1) n order by n);
    whole   text := mask_marked(array_to_string(plain, e'\6'));
    hits    text[];
    marked  text[];
    name    text;
    did     record;
begin
    foreach name in array
        '{secret,invite,link,email,address,card,phone}'::text[]
    loop
        whole := replace(whole, e'[\1' || name || e'\2]',
                         '[' || repeat(e'\5', length(name)) || ']');
    end loop;

    hits := mask_hits(whole, needles);

    if hits = '{}' then
        return texts;
    end if;

    marked := string_to_array(whole, e'\6');

    for i in 1 .. cardinality(texts) loop
        if most < 0 then
            return mask_rest(texts, i, mask);
        end if;

        did := mask_found(texts[i], marked[i], hits, mask);
        texts[i] := did.masked;
        most := most - did.finds;
    end loop;

    return texts;
end $$;


-- Which of them are in it, the longest first. Each is looked for from one end
-- of the text to the other. Of a long text all words are listed first: a needle
-- whose first word is not among them is not in it.

create or replace function mask_hits(marked text, needles text[])
returns text[] language plpgsql immutable as $$
begin
    if length(marked) > 4000 then
        needles := array(
            select n from unnest(needles) n
             cross join lateral (
                   select substring(n from e'\1([^\1\2]*)\2') offset 0)
                   w (word)
             where w.word is null
                or w.word in (
                   select split_part(u, e'\2', 1)
                     from unnest(string_to_array(marked, e'\1')) u));
    end if;

    return array(select n from unnest(needles) n
                  where strpos(marked, n) > 0
                  order by length(n) desc);
end $$;


create or replace function mask_found(content text, marked text,
    hits text[], mask text, out masked text, out finds int)
language plpgsql immutable as $$
declare
    needle  text;
    piece   text;
    pieces  text[];
    place   int := 1;    -- in the content, of what comes next
begin
    for needle in
        select n from unnest(hits) n where strpos(marked, n) > 0
    loop
        marked := replace(marked, needle, e'\3' || repeat(e'\4',
                      length(translate(needle, e'\1\2', '')) - 1));
    end loop;

    pieces := string_to_array(replace(replace(marked, e'\1', ''), e'\2', ''),
                              e'\3');
    finds := greatest(cardinality(pieces) - 1, 0);
    masked := content;

    if finds = 0 then
        return;
    end if;

    masked := substr(content, 1, length(pieces[1]));
    place := 1 + length(pieces[1]);

    foreach piece in array pieces[2 :] loop
        place := place + 1 + length(piece)
                 - length(ltrim(piece, e'\4'));
        piece := ltrim(piece, e'\4');
        masked := masked || mask || substr(content, place, length(piece));
        place := place + length(piece);
    end loop;
end $$;
