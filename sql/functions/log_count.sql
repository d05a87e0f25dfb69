-- Counting entries, exactly and without looking at most of them.

drop type if exists log_count cascade;

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

    elsif q.member is not null then
        return log_counts_member(q, below);

    elsif q.channel is not null then
        return array(
            select row(e.type, count(*),
                       count(*) filter (where e.id < below))::log_count
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.channel_id = q.channel
               and e.id >= q.low and e.id < q.high
             group by e.type);

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
        return log_counts_all(q, below);
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


create or replace function log_counts_member(q log_query, below bigint)
returns log_count[] language plpgsql stable as $$
begin
    if q.side = 'executor' then
        return array(
            select row(e.type, count(*),
                       count(*) filter (where e.id < below))::log_count
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.executor_id = q.member
               and e.id >= q.low and e.id < q.high
             group by e.type);

    elsif q.side = 'target' then
        return array(
            select row(e.type, count(*),
                       count(*) filter (where e.id < below))::log_count
              from log_entry e
             where e.guild_id = q.guild and e.bot = q.bot
               and e.target_id = q.member
               and e.id >= q.low and e.id < q.high
             group by e.type);

    else
        return array(
            select row(f.type, count(*),
                       count(*) filter (where f.id < below))::log_count
              from (select e.id, e.type from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.executor_id = q.member
                       and e.id >= q.low and e.id < q.high
                    union all
                    select e.id, e.type from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.target_id = q.member
                       and e.executor_id is distinct from q.member
                       and e.id >= q.low and e.id < q.high) f
             group by f.type);
    end if;
end $$;


-- By checkpoints; the range below the position only where there is one.

create or replace function log_counts_all(q log_query, below bigint)
returns log_count[] language plpgsql stable as $$
declare
    counts  constant log_count[] :=
            log_counts_between(q.guild, q.bot, q.low, q.high);
begin
    if below >= q.high then
        return counts;
    end if;

    return array(
        select row(c.type, c.n, coalesce(p.n, 0))::log_count
          from unnest(counts) c
          left join unnest(log_counts_between(q.guild, q.bot, q.low, below)) p
            on p.type = c.type);
end $$;


-- The difference of the first and the last checkpoint inside, and the entries
-- before the one and behind the other. Only what is inside is looked at, so it
-- does not matter what is gone below.

create or replace function log_counts_between(guild bigint, bot smallint,
    low bigint, high bigint)
returns log_count[] language plpgsql stable as $$
declare
    first  log_checkpoint;
    last   log_checkpoint;
begin
    select c.* into first from log_checkpoint c
     where c.guild_id = guild and c.bot = log_counts_between.bot
       and c.last_id >= low and c.last_id < high
     order by c.last_id limit 1;

    if not found then
        return array(
            select row(e.type, count(*), count(*))::log_count
              from log_entry e
             where e.guild_id = guild and e.bot = log_counts_between.bot
               and e.id >= low and e.id < high
             group by e.type);
    end if;

    select c.* into last from log_checkpoint c
     where c.guild_id = guild and c.bot = log_counts_between.bot
       and c.last_id >= first.last_id and c.last_id < high
     order by c.last_id desc limit 1;

    return array(
        select row(p.type, sum(p.n), sum(p.n))::log_count
          from (select e.type, 1 as n from log_entry e
                 where e.guild_id = guild and e.bot = log_counts_between.bot
                   and e.id >= low and e.id <= first.last_id
                union all
                select e.type, 1 from log_entry e
                 where e.guild_id = guild and e.bot = log_counts_between.bot
                   and e.id > last.last_id and e.id < high
                union all
                select (c.place - 1)::smallint,
                       c.cum - first.cum[c.place]
                  from unnest(last.cum) with ordinality c (cum, place)
                 where c.cum <> first.cum[c.place]) p
         group by p.type);
end $$;
