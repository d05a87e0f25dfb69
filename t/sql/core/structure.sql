-- What the module's role may do, exactly, and what every table and function
-- owes to the design.

\ir ../setup.psql
select plan(22);

-- rights

select bag_eq($$
    select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')'
      from pg_proc p
     where p.pronamespace = 'guildlog'::regnamespace
       and has_function_privilege('guildlog', p.oid, 'execute')
$$, $$
    select name || '(' || concat_ws(', ', case
           when kind in ('api', 'outs', 'logs')
           then 'token text, guild bigint, bot smallint, kind smallint'
           when kind = 'operator' then 'guild bigint'
           when kind in ('delivers', 'lane', 'figures') then 'me text' end,
           case
           when kind = 'lane'
           then 'guild bigint, lane bigint, fence bigint, step bigint'
           when kind = 'tail' then 'guild bigint, bot smallint' end,
           case when kind = 'logs'
           then 'after bigint, before bigint, category text[], '
                'type integer[]' end,
           replace(args, '@entries', 'events text[], types smallint[], '
               'times bigint[], executors text[], executor_bots boolean[], '
               'executor_roles text[], targets text[], '
               'target_bots boolean[], target_roles text[], '
               'channels text[], parents text[], categories text[], '
               'proxied boolean[], prefixed integer[], '
               'crowded integer[], docs text, errors jsonb'),
           case when kind in ('outs', 'operator', 'batch', 'keeper', 'lane',
                          'figures')
           then 'OUT status integer, OUT body text' end,
           case when name ~ '^(operator_record|active_ignore)'
           then 'OUT counts text'
           when name in ('tags_get', 'config_get') then 'OUT more text' end)
           || ')'
      from (values
        ('api', 'server_get', null),
        ('api', 'server_reset', null),
        ('api', 'guilds_get', null),
        ('api', 'token_list', null),
        ('api', 'token_check', null),
        ('api', 'token_create', 'input jsonb'),
        ('api', 'token_revoke', 'token_id text'),
        ('plain', 'session_begin', 'id text, user_id bigint, name text, '
             'guilds bigint[], avatar text, icons text[], access text, '
             'OUT status integer, OUT body text'),
        ('plain', 'session_ask', 'token text, OUT status integer, '
             'OUT body text'),
        ('plain', 'session_renew', 'token text, guilds bigint[], '
             'icons text[], OUT status integer, OUT body text'),
        ('plain', 'session_end', 'token text, whole boolean, '
             'OUT status integer, OUT body text'),
        ('plain', 'sessions_list', 'token text, server bigint, '
             'bot smallint, kind smallint, OUT status integer, '
             'OUT body text'),
        ('plain', 'sessions_remove', 'token text, server bigint, '
             'bot smallint, kind smallint, session_id text, '
             'OUT status integer, OUT body text'),
        ('plain', 'sessions_remove_all', 'token text, server bigint, '
             'bot smallint, kind smallint'),
        ('plain', 'me', 'token text, server bigint, bot smallint, '
             'kind smallint, person jsonb'),
        ('api', 'settings_get', null),
        ('api', 'settings_patch', 'input jsonb'),
        ('api', 'channels_get', null),
        ('api', 'channels_patch', 'input jsonb'),
        ('api', 'options_get', null),
        ('api', 'options_patch', 'input jsonb'),
        ('api', 'type_get', 'log_id integer'),
        ('api', 'type_patch', 'log_id integer, input jsonb'),
        ('api', 'types_patch', 'input jsonb'),
        ('api', 'ignore_get', 'ignore_type integer'),
        ('api', 'ignore_add', 'ignore_type integer, input jsonb'),
        ('api', 'ignore_remove', 'ignore_type integer, input jsonb'),
        ('outs', 'tags_get', 'rest text'),
        ('api', 'tag_create', 'input jsonb'),
        ('api', 'tag_patch', 'tag_id text, input jsonb'),
        ('api', 'tag_delete', 'tag_id text'),
        ('api', 'access_list', null),
        ('api', 'access_get', 'user_id bigint'),
        ('api', 'access_put', 'user_id bigint, input jsonb'),
        ('api', 'access_delete', 'user_id bigint, revoke integer'),
        ('api', 'filters_list', null),
        ('api', 'filter_get', 'filter_id text'),
        ('api', 'filter_patch', 'filter_id text, input jsonb'),
        ('api', 'alerts_list', null),
        ('api', 'alert_get', 'alert_id text'),
        ('api', 'alert_create', 'input jsonb'),
        ('api', 'alert_patch', 'alert_id text, input jsonb'),
        ('api', 'alert_delete', 'alert_id text'),
        ('outs', 'active_ignore_targets', 'input jsonb'),
        ('outs', 'active_ignore_executors', 'input jsonb'),
        ('api', 'notifications_list', null),
        ('api', 'notifications_acknowledge', null),
        ('api', 'notification_acknowledge', 'id text'),
        ('api', 'search_members', 'query text, ids bigint[]'),
        ('api', 'search_channels', 'query text'),
        ('api', 'search_roles', 'query text'),
        ('outs', 'config_get', 'rest text'),
        ('api', 'config_patch', 'calls jsonb, input jsonb'),
        ('api', 'pacing_get', null),
        ('plain', 'preview', 'token text, guild bigint, bot smallint, '
             'kind smallint, input jsonb, OUT status integer, '
             'OUT body text, OUT doc text, OUT format smallint, '
             'OUT color integer, OUT buttons integer, OUT locale smallint, '
             'OUT spoilers boolean'),
        ('outs', 'troubleshoot_ask', null),
        ('api', 'troubleshoot_get', 'live smallint, application text, '
                                    'probes jsonb'),
        ('api', 'troubleshoot_report', 'live smallint, application text, '
                                       'probes jsonb, refused integer'),
        ('operator', 'refusals_told', 'n integer'),
        ('outs', 'troubleshoot_fix', 'input jsonb'),
        ('outs', 'troubleshoot_test', 'input jsonb'),
        ('outs', 'logs_actors', null),
        ('plain', 'logs_plain', 'token text, guild bigint, bot smallint, '
             'kind smallint, after bigint, before bigint, most integer, '
             'below bigint, ranges boolean, known text, joined boolean, '
             'bytes integer'),
        ('plain', 'search_open', 'token text, guild bigint, bot smallint, '
             'kind smallint, after bigint, before bigint, below bigint, '
             'known text'),
        ('plain', 'search_slices', 'token text, guild bigint, bot smallint, '
             'kind smallint, days integer[], keys bigint[], '
             'froms integer[], lens integer[]'),
        ('plain', 'search_tail', 'token text, guild bigint, bot smallint, '
             'kind smallint, by_arrival boolean, low bigint, high bigint, '
             'since bigint, until bigint, at bigint, channel bigint, '
             'member bigint, side text, bytes integer'),
        ('outs', 'search_bad', 'key bigint'),
        ('plain', 'logs_found', 'token text, guild bigint, bot smallint, '
             'kind smallint, ids bigint[], head text, total bigint, '
             'more boolean, state text, erased bigint'),
        ('plain', 'schema_fits', 'needed integer'),
        ('plain', 'search_job', 'format integer'),
        ('plain', 'search_put', 'guild bigint, bot smallint, what text, '
             'erased bigint, since bigint, done bigint, keys bigint[], '
             'parts bigint[], shape integer[], blob bytea, '
             'OUT status integer, OUT made bigint[]'),
        ('plain', 'search_fail', 'guild bigint, bot smallint, cause text, '
             'OUT status integer'),
        ('logs', 'logs_page', 'most integer, below bigint, known text'),
        ('logs', 'logs_pieces', 'most integer, below bigint, known text, '
                                'placed boolean, bytes integer'),
        ('plain', 'logs_histogram', 'token text, guild bigint, bot smallint, '
             'kind smallint, after bigint, before bigint, buckets integer, '
             'counted boolean'),
        ('logs', 'logs_export', 'locale text, since bigint, below bigint, '
                                'most integer, ids bigint[]'),
        ('plain', 'logs_one', 'token text, guild bigint, bot smallint, '
             'kind smallint, id bigint'),
        ('plain', 'logs_begin', 'token text, guild bigint, bot smallint, '
             'kind smallint, last_id bigint'),
        ('tail', 'logs_tail', 'since bigint, most integer, token text'),
        ('news', 'logs_news', 'guilds bigint[], bots smallint[], '
                              'arrivals bigint[]'),
        ('news', 'logs_tokens', 'guilds bigint[], tokens text[]'),
        ('keeper', 'keeper_step', 'budget integer, from_hour integer, '
                                  'to_hour integer'),
        ('keeper', 'delivery_release', null),
        ('keeper', 'delivery_secret', 'mark bytea'),
        ('figures', 'delivery_figures', null),
        ('delivers', 'delivery_lease', 'dead text[], give smallint[], '
                                       'leaves boolean, asked bigint'),
        ('delivers', 'delivery_find', 'mark text, '
                                      'after_guild bigint, '
                                      'after_lane bigint, most integer, '
                                      'apart boolean'),
        ('delivers', 'delivery_park', 'guild bigint, lane bigint, '
                                      'cause text, OUT status integer, '
                                      'OUT body text'),
        ('delivers', 'delivery_step', 'work jsonb'),
        ('delivers', 'delivery_doubts', 'most integer, apart boolean'),
        ('delivers', 'delivery_proved', 'guild bigint, lane bigint, '
                                        'fence bigint, seq_from bigint, '
                                        'message bigint, OUT status integer, '
                                        'OUT body text'),
        ('news', 'delivery_refused', 'guilds bigint[], counts integer[], '
                                     'OUT guild bigint, OUT rest bigint'),
        ('lane', 'delivery_verified', 'told boolean'),
        ('lane', 'delivery_asks', null),
        ('lane', 'delivery_sole', null),
        ('lane', 'delivery_registered', 'webhook bigint, secret bytea, '
                                        'made boolean'),
        ('lane', 'delivery_lost', null),
        ('lane', 'delivery_broken', 'reason text'),
        ('lane', 'delivery_waits', 'reason text, final text, '
                                   'wait_ms bigint'),
        ('lane', 'delivery_limited', 'wait_ms bigint'),
        ('lane', 'delivery_closed', null),
        ('batch', 'operator_record_many', 'guilds bigint[], '
                  'bots smallint[], @entries'),
        ('batch', 'operator_record_apart', 'guilds bigint[], '
                  'bots smallint[], @entries'),
        ('plain', 'operator_events_known', 'guilds bigint[], '
             'kinds smallint[], ids bigint[], OUT status integer, '
             'OUT places integer[], OUT docs text'),
        ('plain', 'operator_events', 'guilds bigint[], versions bigint[], '
             'keep_guilds bigint[], keep_kinds smallint[], '
             'keep_ids bigint[], keep_authors bigint[], '
             'keep_channels bigint[], keep_docs text, servers jsonb, '
             'pair_guilds bigint[], pair_bots smallint[], '
             'pair_events text[], pair_kinds smallint[], '
             'pair_audits boolean[], pair_states smallint[], '
             'pair_ats bigint[], pair_dues bigint[], '
             'pair_channels bigint[], pair_targets bigint[], '
             'pair_persons bigint[], pair_counts integer[], pair_docs text, '
             'entry_guilds bigint[], entry_bots smallint[], @entries, '
             'OUT status integer, OUT body text, OUT counts text'),
        ('plain', 'events_due', 'most integer, OUT status integer, '
             'OUT guilds bigint[], OUT versions bigint[], OUT rows text, '
             'OUT now bigint, OUT next bigint'),
        ('plain', 'events_end', 'guilds bigint[], versions bigint[], '
             'end_guilds bigint[], end_bots smallint[], end_events text[], '
             'gone_guilds bigint[], gone_bots smallint[], '
             'gone_events text[], absorbed_guilds bigint[], '
             'absorbed_bots smallint[], absorbed_events text[], '
             'entry_guilds bigint[], entry_bots smallint[], @entries, '
             'guild_joined integer[], guild_alone integer[], '
             'OUT status integer, OUT body text, OUT counts text, '
             'OUT joined bigint, OUT alone bigint, OUT fault text'),
        ('operator', 'operator_server_put', 'input jsonb, usual text'),
        ('operator', 'operator_server_forget', null),
        ('operator', 'operator_person_forget', 'user_id bigint'),
        ('news', 'operator_person_logs', 'guild bigint, user_id bigint, '
             'since bigint, below bigint, most integer'),
        ('plain', 'operator_token_create', 'guild bigint, input jsonb'),
        ('operator', 'operator_record', 'bot smallint, @entries'),
        ('operator', 'operator_member_put', 'user_id bigint, input jsonb'),
        ('operator', 'operator_member_delete', 'user_id bigint'),
        ('operator', 'operator_members_put', 'input jsonb'),
        ('operator', 'operator_channel_put', 'channel_id bigint, input jsonb'),
        ('operator', 'operator_channel_delete', 'channel_id bigint'),
        ('operator', 'operator_channels_put', 'input jsonb'),
        ('operator', 'operator_role_put', 'role_id bigint, input jsonb'),
        ('operator', 'operator_role_delete', 'role_id bigint'),
        ('operator', 'operator_roles_put', 'input jsonb'),
        ('keeper', 'operator_backlog', 'reason text[], most integer, '
                                       'behind bigint'),
        ('operator', 'operator_undelivered', 'reason text[], channel bigint, '
             'lane bigint, after bigint, before bigint, most integer, '
             'cursor text'),
        ('operator', 'operator_replay', 'input jsonb'),
        ('operator', 'operator_lanes', null),
        ('operator', 'operator_lane_pause', 'lane bigint'),
        ('operator', 'operator_lane_resume', 'lane bigint'),
        ('operator', 'operator_pause', null),
        ('operator', 'operator_resume', null)
      ) f (kind, name, args)
$$, 'the public functions');

