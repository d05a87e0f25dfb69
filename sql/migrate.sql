-- Runs the migration named by :migration, NNNN_what, unless it has been.

select left(:'migration', 4)::int as version,
       'migrations/' || :'migration' || '.sql' as file \gset

select not exists (select from schema_version
                    where version = :version) as pending \gset

\if :pending
    \ir :file
    insert into schema_version (version) values (:version);
\endif
