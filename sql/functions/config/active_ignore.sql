-- Active ignore: a bot says what it is about to do, so that it is not logged.


-- Takes a request. A protected log type is covered only by its name, and its
-- name takes an Admin token. Logged with the token's id: always for such a
-- type and for who signed in, else once an hour a token. How many held entries
-- it took back.
--
-- At most 1,000 requests of a (server, bot) run at a time; those that ran out
-- or are used up go. The caller has log_head, as recording has when it updates
-- requests: so the deletion cannot deadlock with that, and the count is exact.

create or replace function active_ignore_add(token text, guild bigint,
    bot smallint, kind smallint, side text, input jsonb)
returns int language plpgsql as $$
declare
    type       constant int := (input ->> 'logType')::int;
    allowance  constant int := coalesce((input ->> 'count')::int, 1);
    seconds    constant int := least(coalesce((input ->> 'time')::bigint, 10),
                                     300);
    at         constant timestamptz := clock_timestamp();
    request    constant bigint := next_id(ms(at));
    -- an executor's id may be written with zeros before it
    subject    constant text := case side when 'executor'
                   then (input ->> 'id')::bigint::text else input ->> 'id' end;
    what       log_type;
    told       boolean;
begin
    if allowance not between 1 and 100 then
        perform refuse(400, 'count: must be 1 to 100');
    end if;

    if seconds < 1 then
        perform refuse(400, 'time: must be 1 or more');
    end if;

    if side = 'executor' and input ? 'type' then
        perform refuse(400, 'type: only targets have it');
    end if;

    select * into what from log_type t where t.id = type;

    if what.protected and kind <> 1 then
        perform refuse(403, 'logType: takes an Admin token');
    end if;

    update token t
       set ignore_logged_at = at
     where t.guild_id = guild
       and t.token_id = token
       and (what.protected
            or t.ignore_logged_at is null
            or t.ignore_logged_at < at - interval '1 hour');
    told := found or token like '~%';

    delete from active_ignore a
     where a.guild_id = guild and a.bot = active_ignore_add.bot
       and (a.expires_at <= at or a.remaining = 0);

    if (select count(*) from active_ignore a
         where a.guild_id = guild and a.bot = active_ignore_add.bot) >= 1000
    then
        perform refuse(402, 'at most 1,000 requests run at a time');
    end if;

    insert into active_ignore
    values (guild, bot, request, side, subject,
            (input ->> 'type')::smallint, type, allowance, at,
            at + seconds * interval '1 second');

    if told then
        perform record_service(guild, bot, 69, jsonb_build_object(
            'action', 'active ignore', 'name', what.key,
            'value', case when token not like '~%' then token end,
            'reason', format('%s %s, %s in %s s', side, input ->> 'id',
                             allowance, seconds)));
    end if;

    return held_take(guild, bot, request);
end $$;


-- Takes the (server, bot); false if the token died before its turn came. Lock:
-- log_head, and behind it rows of tokens, as a reset takes them.

create or replace function active_ignore_begin(token text, guild bigint,
    bot smallint)
returns boolean language plpgsql as $$
begin
    if not token_live(guild, token) then
        return false;
    end if;

    perform executor_set(token);
    perform record_take(guild, bot);
    return token_live(guild, token);
end $$;


-- POST /active/ignore/targets

create or replace function active_ignore_targets(token text, guild bigint,
    bot smallint, kind smallint, input jsonb, out status int, out body text,
    out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    status := 401;
    body := '{}';

    if active_ignore_begin(token, guild, bot) then
        counts := active_ignore_add(token, guild, bot, kind, 'target',
                                    input);
        status := 200;
    end if;
end $$;


-- POST /active/ignore/executors

create or replace function active_ignore_executors(token text, guild bigint,
    bot smallint, kind smallint, input jsonb, out status int, out body text,
    out counts text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
begin
    status := 401;
    body := '{}';

    if active_ignore_begin(token, guild, bot) then
        counts := active_ignore_add(token, guild, bot, kind, 'executor',
                                    input);
        status := 200;
    end if;
end $$;
