-- Tokens that only read: permissions 3.

\set tables '{token}'
\ir ../lock.sql

alter table token
    drop constraint token_permissions_check,
    add constraint token_permissions_check
        check (permissions in (1, 2, 3)) not valid;
