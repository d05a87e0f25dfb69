-- Comparing the index of searches with the entries: which ones it has. What
-- these are found by is for the module to say.


create or replace function check_search(guild bigint, bot smallint,
    low bigint)
returns setof difference language plpgsql stable as $$
declare
    head  search_head;
begin
    select * into head from search_head s
     where s.guild_id = guild and s.bot = check_search.bot
       and s.format = search_format();

    if not found then
        return;
    end if;

    low := greatest(low, day_low(head.oldest));
    return query
        select 'search_segment', format('segment %s of day %s', s.key, s.day),
               'a day from ' || head.oldest || ' on', 'an earlier one'
          from search_segment s
         where s.guild_id = guild and s.bot = check_search.bot
           and s.day between 0 and head.oldest - 1
         order by s.day, s.key;
    return query select * from check_search_entries(head, low);
end $$;


-- Each entry is in one segment, or in none and to be looked at by its arrival
-- or as one of the back part.

create or replace function check_search_entries(head search_head, low bigint)
returns setof difference language plpgsql stable set work_mem = '64MB'
set enable_nestloop = off as $$
begin
    return query
        with indexed as (
            select i.id, count(*) as n
              from search_segment s
             cross join lateral segment_ids(s.day, s.n, s.body) i (id)
             where s.guild_id = head.guild_id and s.bot = head.bot
               and s.day >= day_of(check_search_entries.low)
               and i.id >= check_search_entries.low
             group by i.id
        ), late as materialized (
            select a.id, a.arrival > head.arrival as behind,
                   a.arrival > head.back_arrival as since
              from log_arrival a
             where a.guild_id = head.guild_id and a.bot = head.bot
               and a.id is not null
        ), entry as (
            select e.id, not coalesce(l.behind, false)
                         and not (e.id < head.back_id
                                  and not coalesce(l.since, false)) as done
              from (select unnest(k.ids) as id from log_block k
                     where k.guild_id = head.guild_id and k.bot = head.bot
                     union all
                    select a.id from arrivals_hot(head.guild_id, head.bot) a
                   ) e
              left join late l on l.id = e.id
             where e.id >= check_search_entries.low
        )
        select 'search_segment', 'entry ' || coalesce(e.id, i.id),
               case when e.done then 'in one segment' else 'in no segment' end,
               'in ' || coalesce(i.n, 0)
          from entry e
          full join indexed i on i.id = e.id
         where coalesce(i.n, 0) <> coalesce(e.done, false)::int
         order by 2;
end $$;


-- The ids of a segment: 7 bytes each, the lowest one first, behind the first id
-- of its day. One that has not as many is of no entries.

create or replace function segment_ids(day int, n int, body bytea)
returns setof bigint language sql immutable as $$
    select day_low(day)
           + get_byte(b.ids, 7 * i)
           + (get_byte(b.ids, 7 * i + 1)::bigint << 8)
           + (get_byte(b.ids, 7 * i + 2)::bigint << 16)
           + (get_byte(b.ids, 7 * i + 3)::bigint << 24)
           + (get_byte(b.ids, 7 * i + 4)::bigint << 32)
           + (get_byte(b.ids, 7 * i + 5)::bigint << 40)
           + (get_byte(b.ids, 7 * i + 6)::bigint << 48)
      from (select substring(body for 7 * n) as ids offset 0) b
     cross join generate_series(0, length(b.ids) / 7 - 1) i
$$;
