-- The directory: what the platform calls a server's members (kind 0),
-- channels (1) and roles (2). The bot keeps it, the searches read it, and the
-- rules of recording look up in it what an entry does not carry.


-- Puts up to 1,000 of one kind, each {id, …}: creates it, or changes the
-- fields that are there. Of one that stands in the array twice the last counts.

create or replace function directory_put(guild bigint, kind int, input jsonb)
returns answer language plpgsql as $$
declare
    n     constant int := jsonb_array_length(input);
    news  record;
begin
    perform server_lock(guild);

    if n > 1000 then
        perform refuse(400, 'body: at most 1000 items');
    end if;

    news := directory_keep(
        array_fill(guild, array[n]),
        array_fill((directory_put.kind + 1)::smallint, array[n]),
        array(select (e.it ->> 'id')::bigint
                from jsonb_array_elements(input) with ordinality e (it, place)
               order by e.place),
        array(select e.it::text
                from jsonb_array_elements(input) with ordinality e (it, place)
               order by e.place));
    perform channels_doubted(news.new_guilds, news.new_channels);
    return answered(200);
end $$;


-- The same of many servers, which the caller has: kinds are one more than
-- those of the directory, and others are none of it. One without a document
-- goes. Channels that were not known are for channels_doubted().

create or replace function directory_keep(guilds bigint[], kinds smallint[],
    ids bigint[], docs text[], out new_guilds bigint[],
    out new_channels bigint[])
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    lone  constant bigint := lone_of(guilds);
begin
    if not kinds && '{1,2,3}' then
        return;
    end if;

    if lone is null and servers_apart() then
        select k.new_guilds, k.new_channels into new_guilds, new_channels
          from directory_keep_apart(guilds, kinds, ids, docs) k;
        return;
    end if;

    select array_agg(n.guild), array_agg(n.id)
      into new_guilds, new_channels
      from unnest(guilds, kinds, ids, docs) n (guild, kind, id, doc)
     where n.kind = 2 and n.doc <> ''
       and not exists (
               select from directory x
                where x.guild_id = n.guild and x.kind = 1
                  and (lone is null or x.guild_id = lone)
                  and x.id >= n.id and x.id <= n.id
                order by x.id limit 1);

    insert into directory as d (guild_id, kind, id, name, bot, roles, type,
                                parent, position, color, avatar)
    select distinct on (i.guild, i.kind, i.id) i.guild, i.kind - 1, i.id,
           coalesce(i.name, k.name, ''), coalesce(i.bot, k.bot, false),
           coalesce(i.roles, k.roles, '{}'), coalesce(i.type, k.type),
           case when i.it ? 'parent' then i.parent else k.parent end,
           coalesce(i.position, k.position), coalesce(i.color, k.color),
           case when i.it ? 'avatar' then i.avatar else k.avatar end
      from (select n.guild, n.kind, n.id, n.place, e.it, r.*
              from unnest(guilds, kinds, ids, docs) with ordinality
                       n (guild, kind, id, doc, place)
             cross join lateral (select n.doc::jsonb offset 0) e (it)
             cross join lateral jsonb_to_record(e.it) r (name text,
                        bot boolean, roles bigint[], type smallint,
                        parent bigint, position int, color int, avatar text)
             where n.kind between 1 and 3 and n.doc <> '') i
      left join lateral (
           select x.* from directory x
            where x.guild_id = i.guild and x.kind = i.kind - 1
              and (lone is null or x.guild_id = lone)
              and x.id >= i.id and x.id <= i.id
            order by x.id limit 1) k on true
     order by i.guild, i.kind, i.id, i.place desc
    on conflict on constraint directory_pkey do update
       set (name, bot, roles, type, parent, position, color, avatar)
         = (excluded.name, excluded.bot, excluded.roles, excluded.type,
            excluded.parent, excluded.position, excluded.color,
            excluded.avatar)
     where (d.name, d.bot, d.roles, d.type, d.parent, d.position, d.color,
            d.avatar)
           is distinct from (excluded.name, excluded.bot, excluded.roles,
                             excluded.type, excluded.parent,
                             excluded.position, excluded.color,
                             excluded.avatar);

    if '' = any (docs) then
        delete from directory d
         using unnest(guilds, kinds, ids, docs) n (guild, kind, id, doc)
         cross join lateral (
               select x.ctid from directory x
                where x.guild_id = n.guild and x.kind = n.kind - 1
                  and (lone is null or x.guild_id = lone)
                  and x.id >= n.id and x.id <= n.id
                order by x.id limit 1) k
         where n.doc = '' and n.kind between 1 and 3 and d.ctid = k.ctid
           and (lone is null or d.guild_id = lone);
    end if;
