-- Locks the tables that a migration changes, with their partitions:
--
--   \set tables '{server,lane}'
--   \ir ../lock.sql
--
-- A lock that waits makes all requests wait that come behind it. So it is not
-- tried while a transaction has one of the tables that had it a moment ago, as
-- a dump has for an hour. Then all locks are had within 200 ms, or given up and
-- tried again later. Whoever had to wait has gone on by then. Before that, a
-- lock is taken that no request waits for and that a vacuum gives way to, so
-- that none is in the way.

select set_config('guildlog.tables', :'tables', true) \g /dev/null

do $$
declare
    tables  constant regclass[] := current_setting('guildlog.tables');
    until   timestamptz;
    one     regclass;
    rest    float := 0.2;       -- seconds
    before  text[];             -- transactions that had one of the tables
    had     text[];
    looked  boolean;
    long    text;
begin
    perform set_config('lock_timeout', '0', true);

    foreach one in array tables loop
        execute format('lock table %s in share update exclusive mode', one);
    end loop;

    loop
        perform pg_sleep(rest * (1 + random() / 2)), pg_stat_clear_snapshot();

        select array_agg(l.virtualtransaction),
               min(format('process %s (%s), since %s', l.pid,
                          coalesce(nullif(a.application_name, ''), 'unnamed'),
                          coalesce(a.xact_start::text, 'a while')))
                   filter (where l.virtualtransaction = any (before))
          into had, long
          from unnest(tables) t
          left join lateral pg_partition_tree(t) p on true
          join pg_locks l on l.relation = coalesce(p.relid, t)
           and l.database = (select d.oid from pg_database d
                              where d.datname = current_database())
           and l.granted and l.pid is distinct from pg_backend_pid()
          left join pg_stat_activity a on a.pid = l.pid;

        looked := before is not null;
        before := coalesce(had, '{}');
        continue when not looked;

        if long is not null then
            rest := least(2 * rest, 10);
            if rest >= 3 then
                raise warning '% has a table that is to be changed: the '
                              'migration waits, nobody else does', long;
            end if;
            continue;
        end if;

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
            rest := least(2 * rest, 10);
        end;
    end loop;

    perform set_config('lock_timeout', '200ms', true);
end $$;
