-- GET /logs where nothing is filtered: what logs_page() would answer. It is
-- asked more often than anything else, so what is said once elsewhere is spelt
-- out here: small statements cost least, calls cost more.
--
-- With ranges, and joined, the deliveries are left to the module: what was
-- decided when these entries came in, and how far the lanes are, is told behind
-- the entries. It may lack what it takes for one of them; then the module asks
-- without. These entries are one row: as a hundred they cost both sides more.
-- (A module that does not know that has ranges alone.)
--
-- What is joined ends after so many bytes, at the end of an entry. A running
-- sum would cost a page a tenth more, so it is made only where an entry is
-- longer than its share.
--
-- Each partition that is looked at costs as much as some entries. So what is on
-- the page and behind all checkpoints is counted as it is read.

-- What an entry that is joined to others says of its delivery.

create or replace function log_said(dstatus smallint, dreason text,
    dchannel_id bigint, dmessage_id bigint, lane bigint, seq bigint)
returns text language sql stable as $$
    select case when dstatus = 0 and dreason is not null
                     and coalesce(lane, dchannel_id, dmessage_id) is null
                then E'\t0 r' || dreason
                else E'\t' || concat_ws(' ', dstatus, 'r' || dreason,
                                        'c' || dchannel_id,
                                        'm' || dmessage_id, 'l' || lane,
                                        's' || seq)
                end
$$;


create or replace function logs_plain(token text, guild bigint, bot smallint,
    kind smallint, after bigint, before bigint, most int, below bigint,
    ranges boolean default false, known text default null,
    joined boolean default false, bytes int default 2147483647)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    at        constant bigint := ms(now());
    wall      bigint;
    walled    boolean;
    state     text;
    low       bigint;
    high      bigint;
    top       bigint;    -- the page is below that

    -- the checkpoints inside of what may be read: the first one, the last one,
    -- the last one below the top, and one that so many entries are above that
    -- the page ends there

    first_id  bigint;
    last_id   bigint;
    below_id  bigint;
    page_id   bigint;
    first     int[];     -- sums
    last      int[];
    passed    int[];     -- up to the top

    start     bigint;    -- of the part of it that is read
    ends      bigint;
    since     bigint;
    until     bigint;
    rest      int := most;
    room      int := bytes;
    share     constant int := bytes / most;
    n         int;
    long      boolean;   -- an entry is longer than its share
    lowest    bigint;    -- of what was read
    docs      text;
    newer     text;
    types     smallint[];  -- of it, behind the last checkpoint
    low_end   bigint;    -- up to the first one entries are counted below that,
    last_end  bigint;    -- behind the last one below that