end $$;


-- The same of one server after the other.

create or replace function directory_keep_apart(guilds bigint[],
    kinds smallint[], ids bigint[], docs text[], out new_guilds bigint[],
    out new_channels bigint[])
language plpgsql as $$
begin
    select array_agg(u.guild), array_agg(u.channel)
      into new_guilds, new_channels
      from (select array_agg(n.guild) as guilds,
                   array_agg(n.kind order by n.place) as kinds,
                   array_agg(n.id order by n.place) as ids,
                   array_agg(n.doc order by n.place) as docs
              from unnest(guilds, kinds, ids, docs) with ordinality
                       n (guild, kind, id, doc, place)
             group by n.guild offset 0) i
     cross join lateral directory_keep(i.guilds, i.kinds, i.ids, i.docs) k
     cross join lateral unnest(k.new_guilds, k.new_channels)
                            u (guild, channel);
end $$;


-- A channel that another server's lane goes to is news: see lanes_doubted().

create or replace function channels_doubted(guilds bigint[],
    channels bigint[])
returns void language plpgsql as $$
declare
    news  record;
begin
    for news in
        select n.guild, array_agg(n.id) as ids
          from unnest(guilds, channels) n (guild, id)
         group by n.guild order by n.guild
    loop
        perform lanes_doubted(news.guild, news.ids);
    end loop;
end $$;


create or replace function directory_delete(guild bigint, kind int, id bigint)
returns answer language plpgsql as $$
begin
    delete from directory d
     where d.guild_id = guild
       and d.kind = directory_delete.kind
       and d.id = directory_delete.id;
    return answered(case when found then 200 else 404 end);
end $$;


-- The names of one kind that begin with q, or whose id does, or that hold q
-- further on: each array the first 25 by name. What many match is found by
-- walking the names in order, which gives up after 5,000 of them; what few
-- match then comes from an index.

create or replace function directory_by_name(guild bigint, kind int, q text)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select d.id from directory d
         where d.guild_id = guild
           and d.kind = directory_by_name.kind
           and d.folded >= q
           and d.folded < q || u&'\+10ffff'
         order by d.folded, d.id limit 25);
end $$;


create or replace function directory_by_id(guild bigint, kind int, q text)
returns bigint[] language plpgsql stable as $$
declare
    ids  bigint[];
begin
    if q !~ '^[0-9]+$' then
        return '{}';
    end if;

    ids := array(
        select d.id
          from (select n.id from directory n
                 where n.guild_id = guild
                   and n.kind = directory_by_id.kind
                 order by n.folded, n.id limit 5000) d
         where starts_with(d.id::text, q) limit 25);

    if cardinality(ids) < 25 then
        execute 'select array(
            select d.id from directory d
             where d.guild_id = $1 and d.kind = $2
               and d.id::text collate "C" >= $3
               and d.id::text collate "C" < $3 || '':''
             order by d.folded, d.id limit 25)'
           into ids using guild, kind, q;
    end if;

    return ids;
end $$;


