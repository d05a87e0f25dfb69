-- What a page without filters needs of checkpoints.


-- The same by category, in the order of their names: sums of cum.

do $$
declare
    categories  constant text[] := array[
        '23,24,36,37,38,65,66,67,90,91,92,93,94,95',
        '27,28,29,47,48,49,79,80,81,82,83,84,85',
        '1,2,25,26,44,45,46,57,58',
        '39,40,41,42,43',
        '31,32,33,50,53',
        '30,52,55,56,89,96,97,98',
        '68,69,70,71,72,73,74,75,76,77,78,99,101',
        '0,3,4,5,6,7,10,11,34,35,51,86,87,100',
        '8,9,12,13,14,15,16,17,18,19,20,21,22,54,59,60,61,62,63,64,88'];
begin
    execute format(
        'alter table log_checkpoint add column sums int[] '
        'generated always as (array[%s]) stored', (
            select string_agg((
                       select string_agg(format('cum[%s]', t::int + 1), ' + ')
                         from unnest(string_to_array(c.types, ',')) t),
                       ', ' order by c.place)
              from unnest(categories) with ordinality c (types, place)));
end $$;
