-- A session has all that was in the cookie of a person. Null: it is from
-- before, and its cookie has that.

\set tables '{session}'
\ir ../lock.sql

alter table session
    add column asked_at timestamptz,   -- the platform was, last
    add column avatar text,
    add column icons jsonb,            -- of servers, by their ids
    add column access text;            -- the platform's token, sealed

-- The table has a row for each who signed in within half a day.

create index on session (user_id);
