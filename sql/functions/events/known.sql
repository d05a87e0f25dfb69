-- What events need to know: one statement over all servers of a batch, never
-- one for each. Every need is looked up by a primary key, one by one, whatever
-- a young table seems to hold.
--
-- Kinds: 0 server, 1 member, 2 channel, 3 role (as the directory has them, one
-- more than there), 4 what a member was, 5 voice state, 6 what the server was,
-- 7 thing, 8 what waits of a person, 9 message, 10 the roles of a member, 11
-- the channel that the voice state or the thing with that id is in.


-- What is known, a line each, and the places of those needs. status: 200.

create or replace function operator_events_known(guilds bigint[],
    kinds smallint[], ids bigint[], out status int, out places int[],
    out docs text)
language plpgsql stable security definer set search_path = guildlog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  constant bigint := lone_of(guilds);
    more  record;
begin
    status := 200;

    if lone is null and servers_apart() then
        select k.places, k.docs into places, docs
          from events_known_apart(guilds, kinds, ids) k;
        return;
    end if;

    select array_agg(f.place), string_agg(f.doc, e'\n')
      into places, docs
      from (
        select n.place::int,
               '{"version":"' || coalesce(h.version, 0)
               || case when s.guild_id is not null and s.forgotten_at is null
                       then '","plan":"' || s.plan || '"'
                            || coalesce(',"files":' || c.files, '') || '}'
                       else '","obstacle":"'
                            || (server_obstacles(array[n.guild]))[1]
                            || '"}' end as doc
          from unnest(guilds, kinds) with ordinality n (guild, kind, place)
          left join lateral server_one(n.guild) s on true
          left join lateral (
               select x.version from event_head x
                where x.guild_id = n.guild
                  and (lone is null or x.guild_id = lone) offset 0) h on true
         cross join lateral (
               select bit_or(1 << x.bot) as files from logging_channels x
                where x.guild_id = n.guild
                  and (lone is null or x.guild_id = lone)
                  and x.category_files is not null) c
         where n.kind = 0
         union all
        select n.place::int, events_named(d, u)
          from unnest(guilds, kinds, ids) with ordinality
                   n (guild, kind, id, place)
         cross join lateral directory_one(n.guild, n.kind - 1, n.id) d
          left join lateral directory_one(n.guild, 1, d.parent) u
            on n.kind = 2
         where n.kind between 1 and 3
         union all
        select n.place::int, k.doc
          from unnest(guilds, kinds, ids) with ordinality
                   n (guild, kind, id, place)
         cross join lateral (
               select x.doc from known x
                where x.guild_id = n.guild and x.kind = n.kind
                  and (lone is null or x.guild_id = lone)
                  and x.id = n.id offset 0) k
         where n.kind between 4 and 7) f;

    for more in
        select p.places, p.docs from events_people(guilds, kinds, ids) p
         where kinds && '{8,10,11}'
         union all
        select m.places, m.docs from events_said(guilds, kinds, ids) m
         where 9 = any (kinds)
    loop
        docs := case when places is null then more.docs
                     when more.places is null then docs
                     else docs || e'\n' || more.docs end;
        places := places || more.places;
    end loop;
end $$;


-- The same of one server after the other.

create or replace function events_known_apart(guilds bigint[],
    kinds smallint[], ids bigint[], out places int[], out docs text)
language plpgsql stable as $$
begin
    select array_agg(i.places[u.place] order by i.guild, u.nth),
           string_agg(k.docs, e'\n' order by i.guild) filter (where u.nth = 1)
      into places, docs
      from (select n.guild, array_agg(n.guild) as guilds,
                   array_agg(n.kind) as kinds, array_agg(n.id) as ids,
                   array_agg(n.place::int) as places
              from unnest(guilds, kinds, ids) with ordinality
                       n (guild, kind, id, place)
             group by n.guild offset 0) i
     cross join lateral operator_events_known(i.guilds, i.kinds, i.ids) k
     cross join lateral unnest(k.places) with ordinality u (place, nth);
end $$;


-- What waits of people, what the roles of members are called, and the channels
-- of which only the place is known.

create or replace function events_people(guilds bigint[], kinds smallint[],
    ids bigint[], out places int[], out docs text)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  constant bigint := lone_of(guilds);
