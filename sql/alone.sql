-- For a database that has guildlog and nothing else: takes from everybody what
-- PostgreSQL gives to everybody and no role of nginx needs. Large objects and
-- temporary tables are not made any more. Advisory locks are for the owner of
-- the schema, and for superusers. A superuser runs it behind install.sql, once:
--
--   psql -d guildlog -f sql/alone.sql

\set ON_ERROR_STOP on

begin;

revoke temporary on database :"DBNAME" from public;

select format('revoke execute on function %s from public', p.oid::regprocedure)
  from pg_proc p
 where p.pronamespace = 'pg_catalog'::regnamespace
   and p.proname ~ '^(lo_(creat|create|from_bytea|put|import)|lowrite)$'
\gexec

select format('revoke execute on function %1$s from public; '
              'grant execute on function %1$s to %2$I',
              p.oid::regprocedure, o.rolname)
  from pg_proc p
 cross join pg_namespace n
  join pg_roles o on o.oid = n.nspowner
 where p.pronamespace = 'pg_catalog'::regnamespace
   and p.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$'
   and n.nspname = 'guildlog'
\gexec

commit;
