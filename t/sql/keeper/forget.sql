-- "DELETE /servers/{id}/members/{user_id}/logs forgets a person: entries they
-- did or suffered lose id and name and the texts they wrote, everywhere they
-- stand; counts stay exact." "DELETE /servers/{id} forgets a server whole."

\ir ../setup.psql
\ir ../forget.psql
select plan(57);

\set person 765432109876543210
\set other 765432109876543211

create temp sequence nth;

create function pg_temp.send(entry jsonb, bot int default 0)
returns bigint language sql as $$
    select (record(900000000000000001, bot::smallint, jsonb_build_array(
               jsonb_build_object('event_id', gen_random_uuid(), 'timestamp',
                   ms(now()) - 3600000 + nextval('pg_temp.nth')) || entry))
            #>> '{ids,0}')::bigint
$$;
create function pg_temp.entry(id bigint, path text)
returns text language sql as $$
    select (e.doc || '}')::jsonb #>> path::text[]
      from stored e where e.guild_id = 900000000000000001
                         and e.id = entry.id
$$;

select operator_member_put(:guild, :person, '{"name": "Hildegard"}')
\g /dev/null
select options_patch(:me, '{"ignore_bot_targets": false}') \g /dev/null

select pg_temp.send('{"type": 5, "target": {"id": "765432109876543210",
           "name": "Hildegard"}, "executor": {"id": "765432109876543211",
           "name": "Mod"}, "content": "a quokka of mine"}') as deleted,
       pg_temp.send('{"type": 7, "executor": {"id": "765432109876543210",
           "name": "Hildegard"}, "content": "quokka before",
           "contentAfter": "quokka after"}') as edited,
       pg_temp.send('{"type": 3, "executor": {"id": "765432109876543211",
           "name": "Mod"}, "messages": [
           {"id": "1", "content": "hers is a quokka",
            "authorId": "765432109876543210", "timestamp": 5,
            "attachments": [{"name": "quokka.png", "size": 7}]},
           {"id": "2", "content": "of another <@765432109876543210>",
            "authorId": "765432109876543211", "timestamp": 6}]}') as bulk,
       pg_temp.send('{"type": 39, "executor": {"id": "765432109876543210",
           "name": "Hildegard"}, "target": {"id": "765432109876543211",
           "name": "Spammer"}, "reason": "sold a quokka"}') as banned,
       pg_temp.send('{"type": 25, "executor": {"id": "765432109876543211",
           "name": "Mod"}, "target": {"id": "765432109876543210",
           "name": "Hildegard"}, "content": "Hilde the quokka",
           "contentAfter": "Hildegard", "name": "Hildegard",
           "reason": "was rude", "changes": [
           {"key": "nick", "old": "Hilde the quokka", "new": "Queen"},
           {"key": "mute", "old": false, "new": true},
           {"key": "$add", "new": [{"id": "4", "name": "Hildegard"}, "Mod"]}],
           "image": {"after": "https://cdn.example/765432109876543210.png"}}',
           1) as named,
       pg_temp.send('{"type": 30, "executor": {"id": "765432109876543211",
           "name": "Mod"}, "changes": [{"key": "owner_id",
           "old_value": "765432109876543210",
           "new_value": "765432109876543211"}]}') as handed,
       pg_temp.send('{"type": 5, "executor": {"id": "765432109876543210",
           "name": "Hildegard"}, "target": {"id": "765432109876543211",
           "name": "Mod"}, "content": "words of Mod"}') as moderated,
       pg_temp.send('{"type": 10, "content": "ask <@765432109876543210>"}')
           as mention \gset
select access_put(:me, :person, '{"level": "view"}') \g /dev/null
select ignore_add(:me, 2, '{"value": "765432109876543212"}') \g /dev/null

-- much more of her, and of the other, so that they are indexed

select count(pg_temp.send(jsonb_build_object('type', 1 + i % 2, 'executor',
           jsonb_build_object('id', (:person + i % 3)::text,
               'name', case i % 3 when 0 then 'Hildegard' else 'Mod' end),
           'target', jsonb_build_object('id', (:person + i % 2)::text,
               'name', case i % 2 when 0 then 'Hildegard' else 'Mod' end),
           'channel', '{"id": "5", "name": "general"}'::jsonb), i % 7 / 6))
  from generate_series(1, 700) i \g /dev/null