create or replace function directory_by_part(guild bigint, kind int, q text)
returns bigint[] language plpgsql stable as $$
declare
    short    constant boolean := length(q) < 3;  -- no trigram in it
    pattern  constant text := '%' || regexp_replace(q, '[\\%_]', '\\\&', 'g')
                              || '%';
    ids      bigint[];
begin
    ids := array(
        select d.id
          from (select n.id, n.folded from directory n
                 where n.guild_id = guild
                   and n.kind = directory_by_part.kind
                 order by n.folded, n.id
                 limit case when short then null else 5000 end) d
         where strpos(d.folded, q) > 1 limit 25);

    if cardinality(ids) < 25 and not short then
        execute 'select array(
            select d.id from directory d
             where d.guild_id = $1 and d.kind = $2
               and d.folded like $3 and strpos(d.folded, $4) > 1
             order by d.folded, d.id limit 25)'
           into ids using guild, kind, pattern, q;
    end if;

    return ids;
end $$;


-- The channels as the platform shows them: those in no category, then each
-- category with what is in it, voice below text; threads behind all of them, by
-- their channel. What has no position stands last, by name. Of threads there
-- may be many thousands: they are looked at if there is room for some.

create or replace function directory_channels(guild bigint)
returns setof directory language plpgsql stable
set enable_seqscan = off set enable_nestloop = off as $$
declare
    n  int;
begin
    return query
        with c as materialized (select * from channels_lasting(guild))
        select d.*
          from c d
          left join c u on u.id = d.parent
         cross join lateral (
               select case when d.type = 4 then d.position else u.position end,
                      case when d.type = 4 then d.folded else u.folded end,
                      case when d.type = 4 then d.id else u.id end
               ) above (position, folded, id)
         order by above.id is not null, above.position, above.folded, above.id,
                  d.type = 4 is true desc, d.type in (2, 13) is true,
                  d.position, d.folded, d.id
         limit 100;

    get diagnostics n = row_count;

    return query
        with c as materialized (select * from channels_lasting(guild))
        select d.*
          from directory d
          left join c u on u.id = d.parent
         where d.guild_id = guild and d.kind = 1 and d.type between 10 and 12
         order by u.id is not null, u.position, u.folded, u.id, d.position,
                  d.folded, d.id
         limit 100 - n;
end $$;


-- Those that are no threads.

create or replace function channels_lasting(guild bigint)
returns setof directory language sql stable as $$
    select * from directory d
     where d.guild_id = guild and d.kind = 1
       and d.type between 10 and 12 is not true
$$;


-- The first 100 of one kind, in the order of the platform: roles from the
-- highest down, members by name.

create or replace function directory_first(guild bigint, kind int)
returns setof directory language plpgsql stable set enable_seqscan = off as $$
begin
    if kind = 1 then
        return query select c.* from directory_channels(guild) c;

    elsif kind = 2 then
        return query
            select d.* from directory d
             where d.guild_id = guild and d.kind = 2
             order by d.position desc nulls last, d.folded, d.id
             limit 100;
    else
        return query
            select d.* from directory d
             where d.guild_id = guild and d.kind = 0
             order by d.folded, d.id limit 100;
    end if;
end $$;


-- At most 25 of one kind whose id begins with the query or whose name holds
-- it: whole matches, then what begins with it, then the others, each by name.
-- No query: the first ones.

create or replace function directory_find(guild bigint, kind int, query text)
returns setof directory language plpgsql stable as $$
declare
    q    constant text := lower(query collate "und-x-icu");
    ids  bigint[];
begin
    if coalesce(q, '') = '' then
        return query select f.* from directory_first(guild, kind) f;
        return;
    end if;

    ids := directory_by_name(guild, kind, q)
           || directory_by_id(guild, kind, q);

    if cardinality(ids) < 25 then
        ids := ids || directory_by_part(guild, kind, q);
    end if;

    return query
        select d.* from directory d
         where d.guild_id = guild
           and d.kind = directory_find.kind
           and d.id = any (ids)
         order by case when d.folded = q or d.id::text = q then 0
                       when starts_with(d.folded, q)
                         or starts_with(d.id::text, q) then 1
                       else 2 end,
                  d.folded, d.id
         limit 25;
