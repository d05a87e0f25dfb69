-- Reading the log: GET /logs.

-- A row of an answer. The first is the head: id is the status, doc what the
-- answer begins with, more whether there is another page. The others are
-- entries: doc is the finished JSON but for the delivery and the closing
-- brace; in a live tail seq is its arrival.

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


-- Entries as they are sent, the newest first: those of these ids, or where that
-- is null at most so many of a range of ids and of these types (null: all).

create or replace function log_rows_sent(guild bigint, bot smallint,
    ids bigint[], low bigint default null, high bigint default null,
    types smallint[] default null, most int default null)
returns setof log_row language plpgsql stable as $$
begin
    return query
        with e as materialized (
            select n.* from entries_named(guild, bot, ids) n
             where ids is not null
             union all
            select w.* from entries_within(guild, bot, low, high, types, most) w
             where ids is null
        )
        select e.id, null::boolean, delivery_word(d.status), d.reason,
               coalesce(d.channel_id, e.dchannel_id), d.message_id, e.doc,
               null::smallint, null::bigint, null::bigint
          from e
          join deliveries_of(guild, bot, array(
                   select row(o.id, o.type, o.dstatus, o.lane, o.seq,
                              o.dchannel_id, o.dmessage_id, o.dreason, null
                              )::log_found
                     from e o)) d on d.id = e.id
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

    return next row(200, more, null, state, null, null, head, null, null,
                    total)::log_row;
    return query select * from log_rows_sent(guild, bot, ids);
end $$;


-- GET /logs/{id}: the entry behind the head, if it may still be read.

create or replace function logs_one(token text, guild bigint, bot smallint,
    kind smallint, id bigint)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    lives  constant boolean := token_live(guild, token);
begin
    return next row(case when lives then 200 else 401 end, null, null, null,
                    null, null, null, null, null, null)::log_row;

    if lives and id >= id_at(wall_of(guild)) and id < log_high(ms(now()), null)
    then
        return query select * from log_rows_sent(guild, bot, array[id]);
    end if;
end $$;
