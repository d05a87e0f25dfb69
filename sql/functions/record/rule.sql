-- The rules of recording: stages of a batch that change what an entry says or
-- keep it from being stored.

-- members of the directory, by what their roles bring about

call type_make('role_bearers', $$
    executors  bigint[],
    targets    bigint[]
$$);

-- what happened in channels or categories of the ignore lists

call type_make('ignored_places', $$
    channels    boolean[],
    categories  boolean[]
$$);


-- "[USERID] rest" as the reason of a bot: USERID did it, for that rest. Only
-- the entries that have such a prefix are touched, one by one.

create or replace function record_prefixes(guild bigint, inout b batch,
    inout docs text[])
language plpgsql stable as $$
declare
    executors       text[] := b.executors;
    executor_bots   boolean[] := b.executor_bots;
    executor_roles  text[] := b.executor_roles;
    place           int;
    e               jsonb;
    parts           text[];
begin
    foreach place in array b.prefixed loop
        e := entry_of(docs[place]);
        parts := regexp_match(e ->> 'reason', '^\[([0-9]{17,20})\]\s*(.*)$');

        continue when parts is null
                   or parts[1]::numeric > 9223372036854775807
                   or b.types[place] in (4, 5, 14, 16, 19, 20, 21, 22)
                   or not is_bot(guild, executors[place]::bigint,
                                 executor_bots[place]);

        executors[place] := parts[1]::bigint;
        executor_bots[place] := null;
        executor_roles[place] := null;
        docs[place] := entry_doc(e || jsonb_build_object(
            'executor', jsonb_build_object(
                'id', executors[place],
                'name', (select d.name from directory_one(
                                guild, 0, parts[1]::bigint) d)),
            'reason', nullif(parts[2], '')));
    end loop;

    b.executors := executors;
    b.executor_bots := executor_bots;
    b.executor_roles := executor_roles;
end $$;


create or replace function is_bot(guild bigint, who bigint, bot boolean)
returns boolean language plpgsql stable as $$
begin
    return coalesce(bot, (select d.bot from directory_one(guild, 0, who) d),
                    false);
end $$;


-- The rules that drop an entry, in the order in which they are asked, and the
-- channel each of them goes to. What an entry does not say, the directory may
-- know.

create or replace function record_rules(guild bigint, bot smallint,
    settings recording, b batch, docs text[], inout verdicts text[],
    out routes bigint[])
language plpgsql stable as $$
declare
    options    constant logging_options := settings.options;
    lists      constant ignored := settings.lists;
    now_ms     constant bigint := ms(clock_timestamp());
    types      constant smallint[] := b.types;
    executors  constant text[] := b.executors;
    targets    constant text[] := b.targets;
    bots       constant bigint[] := bots_among(guild, b);
    roles      role_bearers;
    places     ignored_places;
