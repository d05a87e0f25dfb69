-- Locks the tables that a migration changes, with their partitions:
--
--   \set tables '{server,lane}'
--   \ir ../lock.sql
--
-- A lock that waits makes all requests wait that come behind it. So all locks
-- are had within 200 ms, or given up and tried again a little later. Whoever
-- had to wait has gone on by then. Before that, a lock is taken that no request
-- waits for and that a vacuum gives way to, so that none is in the way.

select set_config('guildlog.tables', :'tables', true) \g /dev/null

do $$
declare
    tables  constant regclass[] := current_setting('guildlog.tables');
    until   timestamptz;
    one     regclass;
    tries   int := 0;
begin
    perform set_config('lock_timeout', '0', true);

    foreach one in array tables loop
        execute format('lock table %s in share update exclusive mode', one);
    end loop;

    loop
        begin
            until := clock_timestamp() + interval '200 ms';

            for one in
                select coalesce(p.relid, t.oid)
                  from unnest(tables) with ordinality t (oid, n)
                  left join lateral pg_partition_tree(t.oid) p on true
                 order by t.n, p.level, p.relid
            loop
                perform set_config('lock_timeout', greatest(1, extract(
                            milliseconds from until - clock_timestamp()))::int
                        || 'ms', true);
                execute format('lock table only %s', one);
            end loop;

            exit;
        exception when lock_not_available then
            tries := tries + 1;
        end;

        if tries = 10 then
            raise warning '% is in use all the time, perhaps by a dump: the '
                          'migration waits, nobody else does', one;
        end if;

        perform pg_sleep(0.2 + random() * 0.3);
    end loop;

    perform set_config('lock_timeout', '200ms', true);
end $$;
