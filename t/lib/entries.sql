-- What tests look at, in the place of two tables: each entry that is there as a
-- row. It calls no function, as no view of the schema does.

create or replace view guildlog.entries as
    select e.guild_id, e.bot, e.id, e.type, e.arrival, e.lane, e.seq,
           e.dchannel_id, e.dstatus, e.dreason, e.doc, e.said,
           ((e.doc || '}')::jsonb #>> '{executor,id}')::bigint as executor_id,
           ((e.doc || '}')::jsonb #>> '{target,id}')::bigint as target_id,
           ((e.doc || '}')::jsonb #>> '{channel,id}')::bigint as channel_id
      from (select a.guild_id, a.bot, a.id, a.type, a.arrival, a.lane, a.seq,
                   a.dchannel_id, a.dstatus, a.dreason, a.doc,
                   null::text as said
              from guildlog.log_head h
              join guildlog.log_arrival a
                on a.guild_id = h.guild_id and a.bot = h.bot
               and a.arrival > h.blocked and a.id is not null
             union all
            select k.guild_id, k.bot, u.id,
                   (ascii(substr(k.types, u.place::int, 1)) - 26)::smallint,
                   null, substring(u.said from '\ml([0-9]+)')::bigint,
                   substring(u.said from '\ms([0-9]+)')::bigint,
                   substring(u.said from '\mc([0-9]+)')::bigint,
                   substring(u.said from '^[0-9]')::smallint,
                   substring(u.said from '\mr([a-z_0-9]+)'), u.doc, u.said
              from guildlog.log_block k
             cross join lateral unnest(k.ids,
                       string_to_array(k.said, E'\n'),
                       string_to_array(k.docs, E'\n'))
                       with ordinality u (id, said, doc, place)) e;

comment on view guildlog.entries is 'What tests look at.';
