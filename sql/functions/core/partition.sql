-- The partitions of the log store: see keeper/partition.sql.


-- The partitions of a table but for the default one, with their bounds.

create or replace function partitions(parent text, out name text,
    out low text, out high text)
returns setof record language sql stable as $$
    select c.relname, b.bounds[1], b.bounds[2]
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     cross join lateral regexp_match(
               pg_get_expr(c.relpartbound, c.oid),
               'FROM \(''([^'']*)''\) TO \(''([^'']*)''\)') b (bounds)
     where i.inhparent = to_regclass(format('guildlog.%I', parent))
       and b.bounds is not null
$$;


-- The first day behind all partitions of a table.

create or replace function partitions_end(parent text)
returns date language plpgsql stable as $$
begin
    return case parent
           when 'log_entry' then (
               select id_day(max(p.high::bigint)) from partitions(parent) p)
           else (
               select max(p.high::timestamptz at time zone 'UTC')::date
                 from partitions(parent) p) end;
end $$;


-- Refuses to record where there is no partition for tomorrow: then there soon
-- is none for today. The keeper makes them two weeks ahead.

create or replace function partitions_reach()
returns void language plpgsql stable as $$
declare
    tomorrow  constant date := today() + 1;
begin
    if to_regclass('log_entry_' || to_char(tomorrow, 'YYYYMMDD')) is null
       and to_regclass('log_entry_default') is null
       and partitions_end('log_entry') <= tomorrow
    then
        perform refuse(503, 'there is no partition for tomorrow: the keeper '
                            'has not made one for two weeks');
    end if;
end $$;
