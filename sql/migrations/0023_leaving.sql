-- The index of searches is taken from a server a little at a time.

alter table search_head
    add column leaving boolean not null default false;  -- it is not read
