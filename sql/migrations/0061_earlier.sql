-- What 0061_tables.sql makes, of a store of before: first what is only added.
-- Its entries come in 0062_blocks.sql, and what they were in goes in
-- 0063_old.sql.

select array_agg(c.relname) as tables from pg_class c
 where c.oid in ('log_head'::regclass, 'replay'::regclass,
                 'forgotten_person'::regclass) \gset
\ir ../lock.sql

alter table log_head
    add column blocked bigint not null default 0,
    add column since timestamptz not null default '-infinity',
    add column last_at timestamptz not null default '-infinity',
    add column due_at timestamptz;
alter table replay add column first boolean not null default false;
alter table forgotten_person
    add column step smallint not null default 0,
    add column at bigint not null default 0;

create index on log_head (due_at) where due_at is not null;

\ir ../store.sql

do $$
declare
    today  constant date := (now() at time zone 'UTC')::date;
    p      record;
begin
    for p in
        select 'log_arrival_past' as name, date '2015-01-01' as low,
               today as high
         union all
        select 'log_arrival_' || to_char(today + n, 'YYYYMMDD'), today + n,
               today + n + 1
          from generate_series(0, 2) n
    loop
        execute format('create table %I (like log_arrival including all)',
                       p.name);
        execute format('alter table %I set (autovacuum_freeze_min_age = 0, '
                       'autovacuum_vacuum_insert_scale_factor = 0, '
                       'autovacuum_vacuum_insert_threshold = 20000)', p.name);
        execute format('alter table log_arrival attach partition %I '
                       'for values from (%L) to (%L)', p.name,
                       p.low || ' 00:00Z', p.high || ' 00:00Z');
    end loop;
end $$;
