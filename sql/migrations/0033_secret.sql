-- Something sealed with the secret of the webhooks: a machine that cannot open
-- it has another secret.

create table delivery_secret (
    one     boolean primary key default true check (one),
    owner   text not null,    -- as whose it was sealed
    sealed  bytea not null
);
