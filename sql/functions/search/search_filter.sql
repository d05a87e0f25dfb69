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


-- The set of each segment in the window. What every entry must have is looked
-- for like a word; a member is found by either of two terms, a role by many.

create or replace function search_sets(q log_query)
returns search_set[] language plpgsql stable as $$
declare
    also  constant text[] := search_terms_of(
        q.channel, case when q.side = 'executor' then q.member end,
        case when q.side = 'target' then q.member end, null);
    sets  search_set[];
begin
    if q.part is not null then
        sets := search_sets_found(q, also);
    elsif cardinality(also) > 0 then
        sets := search_sets_words(q, also);
    end if;

    if q.member is not null and q.side = 'either' then
        sets := search_sets_both(sets, search_sets_any(
            q, search_terms_of(null, q.member, q.member, null)));
    end if;

    if q.role is not null then
        sets := search_sets_both(sets, search_sets_any(q, array(
            select distinct unnest(search_terms_of(null, null, null, r))
              from log_roles(q) r)));
    end if;

    return sets;
end $$;


-- What is in both, or in the second one if there is no first.

create or replace function search_sets_both(a search_set[], b search_set[])
returns search_set[] language plpgsql immutable as $$
begin
    if a is null then
        return b;
    end if;

    return array(
        select row(x.level, x.first, x.low, x.high, null, null, m.marks,
                   x.bits & y.bits)::search_set
          from unnest(a) x
          join unnest(b) y on y.level = x.level and y.first = x.first
         cross join lateral (   -- offset: made once
               select search_sorted(
                          search_shared(x.marks, y.marks)
                          || array(select m from unnest(x.marks) m
                                    where get_bit(y.bits, m + 32768) = 1)
                          || array(select m from unnest(y.marks) m
                                    where get_bit(x.bits, m + 32768) = 1))
               offset 0) m (marks)
         where search_size(x.bits & y.bits, m.marks) > 0);
end $$;
