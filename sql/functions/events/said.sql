-- Messages that are kept, for as long as the plan says, and not at all where
-- the server's settings forbid it.


-- What is to be stored of the messages of a batch: null at the place of one
-- that is not kept, with masks where those of the main bot are. A deletion has
-- no text. Before anything is locked: filters may take their time, and what
-- they did not come to is not kept.

create or replace function said_allowed(guilds bigint[], kinds smallint[],
    channels bigint[], docs text[])
returns text[] language plpgsql stable set enable_seqscan = off as $$
declare
    until  constant timestamptz := clock_timestamp() + interval '500 ms';
    its    record;
begin
    for its in
        select n.guild, n.places, r.listed, r.filtered
          from (select u.guild, array_agg(u.place::int) as places
                  from unnest(guilds, kinds, docs) with ordinality
                           u (guild, kind, doc, place)
                 where u.kind = 9 and u.doc <> '' group by u.guild) n
         cross join lateral said_rules(n.guild) r
         where r.listed or r.filtered
    loop
        if its.listed then
            docs := said_unlisted(its.guild, its.places, channels, docs);
        end if;

        if its.filtered then
            docs := said_filtered(its.guild, its.places, docs, until);
        end if;
    end loop;

    return docs;
end $$;


-- Has the server rules that messages are held against?

create or replace function said_rules(guild bigint, out listed boolean,
    out filtered boolean)
returns setof record language sql stable as $$
    select exists (select from ignore_entry i
                    where i.guild_id = guild and i.bot = 0
                      and i.ignore_type in (0, 1)),
           exists (select from filter x
                    where x.guild_id = guild and x.bot = 0 and x.enabled)
    offset 0
$$;


-- Without those of channels and categories of the ignore lists.

create or replace function said_unlisted(guild bigint, places int[],
    channels bigint[], docs text[])
returns text[] language plpgsql stable as $$
declare
    lists  constant ignored := ignored_of(guild, 0::smallint);
    place  int;
begin
    for place in
        select n.place from unnest(places) n (place)
         cross join lateral place_among(guild, lists, channels[n.place]::text,
                                        null, null) p
         where p.in_channel or p.in_category
    loop
        docs[place] := null;
    end loop;

    return docs;
end $$;


-- With masks, and without what is to be dropped, by the filters that apply to
-- entries about messages.

create or replace function said_filtered(guild bigint, places int[],
    docs text[], until timestamptz)
returns text[] language plpgsql stable as $$
declare
    needles  constant text[] := mask_needles_of(guild, 0::smallint);
    all_of   constant masker[] := maskers(guild, 0::smallint);
    types    constant smallint[] := '{3,4,5,6,7}';
    drops    constant masker[] := maskers_for(all_of, 'drop', types);
    masks    constant masker[] := maskers_for(all_of, 'mask', types);
    place    int;
    texts    text[];
    masked   text[];
begin
    foreach place in array places loop
        continue when docs[place] is null;

        if clock_timestamp() > until then
            docs[place] := null;
            continue;
        end if;

        texts := said_texts(docs[place]::jsonb);

        if drops <> '{}' and mask_texts(drops, needles, texts) <> texts then
            docs[place] := null;
        elsif masks <> '{}' then
            masked := mask_texts(masks, needles, texts);

            if masked <> texts then
                docs[place] := said_with(docs[place]::jsonb, masked);
            end if;
        end if;
    end loop;

    return docs;
end $$;


create or replace function said_texts(doc jsonb)
returns text[] language plpgsql immutable as $$
begin
    return array(
        select case jsonb_typeof(doc -> k.key) when 'string'
               then doc ->> k.key end
          from unnest('{content,more}'::text[]) with ordinality k (key, n)
         order by k.n);
end $$;


create or replace function said_with(doc jsonb, texts text[])
returns text language plpgsql immutable as $$
begin
    return doc || jsonb_strip_nulls(jsonb_build_object(
               'content', texts[1], 'more', texts[2]));
