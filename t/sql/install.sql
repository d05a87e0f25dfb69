-- Installing: by an owner who is no superuser, for a role of any name, and
-- again over what is there while a client is connected. Works in a database of
-- its own. Runs at the top of the repository.

\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on

select 'guildlog_test_' || pg_backend_pid() as name, :'DBNAME' as home \gset
\set owner :name _owner
\set role :name _role
\setenv PGHOST :HOST
\setenv PGPORT :PORT
\setenv PGUSER :USER
\setenv PGDATABASE :name
\setenv OWNER :owner
\setenv ROLE :role
\setenv INSTALL 'PGOPTIONS="-c role=$OWNER" psql -X -f sql/install.sql -v'

create role :owner createrole;
create database :name owner :owner template template0;

\set said `sh -c "$INSTALL role=$ROLE" 2>&1`

\connect :name
set client_min_messages = warning;
create extension pgtap;
select plan(18);

select is(:'said'::text, '', 'installing says nothing');
select is(rolcanlogin, true, 'it makes the role')
  from pg_roles where rolname = :'role';
select is(nspowner::regrole::text, :'owner', 'the schema is the installer''s')
  from pg_namespace where nspname = 'guildlog';

-- a client in the middle of its work

prepare put as
    select status, body::json ->> 'name' as name
      from guildlog.operator_server_put(900000000000000001, $1);
set role :role;
execute put ('{"name": "kept"}') \gset put_
select is(:'put_status'::text, '201', 'the role may work at once');
reset role;

create function guildlog.vanished() returns int language sql
    as 'select 1';
create function guildlog.ms(at text) returns int language sql
    as 'select 1';
update guildlog.language set key = 'xx' where key = 'de';
select oid as before from pg_class where relname = 'server' \gset

-- as it was before deliveries had lanes: an entry that is queued, one held

insert into guildlog.log_entry (guild_id, id, arrival, bot, type, dchannel_id,
                                dreason, doc)
select 900000000000000001, guildlog.time_id(guildlog.ms(now())) + n, n, 0, 7,
       10, case n when 2 then 'held' end, '{"id":"' || n || '"'
  from generate_series(1, 2) n;
insert into guildlog.held_entry (guild_id, bot, id, channel_id, until)
select guild_id, bot, id, 10, now() + interval '1 hour'
  from guildlog.log_entry where arrival = 2;
drop table guildlog.doubt cascade;
delete from guildlog.schema_version where version = 10;

-- an index of searches made by a clock that was ahead, and one that is right

insert into guildlog.search_head (guild_id, bot, runs, seen_at)
values (900000000000000001, 0, 5, now() + interval '3 hours'),
       (900000000000000001, 1, 5, now());
alter table guildlog.search_segment drop column purged;
alter table guildlog.search_head drop column stale;
alter table guildlog.search_string add column run int;
delete from guildlog.schema_version where version = 30;

\set said `sh -c "$INSTALL role=$ROLE" 2>&1`
select is(:'said'::text, '', 'installing again says nothing');
select is(oid, :before::oid, 'a migration runs once') from pg_class
 where relname = 'server' and relnamespace = 'guildlog'::regnamespace;
select is(dstatus || ' ' || dreason, '0 expired',
          'what was queued before there were lanes ends')
  from guildlog.log_entry where arrival = 1;
select is(dstatus, null, 'but not what is held') from guildlog.log_entry
 where arrival = 2;
select is(array_agg(bot order by bot), '{0}', 'an index that may lack something '
          'is made anew')
  from guildlog.search_head where leaving and runs = 0;
select hasnt_function('guildlog', 'vanished', 'what vanished is dropped');
select has_function('guildlog', 'ms', '{timestamptz}', 'what stays is there');
select hasnt_function('guildlog', 'ms', '{text}', 'with its arguments only');
select is(count(*)::int, 1, 'fixed data is as it should be')
  from guildlog.language where key = 'de';
set role :role;
execute put ('{}') \gset put_
reset role;
select is(:'put_status' || ' ' || :'put_name', '200 kept',
          'the client works on with what there was');

-- what cannot be

\setenv ROLE guildlog_nobody
alter role :owner nocreaterole;
\set said `sh -c "$INSTALL role=$ROLE" 2>&1 | grep -c 'does not exist'`
select is(:'said'::text, '1', 'a role that is missing is said to be');
select has_function('guildlog', 'server_get', 'then nothing has changed');
\setenv ROLE :role
\set said `sh -c "$INSTALL role=$ROLE" 2>&1 | grep -c 'force_generic_plan'`
select is(:'said'::text, '1',
          'an installer who may not change roles is told what to set');
select is(has_function_privilege(:'role', 'guildlog.server_get(text, bigint, '
              'smallint, smallint)', 'execute'), true, 'and has installed');

select * from finish();

\connect :home
drop database :name;
drop owned by :role, :owner;
drop role :role, :owner;
