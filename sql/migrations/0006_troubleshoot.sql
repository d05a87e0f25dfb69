-- How often a server may make us ask the platform: what it did in the minute
-- that began then.

create table troubleshoot_use (
    guild_id  bigint primary key references server,
    since     timestamptz not null,
    reports   int not null,
    tested_at timestamptz
);
