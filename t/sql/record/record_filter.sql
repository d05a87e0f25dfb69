-- Filters: what they find never reaches the store. A mask stands in its place,
-- or the whole entry is dropped; what they do not look for stays as it was.

\ir ../setup.psql
select plan(104);

create function pg_temp.mask_is(kind text, content text, want text)
returns text language sql as $$
    select is((mask_texts(
                   array(select row(k.filter_id, 'mask', '{}', k.mask,
                                    k.pattern, k.guard)::masker
                           from mask_kinds() k where k.filter_id = kind
                          order by k.place),
                   mask_needles('{bad,two words,$hit,c++,ärger,日本,a.b}'),
                   array[content]))[1], want,
              kind || ': ' || translate(content, e'\n', ' '))
$$;

select pg_temp.mask_is('invites', content, want)
  from (values
    ('join discord.gg/abc-12 now', 'join [invite] now'),
    ('https://discord.gg/abc', '[invite]'),
    ('HTTPS://WWW.Discord.com/invite/aBc!', '[invite]!'),
    ('discordapp.com/invite/abc', '[invite]'),
    ('a discord.gg/x, discord.gg/y', 'a [invite], [invite]'),
    ('discord.com/channels/1/2', 'discord.com/channels/1/2'),
    ('mydiscord.gg/abc', 'mydiscord.gg/abc'),
    ('discord.gg alone', 'discord.gg alone')) v (content, want);

select pg_temp.mask_is('links', content, want)
  from (values
    ('see https://example.com/a?b=c#d.', 'see [link].'),
    ('(http://example.com)', '([link])'),
    ('www.example.com/x, and', '[link], and'),
    ('ftp://example.com', '[link]'),
    ('<https://example.com/>', '<[link]>'),
    ('https://example.com/ü/日本', '[link]'),
    ('no link: example.com', 'no link: example.com'),
    ('C://', 'C://'),
    ('awww.yes', 'awww.yes')) v (content, want);

select pg_temp.mask_is('emails', content, want)
  from (values
    ('write to a.b+c@example.co.uk.', 'write to [email].'),
    ('jürgen@müller.de', '[email]'),
    ('<a@b.c>', '<[email]>'),
    ('user@localhost', 'user@localhost'),
    ('@someone', '@someone'),
    ('a @ b.c', 'a @ b.c')) v (content, want);

select pg_temp.mask_is('addresses', content, want)
  from (values
    ('at 192.168.0.1.', 'at [address].'),
    ('10.0.0.1:8080', '[address]:8080'),
    ('255.255.255.255', '[address]'),
    ('256.1.1.1', '256.1.1.1'),
    ('1.2.3', '1.2.3'),
    ('1.2.3.4.5', '1.2.3.4.5'),
    ('v1.2.3.4', 'v1.2.3.4'),
    ('2001:db8::1', '[address]'),
    ('[2001:DB8:0:0:8:800:200C:417A]:80', '[[address]]:80'),
    ('::1', '[address]'),
    ('fe80::', '[address]'),
    ('::ffff:192.0.2.1', '[address]'),
    ('12:34:56', '12:34:56'),
    ('1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8:9'),
    ('std::vector', 'std::vector')) v (content, want);

select pg_temp.mask_is('secrets', content, want)
  from (values
    ('Bot ' || repeat('M', 24) || '.Cl2FMQ.' || repeat('x', 27) || ' ok',
     'Bot [secret] ok'),
    (repeat('M', 22) || '.Cl2FMQ.' || repeat('x', 27),
     repeat('M', 22) || '.Cl2FMQ.' || repeat('x', 27)),
    ('https://discord.com/api/webhooks/123/abc-_D', '[secret]'),
    ('t=eyJhbGciOi.eyJzdWIi.c2ln, ok', 't=[secret], ok'),
    ('eyJ.eyJ.x', 'eyJ.eyJ.x'),
    ('ghp_' || repeat('a', 36), '[secret]'),
    (e'a -----BEGIN RSA PRIVATE KEY-----\nMII-E=\n'
     '-----END RSA PRIVATE KEY----- b', 'a [secret] b'),
    (e'-----BEGIN PRIVATE KEY-----\nMII', '[secret]'),
    ('-----BEGIN PUBLIC KEY-----', '-----BEGIN PUBLIC KEY-----'),
    ('a.b.c', 'a.b.c')) v (content, want);

