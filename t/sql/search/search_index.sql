-- The index for searches: whatever of it is made, an answer is the one that a
-- look at every entry gives.

\ir ../setup.psql
select plan(70);

-- so that a few entries make segments of every level, with marks and with bits
create or replace function search_run_size()
returns int language sql immutable as $$ select 4 $$;
create or replace function search_bits_from()
returns int language sql immutable as $$ select 96 $$;

create function pg_temp.send(guild bigint, n int, name text, at bigint,
    details jsonb default '{}')
returns void language sql as $$
    select record(guild, 0::smallint, jsonb_agg(jsonb_build_object(
               'event_id', name || i,
               'type', (array[5, 7, 17, 30, 1])[1 + i % 5], 'timestamp', at + i,
               'content', case when i % 40 > 0
                               then 'all of it, word' || i % 7 || ' ' || i end,
               'executor', jsonb_build_object('id', (77 + i % 3)::text,
                                              'name', 'Member ' || i % 11),
               'target', case when i % 4 > 0 then jsonb_build_object(
                             'id', (76 + i % 4)::text, 'name', '') end,
               'channel', jsonb_build_object('id', (88 + i % 2)::text,
                                             'name', 'general_' || i % 2),
               'role', case when i % 40 = 0 then 'All of it'
                            when i % 9 = 0 then 'Small' end) || details))
      from generate_series(1, n) i
$$;

-- every entry of the query, the newest first, and what of it is counted or on
-- a page
create function pg_temp.marks(q log_query)
returns log_mark[] language plpgsql as $$
begin
    q.bare := true;
    return array(select row(f.id, f.type)::log_mark
                   from log_rows(q, q.high, null) f);
end $$;

create function pg_temp.counts(marks log_mark[], below bigint)
returns log_count[] language sql as $$
    select array(select row(m.type, count(*),
                            count(*) filter (where m.id < below))::log_count
                   from unnest(marks) m group by m.type)
$$;

create function pg_temp.newest(marks log_mark[], below bigint)
returns bigint[] language sql as $$
    select array(select m.id from unnest(marks) m where m.id < below limit 60)
$$;

create function pg_temp.summed(counts log_count[], q log_query)
returns text language sql as $$
    select total || categories::jsonb::text
      from log_sum(counts, q.types, q.types)
$$;

-- "same", or the first search whose answer is not that of a look at all, the
-- first page or the second
create function pg_temp.compared(guild bigint, variadic searches text[])
returns text language plpgsql as $$
declare
    q       log_query;
    marks   log_mark[];
    got     record;
    search  text;
    kinds   text[];
    below   bigint;
begin
    foreach search in array searches || ''::text loop
        foreach kinds slice 1 in array array[['', ''], ['type', ''],
            ['', 'after'], ['', 'nothing'], ['', 'member'], ['', 'channel'],
            ['type', 'executor'], ['', 'target'], ['', 'role'], ['', 'roles'],
            ['', 'other channel'], ['type', 'channel, member'],
            ['', 'executor, role'], ['', 'channel, after, roles']]
        loop
            -- of all searches, of some, and of none
            continue when not case
                when kinds[2] in ('', 'after', 'nothing') then search <> ''
                when kinds[2] ~ ',' then search in ('', 'all of it')
                else search in ('all of it', 'em') end;

            q := query_of(guild, 0::smallint, 0, nullif(search, ''),
                     case when kinds[2] ~ 'after' then ms(now()) - 3599900
                          when kinds[2] = 'nothing' then ms(now()) - 3599300
                          end,
                     case when kinds[2] ~ 'after' then ms(now()) - 3599300
                          when kinds[2] = 'nothing' then ms(now()) - 3599900
                          end,
                     case when kinds[1] = 'type' then '{7,30}'::smallint[] end,
                     case when kinds[2] ~ 'other' then 77
                          when kinds[2] ~ 'channel' then 88 end,
                     case when kinds[2] ~ 'member|executor|target' then 77 end,
                     substring(kinds[2] from 'executor|target'),
                     case when kinds[2] ~ 'roles' then 'all'
                          when kinds[2] ~ 'role' then 'OF' end);
            marks := pg_temp.marks(q);
            below := q.high;

            for page in 1 .. 2 loop
                select * into got from search_page(q, q.types, below, 60);

                if pg_temp.summed(got.counts, q)
                   is distinct from pg_temp.summed(
                       pg_temp.counts(marks, below), q)
                   or got.ids <> pg_temp.newest(marks, below)
                   or got.ids <> search_ids(q, below, 60)
                then
                    return format('%s %s %s', search, kinds, below);
                end if;

                exit when cardinality(got.ids) < 60;
                below := got.ids[60];
            end loop;
        end loop;
    end loop;

    return 'same';
