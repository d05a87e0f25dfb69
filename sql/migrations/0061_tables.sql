-- The tables of a new store. A store of version 0.2 gets the same by
-- 0061_earlier.sql. What came later is in the migrations from 0062 on.
-- comments.sql says what each table is for.
--
-- guild_id leads every key and no foreign key crosses servers, so the schema
-- distributes by guild_id as it is. bot: 0 main, 1 Pro. What changes all the
-- time leaves room in its pages, so that an update stays in its page.
-- Autovacuum comes to it after a thousand dead rows, whatever its size.


-- Fixed data, loaded from data.sql each time.

create table language (
    locale  smallint primary key,
    key     text not null unique
);

create table log_type (
    id               smallint primary key check (id between 0 and 101),
    key              text not null unique,
    category         text not null,
    route            text not null,    -- the column of logging_channels
    always_log_bots  boolean not null,
    title            text not null,
    -- active ignore covers these only where a request names them
    protected        boolean not null generated always as
                     (category in ('categoryModlog', 'categoryService')
                      or id in (2, 58)) stored
);

create table filter_kind (
    filter_id  text primary key,
    place      smallint not null unique
);

-- Servers, and who may speak for them.

create table server (
    guild_id      bigint primary key,
    name          text not null default '',
    owner_id      bigint,
    plan          text not null default 'free'
                  check (plan in ('free', 'pro_lite', 'pro')),
    locale        smallint not null default 0,
    created_at    timestamptz not null default now(),
    paused_at     timestamptz,     -- so are lanes that it will have
    lapsed_at     timestamptz,     -- when its plan got smaller, in the last 7
                                   -- days: all is kept till then
    forgotten_at  timestamptz,     -- since when it is being forgotten,
    forgotten_by  xid8             -- by whom: when nobody is left that is
                                   -- older, nobody can write rows of it
);

create index on server (guild_id) where lapsed_at is not null;
create index on server (guild_id) where forgotten_at is not null;

create table token (
    guild_id           bigint not null references server,
    token_id           text not null collate "C",
    bot                smallint not null check (bot in (0, 1)),
    permissions        smallint not null check (permissions in (1, 2)),
    creator            bigint not null,
    created_at         timestamptz not null,
    expires_at         timestamptz not null,
    revoked_at         timestamptz,
    ignore_logged_at   timestamptz,  -- last active ignore request logged
    name               text,
    primary key (guild_id, token_id)
);


-- The configuration, one for each bot. Channel 0 means off, null means follow.

create table settings (
    guild_id  bigint not null references server,
    bot       smallint not null,
    locale    smallint not null,
    primary key (guild_id, bot)
);

create table logging_channels (
    guild_id           bigint not null references server,
    bot                smallint not null,
    main_channel       bigint check (main_channel > 0),
    category_modlog    bigint,
    category_members   bigint,
    category_actions   bigint,
    category_text      bigint,
    category_voice     bigint,
    category_files     bigint check (category_files > 0),
    category_server    bigint,
    category_roles     bigint,
    category_channels  bigint,
    category_service   bigint,
    primary key (guild_id, bot)
);

create table logging_options (
    guild_id              bigint not null references server,
    bot                   smallint not null,
    spoilers              boolean not null,
    proxy_integration     boolean not null,
    ignore_bot_targets    boolean not null,
    ignore_bot_executors  boolean not null,
    format_type           smallint not null check (format_type between 0 and 3),
    buttons               text[] not null check
                          (buttons <@ '{userID,supportServer,customise}'),
    active_ignore         boolean not null,
    primary key (guild_id, bot)
);

create table logging_type (
    guild_id              bigint not null references server,
    bot                   smallint not null,
    log_type              smallint not null check (log_type between 0 and 101),
    enabled               boolean,
    log_channel           bigint,
    format_type           smallint check (format_type between 0 and 3),
    color                 int check (color between 0 and 16777215),
    ignore_bot_executors  boolean,
    ignore_bot_targets    boolean,
    active_ignore         boolean,
    primary key (guild_id, bot, log_type)
);

create table ignore_entry (
    guild_id      bigint not null references server,
    bot           smallint not null,
    ignore_type   smallint not null check (ignore_type between 0 and 6),
    ignore_value  text not null collate "C",
    primary key (guild_id, bot, ignore_type, ignore_value)
);

