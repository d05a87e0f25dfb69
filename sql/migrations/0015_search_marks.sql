-- A mark is 128 times the address of an entry within the segment of level 2
-- that its run is in or will be in, and its type: so what is written once is
-- only put together later. The keeper makes the index anew.

truncate search_head, search_run, search_segment, search_term, search_common,
         search_string;

-- Among all that begins with the server, this index alone leads to a string.

drop index search_string_guild_id_bot_kind_hashtextextended_idx;
create index on search_string (guild_id, hashtextextended(string, 0));
