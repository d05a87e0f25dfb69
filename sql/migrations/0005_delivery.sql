-- The delivery of entries to the chat platform. An entry that goes to a channel
-- has a place (lane, seq); what became of it is looked up by that place, and
-- its row never changes.


-- A lane is one webhook: the entries of one (server, bot) for one channel, in
-- one order. The machines share the lanes by shards.

create table lane (
    guild_id      bigint not null,
    lane          bigint not null,
    bot           smallint not null,
    channel_id    bigint not null,
    shard         smallint not null check (shard between 0 and 63),
    state         text not null default 'registering' check
                  (state in ('registering', 'active', 'broken', 'closing',
                             'closed')),
    reason        text,                 -- why it is broken, or waits
    since         timestamptz not null default now(),   -- in that state
    webhook_id    bigint,
    secret        bytea,                -- the webhook's token, encrypted
    lost_at       timestamptz,          -- when a webhook was found gone
    forbidden_at  timestamptz,          -- since when a permission is missing
    primary key (guild_id, lane)
);

create unique index on lane (guild_id, bot, channel_id)
    where state <> 'closed';


-- How far entries have come in. Whoever holds the row may add entries, or say
-- that there are none.

create table lane_tail (
    guild_id  bigint not null,
    lane      bigint not null,
    tail      bigint not null default 0,
    primary key (guild_id, lane)
) with (fillfactor = 50);


-- How far they have gone out: up to head all is decided, from there to upto it
-- is in flight. No other index, so that an update stays in its page.

create table lane_head (
    guild_id         bigint not null,
    lane             bigint not null,
    head             bigint not null default 0,
    upto             bigint not null default 0,
    refused_to       bigint not null default 0,  -- the platform said: not now
    step             bigint not null default 0,  -- changes so far
    attempts         int not null default 0,     -- at what comes behind head
    attempt_at       timestamptz,
    not_before       timestamptz,
    last_message_id  bigint,
    primary key (guild_id, lane)
) with (fillfactor = 50);


-- Lanes with something to do.

create table lane_ready (
    guild_id  bigint not null,
    lane      bigint not null,
    shard     smallint not null,
    since     timestamptz not null,
    primary key (guild_id, lane)
);

create index on lane_ready (shard, since);


-- What became of entries: one row a message, or a decision about several.
-- Status as in log_entry. unknown may become known: then the row changes.

create table lane_batch (
    guild_id    bigint not null,
    lane        bigint not null,
    seq_from    bigint not null,
    seq_to      bigint not null,
    message_id  bigint,
    done_at     timestamptz not null,
    attempts    int not null,
    status      smallint not null check (status between 0 and 2),
    reason      text,
    primary key (guild_id, lane, seq_from, done_at),
    check ((status = 2) = (message_id is not null)),
    check ((status = 2) = (reason is null))
) partition by range (done_at);

create table lane_batch_default partition of lane_batch default;


-- Who delivers: the lanes of a shard belong to its owner until the lease runs
-- out. The fence tells one lease from the next.

create table shard_lease (
    shard  smallint primary key check (shard between 0 and 63),
    owner  text,
    fence  bigint not null default 0,
    until  timestamptz not null default '-infinity'
);

insert into shard_lease (shard) select generate_series(0, 63);

create table delivery_node (
    owner  text primary key,
    until  timestamptz not null
);


-- A held entry gets its place when it is released.

alter table held_entry add column lane bigint;
alter table held_entry add column seq bigint;

create index on held_entry (guild_id, lane, seq) where lane is not null;
