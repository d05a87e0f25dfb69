-- What an operator looks at by psql. No view calls a function of the schema:
-- these are dropped by each install, and the privileges on views are to stay.


-- The keeper's tasks, and what each left to do: lag is in entries, but in days
-- for partitions, partitions and days of servers for expiry, blocks for settle,
-- servers and people for forget, and 0 or 1 for what is either done or not.

create or replace view status as
    select k.task, nullif(k.done_at, '-infinity') as done_at,
           now() - nullif(k.done_at, '-infinity') as since_done,
           nullif(k.due_at, '-infinity') as next_at, k.lag,
           k.took_us / 1000.0 as took_ms, k.errors
      from keeper k;

comment on view status is
    'The keeper''s tasks: when each was done last, what it left undone.';
comment on column status.lag is
    'Undone: entries (blocks, search), blocks (settle), days (partitions), '
    'partitions and days of servers (expiry), servers and people (forget), '
    'or 1 for something.';


-- By server and bot: how many rows are in no block, and how many entries are in
-- no segment of the index of searches, but for those of before it was begun
-- (null: no index, or it is not read).

create or replace view status_servers as
    select h.guild_id, h.bot, s.plan, h.arrival as recorded,
           h.arrival - h.blocked as not_in_blocks,
           case when x.format > 0 then h.arrival - x.arrival end
               as not_searchable,
           s.forgotten_at as being_forgotten_since
      from log_head h
      left join server s on s.guild_id = h.guild_id
      left join search_head x on x.guild_id = h.guild_id and x.bot = h.bot;

comment on view status_servers is
    'What is behind of each server and bot, in entries.';


-- What is being forgotten.

create or replace view status_forget as
    select s.guild_id, null::bigint as user_id, s.forgotten_at as asked_at,
           null::text as error
      from server s where s.forgotten_at is not null
     union all
    select p.guild_id, p.user_id, p.asked_at, p.error
      from forgotten_person p;

comment on view status_forget is
    'Servers and people that are being forgotten, with the error of the last '
    'turn, if it failed.';


-- The partitions with what they take.

create or replace view status_partitions as
    select i.inhparent::regclass::text as of_table, c.relname as name,
           pg_get_expr(c.relpartbound, c.oid) as bounds,
           greatest(c.reltuples, 0)::bigint as about_rows,
           pg_relation_size(c.oid) as bytes,
           pg_indexes_size(c.oid) as index_bytes
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     where c.relnamespace = 'guildlog'::regnamespace
       and c.relkind = 'r' and c.relispartition;

comment on view status_partitions is
    'The partitions of the log store, with their sizes.';


-- The shards of delivery, and who has them.

create or replace view status_delivery as
    select l.shard, l.owner, l.until,
           count(n.lane) as lanes,
           coalesce(sum(t.tail - h.head), 0) as waiting
      from shard_lease l
      left join lane n on n.shard = l.shard and n.state <> 'closed'
      left join lane_head h on h.guild_id = n.guild_id and h.lane = n.lane
      left join lane_tail t on t.guild_id = n.guild_id and t.lane = n.lane
     group by l.shard, l.owner, l.until;

comment on view status_delivery is
    'The shards of delivery: who has each, until when, its lanes and how many '
    'entries wait in them.';
