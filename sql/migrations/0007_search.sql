-- The index that searches use.
--
-- Entries are put into runs of up to 256 in the order in which they arrived,
-- never in that of their ids: an entry that comes late is in a late run, and
-- what is written stays right for ever. Its place in the run and the run's
-- number are the address of an entry. A segment is one run (level 0) or 16
-- segments of the level below. A mark is 128 times the address of an entry
-- within its segment, and its type: so a list of marks tells what it counts.

create table search_head (
    guild_id     bigint not null,
    bot          smallint not null,
    arrival      bigint not null default 0,  -- all up to it are in runs
    round_to     bigint,           -- those up to it are being put in by id,
    round_id     bigint,           --   done up to this one
    seen_at      timestamptz not null default '-infinity',
                                   -- what arrived later came after it
    runs         int not null default 0,     -- made so far
    strings      int not null default 0,     -- numbers given
    merge_level  smallint,         -- the level that is being merged,
    merge_first  int,              --   the first run of what it becomes,
    merge_step   int,              --   the next bucket to be done
    primary key (guild_id, bot)
) with (fillfactor = 50);

create table search_run (
    guild_id  bigint not null,
    bot       smallint not null,
    run       int not null,
    ids       bigint[] not null,
    types     smallint[] not null,
    primary key (guild_id, bot, run)
);

alter table search_run alter ids set storage main, alter types set storage main;

create table search_segment (
    guild_id    bigint not null,
    bot         smallint not null,
    level       smallint not null,
    first       int not null,            -- its first run
    low         bigint not null,         -- its ids are within these
    high        bigint not null,
    lows        bigint[] not null,       -- the same of each run
    highs       bigint[] not null,
    categories  bit varying[] not null,  -- one bit for each address
    primary key (guild_id, bot, level, first)
);

-- Terms are words, and the numbers of strings after a "#". Those with few
-- marks in a segment share a row with others of their bucket.

create table search_term (
    guild_id  bigint not null,
    bot       smallint not null,
    level     smallint not null,
    bucket    smallint not null,
    first     int not null,
    terms     text[] collate "C" not null,
    ends      int[] not null,            -- where in marks each one's end
    marks     int[] not null,
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
    counts    int[] not null,    -- 128 times the number, and the type
    marks     int[],
    bits      bit varying,       -- instead of marks, where they are many
    primary key (guild_id, bot, level, bucket, term, first)
);

-- The distinct names, roles and reasons of a server's entries, folded, and the
-- words of the long ones: a query that is one word is a part of a string
-- exactly if it is a part of one of its words, and these are far fewer.

create table search_string (
    guild_id  bigint not null,
    bot       smallint not null,
    number    int not null,
    run       int not null,      -- it is in none above this one and 4096 more
    kind      smallint not null, -- 0 a string, 1 one of many words,
                                 -- 2 a word of those
    string    text not null,
    primary key (guild_id, bot, number)
);

create index on search_string (guild_id, bot, kind,
                               hashtextextended(string, 0));
create index on search_string
    using gin (guild_id, bot, kind, string gin_trgm_ops)
    with (fastupdate = off);
