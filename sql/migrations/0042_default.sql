-- What has no partition is refused, and falls into no default one. One that has
-- rows stays until they are past keeping: see partitions_expired().

\set tables '{log_entry,log_event,lane_batch}'
\ir ../lock.sql

do $$
declare
    name   text;
    holds  boolean;
begin
    foreach name in array '{log_entry_default,log_event_default,
                            lane_batch_default}'::text[]
    loop
        execute format('select exists (select 1 from %I)', name) into holds;
        if not holds then
            execute format('drop table %I', name);
        end if;
    end loop;
end $$;
