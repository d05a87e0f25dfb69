-- Forgetting a person: the entries they did or suffered lose their id and name
-- and the texts they wrote. The entries themselves stay, so no count changes.


-- Who wrote the texts of an entry of that type: the executor, or the target,
-- or (null) only who is named as the author of a message.
--
-- What stands in the entries about messages is the message, and in those about
-- members what the member was called: both are the target's. An edit is by who
-- wrote the message, so that there executor and target are the same.

create or replace function entry_author(type smallint)
returns text language sql immutable as $$
    select case when type = 3 then null
                when type in (0, 1, 2, 4, 5, 25, 26, 34, 35, 39, 40, 41, 42,
                              43, 44, 45, 46, 51, 57, 58, 86, 100)
                then 'target'
                else 'executor' end
$$;


-- Is the person an author of texts of the entry? Where there is no target the
-- executor did it to what is their own.

create or replace function person_wrote(type smallint, did boolean,
    suffered boolean, alone boolean)
returns boolean language sql immutable as $$
    select case entry_author(type)
           when 'target' then suffered or did and alone
           when 'executor' then did or suffered and type in (6, 7)
           else suffered end
$$;


-- The id where it stands in a text, as in a mention; null where it is so short
-- that it may be any number.

create or replace function person_pattern(person bigint)
returns text language sql immutable as $$
    select case when person >= 10000000000000000
                then '(?<![0-9])' || person::text || '(?![0-9])' end
$$;


-- A text without the id. To look for it as a pattern is dear.

create or replace function person_out_of(value text, person bigint)
returns text language sql immutable as $$
    select case when position(person::text in value) > 0
                then coalesce(regexp_replace(value, person_pattern(person),
                                             '0', 'g'), value)
                else value end
$$;


-- The entry's document without the person.

