-- Reading logs: pages, counts, the window of the plan, the export, the actors
-- and the live tail.

\ir ../setup.psql
select plan(51);

-- Ten minutes of entries, one a minute, called a (the oldest) to j.

create temp table given (name text, type int, more jsonb);
insert into given values
    ('a', 5, '{"executor": {"id": "1", "name": "Ann"}}'),
    ('b', 7, '{"executor": {"id": "2", "name": "Ben"},
               "target": {"id": "1", "name": "Ann"}}'),
    ('c', 5, '{"channel": {"id": "10", "name": "lounge"}}'),
    ('d', 39, '{"executor": {"id": "1", "name": "Anna"},
                "target": {"id": "1", "name": "Ann"}, "role": "Mods"}'),
    ('e', 5, '{"channel": {"id": "10", "name": ""},
               "executor": {"id": "1", "name": "Annie"}}'),
    ('f', 7, '{"reason": "because"}'),
    ('g', 1, '{"role": "Old Mods", "target": {"id": "3", "name": ""}}'),
    ('h', 1, '{}'),
    ('i', 5, '{"executor": {"id": "2", "name": "Bo"}}'),
    ('j', 70, '{"executor": {"id": "0", "name": "API"}}');

delete from log_arrival where guild_id = :guild;
delete from log_head where guild_id = :guild;
select ms(now()) - 600000 as start \gset

select record(:guild, 0::smallint, jsonb_agg(g.more || jsonb_build_object(
           'event_id', g.name, 'type', g.type, 'content', g.name,
           'timestamp', :start + g.place * 60000) order by g.place))
  from (select *, row_number() over (order by name) - 1 as place from given)
           g \g /dev/null

create temp table id as
    select (doc || '}')::json ->> 'content' as name, e.id, e.arrival
      from stored e where e.guild_id = :guild;

create function pg_temp.id_of(name text)
returns bigint language sql as $$
    select i.id from id i where i.name = id_of.name
$$;

-- rows as a line: names, and what the head says

create function pg_temp.names(rows log_row[])
returns text language sql as $$
    select string_agg((split_part(e.doc, e'\t', 1) || '}')::json ->> 'content',
                      '' order by r.ordinality, e.n)
      from unnest(rows) with ordinality r
     cross join lateral regexp_split_to_table(r.doc, e'\n')
                        with ordinality e (doc, n)
     where r.ordinality > 1
$$;

create function pg_temp.line(rows log_row[])
returns text language sql as $$
    select case when rows[1].id <> 200 then rows[1].id::text else
           concat_ws(' ', pg_temp.names(rows), h.head ->> 'total',
               (select string_agg(substr(c.key, 9) || c.value, ' '
                                  order by c.key)
                  from json_each_text(h.head -> 'categoryCounts') c),
               case when (h.head ->> 'walled')::boolean then 'walled' end,
               case when rows[1].more then 'more' end) end
      from (select (rows[1].doc || '}')::json) h (head)
$$;

create function pg_temp.read(me text, after bigint, before bigint,
    category text[], type int[], most int, below bigint)
returns text language plpgsql as $$
declare
    rows  log_row[];
begin
    execute format('select array(select row(p.*)::log_row from '
                   'logs_page(%s, $1, $2, $3, $4, $5, $6) p)', me)
       into rows
      using after, before, category, type, most, below;

    return pg_temp.line(rows);
end $$;

-- the page, which has to be the same when some entries are in blocks, and when
-- all are

create function pg_temp.page(me text, after bigint default null,
    before bigint default null, category text[] default null,
    type int[] default null, most int default 100, below bigint default null)
returns text language plpgsql as $$
declare
    it       constant text := pg_temp.read(me, after, before, category, type,
                                           most, below);
    n        int;
    as_well  text;
begin
    foreach n in array '{1,2,4,100}'::int[] loop
        begin
            perform block_make(900000000000000001, 0::smallint, n);
            as_well := pg_temp.read(me, after, before, category, type, most,
                                    below);
            raise exception using errcode = 'GL999';
        exception when sqlstate 'GL999' then
            if as_well <> it then
                return format('%s, but in blocks %s', it, as_well);
            end if;
        end;
    end loop;

    return it;
end $$;


-- pages

select is(pg_temp.page(:'nobody'), '401', 'a dead token reads nothing');
select is(pg_temp.page(:'pro'), '0', 'the other bot has no entries');
select is(pg_temp.page(:'me'),
          'jihgfedcba 10 Members2 Modlog1 Service1 Text6', 'all');
select is(pg_temp.page(:'me', most => 3),
          'jih 10 Members2 Modlog1 Service1 Text6 more', 'the first page');
select is(pg_temp.page(:'me', most => 3, below => pg_temp.id_of('h')),
          'gfe 7 Members2 Modlog1 Service1 Text6 more', 'the second');
select is(pg_temp.page(:'me', most => 3, below => pg_temp.id_of('d')),
          'cba 3 Members2 Modlog1 Service1 Text6', 'the last');
