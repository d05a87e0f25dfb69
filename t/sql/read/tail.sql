-- "Last-Event-ID resumes without loss within 48 h; an older one gets a reset,
-- which says what has to be read by pages." Of what the rows are kept, and what
-- a tail reads, at any time of many days, and with clocks that are wrong.

\ir ../setup.psql
select plan(21);

-- the time that it is, as far as rows are concerned: it begins at a midnight

create temp table clock as
    select date_trunc('day', now(), 'UTC') - now() as passed;
grant select on clock to public;
create function pg_temp.at()
returns timestamptz language sql as $$
    select now() + c.passed from pg_temp.clock c
$$;
create temp sequence nth;
create temp table told (arrival bigint, id bigint, at timestamptz);

-- records so many entries, one more that comes twice, and one that is taken back
create function pg_temp.send(n int)
returns void language plpgsql as $$
declare
    guild  constant bigint := 900000000000000001;
    was    constant bigint := tail_now(guild, 0::smallint);
begin
    perform record(guild, 0::smallint, jsonb_agg(jsonb_build_object(
                'event_id', greatest(i, 2) || ' ' || was, 'type', 5,
                'content', 'x' || nextval('pg_temp.nth'),
                'timestamp', ms(now()) - i * 60000)))
       from generate_series(1, n + 2) i;
    update log_arrival a set held_to = clock_timestamp()
     where a.guild_id = guild and a.arrival = was + 1;
    perform arrivals_remove(guild, 0::smallint, array[was + 1]);

    update log_head h set last_at = greatest(pg_temp.at(), h.last_at)
     where h.guild_id = guild;
    update log_arrival a
       set recorded_at = h.last_at
      from log_head h
     where a.guild_id = guild and a.arrival > was
       and h.guild_id = guild and h.bot = a.bot;
    insert into pg_temp.told
    select a.arrival, a.id, pg_temp.at() from log_arrival a
     where a.guild_id = guild and a.arrival > was and a.id is not null;
end $$;

-- time passes, and the keeper drops what partitions would have
create function pg_temp.pass(by interval)
returns void language sql as $$
    update pg_temp.clock set passed = passed + by;
    select block_make(900000000000000001, 0::smallint);
    delete from log_arrival a
     using partitioned() p
     where p.parent = 'log_arrival'
       and date_trunc('day', a.recorded_at, 'UTC') + interval '1 day'
           <= pg_temp.at() - p.kept;
$$;

-- all that a tail reads behind an arrival, so many at a time; null: it cannot
create function pg_temp.read(since bigint, most int)
returns bigint[] language plpgsql as $$
declare
    guild  constant bigint := 900000000000000001;
    until  constant bigint := tail_now(guild, 0::smallint);
    ids    bigint[] := '{}';
    r      log_row[];
begin
    while since < until loop
        r := array(select t from logs_tail(guild, 0::smallint, since,
                                           most) t);
        if r[1].more then
            return null;
        end if;

        since := r[1].channel_id;
        ids := ids || array(select u.id from unnest(r[2:]) u);
    end loop;

    return ids;
end $$;

-- "right", or the arrival behind which a tail does not read all of it in order,
-- or cannot resume although it came within 48 hours
create function pg_temp.judged(must boolean default true, n int default 30)
returns text language plpgsql as $$
declare
    p     record;
    read  bigint[];
begin
    for p in
        select * from pg_temp.told t
         where t.at > pg_temp.at() - interval '80 hours'
         order by random() limit n
    loop
        read := pg_temp.read(p.arrival, 19);

        if read is null and must and p.at >= pg_temp.at() - interval '48 hours'
           or read <> array(
               select t.id from told t
                where t.arrival > p.arrival order by t.arrival)
        then
            return p.arrival || ' of ' || p.at || ', now ' || pg_temp.at();
        end if;
    end loop;

    return 'right';
end $$;

-- many hours, with a word each; what is not "right"
create function pg_temp.live(hours float8, n int)
returns text language plpgsql as $$
declare
    said  text;
begin
    for i in 1 .. n loop
        perform pg_temp.pass(random() * hours * interval '1 hour');
        perform pg_temp.send(1 + i % 3);
        perform pg_temp.send(1);
        said := pg_temp.judged(true, 5);
        exit when said <> 'right';
    end loop;

    return said;
end $$;

select partition_make('log_arrival', partitions_end('log_arrival'),
                      today() + 400) \g /dev/null
select setseed(0.5) \g /dev/null
select is(tail_known(:guild, 0::smallint, 0), true, 'at first all is known');
select is(pg_temp.live(0.4, 30), 'right', 'within a day');
select is(pg_temp.live(3, 60), 'right', 'over midnights');
select is(pg_temp.live(40, 40), 'right', 'with whole days between');
select is(pg_temp.live(200, 15), 'right', 'with weeks between');

