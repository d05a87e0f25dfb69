-- The keys that move on: see 0075_turns.sql.

\set tables '{log_head,lane_tail}'
\ir ../lock.sql

alter table log_head drop constraint log_head_pkey;
alter table log_head
    add constraint log_head_pkey primary key using index log_head_turn_idx;
alter table lane_tail drop constraint lane_tail_pkey;
alter table lane_tail
    add constraint lane_tail_pkey primary key using index lane_tail_turn_idx;
