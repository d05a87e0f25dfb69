-- The channel, the member and the role of a search: the index has what their
-- entries are in terms of their own, so that they are filtered by where these
-- stand.


-- The terms of an entry: no word begins like them.

create or replace function search_terms_of(channel bigint, executor bigint,
    target bigint, role text)
returns text[] language sql stable as $$
    select array_remove(array['@c' || channel, '@e' || executor,
                              '@t' || target,
                              search_term_of('@r' || fold(role))], null)
$$;


-- The set of each segment in the window.

create or replace function search_sets(q log_query)
returns search_set[] language plpgsql stable as $$
declare
    sets  search_set[];
begin
    if q.part is not null then
        sets := search_sets_found(q);
    end if;

    if q.channel is not null then
        sets := search_sets_both(q, sets, search_sets_one(
            q, search_terms_of(q.channel, null, null, null)));
    end if;

    if q.member is not null then
        sets := search_sets_both(q, sets, search_sets_any(
            q, search_terms_of(
                   null, case when q.side <> 'target' then q.member end,
                   case when q.side <> 'executor' then q.member end, null)));
    end if;

    if q.role is not null then
        sets := search_sets_both(q, sets, search_sets_any(q, array(
            select distinct unnest(search_terms_of(null, null, null, r))
              from log_roles(q) r)));
    end if;

    return sets;
end $$;


-- What is in both, or in the second one if there is no first.

create or replace function search_sets_both(q log_query, a search_set[],
    b search_set[])
returns search_set[] language plpgsql stable as $$
begin
    if a is null then
        return b;
    end if;

    return array(
        select s
          from unnest(a) x
          join unnest(b) y on y.level = x.level and y.first = x.first
         cross join lateral (   -- offset: made once
               select search_set_both(q, x, y) offset 0) m (s)
         where search_size((s).bits, (s).marks) > 0);
end $$;


create or replace function search_set_both(q log_query, a search_set,
    b search_set)
returns search_set language plpgsql stable as $$
begin
    a := search_read(q, a);
    b := search_read(q, b);
    a.counts := null;
    a.marks := search_either(
        search_shared(a.marks, b.marks),
        search_either(search_within(a.marks, b.bits, 1),
                      search_within(b.marks, a.bits, 1)));
    a.bits := a.bits & b.bits;
    return a;
end $$;
