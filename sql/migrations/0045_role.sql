-- nginx finds a role in the document: nothing reads this column. A rewrite that
-- is under way goes on without it, too.

select array_agg(c.relname) as tables from pg_class c
 where c.oid in (to_regclass('log_entry'), to_regclass('log_entry_next')) \gset
\ir ../lock.sql

alter table log_entry drop column role;
alter table if exists log_entry_next drop column if exists role;
