-- Finding entries: one statement for each shape of a query, so that each has
-- a plan of its own and an index to walk from the newest entry down.

call type_make('log_query', $$
    guild     bigint,
    bot       smallint,
    low       bigint,       -- the first id inside
    high      bigint,       -- the first one beyond
    types     smallint[],   -- null: all
    channel   bigint,
    member    bigint,
    side      text,         -- of the member: executor, target, either
    role      text,         -- folded
    part      text,         -- the search, trimmed and folded; null: none
    words     text[],       -- of it
    patterns  text[],       -- of these
    needle    text,
    ascii     boolean,      -- the needle is
    bare      boolean,      -- id and type are enough
    ids       bigint[]      -- these are the entries, nothing else counts
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


call type_make('log_mark', $$
    id    bigint,
    type  smallint
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
    search text, after bigint, before bigint, types smallint[],
    channel bigint, member bigint, member_role text, role text)
returns log_query language plpgsql stable as $$
declare
    q  log_query;
begin
    q.guild := guild;
    q.bot := bot;
    q.low := id_at(greatest(after + 1, wall));
    q.high := log_high(ms(now()), before);
    q.types := types;
    q.channel := channel;
    q.member := member;
    q.side := coalesce(member_role, 'either');
    q.role := fold(role);

    if search is not null then
        q.part := fold(regexp_replace(search collate "und-x-icu",
                       '^[[:space:]]+|[[:space:]]+$', '', 'g'));
        q.words := words_of(q.part);
        q.patterns := word_patterns(q.words);
        q.needle := search_needle(q.words, q.part);
        q.ascii := q.needle ~ '^[\u0001-\u007f]*$';
    end if;

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


-- What the walk along one index cannot tell.

create or replace function entry_fits(type smallint, channel bigint,
    role text, doc text, q log_query)
returns boolean language sql immutable as $$
    select (q.types is null or type = any (q.types))
       and (q.channel is null or channel = q.channel)
       and (q.role is null or strpos(fold(role), q.role) > 0)
       and (q.part is null
            or doc_holds(doc, q.needle, q.ascii)
               and entry_found(doc, q.patterns, q.part))
$$;


-- A row is spelt out for it, row(e.*): where tables are spread over machines,
-- the rows of a part are of a type of its own.

create or replace function log_columns(e log_entry, q log_query)
returns log_found language sql immutable as $$
    select row(e.id, e.type, e.dstatus, e.lane, e.seq, e.dchannel_id,
               e.dmessage_id, e.dreason,
               case when q.bare then null else e.doc end)
$$;


-- The newest entries of the query below the position, at most so many (null:
-- all). walk: several types together are frequent enough to be met on the
-- way; otherwise each is looked for by itself.

create or replace function log_rows(q log_query, below bigint, most int,
    walk boolean default true)
returns setof log_found language plpgsql stable as $$
begin
    if q.ids is not null then
        return query
            select (log_columns(row(e.*)::log_entry, q)).*
              from unnest(q.ids) i (id)
             cross join lateral log_entry_one(q.guild, q.bot, i.id) e
             order by e.id desc;

    elsif q.member is not null then
        return query select * from log_rows_member(q, below, most);

    elsif q.channel is not null then
        return query
            select (log_columns(row(e.*)::log_entry, q)).*
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.channel_id = q.channel
               and e.id >= q.low and e.id < below
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
             order by e.id desc limit most;

    elsif q.role is not null then
        return query
            select f.*
              from log_roles(q) r (role)
             cross join lateral (
                   select (log_columns(row(e.*)::log_entry, q)).*
                     from log_entry e
                    where e.guild_id = q.guild and e.bot = q.bot
                      and e.role = r.role
                      and e.id >= q.low and e.id < below
                      and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                    order by e.id desc limit most) f
             order by f.id desc limit most;

    elsif cardinality(q.types) = 1 or not walk then
        return query
            select f.*
              from unnest(q.types) t (type)
             cross join lateral (
                   select (log_columns(row(e.*)::log_entry, q)).*
                     from log_entry e
                    where e.guild_id = q.guild and e.bot = q.bot
                      and e.type = t.type
                      and e.id >= q.low and e.id < below
                      and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                    order by e.id desc limit most) f
             order by f.id desc limit most;

    else
        return query
            select (log_columns(row(e.*)::log_entry, q)).*
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.id >= q.low and e.id < below
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
             order by e.id desc limit most;
    end if;
end $$;


-- Is a channel, or a member, all that the query asks for?

create or replace function log_alone(q log_query)
returns boolean language plpgsql immutable as $$
begin
    return num_nonnulls(q.channel, q.member) = 1
       and num_nonnulls(q.types, q.role, q.part, q.ids) = 0;
end $$;


-- The same as log_rows() then, without a condition that has to be made ready
-- for every partition.

create or replace function log_rows_alone(q log_query, below bigint,
    most int)
returns setof log_found language plpgsql stable as $$
begin
    if q.channel is not null then
        return query
            select e.id, e.type, e.dstatus, e.lane, e.seq, e.dchannel_id,
                   e.dmessage_id, e.dreason, e.doc
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.channel_id = q.channel
               and e.id >= q.low and e.id < below
             order by e.id desc limit most;

    elsif q.side = 'executor' then
        return query
            select e.id, e.type, e.dstatus, e.lane, e.seq, e.dchannel_id,
                   e.dmessage_id, e.dreason, e.doc
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.executor_id = q.member
               and e.id >= q.low and e.id < below
             order by e.id desc limit most;

    elsif q.side = 'target' then
        return query
            select e.id, e.type, e.dstatus, e.lane, e.seq, e.dchannel_id,
                   e.dmessage_id, e.dreason, e.doc
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.target_id = q.member
               and e.id >= q.low and e.id < below
             order by e.id desc limit most;

    else
        return query
            select f.*
              from ((select e.id, e.type, e.dstatus, e.lane, e.seq,
                             e.dchannel_id, e.dmessage_id, e.dreason, e.doc
                       from log_entry e
                      where e.guild_id = q.guild and e.bot = q.bot
                        and e.executor_id = q.member
                        and e.id >= q.low and e.id < below
                      order by e.id desc limit most)
                    union all
                    (select e.id, e.type, e.dstatus, e.lane, e.seq,
                             e.dchannel_id, e.dmessage_id, e.dreason, e.doc
                       from log_entry e
                      where e.guild_id = q.guild and e.bot = q.bot
                        and e.target_id = q.member
                        and e.executor_id is distinct from q.member
                        and e.id >= q.low and e.id < below
                      order by e.id desc limit most)) f
             order by f.id desc limit most;
    end if;
end $$;


-- Either side is two walks: a condition with "or" would take one along
-- neither index.

create or replace function log_rows_member(q log_query, below bigint,
    most int)
returns setof log_found language plpgsql stable as $$
begin
    if q.side = 'executor' then
        return query
            select (log_columns(row(e.*)::log_entry, q)).*
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.executor_id = q.member
               and e.id >= q.low and e.id < below
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
             order by e.id desc limit most;

    elsif q.side = 'target' then
        return query
            select (log_columns(row(e.*)::log_entry, q)).*
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.target_id = q.member
               and e.id >= q.low and e.id < below
               and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
             order by e.id desc limit most;

    else
        return query
            select f.*
              from ((select (log_columns(row(e.*)::log_entry, q)).*
                       from log_entry e
                      where e.guild_id = q.guild and e.bot = q.bot
                        and e.executor_id = q.member
                        and e.id >= q.low and e.id < below
                        and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                      order by e.id desc limit most)
                    union all
                    (select (log_columns(row(e.*)::log_entry, q)).*
                       from log_entry e
                      where e.guild_id = q.guild and e.bot = q.bot
                        and e.target_id = q.member
                        and e.executor_id is distinct from q.member
                        and e.id >= q.low and e.id < below
                        and entry_fits(e.type, e.channel_id, e.role, e.doc, q)
                      order by e.id desc limit most)) f
             order by f.id desc limit most;
    end if;
end $$;


-- The roles of the window's entries that hold the one asked for: a step of the
-- index for each that there is. Behind the 500th one look at the index of the
-- others costs less than as many steps, each in every partition.

create or replace function log_roles(q log_query)
returns setof text language plpgsql stable as $$
declare
    one  text := '';
begin
    for step in 1 .. 500 loop
        select e.role into one from log_entry e
         where e.guild_id = q.guild and e.bot = q.bot
           and e.role > one
           and e.id >= q.low and e.id < q.high
         order by e.role limit 1;

        if not found then
            return;
        end if;

        if strpos(fold(one), q.role) > 0 then
            return next one;
        end if;
    end loop;

    return query
        select d.role
          from (select distinct e.role from log_entry e
                 where e.guild_id = q.guild and e.bot = q.bot
                   and e.role > one
                   and e.id >= q.low and e.id < q.high) d
         where strpos(fold(d.role), q.role) > 0;
end $$;


create or replace function entry_has_member(executor bigint, target bigint,
    q log_query)
returns boolean language sql immutable as $$
    select q.member is null
        or q.side <> 'target' and executor is not distinct from q.member
        or q.side <> 'executor' and target is not distinct from q.member
$$;
