-- What events need: what was said, what is known of people and things, and the
-- packets that wait for each other. guild_id leads each key.

-- It changes with each batch of events of the server, and with each end of its
-- pairs: who read with another version reads again.

create table event_head (
    guild_id  bigint primary key,
    version   bigint not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

-- Messages, by the time in their ids: partitions are dropped whole.

create table said (
    guild_id    bigint not null,
    id          bigint not null,
    author_id   bigint not null,
    channel_id  bigint not null,
    doc         text not null,            -- '': it was deleted
    primary key (guild_id, id)
) partition by range (id);

create table said_long (like said including all) partition by range (id);

create table known (
    guild_id  bigint not null,
    kind      smallint not null,          -- 4 what a member was, 5 a voice
                                          -- state, 6 the server, 7 a thing
    id        bigint not null,
    doc       text not null,
    primary key (guild_id, kind, id)
) with (fillfactor = 70);

-- No index has what changes, so that an update stays in its page.

create table pair (
    guild_id    bigint not null,
    bot         smallint not null,
    event_id    text not null collate "C",
    kind        smallint not null,
    audit       boolean not null,         -- the audit log's, or the gateway's
    state       smallint not null,        -- 0 it waits, 1 it has ended
    at          bigint not null,          -- ms since the epoch
    due         bigint not null,
    channel_id  bigint,
    target_id   bigint,
    person_id   bigint,
    count       int,
    doc         text not null,            -- the entry; '': it only spoils
    primary key (guild_id, bot, event_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

create index on pair (due);
create index on pair (guild_id, person_id, at) where person_id is not null;