begin
    select array_agg(f.place), string_agg(f.doc, e'\n')
      into places, docs
      from (
        select n.place::int, w.doc
          from unnest(guilds, kinds, ids) with ordinality
                   n (guild, kind, id, place)
         cross join lateral (
               select format('{"due":%s}', p.due) as doc
                 from pair p
                where p.guild_id = n.guild and p.person_id = n.id
                  and (lone is null or p.guild_id = lone) and p.state = 0
                order by p.due desc limit 1) w
         where n.kind = 8
         union all
        select n.place::int, '[' || coalesce(r.names, '') || ']' as doc
          from unnest(guilds, kinds, ids) with ordinality
                   n (guild, kind, id, place)
         cross join lateral directory_one(n.guild, 0, n.id) d
         cross join lateral (
               select string_agg('{"id":"' || u.id || '","name":' || to_json(
                          coalesce(x.name, u.id::text)) || '}', ','
                          order by u.place) as names
                 from unnest(d.roles) with ordinality u (id, place)
                 left join lateral directory_one(n.guild, 2, u.id) x
                   on true) r
         where n.kind = 10
         union all
        select n.place::int, '{"id":"' || d.id || '",'
                             || substr(events_named(d, u), 2)
          from unnest(guilds, kinds, ids) with ordinality
                   n (guild, kind, id, place)
         cross join unnest('{5,7}'::smallint[]) o (kind)
         cross join lateral (
               select substring(x.doc::json ->> 'channel_id'
                                from '^[1-8]?[0-9]{1,18}$')::bigint as channel
                 from known x
                where x.guild_id = n.guild and x.kind = o.kind
                  and (lone is null or x.guild_id = lone)
                  and x.id = n.id offset 0) k
         cross join lateral directory_one(n.guild, 1, k.channel) d
          left join lateral directory_one(n.guild, 1, d.parent) u on true
         where n.kind = 11) f;
end $$;


-- Messages. Partitions are opened for it, so this is a statement by itself:
-- those between the first and the last id that is asked for, and no others. One
-- of which the plan has changed may stand in both tables: that it was
-- deleted is true in either.

create or replace function events_said(guilds bigint[], kinds smallint[],
    ids bigint[], out places int[], out docs text)
language plpgsql stable
set enable_sort = off as $$
declare
    lone  constant bigint := lone_of(guilds);
    low   bigint;
    high  bigint;
begin
    select min(n.id), max(n.id) into low, high
      from unnest(kinds, ids) n (kind, id) where n.kind = 9;

    select array_agg(n.place::int), string_agg(
               case when s.id is null then l.doc
                    when l.id is null then s.doc
                    when '' in (s.doc, l.doc) then ''
                    when (select x.plan from server_one(n.guild) x) = 'pro'
                    then l.doc
                    else s.doc end, e'\n')
      into places, docs
      from unnest(guilds, kinds, ids) with ordinality
               n (guild, kind, id, place)
      left join lateral (select x.id, said_told(x.doc, x.author_id,
                                               x.channel_id) as doc
                           from said x
                          where x.guild_id = n.guild and x.id = n.id
                            and (lone is null or x.guild_id = lone)
                            and x.id >= low and x.id <= high
                         offset 0) s on true
      left join lateral (select x.id, said_told(x.doc, x.author_id,
                                               x.channel_id) as doc
                           from said_long x
                          where x.guild_id = n.guild and x.id = n.id
                            and (lone is null or x.guild_id = lone)
                            and x.id >= low and x.id <= high
                         offset 0) l on true
     where n.kind = 9 and coalesce(s.id, l.id) is not null;
end $$;


-- What a message said, with who said it where: the row has these two, and the
-- document does not, but of a message of which nobody knows by what name.

create or replace function said_told(doc text, author bigint, channel bigint)
returns text language sql stable as $$
    select regexp_replace(doc, '"author": ?\{',
               '"channel":"' || channel || '","author":{"id":"' || author
               || '",')
$$;


-- A row of the directory: what is null, or as it is by itself, is left out, but
-- for a picture, which packets tell to be null. A thread is in a channel, a
-- channel in a category.

create or replace function events_named(d directory, above directory)
returns text language sql stable as $$
    select '{"name":' || to_json(d.name)
           || case when d.bot then ',"bot":true' else '' end
           || case when d.roles <> '{}'
                   then ',"roles":["' || array_to_string(d.roles, '","')
                        || '"]' else '' end
           || coalesce(',"type":' || d.type, '')
           || coalesce(',"position":' || d.position, '')
           || coalesce(',"color":' || d.color, '')
           || case when d.kind = 0
                   then ',"avatar":' || coalesce(to_json(d.avatar)::text,
                                                 'null') else '' end
           || case when d.kind <> 1
                   then coalesce(',"parent":"' || d.parent || '"', '')
                   when above.id is null then ''
                   when above.type = 4
                   then ',"category":"' || d.parent || '"'
                   else ',"parent":"' || d.parent || '"'
                        || coalesce(',"category":"' || above.parent || '"',
                                    '') end
           || '}'
$$;
