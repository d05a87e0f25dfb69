-- Entries come as arrays of their columns, not as rows.

drop type if exists incoming, actor, place;
