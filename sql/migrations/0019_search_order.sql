-- A segment has its entries by category, type and id, so what is found in it
-- is counted by where it stands. A mark is the place of an entry, the first of
-- a segment is -32768. The keeper makes the index anew.

drop table search_run, search_segment, search_term, search_common;
truncate search_head, search_string;

create table search_place (
    guild_id  bigint not null,
    bot       smallint not null,
    level     smallint not null,
    first     int not null,
    chunk     smallint not null,         -- of 256 places
    ids       bigint[] not null,
    primary key (guild_id, bot, level, first, chunk)
);

alter table search_place alter ids set storage main;

create table search_segment (
    guild_id   bigint not null,
    bot        smallint not null,
    level      smallint not null,
    first      int not null,             -- its first run
    low        bigint not null,          -- its ids are within these
    high       bigint not null,
    lows       bigint[] not null,        -- the same of each chunk
    highs      bigint[] not null,
    types      smallint[] not null,      -- those it has,
    ends       int[] not null,           --   and the last place of each
    kinds      smallint[] not null,      -- a type of each category,
    kind_ends  int[] not null,           --   and its last place
    places     smallint[],               -- in what it is being merged into
    primary key (guild_id, bot, level, first)
);

create table search_term (
    guild_id  bigint not null,
    bot       smallint not null,
    level     smallint not null,
    bucket    smallint not null,
    first     int not null,
    terms     text[] collate "C" not null,
    ends      int[] not null,            -- where in marks each one's end
    marks     smallint[] not null,
    primary key (guild_id, bot, level, bucket, first)
);

alter table search_term
    alter terms set storage main, alter marks set storage main;

create table search_common (
    guild_id  bigint not null,
    bot       smallint not null,
    level     smallint not null,
    bucket    smallint not null,
    first     int not null,
    term      text not null collate "C",
    counts    int[] not null,            -- 128 times the number, and the type
    marks     smallint[],
    bits      bit varying,               -- instead of marks at level 2
    primary key (guild_id, bot, level, bucket, term, first)
);
