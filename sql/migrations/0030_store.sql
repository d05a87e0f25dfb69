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
