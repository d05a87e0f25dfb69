-- Reading the log from end to end.


-- GET /logs/export: so many of the entries below the position, newest first, or
-- with ids these entries. What was taken back meanwhile, or expired, is left
-- out. The first time since is null; its head says it (an id, so that the
-- window of all chunks is one), and has in doc what version 0.1 makes its rows
-- with.

create or replace function logs_export(token text, guild bigint,
    bot smallint, kind smallint, after bigint, before bigint, category text[],
    type int[], locale text, since bigint, below bigint, most int,
    ids bigint[] default null)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    q  log_query;
begin
    if not token_live(guild, token) then
        return next row(401, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    q := query_of(guild, bot, wall_of(guild), after, before,
                  types_of(category, type));
    q.low := coalesce(since, q.low);
    q.ids := ids;

    return next row(200, null, null, null, q.low, null,
                    case when below is null then export_head(locale) end,
                    null, null, null)::log_row;

    return query select * from log_rows_sent(
        q, least(below, q.high), most, true);
end $$;


create or replace function export_head(locale text)
returns text language plpgsql stable as $$
begin
    return (
        select json_build_object('names', e.titles, 'titles', s.titles,
                   'subject', s.subject, 'executor', s.executor,
                   'channel', s.channel)
          from summary s
          join summary e on e.language = 'en'
         where s.language = locale);
end $$;


-- GET /logs/actors: who appears as executor inside the window, the 2,000 seen
-- last, the last seen first, by the names they had then.

create or replace function logs_actors(token text, guild bigint,
    bot smallint, kind smallint, out status int, out body text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    low  bigint;
begin
    if not token_live(guild, token) then
        status := 401;
        body := '{}';
        return;
    end if;

    low := id_at(wall_of(guild));
    status := 200;
    body := (
        select '{"actors":[' || coalesce(string_agg(
                   (e.doc || '}')::json ->> 'executor', ','
                   order by a.last_id desc), '') || ']}'
          from (select x.executor_id, max(x.id) as last_id
                  from log_entry x
                 where x.guild_id = guild and x.bot = logs_actors.bot
                   and x.executor_id is not null
                   and x.id >= low
                 group by x.executor_id
                 order by last_id desc limit 2000) a
         cross join lateral log_entry_one(guild, logs_actors.bot,
                                          a.last_id) e);
end $$;
