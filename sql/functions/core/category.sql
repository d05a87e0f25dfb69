-- The categories of the log types, as constants: every entry that is counted is
-- looked up there.

do $$
begin
    execute format(
        'create function categories() returns text[] language sql '
        'immutable as %L', format('select %L::text[]', array(
            select distinct t.category from log_type t order by 1)));

    execute format(
        'create function category_places() returns int[] language sql '
        'immutable as %L', format('select %L::int[]', array(
            select array_position(categories(), t.category)
              from generate_series(0, 101) n
              left join log_type t on t.id = n order by n)));
end $$;


-- The place of a type's category among the categories.

create or replace function category_place(type int)
returns int language sql immutable as $$
    select (category_places())[type + 1]
$$;
