-- A server that becomes known brings thousands of names. Their parts come to
-- the index together, and not name by name. A search looks through those that
-- wait for that: so many take it 0.1 ms.

\set tables '{directory}'
\ir ../lock.sql

alter index directory_guild_id_kind_folded_idx
    set (fastupdate = on, gin_pending_list_limit = 256);