select is_empty($$
    select c.relname, p from pg_class c,
           unnest('{select,insert,update,delete,truncate,references,trigger}'
                  ::text[]) p
     where c.relnamespace = 'guildlog'::regnamespace
       and c.relkind in ('r', 'p', 'v', 'm')
       and has_table_privilege('guildlog', c.oid, p)
$$, 'the role has no privilege on a table');
select is_empty($$
    select c.relname from pg_class c
     where c.relnamespace = 'guildlog'::regnamespace
       and case c.relkind when 'S' then has_sequence_privilege(
               'guildlog', c.oid, 'usage, select, update') end
$$, 'the role has no privilege on a sequence');
select schema_privs_are('guildlog', 'guildlog', '{USAGE}',
                        'the role may use the schema, but make nothing in it');
select is_empty($$
    select p.proname from pg_proc p, aclexplode(p.proacl) a
     where p.pronamespace = 'guildlog'::regnamespace and a.grantee = 0
    union all
    select p.proname from pg_proc p
     where p.pronamespace = 'guildlog'::regnamespace and p.proacl is null
    union all
    select n.nspname from pg_namespace n, aclexplode(n.nspacl) a
     where n.nspname = 'guildlog' and a.grantee = 0
$$, 'PUBLIC has no privilege');
select is((rolsuper, rolcreaterole, rolcreatedb, rolreplication,
           rolbypassrls)::text, '(f,f,f,f,f)',
           'the role has no special attribute')
  from pg_roles where rolname = 'guildlog';