select pg_temp.keep() \g /dev/null

select cmp_ok(cardinality(pg_temp.stands(:'person')), '>=', 6,
              'the id stands in many places');
select cmp_ok(cardinality(pg_temp.stands('hildegard')), '>=', 4,
              'the name does');
select is(pg_temp.stands('quokka'),
          '{log_arrival.doc,log_block.docs,search_segment.body}',
          'what she wrote stands in entries and in the index of searches');
select ok(exists (select from search_segment where guild_id = :guild),
          'there is an index of searches');

select pg_temp.counts(:'admin', :guild, 0) as main,
       pg_temp.counts(:'admin', :guild, 1) as pro,
       count(*) filter (where doc like '%"id":"' || :other || '"%') as others,
       count(*) as n from stored where guild_id = :guild \gset

select pg_temp.answers(status, body, 202, '{}', 'a person is to be forgotten')
  from operator_person_forget(:guild, :person);
select is(count(*)::int, 1, 'which is a task')
  from forgotten_person where guild_id = :guild;
select pg_temp.answers(status, body, 202, '{}', 'asked for twice is no error')
  from operator_person_forget(:guild, :person);
select is(count(*)::int, 1, 'and still one task')
  from forgotten_person where guild_id = :guild;

-- what comes later is not meant

select pg_temp.send('{"type": 7, "event_id": "later", "executor":
           {"id": "765432109876543210", "name": "Later"},
           "content": "recorded as normal"}') as later \gset

-- other files have servers of their own

select cmp_ok(lag, '>=', 1::bigint, 'the task is told as undone')
  from keeper_forget(7);
select cmp_ok(pg_temp.forget(13), '>', 5, 'a small budget takes many turns');

select is(pg_temp.entry(:later, '{executor,name}'), 'Later',
          'entries recorded after the request stay');
update log_arrival set id = null, doc = null
 where guild_id = :guild and id = :later;

select bag_eq(format('select unnest(pg_temp.stands(%L))', :'person'),
              $$ values ('access.user_id') $$,
              'the id stands nowhere but in what an administrator granted');
select is(pg_temp.stands('hildegard'), '{}', 'the name stands nowhere');
select is(pg_temp.stands('quokka'), '{}', 'nor does what she wrote');
select is(count(*)::int, :n, 'no entry went')
  from stored where guild_id = :guild;

select is(pg_temp.counts(:'admin', :guild, 0), :'main', 'counts are the same');
select is(pg_temp.counts(:'admin', :guild, 1), :'pro', 'of both bots');
select is(count(*) filter (where doc like '%"id":"' || :other || '"%')::int,
          :others, 'others'' entries stay')
  from stored where guild_id = :guild;
select pg_temp.keep() \g /dev/null
select ok(exists (select from search_segment where guild_id = :guild)
          and not exists (select from search_head where guild_id = :guild
                                                    and back_id > 0),
          'the index is made anew');
select is(pg_temp.stands('quokka'), '{}', '... without her words');
select is(pg_temp.counts(:'admin', :guild, 0), :'main',
          'and counts stay what they were');

-- entry by entry

select is(pg_temp.entry(:deleted, '{executor,name}') || ' '
          || coalesce(pg_temp.entry(:deleted, '{target}'), '-')
          || coalesce(pg_temp.entry(:deleted, '{content}'), '-'), 'Mod --',
          'a deleted message keeps who deleted it');
select is(coalesce(pg_temp.entry(:edited, '{executor}'), '-')
          || coalesce(pg_temp.entry(:edited, '{content}'), '-')
          || coalesce(pg_temp.entry(:edited, '{contentAfter}'), '-'), '---',
          'an edit loses both texts');
select is(pg_temp.entry(:bulk, '{messages}')::jsonb, '[
    {"id": "1", "content": null, "authorId": null, "timestamp": 5,
     "attachments": [{"size": 7}]},
    {"id": "2", "content": "of another <@0>",
     "authorId": "765432109876543211", "timestamp": 6}]',
    'of many messages hers go, and in others'' her id');
