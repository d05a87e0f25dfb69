-- Packets that wait for each other. They only come in with a batch; that time
-- has come ends them, whatever order they came in: who asks for what is due
-- gets all rows of those servers, decides, and says so.


-- Rows of a batch. One that is there stays as it is. Nothing waits for longer
-- than 10 s, whatever the clock of a bot says.

create or replace function pairs_add(guilds bigint[], bots smallint[],
    events text[], kinds smallint[], audits boolean[], states smallint[],
    ats bigint[], dues bigint[], channels bigint[], targets bigint[],
    persons bigint[], counts int[], docs text[])
returns void language plpgsql as $$
declare
    latest  constant bigint := ms(clock_timestamp()) + 10000;
begin
    if guilds = '{}' then
        return;
    end if;

    insert into pair (guild_id, bot, event_id, kind, audit, state, at, due,
                      channel_id, target_id, person_id, count, doc)
    select n.guild, coalesce(n.bot, 0), n.event, n.kind, n.audit, n.state,
           n.at, least(n.due, latest), n.channel, n.target, n.person, n.count,
           coalesce(n.doc, '')
      from unnest(guilds, bots, events, kinds, audits, states, ats, dues,
                  channels, targets, persons, counts, docs)
               n (guild, bot, event, kind, audit, state, at, due, channel,
                  target, person, count, doc)
     where n.event is not null
    on conflict do nothing;
end $$;


-- All rows of the servers for which something is due, of so many, a line each;
-- in how many ms the next is due, null: none waits.

create or replace function events_due(most int, out status int,
    out guilds bigint[], out versions bigint[], out rows text, out now bigint,
    out next bigint)
language plpgsql stable security definer set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    status := 200;
    now := ms(clock_timestamp());

    select array_agg(d.guild order by d.guild),
           array_agg(coalesce(h.version, 0) order by d.guild)
      into guilds, versions
      from (select p.guild_id as guild from pair p
              join server s
                on s.guild_id = p.guild_id and s.forgotten_at is null
             where p.due <= events_due.now and p.state = 0
             group by p.guild_id order by min(p.due) limit most) d
      left join event_head h on h.guild_id = d.guild;

    select string_agg(format(
               '{"guild":"%s","bot":%s,"event":%s,"kind":%s,"audit":%s,'
               '"state":%s,"at":%s,"due":%s,"channel":%s,"target":%s,'
               '"person":%s,"count":%s,"doc":%s}', p.guild_id, p.bot,
               to_json(p.event_id), p.kind, p.audit::text, p.state, p.at,
               p.due, coalesce('"' || p.channel_id || '"', 'null'),
               coalesce('"' || p.target_id || '"', 'null'),
               coalesce('"' || p.person_id || '"', 'null'),
               coalesce(p.count::text, 'null'),
               coalesce(nullif(p.doc, ''), 'null')), e'\n'
               order by p.guild_id, p.at, p.event_id)
      into rows
      from unnest(guilds) d (guild)
      join pair p on p.guild_id = d.guild;

    next := case when cardinality(guilds) = most then 0 else (
        select p.due - events_due.now from pair p
         where p.due > events_due.now and p.state = 0
         order by p.due limit 1) end;
end $$;


-- What was decided, of the versions that were read: entries are recorded, rows
-- end or go, and the events of those that were absorbed stay known as arrivals
-- without an entry, so that they are duplicates from then on. Of a server of
-- which others were first nothing is done, and joined and alone, counts by
-- server, are summed without it. 409: that is so of all of them.
--
-- Where they fail together each is done by itself: one that fails rests for
-- 5 s, and fault says why. One whose filters did not come to all in time does
-- not end: what is recorded of it is a duplicate the next time, and it comes
-- further.

create or replace function events_end(guilds bigint[], versions bigint[],
    end_guilds bigint[], end_bots smallint[], end_events text[],
    gone_guilds bigint[], gone_bots smallint[], gone_events text[],
    absorbed_guilds bigint[], absorbed_bots smallint[],
    absorbed_events text[], entry_guilds bigint[], entry_bots smallint[],
    events text[], types smallint[], times bigint[], executors text[],
    executor_bots boolean[], executor_roles text[], targets text[],
    target_bots boolean[], target_roles text[], channels text[],
    parents text[], categories text[], proxied boolean[], prefixed int[],
    crowded int[], docs text, errors jsonb, guild_joined int[] default '{}',
    guild_alone int[] default '{}', out status int, out body text,
    out counts text, out joined bigint, out alone bigint, out fault text)
language plpgsql security definer set search_path = guildlog, pg_temp
set lock_timeout = '2s' as $$
declare
    absorbed  constant text[] := array_fill(null::text,
                                   array[cardinality(absorbed_events)]);
    taken     constant bigint[] := pairs_take(guilds, versions);
    left_over bigint[] := '{}';   -- each is to be done by itself
    part      bigint[] := taken;
    done      bigint[] := '{}';
    verdicts  text[] := '{}';
    ids       bigint[] := '{}';
    did       record;
    ended     record;
