-- Reading the log: GET /logs.

-- A row of an answer. The first is the head: id is the status, doc what the
-- answer begins with, more whether there is another page. The others are
-- entries: doc is the finished JSON but for the delivery and the closing
-- brace; in a live tail seq is its arrival.
--
-- A row without a status has several entries, as many as seq says, down to id:
-- in doc a line each, with what the entry says of its delivery behind a tab.
-- These are words: dstatus, and behind a letter (r)eason, (c)hannel, (m)essage,
-- (l)ane, (s)eq, as far as they are not null. Without dstatus it is what became
-- of its place (lane, seq) that is to be told. Rows without doc, behind all
-- entries, tell of places: from id to seq of that lane; or, without dstatus,
-- that up to id all of a lane is decided, what is in flight goes up to seq, and
-- what was refused for now up to message_id.
--
-- The module's statements end what comes of a function after 1 MiB, at the end
-- of an entry. So it is the total, seq in the head of a page, that tells
-- whether there is another page.

call type_make('log_row', $$
    id          bigint,
    more        boolean,
    status      text,      -- of the delivery
    reason      text,      -- in a head: the state of the page
    channel_id  bigint,    -- in a head: since, where the next one goes on
    message_id  bigint,
    doc         text,
    dstatus     smallint,
    lane        bigint,
    seq         bigint
$$);


-- Entries as they are sent, in the order of log_rows().

create or replace function log_rows_sent(q log_query, below bigint, most int,
    walk boolean)
returns setof log_row language plpgsql stable as $$
begin
    if deliveries_settled(q.guild, q.bot) then
        if q.ids is not null then
            return query
                select e.id, null::boolean, settled_word(e.dstatus),
                       settled_reason(e.dstatus, e.dreason), e.dchannel_id,
                       e.dmessage_id, e.doc, null::smallint, null::bigint,
                       null::bigint
                  from unnest(q.ids) i (id)
                 cross join lateral (   -- as log_entry_one(): see citus.sql
                       select x.* from log_entry x
                        where x.guild_id = q.guild and x.bot = q.bot
                          and x.id >= i.id and x.id <= i.id
                        order by x.id limit 1) e
                 order by e.id desc;
        else
            return query
                select e.id, null::boolean, settled_word(e.dstatus),
                       settled_reason(e.dstatus, e.dreason), e.dchannel_id,
                       e.dmessage_id, e.doc, null::smallint, null::bigint,
                       null::bigint
                  from log_rows(q, below, most, walk) e;
        end if;
        return;
    end if;

    return query
        with e as materialized (
            select * from log_rows(q, below, most, walk)
        )
        select e.id, null::boolean,
               coalesce(d.status, delivery_word(e.dstatus)),
               case when d.id is null then e.dreason else d.reason end,
               coalesce(d.channel_id, e.dchannel_id),
               case when d.id is null then e.dmessage_id else d.message_id end,
               e.doc, null::smallint, null::bigint, null::bigint
          from e
          left join deliveries_of(q.guild, q.bot, array(
                   select row(o.id, o.type, o.dstatus, o.lane, o.seq,
                              o.dchannel_id, o.dmessage_id, o.dreason, null
                              )::log_found
                     from e o
                    where o.dstatus is null
                       or o.dstatus < 2
                      and exists (select from replay r
                                   where r.guild_id = q.guild
                                     and r.bot = q.bot))) d on d.id = e.id
         order by e.id desc;
end $$;


-- How far back the server may be read now: the oldest time (ms).

create or replace function wall_of(guild bigint)
returns bigint language plpgsql stable as $$
begin
    return (select ms(now()) - retention_ms(s.plan) from server s
             where s.guild_id = guild);
end $$;


-- The page of a search or an export whose entries the module found, with what
-- it begins with. 409: entries went since search_open() said erased, and the
-- search has to begin again.

create or replace function logs_found(token text, guild bigint, bot smallint,
    kind smallint, ids bigint[], head text, total bigint, more boolean,
    state text, erased bigint default null)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    lives  constant boolean := token_live(guild, token);
    q      log_query := query_all(guild, bot, 0);
begin
    if not lives or exists (select from search_head s
                             where s.guild_id = guild
                               and s.bot = logs_found.bot
                               and s.erased <> logs_found.erased)
    then
        return next row(case when lives then 409 else 401 end, null, null,
                        null, null, null, null, null, null, null)::log_row;
        return;
    end if;

    q.ids := ids;

    return next row(200, more, null, state, null, null, head, null, null,
                    total)::log_row;
    return query select * from log_rows_sent(q, null, null, null);
end $$;


-- GET /logs/{id}: the entry behind the head, if it may still be read.

create or replace function logs_one(token text, guild bigint, bot smallint,
    kind smallint, id bigint)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    lives  constant boolean := token_live(guild, token);
    q      log_query := query_of(guild, bot, wall_of(guild), null, null, null);
begin
    return next row(case when lives then 200 else 401 end, null, null, null,
                    null, null, null, null, null, null)::log_row;

    if lives and id >= q.low and id < q.high then
        q.ids := array[id];
        return query select * from log_rows_sent(q, null, null, null);
    end if;
end $$;


-- GET /logs of some types: the rows of a LogPage, of the entries below the
-- position.

create or replace function logs_page(token text, guild bigint, bot smallint,
    kind smallint, after bigint, before bigint, category text[], type int[],
    most int, below bigint, known text default null)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    at      constant bigint := ms(now());
    wall    bigint;
    walled  boolean;
    state   text;
    q       log_query;
    total   log_total;
    part    float8;
    floor   bigint;
    n       int;
begin
    select at - retention_ms(s.plan),
           page_state(h.xmin || ' ' || h.arrival, s.plan)
      into wall, state
      from server s
      left join log_head h on h.guild_id = guild and h.bot = logs_page.bot
     where s.guild_id = guild
       and (exists (select from token t
                     where t.guild_id = guild
                       and t.token_id = token
                       and t.revoked_at is null
                       and t.expires_at > now())
            or session_live(guild, token));

    if not found or page_holds(known, state, at) then
        return next row(case when wall is null then 401 else 304 end, null,
                        null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    walled := coalesce(after < wall - 1 or below < id_at(wall), false);
    q := query_of(guild, bot, wall, after, before, types_of(category, type));
    state := page_known(state, at - wall,
                        log_oldest(guild, bot, q.low, q.high), walled, after,
                        below);
    below := least(below, q.high);
    total := log_sum(q, log_span(q, below), type);

    return next row(200, total.total > most, null, state, null, null, format(
        '{"total":%s,"retentionMs":%s,"walled":%s,"categoryCounts":%s',
        total.total, at - wall, walled::text, total.categories),
        null, null, total.total)::log_row;

    most := least(most, total.total);
    part := 16.0 * most / nullif(total.total, 0);
    floor := q.low;
    q.low := log_slice(floor, below, part);

    while most > 0 loop
        return query select * from log_rows_sent(
            q, below, most, total.total * 20 >= total.passed);

        get diagnostics n = row_count;
        exit when q.low <= floor;
        most := most - n;
        below := q.low;
        part := part * 16;
        q.low := log_slice(floor, below, part);
    end loop;
end $$;


-- Where the newest part of a range of ids begins. Only the partitions of what
-- is looked at need to be opened, so a page looks first where it would end if
-- its entries were spread evenly.

create or replace function log_slice(low bigint, high bigint, part float8)
returns bigint language plpgsql stable as $$
declare
    top  constant bigint := least(high, id_at(ms(now())));
begin
    if part >= 1 or top <= low then
        return low;
    end if;

    return top - ((top - low) * part)::bigint;
end $$;
