-- The directory: what the operator puts, and what the searches find in it.

\ir ../setup.psql
select plan(54);

create function pg_temp.names(body text)
returns text language sql as $$
    select string_agg(e ->> 'name', ' ') from json_array_elements(body::json) e
$$;

-- put and delete

select pg_temp.answers(status, body, 200, '{}', 'a member is put')
  from operator_member_put(:guild, 7, '{"name": "Seven", "bot": true,
                                        "roles": ["70", "71"]}');
select operator_member_put(:guild, 7, '{"name": "SEVEN"}') \g /dev/null
select is(row(name, bot, roles)::text, '(SEVEN,t,"{70,71}")',
          'absent fields keep their values')
  from directory where guild_id = :guild and kind = 0 and id = 7;
select pg_temp.answers(status, body, 200, '{}', 'several at once')
  from operator_members_put(:guild, '[{"id": "7", "bot": false},
      {"id": "8", "name": "First"}, {"id": "8", "name": "Last"}]');
select is(pg_temp.names(body), 'Last',
          'of two rows with one id the last counts')
  from search_members(:me, '8');
select is(bot, false, 'and the other is changed')
  from directory where guild_id = :guild and kind = 0 and id = 7;
select pg_temp.answers(status, body, 200, '{}', 'a member is deleted')
  from operator_member_delete(:guild, 8);
select pg_temp.answers(status, body, 404, '{}', 'only once')
  from operator_member_delete(:guild, 8);

select pg_temp.answers(status, body, 200, '{}', 'a channel is put')
  from operator_channel_put(:guild, 7, '{"name": "general", "type": 0,
                                         "parent": "9", "position": 3}');
select pg_temp.answers(status, body, 200, '[{"id":"7","name":"general",'
                       '"type":0,"parent":"9","position":3}]',
                       'a search finds it')
  from search_channels(:me, 'gen');
