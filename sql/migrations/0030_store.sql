-- Where the index of searches says that it was last extended in a time to come,
-- a clock was ahead. What was recorded after it was set right is missing there:
-- the keeper makes these indexes anew.

update search_head set leaving = true, runs = 0 where seen_at > now();


-- The terms and strings of the index go with the last entry that has them.

alter table search_segment
    add column purged bigint not null default 0;   -- of terms that only entries
                                                   --   below that id have
alter table search_head
    add column stale boolean not null default true;  -- there may be strings
                                                     --   that no segment has
alter table search_string drop column run;


-- When the plan got smaller; null: it did not, or that was 7 days ago. Till
-- then everything is kept.

alter table server add column lapsed_at timestamptz;

create index on server (guild_id) where lapsed_at is not null;


-- Sorted by bytes: the order of a locale changes with the library that knows
-- it, and an index that was made before is wrong then. Its index is made anew.

alter table log_entry alter role type text collate "C";
alter table filter alter filter_id type text collate "C";


-- What a rewrite that is under way has copied is to become a partition.

do $$
declare
    name  regclass;
begin
    for name in
        select to_regclass(format('guildlog.%I', r.name)) from log_rewrite r
         where r.step in ('fill', 'settle')
    loop
        if name is not null then
            execute format('alter table %s alter role type text collate "C"',
                           name);
        end if;
    end loop;
end $$;


-- What never changes again is frozen by the first vacuum that comes to it, so
-- that none comes to prevent a wraparound and is in the way of a drop.

do $$
declare
    name  regclass;
begin
    for name in
        select h.inhrelid
          from pg_inherits h join pg_class c on c.oid = h.inhrelid
         where h.inhparent in ('log_entry'::regclass, 'log_event'::regclass,
                               'lane_batch'::regclass)
           and c.relkind = 'r' and c.relname !~ '_default$'
    loop
        execute format('alter table %s set (autovacuum_freeze_min_age = 0)',
                       name);
    end loop;
end $$;


-- These rows change all the time. Autovacuum comes after a thousand dead ones,
-- whatever the size of the table: every page reads its server's log_head.

alter table log_head set (autovacuum_vacuum_scale_factor = 0,
                          autovacuum_vacuum_threshold = 1000);
alter table lane_tail set (autovacuum_vacuum_scale_factor = 0,
                           autovacuum_vacuum_threshold = 1000);
alter table lane_head set (autovacuum_vacuum_scale_factor = 0,
                           autovacuum_vacuum_threshold = 1000);
alter table lane_ready set (autovacuum_vacuum_scale_factor = 0,
                            autovacuum_vacuum_threshold = 1000);
alter table held_entry set (autovacuum_vacuum_scale_factor = 0,
                            autovacuum_vacuum_threshold = 1000);
alter table search_head set (autovacuum_vacuum_scale_factor = 0,
                             autovacuum_vacuum_threshold = 1000);


-- An index of searches keeps hashes and folded letters as the server that made
-- it has them: see search_version().

alter table search_head add column version text;
