-- The rules of recording: stages of a batch that change what an entry says or
-- keep it from being stored.


-- "[USERID] rest" as the reason of a bot: USERID did it, for that rest. Only
-- the entries that have such a prefix are touched, one by one.

create or replace function record_prefixes(guild bigint, batch incoming[])
returns incoming[] language plpgsql stable as $$
declare
    prefixed  int;
    e         incoming;
    parts     text[];
begin
    for prefixed in
        select b.place from unnest(array(select b.reason
                                           from unnest(batch) b))
                                with ordinality b (reason, place)
         where b.reason like '[%'
    loop
        e := batch[prefixed];
        parts := regexp_match(e.reason, '^\[([0-9]{17,20})\]\s*(.*)$');

        continue when parts is null
                   or parts[1]::numeric > 9223372036854775807
                   or e.type in (4, 5, 14, 16, 19, 20, 21, 22)
                   or not is_bot(guild, e.executor);

        e.executor := row(parts[1]::bigint,
                          (select d.name from directory d
                            where d.guild_id = guild
                              and d.kind = 0
                              and d.id = parts[1]::bigint), null, null);
        e.reason := nullif(parts[2], '');
        batch[prefixed] := e;
    end loop;

    return batch;
end $$;


create or replace function is_bot(guild bigint, who actor)
returns boolean language plpgsql stable as $$
begin
    return coalesce(who.bot, (select d.bot from directory d
                               where d.guild_id = guild and d.kind = 0
                                 and d.id = who.id::bigint), false);
end $$;


-- The rules that drop an entry, in the order in which they are asked. What an
-- entry does not say, the directory may know. A channel is under those above
-- it, a thread's or a post's channel and the categories; one of which nobody
-- knows whether it is a category counts as both.

create or replace function record_rules(guild bigint, bot smallint,
    settings recording, batch incoming[], verdicts text[])
returns text[] language plpgsql stable as $$
declare
    free     constant boolean := settings.free;
    options  constant logging_options := settings.options;
    lists    constant ignored := settings.lists;
    places   constant boolean := (lists.channels, lists.categories)
                                 is distinct from (null, null);
    now_ms   constant bigint := ms(clock_timestamp());
begin
    return array(
        select case
               when verdicts[b.ordinality] is not null
               then verdicts[b.ordinality]

               when not c.enabled then 'type_disabled'

               when not t.always_log_bots
                and (free or coalesce(c.ignore_bot_executors,
                                      options.ignore_bot_executors))
                and coalesce((b.executor).bot, x.bot)
               then 'bot_executor'

               when not t.always_log_bots
                and (free or coalesce(c.ignore_bot_targets,
                                      options.ignore_bot_targets))
                and coalesce((b.target).bot, y.bot)
               then 'bot_target'

               when of_place(t.category)
                and ((b.channel).id = any (lists.channels)
                     and own.type is distinct from 4
                     or coalesce((b.channel).parent, own.parent::text)
                        = any (lists.channels)
                     and up.type is distinct from 4)
               then 'ignored_channel'

               when of_place(t.category)
                and ((b.channel).id = any (lists.categories)
                     and coalesce(own.type, 4) = 4
                     or coalesce((b.channel).parent, own.parent::text)
                        = any (lists.categories)
                     and coalesce(up.type, 4) = 4
                     or (b.channel).category = any (lists.categories)
                     or up.parent::text = any (lists.categories))
               then 'ignored_category'

               when (b.executor).id = any (lists.executors)
               then 'ignored_executor'

               when (b.target).id = any (lists.targets)
               then 'ignored_target'

               when coalesce((b.executor).roles, x.roles::text[])
                    && lists.executor_roles
               then 'ignored_executor_role'

               when coalesce((b.target).roles, y.roles::text[])
                    && lists.target_roles
               then 'ignored_target_role'

               when b.type in (3, 4, 5) and lists.contents is not null
                and coalesce(b.content, content_of(b.messages))
                    = any (lists.contents)
               then 'ignored_content'

               when options.proxy_integration and b.proxied
                and b.type in (4, 5) and (b.executor).id is null
                and coalesce(coalesce(b.timestamp, now_ms)
                             - (b.messages #> '{0,timestamp}')::bigint, 0)
                    <= 10000
               then 'proxied'
               end
          from unnest(batch) with ordinality b
          left join log_type t on t.id = b.type
          left join logging_type c
            on c.guild_id = guild and c.bot = record_rules.bot
           and c.log_type = b.type
          left join directory x
            on x.guild_id = guild and x.kind = 0
           and x.id = unsaid(b.executor, lists.executor_roles)
          left join directory y
            on y.guild_id = guild and y.kind = 0
           and y.id = unsaid(b.target, lists.target_roles)
          left join directory own
            on own.guild_id = guild and own.kind = 1
           and own.id = case when places then (b.channel).id::bigint end
          left join directory up
            on up.guild_id = guild and up.kind = 1
           and up.id = case when places
                            then coalesce((b.channel).parent::bigint,
                                          own.parent) end
         order by b.ordinality);
end $$;


create or replace function of_place(category text)
returns boolean language sql immutable as $$
    select category in ('categoryText', 'categoryVoice', 'categoryChannels')
$$;


-- The id to look up in the directory: null where the entry says it all.

create or replace function unsaid(who actor, roles text[])
returns bigint language sql immutable as $$
    select case when who.bot is null
                  or roles is not null and who.roles is null
                then who.id::bigint end
$$;


-- The content that all the messages have.

create or replace function content_of(messages jsonb)
returns text language plpgsql immutable as $$
begin
    return (
        select min(m ->> 'content') from jsonb_array_elements(messages) m
        having min(m ->> 'content') = max(m ->> 'content')
           and count(m ->> 'content') = count(*));
end $$;


-- Filters: masks what those that apply find in the texts, before anything is
-- stored, or drops the entry they found something in. Entry by entry, since
-- it changes them.

create or replace function record_filter(settings recording,
    inout batch incoming[], inout verdicts text[])
language plpgsql immutable as $$
declare
    e      incoming;
    drops  masker[];
    masks  masker[];
begin
    for place in 1 .. cardinality(batch) loop
        continue when verdicts[place] is not null;

        e := batch[place];
        drops := maskers_for(settings.maskers, 'drop', e.type);
        masks := maskers_for(settings.maskers, 'mask', e.type);

        if cardinality(drops) > 0 and masks_any(drops, e) then
            verdicts[place] := 'filter';

        elsif cardinality(masks) > 0 then
            e.content := mask(masks, e.content);
            e."contentAfter" := mask(masks, e."contentAfter");
            e.reason := mask(masks, e.reason);
            e.messages := mask_messages(masks, e.messages);
            batch[place] := e;
        end if;
    end loop;
end $$;


create or replace function masks_any(maskers masker[], e incoming)
returns boolean language plpgsql immutable as $$
begin
    return (e.content, e."contentAfter", e.reason, e.messages)
           is distinct from
           (mask(maskers, e.content), mask(maskers, e."contentAfter"),
            mask(maskers, e.reason), mask_messages(maskers, e.messages));
end $$;
