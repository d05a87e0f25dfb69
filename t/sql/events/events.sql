-- A batch of events: all of it is stored or nothing, against the version that
-- was read. What is known is told again as it was, a message is kept as long as
-- the plan says and not where the settings forbid it.

\ir ../setup.psql
\ir ../events.psql
select plan(74);

\set free 900000000000000002
\set new 900000000000000003
select operator_server_put(:free, '{"name": "Free"}') \g /dev/null

-- versions

select is(pg_temp.known_of(:free, 0, 0), '{"version":"0","plan":"free"}',
          'a server that had no events');
select is(pg_temp.known_of(:new, 0, 0),
          '{"version":"0","obstacle":"server: unknown"}', 'one that is unknown');
select is(status || body, '200{"ids": [], "kept": 0, "errors": [], '
          '"dropped": {}, "recorded": 0, "verdicts": [], "duplicates": 0}',
          'a batch of nothing')
  from pg_temp.events('{}');
select is(status, 200, 'a batch of two servers')
  from pg_temp.events(array[:guild, :free]);
select is(array[pg_temp.version_of(:guild), pg_temp.version_of(:free)],
          '{1,1}', 'each has another version');
select is(status || body || counts, '409{}{}', 'another version than there is')
  from pg_temp.events(array[:guild, :free],
           jsonb_build_array('{"guild": 900000000000000002, "kind": 4,
                               "id": 5, "doc": "{}"}'::jsonb),
           '[{"guild": 900000000000000001, "bot": 0, "event": "p", "kind": 1,
              "audit": false, "state": 0, "at": 1, "due": 1}]',
           '[{"server": 900000000000000001, "event_id": "never", "type": 5}]',
           '[{"id": "900000000000000003", "name": "New"}]', '{1,0}');
select is(array[pg_temp.version_of(:guild), pg_temp.version_of(:free)],
          '{1,1}', 'changes no version');
select is((select count(*) from known) + (select count(*) from pair)
          + (select count(*) from log_arrival where event_id = 'never')
          + (select count(*) from server where guild_id = :new), 0::bigint,
          'and nothing else');
select is(status, 409, 'a server that is unknown')
  from pg_temp.events(array[:new]);
select is(count(*)::int, 0, 'has no head')
  from event_head where guild_id = :new;

-- servers

select is(status, 200, 'one that comes with the batch')
  from pg_temp.events(array[:new], pg_temp.message(pg_temp.ago(0), 'first',
                                                   :new), servers =>
           '[{"id": "900000000000000003", "name": "New", "owner_id": "42",
              "plan": "pro"}]');
select is(pg_temp.known_of(:new, 0, 0), '{"version":"1","plan":"pro"}',
          'is there');
select is(count(*)::int, 1, 'with the plan that it came with')
  from said_long where guild_id = :new;
select pg_temp.events(array[:new], servers =>
           '[{"id": "900000000000000003", "name": "Newer", "plan": "free"}]')
\g /dev/null
select is(name || plan, 'Newerpro', 'and keeps it')
  from server where guild_id = :new;

-- what is known, as it was

select pg_temp.events(array[:guild], '[
    {"guild": 900000000000000001, "kind": 1, "id": 71,
      "doc": "{\"name\":\"A\\\"b\",\"bot\":true,\"roles\":[\"8\",\"9\"]}"},
    {"guild": 900000000000000001, "kind": 3, "id": 8,
      "doc": "{\"name\":\"Role\"}"},
    {"guild": 900000000000000001, "kind": 2, "id": 5,
      "doc": "{\"name\":\"Cat\",\"type\":4}"},
    {"guild": 900000000000000001, "kind": 2, "id": 6,
      "doc": "{\"name\":\"chat\",\"type\":0,\"parent\":\"5\"}"},
    {"guild": 900000000000000001, "kind": 2, "id": 61,
      "doc": "{\"name\":\"thread\",\"type\":11,\"parent\":\"6\"}"},
    {"guild": 900000000000000001, "kind": 2, "id": 62,
      "doc": "{\"name\":\"lost\",\"parent\":\"999\"}"},
    {"guild": 900000000000000001, "kind": 4, "id": 71,
      "doc": "{\"avatar\":\"old\"}"},
    {"guild": 900000000000000001, "kind": 4, "id": 71,
      "doc": "{\"avatar\":\"x\"}"},
    {"guild": 900000000000000001, "kind": 5, "id": 71,
      "doc": "{\"channel_id\":\"6\"}"},
    {"guild": 900000000000000001, "kind": 6, "id": 900000000000000001,
      "doc": "{\"icon\":\"i\"}"},
    {"guild": 900000000000000001, "kind": 7, "id": 33,
      "doc": "{\"name\":\"sticker\"}"}]') \g /dev/null
