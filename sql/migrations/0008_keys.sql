-- Checkpoints of keys, and late events that repair checkpoints.


-- What checkpoints count: everything (kind 0, key 0), or the entries of a
-- channel (1), of a member as their executor (2) or as their target (3).

alter table log_checkpoint
    add column kind smallint not null default 0 check (kind between 0 and 3),
    add column key bigint not null default 0,
    drop constraint log_checkpoint_pkey;
alter table log_checkpoint
    add primary key (guild_id, bot, kind, key, last_id);

comment on table log_checkpoint is
    'cum[type + 1] counts the entries of that (guild_id, bot, kind, key) with '
    'an id up to last_id, cum[type + 103] of a target those whose executor is '
    'somebody else. The difference of two rows, and of the corrections '
    'between them, is exactly what lies between them, at any moment and in '
    'any snapshot. It holds between rows inside of what is kept, so a range '
    'that begins at id a is counted from the first row with last_id >= a, and '
    'the entries outside of rows one by one. There need not be any row.';


-- What changed the past: the rows of that (guild_id, bot, kind, key) from id
-- on, and there is one, are short of n at that place of cum.

create table log_correction (
    guild_id  bigint not null,
    bot       smallint not null,
    kind      smallint not null,
    key       bigint not null,
    id        bigint not null,
    place     smallint not null,
    n         int not null,
    primary key (guild_id, bot, kind, key, id, place)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);


-- Keys that came up often, and how many entries they have had since they were
-- noticed; heavy ones, which have checkpoints, since the last of these.

create table log_key (
    guild_id    bigint not null,
    bot         smallint not null,
    kind        smallint not null,
    key         bigint not null,
    heavy       boolean not null default false,
    n           bigint not null,
    noticed_at  timestamptz not null default now(),
    primary key (guild_id, bot, kind, key)
) with (fillfactor = 50);


-- Up to where the entries were looked at for keys; and a hint as counted is,
-- so many of those that are counted were.

alter table log_head add column keyed_id bigint not null default 0;
alter table log_head add column keyed bigint not null default 0;
