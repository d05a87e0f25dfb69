-- The nightly rewrite of closed days into weeks, in the order of (guild_id,
-- bot, id) and with what became of deliveries.


-- A rewrite, and the partition it made. At most one is under way.

create table log_rewrite (
    n         int generated always as identity primary key,
    name      text not null,     -- the table that becomes the partition
    low       bigint not null,   -- the ids it covers
    high      bigint not null,
    sources   text[] not null,   -- the partitions it takes the place of
    step      text not null default 'fill' check
              (step in ('fill', 'settle', 'tidy', 'done')),
    begun_at  timestamptz not null default now(),
    at_guild  bigint not null default 0,     -- how far the step has come
    at_bot    smallint not null default 0,
    at_id     bigint not null default 0,
    step_at   timestamptz not null default now(),  -- when the step began
    waits     text[]             -- transactions older than the last change
);

create unique index on log_rewrite ((true)) where step <> 'done';


-- Entries that came or went in the sources while it is under way.

create table log_change (
    guild_id  bigint not null,
    bot       smallint not null,
    id        bigint not null,
    n         bigint generated always as identity,
    primary key (guild_id, bot, id, n)
);


-- Servers of which it left something out.

create table log_left_out (
    guild_id  bigint primary key
);