begin
    body := '{}';
    counts := '{}';
    status := case when taken = '{}' then 409 else 200 end;

    if status <> 200 then
        return;
    end if;

    loop
        begin
            -- one without an event is not recorded

            did := record_together(entry_guilds || absorbed_guilds,
                entry_bots || absorbed_bots,
                row(pairs_taken(part, entry_guilds || absorbed_guilds,
                                events || absorbed_events),
                types || absorbed::smallint[], times, executors,
                executor_bots, executor_roles, targets, target_bots,
                target_roles, channels, parents, categories, proxied,
                prefixed, crowded)::batch,
                string_to_array(docs, e'\n') || absorbed, errors);

            select coalesce(array_agg(u.verdict order by u.place), '{}')
                       as verdicts,
                   coalesce(array_agg(u.id order by u.place), '{}') as ids,
                   array(select unnest(part) except
                         select unnest(array_agg(u.guild) filter (
                             where u.verdict = 'postponed'))) as guilds
              into ended
              from unnest(entry_guilds, did.verdicts, did.ids)
                       with ordinality u (guild, verdict, id, place)
             where u.guild = any (part);

            perform pairs_end(end_guilds, end_bots,
                        pairs_taken(ended.guilds, end_guilds, end_events));
            perform pairs_go(gone_guilds, gone_bots,
                        pairs_taken(ended.guilds, gone_guilds, gone_events));
            verdicts := verdicts || ended.verdicts;
            ids := ids || ended.ids;
            done := done || ended.guilds;
        exception when others then
            if cardinality(part) > 1 then
                left_over := part;
            else
                fault := format('server %s, SQLSTATE %s: %s', part[1],
                                sqlstate, sqlerrm);
                perform pairs_rest(part[1]);
            end if;
        end;

        exit when left_over = '{}';
        part := left_over[1 : 1];
        left_over := left_over[2 :];
    end loop;

    select t.body, t.counts into body, counts
      from events_told(verdicts, ids, errors) t;

    select sum(n.joined), sum(n.alone) into joined, alone
      from unnest(guilds, guild_joined, guild_alone) n (guild, joined, alone)
     where n.guild = any (done);
end $$;


-- What is due of a server that fails lets others come first.

create or replace function pairs_rest(guild bigint)
returns void language plpgsql set enable_seqscan = off as $$
declare
    now  constant bigint := ms(clock_timestamp());
begin
    update pair p set due = now + 5000
     where p.guild_id = guild and p.due <= now and p.state = 0;
end $$;


-- Takes the heads of those that nobody has changed or forgets: which they are.
-- Their versions stay: no batch asks for what an end changes, but for when the
-- time of the last one is, which may be over; and two that end the same decide
-- the same.

create or replace function pairs_take(guilds bigint[], versions bigint[])
returns bigint[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    its   bigint[] := '{}';
    shut  text[];
    lone  bigint;
begin
    foreach lone in array lones_of(guilds) loop
        its := its || array(
            select h.guild_id
              from unnest(guilds, versions) n (guild, version)
              join event_head h
                on h.guild_id = n.guild and h.version = n.version
               and (lone is null or h.guild_id = lone)
             order by h.guild_id
               for update of h);
    end loop;

    shut := server_obstacles(its);
    return case when num_nonnulls(variadic shut) = 0 then its
                else array(select u.guild
                             from unnest(its, shut) u (guild, obstacle)
                            where u.obstacle is null) end;
end $$;


-- The events of these servers, and null in the place of others.

create or replace function pairs_taken(taken bigint[], guilds bigint[],
    events text[])
returns text[] language plpgsql immutable as $$
begin
    return case when guilds <@ taken then events
                else array(select case when u.guild = any (taken)
                                       then u.event end
                             from unnest(guilds, events) with ordinality
                                      u (guild, event, place)
                            order by u.place) end;
end $$;


create or replace function pairs_end(guilds bigint[], bots smallint[],
    events text[])
returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  bigint;
begin
    foreach lone in array lones_of(guilds) loop
        update pair p
           set state = 1, doc = ''
          from unnest(guilds, bots, events) n (guild, bot, event)
         where p.guild_id = n.guild and p.bot = n.bot and p.event_id = n.event
           and (lone is null or p.guild_id = lone);
    end loop;
end $$;


create or replace function pairs_go(guilds bigint[], bots smallint[],
    events text[])
returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  bigint;
begin
    foreach lone in array lones_of(guilds) loop
        delete from pair p
         using unnest(guilds, bots, events) n (guild, bot, event)
         where p.guild_id = n.guild and p.bot = n.bot and p.event_id = n.event
           and (lone is null or p.guild_id = lone);
    end loop;
end $$;
