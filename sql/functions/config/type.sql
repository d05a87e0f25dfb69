-- Settings of single log types; a field that is null follows the server's.


-- The rows of one log type, or of all that are customised.

create or replace function type_rows(guild bigint, bot smallint, log_id int)
returns text language plpgsql stable as $$
begin
    return (
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select t.guild_id::text as id, t.log_type,
                       t.enabled::int as enabled,
                       t.log_channel::text as log_channel,
                       t.format_type, t.color,
                       t.ignore_bot_executors::int as ignore_bot_executors,
                       t.ignore_bot_targets::int as ignore_bot_targets,
                       t.active_ignore::int as active_ignore
                  from logging_type t
                 where t.guild_id = guild
                   and t.bot = type_rows.bot
                   and (log_id is null or t.log_type = log_id)
                 order by t.log_type) r);
end $$;


-- GET /config/logging/settings/{log_id}

create or replace function type_get(token text, guild bigint, bot smallint,
    kind smallint, log_id int)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, type_rows(guild, bot, log_id));
end $$;


-- Sets fields of log types. A type that follows the server in everything is not
-- customised, and has no row. What those that changed were, and are, by ids.

create or replace function types_set(guild bigint, bot smallint,
    log_ids int[], input jsonb, out ids int[], out befores jsonb[],
    out afters jsonb[])
language plpgsql as $$
declare
    key      constant text[] := '{guild_id,bot,log_type}';
    channel  constant bigint := input ->> 'log_channel';
begin
    perform format_allowed(guild, input);
    perform channels_refuse(guild, jsonb_build_object('log_channel',
                                       input -> 'log_channel'));

    select coalesce(array_agg(n.id order by n.id), '{}'),
           array_agg(b.it order by n.id), array_agg(a.it order by n.id)
      into ids, befores, afters
      from (select distinct u.id from unnest(log_ids) u (id)) n
      left join logging_type t
        on t.guild_id = guild and t.bot = types_set.bot and t.log_type = n.id
     cross join lateral (select to_jsonb(t) - key) b (it)
     cross join lateral (
           select to_jsonb(jsonb_populate_record(t, input)) - key) a (it)
     where jsonb_strip_nulls(coalesce(b.it, '{}')) <> jsonb_strip_nulls(a.it);

    delete from logging_type t
     where t.guild_id = guild and t.bot = types_set.bot
       and t.log_type = any (ids);
    insert into logging_type
    select r.*
      from unnest(ids, afters) u (id, it)
     cross join lateral jsonb_populate_record(null::logging_type,
                    u.it || keys_of(guild, bot)
                    || jsonb_build_object('log_type', u.id)) r
     where num_nonnulls(r.enabled, r.log_channel, r.format_type, r.color,
                        r.ignore_bot_executors, r.ignore_bot_targets,
                        r.active_ignore) > 0;

    if exists (select from unnest(befores, afters) u (before, after)
                where u.before -> 'log_channel' is distinct from
                      u.after -> 'log_channel')
    then
        perform lanes_sync(guild, bot, array[channel]);
    elsif input ? 'log_channel' then
        perform lanes_again(guild, bot, array[channel]);
    end if;
end $$;


-- What a change of several types tells: which they are, and each field, with
-- what it was; where that differed by type it is an array, in their order.

create or replace function types_told(ids int[], befores jsonb[],
    afters jsonb[])
returns jsonb language plpgsql stable as $$
begin
    return (
        select jsonb_build_object(
                   'action', 'update', 'count', cardinality(ids),
                   'name', case when length(n.names) > 100
                                then left(n.names, 99) || '…'
                                else n.names end,
                   'changes', jsonb_build_array(change('log_types', null,
                                  to_jsonb(ids))) || c.told)
          from (select string_agg(t.key, ', ' order by t.id)
                  from log_type t where t.id = any (ids)) n (names),
               (select jsonb_agg(jsonb_build_object(
                           'key', f.name, 'old', o.old,
                           'new', change_value(f.name, afters[1] -> f.name))
                           order by f.name)
                  from (select k.name from jsonb_object_keys(afters[1]) k (name)
                         where exists (
                                   select from unnest(befores, afters)
                                                   b (was, now)
                                    where coalesce(b.was -> k.name, 'null')
                                          <> b.now -> k.name)
                        offset 0) f
                 cross join lateral (
                       select case when count(distinct u.was) = 1
                                   then (jsonb_agg(u.was)) -> 0
                                   else jsonb_agg(coalesce(
                                            u.was #>> '{}', 'null')
                                            order by u.place) end
                         from (select coalesce(change_value(f.name,
                                          b.was -> f.name), 'null'), b.place
                                 from unnest(befores) with ordinality
                                          b (was, place)) u (was, place)
                       ) o (old)) c (told));
end $$;


-- PATCH /config/logging/settings/{log_id}

create or replace function type_patch(token text, guild bigint, bot smallint,
    kind smallint, log_id int, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    did  record;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    did := types_set(guild, bot, array[log_id], input);

    perform announce(guild, bot, 77,
        jsonb_build_object('action', 'update', 'name', t.key)
        || difference(did.befores[1], did.afters[1]))
       from log_type t where t.id = did.ids[1];
    return answered(202);
end $$;


-- PATCH /config/logging/settings/types

create or replace function types_patch(token text, guild bigint, bot smallint,
    kind smallint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    did  record;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    did := types_set(guild, bot, array(
        select i.id::int
          from jsonb_array_elements_text(input -> 'types') i (id)),
        input -> 'set');

    if cardinality(did.ids) > 0 then
        perform announce(guild, bot, 77,
                         types_told(did.ids, did.befores, did.afters));
    end if;

    return answered(202);
end $$;
