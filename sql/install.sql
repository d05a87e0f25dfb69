-- Installs or upgrades the schema: psql -v role=guildlog -f sql/install.sql
-- Safe to run again, also where it stopped: a migration runs once, and the
-- functions are loaded anew each time, in one transaction. The roles that can
-- be named are told in roles.sql.

\set ON_ERROR_STOP on
\set QUIET on

\if :{?messages}
\else
    \set messages warning
\endif

set client_min_messages = :messages;

select pg_advisory_lock(hashtext('guildlog.install')) \g /dev/null

select current_setting('server_encoding') = 'UTF8' as encoding_fits \gset

\if :encoding_fits
\else
    do $$ begin raise 'guildlog needs a database in UTF8'; end $$;
\endif

-- A new store is made in one transaction, and so is one of before 0040.

select to_regclass('guildlog.schema_version') is null as new \gset

\if :new
    \set whole on
\else
    select coalesce(max(version), 0) < 40 as whole
      from guildlog.schema_version \gset
\endif

begin;

-- The keeper of before knew its turn by this lock. It takes it before any
-- table, and so does what follows.

select pg_advisory_xact_lock(hashtext('guildlog.keeper')) \g /dev/null

\ir roles.sql

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

select set_config('search_path', 'guildlog, ' || string_agg(distinct
           quote_ident(n.nspname), ', ') || ', pg_temp', false)
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace
 where e.extname in ('pg_trgm', 'btree_gin') \g /dev/null

select coalesce(json_agg(json_build_object(
           'function', p.proname, 'role', g.rolname)), '[]') as granted
  from pg_proc p
 cross join lateral aclexplode(p.proacl) a
  join pg_roles g on g.oid = a.grantee
 where p.pronamespace = 'guildlog'::regnamespace
   and a.privilege_type = 'EXECUTE'
   and a.grantee <> p.proowner
   and g.rolname <> current_user \gset

\if :is_superuser
    set role :"owner";
\endif

create table if not exists schema_version (
    version     int primary key,
    applied_at  timestamptz not null default now()
);

\if :new
    \ir migrations/0061_tables.sql
    insert into schema_version select generate_series(40, 63);
\else
    \ir earlier.sql
\endif

-- Migrations that add something. The functions of the release before go on with
-- what they leave. See "How to add something" in README.md.

\set migration 0064_events
\ir migrate.sql
\set migration 0066_read
\ir migrate.sql
\set migration 0067_alerts
\ir migrate.sql
\set migration 0068_directory
\ir migrate.sql
\set migration 0069_session
\ir migrate.sql
\set migration 0070_known
\ir migrate.sql
\set migration 0071_lease
\ir migrate.sql
\set migration 0072_actors
\ir migrate.sql
\set migration 0075_turns
\ir migrate.sql
\set migration 0076_head
\ir migrate.sql
\set migration 0079_tail
\ir migrate.sql
\set migration 0078_names
\ir migrate.sql
\set migration 0083_parts
\ir migrate.sql

\if :whole
\else
    begin;
    select pg_advisory_xact_lock(hashtext('guildlog.keeper')) \g /dev/null
\endif

-- From here on all is in one transaction.

\set was :whole
\set whole on
\set migration 0062_blocks
\ir migrate.sql
\set migration 0073_lasts
\ir migrate.sql
\set whole :was

-- What the module of the last release calls has to stay callable for one more:
-- new arguments come last and have a default, columns are only added.

\ir drop.sql

\ir data.sql

-- Rooms from the lowest one up: a function calls what was loaded before, or
-- what is in its own room.

\ir functions/core/type.sql
\ir functions/core/token.sql
\ir functions/core/common.sql
\ir functions/core/session.sql
\ir functions/core/time.sql
\ir functions/core/parked.sql
\ir functions/core/partition.sql
\ir functions/core/schema.sql
\ir functions/core/server.sql
\ir functions/core/options.sql
\ir functions/core/notification.sql

\ir functions/store/arrival.sql
\ir functions/store/block.sql
\ir functions/store/entries.sql
\ir functions/store/page.sql

\ir functions/search/search_head.sql
\ir functions/search/search_docs.sql
\ir functions/search/search_job.sql
\ir functions/search/search_open.sql

\ir functions/record/lane_tail.sql
\ir functions/record/mask.sql
\ir functions/record/record.sql
\ir functions/record/record_entry.sql
\ir functions/record/record_store.sql
\ir functions/record/record_answer.sql
\ir functions/record/record_many.sql
\ir functions/record/rule.sql
\ir functions/record/held.sql
\ir functions/record/alert.sql

\ir functions/delivery/refusal.sql
\ir functions/delivery/lane.sql
\ir functions/delivery/outcome.sql
\ir functions/delivery/settle.sql
\ir functions/delivery/lease.sql
\ir functions/delivery/delivery.sql
\ir functions/delivery/preview.sql
\ir functions/delivery/delivery_step.sql
\ir functions/delivery/lane_state.sql
\ir functions/delivery/delivery_figures.sql
\ir functions/delivery/pacing.sql
\ir functions/delivery/undelivered.sql
\ir functions/delivery/replay.sql
\ir functions/delivery/doubt.sql
\ir functions/delivery/pause.sql

\ir functions/read/logs.sql
\ir functions/read/logs_pieces.sql
\ir functions/read/logs_histogram.sql
\ir functions/read/logs_old.sql
\ir functions/read/log_export.sql
\ir functions/read/log_stream.sql

\ir functions/config/notification.sql
\ir functions/config/server.sql
\ir functions/config/token.sql
\ir functions/config/session.sql
\ir functions/config/settings.sql
\ir functions/config/channels.sql
\ir functions/config/options.sql
\ir functions/config/type.sql
\ir functions/config/ignore.sql
\ir functions/config/tag.sql
\ir functions/config/access.sql
\ir functions/config/filter.sql
\ir functions/config/alert.sql
\ir functions/config/active_ignore.sql
\ir functions/config/directory.sql
\ir functions/config/config.sql

\ir functions/events/known.sql
\ir functions/events/said.sql
\ir functions/events/pair.sql
\ir functions/events/events.sql

\ir functions/trouble/troubleshoot.sql
\ir functions/trouble/troubleshoot_fix.sql

\ir functions/keeper/partition.sql
\ir functions/keeper/keeper.sql
\ir functions/keeper/forget.sql
\ir functions/keeper/forget_person.sql
\ir functions/keeper/check.sql
\ir functions/keeper/check_search.sql
\ir functions/keeper/rebuild.sql
\ir functions/keeper/status.sql

\ir comments.sql

\ir grants.sql

select partitions_ensure() \g /dev/null

commit;

-- Migrations that take something away, which no function of this release needs.

\set whole off

\set migration 0063_old
\ir migrate.sql
\set migration 0065_bearers
\ir migrate.sql
\set migration 0074_actor
\ir migrate.sql
\set migration 0077_query
\ir migrate.sql
\set migration 0080_keys
\ir migrate.sql

reset role;

select pg_advisory_unlock(hashtext('guildlog.install')) \g /dev/null
