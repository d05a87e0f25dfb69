-- The rules that keep an entry from being recorded, each with its neighbours:
-- what the settings say is what is stored, and every drop is counted.

\ir ../setup.psql
select plan(102);

-- what becomes of one entry: "recorded", or the rule that dropped it
create function pg_temp.fate(entry jsonb)
returns text language sql as $$
    select case when a ->> 'recorded' = '1' then 'recorded'
                else (select string_agg(k || ' ' || v, ',')
                        from jsonb_each_text(a -> 'dropped') d (k, v)) end
      from record(900000000000000001, 0::smallint, jsonb_build_array(
               jsonb_build_object('event_id', gen_random_uuid(), 'type', 5)
               || entry)) a
$$;

create function pg_temp.fates(want text, entry jsonb, why text)
returns text language sql as $$
    select is(pg_temp.fate(entry),
              case want when 'recorded' then want else want || ' 1' end, why)
$$;

select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null

-- type_disabled

select type_patch(:me, 5, '{"enabled": false}') \g /dev/null
select pg_temp.fates('type_disabled', '{}', 'a type that is off');
select pg_temp.fates('recorded', '{"type": 7}', 'not another one');
select is(record(:guild, 1::smallint, '[{"event_id": "p", "type": 5}]')
          ->> 'recorded', '1', 'nor with the other bot');
select type_patch(:me, 5, '{"enabled": true}') \g /dev/null
select pg_temp.fates('recorded', '{}', 'it is on again');
select type_patch(:me, 76, '{"enabled": false}') \g /dev/null
select is(status, 200, 'what the API changes does not depend on its log')
  from options_patch(:me, '{"spoilers": true}');
select is(pg_temp.logged(:guild, 76), 1, 'which is off');
select type_patch(:me, 76, '{"enabled": null}') \g /dev/null

-- the bracket prefix

create function pg_temp.stored(entry jsonb, field text)
returns text language plpgsql as $$
declare
    stored  bigint;
begin
    stored := record(900000000000000001, 0::smallint, jsonb_build_array(
                  jsonb_build_object('event_id', gen_random_uuid(),
                                     'type', 39) || entry)) #>> '{ids,0}';
    return (select (e.doc || '}')::json #>> field::text[] from stored e
             where e.guild_id = 900000000000000001 and e.id = stored);
end $$;

select operator_member_put(:guild, 300000000000000001,
                           '{"name": "Moderator"}') \g /dev/null
select operator_member_put(:guild, 300000000000000002, '{"bot": true}')
\g /dev/null
\set bot '{"executor": {"id": "9", "name": "Bot", "bot": true}, "reason": '
select is(pg_temp.stored((:'bot' || '"[300000000000000001] spam"}')::jsonb,
                         '{executor}')::jsonb,
          '{"id": "300000000000000001", "name": "Moderator"}',
          'the prefix of a bot says who did it');
select is(pg_temp.stored((:'bot' || '"[300000000000000001] spam"}')::jsonb,
                         '{reason}'), 'spam', 'the rest says why');
select is(pg_temp.stored((:'bot' || '"[300000000000000001]"}')::jsonb,
                         '{reason}'), null, 'or nothing');
select is(pg_temp.stored((:'bot' || '"[300000000000000001]\n a\nb"}')::jsonb,
                         '{reason}'), e'a\nb', 'on any line');
select is(pg_temp.stored((:'bot' || '"[' || n || '] x"}')::jsonb,
                         '{executor,id}'), id, n)
  from (values ('1234567890123456', '9'),
               ('12345678901234567', '12345678901234567'),
               ('9223372036854775807', '9223372036854775807'),
               ('9223372036854775808', '9'),
               ('09223372036854775807', '9223372036854775807'),
               ('123456789012345678901', '9'),
               ('12345678901234567x', '9')) v (n, id);
select is(pg_temp.stored((:'bot' || '" [300000000000000001] x"}')::jsonb,
                         '{executor,id}'), '9', 'only where it begins');
select is(pg_temp.stored('{"executor": {"id": "9", "bot": false},
                           "reason": "[300000000000000001] x"}',
                         '{reason}'), '[300000000000000001] x',
          'not of a member');
select is(pg_temp.stored('{"executor": {"id": "300000000000000002"},
                           "reason": "[300000000000000001] x"}',
                         '{reason}'), 'x', 'the directory knows the bots');
select is(pg_temp.stored((:'bot' || '"[300000000000000001] x", "type": '
                          || t || '}')::jsonb, '{executor,id}'),
          case when t in (6, 15, 39) then '300000000000000001' else '9' end,
          'type ' || t)
  from unnest('{4,5,6,14,15,16,19,20,21,22,39}'::int[]) t;
select is(pg_temp.stored('{"reason": "[300000000000000001] x"}', '{executor}'),
          null, 'not of nobody');

-- bots

select options_patch(:me, '{"ignore_bot_executors": true}') \g /dev/null
select pg_temp.fates('bot_executor', '{"executor": {"id": "1", "bot": true}}',
                     'what bots do');
