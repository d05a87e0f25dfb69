-- Sessions of people who signed in: what a right of theirs allows, who is told
-- to have made a change, tokens that they make, and the end of a session.

\ir ../setup.psql
select plan(81);

-- the arguments of a call by a session
create function pg_temp.session(id text, who text, rights text)
returns text language sql as $$
    select format('%L, %s, 0::smallint, 1::smallint',
                  '~' || id || '.' || who || '.' || rights,
                  900000000000000001)
$$;

-- a new session, and the servers that the user manages

select operator_server_put(900000000000000002, '{"name": "Older"}'),
       operator_server_put(900000000000000003, '{"name": "another"}')
\g /dev/null

select pg_temp.answers(status, body, 200, '["900000000000000001"]',
                       'a session begins; of its servers one is known')
  from session_begin('s1', 77, 'Ada', '{900000000000000001,9}');
select is(status, 403, 'no session begins twice')
  from session_begin('s1', 77, 'Ada', '{}');
select is(status, 200, 'another person''s')
  from session_begin('s2', 78, 'Bob', '{}', null, '{}', 'sealed');

select pg_temp.session('s1', '77', 'w0') as ada,
       pg_temp.session('s1', '77', 'm') as ada_before,
       pg_temp.session('s2', '78', 'r0') as bob_reads,
       pg_temp.session('s2', '78', 'w0') as bob_writes,
       pg_temp.session('s2', '78', 'r1') as bob_reads_pro,
       pg_temp.session('s2', '78', 'm') as bob_before,
       pg_temp.session('s1', '78', 'w0') as forged,
       pg_temp.session('s9', '77', 'w0') as unknown \gset

-- who manages the server may do all, as with an Admin token

select is(status, 200, 'a manager reads') from server_get(:ada);
select is(status, 200, '... by the module of before')
  from server_get(:ada_before);
select is(id::int, 200, 'a page') from logs_plain(:ada, null, null, 10, null,
    true, null, true, 1000000) limit 1;
select is(id::int, 200, 'a page of some types')
  from logs_page(:ada, null, null, null, '{78}', 10, null) limit 1;
select isnt(head, null, 'a search')
  from search_open(:ada, null, null, null) limit 1;
select is(status, 202, 'a manager changes')
  from settings_patch(:ada, '{"locale": "de"}');
select is(pg_temp.last_logged(:guild, 70, '{executor,id}'), '77',
          'and is the executor');
select is(pg_temp.last_logged(:guild, 70, '{executor,name}'), 'Ada',
          'by the name that the platform told');
select is(body::json -> 0 #>> '{notificationData,executorId}', '77',
          'in the notification, too') from notifications_list(:ada);
select is(status, 202, 'a token changes') from settings_patch(:me,
    '{"locale": "ja"}');
select is(pg_temp.last_logged(:guild, 70, '{executor,id}'), '0',
          'and has no person');

select is(status, 401, 'another user has no such session')
  from server_get(:forged);
select is(status, 401, 'nor is there one of another id')
  from server_get(:unknown);

-- of the servers that the platform told, and of no other one

prepare other as select status from server_get('~s1.77.w0', 900000000000000002,
    0::smallint, 1::smallint);
select throws_ok('other', 'GL403', '', 'a right that the platform did not tell');
select throws_ok($$ select token_create('~s1.77.w0', 900000000000000002,
    0::smallint, 1::smallint, '{"permissions": 1}') $$, 'GL403', '',
    'makes no token');
select is(status, 200, 'the platform tells of it')
  from session_renew('~s1.77.m', '{900000000000000001,900000000000000002}');
select results_eq('other', array[200], 'from then on it is there');
select is(status, 200, 'and tells of it no more')
  from session_renew('~s1.77.m', '{900000000000000001,900000000000000003}');
select throws_ok('other', 'GL403', '', 'then it is gone');
update session set servers = null where session_id = 's1';
select results_eq($$ select status from server_get('~s1.77.m',
    900000000000000002, 0::smallint, 1::smallint) $$, array[200],
    'a session of before is believed until it is renewed');
update session set servers = '{900000000000000001,900000000000000003,9}'
 where session_id = 's1';

-- others by the list of access

prepare denied as select status from server_get(:bob_reads);
select throws_ok('denied', 'GL403', '', 'who is not listed may not read');
prepare before as select status from server_get(:bob_before);
select throws_ok('before', 'GL403', '',
                 '... whatever the module of before says');

