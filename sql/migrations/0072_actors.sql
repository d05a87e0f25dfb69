-- Who acted last, beside the lock of blocks, and who did since.

\set tables '{log_made}'
\ir ../lock.sql

alter table log_made
    add column actors bigint[],
    add column lasts bigint[],
    add column new_actors bigint[],
    add column new_lasts bigint[];