select pg_temp.fates('recorded', '{"executor": {"id": "1", "bot": false}}',
                     'not what others do');
select pg_temp.fates('recorded', '{"executor": {"id": "1"}}',
                     'nor what nobody knows to be a bot');
select pg_temp.fates('bot_executor',
                     '{"executor": {"id": "300000000000000002"}}',
                     'the directory knows');
select pg_temp.fates('recorded', '{"executor": {"id": "300000000000000002",
                                                "bot": false}}',
                     'the entry knows better');
select pg_temp.fates('recorded', '{"target": {"id": "1", "bot": true}}',
                     'what bots suffer is another option');
select pg_temp.fates('recorded', '{"type": 39, "executor":
                                   {"id": "1", "bot": true}}',
                     'but for types that always log bots');
select pg_temp.fates('recorded', '{"type": 44, "reason":
                                   "[300000000000000001] x", "executor":
                                   {"id": "1", "bot": true}}',
                     'nor what a bot did for somebody');
select options_patch(:me, '{"ignore_bot_executors": false,
                            "ignore_bot_targets": true}') \g /dev/null
select pg_temp.fates('bot_target', '{"target": {"id": "1", "bot": true}}',
                     'what bots suffer');
select pg_temp.fates('bot_target', '{"target": {"id": "300000000000000002"}}',
                     'the directory knows these too');
select pg_temp.fates('recorded', '{"executor": {"id": "1", "bot": true}}',
                     'not what they do');
select pg_temp.fates('recorded', '{"type": 57, "target":
                                   {"id": "1", "bot": true}}',
                     'but for types that always log bots');
select type_patch(:me, 5, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": true}') \g /dev/null
select pg_temp.fates('recorded', '{"target": {"id": "1", "bot": true}}',
                     'a type says otherwise');
select pg_temp.fates('bot_executor', '{"executor": {"id": "1", "bot": true}}',
                     'in both');
select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select pg_temp.fates('bot_target', '{"target": {"id": "1", "bot": true}}',
                     'on the free plan both are on');
select pg_temp.fates('recorded', '{"type": 39, "target":
                                   {"id": "1", "bot": true}}',
                     'which some types do not care for');
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select options_patch(:me, '{"ignore_bot_targets": false}') \g /dev/null
select type_patch(:me, 5, '{"ignore_bot_targets": null,
                            "ignore_bot_executors": null}') \g /dev/null

-- ignore lists

select ignore_add(:me, list, jsonb_build_object('value', value))
  from (values (0, '101'), (0, '150'), (0, '180'), (1, '201'), (1, '102'),
               (2, '301'), (3, '302'), (4, 'Same'), (5, '401'), (6, '402'))
       v (list, value) \g /dev/null
select operator_channels_put(:guild, '[
    {"id": "110", "type": 0, "parent": "201"},
    {"id": "111", "type": 11, "parent": "110"},
    {"id": "112", "type": 11, "parent": "101"},
    {"id": "101", "type": 0, "parent": "202"},
    {"id": "150", "type": 15, "parent": "202"},
    {"id": "120", "parent": "180"},
    {"id": "121", "parent": "201"},
    {"id": "201", "type": 4}, {"id": "202", "type": 4},
    {"id": "102", "type": 0}]') \g /dev/null
select operator_members_put(:guild, '[
    {"id": "501", "roles": ["400", "401"]},
    {"id": "502", "roles": ["402"]}]') \g /dev/null

select pg_temp.fates('ignored_channel', '{"channel": {"id": "101"}}',
                     'a channel');
select pg_temp.fates('recorded', '{"channel": {"id": "103"}}',
                     'not another one');
select pg_temp.fates('recorded', '{}', 'nor none');
select pg_temp.fates('ignored_channel',
                     '{"channel": {"id": "104", "parent": "101"}}',
                     'a thread of it');
select pg_temp.fates('ignored_channel', '{"channel": {"id": "112"}}',
                     'by the directory');
select pg_temp.fates('ignored_channel',
                     '{"channel": {"id": "151", "parent": "150"}}',
                     'a post of a forum');
select pg_temp.fates('ignored_channel', '{"channel": {"id": "120"}}',
                     'under what nobody knows the kind of');
select pg_temp.fates('recorded', '{"channel": {"id": "102"}}',
                     'no channel that stands among the categories');
select pg_temp.fates('ignored_category',
                     '{"channel": {"id": "105", "category": "201"}}',
                     'a category');
select pg_temp.fates('ignored_category', '{"channel": {"id": "110"}}',
                     'by the directory');
select pg_temp.fates('ignored_category',
                     '{"channel": {"id": "113", "parent": "110"}}',
                     'a thread in it');
select pg_temp.fates('ignored_category', '{"channel": {"id": "111"}}',
                     'all by the directory');
select pg_temp.fates('ignored_category', '{"channel": {"id": "201"}}',
                     'the category itself');
