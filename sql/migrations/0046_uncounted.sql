-- The servers and bots of which entries wait to be counted, so that the keeper
-- looks at no others. Who records while this runs is listed a little later.

create table log_uncounted (
    guild_id  bigint not null,
    bot       smallint not null,
    primary key (guild_id, bot)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

insert into log_uncounted (guild_id, bot)
select h.guild_id, h.bot from log_head h where h.arrival - h.counted >= 128;
