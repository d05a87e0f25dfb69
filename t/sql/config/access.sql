-- /config/access: who may use the dashboard.

\ir ../setup.psql
select plan(25);

select pg_temp.answers(status, body, 401, '{}', 'a dead token lists nothing')
  from access_list(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'reads nothing')
  from access_get(:nobody, 7);
select pg_temp.answers(status, body, 401, '{}', 'gives nothing')
  from access_put(:nobody, 7, '{"level": "view"}');
select pg_temp.answers(status, body, 401, '{}', 'takes nothing')
  from access_delete(:nobody, 7);
select pg_temp.answers(status, body, 404, '{}', 'nobody has access')
  from access_list(:me);

select operator_member_put(:guild, 7, '{"name": "Seven"}') \g /dev/null
select pg_temp.answers(status, body, 202, '{}', 'access is given')
  from access_put(:me, 7, '{"level": "view"}');
select pg_temp.answers(status, body, 200,
    '[{"id":"900000000000000001","user_id":"7","level":"view"}]',
    'a read has the row')
  from access_get(:me, 7);
select is(pg_temp.last_logged(:guild, 99, '{target,name}'), 'Seven',
          'the entry names the user');
select pg_temp.answers(status, body, 202, '{}', 'the same again')
  from access_put(:me, 7, '{"level": "view"}');
select is(pg_temp.logged(:guild, 99), 1, 'is no change');
select pg_temp.answers(status, body, 202, '{}', 'more of it')
  from access_put(:me, 7, '{"level": "manage"}');
select is(pg_temp.last_logged(:guild, 99, '{name}'), 'manage', 'is logged');

select access_put(:me, 6, '{"level": "view"}') \g /dev/null
select pg_temp.answers(status, body, 200,
    '[{"id":"900000000000000001","user_id":"6","level":"view"},'
    '{"id":"900000000000000001","user_id":"7","level":"manage"}]',
    'all of them')
  from access_list(:me);
select pg_temp.answers(status, body, 404, '{}', 'another user has none')
  from access_get(:me, 8);
select pg_temp.answers(status, body, 404, '{}', 'the Pro bot has its own')
  from access_list(:pro);

select pg_temp.answers(status, body, 202, '{}', 'access is taken')
  from access_delete(:me, 7);
select pg_temp.answers(status, body, 404, '{}', 'so it is gone')
  from access_get(:me, 7);
select pg_temp.answers(status, body, 404, '{}', 'and cannot be taken twice')
  from access_delete(:me, 7);
select is(pg_temp.logged(:guild, 99), 4, 'each change was logged');
insert into token (guild_id, token_id, bot, permissions, creator, created_at,
                   expires_at)
select :guild, x.id, x.bot, 1, x.creator, now(), now() + x.lives
  from (values ('of seven', 0, 7, interval '1 day'),
               ('of six', 0, 6, '1 day'), ('of the Pro bot', 1, 6, '1 day'),
               ('expired', 0, 6, '-1 s')) x (id, bot, creator, lives);
select pg_temp.answers(status, body, 404, '{}', 'who has no access: nothing')
  from access_delete(:me, 7, 1);
select access_put(:me, 7, '{"level": "view"}') \g /dev/null
select pg_temp.answers(status, body, 202, '{}', 'tokens go on')
  from access_delete(:me, 7, 0);
select is(pg_temp.logged(:guild, 71), 0, 'unless they are to be revoked');
select pg_temp.answers(status, body, 202, '{}', 'with what the user made')
  from access_delete(:me, 6, 1);
select is((select string_agg(token_id, ',') from token
            where revoked_at is not null and guild_id = :guild),
          'of six', 'the live ones of the bot');

select throws_ok(format('select access_put(%s, 9, %L)', :'me',
                        '{"level": "own"}'), '23514', null,
                 'an unknown level is refused');

select * from finish();
rollback;
