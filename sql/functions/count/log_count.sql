-- Counting entries, exactly and without looking at most of them.

-- some of the entries that are counted; a type may come several times

call type_make('log_count', $$
    type  smallint,
    n     bigint,   -- entries of the query, whatever its types
    rest  bigint    -- those of them below the position
$$);

-- What tells the entries of a key in a range: the running counts at the first
-- checkpoint inside, at the last one, and at the last one below the position;
-- and the entries outside of these: how many << 9 | type << 2, with 2 if they
-- are of the query, 1 if they are below the position.

call type_make('log_span', $$
    kind      smallint,
    key       bigint,
    shift     int,      -- where its counts begin
    summed    boolean,  -- they are of categories
    first_id  bigint,
    below_id  bigint,
    last_id   bigint,
    first     int[],
    below     int[],
    last      int[],
    walked    bigint[]
$$);


-- Those of a role, which no checkpoints count.

create or replace function log_counts(q log_query, below bigint)
returns log_count[] language plpgsql stable as $$
begin
    return array(
        select row(e.type, count(*),
                   count(*) filter (where e.id < below))::log_count
          from log_roles(q) r (role)
          join log_entry e
            on e.guild_id = q.guild and e.bot = q.bot and e.role = r.role
           and e.id >= q.low and e.id < q.high
         group by e.type);
end $$;


-- Do checkpoints tell of the query?

create or replace function log_has_spans(q log_query)
returns boolean language plpgsql immutable as $$
begin
    return num_nonnulls(q.role, q.part) = 0
       and num_nonnulls(q.member, q.channel) < 2;
end $$;


-- summed: of any type, so that the sums of categories will do.

create or replace function log_spans(q log_query, summed boolean,
    below bigint)
returns log_span[] language plpgsql stable as $$
begin
    if q.member is null and q.channel is null then
        return array[log_span(q, 0, 0, 0, summed, below)];

    elsif q.member is null then
        return array[log_span(q, 1, q.channel, 0, summed, below)];

    elsif q.side = 'executor' then
        return array[log_span(q, 2, q.member, 0, summed, below)];

    elsif q.side = 'target' then
        return array[log_span(q, 3, q.member, 0, summed, below)];

    else
        return array[log_span(q, 2, q.member, 0, summed, below),
                     log_span(q, 3, q.member, 102, false, below)];
    end if;
end $$;


-- Only what is inside is looked at, so it does not matter what is gone below.

create or replace function log_span(q log_query, kind int, key bigint,
    shift int, summed boolean, below bigint)
returns log_span language plpgsql stable as $$
declare
    s  log_span;
begin
    select log_span.kind, log_span.key, log_span.shift, log_span.summed,
           f.last_id, l.last_id, l.last_id, f.n, l.n, l.n, null
      into s
      from (select c.last_id, case when summed then c.sums
                              else c.cum[shift + 1 : shift + 102] end as n
              from log_checkpoint c
             where c.guild_id = q.guild and c.bot = q.bot
               and c.kind = log_span.kind and c.key = log_span.key
               and c.last_id >= q.low and c.last_id < q.high
             order by c.last_id limit 1) f
     cross join (
           select c.last_id, case when summed then c.sums
                             else c.cum[shift + 1 : shift + 102] end as n
             from log_checkpoint c
            where c.guild_id = q.guild and c.bot = q.bot
              and c.kind = log_span.kind and c.key = log_span.key
              and c.last_id >= q.low and c.last_id < q.high
            order by c.last_id desc limit 1) l;

    if s.kind is null then
        s.kind := log_span.kind;
        s.key := log_span.key;
        s.shift := log_span.shift;

    elsif below < q.high then
        select c.last_id, case when summed then c.sums
                          else c.cum[shift + 1 : shift + 102] end
          into s.below_id, s.below
          from log_checkpoint c
         where c.guild_id = q.guild and c.bot = q.bot
           and c.kind = log_span.kind and c.key = log_span.key
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
    case s.kind
    when 0 then
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
    when 1 then
        return array(
            select count(*) << 9 | w.code
              from (select e.type << 2 | 2 | (e.id < below)::int
                      from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.channel_id = s.key
                       and e.id >= q.low and e.id < low_end
                     union all
                    select e.type << 2 | 1 from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.channel_id = s.key
                       and e.id > middle and e.id < below
                     union all
                    select e.type << 2 | 2 | rest from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.channel_id = s.key
                       and e.id > behind and e.id < q.high) w (code)
             group by w.code);
    when 2 then
        return array(
            select count(*) << 9 | w.code
              from (select e.type << 2 | 2 | (e.id < below)::int
                      from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.executor_id = s.key
                       and e.id >= q.low and e.id < low_end
                     union all
                    select e.type << 2 | 1 from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.executor_id = s.key
                       and e.id > middle and e.id < below
                     union all
                    select e.type << 2 | 2 | rest from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.executor_id = s.key
                       and e.id > behind and e.id < q.high) w (code)
             group by w.code);
    when 3 then
        return array(
            select count(*) << 9 | w.code
              from (select e.type << 2 | 2 | (e.id < below)::int
                      from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.target_id = s.key
                       and (s.shift = 0 or e.executor_id is distinct from s.key)
                       and e.id >= q.low and e.id < low_end
                     union all
                    select e.type << 2 | 1 from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.target_id = s.key
                       and (s.shift = 0 or e.executor_id is distinct from s.key)
                       and e.id > middle and e.id < below
                     union all
                    select e.type << 2 | 2 | rest from log_entry e
                     where e.guild_id = q.guild and e.bot = q.bot
                       and e.target_id = s.key
                       and (s.shift = 0 or e.executor_id is distinct from s.key)
                       and e.id > behind and e.id < q.high) w (code)
             group by w.code);
    end case;
end $$;