create table active_ignore (
    guild_id      bigint not null references server,
    bot           smallint not null,
    request_id    bigint not null,
    side          text not null check (side in ('target', 'executor')),
    subject_id    text not null collate "C",
    subject_type  smallint check (subject_type between 0 and 13),
    log_type      smallint check (log_type between 0 and 101),
    remaining     smallint not null check (remaining between 0 and 100),
    requested_at  timestamptz not null,
    expires_at    timestamptz not null,
    primary key (guild_id, bot, request_id),
    check ((side = 'target') = (subject_type is not null))
);

create table filter (
    guild_id   bigint not null references server,
    bot        smallint not null,
    filter_id  text not null collate "C",
    enabled    boolean not null,
    action     text not null check (action in ('mask', 'drop')),
    words      text[] not null,
    log_types  smallint[] not null,
    primary key (guild_id, bot, filter_id)
);

create table tag (
    guild_id  bigint not null references server,
    bot       smallint not null,
    tag_id    text not null collate "C",
    tag_name  text not null collate "C"
              check (length(tag_name) between 1 and 31),
    content   text,
    color     int check (color between 0 and 16777215),
    image     text,
    primary key (guild_id, bot, tag_id),
    unique (guild_id, bot, tag_name),
    check (content is not null or image is not null)
);

create table access (
    guild_id  bigint not null references server,
    bot       smallint not null,
    user_id   bigint not null,
    level     text not null check (level in ('manage', 'view')),
    primary key (guild_id, bot, user_id)
);

create index access_user_idx on access (user_id);

create table notification (
    guild_id         bigint not null references server,
    bot              smallint not null,
    notification_id  bigint not null,
    created_at       timestamptz not null,
    log_type         smallint not null,
    title            text not null,
    description      text not null,
    executor_id      bigint not null,
    acknowledged     boolean not null default false,
    primary key (guild_id, bot, notification_id)
);

create table troubleshoot_use (
    guild_id   bigint primary key references server,
    since      timestamptz not null,   -- the minute began then
    reports    int not null,
    tested_at  timestamptz,
    told_at    timestamptz             -- when its refusal was counted
);


-- People who signed in. servers: those that the person manages, as the platform
-- said.

create table session (
    session_id  text primary key collate "C",
    user_id     bigint not null,
    name        text not null,
    expires_at  timestamptz not null,
    ended_at    timestamptz,           -- the user signed out
    servers     bigint[]
);

create index on session (expires_at);


-- What the platform calls its members, channels and roles.

create table directory (
    guild_id  bigint not null,
    kind      smallint not null check (kind between 0 and 2),
    id        bigint not null,
    name      text not null,
    folded    text not null collate "C" generated always as
              (lower(name collate "und-x-icu")) stored,
    bot       boolean not null default false,
    roles     bigint[] not null default '{}',
    type      smallint,
    parent    bigint,
    primary key (guild_id, kind, id)
);

create index on directory (guild_id, kind, folded, id);
create index on directory (guild_id, kind, (id::text collate "C"));
create index on directory using gin (guild_id, kind, folded gin_trgm_ops)
    with (fastupdate = off);

-- who else has this channel, asked across servers

create index directory_channel on directory (id) where kind = 1;


-- The log store. An entry's id is its time and never changes. What arrives is a
-- row of log_arrival, for three days; what is kept is in blocks.

create sequence entry_number maxvalue 262143 minvalue 0 cycle;

create table log_head (
    guild_id      bigint not null,
    bot           smallint not null,
    arrival       bigint not null default 0,  -- the last one given
    first_log_at  bigint,                     -- ms since the epoch
    blocked       bigint not null default 0,  -- all up to it are in blocks;
    since         timestamptz not null        -- what is not came later,
                  default '-infinity',
    last_at       timestamptz not null        -- and nothing after that
                  default '-infinity',
    due_at        timestamptz,                -- when blocks are to be made
    primary key (guild_id, bot)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

create index on log_head (due_at) where due_at is not null;

\ir ../store.sql


-- The index of searches is segments, which the module makes and reads: see
-- "Searching" in sql/README.md. Here they are bytes.

create sequence search_key;              -- a number is never given again

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
create index search_head_leaving_idx on search_head (guild_id, bot)
    where leaving;
create index search_head_format_idx on search_head (format);

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


-- Delivery. An entry that goes to a channel has a place (lane, seq). What
-- became of it is looked up by that place. The machines share the lanes by
-- shards.

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
    paused_at     timestamptz,          -- it keeps what it has; what waited
    resumed_at    timestamptz,          --   then is as young as this
    asked_at      timestamptz,          -- for a webhook: one may be on its way
    verified_at   timestamptz,          -- when its channel was found to be the
                                        --   server's; null: not yet
    refused_at    timestamptz,          -- when it was last refused as a whole
    again_at      timestamptz,          -- when a request last had it tried
                                        --   again; may lie ahead
    told          text,                 -- the trouble the server was told of
    look_at       timestamptz,          -- closed: may it be deleted by then?
    primary key (guild_id, lane)
);