select is_empty($$
    select r.rolname from pg_auth_members m
      join pg_roles r on r.oid = m.roleid
      join pg_roles g on g.oid = m.member where g.rolname = 'guildlog'
$$, 'the role is not a member of another');
select set_has($$ select unnest(rolconfig) from pg_roles
                   where rolname = 'guildlog' $$,
               $$ values ('plan_cache_mode=force_generic_plan'), ('jit=off') $$,
               'its plans are generic');

set local role guildlog;
select throws_ok('select 1 from guildlog.token', '42501', null,
                 'a table cannot be read');
select throws_ok($$ select guildlog.record(1, 0::smallint, '[]') $$, '42501',
                 null, 'an inner function cannot be called');
select lives_ok(format('select guildlog.server_get(%s)', :'me'),
                'a public function can be called');
reset role;

-- functions

select is_empty($$
    select p.proname from pg_proc p
     where p.pronamespace = 'guildlog'::regnamespace
       and has_function_privilege('guildlog', p.oid, 'execute')
       and not (p.prosecdef
                and 'search_path=guildlog, pg_temp' = any (p.proconfig))
$$, 'public functions have the owner''s rights and a fixed search path');
select is_empty($$
    select p.proname from pg_proc p
     where p.pronamespace = 'guildlog'::regnamespace and p.prosecdef
       and not has_function_privilege('guildlog', p.oid, 'execute')
$$, 'inner functions have the rights of their caller');
select is_empty($$
    select p.proname from pg_proc p
     where p.pronamespace = 'guildlog'::regnamespace
     group by p.proname having count(*) > 1
$$, 'no name has two functions');
select is_empty($$
    select p.proname from pg_proc p
     where p.pronamespace = 'guildlog'::regnamespace
       and p.provolatile <> 's'
       and p.proname ~ '_(get|list)$|^search_(members|channels|open|slices|tail)$'
       and has_function_privilege('guildlog', p.oid, 'execute')
$$, 'functions that read are not volatile');

