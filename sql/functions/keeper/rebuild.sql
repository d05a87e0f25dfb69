-- Making what is derived from the entries of a server anew, while the service
-- goes on. What is derived may be missing at any time: then answers come from
-- the entries, exact and slower, until the keeper has made it again. So it is
-- enough to take it away, in one transaction. The rows of the index of searches
-- go in turns of the keeper; nobody reads them from then on.


create or replace function guildlog.rebuild(guild bigint)
returns void language plpgsql set search_path = guildlog, pg_temp as $$
begin
    perform from log_head h where h.guild_id = guild order by h.bot for update;

    perform rebuild_head(guild, b::smallint) from generate_series(0, 1) b;
    perform counted_forget(guild);
    delete from log_order o where o.guild_id = guild;
    delete from log_late l where l.guild_id = guild;
    update search_head s set leaving = true, runs = 0 where s.guild_id = guild;
    perform rebuild_held(guild);
    perform rebuild_lanes(guild);
end $$;


-- The counters that entries tell. Keeping the higher arrival is safe: numbers
-- that nobody has are none's. A row is missing where nothing was recorded.

create or replace function rebuild_head(guild bigint, bot smallint)
returns void language plpgsql as $$
declare
    last   bigint;
    first  bigint;
begin
    select max(e.arrival), id_time(min(e.id)) into last, first
      from log_entry e
     where e.guild_id = guild and e.bot = rebuild_head.bot;

    if last is not null then
        perform record_begin(guild, bot, 0);
    end if;

    update log_head h
       set arrival = greatest(h.arrival, last),
           first_log_at = least(h.first_log_at, first)
     where h.guild_id = guild and h.bot = rebuild_head.bot;
end $$;


-- What says that it is held, and of which is not known when it is released,
-- may have been sent: it is unconfirmed. What is not there is held no more.

create or replace function rebuild_held(guild bigint)
returns void language plpgsql as $$
begin
    update log_entry e
       set dstatus = 1, dreason = 'unconfirmed'
     where e.guild_id = guild and e.dstatus is null and e.dreason = 'held'
       and not exists (select from held_entry h
                        where h.guild_id = guild and h.bot = e.bot
                          and h.id = e.id);

    delete from held_entry h
     where h.guild_id = guild
       and not exists (select from log_entry_one(guild, h.bot, h.id));
end $$;


-- Lanes are what happened, and cannot be made anew. What contradicts the
-- entries is mended so that nothing is lost and nothing goes twice: what was to
-- be decided and is told nowhere is unconfirmed.

create or replace function rebuild_lanes(guild bigint)
returns void language plpgsql as $$
declare
    it  record;
begin
    insert into lane_tail (guild_id, lane)
    select guild, l.lane from lane l where l.guild_id = guild
    on conflict do nothing;
    insert into lane_head (guild_id, lane)
    select guild, l.lane from lane l where l.guild_id = guild
    on conflict do nothing;

    perform lanes_lock(guild, array(select l.lane from lane l
                                     where l.guild_id = guild));

    update lane_head h
       set upto = h.head, step = h.step + 2
     where h.guild_id = guild and h.upto < h.head;

    update lane_tail t
       set tail = p.last
      from (select h.lane, greatest(h.upto, (
                       select max(x.seq)
                         from (select e.seq from log_entry e
                                where e.guild_id = guild and e.lane = h.lane
                                union all
                               select r.seq from held_entry r
                                where r.guild_id = guild and r.lane = h.lane
                                union all
                               select r.seq from replay r
                                where r.guild_id = guild and r.lane = h.lane)
                              x)) as last
              from lane_head h where h.guild_id = guild) p
     where t.guild_id = guild and t.lane = p.lane and t.tail < p.last;

    update log_entry e
       set dstatus = 1, dreason = 'unconfirmed'
      from (select x.bot, x.id,
                   row_number() over (partition by x.lane, x.seq
                                      order by x.id) as n
              from log_entry x
             where x.guild_id = guild and x.lane is not null
               and x.dstatus is null) p
     where e.guild_id = guild and e.bot = p.bot and e.id = p.id and p.n > 1;

    delete from lane_batch b
     where b.guild_id = guild
       and (b.seq_to < b.seq_from
            or exists (select from lane_batch x
                        where x.guild_id = guild and x.lane = b.lane
                          and x.seq_from <= b.seq_from
                          and x.seq_to >= b.seq_from
                          and (x.seq_from, x.done_at)
                              < (b.seq_from, b.done_at)));

    insert into lane_batch (guild_id, lane, seq_from, seq_to, done_at,
                            attempts, status, reason)
    select guild, h.lane, p.seq, p.seq, clock_timestamp(), 0, 1, 'unconfirmed'
      from lane_head h
     cross join lateral (
           select e.seq from log_entry e
            where e.guild_id = guild and e.lane = h.lane
              and e.seq <= h.head and e.dstatus is null
            union
           select r.seq from held_entry r
            where r.guild_id = guild and r.lane = h.lane and r.seq <= h.head
            union
           select r.seq from replay r
            where r.guild_id = guild and r.lane = h.lane and r.seq <= h.head)
           p (seq)
     where h.guild_id = guild
       and not exists (select from lane_batch b
                        where b.guild_id = guild and b.lane = h.lane
                          and b.seq_from <= p.seq and b.seq_to >= p.seq);

    for it in
        select l.lane from lane l
          join lane_head h on h.guild_id = guild and h.lane = l.lane
          join lane_tail t on t.guild_id = guild and t.lane = l.lane
         where l.guild_id = guild and t.tail > h.head and l.state <> 'closed'
    loop
        perform lane_wake(guild, it.lane);
    end loop;
end $$;