end $$;

select $$ 'all', 'ALL word3', 'all of it', '17', 'MEMBER 1', 'em', 'a', 'l_',
          'nothing' $$ as searches \gset

create function pg_temp.levels(guild bigint)
returns text language sql as $$
    select string_agg(s.level || '/' || s.first, ' '
                      order by s.level desc, s.first)
      from search_segment s where s.guild_id = guild
$$;

-- so many pieces of work, or all there is
create function pg_temp.work(guild bigint, n int default 100000)
returns boolean language plpgsql as $$
begin
    for i in 1 .. n loop
        if not search_work(guild, 0::smallint) then
            return false;
        end if;
    end loop;
    return true;
end $$;

create function pg_temp.forget(guild bigint)
returns boolean language sql as $$
    delete from search_head s where s.guild_id = guild;
    select search_forget(guild, 0::smallint, 1000000)
$$;

-- how many entries are in the index, and how much has arrived behind it
create function pg_temp.indexed(guild bigint)
returns bigint language sql as $$
    select coalesce(sum(cardinality(p.ids)), 0)
      from search_place p where p.guild_id = guild
$$;

create function pg_temp.waits(guild bigint)
returns bigint language sql as $$
    select h.arrival - s.arrival
      from search_head s
      join log_head h on h.guild_id = s.guild_id and h.bot = s.bot
     where s.guild_id = guild and s.bot = 0
$$;

create function pg_temp.once(guild bigint, why text)
returns text language sql as $$
    select is(pg_temp.indexed(guild), count(*) - pg_temp.waits(guild), why)
      from log_entry e where e.guild_id = guild
$$;

select ms(now()) - 3600000 as at \gset
select options_patch(:me, '{"ignore_bot_targets": false,
                            "ignore_bot_executors": false}') \g /dev/null
delete from log_entry where guild_id = :guild;
insert into log_key (guild_id, bot, kind, key, heavy, n)
values (:guild, 0, 1, 88, true, 0), (:guild, 0, 2, 77, true, 0) \g /dev/null

-- who has an index

select pg_temp.send(:guild, 63, 'a', :at) \g /dev/null
select is(pg_temp.compared(:guild, :searches), 'same', 'there is none');
select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
select search_begin() \g /dev/null
select is(count(*)::int, 0, 'an hour needs none')
  from search_head where guild_id = :guild;
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select search_begin(), search_begin() \g /dev/null
select is(count(*)::int, 1, 'a month does') from search_head
 where guild_id = :guild;
select is(pg_temp.compared(:guild, :searches), 'same', 'it is empty');

-- what there was before it, by id

select is(pg_temp.work(:guild, 10), true, 'it is made in pieces');
select is(pg_temp.levels(:guild), '0/0 0/1 0/2 0/3 0/4 0/5 0/6 0/7 0/8 0/9',
          'each of them a run');
select is(pg_temp.compared(:guild, :searches), 'same', 'the rest is looked at');
select pg_temp.send(:guild, 30, 'b', :at - 50) \g /dev/null
select pg_temp.send(:guild, 30, 'c', :at + 50) \g /dev/null
select is(pg_temp.compared(:guild, :searches), 'same',
          'what comes before and behind it, too');
select is(pg_temp.work(:guild, 8), true, 'sixteen runs');
select is(merge_level::int, 0, 'are to be merged') from search_head
 where guild_id = :guild;
select is(pg_temp.work(:guild, 22), true, 'bucket by bucket');
select is(pg_temp.compared(:guild, :searches), 'same',
          'of which nothing is seen');