select is(pg_temp.page(:'me', below => 1),
          '0 Members2 Modlog1 Service1 Text6 walled',
          'a cursor from before the window');
select is(pg_temp.page(:'me', below => 9223372036854775807, most => 1),
          'j 10 Members2 Modlog1 Service1 Text6 more',
          'a cursor from behind it');

select is((r.id, r.status, r.reason, r.channel_id, r.message_id)::text,
          format('(%s,not_delivered,no_channel,,)', pg_temp.id_of('j')),
          'a row has its delivery')
  from logs_page(:me, null, null, null, null, 1, null) with ordinality r
 where r.ordinality = 2;
select matches(r.doc, '^\{"id":"\d+","type":70,.*[^}]$',
               'and its finished JSON, not closed')
  from logs_page(:me, null, null, null, null, 1, null) with ordinality r
 where r.ordinality = 2;
select is((doc || '}')::json ->> 'retentionMs', '2592000000',
          'the head has the retention')
  from logs_page(:me, null, null, null, null, 1, null) limit 1;

-- time

select is(pg_temp.page(:'me', after => :start + 7 * 60000),
          'ji 2 Service1 Text1', 'after is exclusive');
select is(pg_temp.page(:'me', after => :start + 7 * 60000 - 1),
          'jih 3 Members1 Service1 Text1', 'to the millisecond');
select is(pg_temp.page(:'me', before => :start + 2 * 60000), 'ba 2 Text2',
          'before is exclusive');
select is(pg_temp.page(:'me', before => :start + 2 * 60000 + 1),
          'cba 3 Text3', 'to the millisecond');
select is(pg_temp.page(:'me', after => :start, before => :start + 60000),
          '0', 'nothing between');
select is(pg_temp.page(:'me', after => :start + 60000, before => :start), '0',
          'nor where the end comes first');
select is(pg_temp.page(:'me', after => -9007199254740991, most => 1),
          'j 10 Members2 Modlog1 Service1 Text6 walled more',
          'what is older than the window is said to be left out');
select is(pg_temp.page(:'me', after => 9007199254740991), '0',
          'in the far future');
select is(pg_temp.page(:'me', before => -9007199254740991), '0',
          'before everything');
select is(pg_temp.page(:'me', before => 9007199254740991, most => 1),
          'j 10 Members2 Modlog1 Service1 Text6 more', 'before the far future');
select is(pg_temp.page(:'me', after => ms(now()) - 2592000000 - 1, most => 1),
          'j 10 Members2 Modlog1 Service1 Text6 more',
          'its first millisecond is inside');
select is(pg_temp.page(:'me', after => ms(now()) - 2592000000 - 2, most => 1),
          'j 10 Members2 Modlog1 Service1 Text6 walled more',
          'one millisecond earlier is outside, and said so');

-- categories and types

select is(pg_temp.page(:'me', category => '{categoryText}'),
          'ifecba 6 Members2 Modlog1 Service1 Text6',
          'counts by category do not depend on the one asked for');
select is(pg_temp.page(:'me', category => '{categoryModlog,categoryMembers}'),
          'hgd 3 Members2 Modlog1 Service1 Text6', 'several');
select is(pg_temp.page(:'me', category => '{categoryRoles}'),
          '0 Members2 Modlog1 Service1 Text6', 'one without entries');
select is(pg_temp.page(:'me', type => '{5}'), 'ieca 4 Text4', 'one type');
select is(pg_temp.page(:'me', type => '{5,39,70}', most => 2),
          'ji 6 Modlog1 Service1 Text4 more', 'several');
select is(pg_temp.page(:'me', type => '{7,39}', category => '{categoryText}'),
          'fb 2 Modlog1 Text2', 'both');
select is(pg_temp.page(:'me', type => '{39}', category => '{categoryText}'),
          '0 Modlog1', 'both, and nothing is of both');

-- the window of the plan

update server set plan = 'free' where guild_id = :guild;
create function pg_temp.moves(name text, to_id bigint)
returns void language sql as $$
    update log_arrival a
       set id = to_id,
           doc = regexp_replace(a.doc, '\d+', to_id::text)
     where a.guild_id = 900000000000000001 and a.id = pg_temp.id_of(name)
$$;
select pg_temp.moves('a', time_id(ms(now()) - 3600000) - 1),
       pg_temp.moves('b', time_id(ms(now()) - 3600000)) \g /dev/null

select is(pg_temp.page(:'me'), 'jihgfedcb 9 Members2 Modlog1 Service1 Text5',
          'an hour without Pro, to the millisecond');
select is(pg_temp.page(:'me', after => 0, most => 1),
          'j 9 Members2 Modlog1 Service1 Text5 walled more', 'not more');

update server set plan = 'pro' where guild_id = :guild;

-- export

create temp table chunk as
    select * from logs_export(:me, null, null, null, null, 'de', null, null, 4)
                  with ordinality c (id, more, status, reason, channel_id,
                                     message_id, doc, dstatus, lane, seq,
                                     place);