create unique index on lane (guild_id, bot, channel_id)
    where state <> 'closed';

-- who else has this webhook, and this channel: asked across servers

create index lane_webhook on lane (webhook_id) where webhook_id is not null;
create index lane_channel on lane (channel_id) where verified_at is not null;
create index lane_closed on lane (look_at) where state = 'closed';

-- how many there are in a shard, and those that are not just active

create index lane_open_idx on lane (shard) where state <> 'closed';
create index lane_odd_idx on lane (shard)
    where state <> 'closed'
      and (state <> 'active' or paused_at is not null or reason is not null);

-- Whoever holds the row may add entries, or say that there are none.

create table lane_tail (
    guild_id  bigint not null,
    lane      bigint not null,
    tail      bigint not null default 0,
    primary key (guild_id, lane)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

-- No other index, so that an update stays in its page.

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
    mixed_at         timestamptz default now(),  -- when anything but what was
                                         -- delivered may last have been sent
                                         -- by its webhook; null: never
    primary key (guild_id, lane)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

-- A lane of which the database refuses something is set aside for a while, so
-- that others go on. It stands here because the row of the lane itself may be
-- what is bad.

create table lane_ready (
    guild_id    bigint not null,
    lane        bigint not null,
    shard       smallint not null,
    since       timestamptz not null,
    parked_to   timestamptz,              -- null: it is not
    parked_for  text,                     -- what was refused
    primary key (guild_id, lane)
) with (autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

create index on lane_ready (shard, since);

-- Status: 0 not_delivered, 1 unknown, 2 delivered. unknown may become known:
-- then the row changes.

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

create index on lane_batch (guild_id, lane, seq_from)
    include (seq_to, status, reason) where status < 2;

-- what was decided about a server at the time of a page of it

create index on lane_batch (guild_id, done_at);

create table doubt (
    guild_id    bigint not null,
    lane        bigint not null,
    seq_from    bigint not null,
    seq_to      bigint not null,
    done_at     timestamptz not null,      -- as in lane_batch
    shard       smallint not null,
    webhook_id  bigint not null,
    attempt_at  timestamptz not null,
    before_id   bigint,                    -- the message before it, if any
    looks       int not null default 0,
    look_at     timestamptz not null,
    primary key (guild_id, lane, seq_from)
);

create index on doubt (shard, look_at);

-- Only what is decided goes again, and nothing that is delivered. first: it was
-- not sent before, but its row of log_arrival is gone.

create table replay (
    guild_id  bigint not null,
    bot       smallint not null,
    id        bigint not null,
    lane      bigint not null,
    seq       bigint not null,
    at        timestamptz not null,
    first     boolean not null default false,
    primary key (guild_id, bot, id)
);

create unique index on replay (guild_id, lane, seq);

create table refusal (
    guild_id  bigint primary key,
    since     timestamptz not null,      -- the ten minutes began then
    n         int not null
) with (fillfactor = 50);

-- The lanes of a shard belong to its owner until the lease runs out. The fence
-- tells one lease from the next.

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

create table delivery_secret (
    one     boolean primary key default true check (one),
    owner   text not null,    -- as whose it was sealed
    sealed  bytea not null
);


-- The keeper.

create table keeper (
    task     text primary key,
    done_at  timestamptz not null,
    due_at   timestamptz not null default '-infinity',
    took_us  bigint not null default 0,
    lag      bigint not null default 0,
    errors   bigint not null default 0,
    apart    boolean not null default false   -- it failed: its next turn is
                                              -- each server by itself
) with (fillfactor = 50);
comment on column keeper.done_at is 'When it last succeeded.';

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

-- Entries of a person with an arrival up to arrivals[bot + 1] lose what tells
-- of the person.

create table forgotten_person (
    guild_id  bigint not null,
    user_id   bigint not null,
    asked_at  timestamptz not null default clock_timestamp(),
    arrivals  bigint[] not null,
    due_at    timestamptz not null default '-infinity',
    error     text,                         -- of the last turn, if it failed
    step      smallint not null default 0,  -- arrivals of the main bot and of
                                            --   Pro, then blocks of both
    at        bigint not null default 0,    -- how far the step has come
    primary key (guild_id, user_id)
);