select is(pg_temp.work(:guild, 1), true, 'until the last one is done');
select is(pg_temp.levels(:guild), '1/0', 'then it takes their place');
select is(pg_temp.compared(:guild, :searches), 'same', 'with all they had');
select is(pg_temp.work(:guild), false, 'it comes to an end');
select is((select sum(cardinality(ids)) from search_place
            where guild_id = :guild)::int, 123,
          'what came meanwhile is in as well, once');
select is(count(*)::int, 0, 'nothing is left of what was merged')
  from (select level, first from search_term where guild_id = :guild
        union
        select level, first from search_common where guild_id = :guild) t
 where not exists (select from search_segment s
                    where s.guild_id = :guild and s.level = t.level
                      and s.first = t.first);
select is(pg_temp.compared(:guild, :searches), 'same', 'all is in it');

-- what comes, in the order in which it does

select pg_temp.send(:guild, 923, 'd', :at - 100000) \g /dev/null
select is(pg_temp.compared(:guild, :searches), 'same', 'before it is in');
select is(pg_temp.work(:guild, 1 + 43 + 3), true, 'a run, a merge, and more');
select is(pg_temp.levels(:guild), '1/0 1/16 1/32 1/48 1/64',
          'sixteen runs at once, where so many entries wait');
select is(pg_temp.compared(:guild, :searches), 'same', 'are what they would be');
select is(pg_temp.work(:guild), false, 'it is put in');
select is(pg_temp.levels(:guild) ~ '^2/0 0/256 ', true,
          'and merged again');
select is(pg_temp.compared(:guild, :searches), 'same', 'it is the same then');
select is(h.arrival - s.arrival, 3::bigint, 'what makes no run waits')
  from search_head s
  join log_head h on h.guild_id = s.guild_id and h.bot = s.bot
 where s.guild_id = :guild;
update log_event set recorded_at = recorded_at - interval '13 hours'
 where guild_id = :guild;
update search_head set seen_at = seen_at - interval '13 hours'
 where guild_id = :guild;
select is(pg_temp.work(:guild), false, 'for half a day');
select is(h.arrival - s.arrival, 0::bigint, 'then it makes a short one')
  from search_head s
  join log_head h on h.guild_id = s.guild_id and h.bot = s.bot
 where s.guild_id = :guild;
select is(pg_temp.compared(:guild, :searches), 'same', 'which is right');

-- entries that are held

select options_patch(:me, '{"active_ignore": true}') \g /dev/null
select pg_temp.send(:guild, 40, 'h', :at - 500) \g /dev/null
update held_entry set until = clock_timestamp() + interval '1 hour'
 where guild_id = :guild;
select sum(cardinality(ids)) as before from search_place
 where guild_id = :guild \gset
select is(pg_temp.work(:guild), false, 'entries that are held');
select is((select sum(cardinality(ids)) from search_place
            where guild_id = :guild) - :before < 4, true, 'are not put in');
select is(pg_temp.compared(:guild, :searches), 'same', 'but found');
select active_ignore_executors(:me, '{"id": "78", "count": 5}') \g /dev/null
select is(pg_temp.compared(:guild, :searches), 'same',
          'those taken back are not');
update held_entry set until = clock_timestamp() - interval '2 seconds'
 where guild_id = :guild;
select is(pg_temp.work(:guild), false, 'they are when no request can');
select is(pg_temp.compared(:guild, :searches), 'same', 'remove them any more');

select options_patch(:me, '{"active_ignore": false}') \g /dev/null

-- the keeper was away for so long that the events are gone

select pg_temp.send(:guild, 50, 'e', :at - 800) \g /dev/null
delete from log_event where guild_id = :guild;
update search_head set seen_at = now() - interval '3 days'
 where guild_id = :guild;
select is(pg_temp.compared(:guild, :searches), 'same',
          'without the events all is looked at');
