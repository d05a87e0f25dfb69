-- A session knows which servers its person manages, and a test message whether
-- its refusal was counted.

\set tables '{session,troubleshoot_use}'
\ir ../lock.sql

alter table session add column servers bigint[];   -- null: it is from before
alter table troubleshoot_use add column told_at timestamptz;
