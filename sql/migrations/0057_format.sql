-- Finds the indexes of searches that have to be made anew.

\set index search_head_format_idx
\set table search_head
\set keys '(format)'
\ir ../index.sql
