-- When the keeper last did what it does not do in every step.

create table keeper (
    task     text primary key,
    done_at  timestamptz not null
);
