-- What arrived and is in no block yet: the rows of log_arrival behind
-- log_head.blocked. All of them were recorded between log_head.since and
-- last_at, so that no other partition need be opened, most of which are of days
-- to come.

-- an entry, with what it says of its delivery

call type_make('log_found', $$
    id           bigint,
    type         smallint,
    dstatus      smallint,
    lane         bigint,
    seq          bigint,
    dchannel_id  bigint,
    dmessage_id  bigint,
    dreason      text,
    doc          text
$$);


-- What is said of an entry's delivery, beside its document: words, namely
-- dstatus, and behind a letter (r)eason, (c)hannel, (m)essage, (l)ane, (s)eq,
-- as far as they are not null. Without dstatus it is what became of its place
-- (lane, seq) that is to be told.

create or replace function log_said(dstatus smallint, dreason text,
    dchannel_id bigint, dmessage_id bigint, lane bigint, seq bigint)
returns text language sql stable as $$
    select case when dstatus = 0 and dreason is not null
                     and coalesce(lane, dchannel_id, dmessage_id) is null
                then '0 r' || dreason
                else concat_ws(' ', dstatus, 'r' || dreason,
                               'c' || dchannel_id, 'm' || dmessage_id,
                               'l' || lane, 's' || seq)
                end
$$;


-- A word of that by its letter, without it.

create or replace function word_of(said text, letter text)
returns text language sql immutable as $$
    select nullif(split_part(split_part(' ' || said, letter, 2), ' ', 1), '')
$$;


-- And back again. Regular expressions would take five times as long.

create or replace function log_heard(id bigint, type smallint, said text,
    doc text)
returns log_found language sql immutable as $$
    select row(id, type, nullif(rtrim(left(said, 1), 'rcmls'), '')::smallint,
               word_of(said, ' l')::bigint, word_of(said, ' s')::bigint,
               word_of(said, ' c')::bigint, word_of(said, ' m')::bigint,
               word_of(said, ' r'), doc)::log_found
$$;


-- What a row of log_arrival says at that time. While it is held its delivery is
-- told so; afterwards, until it gets a place, it is queued: nothing has to run
-- for that to be right.

create or replace function arrival_said(a log_arrival, at timestamptz)
returns text language sql stable as $$
    select case when a.held_to is null or a.dstatus is not null
                then log_said(a.dstatus, a.dreason, a.dchannel_id, null,
                              a.lane, a.seq)
                else log_said(0::smallint, case when a.held_to > at then 'held'
                                                else 'queued' end,
                              a.dchannel_id, null, null, null) end
$$;


create or replace function arrival_found(a log_arrival, at timestamptz)
returns log_found language sql stable as $$
    select case when a.held_to is null or a.dstatus is not null
                then row(a.id, a.type, a.dstatus, a.lane, a.seq,
                         a.dchannel_id, null, a.dreason, a.doc)::log_found
                else row(a.id, a.type, 0, null, null, a.dchannel_id, null,
                         case when a.held_to > at then 'held'
                              else 'queued' end, a.doc)::log_found end
$$;


-- The hot rows of a (server, bot) that are entries. Without "offset" the
-- planner may compare all rows of the server with log_head.

create or replace function arrivals_hot(guild bigint, bot smallint)
returns setof log_arrival language sql stable as $$
    select a.*
      from head_of(guild, bot) h
     cross join lateral (
           select * from log_arrival x
            where x.guild_id = guild and x.bot = arrivals_hot.bot
              and x.arrival > h.blocked
              and x.recorded_at between h.since and h.last_at
              and x.id is not null
           offset 0) a
$$;


-- The entry that arrived so; no row if there is none, or it is past keeping
-- there.

create or replace function arrival_one(guild bigint, bot smallint,
    arrival bigint)
returns setof log_arrival language sql stable as $$
    select a.* from log_arrival a
     where a.guild_id = guild and a.bot = arrival_one.bot
       and a.arrival = arrival_one.arrival
$$;


-- The ids in [low, high) of what arrived behind that one: what came late, and
-- is in blocks among others.

create or replace function arrivals_late(guild bigint, bot smallint,
    behind bigint, low bigint, high bigint)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select a.id from log_arrival a
         where a.guild_id = guild and a.bot = arrivals_late.bot
           and a.arrival > behind and a.id >= low and a.id < high);
end $$;
