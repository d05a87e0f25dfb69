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
    perform from log_head h where h.guild_id = guild order by h.bot for update;

    arrivals := array(
        select coalesce((select h.arrival from log_head h
                          where h.guild_id = guild and h.bot = b), 0)
          from generate_series(0, 1) b order by b);
    insert into forgotten_person as p (guild_id, user_id, arrivals)
    values (guild, operator_person_forget.user_id, arrivals)
    on conflict on constraint forgotten_person_pkey
        do update set arrivals = excluded.arrivals, bot = 0, at_id = 0,
                      due_at = '-infinity';

    delete from directory d
     where d.guild_id = guild and d.kind = 0
       and d.id = operator_person_forget.user_id;
    delete from active_ignore a
     where a.guild_id = guild
       and a.subject_id = operator_person_forget.user_id::text;
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


-- Walks along the entries of both bots for 100 ms, or until it has looked at so
-- many, then along what is derived from them. True until all is done.

create or replace function person_forget(p forgotten_person, budget int)
returns boolean language plpgsql as $$
declare
    until  constant timestamptz := clock_timestamp() + interval '100 ms';
    rest   int := budget;
begin
    while p.bot < 2 and rest > 0 and clock_timestamp() < until loop
        p.at_id := entries_forget(p, least(rest, 200));
        rest := rest - 200;

        if p.at_id is null then
            p.bot := p.bot + 1;
            p.at_id := 0;
        end if;
    end loop;

    if p.bot = 2 then
        perform person_forget_rest(p);
        delete from forgotten_person f
         where f.guild_id = p.guild_id and f.user_id = p.user_id;
        return false;
    end if;

    update forgotten_person f
       set bot = p.bot, at_id = p.at_id, error = null
     where f.guild_id = p.guild_id and f.user_id = p.user_id;
    return true;
end $$;


-- Takes the person out of the next entries, at most so many; the last of them,
-- null behind the last one of the bot. Nobody else changes rows of entries
-- while log_head is held, so that each is still what was read.

create or replace function entries_forget(p forgotten_person, most int)
returns bigint language plpgsql
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    part  record;
begin
    perform from log_head h
      where h.guild_id = p.guild_id and h.bot = p.bot for update;

    with looked as materialized (
        select e.id, e.arrival, e.type, e.doc
          from log_entry e
         where e.guild_id = p.guild_id and e.bot = p.bot and e.id > p.at_id
         order by e.id limit most
    ), bared as materialized (
        select l.*, case when l.arrival <= p.arrivals[p.bot + 1]
                          and position(p.user_id::text in l.doc) > 0
                         then person_out(l.doc, l.type, p.user_id)
                    end as bare
          from looked l
    )
    select max(b.id) as last, count(*) as n,
           array_agg(b.id) filter (where b.bare <> b.doc) as ids,
           array_agg(b.bare) filter (where b.bare <> b.doc) as docs
      into part
      from bared b;

    if part.ids is not null then
        update log_entry e
           set doc = b.doc, executor_id = nullif(e.executor_id, p.user_id),
               target_id = nullif(e.target_id, p.user_id)
          from unnest(part.ids, part.docs) b (id, doc)
         where e.guild_id = p.guild_id and e.bot = p.bot and e.id = b.id
           and e.id > p.at_id and e.id <= part.last;
        perform person_unfind(p);
    end if;

    return case when part.n = most then part.last end;
end $$;


-- The index of searches, which has their names and words, is not read from then
-- on: searches look at the entries until it was made anew. Pages that are kept
-- are asked for again, since log_head changes.

create or replace function person_unfind(p forgotten_person)
returns void language plpgsql as $$
begin
    perform record_begin(p.guild_id, p.bot, 0);
    perform search_drop(p.guild_id, p.bot);
end $$;


-- What is derived from the entries, when these are done. What was copied for
-- the rewrite of a partition is copied again, by what log_change says.

create or replace function person_forget_rest(p forgotten_person)
returns void language plpgsql as $$
declare
    w  log_rewrite;
begin
    perform search_begin(s.guild_id, s.bot)
       from search_head s where s.guild_id = p.guild_id and s.format = 0;

    for w in
        select * from log_rewrite r
         where r.step in ('fill', 'settle')
           and to_regclass(format('guildlog.%I', r.name)) is not null
    loop
        execute format('delete from %I e using log_change c '
                       'where c.guild_id = $1 and e.guild_id = $1 '
                       'and e.bot = c.bot and e.id = c.id', w.name)
          using p.guild_id;
    end loop;
end $$;


-- GET /servers/{guild}/members/{user_id}/logs of the operator: a chunk of what
-- is stored of a person, newest first, the main bot's entries before the Pro
-- bot's: what they did or suffered, and where they are the author of a message.
-- below is the id, or for the Pro bot its negative; in the head message_id is
-- where the next chunk begins, null behind the last one. A chunk looks at 5,000
-- entries and ends after 1 MiB.

create or replace function operator_person_logs(guild bigint, user_id bigint,
    since bigint, below bigint, most int)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    its   constant smallint := (coalesce(below, 1) < 0)::int;
    q     log_query := query_all(guild, its, 0);
    part  record;
begin
    perform server_open(guild);

    with looked as materialized (
        select e.id, octet_length(e.doc) as size,
               e.executor_id = operator_person_logs.user_id
               or e.target_id = operator_person_logs.user_id
               or position(operator_person_logs.user_id::text in e.doc) > 0
                  and person_speaks(e.doc, operator_person_logs.user_id)
                  as theirs
          from log_entry e
         where e.guild_id = guild and e.bot = its
           and e.id < coalesce(abs(operator_person_logs.below),
                               9223372036854775807)
         order by e.id desc limit 5000
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

    q.ids := coalesce(part.ids, '{}');

    return next row(200, null, null, null, 0,
        case when cardinality(q.ids) < part.theirs
             then q.ids[cardinality(q.ids)] * case its when 0 then 1
                                                       else -1 end
             when part.more
             then part.last * case its when 0 then 1 else -1 end
             when its = 0 then -9223372036854775807 end,
        null, null, null, null)::log_row;

    return query select * from log_rows_sent(q, null, null, null);
end $$;


-- Is the person named as the author of a message, or by a change?

create or replace function person_speaks(doc text, person bigint)
returns boolean language plpgsql immutable as $$
declare
    e  constant jsonb := (doc || '}')::jsonb;
begin
    return e -> 'messages' @> jsonb_build_array(
               jsonb_build_object('authorId', person::text))
        or exists (select from changes_strings(changes_in(e)) s
                    where s.value = person::text);
end $$;