-- A function in SQL becomes part of the statement that calls it, or is parsed
-- and planned again each time that runs, which may take longer than all the
-- rest. The latter happens to one that is declared immutable and is not: ||
-- with a number, concat_ws() and jsonb_build_object() are but stable.

create function pg_temp.is_called(f pg_proc)
returns boolean language plpgsql as $$
declare
    line  text;
begin
    for line in execute (
        select format('explain (verbose, costs off) select %I(%s)
                         from (select %s offset 0) a', f.proname,
                      string_agg('x' || n, ', ' order by n),
                      concat_ws(', ', 'random()', string_agg(
                          format('null::%s as x%s', format_type(t.type, null),
                                 n), ', ')))
          from unnest(f.proargtypes) with ordinality t (type, n))
    loop
        if line ~ ('\m' || f.proname || '\(') then
            return true;
        end if;
    end loop;
    return false;
end $$;

select bag_eq($$
    select p.proname::text from pg_proc p
      join pg_language l on l.oid = p.prolang
     where p.pronamespace = 'guildlog'::regnamespace and l.lanname = 'sql'
       and not p.proretset
       and case p.prokind when 'f' then pg_temp.is_called(p) end
$$, $$ values ('channels_in'), ('difference'), ('filter_object'),
              ('lane_trouble'), ('probe_trouble') $$,
    'a function in SQL is part of its statement, but where it hardly counts');