select operator_channels_put(:guild, '[{"id": "7", "parent": null}]')
\g /dev/null
select is(body::json #>> '{0,parent}', null, 'a parent can be taken away')
  from search_channels(:me, 'gen');
select pg_temp.answers(status, body, 200, '{}', 'a channel is deleted')
  from operator_channel_delete(:guild, 7);

select pg_temp.answers(status, body, 200, '{}', 'a role is put')
  from operator_role_put(:guild, 70, '{"name": "Mods", "color": 255}');
select operator_role_put(:guild, 70, '{"position": 4}') \g /dev/null
select pg_temp.answers(status, body, 200, '[{"id":"70","name":"Mods",'
                       '"color":255,"position":4}]', 'a search finds it')
  from search_roles(:me, 'mod');
select pg_temp.answers(status, body, 200, '{}', 'or many')
  from operator_roles_put(:guild, '[{"id": "71", "name": "Admins"}]');
select pg_temp.answers(status, body, 200, '{}', 'and deleted')
  from operator_role_delete(:guild, 70);
select is(array_agg(name), '{Admins}', 'one is left')
  from directory where guild_id = :guild and kind = 2;

select throws_ok($$ select operator_member_put(900000000000000009, 7, '{}') $$,
                 'GL404', 'server: unknown', 'an unknown server');
select throws_ok(format('select operator_members_put(%s, %L)', :guild,
                     (select jsonb_agg(jsonb_build_object('id', i::text))
                        from generate_series(1, 1001) i)),
                 'GL400', 'body: at most 1000 items', 'more than 1,000');
select is(status, 200, '1,000')
  from operator_members_put(:guild,
           (select jsonb_agg(jsonb_build_object('id', 5000 + i))
              from generate_series(1, 1000) i));
delete from directory where kind <> 2;

-- search

select pg_temp.answers(status, body, 401, '{}', 'a dead token finds nobody')
  from search_members(:nobody, 'a');
select pg_temp.answers(status, body, 401, '{}', 'and no channel')
  from search_channels(:nobody, 'a');
select pg_temp.answers(status, body, 401, '{}', 'and no role')
  from search_roles(:nobody, '');
select pg_temp.answers(status, body, 200, '[]', 'nothing found')
  from search_members(:me, 'a');

select operator_members_put(:guild, '[
    {"id": "123", "name": "anna"}, {"id": "1234", "name": "Ann"},
    {"id": "77", "name": "Joanna"}, {"id": "78", "name": "Zoë 123"},
    {"id": "79", "name": "100%"}, {"id": "80", "name": "1000"},
    {"id": "81", "name": "a_b"}, {"id": "82", "name": "axb"},
    {"id": "83", "name": "c\\d"}, {"id": "84", "name": "ÖMER"},
    {"id": "85", "name": "日本語の部屋"}, {"id": "86", "name": "it''s"}]')
\g /dev/null

select is(pg_temp.names(body), want, why)
  from (values ('ann', 'Ann anna Joanna', 'whole, prefix, part'),
               ('ANNA', 'anna Joanna', 'any case'),
               ('123', 'anna Ann Zoë 123', 'whole id, its prefix, a name'),
               ('1234', 'Ann', 'a whole id'),
               ('zoË', 'Zoë 123', 'any case, whatever the letters'),
               ('öme', 'ÖMER', 'umlauts'),
               ('本', '日本語の部屋', 'one letter within a name'),
               ('語の部', '日本語の部屋', 'several'),
               ('0%', '100%', '% is a letter'),
               ('00%', '100%', 'in longer queries too'),
               ('a_', 'a_b', '_ is a letter'),
               ('a_b', 'a_b', 'in longer queries too'),
               ('\', 'c\d', '\ is a letter'),
               ('c\d', 'c\d', 'in longer queries too'),
               ('''s', 'it''s', 'and so is a quote'),
               ('ab', null,
               'letters that do not stand together')) t (query, want, why),
       search_members(:me, query);

-- what there is

select operator_channels_put(:guild, '[
    {"id": "1", "name": "lobby", "type": 2, "position": 0},
    {"id": "2", "name": "rules", "type": 0, "position": 1},
    {"id": "3", "name": "second", "type": 4, "position": 5},
    {"id": "4", "name": "first", "type": 4, "position": 2},
    {"id": "5", "name": "untold", "type": 4},
    {"id": "31", "name": "talk", "type": 2, "parent": "3", "position": 0},
    {"id": "32", "name": "text", "type": 0, "parent": "3", "position": 9},
    {"id": "41", "name": "b", "type": 5, "parent": "4", "position": 3},
    {"id": "42", "name": "a", "type": 15, "parent": "4", "position": 3},
    {"id": "43", "name": "new", "type": 0, "parent": "4"},
    {"id": "51", "name": "in it", "type": 0, "parent": "5"},
    {"id": "61", "name": "thread", "type": 11, "parent": "32"},
    {"id": "62", "name": "lost", "parent": "63"}]') \g /dev/null
select is(pg_temp.names(body), 'rules lost lobby first a b new second text '
          'talk untold in it thread', 'channels as the platform shows them')
  from search_channels(:me, '');
select is(c.body, e.body, 'no query is an empty one')
  from search_channels(:me, null) c, search_channels(:me, '') e;

insert into directory (guild_id, kind, id, name, type, parent)
select :guild, 1, 1000 + n, 'th' || n, 11, case when n % 2 = 0 then 41 end
  from generate_series(1, 200) n;
select is(pg_temp.names(body), (
              select string_agg(name, ' ' order by n) from (
                  select w.* from unnest(string_to_array('rules lost lobby '
                             'first a b new second text talk untold', ' '))
                             with ordinality w (name, n)
                   union all
                  select 'in it', 12
                   union all
                  select t.name, 12 + row_number() over (order by t.name)
                    from (select 'th' || m as name
                            from generate_series(1, 199, 2) m) t
                   order by 2 limit 100) x),
          'of threads as many as there is room for, those in no channel first')
  from search_channels(:me, '');
delete from directory where guild_id = :guild and name ~ '^th[0-9]';

select operator_roles_put(:guild, '[{"id": "1", "name": "low", "position": 1},
    {"id": "2", "name": "untold"}, {"id": "3", "name": "top", "position": 9}]')
\g /dev/null
select is(pg_temp.names(body), 'top low Admins untold',
          'roles from the highest down')
  from search_roles(:me, '');
select is(pg_temp.names(body), '100% 1000 a_b Ann anna axb c\d it''s Joanna '
          'Zoë 123 ÖMER 日本語の部屋', 'members by name')
  from search_members(:me, '');

select operator_member_put(:guild, 123, '{"avatar": "a_1f"}') \g /dev/null
select is(body::json #>> '{0,avatar}', 'a_1f', 'a member has a picture')
  from search_members(:me, '123');
select operator_member_put(:guild, 123, '{"avatar": null}') \g /dev/null
select is(body::json #>> '{0,avatar}', null, 'or none any more')
  from search_members(:me, '123');

-- by their ids

select operator_member_put(:guild, 123, '{"roles": ["3", "1"]}') \g /dev/null
select is(body::json #>> '{0,roles}', '["3","1"]', 'a member has roles')
  from search_members(:me, '123');
select is(pg_temp.names(body), 'anna', 'who of these ids is known')
  from search_members(:me, 'zo', '{123,124,3}');
select is(body, '[]', 'of none, nobody') from search_members(:me, null, '{}');

-- a large server: what many match, and what few match at the end of the names

insert into directory (guild_id, kind, id, name)
select :guild, 0, 1000000 + i, 'user ' || to_char(i, 'FM000000') || ' tail'
  from generate_series(1, 8000) i;
insert into directory (guild_id, kind, id, name)
values (:guild, 0, 55, 'zz needle 1'), (:guild, 0, 56, 'zz needle 2'),
       (:guild, 0, 9900001, 'zz z');

select is(json_array_length(body::json), 25, 'at most 25')
  from search_members(:me, 'tail');
select is(json_array_length(body::json), 100, 'at most 100 without a query')
  from search_members(:me, '');
select is(body::json #>> '{24,name}', 'user 000025 tail', 'the first by name')
  from search_members(:me, 'tail');
select is(pg_temp.names(body), 'zz needle 1 zz needle 2', 'the last by name')
  from search_members(:me, 'needle');
select is(pg_temp.names(body), 'zz z', 'an id of the last by name')
  from search_members(:me, '99000');

select * from finish();
rollback;
