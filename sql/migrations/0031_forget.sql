-- Forgetting servers and people.


-- Since when a server is being forgotten, and the transaction that began it:
-- when none is left that is older, nobody can write rows of the server any
-- more.

alter table server
    add column forgotten_at timestamptz,
    add column forgotten_by xid8;

create index on server (guild_id) where forgotten_at is not null;


-- People who are being forgotten: entries of theirs with an arrival up to
-- arrivals[bot + 1] lose what tells of them. The row goes when that is done.

create table forgotten_person (
    guild_id  bigint not null,
    user_id   bigint not null,
    asked_at  timestamptz not null default clock_timestamp(),
    arrivals  bigint[] not null,
    bot       smallint not null default 0,  -- whose entries are looked at;
                                            --   2: entries are done
    at_id     bigint not null default 0,    -- up to here they were
    due_at    timestamptz not null default '-infinity',
    error     text,                         -- of the last turn, if it failed
    primary key (guild_id, user_id)
);
