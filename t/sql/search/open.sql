-- What a search is told: the window, the segments of its days, what is in none
-- of them, and parts of their bodies.

\ir ../days.psql
\ir ../segments.psql
select plan(53);

select ms(now()) as at, day_of(time_id(ms(now()))) as today \gset
\set free :guild + 1

-- an answer: the status, or these fields of its head
create function pg_temp.opened(guild bigint, token text, fields text,
    after bigint default null, before bigint default null,
    below bigint default null, known text default null)
returns text language sql as $$
    select case when o.key <> '200' then o.key
                else (select string_agg(coalesce(o.head::json ->> f, 'null'),
                                        ' ' order by n)
                        from string_to_table(fields, ' ') with ordinality
                             u (f, n)) end
      from search_open(token, guild, 0::smallint, 1::smallint, after, before,
                       below, known) o
     limit 1
$$;

create function pg_temp.days(guild bigint, token text,
    after bigint default null, before bigint default null)
returns text language sql as $$
    select string_agg(format('%s x %s', day_of(time_id(ms(now())))
                                        - o.day::int, o.n), ', '
                      order by o.day::int)
      from search_open(token, guild, 0::smallint, 1::smallint, after, before,
                       null) o
     where o.day is not null
$$;

-- a server without an index

select operator_server_put(:free, '{"plan": "free"}') \g /dev/null
select pg_temp.new_token(:free, 1, 'main') as none \gset
select is(pg_temp.opened(:free, :'none', 'arrival until'), '1 1',
          'a server without an entry has nothing that arrived later')
  from log_head where guild_id = :free and bot = 0;
select pg_temp.recorded(:free, 3, :at - 5000, 1) \g /dev/null
select is(pg_temp.opened(:free, :'none',
                         'arrival until backId backArrival erased'),
          format('%s %1$s %s %1$s null', l.arrival,
                 pg_temp.opened(:free, :'none', 'high')),
          'all of its window is to be looked at by id')
  from log_head l where l.guild_id = :free and l.bot = 0;
select is(pg_temp.opened(:free, :'none', 'retention low'),
          '3600000 ' || id_at(:at - 3600000), 'which is that of the plan');

-- a server with one

select pg_temp.recorded(:guild, 20, :at - 5 * 86400000, 21600000) \g /dev/null
select pg_temp.recorded(:guild, 2, :at - 31 * 86400000::bigint, 1) \g /dev/null
select is(pg_temp.opened(:guild, :'admin', 'backId'),
          pg_temp.opened(:guild, :'admin', 'high'),
          'before it has its index all is looked at by id');
select keeper_searchable(20000) \g /dev/null
select is(pg_temp.opened(:guild, :'admin', 'backId'), '9223372036854775807',
          'and when it is begun');
select pg_temp.jobs(:guild) \g /dev/null
select pg_temp.recorded(:guild, 10, :at - 9000, 1) \g /dev/null
select pg_temp.recorded(:guild, 1, :at - 86400000, 1) \g /dev/null
select arrival from search_head where guild_id = :guild and bot = 0 \gset

select is(pg_temp.opened(:guild, :'admin', 'arrival until'),
          :arrival || ' ' || :arrival + 11,
          'the segments have all up to an arrival, what came since is to be '
          'looked at');
select is(pg_temp.opened(:guild, :'admin', 'backId backArrival format walled'),
          '0 0 1 false', 'there is no back part, and no wall');
select is(sum(o.n::int)::int, (select count(*)::int - 2 from stored
                                where guild_id = :guild and bot = 0
                                  and arrival <= :arrival),
          'its segments have these entries')
  from search_open(:me, null, null, null) o;
select is(bool_and(o.kinds = '\x01' and o.dir = '\x0203' and o.head is null),
          true, 'and say where what is')
  from search_open(:me, null, null, null) o where o.day is not null;

-- the window

select is(pg_temp.opened(:guild, :'admin', 'low high'),
          id_at(:at - 2592000000) || ' ' || log_high(:at, null),
          'the window is 30 days, up to whatever there is');
select is(pg_temp.opened(:guild, :'admin', 'low high', :at - 86400000,
                         :at - 1000),
          id_at(:at - 86400000 + 1) || ' ' || id_at(:at - 1000),
          'after and before are exclusive');
select is(pg_temp.opened(:guild, :'admin', 'top', null, null, 99), '99',
          'below the position');
select is(pg_temp.opened(:guild, :'admin', 'top', null, :at - 1000,
                         9223372036854775807)::bigint,
          id_at(:at - 1000), 'which is within the window');
select is(pg_temp.opened(:guild, :'admin', 'walled', null, null, 99), 'true',
          'a position before the window is behind the wall');
select is(pg_temp.opened(:guild, :'admin', 'walled', :at - 2592000002), 'true',
          'and so is such a time');
select is(pg_temp.days(:guild, :'admin', id_time(day_low(:today - 2)) - 1,
                       id_time(day_low(:today - 1))),
          (select string_agg('2 x ' || n, '') from search_segment
            where guild_id = :guild and day = :today - 2),
          'the segments of one day');
