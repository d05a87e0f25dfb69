-- Notifications: what the people of a server are told. The last 100 are kept.


create or replace function notification_add(guild bigint, bot smallint,
    log_type int, details jsonb)
returns void language plpgsql as $$
begin
    perform notification_put(guild, bot, t.id, t.title,
                concat_ws(': ',
                     concat_ws(' ', details ->> 'action',
                               nullif(details #>> '{target,name}', ''),
                               details #>> '{target,id}', details ->> 'name'),
                     coalesce(details ->> 'contentAfter',
                              details ->> 'content', details ->> 'value',
                              notification_changes(details))))
       from log_type t where t.id = log_type;
end $$;


-- What the fields that changed are now, a line each; not what the name tells.

create or replace function notification_changes(details jsonb)
returns text language plpgsql immutable as $$
begin
    return (
        select string_agg(concat(c ->> 'key', ': ',
                                 coalesce(c ->> 'new', 'null')), e'\n'
                          order by place)
          from jsonb_array_elements(details -> 'changes')
               with ordinality u (c, place)
         where c -> 'new' is distinct from details -> 'name');
end $$;


create or replace function notification_put(guild bigint, bot smallint,
    log_type smallint, title text, description text)
returns void language plpgsql as $$
begin
    insert into notification
    values (guild, bot, next_id(ms(clock_timestamp())), clock_timestamp(),
            log_type, title, description, (executor() ->> 'id')::bigint);

    delete from notification n
     where n.guild_id = guild
       and n.bot = notification_put.bot
       and n.notification_id <= (
           select l.notification_id from notification l
            where l.guild_id = guild and l.bot = notification_put.bot
            order by l.notification_id desc offset 100 limit 1);
end $$;
