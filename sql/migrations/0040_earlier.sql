-- What 0040_tables.sql makes, of a store of before it. No release made one: the
-- file goes when the last of them is upgraded. There are some with the
-- migrations to 0024, and some with those to 0036.

do $$
begin
    if (select max(version) from schema_version) not in (24, 36) then
        raise 'this store is of a version in between: install commit c33027f '
              'of guildlog first';
    end if;
end $$;

select max(version) = 24 as from_24 from schema_version \gset

-- Functions hold on to types and tables that go.

\ir ../drop.sql

drop view if exists status_servers;

\if :from_24

-- A channel belongs to one server.

alter table server
    add column lapsed_at timestamptz,
    add column forgotten_at timestamptz,
    add column forgotten_by xid8;
alter table lane
    add column verified_at timestamptz,
    add column refused_at timestamptz,
    add column again_at timestamptz,
    add column told text,
    add column look_at timestamptz;
alter table lane_ready
    add column parked_to timestamptz,
    add column parked_for text;
alter table lane_head add column mixed_at timestamptz default now();
alter table keeper add column apart boolean not null default false;

create index on server (guild_id) where lapsed_at is not null;
create index on server (guild_id) where forgotten_at is not null;
create index directory_channel on directory (id) where kind = 1;
create index lane_webhook on lane (webhook_id) where webhook_id is not null;
create index lane_closed on lane (look_at) where state = 'closed';
create index lane_channel on lane (channel_id) where verified_at is not null;

create table refusal (
    guild_id  bigint primary key,
    since     timestamptz not null,
    n         int not null
) with (fillfactor = 50);

create table forgotten_person (
    guild_id  bigint not null,
    user_id   bigint not null,
    asked_at  timestamptz not null default clock_timestamp(),
    arrivals  bigint[] not null,
    bot       smallint not null default 0,
    at_id     bigint not null default 0,
    due_at    timestamptz not null default '-infinity',
    error     text,
    primary key (guild_id, user_id)
);

create table keeper_parked (
    guild_id  bigint not null,
    bot       smallint not null,
    task      text collate "C" not null,
    at        timestamptz not null,
    until     timestamptz not null,
    times     int not null,
    fault     text not null,
    primary key (guild_id, bot, task)
);

create table delivery_secret (
    one     boolean primary key default true check (one),
    owner   text not null,
    sealed  bytea not null
);

update lane set told = reason where reason is not null;

-- Lanes to a channel that the directory knows under another server, and not
-- under theirs: nothing of them goes on. Their webhook may be the other
-- server's, so it is forgotten and not deleted. What is in flight is looked for
-- first: those lanes end when they are verified.

create temporary table lane_astray on commit drop as
select l.guild_id, l.lane, l.bot, l.channel_id, t.tail > h.head as waits
  from lane l
  join lane_head h
    on h.guild_id = l.guild_id and h.lane = l.lane and h.upto = h.head
  join lane_tail t on t.guild_id = l.guild_id and t.lane = l.lane
 where l.state <> 'closed'
   and exists (select from directory d
                where d.kind = 1 and d.id = l.channel_id
                  and d.guild_id <> l.guild_id)
   and not exists (select from directory d
                    where d.guild_id = l.guild_id and d.kind = 1
                      and d.id = l.channel_id);

update lane l
   set state = case when l.state = 'closing' and not a.waits
                    then 'closed' else 'broken' end,
       reason = 'foreign_channel', told = 'foreign_channel', since = now(),
       webhook_id = null, secret = null, asked_at = null
  from lane_astray a
 where l.guild_id = a.guild_id and l.lane = a.lane;

insert into notification
select a.guild_id, a.bot,
       (((extract(epoch from clock_timestamp()) * 1000)::bigint
         - 1420070400000) << 22) | nextval('entry_number'),
       clock_timestamp(), 68, 'A log channel does not work',
       'channel ' || a.channel_id || ': foreign_channel', 0
  from lane_astray a;

delete from lane_ready r
 using lane_astray a
 where r.guild_id = a.guild_id and r.lane = a.lane and not a.waits;
insert into lane_ready (guild_id, lane, shard, since)
select l.guild_id, l.lane, l.shard, clock_timestamp()
  from lane_astray a
  join lane l on l.guild_id = a.guild_id and l.lane = a.lane
 where a.waits
