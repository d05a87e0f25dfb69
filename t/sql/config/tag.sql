-- Tags: names lower-cased and unique, content or image, 25 without Pro.

\ir ../setup.psql
select plan(28);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from tags_get(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'creates nothing')
  from tag_create(:nobody, '{"tag_name": "a", "content": "b"}');
select pg_temp.answers(status, body, 401, '{}', 'changes nothing')
  from tag_patch(:nobody, '1', '{"content": "b"}');
select pg_temp.answers(status, body, 401, '{}', 'deletes nothing')
  from tag_delete(:nobody, '1');
select pg_temp.answers(status, body, 404, '{}', 'there is none')
  from tags_get(:me);

select status, body, body::json ->> 'tag_id' as id
  from tag_create(:me, '{"tag_name": "ÄPFEL", "content": "x"}') \gset tag_
select is(:tag_status, 201, 'a tag is created');
select is(:'tag_body', format('{"tag_id":"%s"}', :'tag_id'), 'with an id');
select pg_temp.answers(status, body, 200, format('[{"id":"900000000000000001",'
    '"tag_id":"%s","tag_name":"äpfel","content":"x","color":null,'
    '"image":null}]', :'tag_id'), 'its name in lower case')
  from tags_get(:me);
select is(pg_temp.last_logged(:guild, 74, '{name}'), 'äpfel', 'it is logged');
select pg_temp.answers(status, body, 404, '{}', 'the Pro bot has its own')
  from tags_get(:pro);

select throws_ok(format('select tag_create(%s, %L)', :'me',
                        '{"tag_name": "äpFel", "content": "y"}'),
                 'GL409', 'tag_name: is taken', 'names are unique');
select throws_ok(format('select tag_create(%s, %L)', :'me',
                        '{"tag_name": "b"}'),
                 'GL400', 'content: needed where there is no image',
                 'content or image');
select throws_ok(format('select tag_create(%s, %L)', :'me',
                        jsonb_build_object('tag_name', repeat('İ', 20),
                                           'content', 'x')),
                 'GL400', 'tag_name: must have 1 to 31 characters',
                 'in lower case a name may become too long');

select pg_temp.answers(status, body, 200, '{}', 'a tag is changed')
  from tag_patch(:me, :'tag_id', '{"image": "https://a.example/b.png",
                                   "color": 255, "content": null}');
select is((body::jsonb -> 0) - array['id', 'tag_id'],
          '{"tag_name": "äpfel", "content": null, "color": 255,
            "image": "https://a.example/b.png"}', 'and read back')
  from tags_get(:me);
select is(pg_temp.logged(:guild, 75), 1, 'it is logged');
select pg_temp.answers(status, body, 200, '{}', 'the same again')
  from tag_patch(:me, :'tag_id', '{"color": 255}');
select is(pg_temp.logged(:guild, 75), 1, 'is no change');
select throws_ok(format('select tag_patch(%s, %L, %L)', :'me', :'tag_id',
                        '{"image": null}'),
                 'GL400', 'content: needed where there is no image',
                 'the last of content and image must stay');
select pg_temp.answers(status, body, 404, '{}', 'an unknown tag')
  from tag_patch(:me, 'x', '{"color": 5}');
select pg_temp.answers(status, body, 404, '{}', 'nor has the other bot it')
  from tag_delete(:pro, :'tag_id');

select is(status, 201, 'a second one')
  from tag_create(:me, '{"tag_name": "zwei", "content": "x"}');
select throws_ok(format('select tag_patch(%s, %L, %L)', :'me', :'tag_id',
                        '{"tag_name": "ZWEI"}'),
                 'GL409', 'tag_name: is taken',
                 'a name that is in use is refused');

select pg_temp.answers(status, body, 200, '{}', 'a tag is deleted')
  from tag_delete(:me, :'tag_id');
select pg_temp.answers(status, body, 404, '{}', 'only once')
  from tag_delete(:me, :'tag_id');
select is(pg_temp.last_logged(:guild, 73, '{name}'), 'äpfel', 'it is logged');

select tag_create(:me, jsonb_build_object('tag_name', 't' || i,
                                          'content', 'x'))
  from generate_series(1, 25) i \g /dev/null
select is(json_array_length(body::json), 26, 'Pro has as many as it likes')
  from tags_get(:me);
select operator_server_put(:guild, '{"plan": "pro_lite"}') \g /dev/null
select throws_ok(format('select tag_create(%s, %L)', :'me',
                        '{"tag_name": "more", "content": "x"}'),
                 'GL402', 'more than 25 tags need the Pro plan',
                 'other plans stop at 25');

select * from finish();
rollback;
