-- Alerts at work, in the transaction that records, under the lock of
-- record_begin(). The rule, for an alert and one executor, target or channel
-- (its subject; by the server there is but one):
--
--   An entry counts when it is recorded, or released if it was held, if it is
--   of a type of the alert and has a subject. Its time is its own. The alert
--   fires with an entry if that and count - 1 of those that counted before lie
--   within so many seconds, both ends included, and if it is at least that
--   long after the entry with which the alert fired last. An entry earlier
--   than that one counts no more.
--
-- So a late entry fires if it completes what others began, and never repeats
-- what was told. Of a subject the 10 * count latest times are kept: an entry
-- that is older than all of these does not count. Since fewer than count lie
-- within the seconds as long as it does not fire, one that is 8 times as late
-- as these seconds counts in any case. Of those that come while it is silent
-- the count - 1 latest are enough: whatever completes them later comes behind
-- them all. What a subject has is forgotten when a
-- whole day (UTC) has passed in which nothing of it came; then, and when an
-- alert gets other types, counts or subjects, or is switched on, it begins
-- anew.
--
-- What an alert says is an entry, too, but no alert counts it.


-- The log type of what an alert says.

create or replace function alert_type()
returns smallint language sql immutable as $$
    select 101::smallint
$$;


-- The types that alerts of a server count; null: there is none to.

create or replace function alerts_watched(guild bigint, bot smallint)
returns smallint[] language plpgsql stable as $$
begin
    return (
        select array_agg(distinct t order by t)
          from alert a cross join lateral unnest(a.types) t
         where a.guild_id = guild and a.bot = alerts_watched.bot
           and a.enabled);
end $$;


-- Counts the entries of a batch that were recorded, and records behind them
-- what alerts say to that.

create or replace function alerts_see(h heads, received bigint, b batch,
    docs text[], verdicts text[], holds boolean)
returns void language plpgsql as $$
declare
    held  constant boolean[] := case when holds
                                     then record_held(h, b.types) end;
    its   record;
begin
    select array_agg(h.guilds[f.head] order by f.place, f.alert) as guilds,
           array_agg(h.bots[f.head] order by f.place, f.alert) as bots,
           array_agg(f.alert order by f.place, f.alert) as alerts,
           array_agg(coalesce(b.times[f.place], received)
                     order by f.place, f.alert) as times,
           array_agg(docs[f.place] order by f.place, f.alert) as docs
      into its
      from alerts_fired(h, received, b, verdicts, held) f;

    if its.alerts is not null then
        perform alerts_record(heads_ordered(its.guilds, its.bots), received,
                              its.alerts, its.times, its.docs);
    end if;
end $$;


-- The same of what was held, and is released.

create or replace function alerts_released(guild bigint, bot smallint,
    arrivals bigint[])
returns void language plpgsql as $$
declare
    h    heads := heads_one(guild, bot, cardinality(arrivals));
    its  record;
