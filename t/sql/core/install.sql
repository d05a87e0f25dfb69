-- Installing: by an owner who is no superuser, for roles of any name, and
-- again over what is there while a client is connected; by a superuser, whose
-- the schema is not. What serves the API can neither record nor begin sessions.
-- Works in a database of its own. Runs at the top of the repository.

\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on

select 'guildlog_test_' || pg_backend_pid() as name, :'DBNAME' as home \gset
\set owner :name _owner
\set role :name _role
\set operator :role _operator
\set worker :role _worker
\set other :name _other
\set nobody :name _nobody
\setenv PGHOST :HOST
\setenv PGPORT :PORT
\setenv PGUSER :USER
\setenv PGDATABASE :name
\setenv OWNER :owner
\setenv ROLE :role
\setenv OTHER :other
\setenv NOBODY :nobody
\setenv INSTALL 'PGOPTIONS="-c role=$OWNER" psql -X -f sql/install.sql -v'

create role :owner createrole;
create database :name owner :owner template template0;

\set said `sh -c "$INSTALL role=$ROLE" 2>&1`

\connect :name
set client_min_messages = warning;
create extension pgtap;
select plan(44);

select is(:'said'::text, '', 'installing says nothing');
select is(count(*)::int, 3, 'it makes the roles')
  from pg_roles where rolname in (:'role', :'operator', :'worker')
   and rolcanlogin;
select is(nspowner::regrole::text, :'owner', 'the schema is the installer''s')
  from pg_namespace where nspname = 'guildlog';

-- a client in the middle of its work

prepare put as
    select status, body::json ->> 'name' as name
      from guildlog.operator_server_put(900000000000000001, $1);
set role :operator;
execute put ('{"name": "kept"}') \gset put_
select is(:'put_status'::text, '201', 'the role may work at once');
reset role;

create function guildlog.vanished() returns int language sql
    as 'select 1';
create function guildlog.ms(at text) returns int language sql
    as 'select 1';
update guildlog.language set key = 'xx' where key = 'de';
select oid as before from pg_class where relname = 'server' \gset

\set said `sh -c "$INSTALL role=$ROLE" 2>&1`
select is(:'said'::text, '', 'installing again says nothing');
select is(oid, :before::oid, 'a migration runs once') from pg_class
 where relname = 'server' and relnamespace = 'guildlog'::regnamespace;
select hasnt_function('guildlog', 'vanished', 'what vanished is dropped');
select has_function('guildlog', 'ms', '{timestamptz}', 'what stays is there');
select hasnt_function('guildlog', 'ms', '{text}', 'with its arguments only');
select is(count(*)::int, 1, 'fixed data is as it should be')
  from guildlog.language where key = 'de';
set role :operator;
execute put ('{}') \gset put_
reset role;
select is(:'put_status' || ' ' || :'put_name', '200 kept',
          'a connected client still works');

-- what each role may

select is(has_function_privilege(r.role, p.oid, 'execute'), r.part = f.part,
          r.part || ': ' || f.function)
  from (values ('api', :'role'), ('operator', :'operator'),
               ('worker', :'worker')) r (part, role)
 cross join (values ('api', 'server_get'), ('operator', 'operator_record'),
                    ('operator', 'operator_token_create'),
                    ('operator', 'session_begin'),
                    ('worker', 'keeper_step')) f (part, function)
  join pg_proc p on p.proname = f.function
 order by r.part, f.function;

-- a later install, for another role, takes nothing from anybody

create role :nobody;
grant usage on schema guildlog to :nobody;
grant execute on function guildlog.shard_of(bigint) to :nobody;
\set said `sh -c "$INSTALL role=$OTHER" 2>&1`
select is(:'said'::text, '', 'an install for another role says nothing');
select is(has_function_privilege(r, 'guildlog.server_get(text, bigint, '
              'smallint, smallint)', 'execute'), true, 'both serve the API')
  from unnest(array[:'role', :'other']) r;
