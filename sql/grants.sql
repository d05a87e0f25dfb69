-- Every privilege. Each role may execute the functions of its part and nothing
-- else: no table, no other function.
-- Before: \set granted, what roles could execute, as [{function, role}].

revoke all on schema guildlog from public;
revoke all on all tables in schema guildlog from public;
revoke all on all sequences in schema guildlog from public;
revoke all on all routines in schema guildlog from public;

-- A role has a part that it was named for, or whose first function it could
-- execute before. The operator's, who may do all for every server, begins the
-- sessions of people, too: who begins one says which servers it may manage. The
-- owner stands for nobody.

select string_agg(quote_ident(r), ', ') filter (where part = 'api') as api,
       string_agg(quote_ident(r), ', ') filter (where part = 'operator')
           as operates,
       string_agg(quote_ident(r), ', ') filter (where part = 'worker') as works,
       string_agg(quote_ident(r), ', ') filter (where part = 'login') as begins,
       string_agg(quote_ident(r), ', ') as all
  from (select p.part, p.role as r
          from (values ('api', :'role'), ('operator', :'operator'),
                       ('worker', :'worker'), ('login', :'operator'),
                       ('api', current_user), ('operator', current_user),
                       ('worker', current_user), ('login', current_user))
                   p (part, role)
         where p.part = 'api'
            or exists (select from pg_roles where rolname = p.role)
        union
        select p.part, g.role
          from (values ('api', 'server_get'), ('operator', 'operator_record'),
                       ('worker', 'keeper_step'), ('login', 'session_begin'))
                   p (part, function)
          join json_to_recordset(:'granted') g (function text, role text)
            on g.function = p.function
         where not :'separate'::boolean
            or g.role not in (:'role', :'operator', :'worker')) r \gset

grant usage on schema guildlog to :all;
grant execute on function schema_fits to :all;

grant execute on function
    server_get, server_reset, guilds_get,
    token_list, token_check, token_create, token_revoke,
    me, sessions_list, sessions_remove, sessions_remove_all,
    settings_get, settings_patch,
    channels_get, channels_patch,
    options_get, options_patch,
    type_get, type_patch, types_patch,
    ignore_get, ignore_add, ignore_remove,
    tags_get, tag_create, tag_patch, tag_delete,
    access_list, access_get, access_put, access_delete,
    filters_list, filter_get, filter_patch,
    alerts_list, alert_get, alert_create, alert_patch, alert_delete,
    active_ignore_targets, active_ignore_executors,
    notifications_list, notifications_acknowledge, notification_acknowledge,
    search_members, search_channels, search_roles,
    config_get, config_patch,
    pacing_get, preview, troubleshoot_ask, troubleshoot_get, troubleshoot_fix,
    troubleshoot_test, troubleshoot_report, refusals_told,
    logs_pieces, logs_page, logs_plain, logs_one, logs_export, logs_actors,
    logs_histogram,
    search_open, search_slices, search_tail, search_bad, logs_found,
    logs_begin, logs_tail, logs_news, logs_tokens
to :api;

grant execute on function
    operator_server_put, operator_server_forget, operator_token_create,
    operator_person_forget, operator_person_logs,
    operator_record, operator_record_many, operator_record_apart,
    operator_events_known, operator_events, events_due, events_end,
    operator_member_put, operator_member_delete, operator_members_put,
    operator_channel_put, operator_channel_delete, operator_channels_put,
    operator_role_put, operator_role_delete, operator_roles_put,
    operator_backlog, operator_undelivered, operator_replay, operator_lanes,
    operator_lane_pause, operator_lane_resume, operator_pause,
    operator_resume
to :operates;

grant execute on function session_begin, session_ask, session_renew, session_end
to :begins;

grant execute on function
    keeper_step, search_job, search_tail, search_put, search_fail,
    delivery_secret, delivery_lease, delivery_find, delivery_park,
    delivery_step, delivery_release,
    delivery_doubts, delivery_sole, delivery_proved,
    delivery_figures, delivery_refused, delivery_verified,
    delivery_asks, delivery_registered, delivery_lost, delivery_broken,
    delivery_waits, delivery_limited, delivery_closed
to :works;

-- What others could execute, of what is still there.

select format('grant usage on schema guildlog to %I', g.role)
  from json_to_recordset(:'granted') g (function text, role text)
  join pg_roles r on r.rolname = g.role
 where g.role not in (:'role', :'operator', :'worker')
 group by g.role
union all
select format('grant execute on function %s to %I', p.oid::regprocedure, g.role)
  from json_to_recordset(:'granted') g (function text, role text)
  join pg_roles r on r.rolname = g.role
  join pg_proc p
    on p.proname = g.function
   and p.pronamespace = 'guildlog'::regnamespace
   and p.prokind = 'f'
 where g.role not in (:'role', :'operator', :'worker') \gexec

select case when not :'separate'::boolean
             and :'role' not in (:'operator', :'worker')
             and exists (select from json_to_recordset(:'granted')
                                     g (function text, role text)
                          where g.role = :'role'
                            and g.function in ('operator_record',
                                               'keeper_step',
                                               'session_begin'))
            then quote_ident(:'role') end as wide \gset

\if :{?wide}
    \warn 'The role' :wide 'of the API may still record, make tokens or sign'
    \warn 'people in: give nginx a guildlog_database for its operator, which'
    \warn 'guildlog_login names by database=, and one for its worker, then'
    \warn 'install again with -v separate=on'
\endif
