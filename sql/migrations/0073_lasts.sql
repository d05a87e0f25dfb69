-- What was a row for each.

insert into log_made (guild_id, bot, actors, lasts)
select a.guild_id, a.bot, array_agg(a.executor_id), array_agg(a.last_id)
  from (select x.*, row_number() over (partition by x.guild_id, x.bot
                                       order by x.last_id desc) as place
          from log_actor x) a
 where a.place <= 2048
 group by a.guild_id, a.bot
on conflict on constraint log_made_pkey
    do update set actors = excluded.actors, lasts = excluded.lasts;
