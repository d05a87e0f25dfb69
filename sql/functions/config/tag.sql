-- Tags: texts the bot answers with.


-- The tags behind a name, up to another one (null: all); '' if they are more
-- than so many.

create or replace function tags_rows(guild bigint, bot smallint,
    most int, behind text default '', upto text default null)
returns text language plpgsql stable as $$
begin
    return (
        select case when count(*) > most then ''
                    else '[' || string_agg(row_to_json(r)::text, ',') || ']' end
          from (select t.guild_id::text as id, t.tag_id, t.tag_name,
                       t.content, t.color, t.image
                  from tag t
                 where t.guild_id = guild and t.bot = tags_rows.bot
                   and t.tag_name > behind
                   and (upto is null or t.tag_name <= upto)
                 order by t.tag_name limit most + 1) r);
end $$;


-- A part of the array of all tags: those behind that name, '' in the first one;
-- 'null' if there are none at all. More is the name that the next part begins
-- behind; null: there is none.

create or replace function tags_part(guild bigint, bot smallint, behind text,
    out body text, out more text)
language plpgsql stable as $$
declare
    rows  text;
begin
    more := (
        select min(s.tag_name)
          from (select t.tag_name,
                       sum(128 + octet_length(t.tag_name)
                           + coalesce(octet_length(t.content), 0)
                           + coalesce(octet_length(t.image), 0))
                           over (order by t.tag_name
                                 rows unbounded preceding) as bytes
                  from tag t
                 where t.guild_id = guild and t.bot = tags_part.bot
                   and t.tag_name > behind) s
         where s.bytes >= part_bytes());
    rows := tags_rows(guild, bot, null, behind, more);
    body := case when rows is null and behind = '' then 'null'
                 else concat(case when behind = '' then '['
                                  when rows is not null then ',' end,
                             substr(rows, 2, length(rows) - 2),
                             case when more is null then ']' end) end;
end $$;


-- Holds a tag against the rules that need the other tags of its server.

create or replace function tag_check(new tag)
returns void language plpgsql stable as $$
begin
    if coalesce(new.content, '') = '' and coalesce(new.image, '') = '' then
        perform refuse(400, 'content: needed where there is no image');
    end if;

    if coalesce(length(new.tag_name), 0) not between 1 and 31 then
        perform refuse(400, 'tag_name: must have 1 to 31 characters');
    end if;

    if exists (select from tag t
                where t.guild_id = new.guild_id
                  and t.bot = new.bot
                  and t.tag_name = new.tag_name
                  and t.tag_id <> new.tag_id)
    then
        perform refuse(409, 'tag_name: is taken');
    end if;
end $$;


-- What of a tag changed, for its service entry: the text as the content before
-- and after, the rest as changes. A tag that comes or goes is named already.

create or replace function tag_difference(before jsonb, after jsonb)
returns jsonb language plpgsql stable as $$
declare
    told  constant text[] := case when num_nulls(before, after) = 0
                                  then '{content}'
                                  else '{content,tag_id,tag_name}' end;
begin
    return coalesce(difference(before - told, after - told), '{}')
        || case when before ->> 'content' is distinct from after ->> 'content'
                then jsonb_build_object(
                         'content', before ->> 'content',
                         'contentAfter', after ->> 'content')
                else '{}' end;
end $$;


-- GET /config/tags: in parts where it is large. Rest is empty for the first
-- one, then it is what the part before has in more; the last one has none.
-- Without rest all comes at once. Each part is as things are when it is read.

create or replace function tags_get(token text, guild bigint, bot smallint,
    kind smallint, rest text default null, out status int, out body text,
    out more text)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    part  record;
begin
    if not token_live(guild, token) then
        status := 401;
        body := '{}';
        return;
    end if;

    if coalesce(rest, '') = '' then
        body := coalesce(tags_rows(guild, bot, case rest when '' then 25 end),
                         '{}');
    end if;

    if rest <> '' or body = '' then
        part := tags_part(guild, bot, rest);
        body := part.body;
        more := part.more;
    end if;

    status := case body when '{}' then 404 else 200 end;
end $$;


-- POST /tags: names are lower-cased and unique; 25 tags without Pro, 1,000 with
-- it.

create or replace function tag_create(token text, guild bigint, bot smallint,
    kind smallint, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    new  tag;
    n    bigint;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    new := jsonb_populate_record(null::tag, input || keys_of(guild, bot));
    new.tag_id := next_id(ms(clock_timestamp()));
    new.tag_name := lower(new.tag_name collate "und-x-icu");

    perform tag_check(new);

    n := (select count(*) from tag t
           where t.guild_id = guild and t.bot = tag_create.bot);

    if n >= 25
       and (select s.plan from server s where s.guild_id = guild) <> 'pro'
    then
        perform refuse(402, 'more than 25 tags need the Pro plan');
    elsif n >= 1000 then
        perform refuse(402, 'there are at most 1,000 tags');
    end if;

    insert into tag values (new.*);

    perform announce(guild, bot, 74,
        jsonb_build_object('action', 'create', 'name', new.tag_name)
        || tag_difference(null, to_jsonb(new)));
    return answered(201, format('{"tag_id":"%s"}', new.tag_id));
end $$;


-- PATCH /tags/{tag_id}

create or replace function tag_patch(token text, guild bigint, bot smallint,
    kind smallint, tag_id text, input jsonb)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    before  tag;
    after   tag;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    select * into before from tag t
     where t.guild_id = guild and t.bot = tag_patch.bot
       and t.tag_id = tag_patch.tag_id;

    if not found then
        return answered(404);
    end if;

    after := jsonb_populate_record(before, input - 'tag_id'
                                           || keys_of(guild, bot));
    after.tag_name := lower(after.tag_name collate "und-x-icu");

    if before is not distinct from after then
        return answered(200);
    end if;

    perform tag_check(after);

    update tag t
       set (tag_name, content, color, image)
         = (after.tag_name, after.content, after.color, after.image)
     where t.guild_id = guild and t.bot = tag_patch.bot
       and t.tag_id = tag_patch.tag_id;

    perform announce(guild, bot, 75,
        jsonb_build_object('action', 'update', 'name', after.tag_name)
        || tag_difference(to_jsonb(before), to_jsonb(after)));
    return answered(200);
end $$;


-- DELETE /tags/{tag_id}

create or replace function tag_delete(token text, guild bigint, bot smallint,
    kind smallint, tag_id text)
returns answer language plpgsql security definer
set search_path = guildlog, pg_temp as $$
declare
    old  tag;
begin
    if not change_begin(guild, token) then
        return answered(401);
    end if;

    delete from tag t
     where t.guild_id = guild and t.bot = tag_delete.bot
       and t.tag_id = tag_delete.tag_id
    returning * into old;

    if not found then
        return answered(404);
    end if;

    perform announce(guild, bot, 73,
        jsonb_build_object('action', 'delete', 'name', old.tag_name)
        || tag_difference(to_jsonb(old), null));
    return answered(200);
end $$;
