-- The live tail. Its positions are arrival numbers, which follow the order of
-- commits: an entry that is recorded late has an old id, but a new number.


-- GET /logs/stream: where the tail begins, in the head: behind the entry seen
-- last, or now. reason: the events do not know what came since, the tail begins
-- now, and this is what it has to say of the time between, as JSON.
--
-- No entry is of the year 2015: such an id is an arrival, which a tail was told
-- when it began so.

create or replace function logs_begin(token text, guild bigint,
    bot smallint, kind smallint, last_id bigint)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    last   constant bigint := tail_now(guild, bot);
    since  bigint := last;
    reset  text;
begin
    if not token_live(guild, token) then
        return next row(401, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    if last_id < day_id('2016-01-01') then
        since := last_id;
    elsif last_id is not null then
        since := arrival_of(guild, bot, last_id);
    end if;

    if since is null or since > last or not tail_known(guild, bot, since) then
        since := last;
        reset := tail_reset(guild, bot, last_id);
    end if;

    return next row(200, null, null, reset, since, null, null, null, null,
                    null)::log_row;
end $$;


-- The times between which pages have what a tail misses that saw that one last:
-- {"after", "before"}, as GET /logs has them.

create or replace function tail_reset(guild bigint, bot smallint,
    last_id bigint)
returns text language plpgsql stable as $$
declare
    at  constant bigint := ms(now());
begin
    return format('{"after":%s,"before":%s}',
        greatest(wall_of(guild), least(id_time(last_id), at) - 1),
        1 + greatest(at, id_time((
                select max(e) from entries_newest(guild, bot, 0,
                                                  9223372036854775807) e))));
end $$;


create or replace function tail_now(guild bigint, bot smallint)
returns bigint language plpgsql stable as $$
begin
    return coalesce((select h.arrival from head_of(guild, bot) h), 0);
end $$;


-- Are the rows kept of all that arrived behind that one? There is one for each
-- arrival.

create or replace function tail_known(guild bigint, bot smallint,
    since bigint)
returns boolean language plpgsql stable as $$
begin
    return since >= tail_now(guild, bot)
        or exists (select from arrival_one(guild, bot, since + 1));
end $$;


-- The arrival of an entry, if its row is kept. Rows are in the order of time,
-- as a rule, and most entries arrive when they happen: it is looked for from
-- there on, then among all.

create or replace function arrival_of(guild bigint, bot smallint, id bigint)
returns bigint language plpgsql stable as $$
declare
    at     constant timestamptz := to_timestamp(id_time(id) / 1000.0)
                                   - interval '1 minute';
    first  constant bigint := (
               select a.arrival from log_arrival a
                where a.guild_id = guild and a.bot = arrival_of.bot
                order by a.arrival limit 1);
    low    bigint := first;
    high   bigint := tail_now(guild, bot);
    place  bigint;
    found  bigint;
begin
    while low < high loop
        place := (low + high) / 2;
        if (select a.recorded_at < at
              from arrival_one(guild, bot, place) a)
        then
            low := place + 1;
        else
            high := place;
        end if;
    end loop;

    loop
        found := (
            select a.arrival from log_arrival a
             where a.guild_id = guild and a.bot = arrival_of.bot
               and a.arrival >= low and a.id = arrival_of.id
             order by a.arrival limit 1);
        exit when found is not null or low = first or low is null;
        low := first;
    end loop;

    return found;
end $$;


-- The entries that arrived behind since, in the order in which they arrived, at
-- most so many and so many bytes; seq: their arrivals. The head says up to
-- where this is all of them, or by more that the events do not know all. The
-- token is that of one who listens.

create or replace function logs_tail(guild bigint, bot smallint,
    since bigint, most int, token text default null)
returns setof log_row language plpgsql volatile security definer
set search_path = guildlog, pg_temp set enable_seqscan = off as $$
declare
    at  constant timestamptz := tail_taken(guild, bot);
begin
    if not tail_may(token, guild) then
        return next row(401, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    -- what is read from here on has all that was committed before

    return query select t.* from tail_rows(guild, bot, at, since, most) t;
end $$;


-- Whose token lives may listen; without one, as the module of version 0.2 asks,
-- who could begin a session of any server.

create or replace function tail_may(token text, guild bigint)
returns boolean language plpgsql stable as $$
begin
    return case when token is null
           then has_function_privilege(session_user,
                    'session_begin(text, bigint, text, bigint[], text, '
                    'text[], text)', 'execute')
           when token like '~%' then session_status(guild, token) = 200
           else token_live(guild, token) end;
end $$;


-- Until when everything that was held and that a request has taken back is
-- known to be gone; null: a request is at work that may take back what it found
-- to be held before. Who takes entries back has this lock from before he looks
-- at the time to the end of his transaction. One expression, so that nothing
-- comes between: the session is that of many requests.

create or replace function tail_taken(guild bigint, bot smallint)
returns timestamptz language plpgsql volatile as $$
declare
    at  constant timestamptz := clock_timestamp();
    a   constant int := hashtext('guildlog.held');
    b   constant int := hashint8(guild);
begin
    return case when pg_try_advisory_lock_shared(a, b)
                then case when pg_advisory_unlock_shared(a, b) then at end end;
end $$;


create or replace function tail_rows(guild bigint, bot smallint,
    at timestamptz, since bigint, most int)
returns setof log_row language plpgsql stable as $$
declare
    known     constant boolean := tail_known(guild, bot, since);
    low       constant bigint := id_at(wall_of(guild));
    head_at   constant timestamptz := (
                  select h.last_at from head_of(guild, bot) h);
    until     bigint := case when known then tail_end(guild, bot, since, at)
                             else since end;
    found     log_found[];
    arrivals  bigint[];
    last      bigint;
begin
    -- the first, and more as long as they begin within 256 KiB

    select array_agg(arrival_found(f.it, clock_timestamp())
                     order by (f.it).arrival),
           array_agg((f.it).arrival order by (f.it).arrival),
           max((f.it).arrival)
      into found, arrivals, last
      from (select n.it, sum(octet_length((n.it).doc)) over (
                             order by (n.it).arrival
                             rows unbounded preceding)
                         - octet_length((n.it).doc) as before
              from (select row(a.*)::log_arrival as it from log_arrival a
                     where a.guild_id = guild and a.bot = tail_rows.bot
                       and a.arrival > since and a.arrival <= until
                       and a.recorded_at <= head_at and a.id >= low
                     order by a.arrival limit most) n) f
     where f.before < 262144;

    if exists (select from log_arrival a
                where a.guild_id = guild and a.bot = tail_rows.bot
                  and a.arrival > last and a.arrival <= until
                  and a.recorded_at <= head_at and a.id >= low)
    then
        until := last;
    end if;

    return next row(200, not known, null, null, until, null, null, null, null,
                    null)::log_row;

    return query
        select e.id, null::boolean, delivery_word(d.status), d.reason,
               coalesce(d.channel_id, e.dchannel_id), d.message_id, e.doc,
               null::smallint, null::bigint, a.arrival
          from unnest(found) with ordinality
                   e (id, type, dstatus, lane, seq, dchannel_id, dmessage_id,
                      dreason, doc, place)
          join unnest(arrivals) with ordinality a (arrival, place)
            on a.place = e.place
          join deliveries_of(guild, bot, found) d on d.id = e.id
         order by a.arrival;
end $$;


-- Up to where one call looks: not beyond an entry that is held, for it may
-- still be taken back, and nowhere while somebody may be taking back what is
-- not held any more.

create or replace function tail_end(guild bigint, bot smallint, since bigint,
    at timestamptz)
returns bigint language plpgsql stable as $$
begin
    if at is null then
        return since;
    end if;

    return greatest(since, least(
        tail_now(guild, bot),
        (select min(h.arrival) - 1
           from log_arrival h
          where h.guild_id = guild
            and h.bot = tail_end.bot
            and h.recorded_at <= (
                    select x.last_at from head_of(guild, tail_end.bot) x)
            and h.held_to > at)));
end $$;


-- Of these servers and bots, by their place, those where more than that many
-- entries have arrived, and how many.

create or replace function logs_news(guilds bigint[], bots smallint[],
    arrivals bigint[])
returns table (place bigint, arrival bigint)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return query
        select t.place, h.arrival
          from unnest(guilds, bots, arrivals)
                   with ordinality t (guild, bot, arrival, place)
         cross join lateral head_of(t.guild, t.bot) h
         where h.arrival > t.arrival
         order by t.place;
end $$;


-- Of these tokens, by their place, those that live no more.

create or replace function logs_tokens(guilds bigint[], tokens text[])
returns table (place bigint, arrival bigint)
language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return query
        select t.place, null::bigint
          from unnest(guilds, tokens) with ordinality t (guild, token, place)
         where not tail_may(coalesce(t.token, ''), t.guild);
end $$;