select status from access_put(:me, 78, '{"level": "view"}') \g /dev/null
select is(status, 200, 'level view reads') from server_get(:bob_reads);
prepare pro as select status from server_get(:bob_reads_pro);
select throws_ok('pro', 'GL403', '', 'of that bot only');
prepare writes as select status from settings_patch(:bob_writes,
    '{"locale": "de"}');
select throws_ok('writes', 'GL403', '', 'and does not change anything');
prepare page as select status from logs_plain(:bob_reads_pro, null, null, 10,
    null, true, null, true, 1000000);
select throws_ok('page', 'GL403', '', 'no page of what may not be read');

select status from access_put(:me, 78, '{"level": "manage"}') \g /dev/null
select is(status, 202, 'level manage changes')
  from settings_patch(:bob_writes, '{"locale": "de"}');
select bag_eq($$ select place::int from logs_tokens(
        '{900000000000000001,900000000000000001,900000000000000002,
          900000000000000001}',
        '{~s2.78.r0,~s9.78.r0,~s2.78.r0,~s2.78.r1}') $$,
    $$ values (2), (3), (4) $$,
        'tails end whose session is over, or has lost its right');

select is(array(
    select t.id from unnest('{~s2.78.r0,~s9.78.r0,nobody}'::text[])
               with ordinality u (token, n)
     cross join lateral (select id::text from logs_tail(900000000000000001,
                              0::smallint, 0, 10, u.token) limit 1) t
     order by u.n), '{200,401,401}',
    'who may not read does not listen');

-- /me

select is(status, 200, 'with the names of pictures')
  from session_renew('~s1.77.r0', '{900000000000000001,900000000000000003,9}',
                     '{NULL,"0a",NULL}');
select is(body::jsonb, '{"id": "77", "name": "Ada", "avatar": null, "servers": [
    {"id": "900000000000000003", "name": "another", "icon": "0a",
     "level": "manage"},
    {"id": "900000000000000001", "name": "Test", "icon": null,
     "level": "manage"}]}', 'the servers that the platform told')
  from me('~s1.77.r0', 0, 0::smallint, 1::smallint);
select status from access_put(:me, 77, '{"level": "view"}') \g /dev/null
select is(body::json #>> '{servers,1,level}', 'manage',
          'the platform''s word outranks the list')
  from me('~s1.77.r0', 0, 0::smallint, 1::smallint);
select status from access_put(:me, 78, '{"level": "view"}') \g /dev/null
select is(body::jsonb -> 'servers', '[{"id": "900000000000000001",
    "name": "Test", "icon": null, "level": "view"}]', 'those of the list')
  from me('~s2.78.r0', 0, 0::smallint, 1::smallint);

-- the platform is asked anew

select is(body, '{}', 'it was asked a moment ago')
  from session_ask('~s2.78.r0');
update session set asked_at = now() - interval '901 seconds'
 where session_id = 's2';
prepare old as select status from server_get(:bob_reads);
select throws_ok('old', 'GL419', '', 'after 15 minutes nothing is read');
prepare me as select status from me('~s2.78.r0', 0, 0::smallint, 1::smallint);
select throws_ok('me', 'GL419', '', '... nor who it is');
prepare changes as select status from settings_patch(:bob_writes, '{}');
select throws_ok('changes', 'GL419', '', '... nor changed');
select is(id::int, 401, '... and no tail goes on')
  from logs_tail(900000000000000001, 0::smallint, 0, 10, '~s2.78.r0');
select is(body::json ->> 'access', 'sealed', 'with the token of the person')
  from session_ask('~s2.78.r0');
select is(status, 401, '... to nobody else')
  from session_ask('~s2.77.r0');
select is(status, 200, 'the platform answers')
  from session_renew('~s2.78.r0', '{}', '{}');
select results_eq('old', array[200], '... and all goes on');
select is(status, 200, '... also for who never asks again')
  from server_get(:ada);

-- what is lost is lost in all sessions, and what is won in none but one

select status from session_begin('s3', 77, 'Ada', '{900000000000000001,
    900000000000000002}', null, '{NULL,NULL}', 'sealed') \g /dev/null
select is(servers, '{900000000000000001}', 'what one lost the others lose')
  from session where session_id = 's1';
select status from session_renew('~s3.77.r0', '{}', '{}') \g /dev/null
select is(servers, '{}', '... and all of it') from session
 where session_id = 's1';
select status from session_renew('~s1.77.r0',
    '{900000000000000001,900000000000000003,9}') \g /dev/null
select is(servers, '{}', 'what one won is its own') from session
 where session_id = 's3';

-- tokens

