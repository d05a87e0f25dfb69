-- How messages look, and what the one of an entry would be.


-- What the server's settings say of all its messages. A type may have another
-- format, and a color.

create or replace function looks_of(guild bigint, bot smallint,
    out format smallint, out buttons int, out locale smallint,
    out spoilers boolean)
language plpgsql stable as $$
declare
    option  constant logging_options := options_of(guild, bot);
begin
    format := option.format_type;
    buttons := ('userID' = any (option.buttons))::int
               + ('supportServer' = any (option.buttons))::int * 2
               + ('customise' = any (option.buttons))::int * 4;
    locale := coalesce(
        (select s.locale from settings s
          where s.guild_id = guild and s.bot = looks_of.bot),
        (select s.locale from server s where s.guild_id = guild), 0);
    spoilers := option.spoilers;
end $$;


-- POST /preview: the document that would be stored of an entry, and the looks
-- of its message. Prefixes are read and filters mask, as when it is recorded.
-- Rules that would drop it are not asked. Its id is the first one of its time.

create or replace function preview(token text, guild bigint, bot smallint,
    kind smallint, input jsonb, out status int, out body text, out doc text,
    out format smallint, out color int, out buttons int, out locale smallint,
    out spoilers boolean)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    entries  constant jsonb := jsonb_build_array(input -> 'entry');
    b        batch := record_read(entries);
    docs     text[] := record_docs(entries);
    at       constant bigint := coalesce(b.times[1], ms(clock_timestamp()));
    looks    record;
begin
    body := '{}';

    if not token_live(guild, token) then
        status := 401;
        return;
    end if;

    if at not between 1420070400000 and ms(clock_timestamp()) + 86400000 then
        perform refuse(400, 'entry.timestamp: must be the time of an entry');
    end if;

    if b.prefixed is not null then
        docs := (record_prefixes(heads_one(guild, bot, 1), b, docs)).docs;
    end if;

    docs := (record_filter(maskers(guild, bot), mask_needles_of(guild, bot),
                           b.types, 2000, docs, array[null]::text[])).docs;

    if b.crowded is not null then
        docs := record_truncate(b.crowded, docs);
    end if;

    status := 200;
    doc := format('{"id":"%s","type":%s,"timestamp":%s,%s', time_id(at),
                  b.types[1], at, docs[1]);

    select l.* into looks from looks_of(guild, bot) l;
    select t.format_type, t.color into format, color from logging_type t
     where t.guild_id = guild and t.bot = preview.bot
       and t.log_type = b.types[1];

    format := coalesce(format, looks.format);
    color := coalesce(color, -1);
    buttons := looks.buttons;
    locale := looks.locale;
    spoilers := looks.spoilers;
end $$;
