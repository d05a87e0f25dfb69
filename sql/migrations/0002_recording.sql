-- What recording needs besides the tables of the log store.


-- Entries that an active ignore request may still remove. An entry stands here
-- from its recording on; a request that comes before "until" takes it out of
-- both tables. Up to then its delivery is not_delivered for the reason "held",
-- afterwards "queued": nothing has to run for that to be right. released says
-- that delivery has taken it over.

create table held_entry (
    guild_id    bigint not null,
    bot         smallint not null,
    id          bigint not null,
    channel_id  bigint,            -- the one it goes to; null: nowhere
    until       timestamptz not null,
    released    boolean not null default false,
    primary key (guild_id, bot, id)
);

-- few at any time: small enough to be read from one end to the other

create index on held_entry (guild_id, bot, until) where not released;

comment on column log_entry.dreason is
    'Why it is not delivered. "held" without a dstatus: held as long as '
    'held_entry has it with until > clock_timestamp(), then queued.';


-- A hint for whoever makes checkpoints: so many of the arrivals need none any
-- more.

alter table log_head add column counted bigint not null default 0;

comment on table log_checkpoint is
    'cum[type + 1] counts the entries of that (guild_id, bot) with an id up '
    'to last_id, so that the difference of two rows is exactly what lies '
    'between them, at any moment and in any snapshot: what changes the past '
    'deletes the rows at and above it in the same transaction. It holds '
    'between rows inside of what is kept, so a range that begins at id a is '
    'counted from the first row with last_id >= a, and the entries outside of '
    'rows one by one. There need not be any row.';
