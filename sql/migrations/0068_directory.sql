-- What the directory needs to be shown: in which order, which color, and with
-- which picture. Null: nobody has told.

\set tables '{directory}'
\ir ../lock.sql

alter table directory
    add column position int,
    add column color int,
    add column avatar text;