select is(pg_temp.names(array(select row(c.id, c.more, c.status, c.reason,
                                         c.channel_id, c.message_id, c.doc,
                                         c.dstatus, c.lane, c.seq)::log_row
                                from chunk c order by c.place)), 'jihg',
          'a chunk, newest first');
select is(id_time(channel_id) + 2592000000, ms(now()),
          'with where the window begins')
  from chunk where place = 1;
select is(pg_temp.names(array(
              select row(e.*)::log_row
                from logs_export(:me, null, null, null, null, 'de',
                                 pg_temp.id_of('d'), pg_temp.id_of('g'), 9)
                         e)), 'fed', 'the next, down to where it began');

-- actors

select is(body::jsonb, '{"actors": [{"id": "0", "name": "API"},
                                    {"id": "2", "name": "Bo"},
                                    {"id": "1", "name": "Annie"}]}',
          'executors, the last seen first, by their last names')
  from logs_actors(:me);
select is(body, '{"actors":[]}', 'none at the other bot') from logs_actors(:pro);

-- the live tail

select is(s.channel_id, h.arrival, 'it begins now')
  from logs_begin(:me, null) s, log_head h
 where h.guild_id = :guild and h.bot = 0;
select is(s.channel_id, (select arrival from id where name = 'd'),
          'or behind the entry seen last')
  from logs_begin(:me, pg_temp.id_of('d')) s;
create function pg_temp.tail(since text, most int)
returns text language sql as $$
    select concat_ws(' ', pg_temp.names(t.rows),
                     (select i.name from id i
                       where i.arrival = t.rows[1].channel_id))
      from (select array(
                select row(r.*)::log_row
                  from logs_tail(900000000000000001, 0::smallint,
                                 (select i.arrival from id i
                                   where i.name = since), most) r)
                as rows) t
$$;

select is(pg_temp.tail('f', 10), 'ghij j', 'all that came since');
select is(pg_temp.tail('f', 2), 'gh h', 'a part, and where the next begins');

select record(:guild, 0::smallint, jsonb_build_array(jsonb_build_object(
           'event_id', 'late', 'type', 5, 'content', 'k',
           'timestamp', :start))) \g /dev/null
select is(pg_temp.tail('j', 10), 'k', 'one that comes late comes last');
update log_arrival set held_to = clock_timestamp() + interval '1 minute'
 where guild_id = :guild and doc ~ '"content":"k"';
select is(pg_temp.tail('j', 10), 'j', 'a held one is waited for');
update log_arrival set held_to = clock_timestamp()
 where guild_id = :guild and held_to is not null;
select is(pg_temp.tail('j', 10), 'k', 'no longer than it is held');
select is((select string_agg(t.seq::text, ' ')
             from logs_tail(:guild, 0::smallint, 2, 10) t
            where t.status is not null),
          (select string_agg(a::text, ' ')
             from (select e.arrival as a from stored e
                    where e.guild_id = :guild and e.bot = 0
                      and e.arrival > 2
                    order by 1 limit 10) e),
          'each has its arrival');

-- a block ends at 256 KiB

select record(:guild, 0::smallint, jsonb_agg(jsonb_build_object(
           'event_id', 'long' || n, 'type', 5, 'name', n::text, 'messages',
           (select jsonb_agg(jsonb_build_object('id', m::text, 'content',
                                                repeat('x', 4000)))
              from generate_series(1, 15) m))))
  from generate_series(1, 12) n \g /dev/null
select is((count(t.seq), max(t.seq) = max(t.channel_id))::text, '(5,t)',
          'a block has so many as begin within 256 KiB')
  from (select t.seq, case when t.status is null then t.channel_id end
                           as channel_id
          from logs_tail(:guild, 0::smallint,
                         (select min(e.arrival) - 1 from stored e
                           where e.guild_id = :guild and length(e.doc) > 50000),
                         100) t) t
;


select arrival as h from log_head where guild_id = :guild and bot = 0 \gset
select is((n.place, n.arrival)::text, '(3,' || :h || ')',
          'where there is news')
  from logs_news(array[1, :guild, :guild, :guild], '{0, 0, 0, 1}',
                 array[0, :h, :h - 1, 0]) n;
select results_eq(format('select place from logs_tokens(array[%s, 1, %1$s],
                                                        array[%L, %2$L, %L])',
                         :guild, :'admin', 'none'),
                  'values (2::bigint), (3)', 'which tokens are dead');

-- What was recorded by a clock that was 13 hours ahead is there all the same.

select pg_temp.page(:'me', type => '{70}') as found \gset
select pg_temp.moves('j', pg_temp.id_of('j') + (13 * 3600000::bigint << 22))
\g /dev/null
select is(pg_temp.page(:'me', type => '{70}'), :'found',
          'what is ahead is found');
select is(left(pg_temp.page(:'me'), 1), 'j', 'and stands on the page');

update token set revoked_at = now() where token_id = :'admin';
select is(count(*)::int, 1, 'so is a revoked one')
  from logs_tokens(array[:guild], array[:'admin']);

select * from finish();
rollback;
