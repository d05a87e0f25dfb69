-- Finding entries: one statement for each shape of a query, so that each has
-- a plan of its own and an index to walk from the newest entry down.

call type_make('log_query', $$
    guild  bigint,
    bot    smallint,
    low    bigint,       -- the first id inside
    high   bigint,       -- the first one beyond
    types  smallint[],   -- null: all
    ids    bigint[]      -- these are the entries, nothing else counts
$$);

call type_make('log_found', $$
    id           bigint,
    type         smallint,
    dstatus      smallint,
    lane         bigint,
    seq          bigint,
    dchannel_id  bigint,
    dmessage_id  bigint,
    dreason      text,
    doc          text
$$);


-- One entry, by the primary key: see "Planner tricks" in sql/README.md.

create or replace function log_entry_one(guild bigint, bot smallint,
    id bigint)
returns setof log_entry language sql stable as $$
    select e.* from log_entry e
     where e.guild_id = guild and e.bot = log_entry_one.bot
       and e.id >= log_entry_one.id and e.id <= log_entry_one.id
     order by e.id limit 1
$$;


-- The first id of that time (ms), or of the nearest that an id can have.

create or replace function id_at(at bigint)
returns bigint language sql immutable as $$
    select case when at is not null
           then time_id(least(greatest(at, 1420070400000), 3619093655551)) end
$$;


-- The first id beyond what may be read: later partitions need not be opened. No
-- entry is recorded more than a minute ahead, but by a clock that was wrong:
-- one that took local time for UTC was at most 14 hours ahead.

create or replace function log_high(now bigint, before bigint)
returns bigint language sql immutable as $$
    select least(id_at(before), id_at(now + 50400000))
$$;


-- The types of these categories; with both given, what both allow.

create or replace function types_of(category text[], type int[])
returns smallint[] language plpgsql stable as $$
begin
    if category is null then
        return type;
    end if;

    return array(select t.id from log_type t
                  where t.category = any (types_of.category)
                    and (types_of.type is null
                         or t.id = any (types_of.type)));
end $$;


-- The query of these parameters. wall: the oldest time (ms) that may be read.

create or replace function query_of(guild bigint, bot smallint, wall bigint,
    after bigint, before bigint, types smallint[])
returns log_query language plpgsql stable as $$
declare
    q  log_query;
begin
    q.guild := guild;
    q.bot := bot;
    q.low := id_at(greatest(after + 1, wall));
    q.high := log_high(ms(now()), before);
    q.types := types;
    return q;
end $$;


-- That of everything from an id on.

create or replace function query_all(guild bigint, bot smallint, low bigint)
returns log_query language plpgsql immutable as $$
declare
    q  log_query;
begin
    q.guild := guild;
    q.bot := bot;
    q.low := low;
    return q;
end $$;


-- The newest entries of the query below the position, at most so many (null:
-- all). walk: several types together are frequent enough to be met on the
-- way; otherwise each is looked for by itself.

create or replace function log_rows(q log_query, below bigint, most int,
    walk boolean)
returns setof log_found language plpgsql stable as $$
begin
    if q.ids is not null then
        return query
            select e.id, e.type, e.dstatus, e.lane, e.seq, e.dchannel_id,
                   e.dmessage_id, e.dreason, e.doc
              from unnest(q.ids) i (id)
             cross join lateral (   -- as log_entry_one(): see citus.sql
                   select x.* from log_entry x
                    where x.guild_id = q.guild and x.bot = q.bot
                      and x.id >= i.id and x.id <= i.id
                    order by x.id limit 1) e
             order by e.id desc;

    elsif cardinality(q.types) = 1 or not walk then
        return query
            select f.*
              from unnest(q.types) t (type)
             cross join lateral (
                   select e.id, e.type, e.dstatus, e.lane, e.seq,
                          e.dchannel_id, e.dmessage_id, e.dreason, e.doc
                     from log_entry e
                    where e.guild_id = q.guild and e.bot = q.bot
                      and e.type = t.type
                      and e.id >= q.low and e.id < below
                    order by e.id desc limit most) f
             order by f.id desc limit most;

    else
        return query
            select e.id, e.type, e.dstatus, e.lane, e.seq, e.dchannel_id,
                   e.dmessage_id, e.dreason, e.doc
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.id >= q.low and e.id < below
               and (q.types is null or e.type = any (q.types))
             order by e.id desc limit most;
    end if;
end $$;
