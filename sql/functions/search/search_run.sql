-- Making a run: what its entries are found by, and writing it down, as merges
-- do with what they make.


-- Of the first entries of a batch, in the order of their places; how many these
-- are: a few very long ones are as much work as thousands.

create or replace function search_items(head search_head, batch bigint[],
    out items search_item[], out taken int)
language plpgsql stable as $$
begin
    with entry as materialized (
        select b.n, e.id, e.type, e.channel_id, e.executor_id, e.target_id,
               e.role, e.doc,
               sum(octet_length(e.doc)) over (order by b.n)
               - octet_length(e.doc) < search_bytes() as fits
          from unnest(batch) with ordinality b (id, n)
         cross join lateral log_entry_one(head.guild_id, head.bot, b.id) e
    )
    select array(
               select row(e.id, e.type,
                          row_number() over (order by category_place(e.type),
                                                      e.type, e.id)::int
                          - 32769,
                          fold(entry_text(d.content, d."contentAfter",
                                          d.messages)),
                          array[d.executor ->> 'name', d.target ->> 'name',
                                d.channel ->> 'name', d.role, d.name,
                                d.reason],
                          search_terms_of(e.channel_id, e.executor_id,
                                          e.target_id, e.role))::search_item
                 from entry e
                cross join lateral json_to_record((e.doc || '}')::json) d (
                          content text, "contentAfter" text, messages json,
                          executor json, target json, channel json, role text,
                          name text, reason text)
                where e.fits
                order by category_place(e.type), e.type, e.id),
           coalesce((select min(e.n) - 1 from entry e where not e.fits),
                    cardinality(batch))
      into items, taken;
end $$;


-- The words of the entries. What stands between blanks mostly is one; what is
-- not is taken apart once, however often it occurs.

create or replace function search_postings_words(items search_item[])
returns search_posting[] language plpgsql immutable as $$
begin
    return array(
        with chunk as materialized (
            select c.chunk collate "C" as chunk, array_agg(i.mark) as marks,
                   (c.chunk collate "C") ~ '^[a-z0-9]+$' as plain
              from unnest(items) i
             cross join lateral unnest(search_chunks(i.words)) c (chunk)
             group by 1
        ), word as (
            select c.chunk as word, c.marks from chunk c where c.plain
            union all
            select w, c.marks from chunk c
             cross join lateral unnest(words_of(c.chunk)) w
             where not c.plain
        )
        select row(search_term_of(w.word),
                   search_sorted(case when count(*) = 1 then min(w.marks)
                                 else search_joined(w.marks) end)
                   )::search_posting
          from word w group by w.word);
end $$;


-- What stands between blanks, each once. To sort them as lexemes is fast, but
-- those must not be long.

create or replace function search_chunks(words text)
returns text[] language plpgsql immutable as $$
begin
    if octet_length(words) < 2000 then
        return tsvector_to_array(array_to_tsvector(
                   array_remove(string_to_array(words, ' '), '')));
    else
        return array(select distinct c from string_to_table(words, ' ') c
                      where c <> '');
    end if;
end $$;


-- In order, each once.

create or replace function search_sorted(marks int[])
returns int[] language sql immutable return uniq(sort(marks));


-- The names, roles and reasons of the entries, as they are.

create or replace function search_names(items search_item[])
returns search_posting[] language plpgsql immutable as $$
begin
    return array(
        select row(p.part, array_agg(distinct p.mark))::search_posting
          from (select p collate "C", i.mark
                  from unnest(items) i
                 cross join lateral unnest(i.parts) p
                 where p <> '') p (part, mark)
         group by p.part);
end $$;


-- The strings that names are looked for by, each with its number. What is new
-- gets one.

create or replace function search_keys(head search_head,
    names search_posting[])
returns search_key[] language plpgsql as $$
declare
    keys  search_key[];