select is(pg_temp.known_of(:guild, k, i), d, w)
  from (values
    (1, 71::bigint, '{"name":"A\"b","bot":true,"roles":["8","9"],"avatar":null}', 'member'),
    (3, 8, '{"name":"Role"}', 'a role'),
    (2, 5, '{"name":"Cat","type":4}', 'a category'),
    (2, 6, '{"name":"chat","type":0,"category":"5"}', 'a channel'),
    (2, 61, '{"name":"thread","type":11,"parent":"6","category":"5"}',
     'a thread'),
    (2, 62, '{"name":"lost"}', 'a channel whose category nobody knows'),
    (4, 71, '{"avatar":"x"}', 'what a member was, as it was told last'),
    (5, 71, '{"channel_id":"6"}', 'a voice state'),
    (6, :guild, '{"icon":"i"}', 'what the server was'),
    (7, 33, '{"name":"sticker"}', 'a thing'),
    (7, 34, null, 'what is not known has no line')) v (k, i, d, w);
select is(places::text || docs, '{2,4}' || '{"channel_id":"6"}' || e'\n'
          || '{"name":"sticker"}', 'lines have their places')
  from operator_events_known(array[:free, :guild, :guild, :guild]::bigint[],
           '{5,5,5,7}', '{71,71,72,33}');
select pg_temp.events(array[:guild], '[
    {"guild": 900000000000000001, "kind": 1, "id": 71,
      "doc": "{\"roles\":[]}"},
    {"guild": 900000000000000001, "kind": 5, "id": 71, "doc": ""},
    {"guild": 900000000000000001, "kind": 2, "id": 62, "doc": ""}]')
\g /dev/null
select is(pg_temp.known_of(:guild, 1, 71), '{"name":"A\"b","bot":true,"avatar":null}',
          'what a member does not say stays');
select is(pg_temp.known_of(:guild, k, i), null, 'what was deleted is unknown')
  from (values (5, 71), (2, 62)) v (k, i);

-- messages

select pg_temp.ago(1) as one, pg_temp.ago(2) as two \gset
select is(body::json ->> 'kept', '1', 'a message is kept')
  from pg_temp.events(array[:free], pg_temp.message(:one, 'hello', :free));
select is(pg_temp.known_of(:free, 9, :one), '{"content" : "hello"}',
          'and told again');
select is(pg_temp.known_of(:guild, 9, :one), null, 'of its server');
select is(body::json ->> 'kept', '0', 'the same once more changes nothing')
  from pg_temp.events(array[:free], pg_temp.message(:one, 'hello', :free));
select is(body::json ->> 'kept', '1', 'an edit is kept')
  from pg_temp.events(array[:free], pg_temp.message(:one, 'edited', :free));
select is(pg_temp.known_of(:free, 9, :one), '{"content" : "edited"}',
          'in its place');
select pg_temp.events(array[:free], pg_temp.message(:one, '', :free))
\g /dev/null
select is(pg_temp.known_of(:free, 9, :one), '', 'a deletion leaves a mark');
select is(body::json ->> 'kept', '0', 'which nothing takes away')
  from pg_temp.events(array[:free], pg_temp.message(:one, 'again', :free));
select is(pg_temp.known_of(:free, 9, :one), '', 'it stays deleted');
select pg_temp.events(array[:free], pg_temp.message(:two, 'late', :free)
                      || pg_temp.message(:two, '', :free)
                      || pg_temp.message(:two, 'later', :free)) \g /dev/null
select is(pg_temp.known_of(:free, 9, :two), '', 'within a batch, too');

select is(status || (body::json ->> 'kept'), '2001',
          'ids of no partition are left out')
  from pg_temp.events(array[:free],
           pg_temp.message(pg_temp.ago(1000), 'old', :free)
           || pg_temp.message(pg_temp.ago(-1000), 'to come', :free)
           || pg_temp.message(1, 'ancient', :free)
           || pg_temp.message(9223372036854775807, 'never', :free)
           || pg_temp.message(pg_temp.ago(3), 'now', :free));
select is(places, null, 'and found nowhere')
  from operator_events_known(array[:free, :free]::bigint[], '{9,9}',
                             '{1,9223372036854775807}');
