-- Servers get and lose their index of searches as their plan changes, no more
-- because the keeper looks at all of them: once more for those whose plan has
-- changed already.

update search_head h
   set leaving = true
  from server s
 where s.guild_id = h.guild_id and s.plan <> 'pro' and s.lapsed_at is null;

with recorded as (
    select h.guild_id, h.bot
      from log_head h
      join server s on s.guild_id = h.guild_id
     where s.plan = 'pro' and s.forgotten_at is null and h.arrival > 0
       and not exists (select from search_head x
                        where x.guild_id = h.guild_id and x.bot = h.bot)
     order by h.guild_id, h.bot
       for update of h
)
insert into search_head (guild_id, bot)
select r.guild_id, r.bot from recorded r
on conflict do nothing;
