-- The key of 0080_keys.sql.

\set index log_head_turn_idx
\set table log_head
\set unique unique
\set keys '(guild_id, bot, turn)'
\ir ../index.sql