on conflict on constraint lane_ready_pkey
    do update set since = excluded.since;

update lane set look_at = now() where state = 'closed';

-- Sorted by bytes: the order of a locale changes with the library that knows
-- it. What a rewrite that is under way has copied is to become a partition.

alter table log_entry alter role type text collate "C";
alter table filter alter filter_id type text collate "C";

do $$
declare
    name  regclass;
begin
    for name in
        select to_regclass(format('guildlog.%I', r.name)) from log_rewrite r
         where r.step in ('fill', 'settle')
    loop
        if name is not null then
            execute format('alter table %s alter role type text collate "C"',
                           name);
        end if;
    end loop;
end $$;

-- What never changes again is frozen by the first vacuum that comes to it.

do $$
declare
    name  regclass;
begin
    for name in
        select h.inhrelid
          from pg_inherits h join pg_class c on c.oid = h.inhrelid
         where h.inhparent in ('log_entry'::regclass, 'log_event'::regclass,
                               'lane_batch'::regclass)
           and c.relkind = 'r' and c.relname !~ '_default$'
    loop
        execute format('alter table %s set (autovacuum_freeze_min_age = 0)',
                       name);
    end loop;
end $$;

alter table log_head set (autovacuum_vacuum_scale_factor = 0,
                          autovacuum_vacuum_threshold = 1000);
alter table lane_tail set (autovacuum_vacuum_scale_factor = 0,
                           autovacuum_vacuum_threshold = 1000);
alter table lane_head set (autovacuum_vacuum_scale_factor = 0,
                           autovacuum_vacuum_threshold = 1000);
alter table lane_ready set (autovacuum_vacuum_scale_factor = 0,
                            autovacuum_vacuum_threshold = 1000);
alter table held_entry set (autovacuum_vacuum_scale_factor = 0,
                            autovacuum_vacuum_threshold = 1000);

\endif

-- The index of searches is segments. The keeper gives each server that is to
-- have one its row of search_head, and makes it anew from there.

drop table search_head, search_segment, search_place, search_term,
           search_common, search_string;
drop type if exists search_item, search_key, search_posting, search_count,
                    search_set, search_piece;

create sequence search_key;

create table search_segment (
    guild_id  bigint not null,
    bot       smallint not null,
    day       int not null,
    key       bigint not null,
    whole     boolean not null,
    n         int not null,
    kinds     bytea not null,
    dir       bytea not null,
    body      bytea not null,
    primary key (guild_id, bot, day, key)
);

alter table search_segment
    alter kinds set storage plain, alter dir set storage plain,
    alter body set storage external;

create table search_head (
    guild_id      bigint not null,
    bot           smallint not null,
    format        smallint not null default 0,
    arrival       bigint not null default 0,
    back_id       bigint not null default 0,
    back_arrival  bigint not null default 0,
    erased        bigint not null default 0,
    oldest        int not null default 0,
    closed        int not null default 0,
    leaving       boolean not null default false,
    due_at        timestamptz not null default now(),
    taken_to      timestamptz,
    primary key (guild_id, bot)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

create index on search_head (due_at);
create index on search_head (oldest);

create table search_gone (
    guild_id  bigint not null,
    bot       smallint not null,
    id        bigint not null,
    primary key (guild_id, bot, id)
);

-- A live tail resumes by the events alone. Of the last days the number of the
-- first arrival is kept, so that it is known which arrivals these events are
-- of.

drop table log_order, log_late, order_round;
alter table log_head add column days bigint[];

-- Channels and members have no checkpoints of their own: what is asked about
-- them is found by the index of searches.

drop table log_key;
drop type if exists key_entry, log_count;

delete from log_checkpoint where kind > 0;
alter table log_checkpoint drop column kind, drop column key;
alter table log_checkpoint add primary key (guild_id, bot, last_id);

delete from log_correction where kind > 0;
alter table log_correction drop column kind, drop column key;
alter table log_correction add primary key (guild_id, bot, id, place);

alter table log_head drop column keyed_id, drop column keyed;

delete from keeper where task in ('order', 'keys');
delete from keeper_parked where task in ('order', 'keys');
