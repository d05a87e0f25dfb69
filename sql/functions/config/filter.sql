-- Filters: a fixed set a server, each off until it is changed.


-- The filter as it stands, stored or not; no row for one there is not.

create or replace function filter_of(guild bigint, bot smallint,
    filter_id text)
returns filter language plpgsql stable as $$
declare
    it  filter;
begin
    select guild, filter_of.bot, k.filter_id, coalesce(f.enabled, false),
           coalesce(f.action, 'mask'), coalesce(f.words, '{}'),
           coalesce(f.log_types, '{}')
      into it
      from filter_kind k
      left join filter f
        on f.guild_id = guild and f.bot = filter_of.bot
       and f.filter_id = k.filter_id
     where k.filter_id = filter_of.filter_id;

    return it;
end $$;


create or replace function filter_object(f filter)
returns text language sql stable as $$
    select row_to_json(r)::text
      from (select f.filter_id as filter_id, f.enabled::int as enabled,
                   f.action as action, f.words as words,
                   f.log_types as log_types) r
$$;


-- GET /filters

create or replace function filters_list(token text, guild bigint, bot smallint,
    kind smallint)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, (
        select '[' || string_agg(filter_object(filter_of(guild, bot,
                                                         k.filter_id)),
                                 ',' order by k.place) || ']'
          from filter_kind k));
end $$;


-- GET /filters/{filter_id}

create or replace function filter_get(token text, guild bigint, bot smallint,
    kind smallint, filter_id text)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, (
        select filter_object(f)
          from filter_of(guild, filter_get.bot, filter_get.filter_id) f
         where f.filter_id is not null));
end $$;


-- PATCH /filters/{filter_id}: words only where the filter is the words. They
-- do not stand in the log of the change: a chat channel may be its reader.

create or replace function filter_patch(token text, guild bigint, bot smallint,
    kind smallint, filter_id text, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  filter;
    after   filter;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    before := filter_of(guild, bot, filter_id);

    if before.filter_id is null then
        return answered(404);
    end if;

    if filter_id <> 'words' and input ? 'words' then
        perform refuse(400, 'words: only the filter "words" has them');
    end if;

    after := jsonb_populate_record(before, input - 'filter_id'
                                           || keys_of(guild, bot));

    if before is not distinct from after then
        return answered(202);
    end if;

    delete from filter f
     where f.guild_id = guild and f.bot = filter_patch.bot
       and f.filter_id = filter_patch.filter_id;
    insert into filter values (after.*);

    perform announce(guild, bot, 76,
        jsonb_build_object('action', 'update', 'name', 'filter ' || filter_id)
        || coalesce(difference(to_jsonb(before) - 'words',
                               to_jsonb(after) - 'words'), '{}'));
    return answered(202);
end $$;
