-- Counts the lanes of a shard.

\set index lane_open_idx
\set table lane
\set keys '(shard) where state <> ''closed'''
\ir ../index.sql
