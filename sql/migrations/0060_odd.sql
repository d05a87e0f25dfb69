-- Finds the lanes of a shard that are not just active.

\set index lane_odd_idx
\set table lane
\set odd 'state <> ''active'' or paused_at is not null or reason is not null'
\set keys '(shard) where state <> ''closed'' and (' :odd ')'
\ir ../index.sql
