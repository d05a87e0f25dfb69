-- From where the keeper goes on to look for who has left: the key of the last
-- row of known that it looked at. Null: from the beginning.

\set tables '{keeper}'
\ir ../lock.sql

alter table keeper add column place bigint[];
