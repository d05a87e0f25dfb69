-- The counts of each part of a day, as the texts of arrays: null until they are
-- counted, and none where it has few blocks. See day_divide().

\set tables '{log_day}'
\ir ../lock.sql

alter table log_day add column parts text[] collate "C";
