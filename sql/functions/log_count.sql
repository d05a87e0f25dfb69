-- Counting entries, exactly and without looking at most of them.

drop type if exists log_count cascade;

-- some of the entries that are counted; a type may come several times

create type log_count as (
    type  smallint,
    n     bigint,   -- entries of the query, whatever its types
    rest  bigint    -- those of them below the position
);


create or replace function log_counts(q log_query, below bigint)
returns log_count[] language plpgsql stable as $$
begin
    if q.role is not null
        and (q.member is not null or q.channel is not null)
        or q.member is not null and q.channel is not null
    then
        return log_counts_marked(log_marks(q, null), below);

    elsif q.member is not null and q.side = 'either' then
        return log_counts_key(q, 2, q.member, false, below)
            || log_counts_key(q, 3, q.member, true, below);

    elsif q.member is not null then
        return log_counts_key(q, case q.side when 'executor' then 2 else 3 end,
                              q.member, false, below);

    elsif q.channel is not null then
        return log_counts_key(q, 1, q.channel, false, below);

    elsif q.role is not null then
        return array(
            select row(e.type, count(*),
                       count(*) filter (where e.id < below))::log_count
              from log_roles(q) r (role)
              join log_entry e
                on e.guild_id = q.guild and e.bot = q.bot
               and e.role = r.role
               and e.id >= q.low and e.id < q.high
             group by e.type);

    else
        return log_counts_key(q, 0, 0, false, below);
    end if;
end $$;


-- Where a walk over all of them is needed: every entry of the query, of the
-- types asked for, newest first. Then what of it is counted or on the page.

create or replace function log_marks(q log_query, asked smallint[])
returns log_mark[] language plpgsql stable as $$
begin
    q.types := asked;
    q.bare := true;
    return array(
        select row(f.id, f.type)::log_mark
          from log_rows(q, q.high, null) f);
end $$;


create or replace function log_counts_marked(marks log_mark[], below bigint)
returns log_count[] language plpgsql stable as $$
begin
    return array(
        select row(m.type, count(*),
                   count(*) filter (where m.id < below))::log_count
          from unnest(marks) m
         group by m.type);
end $$;


create or replace function log_ids_marked(marks log_mark[], types smallint[],
    below bigint, most int)
returns bigint[] language plpgsql stable as $$
begin
    return array(
        select m.id
          from unnest(marks) m
         where m.id < below and (types is null or m.type = any (types))
         limit most);
end $$;


-- By checkpoints; the range from the position on only where there is one.

create or replace function log_counts_key(q log_query, kind int, key bigint,
    apart boolean, below bigint)
returns log_count[] language plpgsql stable as $$
begin
    if below >= q.high then
        return log_counts_between(q.guild, q.bot, kind::smallint, key, apart,
                                  q.low, q.high, 1);
    end if;

    below := greatest(below, q.low);
    return log_counts_between(q.guild, q.bot, kind::smallint, key, apart,
                              q.low, below, 1)
        || log_counts_between(q.guild, q.bot, kind::smallint, key, apart,
                              below, q.high, 0);
end $$;


-- The difference of the first and the last checkpoint inside, what these are
-- short of, and the entries before the one and behind the other. Only what is
-- inside is looked at, so it does not matter what is gone below. rest: 1 if it
-- counts as below the position.

create or replace function log_counts_between(guild bigint, bot smallint,
    kind smallint, key bigint, apart boolean, low bigint, high bigint,
    rest int)
returns log_count[] language plpgsql stable as $$
declare
    shift  constant int := case when apart then 102 else 0 end;
    first  log_checkpoint;
    last   log_checkpoint;
begin
    select c.* into first from log_checkpoint c
     where c.guild_id = guild and c.bot = log_counts_between.bot
       and c.kind = log_counts_between.kind and c.key = log_counts_between.key
       and c.last_id >= low and c.last_id < high
     order by c.last_id limit 1;

    if not found then
        return log_counts_walked(guild, bot, kind, key, apart, low, high,
                                 rest);
    end if;

    select c.* into last from log_checkpoint c
     where c.guild_id = guild and c.bot = log_counts_between.bot
       and c.kind = log_counts_between.kind and c.key = log_counts_between.key
       and c.last_id >= first.last_id and c.last_id < high
     order by c.last_id desc limit 1;

    return array(
        select row(d.place - 1, d.n, d.n * rest)::log_count
          from (select c.place, c.cum - c.was
                  from unnest(last.cum[shift + 1 : shift + 102],
                              first.cum[shift + 1 : shift + 102])
                           with ordinality c (cum, was, place)
                 where c.cum <> c.was
                 union all
                select x.place - shift, x.n from log_correction x
                 where x.guild_id = guild and x.bot = log_counts_between.bot
                   and x.kind = log_counts_between.kind
                   and x.key = log_counts_between.key
                   and x.id > first.last_id and x.id <= last.last_id
                   and x.place - shift between 1 and 102) d (place, n))
        || log_counts_walked(guild, bot, kind, key, apart, low,
                             first.last_id + 1, rest)
        || log_counts_walked(guild, bot, kind, key, apart, last.last_id + 1,
                             high, rest);
end $$;


-- One by one.

create or replace function log_counts_walked(guild bigint, bot smallint,
    kind smallint, key bigint, apart boolean, low bigint, high bigint,
    rest int)
returns log_count[] language plpgsql stable as $$
begin
    case kind
    when 0 then
        return array(
            select row(e.type, count(*), count(*) * rest)::log_count
              from log_entry e
             where e.guild_id = guild and e.bot = log_counts_walked.bot
               and e.id >= low and e.id < high
             group by e.type);
    when 1 then
        return array(
            select row(e.type, count(*), count(*) * rest)::log_count
              from log_entry e
             where e.guild_id = guild and e.bot = log_counts_walked.bot
               and e.channel_id = key
               and e.id >= low and e.id < high
             group by e.type);
    when 2 then
        return array(
            select row(e.type, count(*), count(*) * rest)::log_count
              from log_entry e
             where e.guild_id = guild and e.bot = log_counts_walked.bot
               and e.executor_id = key
               and e.id >= low and e.id < high
             group by e.type);
    when 3 then
        return array(
            select row(e.type, count(*), count(*) * rest)::log_count
              from log_entry e
             where e.guild_id = guild and e.bot = log_counts_walked.bot
               and e.target_id = key
               and (not apart or e.executor_id is distinct from key)
               and e.id >= low and e.id < high
             group by e.type);
    end case;
end $$;