select is(pg_temp.days(:guild, :'admin', id_time(day_low(:today - 2)),
                       id_time(day_low(:today - 1)) + 1),
          (select string_agg(:today - day || ' x ' || n, ', ' order by day)
             from search_segment
            where guild_id = :guild and day in (:today - 2, :today - 1)),
          'a day that has but a millisecond of it counts');
select is(pg_temp.days(:guild, :'admin', :at, :at - 1000), null,
          'an empty window has none');

-- what is known

select pg_temp.opened(:guild, :'admin', 'state') as state \gset
select is(pg_temp.opened(:guild, :'admin', 'state', null, null, null, :'state'),
          '304', 'who knows the page is told so');
select pg_temp.recorded(:guild, 1, :at - 9000, 1) \g /dev/null
select is(pg_temp.opened(:guild, :'admin', 'until', null, null, null, :'state'),
          (:arrival + 12)::text, 'not when there is a new entry');
select is(pg_temp.opened(:guild, 'none', 'low'), '401', 'a dead token');
select is((select count(*)::int from search_open(:nobody, null, null, null)), 1,
          'gets nothing else');

-- what it cannot read

update search_head set format = 2 where guild_id = :guild and bot = 0;
select is(pg_temp.opened(:guild, :'admin', 'backId'),
          pg_temp.opened(:guild, :'admin', 'high'),
          'an index of another format is none');
select is(pg_temp.days(:guild, :'admin'), null, 'it has no segments');
update search_head
   set format = 1, oldest = day_of(time_id(ms(now()))) - 29
 where guild_id = :guild and bot = 0;
select is(pg_temp.opened(:guild, :'admin', 'backId'),
          pg_temp.opened(:guild, :'admin', 'high'),
          'nor is one that lacks the first day of the window');
select is(pg_temp.opened(:guild, :'admin', 'backId', :at - 86400000 * 3), '0',
          'but of a younger one it serves');
update search_head set oldest = search_oldest()
 where guild_id = :guild and bot = 0;

-- parts of bodies

select day, key, body from search_segment
 where guild_id = :guild and n = 4 order by day limit 1 \gset
select is(array_agg(s.place || ' ' || encode(s.piece, 'hex')
                    order by s.place::int),
          array['1 ' || encode(substring(:'body'::bytea for 7), 'hex'),
                '2 ' || encode(substring(:'body'::bytea from 8 for 14), 'hex'),
                '4 '])
  from search_slices(:me, array[:day, :day, :day, :day],
                     array[:key, :key, 99999, :key], '{0,7,0,28}',
                     '{7,14,7,7}') s;
select is(count(*)::int, 0, 'a day has its own segments')
  from search_slices(:me, array[:day - 1], array[:key], '{0}', '{7}');
select is(count(*)::int, 0, 'and so has a bot')
  from search_slices(:pro, array[:day], array[:key], '{0}', '{7}');
select is(array_agg(s::text), '{"(0,)"}', 'a dead token gets none')
  from search_slices(:nobody, array[:day], array[:key], '{0}', '{7}') s;
select is(body, '{}', 'a reader finds a bad one')
  from search_bad(:nobody, :key) where status = 401;
select is(pg_temp.opened(:guild, :'admin', 'backId'), '0',
          'nobody else is believed');
select search_bad(:me, 99999) \g /dev/null
select is(pg_temp.opened(:guild, :'admin', 'backId'), '0',
          'nor is it believed of what is gone');
select is(status, 204, 'then') from search_bad(:me, :key);
select is(pg_temp.opened(:guild, :'admin', 'backId'),
          pg_temp.opened(:guild, :'admin', 'high'), 'the index is read no more');
select keeper_searchable(20000) \g /dev/null
select is(pg_temp.jobs(:guild) ~ '^back 200', true, 'and is made anew');

-- the tail

select arrival from search_head where guild_id = :guild and bot = 0 \gset
select pg_temp.recorded(:guild, 4, :at - 9000, 1) \g /dev/null
select pg_temp.recorded(:guild, 1, :at - 86400000 * 4, 1) \g /dev/null

create function pg_temp.tail(token text, guild bigint, by_arrival boolean,
    low bigint, high bigint, since bigint, until bigint,
    channel bigint default null, member bigint default null,
    side text default 'either', bytes int default 1)
returns bigint[] language plpgsql as $$
declare
    ids   bigint[] := '{}';
    at    bigint;
    part  bigint[];
    docs  int;
begin
    loop
        select max(t.id) filter (where t.doc is null),
               array_agg(t.id::bigint order by n) filter (
                   where (t.doc || '}')::json ->> 'id' = t.id)
          into at, part
          from search_tail(token, guild, 0::smallint, 1::smallint, by_arrival,
                           low, high, since, until, at, channel, member, side,
                           bytes) with ordinality t (id, doc, arrival, n);
        ids := ids || part;
        exit when at is null;
    end loop;

    return ids;
end $$;

create function pg_temp.arrived(guild bigint, since bigint)
returns bigint[] language sql as $$
    select array_agg(e.id order by e.arrival) from stored e
     where e.guild_id = guild and e.bot = 0 and e.arrival > since
