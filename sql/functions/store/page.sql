-- What the module may keep of a page, and for how long.


-- What tells a page from what it would be at another moment. As long as that is
-- what is known of it, the answer is the status 304 alone. Whoever adds, takes
-- back or sends again entries of a (server, bot) writes its log_head; besides,
-- entries leave the window as time goes by. What lanes are doing is not part of
-- it: a page is the same again only if the deliveries of all of its entries are
-- decided.

create or replace function page_state(version text, plan text)
returns text language sql immutable as $$
    select coalesce(version, '') || ' ' || plan
$$;


create or replace function page_holds(known text, state text, at bigint)
returns boolean language sql immutable as $$
    select split_part(known, '/', 1) = state
       and split_part(known, '/', 2)::bigint >= at
$$;


-- Until when, by what is the first to leave the window: the oldest entry that
-- was looked at, or what bounds the query.

create or replace function page_known(state text, retention bigint,
    oldest bigint, walled boolean, after bigint, below bigint)
returns text language sql stable as $$
    select state || '/' || least(
        id_time(oldest) + retention,
        case when not walled
             then least(after + 1, id_time(below)) + retention end,
        9223372036854775807)
$$;
