-- Drops the functions, so that those which vanished do not linger and those
-- that stay may change their arguments. Triggers hold on to theirs.

do $$
declare
    old regprocedure;
begin
    for old in
        select p.oid from pg_proc p
         where p.pronamespace = 'guildlog'::regnamespace
           and p.prorettype <> 'trigger'::regtype
           and not exists (select from pg_depend d
                            where d.objid = p.oid and d.deptype = 'e')
    loop
        execute format('drop routine %s', old);
    end loop;
end $$;
