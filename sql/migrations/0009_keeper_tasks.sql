-- What the keeper's tasks did last, for the status page of every machine.

alter table keeper
    add column due_at   timestamptz not null default '-infinity',
    add column took_us  bigint not null default 0,
    add column lag      bigint not null default 0,
    add column errors   bigint not null default 0;

alter table keeper set (fillfactor = 50);

comment on column keeper.done_at is 'When it last succeeded.';
