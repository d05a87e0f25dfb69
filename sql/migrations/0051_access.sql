-- Finds the servers whose dashboard a user may use.

\set index access_user_idx
\set table access
\set keys '(user_id)'
\ir ../index.sql