begin
    h.turns := heads_turns(h.guilds, h.bots);
    h.settings := record_settings(h);

    if (h.settings[1]).watched is null then
        return;
    end if;

    select array_agg(e.type order by e.arrival) as types,
           array_agg((e.it ->> 'timestamp')::bigint order by e.arrival)
               as times,
           array_agg(e.it #>> '{executor,id}' order by e.arrival) as executors,
           array_agg(e.it #>> '{target,id}' order by e.arrival) as targets,
           array_agg(e.it #>> '{channel,id}' order by e.arrival) as channels,
           array_agg(substr(e.doc, 2) order by e.arrival) as docs
      into its
      from (select a.arrival, a.type, a.doc, (a.doc || '}')::jsonb as it
              from log_arrival a
             where a.guild_id = guild and a.bot = alerts_released.bot
               and a.arrival >= arrivals[1]
               and a.arrival <= arrivals[cardinality(arrivals)]
               and a.arrival = any (arrivals)) e;

    perform alerts_see(h, ms(clock_timestamp()),
        row(null, its.types, its.times, its.executors, null, null,
            its.targets, null, null, its.channels, null, null, null, null,
            null)::batch,
        its.docs, array_fill(null::text, array[cardinality(arrivals)]), false);
end $$;


-- Which alerts fire, and with the entries at which places. Held: those that do
-- not count as yet. Entries and alerts are joined by hashing: a nested loop
-- would cost their product.

create or replace function alerts_fired(h heads, received bigint, b batch,
    verdicts text[], held boolean[], out head int, out place int,
    out alert text)
returns setof record language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_nestloop = off as $$
begin
    return query
        with seen as materialized (
            select u.head, u.place::int, u.type,
                   coalesce(u.at, received) as at,
                   u.executor, u.target, u.channel
              from unnest(h.heads, b.types, b.times, b.executors, b.targets,
                          b.channels, verdicts, held) with ordinality
                       u (head, type, at, executor, target, channel, verdict,
                          held, place)
              join unnest(h.settings) with ordinality
                       s (free, options, holds, lists, channels, first_at,
                          watched, head) on s.head = u.head
             where u.verdict is null and u.type = any (s.watched)
               and u.held is not true
        ), alerts as materialized (
            select d.head, d.type, a.*
              from (select distinct s.head, s.type from seen s offset 0) d
             cross join lateral (
                   select x.alert_id, x.count, x.seconds, x.by from alert x
                    where x.guild_id = h.guilds[d.head]
                      and x.bot = h.bots[d.head]
                      and (h.lone is null or x.guild_id = h.lone)
                      and x.enabled and d.type = any (x.types) offset 0) a
        ), news as (
            select s.head, a.alert_id, k.subject, a.count, a.seconds,
                   array_agg(s.at order by s.place) as ats,
                   array_agg(s.place order by s.place) as places
              from seen s
              join alerts a on a.head = s.head and a.type = s.type
             cross join lateral (
                   select case a.by when 'server' then 0
                                    when 'executor' then s.executor::bigint
                                    when 'target' then s.target::bigint
                                    else s.channel::bigint end) k (subject)
             where k.subject is not null
             group by s.head, a.alert_id, k.subject, a.count, a.seconds
        ), folded as materialized (
            select n.head, n.alert_id, n.subject, n.places, f.*
              from news n
              left join lateral (
                   select x.times, x.fired_at from alert_count x
                    where x.guild_id = h.guilds[n.head]
                      and x.bot = h.bots[n.head]
                      and (h.lone is null or x.guild_id = h.lone)
                      and x.alert_id = n.alert_id
                      and x.subject = n.subject offset 0) c on true
             cross join lateral alert_fold(n.count, n.seconds, n.ats, c.times,
                                           c.fired_at) f
        ), stored as (
            insert into alert_count (guild_id, bot, alert_id, subject, day,
                                     fired_at, times)
            select h.guilds[f.head], h.bots[f.head], f.alert_id, f.subject,
                   day_now(), f.fired_at, f.times
              from folded f
             order by f.head, f.alert_id, f.subject
            on conflict on constraint alert_count_pkey do update
               set day = excluded.day, fired_at = excluded.fired_at,
                   times = excluded.times
        )
        select f.head, f.places[n], f.alert_id
          from folded f cross join lateral unnest(f.fires) n;
end $$;


-- Times that come to those that a subject has, in this order: what it has then,
-- and with which of them the alert fires.

create or replace function alert_fold(count int, seconds int, ats bigint[],
    inout times bigint[], inout fired_at bigint, out fires int[])
language plpgsql immutable as $$
declare
    span  constant bigint := seconds * 1000;
    at    bigint;
    low   int;           -- the first of "count" times with it
    last  int;           -- and of the last ones
begin
    times := coalesce(times, '{}');
    fires := '{}';

    for i in 1 .. cardinality(ats) loop
        at := ats[i];
        continue when at < fired_at;

        times := case when at < times[cardinality(times)]
                      then array(select t from unnest(times || at) t
                                  order by t)
                      else times || at end;

        if cardinality(times) > 10 * count or times[count] < fired_at + span
        then
            times := times[2 :];
        end if;

        continue when at < fired_at + span or at < times[1];

        last := cardinality(times) - count + 1;
        low := greatest(array_position(times, at) - count + 1, 1);

        while low <= last and times[low] <= at
              and times[low + count - 1] - times[low] > span
        loop
            low := low + 1;
        end loop;

        if low <= last and times[low] <= at then
            fires := fires || i;
            fired_at := at;
            times := times[array_position(times, at) :];
        end if;
    end loop;
end $$;


-- Records what these alerts say, each of a time and of an entry with that
-- document. Also if their type is off; the channel that an alert has is its
-- own.

create or replace function alerts_record(h heads, received bigint,
    alerts text[], times bigint[], docs text[])
returns void language plpgsql as $$
declare
    n       constant int := cardinality(alerts);
    routes  bigint[];
    said    text[];
begin
    h := heads_take(h);
    h.settings := record_settings(h);

    select array_agg(alert_doc(a.name, a.count, a.seconds, a.by, a.role,
                               entry_of(u.doc)) order by u.place),
           array_agg(coalesce(a.channel, c.log_channel, channel_of(
                                  (h.settings[u.head]).channels, t.route))
                     order by u.place)
      into said, routes
      from unnest(h.heads, alerts, docs) with ordinality
               u (head, alert, doc, place)
      join log_type t on t.id = alert_type()
     cross join lateral (
           select x.* from alert x
            where x.guild_id = h.guilds[u.head] and x.bot = h.bots[u.head]
              and (h.lone is null or x.guild_id = h.lone)
              and x.alert_id = u.alert offset 0) a
      left join lateral (
           select x.log_channel from logging_type x
            where x.guild_id = h.guilds[u.head] and x.bot = h.bots[u.head]
              and (h.lone is null or x.guild_id = h.lone)
              and x.log_type = t.id offset 0) c on true;

    perform record_store(h, received,
        row(array(select gen_random_uuid()::text from generate_series(1, n)),
            array_fill(alert_type(), array[n]), times, null, null, null, null,
            null, null, null, null, null, null, null, null)::batch,
        said, array_fill(null::text, array[n]), routes, false,
        (heads_special(h.settings)).first_at);
    perform heads_come_due(h);
end $$;


-- The entry: whom it is about by the entry with which it fires.

create or replace function alert_doc(name text, count int, seconds int,
    by text, role bigint, it jsonb)
returns text language sql stable as $$
    select entry_doc(jsonb_build_object(
               'executor', executor_api(), 'name', name, 'count', count,
               'action', 'alert',
               'value', format('%s in %s s', count, seconds),
               'target', case when by in ('executor', 'target')
                              then it -> by end,
               'channel', case by when 'channel' then it -> by end,
               'role_id', role::text))
$$;


-- The channel of the alert that said this entry, by its name; null: it has
-- none, or is gone. Of several of one name it is one that counts the same.

create or replace function alert_channel(guild bigint, bot smallint,
    entry bigint)
returns bigint language plpgsql stable as $$
begin
    return (
        select a.channel
          from entry_named(guild, alert_channel.bot, entry) e
         cross join lateral (select (e.doc || '}')::jsonb as it) d
          join alert a on a.guild_id = guild and a.bot = alert_channel.bot
           and a.name = d.it ->> 'name'
         where d.it ->> 'action' = 'alert'
           and d.it #>> '{executor,id}' = '0'
         order by d.it ->> 'value'
                  = format('%s in %s s', a.count, a.seconds) desc, a.alert_id
         limit 1);
end $$;
