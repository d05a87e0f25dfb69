-- "search: matches whole words in message content, and parts of names,
-- channels, roles and reasons", in any language; %, _, \ and quotes are plain.

\ir ../setup.psql
\ir ../../search/words.sql
select plan(61);

create function pg_temp.hits(entry jsonb, search text)
returns boolean language sql as $$
    select entry_found(left(entry::text, -1), word_patterns(words_of(p.part)),
                       p.part)
      from search_part(search) p (part)
$$;

create function pg_temp.finds(content text, search text)
returns text language sql as $$
    select ok(pg_temp.hits(jsonb_build_object('content', content), search),
              format('%s is found in %s', to_json(search),
                     to_json(content)))
$$;

create function pg_temp.misses(content text, search text)
returns text language sql as $$
    select ok(not pg_temp.hits(jsonb_build_object('content', content), search),
              format('%s is not found in %s', to_json(search),
                     to_json(content)))
$$;

-- words

select pg_temp.finds('hello world', 'hello');
select pg_temp.finds('hello world', 'WORLD');
select pg_temp.finds('hello world', 'world hello');
select pg_temp.misses('hello world', 'hell');
select pg_temp.misses('hello world', 'orld');
select pg_temp.misses('hello world', 'hello moon');
select pg_temp.finds('(hello), "world"!', 'hello world');
select pg_temp.finds(e'one\ntwo\tthree', 'two');
select pg_temp.finds(e'one\ntwo\tthree', 'three one');
select pg_temp.misses(e'one\ntwo', 'ntwo');
select pg_temp.finds('foo_bar', 'bar');
select pg_temp.finds('it''s', 'it''s');
select pg_temp.finds('a-b', 'b');
select pg_temp.finds('42 is it', '42');
select pg_temp.misses('421', '42');
select pg_temp.finds('a\b c', 'b');
select pg_temp.finds('x', 'x!');
select pg_temp.finds(e'\u0001\u001fx', 'x');

-- in any language

select pg_temp.finds('ПРИВЕТ мир', 'привет');
select pg_temp.finds('привет мир', 'МИР');
select pg_temp.misses('приветы', 'привет');
select pg_temp.finds('Über', 'ÜBER');
select pg_temp.finds('naïve', 'NAÏVE');
select pg_temp.misses('naïve', 'na');
select pg_temp.finds('東京 タワー', '東京');
select pg_temp.misses('東京タワー', '東京');
select pg_temp.finds('ΟΔΟΣ', 'οδος');
select pg_temp.finds('οδός', 'ΟΔΌΣ');
select pg_temp.finds('नमस्ते दुनिया', 'नमस्ते');
select pg_temp.misses('नमस्ते', 'नम');
select pg_temp.finds(e'e\u0301te\u0301', e'E\u0301TE\u0301');
select pg_temp.misses(e'e\u0301te\u0301', 'te');
select pg_temp.finds('İstanbul', 'İSTANBUL');
select pg_temp.finds(e'\u212Aelvin', 'kelvin');
select pg_temp.finds('👍 ok', 'OK');

-- not words

select pg_temp.misses('100%', '%');
select pg_temp.misses('a & b', '&');
select pg_temp.finds('a & b', 'a & b');
select pg_temp.misses('cat', 'cat | dog');
select pg_temp.misses('cat', '!cat dog');
select pg_temp.misses('abc', 'a.c');

-- each word in any of the texts; keys are no text

select ok(pg_temp.hits('{"content": "one", "contentAfter": "two",
                         "messages": [{"content": "three"}, {}]}', search),
          search)
  from unnest('{one two three,three,two one}'::text[]) search;
select ok(not pg_temp.hits('{"content": null, "contentAfter": "", "value": "a",
                             "messages": [], "action": "b",
                             "emoji": {"name": "c"}}', search),
          'not in the texts: ' || search)
  from unnest('{content,messages,"null",a,b,c}'::text[]) search;

-- parts

create temp table part (entry jsonb);
insert into part values
    ('{"executor": {"id": "1", "name": "Some%Body_"}}'),
    ('{"target": {"id": "1", "name": "Some%Body_"}}'),
    ('{"channel": {"id": "1", "name": "Some%Body_"}}'),
    ('{"role": "Some%Body_"}'), ('{"name": "Some%Body_"}'),
    ('{"reason": "Some%Body_"}');

select is((select count(*)::int from part p
            where pg_temp.hits(p.entry, search)), n,
          search || ' is a part of ' || n)
  from (values ('some', 6), ('E%B', 6), ('%', 6), ('_', 6), ('some_body', 0),
               ('%some', 0), (' some%body_ ', 6), ('1', 0)) s (search, n);
select ok(pg_temp.hits('{"reason": "a \"b\" \\ c"}', '"B" \'),
          'quotes and backslashes too');
select ok(pg_temp.hits('{"reason": "line\nfeed"}', e'e\nf'), 'and line feeds');
select ok(pg_temp.hits('{"reason": "ÄΣ"}', 'äσ'), 'in any language');

select * from finish();
rollback;
