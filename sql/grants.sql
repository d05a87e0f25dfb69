-- Every role and privilege. The module's role may execute the functions below
-- and nothing else: no table, no other function.

revoke all on schema guildlog from public;
revoke all on all tables in schema guildlog from public, :"role";
revoke all on all sequences in schema guildlog from public, :"role";
revoke all on all functions in schema guildlog from public, :"role";

grant usage on schema guildlog to :"role";

grant execute on function
    server_get, server_reset, guilds_get,
    token_list, token_revoke,
    settings_get, settings_patch,
    channels_get, channels_patch,
    options_get, options_patch,
    type_get, type_patch,
    ignore_get, ignore_add, ignore_remove,
    tags_get, tag_create, tag_patch, tag_delete,
    access_list, access_get, access_put, access_delete,
    filters_list, filter_get, filter_patch,
    active_ignore_targets, active_ignore_executors,
    notifications_list, notifications_acknowledge, notification_acknowledge,
    search_members, search_channels,
    config_get,
    pacing_get, troubleshoot_ask, troubleshoot_get, troubleshoot_fix,
    troubleshoot_test,
    logs_plain, logs_page, logs_export, logs_actors,
    logs_stream, logs_tail, logs_news, logs_tokens,
    operator_server_put, operator_token_create,
    operator_record, operator_record_many,
    operator_member_put, operator_member_delete, operator_members_put,
    operator_channel_put, operator_channel_delete, operator_channels_put,
    operator_role_put, operator_role_delete, operator_roles_put,
    operator_backlog, operator_undelivered, operator_replay, operator_lanes,
    operator_lane_pause, operator_lane_resume, operator_pause,
    operator_resume,
    keeper_step,
    delivery_secret, delivery_lease, delivery_find, delivery_step,
    delivery_release,
    delivery_doubts, delivery_proved,
    delivery_figures,
    delivery_asks, delivery_registered, delivery_lost, delivery_broken,
    delivery_waits, delivery_closed
to :"role";

-- Statements are prepared once and read by primary keys: one plan fits all.

\if :may_make_roles
    alter role :"role" set plan_cache_mode = force_generic_plan;
    alter role :"role" set jit = off;
\else
    \warn 'The installer may not change roles: set plan_cache_mode to'
    \warn 'force_generic_plan and jit to off for the role of nginx.'
\endif