$$;

select is(pg_temp.tail(:'admin', :guild, true, 0, 9223372036854775807,
                       :arrival, :arrival + 9),
          pg_temp.arrived(:guild, :arrival),
          'by arrival, each as soon as it came');
select is(pg_temp.tail(:'admin', :guild, true, 0, 9223372036854775807,
                       :arrival, :arrival + 9, bytes => 1000000),
          pg_temp.arrived(:guild, :arrival), 'all in one');
select is(pg_temp.tail(:'admin', :guild, true, id_at(:at - 86400000),
                       9223372036854775807, :arrival, :arrival + 3),
          (pg_temp.arrived(:guild, :arrival))[1:3],
          'those of the window, up to an arrival');
select is(pg_temp.tail(:'admin', :guild, true, 0, 9223372036854775807,
                       :arrival, :arrival + 9, member => 42),
          (select array_agg(id order by arrival) from stored
            where guild_id = :guild and arrival > :arrival
              and doc like '%42"%'), 'those of a member');
select is(sum(cardinality(pg_temp.tail(:'admin', :guild, v.by_arrival, 0,
                                       9223372036854775807, 0, :arrival + 9,
                                       v.channel, v.member, v.side)))::int, 0,
          'not those of another channel or member')
  from (values (true, 9000780000000000078, null::bigint, null),
               (true, 77, 9000440000000000044, 'target'),
               (false, 9000780000000000078, null, null),
               (false, 77, 9000440000000000044, 'target'))
       v (by_arrival, channel, member, side);
select is(pg_temp.tail(:'admin', :guild, false, id_at(:at - 86400000 * 2),
                       id_at(:at - 1000), 0, :arrival, 77, 43, 'executor'),
          (select array_agg(id order by id desc) from stored
            where guild_id = :guild and bot = 0 and arrival <= :arrival
              and id >= id_at(:at - 86400000 * 2) and id < id_at(:at - 1000)
              and doc like '%43"%'),
          'by id, from the last one down');

select pg_temp.recorded(:guild, 2100, :at - 7000, 1) \g /dev/null
select is(pg_temp.tail(:'admin', :guild, true, 0, 9223372036854775807,
                       :arrival, 9999, channel => 9000780000000000078), '{}',
          'it goes on behind 2,048 events');
select is(pg_temp.tail(:'admin', :guild, true, 0, 9223372036854775807,
                       :arrival, 9999, bytes => 100000),
          pg_temp.arrived(:guild, :arrival), 'and has all of them');
select is(count(*)::int, 0, 'a dead token has no tail')
  from search_tail(:nobody, true, 0, 9223372036854775807, 0, 99, null, null,
                   null, null, 1000);

create role reader;
grant usage on schema guildlog to reader;
grant execute on function search_tail to reader;
create function pg_temp.read_by(reader text, guild bigint)
returns bigint language plpgsql as $$
declare
    n  bigint;
begin
    execute format('set local session authorization %s', reader);
    select count(*) into n
      from guildlog.search_tail(null, guild, 0::smallint, 1::smallint, true, 0,
                                9223372036854775807, 0, 99, null, null, null,
                                null, 1000);
    reset session authorization;
    return n;
end $$;
select is(pg_temp.read_by('reader', :guild), 0::bigint,
          'without a token nobody has a tail');
grant execute on function search_job to reader;
select cmp_ok(pg_temp.read_by('reader', :guild), '>', 0::bigint,
              'but who makes segments');

-- the page

select array_agg(id order by id) as ids from (
    select id from stored where guild_id = :guild order by id desc limit 3) e
\gset
select is(array_agg(f.id order by n),
          200::bigint || array(select unnest(:'ids'::bigint[]) order by 1 desc),
          'the page has the entries that were found, the newest one first')
  from logs_found(:me, :'ids', '{"total":7', 7, true, 'state')
       with ordinality f (id, more, status, reason, channel_id, message_id,
                          doc, dstatus, lane, seq, n);
select is((f.id, f.more, f.reason, f.doc, f.seq)::text,
          '(200,t,state,"{""total"":7",7)', 'behind what was told before')
  from logs_found(:me, :'ids', '{"total":7', 7, true, 'state') f limit 1;
select is(array_agg(f.id), '{401}', 'a dead token gets none')
  from logs_found(:nobody, :'ids', '{"total":7', 7, true, 'state') f;
select is(pg_temp.opened(:guild, :'admin', 'erased'), erased::text,
          'the head tells what is to be compared')
  from search_head where guild_id = :guild and bot = 0;
select is(count(*)::int, 4, 'if it is the same there is a page')
  from search_head h
 cross join logs_found(:me, :'ids', '', 7, true, 'state', h.erased) f
 where h.guild_id = :guild and h.bot = 0;
select is(array_agg(f.id), '{409}', 'if entries went there is none')
  from search_head h
 cross join logs_found(:me, :'ids', '', 7, true, 'state', h.erased - 1) f
 where h.guild_id = :guild and h.bot = 0;

select * from finish();
rollback;