end $$;


-- Those of these ids who are known, by their ids.

create or replace function directory_members(guild bigint, ids bigint[])
returns setof directory language plpgsql stable set enable_seqscan = off as $$
begin
    return query
        select d.* from directory d
         where d.guild_id = guild and d.kind = 0 and d.id = any (ids)
         order by d.id;
end $$;


-- GET /search/members: by a query, or who of these ids is known.

create or replace function search_members(token text, guild bigint,
    bot smallint, kind smallint, query text, ids bigint[] default null)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    if not token_live(guild, token) then
        return answered(401);
    end if;

    if cardinality(ids) > 100 then
        perform refuse(400, 'id: at most 100 items');
    end if;

    return answered(200, coalesce((
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select d.id::text as id, d.name, d.avatar,
                       array_to_json(d.roles::text[]) as roles
                  from (select * from directory_members(guild, ids)
                         where ids is not null
                         union all
                        select * from directory_find(guild, 0, query)
                         where ids is null) d) r), '[]'));
end $$;


-- GET /search/channels

create or replace function search_channels(token text, guild bigint,
    bot smallint, kind smallint, query text)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, coalesce((
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select d.id::text as id, d.name, d.type,
                       d.parent::text as parent, d.position
                  from directory_find(guild, 1, query) d) r), '[]'));
end $$;


-- GET /search/roles

create or replace function search_roles(token text, guild bigint,
    bot smallint, kind smallint, query text)
returns answer language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return answer_read(guild, token, coalesce((
        select '[' || string_agg(row_to_json(r)::text, ',') || ']'
          from (select d.id::text as id, d.name, d.color, d.position
                  from directory_find(guild, 2, query) d) r), '[]'));
end $$;


-- /servers/{guild}/members/{user_id} and /servers/{guild}/members of the
-- operator

create or replace function operator_member_put(guild bigint, user_id bigint,
    input jsonb, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select p.* into status, body
      from directory_put(guild, 0, jsonb_build_array(
               input || jsonb_build_object('id', user_id))) p;
end $$;


create or replace function operator_member_delete(guild bigint,
    user_id bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select d.* into status, body
      from directory_delete(guild, 0, user_id) d;
end $$;


create or replace function operator_members_put(guild bigint, input jsonb,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select p.* into status, body from directory_put(guild, 0, input) p;
end $$;


-- /servers/{guild}/channels/{channel_id} and /servers/{guild}/channels of the
-- operator

create or replace function operator_channel_put(guild bigint, channel_id bigint,
    input jsonb, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select p.* into status, body
      from directory_put(guild, 1, jsonb_build_array(
               input || jsonb_build_object('id', channel_id))) p;
end $$;


create or replace function operator_channel_delete(guild bigint,
    channel_id bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select d.* into status, body
      from directory_delete(guild, 1, channel_id) d;
end $$;


create or replace function operator_channels_put(guild bigint, input jsonb,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select p.* into status, body from directory_put(guild, 1, input) p;
end $$;


-- /servers/{guild}/roles/{role_id} and /servers/{guild}/roles of the
-- operator

create or replace function operator_role_put(guild bigint, role_id bigint,
    input jsonb, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select p.* into status, body
      from directory_put(guild, 2, jsonb_build_array(
               input || jsonb_build_object('id', role_id))) p;
end $$;


create or replace function operator_role_delete(guild bigint,
    role_id bigint, out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select d.* into status, body
      from directory_delete(guild, 2, role_id) d;
end $$;


create or replace function operator_roles_put(guild bigint, input jsonb,
    out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    select p.* into status, body from directory_put(guild, 2, input) p;
end $$;