begin
    with string as materialized (
        select n.name, s.kind, s.string collate "C" as string
          from unnest(names) n (name, marks)
         cross join lateral search_strings_of(fold(n.name)) s
    ), known as materialized (
        select s.kind, s.string, f.number
          from (select distinct x.kind, x.string from string x) s
          left join lateral search_string_find(head, s.kind, s.string) f
            on true
    ), numbered as materialized (
        select k.*, k.number is null as new,
               coalesce(k.number, head.strings + row_number() over (
                                      partition by k.number is null)) as n
          from known k
    ), added as (
        insert into search_string (guild_id, bot, number, kind, string)
        select head.guild_id, head.bot, k.n, k.kind, k.string
          from numbered k where k.new
    )
    select array_agg(row(s.name, k.n)::search_key) into keys
      from string s
      join numbered k on k.kind = s.kind and k.string = s.string;

    return coalesce(keys, '{}');
end $$;


-- A string as it is, and if it is a long one its words, too.

create or replace function search_strings_of(folded text,
    out kind smallint, out string text)
returns setof record language sql immutable as $$
    select case when length(folded) <= 24 then 0 else 1 end::smallint, folded
    union all
    select 2::smallint, w
      from unnest(case when length(folded) > 24 then words_of(folded) end) w
$$;


-- It is the index of strings that has them in this order: without statistics a
-- plan may take another that begins with the server, and look at all it has.

create or replace function search_string_find(head search_head,
    kind smallint, string text, out number int)
returns setof int language sql stable as $$
    select s.number from search_string s
     where s.guild_id = head.guild_id
       and hashtextextended(s.string, 0)
           >= hashtextextended(search_string_find.string, 0)
       and hashtextextended(s.string, 0)
           <= hashtextextended(search_string_find.string, 0)
       and s.bot + 0 = head.bot and s.kind + 0 = search_string_find.kind
       and s.string || '' = search_string_find.string
     order by hashtextextended(s.string, 0) limit 1
$$;


create or replace function search_postings_names(names search_posting[],
    keys search_key[])
returns search_posting[] language plpgsql stable as $$
begin
    return array(
        select row('#' || k.number,
                   search_sorted(case when count(*) = 1 then min(n.marks)
                                 else search_joined(n.marks) end)
                   )::search_posting
          from unnest(names) n (name, marks)
          join unnest(keys) k (name, number) on k.name = n.name
         group by k.number);
end $$;


-- What other filters ask for.

create or replace function search_postings_filters(items search_item[])
returns search_posting[] language plpgsql immutable as $$
begin
    return array(
        select row(t.term, search_sorted(array_agg(i.mark)))::search_posting
          from unnest(items) i
         cross join lateral unnest(i.terms) t (term)
         group by t.term);
end $$;


create or replace function search_add(head search_head, level int,
    items search_item[], postings search_posting[])
returns void language plpgsql as $$
declare
    it  search_segment;
begin
    insert into search_place (guild_id, bot, level, first, chunk, ids)
    select head.guild_id, head.bot, search_add.level, head.runs,
           i.mark + 32768 >> 8, array_agg(i.id order by i.mark)
      from unnest(items) i group by i.mark + 32768 >> 8;

    it := search_segment_of(head, level, head.runs, array(
        select row(i.type, count(*))::search_count
          from unnest(items) i group by i.type));
    perform search_segment_add(it);
    perform search_put(it, postings);
end $$;


-- A segment with so many entries of these types.

create or replace function search_segment_of(head search_head, level int,
    first int, counts search_count[])
returns search_segment language plpgsql stable as $$
declare
    it  search_segment;
begin
    it.guild_id := head.guild_id;
    it.bot := head.bot;
    it.level := level;
    it.first := first;
    it.purged := 0;

    select array_agg(t.type order by t.kind, t.type),
           array_agg(t.stop order by t.kind, t.type),
           array_agg(t.type order by t.kind) filter (where t.last),
           array_agg(t.stop order by t.kind) filter (where t.last)
      into it.types, it.ends, it.kinds, it.kind_ends
      from (select n.kind, n.type,
                   sum(n.n) over (order by n.kind, n.type)::int - 32769 as stop,
                   lead(n.kind) over (order by n.kind, n.type)
                   is distinct from n.kind as last
              from (select category_place(c.type) as kind, c.type,
                           sum(c.n) as n
                      from unnest(counts) c group by c.type) n) t;

    return it;
