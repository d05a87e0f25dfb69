-- A batch of events: what they are, is decided outside; here it is stored, all
-- of it or nothing. Nothing of it can be sent again, as what it tells is known
-- then: so it is nothing where filters do not come to all entries in time.
-- Entries may be left to the pairs instead, which come to them in turns.


-- Order of locks: the servers of which the directory changes, all of their
-- heads, then those of recording. Whoever forgets a server has its row, and
-- takes its head as well. So nothing is written for one that is forgotten.

create or replace function operator_events(guilds bigint[], versions bigint[],
    keep_guilds bigint[], keep_kinds smallint[], keep_ids bigint[],
    keep_authors bigint[], keep_channels bigint[], keep_docs text,
    servers jsonb, pair_guilds bigint[], pair_bots smallint[],
    pair_events text[], pair_kinds smallint[], pair_audits boolean[],
    pair_states smallint[], pair_ats bigint[], pair_dues bigint[],
    pair_channels bigint[], pair_targets bigint[], pair_persons bigint[],
    pair_counts int[], pair_docs text, entry_guilds bigint[],
    entry_bots smallint[], events text[], types smallint[], times bigint[],
    executors text[], executor_bots boolean[], executor_roles text[],
    targets text[], target_bots boolean[], target_roles text[],
    channels text[], parents text[], categories text[], proxied boolean[],
    prefixed int[], crowded int[], docs text, errors jsonb, out status int,
    out body text, out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp
set lock_timeout = '2s' as $$
declare
    lines  constant text[] := said_allowed(keep_guilds, keep_kinds,
                                  keep_channels, events_lines(
                                      keep_docs, cardinality(keep_ids)));
    taken  record;
    news   record;
    did    record;
begin
    perform servers_hold(keep_guilds, keep_kinds, servers);
    taken := events_take(guilds, versions, servers);
    status := taken.status;
    body := taken.body;
    counts := taken.counts;

    if status <> 200 then
        return;
    end if;

    perform servers_keep(servers);
    news := directory_keep(keep_guilds, keep_kinds, keep_ids, lines);
    perform known_keep(keep_guilds, keep_kinds, keep_ids, lines);
    perform pairs_add(pair_guilds, pair_bots, pair_events, pair_kinds,
                pair_audits, pair_states, pair_ats, pair_dues, pair_channels,
                pair_targets, pair_persons, pair_counts,
                string_to_array(pair_docs, e'\n'));

    did := record_together(entry_guilds, entry_bots, row(events, types, times,
        executors, executor_bots, executor_roles, targets, target_bots,
        target_roles, channels, parents, categories, proxied, prefixed,
        crowded)::batch, string_to_array(docs, e'\n'), errors);

    if 'postponed' = any (did.verdicts) then
        raise exception using errcode = 'GL503',
            message = 'filters have not come to all entries in time';
    end if;

    select t.body || jsonb_build_object('kept', said_keep(
               keep_guilds, keep_kinds, keep_ids, keep_authors, keep_channels,
               lines, taken.pro)), t.counts
      into body, counts
      from events_told(did.verdicts, did.ids, did.told) t;

    perform channels_doubted(news.new_guilds, news.new_channels);
end $$;


-- Takes the servers that a batch changes something of, in the order of their
-- ids.

create or replace function servers_hold(guilds bigint[], kinds smallint[],
    servers jsonb)
returns void language plpgsql set enable_seqscan = off as $$
declare
    its  constant bigint[] := array(
             select n.guild from unnest(guilds, kinds) n (guild, kind)
              where n.kind between 1 and 3
              union
             select (s ->> 'id')::bigint from jsonb_array_elements(servers) s
              order by 1);
    lone  bigint;
begin
    foreach lone in array lones_of(its) loop
        perform from server s
          where s.guild_id = any (its) and (lone is null or s.guild_id = lone)
          order by s.guild_id for no key update;
    end loop;
end $$;


-- Takes the heads of all these servers, in the order of their ids, if they
-- still have the versions that were read, and nothing forbids to write for
-- them: 200, else 409, and nothing is changed. A version of -1: what comes does
-- not depend on what was read. Of them pro are on that plan, those that come
-- now (servers) among them.

create or replace function events_take(guilds bigint[], versions bigint[],
    servers jsonb, out status int, out body text, out counts text,
    out pro bigint[])
language plpgsql set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    plans   constant jsonb := coalesce((
                select jsonb_object_agg(s ->> 'id', s ->> 'plan')
                 from jsonb_array_elements(servers) s), '{}');
    taken   int;
    wanted  int;
    open    boolean;     -- nothing forbids to write
begin
    body := '{}';
    counts := '{}';
    taken := cardinality(events_heads(guilds, versions));
    wanted := (select count(*) from unnest(versions) v where v >= 0);

    -- behind the heads: who forgets a server waits for these from here on

    select coalesce(bool_and(case when s.guild_id is null
                                  then plans ? n.guild::text
                                  else s.forgotten_at is null end), true),
           coalesce(array_agg(n.guild) filter (
               where coalesce(s.plan, plans ->> n.guild::text) = 'pro'), '{}')
      into open, pro
      from unnest(guilds) n (guild)
      left join lateral server_one(n.guild) s on true;

    if taken < wanted or not open then
        raise exception using errcode = 'GL409',
            message = 'others were first: read again';
    end if;

    status := 200;
exception when sqlstate 'GL409' then
    status := 409;
end $$;


-- Takes the heads of those of these servers that still have the versions that
-- were read, in the order of their ids: which they are.

create or replace function events_heads(guilds bigint[], versions bigint[],
    out its bigint[])
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  bigint;
    had   bigint[];
begin
    its := '{}';

    if 0 = any (versions) then
        insert into event_head (guild_id, version)
        select n.guild, 0
          from unnest(guilds, versions) n (guild, version)
         where n.version = 0
         order by n.guild
        on conflict do nothing;
    end if;

    foreach lone in array lones_of(guilds) loop
        with taken as (
            update event_head h
               set version = h.version + 1
              from (select u.guild, u.version
                      from unnest(guilds, versions) u (guild, version)
                     order by u.guild offset 0) n
             where h.guild_id = n.guild and h.version = n.version
               and (lone is null or h.guild_id = lone)
            returning h.guild_id)
        select array_agg(t.guild_id) into had from taken t;

        its := its || had;
    end loop;
end $$;


-- Makes servers known, and changes of those that are what is there, but not
-- their plan.

create or replace function servers_keep(servers jsonb)
returns void language plpgsql as $$
declare
    its  jsonb;
begin
    for its in
        select s from jsonb_array_elements(servers) s
         order by (s ->> 'id')::bigint
    loop
        perform operator_server_put((its ->> 'id')::bigint,
            case when exists (select from server s
                               where s.guild_id = (its ->> 'id')::bigint)
                 then its - 'plan' else its end);
    end loop;
end $$;


-- What is known of people and things. A voice state of the id 0: all of the
-- server's that are older go, before others come. Of people (4, 5) what was
-- learnt later stays: who says something older has not read it.

create or replace function known_keep(guilds bigint[], kinds smallint[],
    ids bigint[], docs text[])
returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  bigint;
begin
    if not kinds && '{4,5,6,7}' then
        return;
    end if;

    if 0 = any (ids) then
        foreach lone in array lones_of(guilds) loop
            delete from known k
             using unnest(guilds, kinds, ids, docs) n (guild, kind, id, doc)
             where n.kind = 5 and n.id = 0
               and k.guild_id = n.guild and k.kind = 5
               and (lone is null or k.guild_id = lone)
               and known_at(k.doc) < known_at(n.doc);
        end loop;
    end if;

    insert into known as k (guild_id, kind, id, doc)
    select distinct on (n.guild, n.kind, n.id) n.guild, n.kind, n.id, n.doc
      from unnest(guilds, kinds, ids, docs) with ordinality
               n (guild, kind, id, doc, place)
     where n.kind between 4 and 7 and n.id <> 0
     order by n.guild, n.kind, n.id, n.place desc
    on conflict on constraint known_pkey do update
       set doc = excluded.doc
     where k.doc <> excluded.doc
       and (k.kind > 5 or known_at(k.doc) <= known_at(excluded.doc));

    if '' = any (docs) then
        foreach lone in array lones_of(guilds) loop
            delete from known k
             using unnest(guilds, kinds, ids, docs) n (guild, kind, id, doc)
             where n.doc = '' and n.kind between 4 and 7
               and k.guild_id = n.guild and k.kind = n.kind and k.id = n.id
               and (lone is null or k.guild_id = lone) and k.doc = '';
        end loop;
    end if;
end $$;


-- Since when it has been so; 0: that was not told. What goes (''), goes now.

create or replace function known_at(doc text)
returns bigint language sql immutable as $$
    select case when doc = '' then 9223372036854775807
                else coalesce((doc::json ->> 'at')::bigint, 0) end
$$;


-- The documents of a batch: of one that is empty there is a line, too.

create or replace function events_lines(docs text, n int)
returns text[] language sql immutable as $$
    select case when docs = '' and n > 0 then '{""}'
                else string_to_array(docs, e'\n') end
$$;


-- The answer, with what became of each entry.

create or replace function events_told(verdicts text[], ids bigint[],
    errors jsonb, out body jsonb, out counts jsonb)
language plpgsql stable as $$
begin
    counts := record_counts(verdicts);
    body := record_answer(record_told(errors, verdicts), counts, ids)
            || jsonb_build_object('verdicts', record_words(verdicts));
end $$;