select is(pg_temp.entry(:banned, '{target,name}') || ' '
          || coalesce(pg_temp.entry(:banned, '{executor}'), '-')
          || coalesce(pg_temp.entry(:banned, '{reason}'), '-'), 'Spammer --',
          'a reason is deleted with its author');
select is(pg_temp.entry(:named, '{reason}') || ' '
          || coalesce(pg_temp.entry(:named, '{content}'), '-')
          || coalesce(pg_temp.entry(:named, '{contentAfter}'), '-')
          || coalesce(pg_temp.entry(:named, '{name}'), '-'), 'was rude ---',
          'and what others wrote stays, but for names');
select is(pg_temp.entry(:named, '{changes}')::jsonb, '[
    {"key": "nick", "old": null, "new": null},
    {"key": "mute", "old": false, "new": true},
    {"key": "$add", "old": null, "new": [{"id": "4", "name": ""}, "Mod"]}]',
    'of what changed the names go');
select is(pg_temp.entry(:named, '{image}'), null, 'and the picture');
select is(pg_temp.entry(:handed, '{changes}')::jsonb, '[{"key": "owner_id",
    "old": "0", "new": "765432109876543211"}]', 'and the id');
select is(pg_temp.entry(:moderated, '{content}'), 'words of Mod',
          'as does the message of another that she deleted');
select is(pg_temp.entry(:mention, '{content}'), 'ask <@0>',
          'a mention names nobody any more');
select is(left(e.doc, 40), left(format('{"id":"%s","type":5,"timestamp":',
                                       e.id), 40), 'a document begins as ever')
  from stored e where e.guild_id = :guild and e.id = :deleted;

-- what is wrong is told

select throws_ok($$ select operator_person_forget(900000000000000009, 1) $$,
                 'GL404', 'server: unknown', 'an unknown server');
select throws_ok($$ select operator_server_forget(900000000000000009) $$,
                 'GL404', 'server: unknown',
                 'an unknown server cannot be forgotten either');

-- one that cannot be forgotten keeps nobody waiting

select pg_temp.send('{"type": 7, "executor": {"id": "765432109876543298",
           "name": "Bad"}}') as bad,
       pg_temp.send('{"type": 7, "executor": {"id": "765432109876543299",
           "name": "Good"}}') as good \gset
update log_arrival set doc = doc || '{' where id = :bad;
select operator_person_forget(:guild, 765432109876543298) \g /dev/null
select operator_person_forget(:guild, 765432109876543299) \g /dev/null
select pg_temp.forget() \g /dev/null
select is(pg_temp.entry(:good, '{executor}'), null, 'the next one is');
select matches(error, '^22P02 ', 'the other one says why')
  from forgotten_person where user_id = 765432109876543298;
delete from forgotten_person;
update log_arrival set doc = left(doc, -1) where id = :bad;

-- blocks are made in between of what was recorded before and after

select count(pg_temp.send(
           '{"type": 7, "executor": {"id": "765432109876543297",
             "name": "Brunhilde"}, "content": "a wombat of mine"}'))
  from generate_series(1, 30) i \g /dev/null
select block_make(:guild, 0::smallint, 20) \g /dev/null
select operator_person_forget(:guild, 765432109876543297) \g /dev/null
select pg_temp.send(
           '{"type": 7, "executor": {"id": "765432109876543297",
             "name": "Later"}, "content": "recorded as normal"}') as later \gset
select count(*) as n from stored where guild_id = :guild \gset
create function pg_temp.forget_and_make()
returns void language plpgsql as $$
begin
    while exists (select from forgotten_person) loop
        perform keeper_forget(200), block_make(900000000000000001, 0::smallint,
                                               7);
    end loop;
end $$;
select pg_temp.forget_and_make() \g /dev/null
select is(pg_temp.stands('brunhilde') || pg_temp.stands('wombat'), '{}',
          'nothing of them stands anywhere, nor in blocks');
select is(pg_temp.entry(:later, '{executor,name}'), 'Later',
          'but for what came later, in a block, too');
