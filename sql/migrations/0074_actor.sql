-- What came to log_made by 0073_lasts.sql.

\set tables '{log_actor}'
\ir ../lock.sql

drop table log_actor;
