-- Messages of which it could not be proved whether they were applied: for a day
-- it is looked whether it can be by now.

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


-- What was queued before there were lanes has no place in any, and would be
-- queued for ever. It ends; an operator may send it again.

update log_entry e
   set dstatus = 0, dreason = 'expired'
 where e.dstatus is null and e.lane is null
   and not exists (select from held_entry h
                    where h.guild_id = e.guild_id
                      and h.bot = e.bot
                      and h.id = e.id
                      and (h.lane is not null or not h.released));