begin
    select at - retention_ms(s.plan),
           page_state(h.xmin || ' ' || h.arrival, s.plan)
      into wall, state
      from server s
      left join log_head h on h.guild_id = guild and h.bot = logs_plain.bot
     where s.guild_id = guild
       and (exists (select from token t
                     where t.guild_id = guild
                       and t.token_id = token
                       and t.revoked_at is null
                       and t.expires_at > now())
            or session_live(guild, token));

    if not found or page_holds(known, state, at) then
        return next row(case when wall is null then 401 else 304 end, null,
                        null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    walled := coalesce(after < wall - 1 or below < id_at(wall), false);
    low := id_at(greatest(wall, after + 1));
    high := log_high(at, before);
    top := least(below, high);

    select c.last_id, c.sums into first_id, first from log_checkpoint c
     where c.guild_id = guild and c.bot = logs_plain.bot
       and c.last_id >= low and c.last_id < high
     order by c.last_id limit 1;

    select c.last_id, c.sums into last_id, last from log_checkpoint c
     where c.guild_id = guild and c.bot = logs_plain.bot
       and c.last_id >= low and c.last_id < high
     order by c.last_id desc limit 1;

    passed := last;

    if top < high then
        select c.last_id, c.sums into below_id, passed from log_checkpoint c
         where c.guild_id = guild and c.bot = logs_plain.bot
               and c.last_id >= low and c.last_id < top
         order by c.last_id desc limit 1;
    end if;

    select c.last_id into page_id from log_checkpoint c
     where c.guild_id = guild and c.bot = logs_plain.bot
       and c.last_id >= low and c.last_id < top
     order by c.last_id desc
    offset most / checkpoint_every() + 1 limit 1;

    until := id_time(top);
    ends := top;
    ranges := ranges and joined and deliveries_placed(guild, bot);

    while ranges loop
        start := coalesce(page_id, low);

        select count(*), coalesce(min(p.id), lowest),
               array_agg(p.type) filter (where last_id is null
                                         or p.id > last_id),
               string_agg(case when octet_length(p.doc) <= share
                               then p.doc || p.said end, E'\n'),
               bool_or(octet_length(p.doc) > share)
          into n, lowest, types, docs, long
          from (select e.id, e.type, e.doc,
                       log_said(e.dstatus, e.dreason, e.dchannel_id,
                                e.dmessage_id, e.lane, e.seq) as said
                  from log_entry e
                 where e.guild_id = guild and e.bot = logs_plain.bot
                   and e.id >= start and e.id < ends
                 order by e.id desc limit rest) p;

        if long then
            select count(*), min(p.id),
                   array_agg(p.type) filter (where last_id is null
                                             or p.id > last_id),
                   string_agg(p.doc || p.said, E'\n')
              into n, lowest, types, docs
              from (select e.id, e.type, e.doc,
                           log_said(e.dstatus, e.dreason, e.dchannel_id,
                                    e.dmessage_id, e.lane, e.seq) as said,
                           sum(octet_length(e.doc)) over (
                               order by e.id desc rows unbounded preceding)
                           - octet_length(e.doc) as before
                      from log_entry e
                     where e.guild_id = guild and e.bot = logs_plain.bot
                       and e.id >= start and e.id < ends
                     order by e.id desc limit rest) p
             where p.before < room;
        end if;

        room := room - coalesce(octet_length(docs), 0);
        rest := rest - n;

        if newer is not null then
            docs := concat_ws(E'\n', newer, docs);
        end if;

        -- it is short only where entries were taken back

        exit when rest = 0 or page_id is null or room <= 0;
        newer := docs;
        ends := page_id;
        page_id := null;
    end loop;

    low_end := coalesce(first_id + 1, high);
    last_end := high;

    if not ranges or top < high or newer is not null then
        types := null;
    elsif first_id is null then
        low_end := case when rest = 0 or long then lowest end;
    else
        last_end := case when lowest > last_id then lowest end;
    end if;

    return query
        select 200::bigint, coalesce(sum(c.rest) > most, false), null,
               case when first_id is null or min(c.oldest) is not null
                    then page_known(state, at - wall, min(c.oldest), walled,
                                    after, below) end,
               null::bigint, null::bigint,
               '{"total":' || coalesce(sum(c.rest), 0)
               || ',"retentionMs":' || at - wall || ',"walled":' || walled
               || ',"categoryCounts":{'
               || coalesce(string_agg('"' || (categories())[c.category] || '":'
                                      || c.n, ',') filter (where c.n > 0), '')
               || '}',
               null::smallint, null::bigint, coalesce(sum(c.rest), 0)
          from (select d.category, sum(d.n)::int as n,
                       sum(d.rest)::int as rest, min(d.oldest) as oldest
                  from (select u.place::int, u.last - u.first,
                               coalesce(u.passed, u.first) - u.first,
                               null::bigint
                          from unnest(last, passed, first)
                                   with ordinality u (last, passed, first,
                                                      place)
                         union all
                        select category_place(x.place - 1), x.n,
                               case when top = high or x.id <= below_id
                                    then x.n else 0 end, null
                          from log_correction x
                         where x.guild_id = guild and x.bot = logs_plain.bot
                           and x.id > first_id and x.id <= last_id
                         union all
                        select category_place(e.type), 1, (e.id < top)::int,
                               e.id
                          from log_entry e
                         where e.guild_id = guild and e.bot = logs_plain.bot
                           and e.id >= low and e.id < low_end
                         union all
                        select category_place(u.type), 1, 1,
                               case when first_id is null then lowest end
                          from unnest(types) u (type)
                         union all
                        select category_place(e.type), 0, 1, null
                          from log_entry e
                         where e.guild_id = guild and e.bot = logs_plain.bot
                           and e.id > below_id and e.id < top
                         union all
                        select category_place(e.type), 1, (top = high)::int,
                               null
                          from log_entry e
                         where e.guild_id = guild and e.bot = logs_plain.bot
                           and e.id > last_id and e.id < last_end)
                       d (category, n, rest, oldest)
                 group by d.category) c;

    if rest < most then
        return next row(lowest, null, null, null, null, null, docs, null, null,
                        most - rest)::log_row;
    end if;

    while not ranges loop
        start := coalesce(page_id, low);

        return query select * from log_rows_sent(
            query_all(guild, bot, start), ends, rest, true);
        get diagnostics n = row_count;

        exit when n = rest or page_id is null;
        rest := rest - n;
        ends := page_id;
        page_id := null;
    end loop;

    if not ranges or not exists (select from lane l where l.guild_id = guild)
    then
        return;
    end if;

    -- what is older than a week and some nights the entries say themselves, as
    -- a rule

    since := greatest(id_time(start) - 1000, at - 11 * 86400000::bigint);
    until := least(until + 10000, at + 3600000);

    return query
        (select b.seq_from, null::boolean, null, b.reason, null::bigint,
                b.message_id, null, b.status, b.lane, b.seq_to
           from lane_batch b
          where b.guild_id = guild
            and b.done_at >= to_timestamp(since / 1000.0::float8)
            and b.done_at < to_timestamp(until / 1000.0::float8)
          order by b.done_at desc limit most + 100)
         union all
        select h.head, null, null, null, null, h.refused_to, null, null,
               h.lane, h.upto
          from lane_head h
         where h.guild_id = guild;
end $$;
