-- nginx finds what a channel, a target or a role is asked for: nothing reads
-- these indexes any more. That of the executor stays, for GET /logs/actors.
--
-- All of log_entry is locked meanwhile, about half a millisecond for each
-- partition's index, however many rows it has: 15 of them took 7 ms.

\set tables '{log_entry}'
\ir ../lock.sql

drop index if exists log_entry_guild_id_bot_channel_id_id_type_idx;
drop index if exists log_entry_guild_id_bot_target_id_id_type_executor_id_idx;
drop index if exists log_entry_guild_id_bot_role_id_type_idx;

drop type if exists log_mark;