select is(said_told(doc, 7, 8)::jsonb, told::jsonb, 'of a message ' || what)
  from (values ('{"author":{"name":"ann"},"content":"\"author\":{"}',
                '{"author":{"id":"7","name":"ann"},"channel":"8",
                  "content":"\"author\":{"}',
                'who said it is told, and where'),
               ('{"author": {"bot": true, "name": "ann"}}',
                '{"author": {"id":"7","bot":true,"name":"ann"},"channel":"8"}',
                'with masks, too'),
               ('{"content":"x"}', '{"content":"x"}',
                'of nobody what is known')) v (doc, told, what);
select pg_temp.ago(7) as id \gset
select pg_temp.events(array[:free],
           pg_temp.message(:id, 'of nobody', :free, null, null)) \g /dev/null
select pg_temp.events(array[:free], pg_temp.message(:id, 'edited', :free))
\g /dev/null
select is(array[author_id, channel_id], '{77,6}',
          'who said it where is known as soon as it is told')
  from said where guild_id = :free and id = :id;
select pg_temp.events(array[:guild], pg_temp.message(:one, 'pro')) \g /dev/null
select is(array[(select count(*) from said where guild_id = :guild),
                (select count(*) from said_long where guild_id = :guild)],
          '{0,1}', 'those of Pro are kept for longer');
select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select is(pg_temp.known_of(:guild, 9, :one), '{"content" : "pro"}',
          'and still known when the plan has changed');
select pg_temp.events(array[:guild], pg_temp.message(:one, 'free now'))
\g /dev/null
select is(pg_temp.known_of(:guild, 9, :one), '{"content" : "free now"}',
          'an edit is told from then on');
select pg_temp.events(array[:guild], pg_temp.message(:one, '')) \g /dev/null
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select is(pg_temp.known_of(:guild, 9, :one), '',
          'and the deletion whatever the plan is');

-- what is not kept

select ignore_add(:me, 0, '{"value": "600"}') \g /dev/null
select ignore_add(:me, 1, '{"value": "5"}') \g /dev/null
select pg_temp.ago(4) as id \gset
select pg_temp.events(array[:guild],
           pg_temp.message(:id, 'ignored', channel => 600)
           || pg_temp.message(:id + 1, 'of the category', channel => 6)
           || pg_temp.message(:id + 2, 'of the thread', channel => 61)
           || pg_temp.message(:id + 3, 'kept', channel => 700)
           || pg_temp.message(:id + 4, '', channel => 600)) \g /dev/null
select is(pg_temp.known_of(:guild, 9, :id + n), d, w)
  from (values (0, null, 'a message of an ignored channel is not kept'),
               (1, null, 'nor one of an ignored category'),
               (2, null, 'nor one of a thread there'),
               (3, '{"content" : "kept"}', 'another one is'),
               (4, '', 'and a deletion is marked')) v (n, d, w);

insert into lane (guild_id, lane, bot, channel_id, shard, webhook_id)
values (:guild, 1, 0, 9, 0, 4711);
select pg_temp.events(array[:guild, :free],
           pg_temp.message(:id + 5, 'ours', author => 4711, channel => 700)
           || pg_temp.message(:id + 5, 'theirs', :free, 4711, 700))
\g /dev/null
select is(pg_temp.known_of(:guild, 9, :id + 5), null,
          'what the service says itself is not kept');
select is(pg_temp.known_of(:free, 9, :id + 5), '{"content" : "theirs"}',
          'whose webhook it is');

select filter_patch(:me, 'emails', '{"enabled": true}'),
       filter_patch(:me, 'invites', '{"enabled": true, "action": "drop"}'),
       filter_patch(:me, 'words', '{"enabled": true, "words": ["quokka"],
                                    "log_types": [39]}') \g /dev/null
select pg_temp.events(array[:guild, :free], jsonb_build_array(
    jsonb_build_object('guild', :guild, 'kind', 9, 'id', :id + 6,
        'author', 77, 'channel', 700, 'doc',
        '{"content":"a@b.co","more":"quokka c@d.co","time":5}'))
    || pg_temp.message(:id + 7, 'join discord.gg/abc', channel => 700)
    || pg_temp.message(:id + 6, 'a@b.co', :free)) \g /dev/null
select is(pg_temp.known_of(:guild, 9, :id + 6)::jsonb,
          '{"content": "[email]", "more": "quokka [email]", "time": 5}',
          'masks of messages act before one is stored, and no others');
