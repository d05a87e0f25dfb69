-- The order in which entries arrived, when their events are gone: of each so
-- many arrivals the ids. What came much later than it happened is by itself, so
-- that all the others lie close together.

create table log_order (
    guild_id  bigint not null,
    bot       smallint not null,
    upto      bigint not null,         -- the last arrival; the first one is
                                       --   behind that of the row before
    low       bigint not null,         -- the ids are within these, but for
    high      bigint not null,         --   what came late
    primary key (guild_id, bot, upto)
);

create table log_late (
    guild_id  bigint not null,
    bot       smallint not null,
    arrival   bigint not null,
    id        bigint not null,
    primary key (guild_id, bot, arrival) include (id)
);

-- Up to the beginning of which day the order is kept, and where that is yet to
-- be done the last (server, bot) of which it is.

create table order_round (
    it        boolean primary key default true check (it),   -- the only one
    day       date not null,
    guild_id  bigint,
    bot       smallint
);
