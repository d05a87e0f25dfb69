-- How often an owner has asked for leases: what it asked before that comes too
-- late.

\set tables '{delivery_node}'
\ir ../lock.sql

alter table delivery_node add column asked bigint not null default 0;
