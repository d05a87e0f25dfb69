-- The key of 0080_keys.sql.

\set index lane_tail_turn_idx
\set table lane_tail
\set unique unique
\set keys '(guild_id, lane, turn)'
\ir ../index.sql
