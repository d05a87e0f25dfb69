-- Tails hear of what is taken back by a lock, not by a time.

drop function if exists tail_end(bigint, smallint, bigint);
