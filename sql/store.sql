-- The tables of the store but for log_head: for 0061_tables.sql and
-- 0061_earlier.sql.

-- Whoever changes blocks of a (server, bot) holds its row, and takes it before
-- that of log_head. Recording never does.

create table log_made (
    guild_id  bigint not null,
    bot       smallint not null,
    primary key (guild_id, bot)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

-- What arrived, in the order of commits and without a gap. Also what a rule
-- dropped, or a request took back: then there is no id and no document, but the
-- same event is not taken again for 24 hours. Columns by their width, so that
-- none is padded.

create table log_arrival (
    guild_id     bigint not null,
    arrival      bigint not null,
    recorded_at  timestamptz not null,  -- ascends with arrival, as a rule
    id           bigint,
    lane         bigint,                -- its place in the queue of a channel
    seq          bigint,
    dchannel_id  bigint,                -- the channel chosen for it
    held_to      timestamptz,           -- held for active ignore until then
    bot          smallint not null,
    type         smallint not null,
    dstatus      smallint,              -- 0: it goes nowhere; null: see (lane,
                                        -- seq); queued without
    dreason      text,
    event_id     text not null collate "C",
    doc          text,
    primary key (guild_id, bot, arrival, recorded_at)
) partition by range (recorded_at);

-- Without bot: else it would cost as much as the primary key where nothing is
-- known of a young partition, and all events of a server be read for what is
-- hot.

create index on log_arrival (guild_id, event_id);
create index on log_arrival (guild_id, lane, seq) where lane is not null;
create index on log_arrival (guild_id, bot, arrival) where held_to is not null;
create index on log_arrival (guild_id) where dstatus < 2;

-- Entries of one day, ascending by id: at each place of the five their id, type
-- (one character), document and what is said of their delivery (see
-- log_said()).

create table log_block (
    guild_id  bigint not null,
    first_id  bigint not null,
    last_id   bigint not null,
    kinds0    bigint not null,          -- the types there are, a bit each: up
    kinds1    bigint not null,          --   to 61, and from 62 on
    day       int not null,             -- since 2015
    settle    int,                      -- the day on which deliveries are
                                        --   looked up; null: all are said
    bot       smallint not null,
    n         smallint not null,
    lost      boolean not null,         -- it is said that some did not arrive
    types     text not null collate "C",
    ids       bigint[] not null,
    said      text not null collate "C",
    docs      text not null,
    primary key (guild_id, bot, first_id)
);

alter table log_block
    alter types set storage plain, alter ids set storage plain,
    alter said set compression lz4, alter docs set compression lz4;

create index on log_block (settle) where settle is not null;
create index on log_block (guild_id, bot, day) where lost;

-- How many entries of each type the blocks of a day have: n << 7 | type, as the
-- text of an array, which a page does not have to make.

create table log_day (
    guild_id  bigint not null,
    bot       smallint not null,
    day       int not null,
    counts    text not null collate "C",
    primary key (guild_id, bot, day)
) with (fillfactor = 70);

create index on log_day (day);

-- Who did something, and the last entry that is in a block.

create table log_actor (
    guild_id     bigint not null,
    bot          smallint not null,
    executor_id  bigint not null,
    last_id      bigint not null,
    primary key (guild_id, bot, executor_id)
) with (fillfactor = 70);
