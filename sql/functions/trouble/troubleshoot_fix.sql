-- What the troubleshooter does: fixes, and a test message.


-- POST /troubleshoot/fix: does what the PATCH of the same thing does, and is
-- told as such; 404 if there is nothing to fix.

create or replace function troubleshoot_fix(token text, guild bigint,
    bot smallint, kind smallint, input jsonb, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    applied  boolean;
begin
    body := '{}';

    if not change_begin(guild, token) then
        status := 401;
        return;
    end if;

    case input ->> 'kind'
    when 'initialise_guild' then
        applied := fix_initialise(token, guild, bot);
    when 'register_webhook' then
        applied := fix_webhook(guild, bot, input);
    when 'clear_log_channel' then
        applied := fix_channel(token, guild, bot, input);
    when 'enable_log_type' then
        applied := fix_type(token, guild, bot, input);
    when 'remove_ignore' then
        applied := fix_ignore(token, guild, bot, input);
    when 'disable_bot_ignore' then
        applied := fix_bots(token, guild, bot);
    else
        perform refuse(400, 'kind: cannot be fixed automatically');
    end case;

    status := case when applied then 200 else 404 end;

    if applied then
        body := '{"applied": true}';
    end if;
end $$;


-- Refuses a fix that does not say what it is about.

create or replace function fix_needs(input jsonb, field text)
returns void language plpgsql stable as $$
begin
    if input ->> field is null then
        perform refuse(400, field || ': is required for this kind');
    end if;
end $$;


create or replace function fix_initialise(token text, guild bigint,
    bot smallint)
returns boolean language plpgsql as $$
begin
    if exists (select from logging_channels c
                where c.guild_id = guild and c.bot = fix_initialise.bot)
    then
        return false;
    end if;

    perform channels_patch(token, guild, bot, 1::smallint,
                           '{"main_channel": null}');
    return true;
end $$;


-- A lane in trouble begins anew; so does one whose webhook is that one, once a
-- minute, which it keeps until another is asked for: what is in flight is known
-- by it.

create or replace function fix_webhook(guild bigint, bot smallint,
    input jsonb)
returns boolean language plpgsql as $$
declare
    channel  constant bigint := (input ->> 'channelId')::bigint;
    it       lane;
begin
    perform fix_needs(input, 'channelId');
    perform channels_refuse(guild, jsonb_build_object('channelId', channel));

    select l.* into it from lane l
     where l.guild_id = guild
       and l.bot = fix_webhook.bot
       and l.channel_id = channel
       and l.channel_id = any (channels_used(guild, l.bot))
       and l.state in ('registering', 'active', 'broken')
       and ((lane_trouble(row(l.*)::lane)).id is not null
            or l.state = 'active'
               and l.webhook_id::text = input ->> 'webhookId'
               and coalesce(l.again_at < clock_timestamp()
                                         - interval '1 minute', true));

    return found
           and lanes_again(guild, bot, array[channel], it.reason is null);
end $$;


-- Wherever the channel stands, or that category or log type has one, it is
-- followed what they follow by themselves. An alert is told where service logs
-- go.

create or replace function fix_channel(token text, guild bigint, bot smallint,
    input jsonb)
returns boolean language plpgsql as $$
declare
    fields  jsonb;
    types   smallint[];
    alerts  text[];
begin
    if coalesce(input ->> 'channelId', input ->> 'category',
                input ->> 'logType') is null
    then
        perform fix_needs(input, 'channelId');
    end if;

    select jsonb_object_agg(v.key, null) into fields
      from logging_channels c
     cross join lateral jsonb_each_text(
               to_jsonb(c) - '{guild_id,bot}'::text[]) v
     where c.guild_id = guild and c.bot = fix_channel.bot
       and v.value is not null
       and not input ? 'logType'
       and v.key = coalesce(input ->> 'category', v.key)
       and v.value = coalesce(input ->> 'channelId', v.value);

    types := array(
        select t.log_type from logging_type t
         where t.guild_id = guild and t.bot = fix_channel.bot
           and not input ? 'category'
           and t.log_type = coalesce((input ->> 'logType')::int, t.log_type)
           and t.log_channel = coalesce((input ->> 'channelId')::bigint,
                                        t.log_channel));

    alerts := array(
        select a.alert_id from alert a
         where a.guild_id = guild and a.bot = fix_channel.bot
           and not input ?| '{category,logType}'
           and a.channel = (input ->> 'channelId')::bigint);

    if fields is not null then
        perform channels_patch(token, guild, bot, 1::smallint, fields);
    end if;

    perform alert_patch(token, guild, bot, 1::smallint, a, '{"channel": null}')
       from unnest(alerts) a;
    perform type_patch(token, guild, bot, 1::smallint, t,
                       '{"log_channel": null}')
       from unnest(types) t;

    return fields is not null or types <> '{}' or alerts <> '{}';
end $$;


create or replace function fix_type(token text, guild bigint, bot smallint,
    input jsonb)
returns boolean language plpgsql as $$
declare
    fields  jsonb;
begin
    perform fix_needs(input, 'logType');

    select case when not t.enabled then '{"enabled": null}'::jsonb
                else '{}' end
           || case when t.log_channel = 0 then '{"log_channel": null}'::jsonb
                   else '{}' end
      into fields
      from logging_type t
     where t.guild_id = guild and t.bot = fix_type.bot
       and t.log_type = (input ->> 'logType')::int;

    if fields is null or fields = '{}' then
        return false;
    end if;

    perform type_patch(token, guild, bot, 1::smallint,
                       (input ->> 'logType')::int, fields);
    return true;
end $$;


create or replace function fix_ignore(token text, guild bigint, bot smallint,
    input jsonb)
returns boolean language plpgsql as $$
begin
    perform fix_needs(input, 'ignoreType');
    perform fix_needs(input, 'value');

    if not exists (select from ignore_entry i
                    where i.guild_id = guild and i.bot = fix_ignore.bot
                      and i.ignore_type = (input ->> 'ignoreType')::int
                      and i.ignore_value = input ->> 'value')
    then
        return false;
    end if;

    perform ignore_remove(token, guild, bot, 1::smallint,
                          (input ->> 'ignoreType')::int, input);
    return true;
end $$;


create or replace function fix_bots(token text, guild bigint, bot smallint)
returns boolean language plpgsql as $$
declare
    options  constant logging_options := options_of(guild, bot);
begin
    if not (options.ignore_bot_executors or options.ignore_bot_targets)
       or (select s.plan from server s where s.guild_id = guild) = 'free'
    then
        return false;
    end if;

    perform options_patch(token, guild, bot, 1::smallint,
        '{"ignore_bot_executors": 0, "ignore_bot_targets": 0}');
    return true;
end $$;


-- POST /troubleshoot/test-log, one a minute a server: the answer, or what is
-- to be sent before there is one, {"send": {…}}.

create or replace function troubleshoot_test(token text, guild bigint,
    bot smallint, kind smallint, input jsonb, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    at        constant timestamptz := clock_timestamp();
    past      constant timestamptz := now() - interval '1 minute';
    category  constant text := test_category(input ->> 'category');
    channel   bigint;
    it        lane;
    stage     text;
begin
    body := '{}';

    if not token_live(guild, token) then
        status := 401;
        return;
    end if;

    insert into troubleshoot_use as u (guild_id, since, reports, tested_at)
    values (guild, now(), 0, now())
    on conflict (guild_id) do update
       set tested_at = excluded.tested_at
     where u.tested_at is null or u.tested_at <= past;

    if not found then
        status := 429;
        body := json_build_object('error',
            'a test message was asked for less than a minute ago',
            'retryAfter', (
                select greatest(1, ceil(extract(epoch from u.tested_at
                           + interval '1 minute' - now()))::int)
                  from troubleshoot_use u where u.guild_id = guild));
        return;
    end if;

    channel := (select channel_of(row(c.*)::logging_channels, category)
                  from logging_channels c
                 where c.guild_id = guild and c.bot = troubleshoot_test.bot);
    select l.* into it from lane l
     where l.guild_id = guild and l.bot = troubleshoot_test.bot
       and l.channel_id = channel and l.state <> 'closed';

    -- who delivers finds out whose channel it is, before anything is sent

    if it.state = 'active' and it.verified_at is null then
        perform lane_call(guild, it.lane);
    end if;

    stage := case when coalesce(channel, 0) = 0 then 'no_channel'
                  else test_stage(it) end;
    status := 200;

    if stage is null then
        update lane_head h
           set mixed_at = at
         where h.guild_id = guild and h.lane = it.lane;
        body := json_build_object('send', json_build_object(
            'lane', it.lane::text, 'channelId', it.channel_id::text,
            'webhookId', it.webhook_id::text, 'secret', it.secret::text,
            'message', json_build_object(
                'content', 'A test message: what goes to ' || category
                           || ' arrives here.',
                'allowed_mentions', json_build_object('parse', '{}'::text[]),
                'flags', 4096)::text));
    else
        body := json_build_object('ok', false, 'stage', stage,
            'channelId', nullif(channel, 0)::text, 'httpStatus', null,
            'detail', test_detail(stage, it), 'latencyMs', 0);
    end if;
end $$;


-- A category as a column of the channels: "categoryText" is category_text.

create or replace function test_category(name text)
returns text language sql immutable as $$
    select coalesce(regexp_replace(lower(name), '^category_?', 'category_'),
                    'main_channel')
$$;


-- Why nothing can be sent by that lane; null: it can.

create or replace function test_stage(l lane)
returns text language plpgsql stable as $$
declare
    trouble  constant text := (lane_trouble(l)).id;
begin
    return case
           when l.state = 'broken' and trouble = 'MISSING_WEBHOOK'
           then 'webhook_404'
           when trouble = 'MISSING_PERMISSION' then 'forbidden'
           when l.webhook_id is null or trouble is not null
                or l.paused_at is not null or l.verified_at is null
           then 'channel_parked'
           when rest_ms(l.guild_id) > 0 then 'local_rate_limit'
           when exists (select from lane_head h
                         where h.guild_id = l.guild_id and h.lane = l.lane
                           and h.not_before > clock_timestamp())
           then 'local_rate_limit' end;
end $$;


create or replace function test_detail(stage text, l lane)
returns text language sql stable as $$
    select case when stage = 'no_channel'
                then 'no channel is set for it, or it is off'
                when stage = 'local_rate_limit'
                then 'the channel has to wait before the next message'
                when l.paused_at is not null
                then 'the operator has paused its deliveries'
                when l.webhook_id is not null and l.verified_at is null
                then 'whose channel it is, is being looked at: try again'
                else coalesce((lane_trouble(l)).detail,
                              'the webhook is not registered yet') end
$$;