begin
    if lists.executor_roles is not null or lists.target_roles is not null then
        roles := roles_among(guild, lists, b);
    end if;

    if lists.channels is not null or lists.categories is not null then
        places := places_among(guild, lists, b);
    end if;

    select array_agg(r.verdict), array_agg(r.route)
      into verdicts, routes
      from (
        select case
               when e.verdict is not null
               then e.verdict

               when not t.enabled then 'type_disabled'

               when t.ignores_bot_executors
                and coalesce(b.executor_bots[e.place],
                             e.executor::bigint = any (bots))
               then 'bot_executor'

               when t.ignores_bot_targets
                and coalesce(b.target_bots[e.place],
                             e.target::bigint = any (bots))
               then 'bot_target'

               when t.of_place and places.channels[e.place]
               then 'ignored_channel'

               when t.of_place and places.categories[e.place]
               then 'ignored_category'

               when e.executor = any (lists.executors)
               then 'ignored_executor'

               when e.target = any (lists.targets)
               then 'ignored_target'

               when coalesce(b.executor_roles[e.place]::text[]
                             && lists.executor_roles,
                             e.executor::bigint = any (roles.executors))
               then 'ignored_executor_role'

               when coalesce(b.target_roles[e.place]::text[]
                             && lists.target_roles,
                             e.target::bigint = any (roles.targets))
               then 'ignored_target_role'

               when lists.contents is not null and e.type in (3, 4, 5)
                and content_of(entry_of(docs[e.place]))
                    = any (lists.contents)
               then 'ignored_content'

               when options.proxy_integration and b.proxied[e.place]
                and e.type in (4, 5) and e.executor is null
                and coalesce(coalesce(b.times[e.place], now_ms)
                             - (entry_of(docs[e.place])
                                #>> '{messages,0,timestamp}')::bigint, 0)
                    <= 10000
               then 'proxied'
               end as verdict,
               t.route
          from (select n as place, verdicts[n] as verdict, types[n] as type,
                       executors[n] as executor, targets[n] as target
                  from generate_subscripts(verdicts, 1) n offset 0) e
          left join (
            select t.id, c.enabled,
                   coalesce(c.log_channel,
                            channel_of(settings.channels, t.route))
                       as route,
                   not t.always_log_bots
                   and (settings.free or coalesce(c.ignore_bot_executors,
                                             options.ignore_bot_executors))
                       as ignores_bot_executors,
                   not t.always_log_bots
                   and (settings.free or coalesce(c.ignore_bot_targets,
                                             options.ignore_bot_targets))
                       as ignores_bot_targets,
                   t.category in ('categoryText', 'categoryVoice',
                                  'categoryChannels') as of_place
              from log_type t
              left join logging_type c
                on c.guild_id = guild and c.bot = record_rules.bot
               and c.log_type = t.id
             where t.id = any (types)
            offset 0) t on t.id = e.type
         order by e.place) r;
end $$;


-- Of the members of whom the entries do not say it, those that are bots; asked
-- one by one, as record_known() does.

create or replace function bots_among(guild bigint, b batch)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select u.id
          from (select e.executor::bigint
                  from unnest(b.executors, b.executor_bots)
                           e (executor, bot)
                 where e.bot is null
                 union
                select e.target::bigint
                  from unnest(b.targets, b.target_bots) e (target, bot)
                 where e.bot is null) u (id)
         where (select d.bot from directory_one(guild, 0, u.id) d));
end $$;


-- Those that have a role of the ignore lists.

create or replace function roles_among(guild bigint, lists ignored, b batch)
returns role_bearers language plpgsql stable as $$
declare
    it  role_bearers;
begin
    it.executors := array(
        select u.id from (select distinct e::bigint
                            from unnest(b.executors) e) u (id)
         where (select d.roles::text[] && lists.executor_roles
                  from directory_one(guild, 0, u.id) d));
    it.targets := array(
        select u.id from (select distinct e::bigint
                            from unnest(b.targets) e) u (id)
         where (select d.roles::text[] && lists.target_roles
                  from directory_one(guild, 0, u.id) d));

    return it;
end $$;


-- Which entries happened in a channel or a category of the ignore lists. A
-- channel is under those above it, a thread's or a post's channel and the
-- categories; one of which nobody knows whether it is a category counts as
-- both.

create or replace function places_among(guild bigint, lists ignored, b batch)
returns ignored_places language plpgsql stable as $$
declare
    it  ignored_places;
begin
    select array_agg(p.in_channel), array_agg(p.in_category)
      into it.channels, it.categories
      from (
        select e.channel = any (lists.channels)
               and own.type is distinct from 4
               or coalesce(e.parent, own.parent::text)
                  = any (lists.channels)
               and up.type is distinct from 4 as in_channel,
               e.channel = any (lists.categories)
               and coalesce(own.type, 4) = 4
               or coalesce(e.parent, own.parent::text)
                  = any (lists.categories)
               and coalesce(up.type, 4) = 4
               or e.category = any (lists.categories)
               or up.parent::text = any (lists.categories) as in_category
          from unnest(b.types, b.channels, b.parents, b.categories)
                   with ordinality e (type, channel, parent, category, place)
          left join lateral directory_one(guild, 1, e.channel::bigint) own
            on true
          left join lateral directory_one(
                   guild, 1, coalesce(e.parent::bigint, own.parent)) up
            on true
         order by e.place) p;

    return it;
end $$;


-- The channel a category's entries go to: its own, files that of the text,
-- else the main one. 0: off, null: none.

create or replace function channel_of(c logging_channels, route text)
returns bigint language sql immutable as $$
    select coalesce(case route
           when 'category_modlog' then c.category_modlog
           when 'category_members' then c.category_members
           when 'category_actions' then c.category_actions
           when 'category_text' then c.category_text
           when 'category_voice' then c.category_voice
           when 'category_files' then coalesce(c.category_files,
                                               c.category_text)
           when 'category_server' then c.category_server
           when 'category_roles' then c.category_roles
           when 'category_channels' then c.category_channels
           when 'category_service' then c.category_service
           end, c.main_channel)
$$;


-- The content of an entry, else that which all its messages have.

create or replace function content_of(e jsonb)
returns text language plpgsql immutable as $$
begin
    return coalesce(e ->> 'content', (
        select min(m ->> 'content')
          from jsonb_array_elements(e -> 'messages') m
        having min(m ->> 'content') = max(m ->> 'content')
           and count(m ->> 'content') = count(*)));
end $$;


-- Filters: masks what those that apply find in the texts, before anything is
-- stored, or drops the entry they found something in. Entry by entry, since
-- it changes them. What they did not come to in time is not stored: it is
-- postponed, with all behind it, or the order would be another one. The first
-- one is not: whoever sends the others again comes further each time.

create or replace function record_filter(maskers masker[], needles text[],
    types smallint[], most_ms int, inout docs text[], inout verdicts text[])
language plpgsql as $$
declare
    until   constant timestamptz := clock_timestamp()
                                    + most_ms * interval '1 ms';
    looked  boolean := false;
    late    boolean := false;
    e       jsonb;
    texts   text[];
    masked  text[];
    drops   masker[];
    masks   masker[];
begin
    for place in 1 .. cardinality(verdicts) loop
        continue when verdicts[place] is not null;

        if late or looked and clock_timestamp() > until then
            verdicts[place] := 'postponed';
            late := true;
            continue;
        end if;

        drops := maskers_for(maskers, 'drop', types[place]);
        masks := maskers_for(maskers, 'mask', types[place]);
        continue when drops = '{}' and masks = '{}';

        looked := true;
        e := entry_of(docs[place]);
        texts := entry_texts(e);

        if drops <> '{}' and mask_texts(drops, needles, texts) <> texts then
            verdicts[place] := 'filter';

        elsif masks <> '{}' then
            masked := mask_texts(masks, needles, texts);

            if masked <> texts then
                docs[place] := entry_doc(entry_with(e, masked));
            end if;
        end if;
    end loop;
end $$;


-- The texts that filters look at: three of the entry, one of each message, and
-- those of the changes.

create or replace function entry_texts(e jsonb)
returns text[] language plpgsql immutable as $$
begin
    return array[e ->> 'content', e ->> 'contentAfter', e ->> 'reason']
           || array(select m.message ->> 'content'
                      from jsonb_array_elements(e -> 'messages')
                           with ordinality m (message, place)
                     order by m.place)
           || array(select s.value from changes_strings(changes_in(e)) s);
end $$;


-- The entry with others in their places.

create or replace function entry_with(e jsonb, texts text[])
returns jsonb language plpgsql immutable as $$
declare
    behind  constant int := 3 + jsonb_array_length(e -> 'messages');
begin
    return e || jsonb_build_object(
        'content', texts[1], 'contentAfter', texts[2], 'reason', texts[3],
        'changes', changes_with(changes_in(e), texts[behind + 1 :]),
        'messages', (
            select coalesce(jsonb_agg(
                       case when texts[m.place + 3] is null then m.message
                            else m.message || jsonb_build_object(
                                     'content', texts[m.place + 3]) end
                       order by m.place), '[]')
              from jsonb_array_elements(e -> 'messages')
                   with ordinality m (message, place)));
end $$;


create or replace function changes_with(changes jsonb, texts text[])
returns jsonb language plpgsql immutable as $$
declare
    n  int := 0;
    s  record;
begin
    for s in select * from changes_strings(changes) loop
        n := n + 1;

        if texts[n] <> s.value then
            changes := jsonb_set(changes, s.place, to_jsonb(texts[n]));
        end if;
    end loop;

    return changes;
end $$;
