-- Active ignore at work: it drops entries as they come, and takes back those
-- held for it. Both under the lock of record_begin(), so that a count of 5
-- hides exactly 5.


-- Does the request speak of such an entry? Protected types only by name.

create or replace function active_ignore_covers(a active_ignore,
    what log_type, executor text, target text, channel text,
    emoji jsonb, name text, value text, messages jsonb)
returns boolean language sql stable as $$
    select case when a.log_type is null then not what.protected
                else a.log_type = what.id end
       and coalesce(case
           when a.side = 'executor' then a.subject_id = executor
           when a.subject_type in (1, 8, 10)
           then a.subject_id in (channel, target)
           when a.subject_type = 2
           then a.subject_id in (emoji ->> 'id', emoji ->> 'name')
           when a.subject_type = 4 then a.subject_id in (name, value)
           when a.subject_type = 6
           then messages @> jsonb_build_array(
                    jsonb_build_object('id', a.subject_id))
           when a.subject_type in (3, 5) then true
           else a.subject_id = target end, false)
$$;


-- Drops what requests that still run cover, the oldest request first. One by
-- one, since each entry uses up one of a count.

create or replace function active_ignore_apply(guild bigint, bot smallint,
    settings recording, b batch, docs text[], verdicts text[])
returns text[] language plpgsql as $$
declare
    holds     constant boolean := (settings.options).active_ignore;
    requests  active_ignore[];
    e         record;
begin
    if not exists (select from active_ignore a
                    where a.guild_id = guild
                      and a.bot = active_ignore_apply.bot
                      and a.remaining > 0
                      and a.expires_at > clock_timestamp())
    then
        return verdicts;
    end if;

    requests := active_ignore_about(guild, bot, b, docs);

    for e in
        select u.place, u.executor, u.target, u.channel, t as what,
               d.doc -> 'emoji' as emoji, d.doc ->> 'name' as name,
               d.doc ->> 'value' as value, d.doc -> 'messages' as messages
          from unnest(b.types, b.executors, b.targets, b.channels, docs,
                      verdicts) with ordinality
                   u (type, executor, target, channel, doc, verdict, place)
          join log_type t on t.id = u.type
          left join logging_type c
            on c.guild_id = guild and c.bot = active_ignore_apply.bot
           and c.log_type = u.type
         cross join lateral entry_of(u.doc) d (doc)
         where u.verdict is null
           and coalesce(c.active_ignore, holds)
         order by u.place
    loop
        for i in 1 .. cardinality(requests) loop
            if requests[i].remaining > 0
               and active_ignore_covers(requests[i], e.what, e.executor,
                       e.target, e.channel, e.emoji, e.name, e.value,
                       e.messages)
            then
                requests[i].remaining := requests[i].remaining - 1;
                verdicts[e.place] := 'active_ignore';
                exit;
            end if;
        end loop;
    end loop;

    update active_ignore a
       set remaining = r.remaining
      from unnest(requests) r
     where a.guild_id = guild
       and a.bot = active_ignore_apply.bot
       and a.request_id = r.request_id
       and a.remaining > r.remaining;

    return verdicts;
end $$;


-- The requests that still run and speak of somebody or something in the batch,
-- the oldest first.

create or replace function active_ignore_about(guild bigint, bot smallint,
    b batch, docs text[])
