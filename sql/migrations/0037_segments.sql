-- The index of searches is segments, which the module makes and reads: see
-- "Searching" in sql/README.md. Here they are bytes. The old index goes; the
-- keeper gives each server that is to have one its row of search_head, and
-- makes it anew from there.

drop view if exists status_servers;
drop table search_head, search_segment, search_place, search_term,
           search_common, search_string;
drop type if exists search_item, search_key, search_posting, search_count,
                    search_set, search_piece;

create sequence search_key;              -- a number is never given again

-- Of one day (UTC) of one server and bot. A row that is read is never changed:
-- so who has read a part of it may read the others later. Below 0 the day is
-- that of a segment which is to take the place of others, and not read as yet.

create table search_segment (
    guild_id  bigint not null,
    bot       smallint not null,
    day       int not null,              -- of all its entries, since 2015
    key       bigint not null,
    whole     boolean not null,          -- it has all that its day had then
    n         int not null,              -- entries
    kinds     bytea not null,            -- where each type ends
    dir       bytea not null,            -- where the parts of the body begin
    body      bytea not null,            -- first the ids, 7 bytes each
    primary key (guild_id, bot, day, key)
);

alter table search_segment
    alter kinds set storage plain, alter dir set storage plain,
    alter body set storage external;     -- so that a part of it can be read

create table search_head (
    guild_id      bigint not null,
    bot           smallint not null,
    format        smallint not null default 0,  -- of the segments; 0: none are
    arrival       bigint not null default 0,    -- all up to it are in them, but
    back_id       bigint not null default 0,    --   for those below that id
    back_arrival  bigint not null default 0,    --   with an arrival up to that
    erased        bigint not null default 0,    -- grows as entries go
    oldest        int not null default 0,       -- the first day it has
    closed        int not null default 0,       -- the last day that was over
                                                --   when it was looked at
    leaving       boolean not null default false,  -- it is being taken away
    due_at        timestamptz not null default now(),  -- when it has work
    taken_to      timestamptz,           -- somebody is at it; null: nobody is
    primary key (guild_id, bot)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

create index on search_head (due_at);
create index on search_head (oldest);

-- Entries that are in a segment, and are no more.

create table search_gone (
    guild_id  bigint not null,
    bot       smallint not null,
    id        bigint not null,
    primary key (guild_id, bot, id)
);