-- each minute around the moments at which something changes

select is((select string_agg(distinct j.said, ', ')
             from generate_series(1, 5) d
            cross join generate_series(1, 4) h
            cross join lateral (
                  select pg_temp.pass(interval '24 hours' - interval '2 hours'
                             - (pg_temp.at()
                                - date_trunc('day', pg_temp.at(), 'UTC'))
                             + h * interval '1 hour' - interval '1 minute'),
                         pg_temp.send(1), pg_temp.judged() as a,
                         pg_temp.pass('2 minutes'), pg_temp.send(1),
                         pg_temp.send(1),
                         pg_temp.judged() as b) w
            cross join lateral (values (w.a), (w.b)) j (said)), 'right',
          'around midnight');

-- nothing comes for long

select pg_temp.send(2), pg_temp.pass('4 days') \g /dev/null
select is(pg_temp.read((select max(arrival) from told), 9), '{}',
          'who has seen all can always resume');
select is(pg_temp.read((select max(arrival) - 1 from told), 9), null,
          'but no other');
select pg_temp.send(1) \g /dev/null
select is(pg_temp.judged(), 'right', 'then something comes');

-- clocks

select pg_temp.pass('3 days'), pg_temp.send(3), pg_temp.pass('-3 days'),
       pg_temp.send(2) \g /dev/null
select is(pg_temp.judged(false), 'right', 'a clock that was ahead');
select is((select string_agg(distinct j.said, ', ')
             from generate_series(1, 9) i
            cross join lateral (
                  select pg_temp.pass('13 hours'), pg_temp.send(1),
                         pg_temp.judged(false) as said) j), 'right',
          'until its time has come');
select pg_temp.pass('-5 days'), pg_temp.send(3), pg_temp.pass('5 days'),
       pg_temp.send(2) \g /dev/null
select is(pg_temp.judged(false), 'right', 'one that was behind');

-- what is made anew knows as much

select pg_temp.send(1), pg_temp.send(1), pg_temp.pass('14 days') \g /dev/null
select max(arrival) - 2 as before from told \gset
select pg_temp.send(1) \g /dev/null
select guildlog.rebuild(:guild) \g /dev/null
select max(arrival) as last from told \gset
select pg_temp.send(1) \g /dev/null
select is((cardinality(pg_temp.read(:last, 9)), pg_temp.read(:before, 9))::text,
          '(1,)', 'a head that was rebuilt');

-- how it begins

create function pg_temp.begun(last_id bigint)
returns text language sql as $$
    select concat_ws(' ', s.channel_id, s.reason)
      from token t
     cross join lateral logs_begin(t.token_id, t.guild_id, 0::smallint,
           1::smallint, last_id) s
     where t.guild_id = 900000000000000001 and t.permissions = 1
$$;

select h.arrival as h, ms(now()) as now, wall_of(:guild) as wall
  from log_head h where h.guild_id = :guild and h.bot = 0 \gset
select greatest(max(id_time(e.id)), :now) + 1 as upto from stored e
 where e.guild_id = :guild \gset
select e.id as seen, id_time(e.id) as seen_at from told e
 where e.arrival = :last \gset
select e.id as old, id_time(e.id) as old_at from told e
 where e.arrival = :before \gset

select is(pg_temp.begun(:seen), :'last', 'behind what was seen');
select is(pg_temp.begun(:old),
          :h || ' {"after":' || :old_at - 1 || ',"before":' || :upto || '}',
          'now, if too much came since, which pages have');
select is(pg_temp.begun(:seen + 1),
          :h || ' {"after":' || :seen_at - 1 || ',"before":' || :upto || '}',
          'so it is with an unknown id');
select is(pg_temp.begun(9223372036854775807),
          :h || ' {"after":' || :now - 1 || ',"before":' || :upto || '}',
          'or one of the future');
select is(pg_temp.begun(:last), :'last', 'by the arrival of a reset');
select is(pg_temp.begun(:before),
          :h || ' {"after":' || :wall || ',"before":' || :upto || '}',
          'unless too much came since');
select is(pg_temp.begun(:h + 1),
          :h || ' {"after":' || :wall || ',"before":' || :upto || '}',
          'or it never was');

select record(:guild, 0::smallint, jsonb_build_array(jsonb_build_object(
           'event_id', 'ahead', 'type', 5, 'timestamp', :now + 50000)))
\g /dev/null
select is(pg_temp.begun(:seen + 1),
          :h + 1 || ' {"after":' || :seen_at - 1 || ',"before":'
                 || :now + 50001 || '}', 'which have what is ahead, too');

select * from finish();
rollback;