select is(has_function_privilege(:'operator', 'guildlog.operator_server_put('
              'bigint, jsonb, text)', 'execute'), true,
          'the operator''s works on');
select is(has_function_privilege(:'nobody', 'guildlog.shard_of(bigint)',
                                 'execute'), true,
          'privileges granted by hand stay');

-- one role had all parts, before there were others

grant execute on all functions in schema guildlog to :role;
\set said `sh -c "$INSTALL role=$ROLE" 2>&1 | grep -c 'separate=on'`
select is(:'said'::text, '1', 'a role that may too much is told');
select is(bool_and(has_function_privilege(:'role', p.oid, 'execute')), true,
          'the role keeps all parts, so that its nginx still works')
  from pg_proc p where p.proname in ('operator_record', 'keeper_step',
                                         'session_begin');
\set said `sh -c "$INSTALL role=$ROLE -v separate=on" 2>&1`
select is(:'said'::text, '', 'until it is told to separate them');
select is(bool_or(has_function_privilege(:'role', p.oid, 'execute')), false,
          'then the role loses the other parts')
  from pg_proc p where p.proname in ('operator_record', 'keeper_step',
                                         'session_begin');

-- what cannot be

\setenv ROLE guildlog_missing
alter role :owner nocreaterole;
\set said `sh -c "$INSTALL role=$ROLE" 2>&1 | grep -c '"guildlog_missing" does not exist'`
select is(:'said'::text, '1', 'a role that is missing is said to be');
select has_function('guildlog', 'server_get', 'then nothing has changed');
\setenv ROLE :role
\set said `sh -c "$INSTALL role=$ROLE -v worker=guildlog_missing" 2>&1 | grep -c 'no role guildlog_missing:'`
select is(:'said'::text, '1', 'so is one of the others');
alter role :role reset jit;
\set said `sh -c "$INSTALL role=$ROLE" 2>&1 | grep -c 'force_generic_plan'`
select is(:'said'::text, '1',
          'an installer who may not change roles is told what to set');
select is(has_function_privilege(:'role', 'guildlog.server_get(text, bigint, '
              'smallint, smallint)', 'execute'), true,
              'the schema is installed all the same');

-- who may make roles may not change every one: superusers' never, and from
-- PostgreSQL 16 on those only that it made

alter role :owner createrole;
alter role :worker superuser;
alter role :worker reset jit;
\set said `sh -c "$INSTALL role=$ROLE" 2>&1 | grep -o 'not change the role .*:'`
select is(:'said'::text, 'not change the role ' || :'worker' || ':',
          'the role that it may not change is named');
select is(rolconfig @> '{jit=off}', true, 'the others are changed')
  from pg_roles where rolname = :'role';
alter role :worker nosuperuser;

-- by a superuser, to whom a store of before belongs

reassign owned by :owner to current_user;
\setenv PGOPTIONS ''
\set said `sh -c "psql -X -f sql/install.sql -v role=$ROLE -v owner=$OWNER" 2>&1`
select is(:'said'::text, '', 'a superuser installs');
select is(string_agg(distinct o.owner, ' '), :'owner',
          'the superuser owns nothing of the schema')
  from (select nspowner::regrole::text from pg_namespace
         where nspname = 'guildlog'
        union all
        select relowner::regrole::text from pg_class
         where relnamespace = 'guildlog'::regnamespace
        union all
        select proowner::regrole::text from pg_proc
         where pronamespace = 'guildlog'::regnamespace
        union all
        select typowner::regrole::text from pg_type
         where typnamespace = 'guildlog'::regnamespace) o (owner);

select * from finish();

\connect :home
drop database :name;
\set others :other _operator
\set workers :other _worker
drop owned by :role, :operator, :worker, :other, :others, :workers, :nobody,
    :owner;
drop role :role, :operator, :worker, :other, :others, :workers, :nobody,
    :owner;
