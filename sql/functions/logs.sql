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


-- Entries as they are sent, in the order of log_rows().

create or replace function log_rows_sent(q log_query, below bigint, most int,
    walk boolean)
returns setof log_row language sql stable as $$
    with e as materialized (
        select * from log_rows(q, below, most, walk)
    )
    select e.id, null::boolean, coalesce(d.status, delivery_word(e.dstatus)),
           case when d.id is null then e.dreason else d.reason end,
           coalesce(d.channel_id, e.dchannel_id),
           case when d.id is null then e.dmessage_id else d.message_id end,
           e.doc
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
     order by e.id desc
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
    counts  log_count[];
    total   log_total;
    part    float8;
    floor   bigint;
    n       int;
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
        select s.* into counts, q.ids
          from search_page(q, type::smallint[], below, most) s;
    end if;

    total := log_sum(counts, type, q.types);

    return next row(200, total.total > most, null, null, null, null, format(
        '{"total":%s,"retentionMs":%s,"walled":%s,"categoryCounts":%s',
        total.total, ms(now()) - wall, to_json(walled), total.categories)
        )::log_row;

    most := least(most, total.total);
    part := 16.0 * most / nullif(total.total, 0);
    floor := q.low;

    -- where most are of other types, these are passed over in the index

    if q.types is not null and total.total * 12 < total.passed
       and num_nonnulls(q.channel, q.member) = 1
       and num_nonnulls(q.role, q.part) = 0
    then
        q.ids := log_ids(q, below, most);
        part := 1;
    end if;

    while most > 0 loop
        q.low := log_slice(floor, below, part);
        return query select * from log_rows_sent(
            q, below, most, total.total * 20 >= total.passed);

        get diagnostics n = row_count;
        exit when q.low <= floor;
        most := most - n;
        below := q.low;
        part := part * 16;
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