create or replace function person_out(doc text, type smallint, person bigint)
returns text language plpgsql stable as $$
declare
    was       constant jsonb := (doc || '}')::jsonb;
    did       constant boolean := coalesce(
                  (was #>> '{executor,id}')::bigint = person, false);
    suffered  constant boolean := coalesce(
                  (was #>> '{target,id}')::bigint = person, false);
    wrote     constant boolean := person_wrote(
                  type, did, suffered, was #>> '{target,id}' is null);
    names     constant text[] := array[
                  case when did then was #>> '{executor,name}' end,
                  case when suffered then was #>> '{target,name}' end];
    d         jsonb := was;
    key       text;
    value     text;
begin
    if did then
        d := d || '{"executor": null, "reason": null}';
    end if;

    if suffered then
        d := d || '{"target": null}';
    end if;

    if wrote then
        d := d || '{"content": null, "contentAfter": null}';
    end if;

    if d -> 'messages' <> '[]' then
        d := d || jsonb_build_object('messages', person_out_of_messages(
                 d -> 'messages', person, wrote and type <> 3 or suffered));
    end if;

    if changes_in(d) is not null then
        d := d || jsonb_build_object('changes', person_out_of_changes(
                 changes_in(d), person, names,
                 suffered or did and was #>> '{target,id}' is null));
    end if;

    -- a picture of the person: its address has the id

    if position(person::text in d ->> 'image') > 0 then
        d := d || '{"image": null}';
    end if;

    -- the id where it stands in a text, and what is called as the person was

    foreach key in array '{name,reason,content,contentAfter,value}'::text[]
    loop
        value := d ->> key;

        if value <> '' and value = any (names) and key <> 'reason' then
            d := d || jsonb_build_object(key, null);
        elsif position(person::text in value) > 0 then
            d := d || jsonb_build_object(key, person_out_of(value, person));
        end if;
    end loop;

    -- fields that are absent and null are the same; to write an entry is dear

    if not did and not suffered and entry_doc(d) = entry_doc(was) then
        return doc;
    end if;

    return format('{"id":"%s","type":%s,"timestamp":%s,', d ->> 'id',
                  d ->> 'type', d ->> 'timestamp') || entry_doc(d);
end $$;


-- Changes without the person's names, and without the id where it stands in a
-- text. theirs: it is the person who was changed.

create or replace function person_out_of_changes(changes jsonb,
    person bigint, names text[], theirs boolean)
returns jsonb language plpgsql stable as $$
declare
    s  record;
begin
    for s in select * from changes_strings(changes) loop
        if s.value = any (names)
           or theirs and changes #>> array[s.place[1], 'key'] = 'nick'
        then
            changes := jsonb_set(changes, s.place,
                case cardinality(s.place) when 2 then 'null'::jsonb
                                          else '""' end);
        elsif position(person::text in s.value) > 0 then
            changes := jsonb_set(changes, s.place,
                to_jsonb(person_out_of(s.value, person)));
        end if;
    end loop;

    return changes;
end $$;


-- Messages without those of the person, and (unsigned) without those that name
-- no author: when they were sent, and how many and large their attachments
-- were, stays.

create or replace function person_out_of_messages(messages jsonb,
    person bigint, unsigned boolean)
returns jsonb language plpgsql stable as $$
begin
    return coalesce((
        select jsonb_agg(case
                   when (m ->> 'authorId')::bigint = person
                     or unsigned and m ->> 'authorId' is null
                   then m || '{"content": null, "authorId": null}'
                        || case when jsonb_typeof(m -> 'attachments') = 'array'
                                then jsonb_build_object('attachments', (
                                    select coalesce(jsonb_agg(a - 'name'),
                                                    '[]')
                                      from jsonb_array_elements(
                                               m -> 'attachments') a))
                                else '{}' end
                   when position(person::text in m ->> 'content') > 0
                   then m || jsonb_build_object('content', person_out_of(
                                 m ->> 'content', person))
                   else m end order by place)
          from jsonb_array_elements(messages) with ordinality e (m, place)),
        messages);
end $$;


-- DELETE /servers/{guild}/members/{user_id}/logs of the operator. The rest is
-- the keeper's. What is recorded later is not meant.

create or replace function operator_person_forget(guild bigint,
    user_id bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    pattern   constant text := person_pattern(user_id);
    arrivals  bigint[];
begin
    perform server_lock(guild);

    -- the keeper, when it is at it, has this row first

    perform from forgotten_person p
      where p.guild_id = guild and p.user_id = operator_person_forget.user_id
        for update;

    -- what a batch of events has read of the person is not written again

    update event_head h set version = h.version + 1 where h.guild_id = guild;
    delete from known k
     where k.guild_id = guild and k.kind in (4, 5)
       and k.id = operator_person_forget.user_id;
    update pair p
       set state = 1, doc = ''
     where p.guild_id = guild and p.doc <> ''
       and (operator_person_forget.user_id in (p.person_id, p.target_id)
            or position(operator_person_forget.user_id::text in p.doc) > 0);

    perform from log_head h where h.guild_id = guild order by h.bot for update;

    arrivals := array(
        select coalesce((select h.arrival from log_head h
                          where h.guild_id = guild and h.bot = b), 0)
          from generate_series(0, 1) b order by b);
    insert into forgotten_person as p (guild_id, user_id, arrivals)
    values (guild, operator_person_forget.user_id, arrivals)
    on conflict on constraint forgotten_person_pkey
        do update set arrivals = excluded.arrivals, step = 0, at = 0,
                      due_at = '-infinity';

    delete from directory d
     where d.guild_id = guild and d.kind = 0
       and d.id = operator_person_forget.user_id;
    delete from active_ignore a
     where a.guild_id = guild
       and a.subject_id = operator_person_forget.user_id::text;
    delete from alert_count c
     using alert t
     where c.guild_id = guild and t.guild_id = guild and t.bot = c.bot
       and t.alert_id = c.alert_id and t.by in ('executor', 'target')
       and c.subject = operator_person_forget.user_id;
    delete from notification n
     where n.guild_id = guild
       and (n.executor_id = operator_person_forget.user_id
            or n.title ~ pattern or n.description ~ pattern);

    status := 202;
    body := '{}';
end $$;


-- A turn of one of the people that are being forgotten; true if there is more
-- to do at once. One that fails is tried again in a minute, and keeps nobody
-- else waiting.

create or replace function people_forget(budget int)
returns boolean language plpgsql as $$
declare
    p      forgotten_person;
    more   boolean;
    later  timestamptz;
begin
    select f.* into p
      from forgotten_person f
      join server s on s.guild_id = f.guild_id and s.forgotten_at is null
     where f.due_at <= clock_timestamp()
     order by f.asked_at limit 1;
    select f.* into p
      from forgotten_person f
     where f.guild_id = p.guild_id and f.user_id = p.user_id
       for update skip locked;

    if not found then
        return false;
    end if;

    begin
        more := person_forget(p, budget);
    exception when others then
        later := clock_timestamp() + interval '1 minute';
        update forgotten_person f
           set due_at = later, error = sqlstate || ' ' || sqlerrm
         where f.guild_id = p.guild_id and f.user_id = p.user_id;
        return true;
    end;

    return more or exists (select 1 from forgotten_person f
                            where f.due_at <= clock_timestamp());
end $$;


-- Walks along what arrived and is kept, of both bots, then along the blocks of
-- both, then along what was said, then along what is derived from entries: for
-- 100 ms, or until it has looked at so many entries. True until all is done.
-- Arrivals come first: blocks are made of them.

create or replace function person_forget(p forgotten_person, budget int)
returns boolean language plpgsql as $$
declare
    until  constant timestamptz := clock_timestamp() + interval '100 ms';
    rest   int := budget;
begin
    -- who has read what is said or known reads it again; that comes before all
    -- other locks

    update event_head h
       set version = h.version + 1
     where h.guild_id = p.guild_id;

    while p.step < 6 and rest > 0 and clock_timestamp() < until loop
        p.at := case when p.step < 2 then arrivals_forget(p, least(rest, 200))
                when p.step < 4 then blocks_forget(p, 8)
                else said_forget(p, 1000) end;
        rest := rest - 200;

        if p.at is null then
            p.step := p.step + 1;
            p.at := 0;
        end if;
    end loop;

    if p.step = 6 then
        perform known_forget(p);
        perform actor_forget(p, b::smallint) from generate_series(0, 1) b;
        perform search_begin(s.guild_id, s.bot)
           from search_head s where s.guild_id = p.guild_id and s.format = 0;
        delete from forgotten_person f
         where f.guild_id = p.guild_id and f.user_id = p.user_id;
        return false;
    end if;

    update forgotten_person f
       set step = p.step, at = p.at, error = null
     where f.guild_id = p.guild_id and f.user_id = p.user_id;
    return true;
end $$;


-- Takes the person out of what arrived next, at most so many; the last arrival
-- that was looked at, null behind the last one that is meant. Nobody else
-- changes these rows while log_head is held. Blocks are made neither.

create or replace function arrivals_forget(p forgotten_person, most int)
returns bigint language plpgsql
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    its   constant smallint := p.step;
    part  record;
begin
    perform blocks_wait(p.guild_id, its);
    perform from log_head h
      where h.guild_id = p.guild_id and h.bot = its for update;

    with looked as materialized (
        select a.arrival, a.type, a.doc
          from log_arrival a
         where a.guild_id = p.guild_id and a.bot = its and a.arrival > p.at
           and a.arrival <= p.arrivals[its + 1]
         order by a.arrival limit most
    ), bared as materialized (
        select l.*, case when position(p.user_id::text in l.doc) > 0
                         then person_out(l.doc, l.type, p.user_id)
                    end as bare
          from looked l
    )
    select max(b.arrival) as last, count(*) as n,
           array_agg(b.arrival) filter (where b.bare <> b.doc) as places,
           array_agg(b.bare) filter (where b.bare <> b.doc) as docs
      into part
      from bared b;

    if part.places is not null then
        update log_arrival a
           set doc = b.doc
          from unnest(part.places, part.docs) b (arrival, doc)
         where a.guild_id = p.guild_id and a.bot = its
           and a.arrival = b.arrival
           and a.arrival > p.at and a.arrival <= part.last;
        perform person_unfind(p, its);
    end if;

    return case when part.n = most then part.last end;
end $$;


-- The same of the next blocks; the id of the last one. What arrived later than
-- the request is not meant.

create or replace function blocks_forget(p forgotten_person, most int)
returns bigint language plpgsql as $$
declare
    its   constant smallint := p.step - 2;
    k     log_block;
    bare  text;
    last  bigint;
    n     int := 0;
begin
    perform blocks_wait(p.guild_id, its);

    for k in
        select * from log_block b
         where b.guild_id = p.guild_id and b.bot = its and b.first_id > p.at
         order by b.first_id limit most
    loop
        last := k.first_id;
        n := n + 1;
        continue when position(p.user_id::text in k.docs) = 0;

        bare := block_forget(k, p);

        if bare <> k.docs then
            update log_block b
               set docs = bare
             where b.guild_id = p.guild_id and b.bot = its
               and b.first_id = k.first_id;
            perform person_unfind(p, its);
        end if;
    end loop;

    return case when n = most then last end;
end $$;


create or replace function block_forget(k log_block, p forgotten_person)
returns text language plpgsql stable as $$
declare
    late  constant bigint[] := arrivals_late(k.guild_id, k.bot,
              p.arrivals[k.bot + 1], k.first_id, k.last_id + 1);
begin
    return (
        select string_agg(
                   case when position(p.user_id::text in u.doc) > 0
                         and u.id <> all (late)
                        then person_out(u.doc, mark_type(u.type), p.user_id)
                        else u.doc end, E'\n' order by u.id)
          from unnest(k.ids, string_to_array(k.docs, E'\n'),
                      string_to_array(k.types, null)) u (id, doc, type));
end $$;


-- Takes the person out of the next messages, at most so many; the last one that
-- was looked at, null behind the last one. Theirs go, but for that one was
-- deleted.

create or replace function said_forget(p forgotten_person, most int)
returns bigint language plpgsql as $$
declare
    said  constant text := case p.step when 4 then 'said'
                                       else 'said_long' end;
    part  record;
begin
    execute format('select max(l.id) as last, count(*) as n, '
                   'array_agg(l.id) filter (where l.author_id = $3) as own, '
                   'array_agg(l.id) filter (where l.author_id <> $3 '
                   'and position($3::text in l.doc) > 0) as others '
                   'from (select s.* from %I s '
                   'where s.guild_id = $1 and s.id > $2 '
                   'order by s.id limit $4) l', said)
       into part using p.guild_id, p.at, p.user_id, most;

    execute format('delete from %I s where s.guild_id = $1 '
                   'and s.id = any ($2) and s.doc <> ''''', said)
      using p.guild_id, part.own;
    execute format('update %I s set author_id = 0 where s.guild_id = $1 '
                   'and s.id = any ($2)', said)
      using p.guild_id, part.own;
    execute format('update %I s set doc = person_out_of(s.doc, $3) '
                   'where s.guild_id = $1 and s.id = any ($2)', said)
      using p.guild_id, part.others, p.user_id;

    return case when part.n = most then part.last end;
end $$;


-- The same of what is known of the server and of things.

create or replace function known_forget(p forgotten_person)
returns void language plpgsql as $$
begin
    update known k
       set doc = person_out_of(k.doc, p.user_id)
     where k.guild_id = p.guild_id and k.kind in (6, 7)
       and position(p.user_id::text in k.doc) > 0;
end $$;


-- The index of searches, which has their names and words, is not read from then
-- on: searches look at the entries until it was made anew. Pages that are kept
-- are asked for again, since log_head changes.

create or replace function person_unfind(p forgotten_person, bot smallint)
returns void language plpgsql as $$
begin
    perform record_begin(p.guild_id, bot, 0);
    perform search_drop(p.guild_id, bot);
end $$;


-- The person did nothing any more, or what was recorded since the request.

create or replace function actor_forget(p forgotten_person, bot smallint)
returns void language plpgsql as $$
declare
    last  bigint;
begin
    perform blocks_wait(p.guild_id, bot);

    last := (select max(a.id)
               from log_head h
               join log_arrival a
                 on a.guild_id = h.guild_id and a.bot = h.bot
                and a.arrival > p.arrivals[h.bot + 1]
                and a.arrival <= h.blocked
              where h.guild_id = p.guild_id and h.bot = actor_forget.bot
                and doc_executor(a.doc) = p.user_id);

    perform actors_put(p.guild_id, bot, gone => p.user_id);

    if last is not null then
        perform actors_add(p.guild_id, bot, array[p.user_id], array[last], 1);
    end if;
end $$;


-- GET /servers/{guild}/members/{user_id}/logs of the operator: a chunk of what
-- is stored of a person, newest first, the main bot's entries before the Pro
-- bot's. below is the id, or for the Pro bot its negative; in the head
-- message_id is where the next chunk begins, null behind the last one. A chunk
-- looks at 5,000 entries and ends after 1 MiB.

create or replace function operator_person_logs(guild bigint, user_id bigint,
    since bigint, below bigint, most int)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    its   constant smallint := (coalesce(below, 1) < 0)::int;
    ids   bigint[];
    part  record;
begin
    perform server_open(guild);

    with looked as materialized (
        select e.id, octet_length(e.doc) as size,
               position(operator_person_logs.user_id::text in e.doc) > 0
               and person_named(e.doc, operator_person_logs.user_id) as theirs
          from entries_within(guild, its, 0,
                   coalesce(abs(operator_person_logs.below),
                            9223372036854775807), null, 5000) e
    ), fitting as (
        select t.id, sum(t.size) over (order by t.id desc) - t.size
                     < 1048576 as fits
          from (select * from looked l where l.theirs
                 order by l.id desc limit most) t
    )
    select (select array_agg(f.id order by f.id desc) from fitting f
             where f.fits) as ids,
           (select count(*) from looked l where l.theirs) as theirs,
           min(l.id) as last, count(*) = 5000 as more
      into part
      from looked l;

    ids := coalesce(part.ids, '{}');

    return next row(200, null, null, null, 0,
        case when cardinality(ids) < part.theirs
             then ids[cardinality(ids)] * case its when 0 then 1 else -1 end
             when part.more
             then part.last * case its when 0 then 1 else -1 end
             when its = 0 then -9223372036854775807 end,
        null, null, null, null)::log_row;

    return query select * from log_rows_sent(guild, its, ids);
end $$;


-- Did the person do or suffer it, or are they named as the author of a message,
-- or by a change?

create or replace function person_named(doc text, person bigint)
returns boolean language plpgsql immutable as $$
declare
    e  constant jsonb := (doc || '}')::jsonb;
begin
    return person::text in (e #>> '{executor,id}', e #>> '{target,id}')
        or e -> 'messages' @> jsonb_build_array(
               jsonb_build_object('authorId', person::text))
        or exists (select from changes_strings(changes_in(e)) s
                    where s.value = person::text);
end $$;
