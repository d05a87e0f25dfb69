-- The troubleshooter: why logs do not arrive, and what can be done about it.

call type_make('finding', $$
    id        text,
    detail    text,
    scope     jsonb,       -- {kind, …}
    fix       jsonb,       -- null: none that is automatic
    severity  text         -- null: the usual one
$$);

-- what the platform said of a channel

call type_make('probe', $$
    "channelId"  text,
    result       text,     -- ok, channel_gone, foreign_channel, forbidden;
                           -- else why not asked
    webhooks     text[]
$$);


create or replace function finding_kinds(out place int, out id text,
    out severity text, out title text)
returns setof record language sql immutable as $$
    select * from (values
        (1, 'NEVER_INITIALISED', 'blocking', 'Logging was never set up'),
        (2, 'NO_LOG_CHANNEL', 'blocking', 'There is no log channel'),
        (3, 'CHANNEL_GONE', 'blocking', 'A log channel is gone'),
        (4, 'MISSING_PERMISSION', 'blocking', 'A permission is missing'),
        (5, 'WEBHOOK_LIMIT', 'blocking',
            'A log channel has no room for another webhook'),
        (6, 'MISSING_WEBHOOK', 'blocking', 'A log channel has no webhook'),
        (7, 'RECENT_FAILURES', 'degraded', 'Some logs did not arrive'),
        (8, 'CHANNEL_OVER_LIMIT', 'degraded',
            'A log channel gets more than the platform allows'),
        (9, 'IGNORE_HIDES_ALL', 'degraded',
            'The ignore lists hide everything'),
        (10, 'CATEGORY_OFF', 'info', 'A category is switched off'),
        (11, 'LOG_TYPE_OFF', 'info', 'A log type is switched off'),
        (12, 'BOTS_IGNORED', 'info', 'What bots do is not logged')
    ) k
$$;


-- What the configuration itself keeps from being logged.

create or replace function findings_of_channels(guild bigint, bot smallint)
returns setof finding language plpgsql stable as $$
declare
    channels  logging_channels;
    homeless  text;
begin
    select * into channels from logging_channels c
     where c.guild_id = guild and c.bot = findings_of_channels.bot;

    if not found then
        return next row('NEVER_INITIALISED',
            'Nothing was ever set for this bot.', '{"kind": "server"}',
            '{"kind": "initialise_guild"}', null)::finding;
    end if;

    homeless := (
        select string_agg(r.route, ', ' order by r.route)
          from (select distinct t.route from log_type t) r
         where channel_of(channels, r.route) is null);

    if cardinality(channels_used(guild, bot)) = 0 then
        return next row('NO_LOG_CHANNEL',
            'Neither a main channel nor one of a category is set: nothing is '
            'delivered. Choose a channel.', '{"kind": "server"}', null,
            null)::finding;

    elsif homeless is not null then
        return next row('NO_LOG_CHANNEL',
            'There is no main channel, and none for ' || homeless || '.',
            '{"kind": "server"}', null, 'degraded')::finding;
    end if;

    return query
        select 'CATEGORY_OFF', 'Nothing of ' || v.key || ' is delivered.',
               jsonb_build_object('kind', 'category', 'category', v.key),
               jsonb_build_object('kind', 'clear_log_channel',
                                  'category', v.key), null::text
          from jsonb_each_text(to_jsonb(channels)) v
         where v.value = '0' and v.key like 'category%'
         order by v.key;

    return query
        select 'LOG_TYPE_OFF',
               'Log type ' || t.log_type || ' (' || k.title || ') is '
               || case when not t.enabled then 'not recorded.'
                       else 'not delivered.' end,
               jsonb_build_object('kind', 'logType', 'logType', t.log_type),
               jsonb_build_object('kind', 'enable_log_type',
                                  'logType', t.log_type), null::text
          from logging_type t
          join log_type k on k.id = t.log_type
         where t.guild_id = guild and t.bot = findings_of_channels.bot
           and (not t.enabled or t.log_channel = 0)
         order by t.log_type;
end $$;


-- Ignore lists that leave nothing over: the role that everybody has, or every
-- channel that is known.

