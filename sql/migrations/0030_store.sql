-- Where the index of searches says that it was last extended in a time to come,
-- a clock was ahead. What was recorded after it was set right is missing there:
-- the keeper makes these indexes anew.

update search_head set leaving = true, runs = 0 where seen_at > now();
