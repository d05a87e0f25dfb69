-- What was decided about a server at the time of a page of it.

create index on lane_batch (guild_id, done_at);
