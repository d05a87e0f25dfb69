-- Finds the servers whose index of searches is being taken away.

\set index search_head_leaving_idx
\set table search_head
\set keys '(guild_id, bot) where leaving'
\ir ../index.sql
