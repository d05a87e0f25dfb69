-- The partitions of the log store: one a day, made ahead. What finds none
-- falls into the default partition, so that recording never waits for them.


-- The first id of that day.

create or replace function day_id(day date)
returns bigint language sql immutable as $$
    select ((extract(epoch from day) * 1000)::bigint - 1420070400000) << 22
$$;


-- Makes one partition and moves what the default one holds of its range.

create or replace function partition_make(parent text, name text, key text,
    low text, high text)
returns void language plpgsql as $$
begin
    if to_regclass(format('guildlog.%I', name)) is not null then
        return;
    end if;

    execute format('create table %I (like %I including all)', name, parent);
    execute format('alter table %I set ('
                   'autovacuum_vacuum_insert_scale_factor = 0, '
                   'autovacuum_vacuum_insert_threshold = 20000)', name);
    execute format('with moved as (delete from %I where %I >= %L and %I < %L '
                   'returning *) insert into %I select * from moved',
                   parent || '_default', key, low, key, high, name);
    execute format('alter table %I attach partition %I '
                   'for values from (%L) to (%L)', parent, name, low, high);
end $$;


-- Makes the partitions of today and of the next days, and before the first of
-- them one for everything older.

create or replace function partitions_ensure(ahead int default 2)
returns void language plpgsql as $$
declare
    today  date := (now() at time zone 'UTC')::date;
    day    date;
begin
    if to_regclass('guildlog.log_entry_past') is null then
        perform partition_make('log_entry', 'log_entry_past', 'id',
                               day_id('2015-01-01')::text,
                               day_id(today)::text);
    end if;

    for day in
        select d::date
          from generate_series(today, today + ahead, interval '1 day') d
    loop
        perform partition_make('log_entry',
                               'log_entry_' || to_char(day, 'YYYYMMDD'), 'id',
                               day_id(day)::text, day_id(day + 1)::text);
        perform partition_make('log_event',
                               'log_event_' || to_char(day, 'YYYYMMDD'),
                               'recorded_at', day || ' 00:00Z',
                               (day + 1) || ' 00:00Z');
    end loop;
end $$;
