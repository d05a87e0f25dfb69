-- The roles. The schema belongs to :owner, as which nobody can log in, where a
-- superuser installs it, and else to the installer. nginx connects as three
-- others, so that what serves the public can neither record nor begin sessions,
-- and makes tokens in a session only:
--
-- role       the API (default guildlog)
-- operator   the operator's location, the sign-in (default guildlog_operator)
-- worker     delivery and the keeper (default guildlog_worker)
--
-- README.md tells what each of them may.
--
-- Roles of one name share what they may. A role that could do more before
-- keeps it, so that an nginx of before works on; -v separate=on ends that.
-- What other roles could execute they still can.

\if :{?role}
\else
    \set role guildlog
\endif
\if :{?operator}
\else
    \set operator :role _operator
\endif
\if :{?worker}
\else
    \set worker :role _worker
\endif
\if :{?owner}
\else
    \set owner guildlog_owner
\endif
\if :{?separate}
\else
    \set separate off
\endif

select rolsuper as is_superuser, rolsuper or rolcreaterole as may_make_roles
  from pg_roles where rolname = current_user \gset

\if :may_make_roles
    select format('create role %I login', r)
      from unnest(array[:'role', :'operator', :'worker']) r
     where not exists (select from pg_roles where rolname = r)
     group by r \gexec
\endif

select string_agg(distinct r, ' or ') as missing
  from unnest(array[:'operator', :'worker']) r
 where not exists (select from pg_roles where rolname = r) \gset

\if :{?missing}
    \warn 'There is no role' :missing': make it and install again, or name'
    \warn 'another one by -v operator= or -v worker='
\endif

-- Statements are prepared once and read by primary keys: one plan fits all.
-- Each role by itself: from PostgreSQL 16 on, who may make roles may change
-- those only that it made or was given with the admin option.

select set_config('guildlog.roles',
                  array[:'role', :'operator', :'worker']::text, true)
    \g /dev/null

do $$
declare
    one  text;
begin
    for one in
        select distinct r
          from unnest(current_setting('guildlog.roles')::text[]) r
          join pg_roles p on p.rolname = r
         where p.rolconfig is null
            or not p.rolconfig @> '{plan_cache_mode=force_generic_plan,jit=off}'
    loop
        begin
            execute format('alter role %I set plan_cache_mode = '
                           'force_generic_plan', one);
            execute format('alter role %I set jit = off', one);
        exception
            when insufficient_privilege then
                raise warning 'The installer may not change the role %: set '
                              'its plan_cache_mode to force_generic_plan and '
                              'its jit to off', quote_ident(one);
        end;
    end loop;
end $$;

-- An owner of the schema alone: what it is cannot be more than it has to be.
-- What it owns already is not touched: that would lock each table until the
-- end of the installation.

\if :is_superuser
    select format('create role %I nologin', :'owner')
     where not exists (select from pg_roles where rolname = :'owner') \gexec
    create schema if not exists guildlog authorization :"owner";

    select set_config('guildlog.owner', :'owner', true) \g /dev/null

    do $$
    declare
        heir  constant regrole := current_setting('guildlog.owner')::regrole;
        one   text;
    begin
        for one in
            select 'schema guildlog' from pg_namespace
             where nspname = 'guildlog' and nspowner <> heir
            union all
            select case c.relkind when 'S' then 'sequence '
                                  when 'v' then 'view '
                                  when 'c' then 'type '
                                  else 'table ' end || c.oid::regclass
              from pg_class c
             where c.relnamespace = 'guildlog'::regnamespace
               and c.relowner <> heir
               and c.relkind in ('r', 'p', 'S', 'v', 'c')
               and not exists (select from pg_depend d
                                where d.objid = c.oid
                                  and d.classid = 'pg_class'::regclass
                                  and d.deptype in ('a', 'i', 'e')
                                  and c.relkind = 'S')
            union all
            select 'routine ' || p.oid::regprocedure from pg_proc p
             where p.pronamespace = 'guildlog'::regnamespace
               and p.proowner <> heir
               and p.prorettype = 'trigger'::regtype
        loop
            execute format('alter %s owner to %s', one, heir);
        end loop;
    end $$;
\else
    create schema if not exists guildlog;
\endif
