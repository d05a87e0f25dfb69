-- A task of the keeper that failed has its next turn with each server for
-- itself. Those that fail then are left out of it for a while.

alter table keeper add column apart boolean not null default false;

create table keeper_parked (
    guild_id  bigint not null,
    bot       smallint not null,
    task      text collate "C" not null,
    at        timestamptz not null,  -- the last time that it failed
    until     timestamptz not null,
    times     int not null,          -- in a row
    fault     text not null,         -- SQLSTATE and message of the last time
    primary key (guild_id, bot, task)
);
