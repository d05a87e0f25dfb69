-- Runs the migration named by :migration, NNNN_what, unless it has been: in a
-- transaction of its own, or in that of the whole (see install.sql). No
-- statement of it waits for a lock, but those of lock.sql and index.sql.

select left(:'migration', 4)::int as version,
       'migrations/' || :'migration' || '.sql' as file \gset

select not exists (select from schema_version
                    where version = :version) as pending \gset

\if :pending
    \if :whole
    \else
        begin;
        set local lock_timeout = '200ms';
    \endif

    \ir :file
    insert into schema_version (version) values (:version);

    \if :whole
    \else
        commit;
    \endif
\endif
