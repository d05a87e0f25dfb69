-- The tables. guild_id leads every key and no foreign key crosses servers, so
-- the schema distributes by guild_id as it is.


-- Fixed data, loaded from data.sql each time.

create table language (
    locale  smallint primary key,
    key     text not null unique
);

create table log_type (
    id               smallint primary key check (id between 0 and 101),
    key              text not null unique,
    category         text not null,
    route            text not null,
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


-- Servers and who may speak for them. bot: 0 main, 1 pro.

create table server (
    guild_id    bigint primary key,
    name        text not null default '',
    owner_id    bigint,
    plan        text not null default 'free'
                check (plan in ('free', 'pro_lite', 'pro')),
    locale      smallint not null default 0,
    created_at  timestamptz not null default now()
);

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

create table filter (
    guild_id   bigint not null references server,
    bot        smallint not null,
    filter_id  text not null,
    enabled    boolean not null,
    action     text not null check (action in ('mask', 'drop')),
    words      text[] not null,
    log_types  smallint[] not null,
    primary key (guild_id, bot, filter_id)
);

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


-- What the platform calls its members (kind 0), channels (1) and roles (2).

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


-- The log store. An entry's id is its time and never changes; nor does its
-- row. doc is the finished JSON of the entry without "delivery" and without
-- the closing brace.

create sequence entry_number maxvalue 262143 minvalue 0 cycle;

create table log_head (
    guild_id      bigint not null,
    bot           smallint not null,
    arrival       bigint not null default 0,  -- the last one given
    first_log_at  bigint,                     -- ms since the epoch
    primary key (guild_id, bot)
) with (fillfactor = 50);

create table log_entry (
    guild_id     bigint not null,
    id           bigint not null,
    arrival      bigint not null,  -- in the order of commits, for the stream
    executor_id  bigint,
    target_id    bigint,
    channel_id   bigint,
    lane         bigint,           -- the place in its delivery queue
    seq          bigint,
    dchannel_id  bigint,           -- the channel chosen for it
    dmessage_id  bigint,
    bot          smallint not null,
    type         smallint not null,
    dstatus      smallint,         -- 0 not_delivered, 1 unknown, 2 delivered;
                                   -- null: see (lane, seq), queued without
    role         text,
    dreason      text,
    doc          text not null,
    primary key (guild_id, bot, id) include (type)
) partition by range (id);

create index on log_entry (guild_id, bot, type, id);
create index on log_entry (guild_id, bot, channel_id, id) include (type)
    where channel_id is not null;
create index on log_entry (guild_id, bot, executor_id, id)
    include (type, target_id) where executor_id is not null;
create index on log_entry (guild_id, bot, target_id, id)
    include (type, executor_id) where target_id is not null;
create index on log_entry (guild_id, bot, role, id) include (type)
    where role is not null;
create index on log_entry (guild_id, lane, seq) where lane is not null;

create table log_entry_default partition of log_entry default;

-- The events seen, recorded or dropped: the same one is taken once in 24 h.

create table log_event (
    guild_id     bigint not null,
    arrival      bigint not null,
    entry_id     bigint,           -- null: a rule dropped it
    recorded_at  timestamptz not null,
    bot          smallint not null,
    event_id     text not null collate "C",
    primary key (guild_id, bot, event_id, recorded_at)
) partition by range (recorded_at);

create index on log_event (guild_id, bot, arrival) include (entry_id)
    where entry_id is not null;

create table log_event_default partition of log_event default;

-- Every 256 entries of a (server, bot): how many of each type up to last_id.

create table log_checkpoint (
    guild_id  bigint not null,
    bot       smallint not null,
    last_id   bigint not null,
    cum       int[] not null,      -- cum[type + 1]
    primary key (guild_id, bot, last_id)
);
