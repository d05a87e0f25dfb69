-- Reading the log: GET /logs.

drop type if exists log_row, log_total cascade;

-- A row of an answer. The first is the head: id is the status, doc what the
-- answer begins with, more whether there is another page. The others are
-- entries: doc is the finished JSON but for the delivery and the closing
-- brace.

create type log_row as (
    id          bigint,
    more        boolean,
    status      text,      -- of the delivery
    reason      text,
    channel_id  bigint,    -- in a head: since, where the next one goes on
    message_id  bigint,
    doc         text
);

create type log_total as (
    total       bigint,    -- of the query, below the position
    passed      bigint,    -- entries below the position, whatever their type
    categories  text       -- JSON
);


-- What has become of an entry's delivery. Without a status of its own it is
-- held, as long as an active ignore request may still remove it, then what its
-- lane says. If that is not that it was delivered, and is not to change any
-- more, it may have been sent again: then what is said there.

create or replace function delivery_of(guild bigint, bot smallint,
    e log_found)
returns table (status text, reason text, channel_id bigint, message_id bigint)
language plpgsql stable as $$
declare
    held  held_entry;
    done  record;
begin
    if e.dstatus is not null then
        return query
            select * from delivery_again(guild, bot, e.id, e.dstatus,
                              e.dreason, e.dchannel_id, e.dmessage_id);
        return;
    end if;

    if e.dreason = 'held' then
        select * into held from held_entry h
         where h.guild_id = guild and h.bot = delivery_of.bot
           and h.id = e.id;
    end if;

    if coalesce(e.lane, held.lane) is null then
        return query
            select delivery_word(0::smallint),
                   case when held.until > clock_timestamp() then 'held'
                        else 'queued' end,
                   e.dchannel_id, e.dmessage_id;
        return;
    end if;

    done := lane_delivery(guild, coalesce(e.lane, held.lane),
                          coalesce(e.seq, held.seq),
                          to_timestamp(id_time(e.id) / 1000.0));
    return query
        select * from delivery_again(guild, bot, e.id, done.status,
                          done.reason, e.dchannel_id, done.message_id);
end $$;


create or replace function delivery_again(guild bigint, bot smallint,
    id bigint, code smallint, why text, channel bigint, message bigint,
    out status text, out reason text, out channel_id bigint,
    out message_id bigint)
language plpgsql stable as $$
declare
    again  replay;
    done   record;
begin
    status := delivery_word(code);
    reason := why;
    channel_id := channel;
    message_id := message;

    if code = 2 or why in ('queued', 'retrying', 'in_flight') then
        return;
    end if;

    select * into again from replay r
     where r.guild_id = guild and r.bot = delivery_again.bot
       and r.id = delivery_again.id;

    if found then
        done := lane_delivery(guild, again.lane, again.seq, again.at);
        status := delivery_word(done.status);
        reason := done.reason;
        message_id := done.message_id;
        channel_id := (select l.channel_id from lane l
                        where l.guild_id = guild and l.lane = again.lane);
    end if;
end $$;


create or replace function delivery_word(status smallint)
returns text language sql immutable as $$
    select (array['not_delivered', 'unknown', 'delivered'])[status + 1]
$$;


-- Entries as they are sent, in the order of log_rows().

create or replace function log_rows_sent(q log_query, below bigint, most int,
    walk boolean)
returns setof log_row language sql stable as $$
    select e.id, null::boolean, d.status, d.reason, d.channel_id,
           d.message_id, e.doc
      from log_rows(q, below, most, walk) e
     cross join lateral delivery_of(q.guild, q.bot, e) d
$$;


-- How far back the server may be read now: the oldest time (ms).

create or replace function wall_of(guild bigint)
returns bigint language plpgsql stable as $$
begin
    return (select ms(now()) - retention_ms(s.plan) from server s
             where s.guild_id = guild);
end $$;


-- Sums up: entries of these types (null: all) below the position, and those
-- of the types asked for by category.

create or replace function log_sum(counts log_count[], asked int[],
    types smallint[])
returns log_total language plpgsql stable as $$
declare
    total  log_total;
begin
    select coalesce(sum(c.total), 0), coalesce(sum(c.rest), 0),
           '{' || coalesce(string_agg('"' || c.category || '":' || c.n, ',')
                               filter (where c.n > 0), '') || '}'
      into total
      from (select t.category, sum(l.rest) as rest,
                   sum(l.rest) filter (where types is null
                                       or l.type = any (types)) as total,
                   sum(l.n) filter (where asked is null
                                    or l.type = any (asked)) as n
              from unnest(counts) l
              join log_type t on t.id = l.type
             group by t.category) c;

    return total;
end $$;


-- GET /logs: the rows of a LogPage, of the entries below the position.

create or replace function logs_page(token text, guild bigint, bot smallint,
    kind smallint, search text, after bigint, before bigint, category text[],
    type int[], channel bigint, member bigint, member_role text, role text,
    most int, below bigint)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    wall    bigint;
    walled  boolean;
    q       log_query;
    marks   log_mark[];
    counts  log_count[];
    total   log_total;
begin
    if not token_live(guild, token) then
        return next row(401, null, null, null, null, null, null)::log_row;
        return;
    end if;

    wall := wall_of(guild);
    walled := coalesce(after < wall - 1 or below < id_at(wall), false);
    q := query_of(guild, bot, wall, search, after, before,
                  types_of(category, type), channel, member, member_role,
                  role);
    below := least(below, q.high);

    if q.part is null then
        counts := log_counts(q, below);
    else
        marks := log_marks(q, type::smallint[]);
        counts := log_counts_marked(marks, below);
        q.ids := log_ids_marked(marks, q.types, below, most);
    end if;

    total := log_sum(counts, type, q.types);

    return next row(200, total.total > most, null, null, null, null, format(
        '{"total":%s,"retentionMs":%s,"walled":%s,"categoryCounts":%s',
        total.total, ms(now()) - wall, to_json(walled), total.categories)
        )::log_row;

    return query select * from log_rows_sent(
        q, below, most, total.total * 20 >= total.passed);
end $$;
