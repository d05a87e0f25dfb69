-- Reading the log from end to end.


-- GET /logs/export: so many of the entries below the position, newest first, or
-- with ids these entries. What was taken back meanwhile, or expired, is left
-- out. The first time since is null; its head says it (an id, so that the
-- window of all chunks is one).

create or replace function logs_export(token text, guild bigint,
    bot smallint, kind smallint, after bigint, before bigint, category text[],
    type int[], locale text, since bigint, below bigint, most int,
    ids bigint[] default null)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    low  bigint;
begin
    if not token_live(guild, token) then
        return next row(401, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    low := coalesce(since, id_at(greatest(after + 1, wall_of(guild))));

    return next row(200, null, null, null, low, null,
                    null, null, null, null)::log_row;

    return query select * from log_rows_sent(
        guild, bot, ids, low, least(below, log_high(ms(now()), before)),
        types_of(category, type), most);
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
        select '{"actors":[' || coalesce(string_agg(x.executor, ','
                   order by e.id desc), '') || ']}'
          from entries_named(guild, logs_actors.bot, array(
                   select a.id from actors_seen(guild, logs_actors.bot, low) a
                   )) e
         cross join lateral (select split_part(split_part(
                   e.doc, ',"executor":', 2), ',"target":', 1)) x (executor)
         where x.executor like '{%');
end $$;


-- The last entry of each, of those since an id.

create or replace function actors_seen(guild bigint, bot smallint, low bigint)
returns table (who bigint, id bigint)
language plpgsql stable as $$
begin
    return query
        select u.who, max(u.id)
          from (select a.who, a.id
                  from actors_kept(guild, actors_seen.bot) a
                 where a.id >= low
                 union all
                select doc_executor(a.doc), a.id
                  from arrivals_hot(guild, actors_seen.bot) a
                 where a.id >= low) u (who, id)
         where u.who is not null
         group by u.who
         order by 2 desc limit 2000;
end $$;
