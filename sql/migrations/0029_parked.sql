-- A lane of which the database refuses something is set aside for a while, so
-- that others go on. It stands here because the row of the lane itself may be
-- what is bad.

alter table lane_ready add column parked_to timestamptz;  -- null: it is not
alter table lane_ready add column parked_for text;        -- what was refused