-- tables

select bag_eq($$
    select c.relname::text from pg_class c
     where c.relnamespace = 'guildlog'::regnamespace
       and c.relkind in ('r', 'p') and not c.relispartition
       and not exists (
           select from pg_index i
             join pg_attribute a on a.attrelid = c.oid
                                and a.attnum = i.indkey[0]
            where i.indrelid = c.oid and i.indisprimary
              and a.attname = 'guild_id')
$$, $$ values ('language'), ('log_type'), ('filter_kind'), ('keeper'),
              ('shard_lease'), ('delivery_node'), ('delivery_secret'),
              ('session'), ('schema_version') $$,
    'guild_id leads every key, but of fixed data, the schema''s own, and people '
    'who signed in');
select is_empty($$
    select i.indexrelid::regclass from pg_index i
      join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'guild_id'
     where c.relnamespace = 'guildlog'::regnamespace
       and i.indkey[0] <> a.attnum
       and c.relname not in ('lane_ready', 'doubt', 'search_head')
       and i.indexrelid <> all ('{directory_channel,lane_channel,lane_webhook,
                                  lane_closed,lane_open_idx,lane_odd_idx,
                                  access_user_idx,log_head_due_at_idx,
                                  log_block_settle_idx,pair_due_idx,
                                  log_day_day_idx,alert_count_day_idx}'::regclass[])
$$, 'and every index, but of the lists of what all servers have to do, and of '
    'whose a channel and a webhook is, and whose dashboard one may use');
select is_empty($$
    select i.indexrelid::regclass, a.attname
      from pg_index i
      join pg_class c on c.oid = i.indrelid
     cross join lateral unnest(i.indkey, i.indcollation)
                with ordinality k (attnum, sorted, n)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
     where c.relnamespace = 'guildlog'::regnamespace
       and k.n <= i.indnkeyatts
       and k.sorted = 'pg_catalog."default"'::regcollation
       and c.relname not in ('language', 'log_type', 'filter_kind', 'keeper',
                             'delivery_node')
$$, 'no index is sorted as the database''s locale has it at the time');
select is_empty($$
    select c.relname from pg_class c
      join pg_inherits h on h.inhrelid = c.oid
     where c.relnamespace = 'guildlog'::regnamespace and c.relkind = 'r'
       and c.relispartition
       and not coalesce(c.reloptions, '{}')
               @> '{autovacuum_freeze_min_age=0}'::text[]
$$, 'what never changes again is frozen by the first vacuum');
select is_empty($$
    select t from unnest('{log_head,log_made,lane_tail,lane_head,lane_ready,
                           search_head}'::text[]) t
      join pg_class c on c.oid = t::regclass
     where not coalesce(c.reloptions, '{}')
               @> '{autovacuum_vacuum_scale_factor=0,
                    autovacuum_vacuum_threshold=1000}'::text[]
$$, 'rows that change all the time are vacuumed as soon as there are a thousand');
select is_empty($$
    select k.conname from pg_constraint k
     where k.connamespace = 'guildlog'::regnamespace and k.contype = 'f'
       and not exists (
           select from unnest(k.conkey, k.confkey) u (mine, theirs)
             join pg_attribute m on m.attrelid = k.conrelid
                                and m.attnum = u.mine
             join pg_attribute t on t.attrelid = k.confrelid
                                and t.attnum = u.theirs
            where m.attname = 'guild_id' and t.attname = 'guild_id')
$$, 'no foreign key crosses servers');

select * from finish();
rollback;
