-- While somebody holds a snapshot, as a dump does for an hour, each change of a
-- row leaves one that no vacuum takes away, and whoever looks for the row by
-- its key passes all of them. So the key of what recording changes moves on as
-- it grows: the newest turn has the row that lives. See turn_of().

\set tables '{log_head,lane_tail}'
\ir ../lock.sql

alter table log_head add column turn bigint not null default 0;
alter table lane_tail add column turn bigint not null default 0;
