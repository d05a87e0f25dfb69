-- The rules of recording: stages of a batch that change what an entry says or
-- keep it from being stored.

-- what is true of the executor and the target of each entry

call type_make('bearers', $$
    executors  boolean[],
    targets    boolean[]
$$);

-- what happened in channels or categories of the ignore lists

call type_make('ignored_places', $$
    channels    boolean[],
    categories  boolean[]
$$);


-- "[USERID] rest" as the reason of a bot: USERID did it, for that rest. Only
-- the entries that have such a prefix are touched, one by one.

create or replace function record_prefixes(h heads, inout b batch,
    inout docs text[])
language plpgsql stable as $$
declare
    executors       text[] := b.executors;
    executor_bots   boolean[] := b.executor_bots;
    executor_roles  text[] := b.executor_roles;
    place           int;
    guild           bigint;
    e               jsonb;
    parts           text[];
begin
    foreach place in array b.prefixed loop
        guild := h.guilds[h.heads[place]];
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

create or replace function record_rules(h heads, b batch, docs text[],
    by_roles boolean, by_places boolean, inout verdicts text[],
    out routes bigint[])
language plpgsql stable as $$
declare
    now_ms     constant bigint := ms(clock_timestamp());
    types      constant smallint[] := b.types;
    executors  constant text[] := b.executors;
    targets    constant text[] := b.targets;
    bots       constant bearers := bots_among(h, b);
    roles      bearers;
    places     ignored_places;