select pg_temp.answers(status, body, 403, '{}', 'a token makes no token')
  from token_create(:me, '{"permissions": 1}');
select status, body from token_create(:ada,
    '{"permissions": 2, "name": "my bot"}') \gset made_
select is(:made_status, 201, 'a person makes one');
select is(r ->> 'name', 'my bot', 'it has a name')
  from token_list(:ada), json_array_elements(body::json) r
 where r ->> 'unique_id' = :'made_body'::json ->> 'unique_id';
select is(r ->> 'creator', '77', 'the person is its creator')
  from token_list(:ada), json_array_elements(body::json) r
 where r ->> 'unique_id' = :'made_body'::json ->> 'unique_id';
select is(pg_temp.last_logged(:guild, 72, '{executor,id}'), '77',
          'and the executor');
select is(status, 200, 'the person revokes it')
  from token_revoke(:ada, :'made_body'::json ->> 'unique_id');

-- active ignore never writes down who the session is

select is(status, 200, 'a protected type is named')
  from active_ignore_executors(:ada, '{"id": "5", "logType": 39}');
select is(pg_temp.last_logged(:guild, 69, '{executor,id}'), '77',
          'by that person');
select is(pg_temp.last_logged(:guild, 69, '{value}'), null,
          'without the session');

-- the sessions of a person

select is(array(select json_object_keys(body::json -> 0)),
          '{id,used,since,current}', 'what is told of one')
  from sessions_list('~s1.77.r0', 0, 0::smallint, 1::smallint);
select is(array(select e ->> 'id' || (e ->> 'current')
                  from json_array_elements(body::json) e),
          '{s3false,s1true}', 'those of the person, the last one first')
  from sessions_list('~s1.77.r0', 0, 0::smallint, 1::smallint);
select is(status, 404, 'nobody ends one of others')
  from sessions_remove('~s1.77.r0', 0, 0::smallint, 1::smallint, 's2');
select is(status, 401, '... nor by one that is not')
  from sessions_remove('~s1.78.r0', 0, 0::smallint, 1::smallint, 's2');
select is(status, 200, 'one of their own')
  from sessions_remove('~s1.77.r0', 0, 0::smallint, 1::smallint, 's3');
select is(status, 404, '... once')
  from sessions_remove('~s1.77.r0', 0, 0::smallint, 1::smallint, 's3');
select results_eq($$ select name, servers, icons, avatar, access from session
    where session_id = 's3' $$, $$ values ('', '{}'::bigint[], null::jsonb,
    null::text, null::text) $$, 'nothing of the person stays in it');

update session set asked_at = now() - interval '901 seconds',
                   expires_at = expires_at - interval '1 minute'
 where session_id = 's2';
select is(status, 200, 'they are told when the platform is not asked')
  from sessions_list('~s2.78.r0', 0, 0::smallint, 1::smallint);
select session_begin('t' || n, 78, 'Bob', '{}', null, '{}', 'sealed')
  from generate_series(1, 20) n \g /dev/null
select is(count(*)::int, 20, 'a person has 20') from session
 where user_id = 78;
select is(status, 401, 'the oldest one goes') from session_end('~s2.78.r0');
select is(status, 200, 'the last one stays') from session_end('~t20.78.r0');
select is(status, 200, 'all end')
  from sessions_remove_all('~t8.78.r0', 0, 0::smallint, 1::smallint);
select is(count(*)::int, 0, '... all of that person') from session
 where user_id = 78 and ended_at is null;
select is(status, 200, '... and none of others')
  from session_renew('~s1.77.r0', '{900000000000000001}', '{NULL}');

-- the end

select is(status, 200, 'the platform is asked anew')
  from session_renew('~s1.77.m', '{900000000000000001}');
select is(status, 200, 'the session is ended') from session_end('~s1.77.r0');
select is(status, 401, 'once') from session_end('~s1.77.m');
select is(status, 401, 'it reads nothing any more') from server_get(:ada);
select is(status, 401, 'and is not renewed')
  from session_renew('~s1.77.m', '{900000000000000001}');
select is(status, 403, 'nor begun again')
  from session_begin('s1', 77, 'Ada', '{}');

update session s set expires_at = now() - interval '1 second';
select is(status, 401, 'a session ends by itself')
  from server_get('~t7.78.r0', :guild, 0::smallint, 1::smallint);
select is(sessions_forget(1), 1, 'what is over goes, some at a time');
select keeper_requests(1000) \g /dev/null
select is(count(*)::int, 0, 'by the keeper') from session;

select * from finish();
rollback;
