-- Who else has this channel: asked when the directory is told of a new one.

create index lane_channel on lane (channel_id) where verified_at is not null;