create or replace function findings_of_ignore(guild bigint, bot smallint)
returns setof finding language plpgsql stable as $$
declare
    options  constant logging_options := options_of(guild, bot);
    free     constant boolean := exists (
                 select from server s
                  where s.guild_id = guild and s.plan = 'free');
begin
    return query
        select 'IGNORE_HIDES_ALL',
               'The list of ' || ignore_name(i.ignore_type)
               || ' has the role that everybody has.',
               jsonb_build_object('kind', 'ignore', 'ignoreType',
                                  i.ignore_type),
               jsonb_build_object('kind', 'remove_ignore', 'ignoreType',
                                  i.ignore_type, 'value', i.ignore_value),
               null::text
          from ignore_entry i
         where i.guild_id = guild and i.bot = findings_of_ignore.bot
           and i.ignore_type in (5, 6) and i.ignore_value = guild::text
         order by i.ignore_type;

    return query
        with hidden as (
            select d.id, min(array[i.ignore_type::text, i.ignore_value])
                       filter (where i.ignore_type is not null) as by
              from directory d
              left join directory up
                on up.guild_id = guild and up.kind = 1 and up.id = d.parent
              left join ignore_entry i
                on i.guild_id = guild and i.bot = findings_of_ignore.bot
               and (i.ignore_type = 0
                    and i.ignore_value in (d.id::text, d.parent::text)
                    or i.ignore_type = 1
                    and i.ignore_value in (d.parent::text, up.parent::text))
             where d.guild_id = guild and d.kind = 1
               and d.type is distinct from 4
             group by d.id
        )
        select 'IGNORE_HIDES_ALL',
               'Every channel that is known is ignored; the entry '
               || h.by[2] || ' of the list of '
               || ignore_name(h.by[1]::int) || ' hides most of them.',
               '{"kind": "server"}'::jsonb,
               jsonb_build_object('kind', 'remove_ignore', 'ignoreType',
                                  h.by[1]::int, 'value', h.by[2]), null::text
          from hidden h
         where not exists (select from hidden g where g.by is null)
         group by h.by order by count(*) desc, h.by limit 1;

    if free or options.ignore_bot_executors or options.ignore_bot_targets then
        return next row('BOTS_IGNORED',
            case when free
                 then 'On the free plan, what bots do or suffer is left out.'
                 else 'What bots do or suffer is left out, as it is set.' end,
            '{"kind": "server"}', case when not free
                 then '{"kind": "disable_bot_ignore"}'::jsonb end,
            null)::finding;
    end if;
end $$;


-- What is the matter with a channel: by its lane, then by what the platform
-- says of it.

create or replace function findings_of_lanes(guild bigint, bot smallint,
    probes probe[])
returns setof finding language plpgsql stable as $$
declare
    used  constant bigint[] := channels_used(guild, bot);
begin
    return query
        select distinct on (m.channel_id, m.id)
               m.id, 'Channel ' || m.channel_id || ': ' || m.detail,
               jsonb_build_object('kind', 'channel',
                                  'channelId', m.channel_id::text),
               case when m.id = 'CHANNEL_GONE'
                    then jsonb_build_object('kind', 'clear_log_channel',
                             'channelId', m.channel_id::text)
                    else jsonb_strip_nulls(jsonb_build_object(
                             'kind', 'register_webhook',
                             'channelId', m.channel_id::text,
                             'webhookId', m.webhook_id::text)) end, null::text
          from (select l.channel_id, null::bigint as webhook_id, 0 as place,
                       s.id, s.detail
                  from lane l
                 cross join lateral lane_trouble(row(l.*)::lane) s
                 where l.guild_id = guild
                   and l.bot = findings_of_lanes.bot
                   and l.state <> 'closed'
                   and l.channel_id = any (used)
                union all
                select l.channel_id, l.webhook_id, 1, s.id, s.detail
                  from lane l
                  join unnest(probes) p
                    on p."channelId" = l.channel_id::text
                 cross join lateral probe_trouble(row(l.*)::lane, p) s
                 where l.guild_id = guild
                   and l.bot = findings_of_lanes.bot
                   and l.state in ('registering', 'active')
                   and l.channel_id = any (used)) m
         where m.id is not null
         order by m.channel_id, m.id, m.place;
end $$;


