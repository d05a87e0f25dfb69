-- Counting entries, exactly and without looking at most of them.

-- What tells the entries in a range: the running counts at the first checkpoint
-- inside, at the last one, and at the last one below the position; and the
-- entries outside of these: how many << 9 | type << 2, with 2 if they are of
-- the range, 1 if they are below the position.

call type_make('log_span', $$
    first_id  bigint,
    below_id  bigint,
    last_id   bigint,
    first     int[],
    below     int[],
    last      int[],
    walked    bigint[]
$$);

call type_make('log_total', $$
    total       bigint,    -- of the query, below the position
    passed      bigint,    -- entries below the position, whatever their type
    categories  text       -- JSON
$$);


-- Only what is inside is looked at, so it does not matter what is gone below.

create or replace function log_span(q log_query, below bigint)
returns log_span language plpgsql stable as $$
declare
    s  log_span;
begin
    select f.last_id, l.last_id, l.last_id, f.cum, l.cum, l.cum, null into s
      from (select c.last_id, c.cum from log_checkpoint c
             where c.guild_id = q.guild and c.bot = q.bot
               and c.last_id >= q.low and c.last_id < q.high
             order by c.last_id limit 1) f
     cross join (
           select c.last_id, c.cum from log_checkpoint c
            where c.guild_id = q.guild and c.bot = q.bot
              and c.last_id >= q.low and c.last_id < q.high
            order by c.last_id desc limit 1) l;

    if below < q.high and s.first_id is not null then
        select c.last_id, c.cum into s.below_id, s.below from log_checkpoint c
         where c.guild_id = q.guild and c.bot = q.bot
           and c.last_id >= s.first_id and c.last_id < log_span.below
         order by c.last_id desc limit 1;
    end if;

    s.walked := log_walk(q, s, below);
    return s;
end $$;


-- The entries outside of the checkpoints: up to the first one, from the one
-- below the position up to there, and behind the last one.

create or replace function log_walk(q log_query, s log_span, below bigint)
returns bigint[] language plpgsql stable as $$
declare
    low_end  constant bigint := coalesce(s.first_id + 1, q.high);
    middle   constant bigint := case when below < q.high
                                     then s.below_id end;
    behind   constant bigint := s.last_id;
    rest     constant int := (below >= q.high)::int;
begin
    return array(
        select count(*) << 9 | w.code
          from (select e.type << 2 | 2 | (e.id < below)::int
                  from log_entry e
                 where e.guild_id = q.guild and e.bot = q.bot
                   and e.id >= q.low and e.id < low_end
                 union all
                select e.type << 2 | 1 from log_entry e
                 where e.guild_id = q.guild and e.bot = q.bot
                   and e.id > middle and e.id < below
                 union all
                select e.type << 2 | 2 | rest from log_entry e
                 where e.guild_id = q.guild and e.bot = q.bot
                   and e.id > behind and e.id < q.high) w (code)
         group by w.code);
end $$;


-- Sums up: entries of these types (null: all) below the position, and those
-- of the types asked for by category.

create or replace function log_sum(q log_query, s log_span, asked int[])
returns log_total language plpgsql stable as $$
declare
    total  log_total;
begin
    select coalesce(sum(c.total), 0), coalesce(sum(c.rest), 0),
           '{' || coalesce(string_agg('"' || (categories())[c.category]
                                      || '":' || c.n, ','
                                      order by c.category)
                               filter (where c.n > 0), '') || '}'
      into total
      from (select category_place(d.type) as category, sum(d.rest) as rest,
                   sum(d.rest) filter (where q.types is null
                                       or d.type = any (q.types)) as total,
                   sum(d.n) filter (where asked is null
                                    or d.type = any (asked)) as n
              from (select u.place::int - 1, u.last - u.first,
                           coalesce(u.below, u.first) - u.first
                      from unnest(s.last, s.below, s.first)
                               with ordinality u (last, below, first, place)
                     where u.last <> u.first or u.below <> u.first
                     union all
                    select x.place - 1, x.n,
                           case when x.id <= s.below_id then x.n else 0 end
                      from log_correction x
                     where x.guild_id = q.guild and x.bot = q.bot
                       and x.id > s.first_id and x.id <= s.last_id
                     union all
                    select (w >> 2 & 127)::int, ((w >> 9) * (w >> 1 & 1))::int,
                           ((w >> 9) * (w & 1))::int
                      from unnest(s.walked) w) d (type, n, rest)
             group by 1) c;

    return total;
end $$;
