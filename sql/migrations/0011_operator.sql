-- What an operator does with deliveries: lists what did not arrive, sends it
-- again, stops lanes and lets them go on.


-- An entry that goes again: this place is its place now, and when it got it.
-- Only what is decided goes again, and nothing that is delivered.

create table replay (
    guild_id  bigint not null,
    bot       smallint not null,
    id        bigint not null,
    lane      bigint not null,
    seq       bigint not null,
    at        timestamptz not null,
    primary key (guild_id, bot, id)
);

create unique index on replay (guild_id, lane, seq);


-- A lane that is paused keeps what it has. What waited while it was is as
-- young as its last resumption.

alter table lane add column paused_at timestamptz;
alter table lane add column resumed_at timestamptz;

-- The same for the lanes that a server will have.

alter table server add column paused_at timestamptz;


-- What did not arrive is found without looking at all that did.

create index on lane_batch (guild_id, lane, seq_from)
    include (seq_to, status, reason) where status < 2;
create index on log_entry (guild_id, bot, id) include (dstatus, dreason)
    where dstatus < 2;
