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

    low := greatest(low, search_first(head.oldest));
    return query
        select 'search_segment', format('segment %s of day %s', s.key, s.day),
               'a day from ' || head.oldest || ' on', 'an earlier one'
          from search_segment s
         where s.guild_id = guild and s.bot = check_search.bot
           and s.day between 0 and head.oldest - 1
         order by s.day, s.key;
    return query select * from check_search_entries(head, low);
    return query select * from check_search_tail(head, low);
end $$;


-- Each entry is in one segment and not gone, or in none and to be looked at by
-- its arrival or as one of the back part.

create or replace function check_search_entries(head search_head, low bigint)
returns setof difference language plpgsql stable set work_mem = '64MB' as $$
begin
    return query
        with indexed as (
            select i.id, count(*) as n
              from search_segment s
             cross join lateral segment_ids(s.day, s.n, s.body) i (id)
             where s.guild_id = head.guild_id and s.bot = head.bot
               and s.day >= search_day(check_search_entries.low)
               and i.id >= check_search_entries.low
               and not exists (
                   select from search_gone g
                    where g.guild_id = head.guild_id and g.bot = head.bot
                      and g.id = i.id)
             group by i.id
        ), entry as (
            select e.id, e.arrival <= head.arrival
                         and not (e.id < head.back_id
                                  and e.arrival <= head.back_arrival) as done
              from log_entry e
             where e.guild_id = head.guild_id and e.bot = head.bot
               and e.id >= check_search_entries.low
        )
        select 'search_segment', 'entry ' || coalesce(e.id, i.id),
               case when e.done then 'in one segment' else 'in no segment' end,
               'in ' || coalesce(i.n, 0)
          from entry e
          full join indexed i on i.id = e.id
         where coalesce(i.n, 0) <> coalesce(e.done, false)::int
         order by 2;
end $$;


-- What arrived since is found by its event.

create or replace function check_search_tail(head search_head, low bigint)
returns setof difference language plpgsql stable as $$
begin
    return query
        select 'log_event', 'entry ' || e.id, 'an event', 'none'
          from log_entry e
         where e.guild_id = head.guild_id and e.bot = head.bot
           and e.id >= low and e.arrival > head.arrival
           and not exists (
               select from log_event k
                where k.guild_id = head.guild_id and k.bot = head.bot
                  and k.arrival = e.arrival and k.entry_id = e.id)
         order by e.id;
end $$;


-- The ids of a segment: 7 bytes each, the lowest one first, behind the first id
-- of its day. One that has not as many is of no entries.

create or replace function segment_ids(day int, n int, body bytea)
returns setof bigint language sql immutable as $$
    select search_first(day)
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
