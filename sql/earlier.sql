-- Stores of before 0061, up to what 0062_blocks.sql begins with.

\if :whole
    \set migration 0040_earlier
    \ir migrate.sql
\else
    commit;
\endif

\set migration 0042_default
\ir migrate.sql
\set migration 0044_finding
\ir migrate.sql
\set migration 0045_role
\ir migrate.sql
\set migration 0046_uncounted
\ir migrate.sql
\set migration 0050_session
\ir migrate.sql
\set migration 0051_access
\ir migrate.sql
\set migration 0055_session_servers
\ir migrate.sql
\set migration 0056_leaving
\ir migrate.sql
\set migration 0057_format
\ir migrate.sql
\set migration 0058_searchable
\ir migrate.sql
\set migration 0059_open
\ir migrate.sql
\set migration 0060_odd
\ir migrate.sql
\set migration 0061_earlier
\ir migrate.sql