select is(pg_temp.work(:guild, 3), true, 'and what is missing looked for');
select pg_temp.send(:guild, 9, 'f', :at - 30) \g /dev/null
select is(pg_temp.compared(:guild, :searches), 'same', 'meanwhile');
select is(pg_temp.work(:guild), false, 'to the end');
select pg_temp.once(:guild, 'each entry is in it once');
select is(pg_temp.compared(:guild, :searches), 'same', 'and nothing else');

-- words and strings of every kind

select pg_temp.send(:guild, 5, 'g', :at, jsonb_build_object(
           'content', repeat('x', 4000) || ' مرحبا ' || repeat('%', 60)
                      || ' Ünï ' || repeat('é', 40),
           'reason', 'a\b_c%' || repeat('r', 500))) \g /dev/null
select is(pg_temp.work(:guild), false, 'long ones');
select is(pg_temp.compared(:guild, repeat('x', 200), repeat('%', 200),
          repeat('É', 40), repeat('é', 39), 'مرحبا', 'ünï', 'x', '\',
          'b_', '\b_c%r', '_', 'rrrrr', repeat('x', 4000), '''', '"'), 'same',
          'from one letter to 4,000, in any script');

-- what is past keeping

select pg_temp.send(:guild, 1, 'z', :at) \g /dev/null
delete from log_entry where guild_id = :guild and id < time_id(:at - 200);
select search_expire(time_id(:at - 200)) \g /dev/null
select is(min(high) >= time_id(:at - 200), true, 'goes by segments')
  from search_segment where guild_id = :guild;

-- what two sets have in common may stand beside the bits of both

select is((search_sets_both(
              array[row(0, 1, 0, 9, null, null, '{-32768}', b'0100')
                    ::search_set],
              array[row(0, 1, 0, 9, null, null, '{-32768}', b'0010')
                    ::search_set]))[1].marks,
          '{-32768}', 'an entry with both that no bit tells');

-- an index that is given up

select operator_server_put(:guild, '{"plan": "free"}') \g /dev/null
update server set lapsed_at = null where guild_id = :guild;
select is(search_end(30), true, 'is taken a little at a time');
select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select is(pg_temp.compared(:guild, :searches), 'same',
          'and not looked at from then on');
select search_begin() \g /dev/null
select is(pg_temp.work(:guild), false, 'nor added to');
update search_head set arrival = arrival - 1000000 where guild_id = :guild;
select is(lag < 1000000, true, 'nor waited for') from keeper_search(400);
select count(*) from generate_series(1, 1000) i where search_end(30) \gset end_
select is(:end_count > 10 and :end_count < 1000, true, 'until all is gone');
select is((select count(*) from search_head where guild_id = :guild)
          + (select count(*) from search_place where guild_id = :guild)
          + (select count(*) from search_segment where guild_id = :guild)
          + (select count(*) from search_term where guild_id = :guild)
          + (select count(*) from search_common where guild_id = :guild)
          + (select count(*) from search_string where guild_id = :guild),
          0::bigint, 'which leaves nothing behind');
select is(pg_temp.compared(:guild, :searches), 'same', 'nor is it needed');

-- one that was made by another server, whose hashes and letters are others

select operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select search_begin(), search_begin(), pg_temp.work(:guild) \g /dev/null
update search_head set version = 'other' where guild_id = :guild;
delete from search_term where guild_id = :guild;
delete from search_common where guild_id = :guild;
select is(pg_temp.compared(:guild, :searches), 'same', 'is not looked at');
select keeper_searchable(1000000), search_begin(), pg_temp.work(:guild)
\g /dev/null
select is(count(*) > 0, true, 'but made anew') from search_term
 where guild_id = :guild;
select is(pg_temp.compared(:guild, :searches), 'same', 'to be looked at');
select pg_temp.forget(:guild) \g /dev/null

-- where most wait is first; other files may be at work on servers of their own

create function pg_temp.next(guild bigint, other bigint)
returns bigint language plpgsql as $$
declare
    before  constant jsonb := (
        select jsonb_object_agg(h.guild_id, h.runs) from search_head h
         where h.guild_id in (guild, other));
    it      bigint;
begin
    for i in 1 .. 1000 loop
        perform search_index(0);
        it := (select h.guild_id from search_head h
                where h.guild_id in (guild, other)
                  and h.runs > (before ->> h.guild_id::text)::int);
        exit when it is not null;
    end loop;

    return it;
end $$;

\set other 900000000000000002
select operator_server_put(:other, '{"plan": "pro"}'),
       operator_server_put(:guild, '{"plan": "pro"}') \g /dev/null
select pg_temp.send(:other, 40, 'o', :at) \g /dev/null
select search_begin(), search_begin() \g /dev/null
select is(pg_temp.next(:guild, :other), :guild,
          'one with a thousand before one with forty');
update search_head h set arrival = l.arrival - 30, seen_at = '-infinity'
  from log_head l where l.guild_id = h.guild_id and h.guild_id = :guild;
select is(pg_temp.next(:guild, :other), :other,
          'then that one, where less than forty are left');
select pg_temp.forget(:guild), pg_temp.forget(:other) \g /dev/null

-- the keeper

select operator_server_put(:guild, '{"plan": "pro"}'),
       keeper_searchable(20000) \g /dev/null
select is(lag > 500, true, 'what is undone is counted')
  from keeper_search(400);
-- other files may be at work on servers of their own
select keeper_search(400000000) \g /dev/null
select is(h.arrival - s.arrival < search_run_size(), true, 'until it is done')
  from search_head s join log_head h using (guild_id, bot)
 where guild_id = :guild and bot = 0;
select is(pg_temp.levels(:guild) ~ '^1/0 1/16 ', true,
          'sixteen runs at once of what there was, too');
select is(pg_temp.compared(:guild, :searches), 'same', 'which are right');

-- entries that are very long

create or replace function search_bytes()
returns int language sql immutable as $$ select 20000 $$;

-- the most entries that were put in at once
create function pg_temp.most(guild bigint)
returns bigint language plpgsql as $$
declare
    before   bigint := pg_temp.indexed(guild);
    n        bigint;
    merging  boolean;
    most     bigint := 0;
begin
    loop
        merging := (select h.merge_level is not null from search_head h
                     where h.guild_id = guild and h.bot = 0);
        exit when not search_work(guild, 0::smallint);
        n := pg_temp.indexed(guild);
        most := greatest(most, case when not merging then n - before end);
        before := n;
    end loop;

    return most;
end $$;

\set long 900000000000000003
select operator_server_put(:long, '{"plan": "pro"}') \g /dev/null
select jsonb_build_object('reason', repeat('r', 3000)) as long \gset its_
select pg_temp.send(:long, 199, 'l', :at, :'its_long') \g /dev/null
select search_begin(), search_begin() \g /dev/null
select is(pg_temp.most(:long), 6::bigint, 'are put in a few at a time');
select pg_temp.send(:long, 199, 'm', :at + 1000, :'its_long') \g /dev/null
select is(pg_temp.most(:long), 6::bigint, 'also when they come');
select pg_temp.once(:long, 'each of them once');
select is(pg_temp.compared(:long, '199', '1', 'word3', 'rrr', 'member 1'),
          'same', 'and are found, the last one too');

-- what arrives and is none

select pg_temp.work(:long), pg_temp.forget(:long) \g /dev/null
select search_begin(), search_begin() \g /dev/null
select pg_temp.work(:long) \g /dev/null
select pg_temp.send(:long, 40, 'm', :at + 1000) \g /dev/null
select pg_temp.work(:long) \g /dev/null
select is(pg_temp.waits(:long), 0::bigint, 'waits for nothing');
select pg_temp.send(:long, 1, 'n', :at + 2000),
       pg_temp.send(:long, 40, 'm', :at + 1000) \g /dev/null
select pg_temp.work(:long) \g /dev/null
select is(pg_temp.waits(:long), 41::bigint, 'an entry among it does');
select pg_temp.send(:long, 40, 'm', :at + 1000) \g /dev/null
select pg_temp.work(:long) \g /dev/null
select is(pg_temp.waits(:long), 0::bigint, 'not when so much has arrived');
select is(pg_temp.compared(:long, '199', '1', 'word3'), 'same',
          'none is missed');

select * from finish();
rollback;