select is(pg_temp.known_of(:guild, 9, :id + 7), null,
          'what a filter drops is not kept');
select is(pg_temp.known_of(:free, 9, :id + 6), '{"content" : "a@b.co"}',
          'a server without filters has the text');

-- entries

select body as answer, counts from pg_temp.events(array[:guild, :free],
    entries => '[
    {"server": 900000000000000002, "event_id": "a", "type": 5},
    {"server": 900000000000000001, "event_id": "a", "type": 5},
    {"server": 900000000000000002, "event_id": "a", "type": 5},
    {"server": 900000000000000001, "event_id": "b", "type": 5, "timestamp": 1},
    {"server": 900000000000000001, "event_id": "c", "type": 5,
     "executor": {"id": "71"}},
    {"server": 900000000000000001, "event_id": "d", "type": 5,
     "content": "discord.gg/abc"}]') \gset
select is(:'answer'::jsonb -> 'verdicts', '["recorded", "recorded",
          "duplicate", "error", "bot_executor", "filter"]',
          'what became of each entry');
select is(:'answer'::jsonb - '{ids,verdicts}'::text[], '{"recorded": 2,
    "duplicates": 1, "dropped": {"bot_executor": 1, "filter": 1}, "kept": 0,
    "errors": [{"index": 3, "error": "timestamp: must be within the last 30 '
    'days and at most 60 s ahead", "code": "entry_too_old",
     "field": "timestamp"}]}', 'and counted as of POST /logs');
select is(:'counts'::jsonb, '{"recorded": 2, "duplicate": 1, "error": 1,
          "bot_executor": 1, "filter": 1}', 'for the metrics');

-- a server in trouble

create function pg_temp.trouble()
returns trigger language plpgsql as $$
begin
    raise exception 'for the test';
end $$;
create trigger trouble before insert on log_arrival
    for each row execute function pg_temp.trouble();
select throws_ok($$ select pg_temp.events('{900000000000000002}',
           pg_temp.message(pg_temp.ago(5), 'lost', 900000000000000002),
           entries => '[{"server": 900000000000000002, "event_id": "t",
                         "type": 5}]') $$, 'P0001', 'for the test',
                 'one that fails');
drop trigger trouble on log_arrival;
select is(pg_temp.known_of(:free, 9, pg_temp.ago(5)), null, 'leaves nothing');

-- keeping

select is(array(select distinct (p.high - p.low)::text from partitions('said')
                 p), '{01:00:00}', 'a partition of messages has an hour');
select is(array(select distinct (p.high - p.low)::text
                  from partitions('said_long') p), '{1 day}',
          'or a day where they are kept for longer');
select partitions_ensure() \g /dev/null
select is(count(*)::int, 0, 'none is missing') from spans_missing();
select partition_attach('said', 'said_old', pg_temp.ago(49)::text,
                        pg_temp.ago(48)::text),
       partition_attach('said_long', 'said_long_old', pg_temp.ago(500)::text,
                        pg_temp.ago(476)::text) \g /dev/null
insert into said values (:free, pg_temp.ago(48) - 1, 77, 6, 'old');
insert into said_long values (:guild, pg_temp.ago(476) - 1, 77, 6, 'old');
select is(array(select name from partitions_expired(true)
                 where name ~ 'old$'),
          '{said_long_old,said_old}', 'what is past keeping is known');
select spans_drop() \g /dev/null
select is(count(*)::int, 0, 'and goes as a whole')
  from partitions_expired(true);
select is(pg_temp.known_of(:free, 9, pg_temp.ago(3)), '{"content" : "now"}',
          'what is younger is still there');
do $$
declare
    name  text;
begin
    for name in select p.name from partitions('said') p
                 where p.low > now() - interval '3 hours'
    loop
        execute format('drop table %I', name);
    end loop;
end $$;
select is(status || (body::json ->> 'kept'), '2000',
          'nobody fails where the keeper did not come')
  from pg_temp.events(array[:free], pg_temp.message(pg_temp.ago(0), 'x',
                                                    :free));
select is(count(*) > 12, true, 'what is missing is known') from spans_missing();
select is(lag, 0::bigint, 'the keeper makes it') from keeper_partitions(1);
select is(body::json ->> 'kept', '1', 'and messages are kept again')
  from pg_temp.events(array[:free], pg_temp.message(pg_temp.ago(0), 'x',
                                                    :free));

select * from finish();
rollback;