end $$;


-- Keeps them; how many, but for those that were deleted. Of one that stands in
-- the batch twice the last one counts, and that it was deleted counts always.
-- What the service's own webhooks say is not kept, nor what is of no hour or
-- day that has a partition: nobody takes one away while somebody has the table.

create or replace function said_keep(guilds bigint[], kinds smallint[],
    ids bigint[], authors bigint[], channels bigint[], docs text[],
    pro bigint[], out kept int)
language plpgsql set enable_seqscan = off as $$
declare
    brief  int[] := '{}';
    long   int[] := '{}';
    lone   bigint;
    its    record;
begin
    kept := 0;

    if 9 <> all (kinds) then
        return;
    end if;

    lock table only said, only said_long in row exclusive mode;

    foreach lone in array lones_of(guilds) loop
        its := said_places(guilds, kinds, ids, authors, docs, pro, lone);
        brief := brief || its.brief;
        long := long || its.long;
    end loop;

    if brief <> '{}' then
        with put as (
            insert into said as s (guild_id, id, author_id, channel_id, doc)
            select guilds[p], ids[p], coalesce(authors[p], 0),
                   coalesce(channels[p], 0), docs[p]
              from unnest(brief) p
            on conflict on constraint said_pkey do update
               set doc = excluded.doc,
                   author_id = coalesce(nullif(excluded.author_id, 0),
                                        s.author_id),
                   channel_id = coalesce(nullif(excluded.channel_id, 0),
                                         s.channel_id)
             where s.doc <> '' and s.doc <> excluded.doc
            returning s.doc <> '' as told)
        select count(*) into kept from put where told;
    end if;

    if long <> '{}' then
        with put as (
            insert into said_long as s (guild_id, id, author_id, channel_id,
                                        doc)
            select guilds[p], ids[p], coalesce(authors[p], 0),
                   coalesce(channels[p], 0), docs[p]
              from unnest(long) p
            on conflict on constraint said_long_pkey do update
               set doc = excluded.doc,
                   author_id = coalesce(nullif(excluded.author_id, 0),
                                        s.author_id),
                   channel_id = coalesce(nullif(excluded.channel_id, 0),
                                         s.channel_id)
             where s.doc <> '' and s.doc <> excluded.doc
            returning s.doc <> '' as told)
        select kept + count(*) into kept from put where told;
    end if;
end $$;


-- The places of these messages in the batch, by the table that they go to.

create or replace function said_places(guilds bigint[], kinds smallint[],
    ids bigint[], authors bigint[], docs text[], pro bigint[], lone bigint,
    out brief int[], out long int[])
language plpgsql set enable_seqscan = off as $$
begin
    with kept as materialized (
        select distinct on (n.guild, n.id) n.place::int, t.parent,
               n.id / (t.span << 22) as span
          from unnest(guilds, kinds, ids, authors, docs) with ordinality
                   n (guild, kind, id, author, doc, place)
          join partitioned_ids() t
            on t.parent = case when n.guild = any (pro) then 'said_long'
                               else 'said' end
         where n.kind = 9 and n.doc is not null
           and (lone is null or n.guild = lone)
           and (n.doc = '' or (
                   select true from lane x
                    where x.webhook_id >= n.author
                      and x.webhook_id <= n.author and x.guild_id = n.guild
                      and (lone is null or x.guild_id = lone)
                    order by x.webhook_id limit 1) is null)
         order by n.guild, n.id, n.doc = '' desc, n.place desc
    ), there as (
        select s.parent, s.span
          from (select distinct k.parent, k.span from kept k) s
         where to_regclass(format('guildlog.%I', partition_name(s.parent,
                                                                s.span)))
               is not null
    )
    select array_agg(k.place) filter (where k.parent = 'said'),
           array_agg(k.place) filter (where k.parent = 'said_long')
      into brief, long
      from kept k
      join there s on s.parent = k.parent and s.span = k.span;
end $$;