select is(count(*)::int, :n, 'of their entries none is lost')
  from stored where guild_id = :guild;
select is_empty(format('select * from guildlog.check(%s)', :guild),
                'and nothing differs');

-- a server

\set second 900000000000000002
select operator_server_put(:second, '{"name": "Second", "plan": "pro"}')
\g /dev/null
select pg_temp.new_token(:second, 1, 'main') as theirs \gset
select record(:second, 0::smallint, jsonb_build_array(jsonb_build_object(
           'event_id', 'e', 'type', 7, 'content', 'stays'))) \g /dev/null

select channels_patch(:me, '{"main_channel": "300000000000000001"}')
\g /dev/null
select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select tag_create(:me, '{"tag_name": "a", "content": "b"}') \g /dev/null
select pg_temp.send('{"type": 7, "content": "held"}') \g /dev/null
update lane set webhook_id = 77 where guild_id = :guild;

select cmp_ok(cardinality(pg_temp.stands(:'guild')), '>=', 18,
              'a server stands in many tables');
select pg_temp.answers(status, body, 202, '{}', 'it is to be forgotten')
  from operator_server_forget(:guild);
select pg_temp.answers(status, body, 202, '{}', 'asked for twice is no error')
  from operator_server_forget(:guild);
select pg_temp.answers(status, body, 401, '{}', 'its tokens are none at once')
  from server_get(:me);
select throws_ok(format('select operator_server_put(%s, ''{}'')', :guild),
                 'GL409', 'server: is being forgotten',
                 'it cannot be put meanwhile');
select throws_ok(format('select operator_member_put(%s, 1, ''{}'')', :guild),
                 'GL409', 'server: is being forgotten',
                 'its members cannot be put either');
select is(errors, 'server: is being forgotten', 'entries are refused')
  from unnest(server_obstacles(array[:guild])) errors;

select pg_temp.forget() \g /dev/null
select is(state, 'closing', 'as long as its webhook is there')
  from lane where guild_id = :guild and webhook_id is not null;
select ok(exists (select from stored where guild_id = :guild),
          'its rows are deleted');
update lane set state = 'closed', webhook_id = null where guild_id = :guild;
select pg_temp.forget(800) \g /dev/null
select is(pg_temp.stands(:'guild'), '{server.guild_id}',
          'then nothing of it is but that it is being forgotten');
update server set forgotten_by = '3' where guild_id = :guild;
select pg_temp.forget() \g /dev/null
select is(pg_temp.stands(:'guild'), '{}',
          'this row goes when no older transaction is left');
select throws_ok(format('select operator_server_forget(%s)', :guild), 'GL404',
                 'server: unknown', 'then the server is unknown');
select operator_server_put(:guild, '{}') \g /dev/null
select operator_server_forget(:guild) \g /dev/null
update server set forgotten_by = '9000000000000000000' where guild_id = :guild;
select pg_temp.forget() \g /dev/null
select is(pg_temp.stands(:'guild'), '{}',
          'the row goes, too, if a transaction of another store made it');
select alike(pg_temp.counts(:'theirs', :second, 0), '{"total":2,%',
            'other servers stay');
select is(status, 201, 'and it may come again')
  from operator_server_put(:guild, '{}');

-- a server for which it fails keeps no other from being forgotten

select operator_server_put(:guild + n, '{}'), record(:guild + n, 0::smallint,
           '[{"event_id": "x", "type": 7}]')
  from generate_series(71, 72) n \g /dev/null
select operator_server_forget(:guild + 71) \g /dev/null
select operator_server_forget(:guild + 72) \g /dev/null
create function pg_temp.fails() returns trigger language plpgsql as $$
begin
    raise 'bad row';
end $$;
create trigger fails before delete on log_head for each row
    when (old.guild_id = 900000000000000072)
    execute function pg_temp.fails();
select is(keeper_run('forget', 20000),
          format('server %s: P0001 bad row', :guild + 71),
          'the failure is listed');
select keeper_run('forget', 20000) from generate_series(1, 3)
\g /dev/null
select is(count(*)::int, 0, 'and the next one goes')
  from stored where guild_id = :guild + 72;

select * from finish();
rollback;
