-- Makes an index of a large table while everybody works. It is a migration of
-- its own:
--
--   \set index log_arrival_type_idx
--   \set table log_arrival
--   \set keys '(guild_id, type) where id is not null'
--   \ir ../index.sql
--
-- "\set unique unique" before makes it unique. Of a partitioned table each
-- partition gets the index by itself. Then they become one. No partition comes
-- or goes meanwhile. If it stops, it begins again, and goes on behind the
-- partitions that are done.

\if :{?unique}
\else
    \set unique ''
\endif

\if :whole
    create :unique index :index on :table :keys;
\else

commit;

select relkind = 'p' as parted
  from pg_class where oid = :'table'::regclass \gset

\if :parted
    select pg_advisory_lock(hashtext('guildlog.partitions')) \g /dev/null

    begin;
    \set tables {:table}
    \ir lock.sql
    create :unique index if not exists :index on only :table :keys;
    commit;

    select format('drop index concurrently if exists %I', i.name),
           format('create %s index concurrently %I on %s %s', :'unique', i.name,
                  i.part, :'keys'),
           format($attach$
               do $$
               begin
                   loop
                       begin
                           set local lock_timeout = '200ms';
                           alter index %I attach partition %I;
                           exit;
                       exception when lock_not_available then
                           perform pg_sleep(0.2 + random() * 0.3);
                       end;
                   end loop;
               end $$ $attach$, :'index', i.name)
      from (select t.relid::regclass as part,
                   left(t.relid::regclass || '_' || :'index', 63) as name
              from pg_partition_tree(:'table') t
             where t.isleaf) i
     where not exists (
               select from pg_inherits h
                 join pg_index x on x.indexrelid = h.inhrelid
                where h.inhparent = :'index'::regclass
                  and x.indrelid = i.part) \gexec

    select pg_advisory_unlock(hashtext('guildlog.partitions')) \g /dev/null
\else
    drop index concurrently if exists :index;
    create :unique index concurrently :index on :table :keys;
\endif

begin;
\endif

\unset unique