create or replace function lane_trouble(l lane, out id text, out detail text)
language sql stable as $$
    select case when l.state = 'closed' or l.state = 'closing' then null
                when l.reason in ('channel_gone', 'foreign_channel')
                then 'CHANNEL_GONE'
                when l.reason = 'webhook_limit' then 'WEBHOOK_LIMIT'
                when l.reason in ('webhook_404', 'no_bot_token',
                                  'bad_bot_token') then 'MISSING_WEBHOOK'
                when l.reason is not null then 'MISSING_PERMISSION'
                when l.state = 'registering'
                 and l.since < now() - interval '1 minute'
                then 'MISSING_WEBHOOK' end,
           case when l.reason = 'foreign_channel'
                then 'it belongs to another server (foreign_channel).'
                when l.state = 'broken'
                then 'deliveries have stopped (' || l.reason || ').'
                when l.reason = 'no_bot_token'
                then 'the service has no token of this bot (no_bot_token).'
                when l.reason = 'bad_bot_token'
                then 'the platform refuses the token of this bot '
                     || '(bad_bot_token).'
                when l.reason is not null
                then 'tried again each minute (' || l.reason || ').'
                else 'the webhook is still being registered.' end
$$;


create or replace function probe_trouble(l lane, p probe, out id text,
    out detail text)
language sql stable as $$
    select case when p.result in ('channel_gone', 'foreign_channel')
                then 'CHANNEL_GONE'
                when p.result = 'forbidden' then 'MISSING_PERMISSION'
                when p.result <> 'ok'
                  or l.webhook_id::text = any (p.webhooks) then null
                when l.state = 'active' then 'MISSING_WEBHOOK'
                when cardinality(p.webhooks) >= 15 then 'WEBHOOK_LIMIT' end,
           case when p.result = 'channel_gone'
                then 'the platform knows it no more.'
                when p.result = 'foreign_channel'
                then 'it belongs to another server.'
                when p.result = 'forbidden'
                then 'webhooks may not be managed there.'
                when l.state = 'active'
                then 'its webhook is not at the platform any more.'
                else 'it has ' || cardinality(p.webhooks) || ' webhooks.' end
$$;


create or replace function findings_of_traffic(guild bigint, bot smallint)
returns setof finding language plpgsql stable as $$
begin
    return query
        select 'CHANNEL_OVER_LIMIT',
               'Channel ' || p."channelId" || ' got ' || p."ratePerMinute"
               || ' messages in the last minute, of '
               || p."ceilingPerMinute" || ', and ' || p.queued || ' wait.',
               jsonb_build_object('kind', 'channel',
                                  'channelId', p."channelId"),
               null::jsonb, null::text
          from pacing_rows(guild, bot) p
         where p."overCeiling"
            or p.queued > 300 and p."ratePerMinute" >= p."ceilingPerMinute";

    return query
        select 'RECENT_FAILURES',
               'Channel ' || l.channel_id || ': ' || b.entries
               || case b.entries when 1 then ' entry' else ' entries' end
               || ' of the last hour may not have arrived ('
               || b.reasons || ').',
               jsonb_build_object('kind', 'channel',
                                  'channelId', l.channel_id::text),
               null::jsonb, null::text
          from lane l
         cross join lateral (
                   select sum(b.seq_to - b.seq_from + 1) as entries,
                          string_agg(distinct b.reason, ', ') as reasons
                     from lane_batch b
                    where b.guild_id = guild and b.lane = l.lane
                      and b.done_at > now() - interval '1 hour'
                      and b.status < 2) b
         where l.guild_id = guild and l.bot = findings_of_traffic.bot
           and l.state <> 'closed' and b.entries > 0
         order by l.channel_id;
end $$;


-- Which channels to ask the platform about, for GET /troubleshoot: an array,
-- without those that are known to be another server's. At most 10 reports a
-- minute of one server ask, and none while it rests.

