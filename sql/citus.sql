-- Installs or upgrades the schema on a coordinator of Citus, instead of
-- install.sql:  psql -v role=guildlog -f sql/citus.sql
-- In a database with the extension, whose workers are known to it. Only a
-- superuser may do it. Safe to run again; not all in one transaction.
--
-- A server's rows are on one worker, all of them. What is called for one server
-- runs there as a whole. The keeper and delivery run at the coordinator, which
-- has the leases, and so does what writes whom the keeper leaves out.

\set ON_ERROR_STOP on
\set QUIET on

\if :{?role}
\else
    \set role guildlog
\endif

\set messages error
set client_min_messages = error;

-- Functions of a server call others for the same one in the midst of a
-- statement: that is meant here. Those that are put into a statement have no
-- search path of their own.

select run_command_on_all_nodes(format(
           'alter database %I set citus.allow_nested_distributed_execution '
           '= on', current_database())) \g /dev/null
select run_command_on_all_nodes(format(
           'alter database %I set search_path = guildlog, public',
           current_database())) \g /dev/null

set citus.allow_nested_distributed_execution = on;

select to_regclass('guildlog.server') is not null
       and exists (select from pg_dist_partition
                    where logicalrelid = to_regclass('guildlog.server'))
       as distributed \gset

\if :distributed
\else
    set citus.enable_ddl_propagation = off;
    \ir install.sql

    -- what is made anew below is made on all nodes

    do $$
    declare
        one  text;
    begin
        for one in
            select c.oid::regclass from pg_class c
             where c.relnamespace = 'guildlog'::regnamespace
               and c.relkind = 'c'
        loop
            execute format('drop type %s cascade', one);
        end loop;
    end $$;

    set citus.enable_ddl_propagation = on;
\endif

-- Fixed data are everywhere; what has a server is where that is; the keeper's
-- own tables, leases and versions stay at the coordinator.

set search_path = guildlog, public;

select $$select create_reference_table(c.oid)
  from pg_class c
 where c.relnamespace = 'guildlog'::regnamespace
   and c.relname in ('language', 'log_type', 'filter_kind', 'session')
   and not exists (select from pg_dist_partition
                    where logicalrelid = c.oid)$$ as refer \gset

:refer \g /dev/null

select create_distributed_table('server', 'guild_id')
 where not exists (select from pg_dist_partition
                    where logicalrelid = 'server'::regclass) \g /dev/null

select $$select create_distributed_table(c.oid::regclass::text, 'guild_id',
                                colocate_with => 'guildlog.server')
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'guild_id'
 where c.relnamespace = 'guildlog'::regnamespace
   and c.relkind in ('r', 'p') and not c.relispartition
   and c.relname <> 'keeper_parked'
   and not exists (select from pg_dist_partition
                    where logicalrelid = c.oid)$$ as distribute \gset

:distribute \g /dev/null
\ir install.sql
:refer \g /dev/null
:distribute \g /dev/null

select run_command_on_workers(c.command)
  from unnest(array[
           'create sequence if not exists guildlog.entry_number '
           'minvalue 0 maxvalue 262143 cycle',
           format('alter sequence guildlog.entry_number owner to %I',
                  :'owner')]) c (command) \g /dev/null

select create_distributed_function(p.oid::regprocedure, 'guild',
                                   colocate_with => 'guildlog.server')
  from pg_proc p
 where p.pronamespace = 'guildlog'::regnamespace
   and 'guild' = any (p.proargnames)
   and (p.prosecdef and p.proname !~ '^(delivery_|search_(put|fail)$)'
        and has_function_privilege(:'role', p.oid, 'execute')
        or p.proname in ('check', 'rebuild')) \g /dev/null

-- A function in SQL that reads a server's tables is planned without Citus if it
-- becomes part of a statement, and without its arguments if not. One in
-- PL/pgSQL is neither.

select format('create or replace function %s(%s) returns %s '
              'language plpgsql stable as %L', p.oid::regproc,
              pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
              E'#variable_conflict use_column\nbegin return query '
              || p.prosrc || '; end')
  from pg_proc p
  join pg_language l on l.oid = p.prolang and l.lanname = 'sql'
 where p.pronamespace = 'guildlog'::regnamespace
   and p.proretset and p.provolatile = 's'
   and exists (select from pg_dist_partition d
                where p.prosrc ~ ('\mfrom ' || d.logicalrelid::text || '\M'))
 \gexec

-- A statement about servers is about one there.

create or replace function servers_apart()
returns boolean language sql immutable as $$
    select true
$$;

-- A plan has to know the server to know its worker.

alter role :"role" set plan_cache_mode = force_custom_plan;
alter role :"operator" set plan_cache_mode = force_custom_plan;
alter role :"worker" set plan_cache_mode = force_custom_plan;

-- The coordinator's lock_timeout is its own. The owner is who it asks the
-- workers as; no lock of theirs is waited for any longer, whoever asks.

alter role :"owner" set lock_timeout = '1s';