select pg_temp.mask_is('cards', content, want)
  from (values
    ('4111 1111 1111 1111', '[card]'),
    ('4111-1111-1111-1111.', '[card].'),
    ('4111111111111111', '[card]'),
    ('4111111111111112', '4111111111111112'),
    ('3782 822463 10005', '[card]'),
    ('30569309025904', '[card]'),
    ('1234 4111 1111 1111 1111 4111111111111111',
     '1234 [card] [card]'),
    ('<@4111111111111111>', '<@4111111111111111>'),
    ('1111111111111117', '1111111111111117'),
    ('411111111111111111111', '411111111111111111111')) v (content, want);

select pg_temp.mask_is('phones', content, want)
  from (values
    ('call +49 30 1234567 now', 'call [phone] now'),
    ('+1 (555) 123-4567', '[phone]'),
    ('(555) 123-4567, 555-123-4567', '[phone], [phone]'),
    ('030/1234567', '[phone]'),
    ('0049301234567', '[phone]'),
    ('06 12 34 56 78', '[phone]'),
    ('0301234567', '[phone]'),
    ('2026-11-20 12:30:00', '2026-11-20 12:30:00'),
    ('<@123456789012345678>', '<@123456789012345678>'),
    ('3.14159265', '3.14159265'),
    ('1790000000123', '1790000000123')) v (content, want);

select pg_temp.mask_is('words', content, want)
  from (values
    ('a BAD word, badly not', 'a [word] word, badly not'),
    ('Two Words, two  words', '[word], two  words'),
    ('oh $hit', 'oh [word]'),
    ('c++ and xc++', '[word] and xc++'),
    ('ÄRGER ärgerlich', '[word] ärgerlich'),
    ('xx日本yy', 'xx[word]yy'),
    ('a.b axb', '[word] axb'),
    ('bad_bad', 'bad_bad'),
    ('nothing', 'nothing')) v (content, want);

-- time grows with the length alone

create function pg_temp.slowest()
returns text language plpgsql as $$
declare
    long  text;
    from_time  timestamptz;
begin
    foreach long in array '{a,@,a@,"a@a.",1,"1 ","1234 ","4444 ",1.,":","f::",
        a://,"www.a",eyJ,"eyJaaaaaa.",aaaaaaa.,"-----BEGIN PRIVATE KEY-----",
        -,é,+1,0,"01 ","(",ghp_,"bad ",日}'::text[]
    loop
        from_time := clock_timestamp();
        perform mask_texts(array(select row(k.filter_id, 'mask', '{}', k.mask,
                                            k.pattern, k.guard)::masker
                                   from mask_kinds() k order by k.place),
                           mask_needles('{bad,a,日}'),
                           array[rpad('', 4000, long)]);

        if clock_timestamp() > from_time + interval '10 s' then
            return long;
        end if;
    end loop;

    return null;
end $$;

select is(pg_temp.slowest(), null, 'no text takes long');

-- words are found as a pattern of all of them would find them

create function pg_temp.by_pattern(content text, words text[])
returns text language sql as $$
    select regexp_replace(content collate "und-x-icu",
               '(?!(?<=\[)(?:secret|invite|link|email|address|card|phone)\])(?:'
               || string_agg(
                      case when w ~ '^[[:alnum:]_]' and w !~ '^[ก-๿ぁ-鿿]'
                           then '(?<![[:alnum:]_])' else '' end
                      || regexp_replace(w, '([^[:alnum:][:space:]_])',
                                        '\\\1', 'g')
                      || case when w ~ '[[:alnum:]_]$' and w !~ '[ก-๿ぁ-鿿]$'
                              then '(?![[:alnum:]_])' else '' end,
                      '|') || ')', '[word]', 'gi')
      from unnest(words) w