create or replace function troubleshoot_ask(token text, guild bigint,
    bot smallint, kind smallint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    past  constant timestamptz := now() - interval '1 minute';
    n     int;
begin
    body := '[]';

    if not token_live(guild, token) then
        status := 401;
        return;
    end if;

    insert into troubleshoot_use as u (guild_id, since, reports)
    values (guild, now(), 1)
    on conflict (guild_id) do update
       set since = case when u.since < past
                        then excluded.since else u.since end,
           reports = case when u.since < past then 1 else u.reports + 1 end
    returning reports into n;

    status := 200;

    if n <= 10 and rest_ms(guild) = 0 then
        body := to_json(array(
            select u.channel::text
              from unnest(channels_used(guild, bot)) u (channel)
             where not exists (select from lane l
                                where l.guild_id = guild
                                  and l.bot = troubleshoot_ask.bot
                                  and l.channel_id = u.channel
                                  and l.state = 'broken'
                                  and l.reason = 'foreign_channel')));
    end if;
end $$;


-- The report of what was asked: so many of these questions were refused, of at
-- most 25.

create or replace function troubleshoot_report(token text, guild bigint,
    bot smallint, kind smallint, live smallint, application text,
    probes jsonb, refused int)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
begin
    if token_live(guild, token) then
        perform refusals_add(guild, least(refused, 25));
    end if;

    return troubleshoot_get(token, guild, bot, kind, live, application,
                            probes);
end $$;


-- GET /troubleshoot. live: whether the platform was to be asked; probes: what
-- it said, of the channels that were. Where it did not say all, nobody knows
-- whether the server is healthy.

create or replace function troubleshoot_get(token text, guild bigint,
    bot smallint, kind smallint, live smallint, application text,
    probes jsonb)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    asked     constant probe[] := array(
                  select p from jsonb_populate_recordset(null::probe,
                                    coalesce(probes, '[]')) p);
    summary   constant json := troubleshoot_summary(guild, bot, live, asked);
    findings  json;
    counts    jsonb;
begin
    if not token_live(guild, token) then
        return answered(401);
    end if;

    select coalesce(json_agg(json_build_object(
               'id', f.id, 'severity', f.severity, 'title', f.title,
               'detail', f.detail, 'scope', f.scope, 'fix', f.fix)
               order by f.place, f.scope), '[]'),
           jsonb_build_object(
               'blocking', count(*) filter (where f.severity = 'blocking'),
               'degraded', count(*) filter (where f.severity = 'degraded'),
               'info', count(*) filter (where f.severity = 'info'))
      into findings, counts
      from (select k.place, f.id, coalesce(f.severity, k.severity) as severity,
                   k.title, f.detail, f.scope, f.fix
              from (select * from findings_of_channels(guild, bot)
                    union all
                    select * from findings_of_ignore(guild, bot)
                    union all
                    select * from findings_of_lanes(guild, bot, asked)
                    union all
                    select * from findings_of_traffic(guild, bot)) f
              join finding_kinds() k on k.id = f.id) f;
    return answered(200, json_build_object(
        'guildId', guild::text,
        'botId', application,
        'generatedAt', ms(clock_timestamp()),
        'status', case when counts -> 'blocking' <> '0' then 'broken'
                       when counts -> 'degraded' <> '0'
                         or json_array_length(summary -> 'incomplete') > 0
                       then 'degraded'
                       else 'healthy' end,
        'findings', findings,
        'counts', counts,
        'summary', summary)::text);
end $$;


create or replace function troubleshoot_summary(guild bigint, bot smallint,
    live smallint, asked probe[])
returns json language plpgsql stable as $$
declare
    channels    logging_channels;
    categories  bigint;
    incomplete  json;
begin
    select * into channels from logging_channels c
     where c.guild_id = guild and c.bot = troubleshoot_summary.bot;
    select count(distinct t.category) into categories from log_type t
     where channel_of(channels, t.route) > 0;

    if live = 1 then
        incomplete := (
            select json_agg('channel ' || u.id || ': '
                            || coalesce(p.result, 'not asked') order by u.id)
              from unnest(channels_used(guild, bot)) u (id)
              left join unnest(asked) p on p."channelId" = u.id::text
             where coalesce(p.result, '')
                   not in ('ok', 'channel_gone', 'foreign_channel',
                           'forbidden'));
    end if;

    return (
        select json_build_object(
                   'configuredCategories', categories,
                   'firstLogAt', (select h.first_log_at
                                    from head_of(guild, bot) h),
                   'premiumLevel', array_position(
                       '{free,pro_lite,pro}'::text[], s.plan) - 1,
                   'incomplete', coalesce(incomplete, '[]'))
          from server s where s.guild_id = guild);
end $$;