end $$;


-- From then on it counts.

create or replace function search_segment_add(it search_segment)
returns void language plpgsql as $$
begin
    select min(c.low), max(c.high), array_agg(c.low order by c.chunk),
           array_agg(c.high order by c.chunk)
      into it.low, it.high, it.lows, it.highs
      from (select p.chunk, (select min(i) from unnest(p.ids) i) as low,
                   (select max(i) from unnest(p.ids) i) as high
              from search_place p
             where p.guild_id = it.guild_id and p.bot = it.bot
               and p.level = it.level and p.first = it.first) c;

    insert into search_segment select it.*;
end $$;


-- Puts postings into a segment: rows of their own for those with many marks,
-- and one for the others of each bucket. That is joined from stretches: to add
-- to an array costs a copy of it. Bits are for level 2, and so that very many
-- strings can be put together. A count is 128 times how many marks are of a
-- type, and the type.

create or replace function search_put(it search_segment,
    postings search_posting[])
returns void language plpgsql as $$
declare
    few  constant int := 16 << it.level;
begin
    insert into search_common (guild_id, bot, level, bucket, first, term,
                               counts, marks, bits)
    select it.guild_id, it.bot, it.level, search_bucket(it.level, p.term),
           it.first, p.term,
           array(select n.n * 128 + n.type   -- offset: found once
                   from (select t.type, width_bucket(t.stop, p.marks)
                                        - width_bucket(t.start, p.marks) as n
                           from unnest(it.types, it.ends, -32769 || it.ends)
                                t (type, stop, start)
                          where t.type is not null
                         offset 0) n
                  where n.n > 0),
           case when not b.bits then p.marks::smallint[] end,
           case when b.bits then search_bits(p.marks) end
      from unnest(postings) p
     cross join lateral (
           select it.level = 2 and (left(p.term, 1) = '#'
                  or cardinality(p.marks) >= search_bits_from())) b (bits)
     where cardinality(p.marks) >= few;

    insert into search_term (guild_id, bot, level, bucket, first, terms, ends,
                             marks)
    select it.guild_id, it.bot, it.level, p.bucket, it.first, p.terms,
           search_ends(p.sizes), p.marks::smallint[]
      from (select s.bucket, search_joined_texts(s.terms) as terms,
                   search_joined(s.sizes) as sizes,
                   search_joined(s.marks) as marks
              from (select search_bucket(it.level, u.term) as bucket,
                           array_agg(u.term) as terms,
                           array_agg(cardinality(u.marks)) as sizes,
                           search_joined(u.marks) as marks
                      from unnest(postings) with ordinality u (term, marks, n)
                     where cardinality(u.marks) < few
                     group by 1, u.n >> 12) s
             group by 1) p;
end $$;


-- Where each of pieces of these sizes ends.

create or replace function search_ends(sizes int[])
returns int[] language plpgsql immutable as $$
declare
    stop  int := 0;
begin
    for i in 1 .. cardinality(sizes) loop
        stop := stop + sizes[i];
        sizes[i] := stop;
    end loop;

    return sizes;
end $$;


-- These marks as bits, one for each place.

create or replace function search_bits(marks int[])
returns bit varying language plpgsql immutable as $$
begin
    return (
        select search_bits_of(array_agg(w.place), array_agg(w.bits))
          from (select m + 32768 >> 6 as place,
                       bit_or(1::bigint << 63 - (m & 63)) as bits
                  from unnest(marks) m group by 1) w);
end $$;


-- The same of 64 bits at each of these places.

create or replace function search_bits_of(places int[], bits bigint[])
returns bit varying language plpgsql immutable as $$
begin
    return (
        select ('x' || coalesce(string_agg(
                           repeat('0', 16 * (w.place - w.before - 1))
                           || lpad(to_hex(w.bits), 16, '0'), ''
                           order by w.place), '')
                || repeat('0', 16 * (1023 - coalesce(max(w.place), -1)))
                )::bit varying
          from (select u.place, u.bits,
                       lag(u.place, 1, -1) over (order by u.place) as before
                  from unnest(places, bits) u (place, bits)) w);
end $$;


