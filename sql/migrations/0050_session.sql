-- People sign in: a session is what makes a cookie of theirs worth something,
-- on every machine. Tokens get a name.

\set tables '{token}'
\ir ../lock.sql

alter table token add column name text;

create table session (
    session_id  text primary key collate "C",
    user_id     bigint not null,
    name        text not null,
    expires_at  timestamptz not null,
    ended_at    timestamptz          -- the user signed out
);

create index on session (expires_at);