begin
    if by_roles then
        roles := roles_among(h, b);
    end if;

    if by_places then
        places := places_among(h, b);
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
                             bots.executors[e.place])
               then 'bot_executor'

               when t.ignores_bot_targets
                and coalesce(b.target_bots[e.place],
                             bots.targets[e.place])
               then 'bot_target'

               when t.of_place and places.channels[e.place]
               then 'ignored_channel'

               when t.of_place and places.categories[e.place]
               then 'ignored_category'

               when e.executor = any ((s.lists).executors)
               then 'ignored_executor'

               when e.target = any ((s.lists).targets)
               then 'ignored_target'

               when coalesce(b.executor_roles[e.place]::text[]
                             && (s.lists).executor_roles,
                             roles.executors[e.place])
               then 'ignored_executor_role'

               when coalesce(b.target_roles[e.place]::text[]
                             && (s.lists).target_roles,
                             roles.targets[e.place])
               then 'ignored_target_role'

               when (s.lists).contents is not null and e.type in (3, 4, 5)
                and content_of(entry_of(docs[e.place]))
                    = any ((s.lists).contents)
               then 'ignored_content'

               when (s.options).proxy_integration and b.proxied[e.place]
                and e.type in (4, 5) and e.executor is null
                and coalesce(coalesce(b.times[e.place], now_ms)
                             - (entry_of(docs[e.place])
                                #>> '{messages,0,timestamp}')::bigint, 0)
                    <= 10000
               then 'proxied'
               end as verdict,
               t.route
          from (select n as place, h.heads[n] as head, verdicts[n] as verdict,
                       types[n] as type, executors[n] as executor,
                       targets[n] as target
                  from generate_subscripts(verdicts, 1) n offset 0) e
          left join unnest(h.settings) with ordinality
                        s (free, options, holds, lists, channels, first_at,
                           watched, head) on s.head = e.head
          left join (
            select d.head, t.id, c.enabled,
                   coalesce(c.log_channel,
                            channel_of(s.channels, t.route))
                       as route,
                   not t.always_log_bots
                   and (s.free or coalesce(c.ignore_bot_executors,
                                     (s.options).ignore_bot_executors))
                       as ignores_bot_executors,
                   not t.always_log_bots
                   and (s.free or coalesce(c.ignore_bot_targets,
                                     (s.options).ignore_bot_targets))
                       as ignores_bot_targets,
                   t.category in ('categoryText', 'categoryVoice',
                                  'categoryChannels') as of_place
              from (select distinct u.head, u.type
                      from unnest(h.heads, types) u (head, type)
                    offset 0) d
              join log_type t on t.id = d.type
              join unnest(h.settings) with ordinality
                       s (free, options, holds, lists, channels, first_at,
                          watched, head) on s.head = d.head
              left join lateral (
                   select x.* from logging_type x
                    where x.guild_id = h.guilds[d.head]
                      and (h.lone is null or x.guild_id = h.lone)
                      and x.bot = h.bots[d.head] and x.log_type = d.type
                   offset 0) c on true
            offset 0) t on t.head = e.head and t.id = e.type
         order by e.place) r;
end $$;


-- Which entries were done by, or to, somebody of whom they do not say whether
-- it is a bot, and who is one; asked one by one, as record_known() does. Null:
-- none was.

create or replace function bots_among(h heads, b batch)
returns bearers language plpgsql stable as $$
declare
    it     bearers;
    heads  int[];
    ids    bigint[];
begin
    select array_agg(u.head), array_agg(u.id) into heads, ids
      from (select e.head, e.who::bigint as id
              from unnest(h.heads, b.executors, b.executor_bots)
                       e (head, who, bot)
             where e.bot is null and e.who is not null
             union
            select e.head, e.who::bigint
              from unnest(h.heads, b.targets, b.target_bots)
                       e (head, who, bot)
             where e.bot is null and e.who is not null) u
     where (select d.bot from directory_one(h.guilds[u.head], 0, u.id) d);

    if heads is not null then
        it.executors := people_among(h.heads, b.executors, heads, ids);
        it.targets := people_among(h.heads, b.targets, heads, ids);
    end if;

    return it;
end $$;


-- Which entries are of one of these: at each place whose, and what person.

create or replace function people_among(heads int[], people text[],
    their_heads int[], ids bigint[])
returns boolean[] language plpgsql immutable as $$
begin
    return array(
        select u.id is not null
          from unnest(heads, people) with ordinality e (head, who, place)
          left join unnest(their_heads, ids) u (head, id)
            on u.head = e.head and u.id = e.who::bigint
         order by e.place);
end $$;


-- Which entries were done by, or to, somebody who has a role of the ignore
-- lists.

create or replace function roles_among(h heads, b batch)
returns bearers language plpgsql stable as $$
declare
    it  bearers;
begin
    select array_agg((x.roles && (s.lists).executor_roles) is true
                     order by e.place),
           array_agg((y.roles && (s.lists).target_roles) is true
                     order by e.place)
      into it.executors, it.targets
      from unnest(h.heads, b.executors, b.targets) with ordinality
               e (head, executor, target, place)
      join unnest(h.settings) with ordinality
               s (free, options, holds, lists, channels, first_at, watched,
                  head)
        on s.head = e.head
      left join lateral (
           select d.roles::text[] from directory_one(h.guilds[e.head], 0,
                      case when (s.lists).executor_roles is not null
                           then e.executor::bigint end) d) x (roles) on true
      left join lateral (
           select d.roles::text[] from directory_one(h.guilds[e.head], 0,
                      case when (s.lists).target_roles is not null
                           then e.target::bigint end) d) y (roles) on true;

    return it;
end $$;


-- Which entries happened in a channel or a category of the ignore lists.

create or replace function places_among(h heads, b batch)
returns ignored_places language plpgsql stable as $$
declare
    it  ignored_places;
begin
    select array_agg(p.in_channel order by e.place),
           array_agg(p.in_category order by e.place)
      into it.channels, it.categories
      from unnest(h.heads, b.channels, b.parents, b.categories)
               with ordinality e (head, channel, parent, category, place)
      join unnest(h.settings) with ordinality
               s (free, options, holds, lists, channels, first_at, watched,
                  head)
        on s.head = e.head
      left join lateral place_among(h.guilds[e.head], s.lists, e.channel,
                                    e.parent, e.category) p
        on (s.lists).channels is not null or (s.lists).categories is not null;

    return it;
end $$;


-- A channel is under those above it, a thread's or a post's channel and the
-- categories; one of which nobody knows whether it is a category counts as
-- both.

create or replace function place_among(guild bigint, lists ignored,
    channel text, above text, category text, out in_channel boolean,
    out in_category boolean)
returns setof record language sql stable as $$
    select channel = any (lists.channels)
           and own.type is distinct from 4
           or coalesce(above, own.parent::text) = any (lists.channels)
           and up.type is distinct from 4,
           channel = any (lists.categories)
           and coalesce(own.type, 4) = 4
           or coalesce(above, own.parent::text) = any (lists.categories)
           and coalesce(up.type, 4) = 4
           or category = any (lists.categories)
           or up.parent::text = any (lists.categories)
      from (values (1)) one (n)
      left join lateral directory_one(guild, 1, channel::bigint) own on true
      left join lateral directory_one(
               guild, 1, coalesce(above::bigint, own.parent)) up on true
$$;


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

        drops := maskers_for(maskers, 'drop', types[place : place]);
        masks := maskers_for(maskers, 'mask', types[place : place]);
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
