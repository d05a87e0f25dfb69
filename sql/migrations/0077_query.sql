-- A type of the functions of before.

drop type if exists log_query;
