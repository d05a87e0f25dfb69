-- The index of searches has channels, members and roles as terms, too. The
-- keeper makes it anew.

truncate search_head, search_place, search_segment, search_term, search_common,
         search_string;