returns active_ignore[] language plpgsql stable as $$
declare
    subjects  constant text[] := array(
        select s.id
          from unnest(b.executors, b.targets, b.channels, docs)
                   u (executor, target, channel, doc)
         cross join lateral entry_of(u.doc) d (doc)
         cross join lateral (
             values (u.executor), (u.target), (u.channel),
                    (d.doc #>> '{emoji,id}'), (d.doc #>> '{emoji,name}'),
                    (d.doc ->> 'name'), (d.doc ->> 'value')
              union all
             select m ->> 'id'
               from jsonb_array_elements(d.doc -> 'messages') m) s (id));
begin
    return array(
        select a from active_ignore a
         where a.guild_id = guild
           and a.bot = active_ignore_about.bot
           and a.remaining > 0
           and a.expires_at > clock_timestamp()
           and (a.log_type is null or a.log_type = any (b.types))
           and (a.subject_type in (3, 5) or a.subject_id = any (subjects))
         order by a.requested_at, a.request_id);
end $$;


-- Holds what was stored, where active ignore is on.

create or replace function held_add(guild bigint, bot smallint,
    numbers bigint[], routes bigint[], held boolean[])
returns void language plpgsql as $$
begin
    insert into held_entry (guild_id, bot, id, channel_id, until)
    select guild, held_add.bot, u.id, nullif(u.route, 0),
           clock_timestamp() + interval '3 s'
      from unnest(numbers, routes, held) u (id, route, held)
     where u.id is not null and u.held;
end $$;


-- A new request takes back what it covers of the entries still held, in the
-- order they came in; how many.

create or replace function held_take(guild bigint, bot smallint,
    request bigint)
returns int language plpgsql as $$
declare
    a      active_ignore;
    taken  bigint[];
begin
    perform record_begin(guild, bot, 0);

    -- nothing is added while this has the head

    if not exists (select from held_entry h
                    where h.guild_id = guild
                      and h.bot = held_take.bot
                      and h.until > clock_timestamp())
    then
        return 0;
    end if;

    perform search_hold(guild, bot);
    perform pg_advisory_xact_lock(hashtext('guildlog.held'),
                                  hashint8(guild));

    select * into a from active_ignore r
     where r.guild_id = guild and r.bot = held_take.bot
       and r.request_id = request;

    taken := array(
        select e.id
          from held_entry h
         cross join lateral log_entry_one(guild, held_take.bot, h.id) e
          join log_type t on t.id = e.type
         cross join lateral (select (e.doc || '}')::jsonb) d (doc)
         where h.guild_id = guild
           and h.bot = held_take.bot
           and h.until > clock_timestamp()
           and active_ignore_covers(a, row(t.*)::log_type,
                   e.executor_id::text, e.target_id::text, e.channel_id::text,
                   d.doc -> 'emoji', d.doc ->> 'name', d.doc ->> 'value',
                   d.doc -> 'messages')
         order by e.arrival
         limit a.remaining);

    if cardinality(taken) = 0 then
        return 0;
    end if;

    perform entries_remove(guild, bot, taken);

    update active_ignore r
       set remaining = r.remaining - cardinality(taken)
     where r.guild_id = guild and r.bot = held_take.bot
       and r.request_id = request;

    return cardinality(taken);
end $$;


-- Takes held entries out of the store; their events stay known.

create or replace function entries_remove(guild bigint, bot smallint,
    ids bigint[])
returns void language plpgsql as $$
begin
    perform corrections_add(guild, bot, ids, -1);

    delete from held_entry h
     where h.guild_id = guild
       and h.bot = entries_remove.bot
       and h.id = any (ids);

    with gone as (
        delete from log_entry e
         where e.guild_id = guild
           and e.bot = entries_remove.bot
           and e.id = any (ids)
        returning e.arrival
    )
    update log_event k
       set entry_id = null
      from gone g
     where k.guild_id = guild
       and k.bot = entries_remove.bot
       and k.arrival = g.arrival
       and k.entry_id is not null;

    update log_head h
       set first_log_at = (
               select id_time(min(e.id)) from log_entry e
                where e.guild_id = guild and e.bot = entries_remove.bot)
     where h.guild_id = guild
       and h.bot = entries_remove.bot
       and h.first_log_at in (select id_time(i) from unnest(ids) i);
end $$;


-- Gives delivery what no request can remove any more, at most so many: the
-- entries that have a channel to go to get their place there now.

create or replace function held_release(budget int default 1000,
    out guild_id bigint, out bot smallint, out id bigint,
    out channel_id bigint)
returns setof record language plpgsql as $$
declare
    due  record;
begin
    for due in
        select h.guild_id, h.bot, count(*)::int as n
          from (select x.guild_id, x.bot from held_entry x
                 where not x.released
                   and x.until <= clock_timestamp()
                 order by x.until limit budget) h
         group by 1, 2
         order by 1, 2
    loop
        continue when not held_begin(due.guild_id, due.bot);
        return query
            select due.guild_id, due.bot, r.id, r.channel_id
              from held_release_of(due.guild_id, due.bot, due.n) r;
    end loop;
end $$;


-- As record_begin(), but that it waits for a second at most: false if that was
-- in vain. One server is not to be in the way of all.

create or replace function held_begin(guild bigint, bot smallint)
returns boolean language plpgsql set lock_timeout = '1s' as $$
begin
    perform from log_head h
      where h.guild_id = guild and h.bot = held_begin.bot
        for no key update skip locked;

    if found then
        return true;
    end if;

    begin
        perform record_begin(guild, bot, 0);
        return true;
    exception when lock_not_available then
        return false;
    end;
end $$;


-- Those of one bot, in the order they came in, which is that of their ends but
-- for those that have the same. What is gone has no place to go to.

create or replace function held_release_of(guild bigint, bot smallint,
    budget int, out id bigint, out channel_id bigint)
returns setof record language plpgsql as $$
declare
    ids       bigint[];
    channels  bigint[];
    ends      lane_ends;
begin
    select array_agg(h.id order by e.arrival),
           array_agg(case when e.id is not null then h.channel_id end
                     order by e.arrival)
      into ids, channels
      from (select x.id, x.channel_id
              from held_entry x
             where x.guild_id = guild
               and x.bot = held_release_of.bot
               and not x.released
               and x.until <= clock_timestamp()
             order by x.until fetch first budget rows with ties) h
      left join lateral log_entry_one(guild, held_release_of.bot, h.id) e
        on true;

    ends := lanes_take(guild, bot, channels);

    update held_entry h
       set released = true, lane = p.lane, seq = p.seq
      from lane_places(channels, ends) p
     where h.guild_id = guild
       and h.bot = held_release_of.bot
       and h.id = ids[p.place];

    return query
        select n.id, n.channel from unnest(ids, channels) n (id, channel)
         where n.channel is not null
         order by n.id;
end $$;