select pg_temp.fates('recorded',
                     '{"channel": {"id": "105", "category": "202"}}',
                     'not another one');
select pg_temp.fates(case when category in ('categoryText', 'categoryVoice',
                                            'categoryChannels')
                          then 'ignored_channel' else 'recorded' end,
                     jsonb_build_object('type', id, 'channel',
                                        '{"id": "101"}'::jsonb), category)
  from (select category, min(id) as id from log_type group by 1) t;

select pg_temp.fates('ignored_executor', '{"executor": {"id": "301"}}',
                     'an executor');
select pg_temp.fates('recorded', '{"target": {"id": "301"}}',
                     'not as a target');
select pg_temp.fates('ignored_executor', '{"type": 39, "executor":
                                           {"id": "301"}}', 'of any type');
select pg_temp.fates('ignored_target', '{"target": {"id": "302"}}',
                     'a target');
select pg_temp.fates('recorded', '{"executor": {"id": "302"}}',
                     'not as an executor');
select pg_temp.fates('ignored_executor_role',
                     '{"executor": {"id": "1", "roles": ["400", "401"]}}',
                     'a role of the executor');
select pg_temp.fates('recorded',
                     '{"executor": {"id": "1", "roles": ["402"]}}',
                     'not one of targets');
select pg_temp.fates('ignored_executor_role', '{"executor": {"id": "501"}}',
                     'by the directory');
select pg_temp.fates('recorded', '{"executor": {"id": "501", "roles": []}}',
                     'the entry knows better');
select pg_temp.fates('ignored_target_role',
                     '{"target": {"id": "1", "roles": ["402"]}}',
                     'a role of the target');
select pg_temp.fates('ignored_target_role', '{"target": {"id": "502"}}',
                     'by the directory');
select pg_temp.fates('recorded', '{"target": {"id": "501"}}',
                     'not one of executors');

select pg_temp.fates('ignored_content', '{"content": "Same"}',
                     'the exact content of what is deleted');
select pg_temp.fates('recorded', '{"content": "same"}', 'exact');
select pg_temp.fates('recorded', '{"content": "Same "}', 'to the last sign');
select pg_temp.fates('recorded', '{"type": 7, "content": "Same"}',
                     'not of what is edited');
select pg_temp.fates('ignored_content', '{"type": 4, "content": "Same"}',
                     'in a thread');
select pg_temp.fates('ignored_content',
                     '{"messages": [{"id": "1", "content": "Same"}]}',
                     'where only the message has it');
select pg_temp.fates('ignored_content', '{"type": 3, "messages":
                     [{"content": "Same"}, {"content": "Same"}]}',
                     'of several at once');
select pg_temp.fates('recorded', '{"type": 3, "messages":
                     [{"content": "Same"}, {"content": "other"}]}',
                     'if it is all of them');

-- proxied

\set proxied '{"proxied": true, "content": "p"}'
select pg_temp.fates('recorded', :'proxied', 'without the integration');
select options_patch(:me, '{"proxy_integration": true}') \g /dev/null
select pg_temp.fates('proxied', :'proxied', 'a proxied delete');
select pg_temp.fates('recorded', '{"proxied": false}', 'one that is not');
select pg_temp.fates('recorded', '{"type": 7, "proxied": true}', 'no delete');
select pg_temp.fates('recorded', '{"proxied": true, "executor": {"id": "1"}}',
                     'one whose executor is known');
select pg_temp.fates(case when s <= 10 then 'proxied' else 'recorded' end,
                     jsonb_build_object('proxied', true, 'timestamp', at,
                         'messages', jsonb_build_array(jsonb_build_object(
                             'timestamp', at - s * 1000))),
                     s || ' s after it was sent')
  from (select ms(clock_timestamp()) as at) n, unnest('{0,10,11}'::int[]) s;

-- several rules at once, and the counts

select is(record(:guild, 0::smallint, '[
    {"event_id": "c1", "type": 5, "executor": {"id": "301"}},
    {"event_id": "c2", "type": 5, "executor": {"id": "301"}},
    {"event_id": "c3", "type": 5, "executor": {"id": "301"},
     "channel": {"id": "101"}, "content": "Same"},
    {"event_id": "c4", "type": 5}, {"event_id": "c1", "type": 5},
    "type: is required"]') - 'ids',
    '{"recorded": 1, "duplicates": 1,
      "dropped": {"ignored_executor": 2, "ignored_channel": 1},
      "errors": [{"index": 5, "error": "type: is required",
                  "code": "refused"}]}',
    'each entry counts once, under the first rule');
select is(record(:guild, 0::smallint, '[
    {"event_id": "c1", "type": 5}, {"event_id": "c4", "type": 5}]')
          -> 'duplicates', '2', 'what was dropped is known as well');
select is(record(:guild, 0::smallint, '[{"event_id": "c1", "type": 5}]')
          -> 'ids', '[null]', 'and has no id');

select * from finish();
rollback;
