-- Alerts, and what is counted for them. Who refers to server locks it.

\set tables '{server,log_head}'
\ir ../lock.sql

create table alert (
    guild_id  bigint not null references server,
    bot       smallint not null,
    alert_id  text not null collate "C",
    name      text not null check (length(name) between 1 and 64),
    types     smallint[] not null check (cardinality(types) between 1 and 20),
    count     int not null check (count between 1 and 100),
    seconds   int not null check (seconds between 1 and 3600),
    by        text not null
              check (by in ('server', 'executor', 'target', 'channel')),
    channel   bigint,                    -- null: where service logs go
    role      bigint,                    -- whom its message mentions
    enabled   boolean not null default true,
    primary key (guild_id, bot, alert_id)
);

-- The latest entries of one alert, by the same executor, target or channel. No
-- index has what changes with each entry, so that an update stays in its page.

create table alert_count (
    guild_id  bigint not null,
    bot       smallint not null,
    alert_id  text not null collate "C",
    subject   bigint not null,           -- whose; 0: the server's
    day       int not null,              -- when it last counted, since 2015
    fired_at  bigint,                    -- the time of the entry that it last
                                         --   fired with, ms
    times     bigint[] not null,         -- of entries, ms, ascending
    primary key (guild_id, bot, alert_id, subject)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

create index on alert_count (day);

-- The types that the alerts of a server count, beside what is read of it
-- whenever something is recorded.

alter table log_head add column watched smallint[];
