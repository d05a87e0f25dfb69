-- What each table is for, for who looks at the database.

comment on table access is
    'Who may use the dashboard of a server, and how far.';
comment on table active_ignore is
    'Requests of active ignore: what not to record, how often, until when.';
comment on table alert is
    'What the people of a server want to be told of: how many entries of which '
    'types in how long.';
comment on table alert_count is
    'The latest entries that an alert counts, by whose they are.';
comment on table delivery_node is
    'Workers that deliver, with or without a shard.';
comment on table delivery_secret is
    'Something sealed with the secret of the webhooks, by which a machine with '
    'another secret is known.';
comment on table directory is
    'Names of members (kind 0), channels (1) and roles (2), as the bot says.';
comment on table doubt is
    'Messages of which it is not known whether the platform applied them: they '
    'are looked for again for a day.';
comment on table event_head is
    'A number that changes with each batch of events of a server.';
comment on table filter is 'What is masked before an entry is stored.';
comment on table filter_kind is 'The filters there are, in their order.';
comment on table forgotten_person is
    'People who are being forgotten, and how far that has come. The row goes '
    'when it is done.';
comment on table ignore_entry is
    'Ignore lists: channels, categories, executors, targets, contents, roles.';
comment on table keeper is
    'When the keeper did each of its tasks, and what it left undone.';
comment on table keeper_parked is
    'Servers that a task of the keeper failed for: they are left out for a '
    'while.';
comment on table known is
    'What the platform''s events have told: what members were (kind 4), voice '
    'states (5), the server (6), things (7).';
comment on table lane is
    'A lane is the queue in front of one webhook: a server, a bot, a channel.';
comment on table lane_batch is
    'What became of the places from seq_from to seq_to of a lane: one row a '
    'message, or a decision about several entries.';
comment on table lane_head is
    'How far a lane is delivered: up to head all is decided, from there to '
    'upto it is in flight.';
comment on table lane_ready is
    'Lanes with something to do, for the workers that deliver.';
comment on table lane_tail is 'The last place that was given in a lane.';
comment on table language is 'The languages and their numbers.';
comment on table log_arrival is
    'What arrived in the last three days, in the order of commits: entries, '
    'and events of which none was made. doc is an entry''s JSON without its '
    'delivery and the last brace. Partitioned by the time of recording.';
comment on table log_block is
    'The entries that are kept, up to 96 of a day in a row: a line of docs and '
    'of said for each, and a character of types.';
comment on table log_day is
    'How many entries of each type the blocks of a day have, and, where it is '
    'large, those of its eight parts.';
comment on table log_head is
    'One row a server and bot. Who records holds it, so that arrival numbers '
    'follow the order of commits. All up to blocked is in blocks.';
comment on table log_made is
    'Whoever changes the blocks of a server and bot holds its row. Who acted '
    'last in these, 2,048 people, and who did since that was put together.';
comment on table log_type is 'The types of entries.';
comment on table logging_channels is
    'The channels that entries go to. 0: off.';
comment on table logging_options is 'Options of all log types of a bot.';
comment on table logging_type is 'Options of one log type of a bot.';
comment on table notification is
    'Changes of the configuration and troubles, the last 100 of a bot.';
comment on table pair is
    'Events and entries of the audit log that may be the same act: for some '
    'seconds, until each is recorded with the other, or alone.';
comment on table refusal is
    'How often the platform refused something to a server within ten minutes.';
comment on table replay is
    'Entries that were sent again, and their new place in a lane. first: that '
    'were not sent so far, and whose row of log_arrival is gone.';
comment on table said is
    'Messages of the last 24 hours. doc is empty where one was deleted. '
    'Partitioned by the hours of ids.';
comment on table said_long is
    'The same of servers on the Pro plan, of the last 14 days. Partitioned by '
    'the days of ids.';
comment on table schema_version is 'The migrations that were applied.';
comment on table search_head is
    'The index of searches of a server and bot: how far it has come.';
comment on table search_segment is
    'The index of searches: entries of one day that are indexed together. What '
    'they are found by is bytes that the module reads and writes.';
comment on table server is
    'The servers that the operator put. forgotten_at: it is being forgotten.';
comment on table session is
    'People who signed in: for 12 hours, or until they sign out. Their cookies '
    'stand nowhere, and the platform''s tokens are sealed.';
comment on table settings is 'The language of a bot.';
comment on table shard_lease is
    'Who delivers the lanes of each of the 64 shards, until when.';
comment on table tag is 'Texts that members may ask a bot for.';
comment on table token is
    'Facts about tokens. The tokens themselves are stored nowhere.';
comment on table troubleshoot_use is
    'How often a server asked for reports and tests within a minute.';