$$;

select setseed(0.5) \g /dev/null
select coalesce(string_agg(t.content, e'\n'), '') as different
  from (select (select string_agg(
                    (array['bad', 'BAD', 'badly', 'two', 'words', 'Two Words',
                           '$hit', 'c++', 'xc++', 'ärger', 'ÄRGER', 'Ärgern',
                           '日', '日本', '本', 'ab日', 'กัน', 'กา', 'привет',
                           'ПРИВЕТ!', '[link]', 'link', '[', ']', '_', '-',
                           '.', 'a.b', 'a', 'b', '!', '!!', e'\n', '😀', '…'])
                        [1 + floor(random() * 35)::int + n * 0]
                    || case when random() < 0.5 then ' ' else '' end, '')
                  from generate_series(1, 2 + i % 12) n) as content
          from generate_series(1, 400) i) t
 cross join (values ('{bad,two words,$hit,c++,ärger,日本,กัน,привет,привет!,
                       link,a.b,!!,😀,ab日,_}'::text[])) w (words)
 where (mask_words(array[t.content], mask_needles(w.words), '[word]', 1000))[1]
       is distinct from pg_temp.by_pattern(t.content, w.words) \gset
select is(:'different'::text, '', 'as a pattern of all of them would');

select is((mask_words(array[e'b\1ad \6bad \3', null, '', 'İstanbul BAD'],
                      mask_needles(array['bad', 'istanbul', e'x\6']),
                      '[word]', 1000))::text,
          array[e'b\1ad \6[word] \3', null, '', '[word] [word]']::text,
          'signs that no keyboard has, no text, and I with a dot');
select is((mask_words(array[repeat('the lazy dog. ', 400) || 'C++, bad'],
                      mask_needles('{bad,c++,cat,lazy dogs}'), '[word]',
                      1000))[1],
          repeat('the lazy dog. ', 400) || '[word], [word]', 'in a long text');

-- nobody can make it look at more than so many places

create function pg_temp.masked(kinds text[], texts text[])
returns text[] language sql as $$
    select mask_texts(array(select row(k.filter_id, 'mask', '{}', k.mask,
                                       k.pattern, k.guard)::masker
                              from mask_kinds() k
                             where k.filter_id = any (kinds)
                             order by k.place),
                      mask_needles(array(select chr(97 + i / 26)
                                                || chr(97 + i % 26)
                                           from generate_series(0, 483) i)),
                      texts)
$$;

select is(pg_temp.masked('{words,emails}',
              array[repeat('ab cd ', 450), 'x', repeat('ef ', 200), null, '',
                    'nothing in it']),
          array[repeat('[word] [word] ', 450), 'x', repeat('[word] ', 200),
                null, '', '[word]'],
          'behind a thousand places a text is masked as a whole');
select is(pg_temp.masked('{emails,links}',
              array[repeat('a@b.c ', 1001), 'plain', 'http://a']),
          array[repeat('[email] ', 1001), '[email]', '[email]'],
          'by what there was so much of');
select is(pg_temp.masked('{cards}',
              array[repeat('4444 ', 201), repeat('12 ', 300),
                    repeat('4444 4444 4444 4443, ', 1001), 'plain']),
          array['[card] ', repeat('12 ', 300),
                repeat('4444 4444 4444 4443, ', 1001), '[card]'],
          'of very long rows of digits no card is picked out');

-- in entries

create function pg_temp.stored(entry jsonb)
returns jsonb language plpgsql as $$
declare
    answer  jsonb;
begin
    answer := record(900000000000000001, 0::smallint, jsonb_build_array(
                  jsonb_build_object('event_id', gen_random_uuid(), 'type', 5)
                  || entry));
    return coalesce((
        select (e.doc || '}')::jsonb from stored e
         where e.guild_id = 900000000000000001
           and e.id = (answer #>> '{ids,0}')::bigint), answer -> 'dropped');
end $$;

select jsonb_build_object('content', 'a@b.c', 'contentAfter', 'x a@b.c',
           'reason', 'a@b.c', 'name', 'a@b.c', 'messages',
           '[{"id": "1", "content": "a@b.c"}, {"id": "2"}]'::jsonb, 'changes',
           '[{"key": "topic", "old": "x a@b.c", "new": 5},
             {"key": "a@b.c", "old": ["y", "a@b.c"], "new":
              [{"id": "1", "name": "a@b.c"}, {"id": "2"}, "z"]}]'::jsonb)
       as entry \gset
select is(pg_temp.stored(:'entry') ->> 'content', 'a@b.c',
          'they are off until they are on');
select filter_patch(:me, 'emails', '{"enabled": true}') \g /dev/null
select pg_temp.stored(:'entry') as doc \gset
select is(:'doc'::jsonb ->> 'content', '[email]', 'in content');
select is(:'doc'::jsonb ->> 'contentAfter', 'x [email]', 'in contentAfter');
select is(:'doc'::jsonb ->> 'reason', '[email]', 'in the reason');
select is(:'doc'::jsonb -> 'messages',
          '[{"id": "1", "content": "[email]"}, {"id": "2"}]',
          'in messages, in their order');
select is(:'doc'::jsonb -> 'changes',
          '[{"key": "topic", "old": "x [email]", "new": 5},
            {"key": "a@b.c", "old": ["y", "[email]"], "new":
             [{"id": "1", "name": "[email]"}, {"id": "2"}, "z"]}]',
          'in changes, where each stands');
select is(:'doc'::jsonb ->> 'name', 'a@b.c', 'not in a name');
select is(pg_temp.stored('{"content": "plain"}') -> 'messages', '[]',
          'what is absent stays so');
select is(pg_temp.stored('{"executor": {"id": "1", "bot": true}, "type": 39,
                           "reason": "[12345678901234567] a@b.c"}')
          ->> 'reason', '[email]', 'behind the prefix');
select filter_patch(:me, 'emails', '{"log_types": [7]}') \g /dev/null
select is(pg_temp.stored('{"content": "a@b.c"}') ->> 'content', 'a@b.c',
          'of the types it is for');
select is(pg_temp.stored('{"content": "a@b.c", "type": 7}') ->> 'content',
          '[email]', 'only');
select filter_patch(:me, 'links', '{"enabled": true, "action": "drop"}')
\g /dev/null
select is(pg_temp.stored('{"content": "https://a.b"}'), '{"filter": 1}',
          'an entry is dropped');
select is(pg_temp.stored('{"messages": [{"content": "https://a.b"}]}'),
          '{"filter": 1}', 'for any of its texts');
select is(pg_temp.stored('{"changes": [{"key": "x", "new": "https://a.b"}]}'),
          '{"filter": 1}', 'what changed, too');
select is(pg_temp.stored('{"content": "a.b"}') ->> 'content', 'a.b',
          'in which something is found');
select filter_patch(:me, 'words', '{"enabled": true,
                                    "words": ["Link", "secret"]}') \g /dev/null
select filter_patch(:me, 'links', '{"action": "mask"}') \g /dev/null
select is(pg_temp.stored('{"content": "secret link https://secret.link/x"}')
          ->> 'content', '[word] [word] [link]', 'a mask is not masked again');
select filter_patch(:me, 'secrets', '{"enabled": true}') \g /dev/null
select filter_patch(:me, 'invites', '{"enabled": true}') \g /dev/null
select is(pg_temp.stored(jsonb_build_object('content',
              'https://discord.com/api/webhooks/1/x https://discord.gg/x '
              'https://a.b/c@d.e')) ->> 'content',
          '[secret] [invite] [link]', 'the most telling one is first');
select is(pg_temp.stored('{"content": "https://discord.gg/x"}')
          ->> 'content', '[invite]', 'of all that find it');
select is(count(*)::int, 0, 'nothing of it is anywhere')
  from stored e
 where e.guild_id = :guild and e.doc like '%webhooks/1%';

select * from finish();
rollback;
