-- The keeper: the housekeeping of the store, in steps short enough to be in
-- nobody's way. Each begins where the tables say the last one ended, so one
-- may be cut off anywhere; two at once is one too many, and the second goes.


-- Does a step: 200 if there is more to do at once, 204 if not.

create or replace function keeper_step(out status int, out body text)
language plpgsql security definer set search_path = guildlog, pg_temp as $$
declare
    budget  constant int := 20000;  -- entries looked at
begin
    status := 204;

    if not pg_try_advisory_xact_lock(hashtext('guildlog.keeper')) then
        return;
    end if;

    if keeper_due('partitions', interval '10 minutes') then
        perform partitions_ensure();
        perform partitions_expire();
    end if;

    if keeper_due('requests', interval '1 minute') then
        delete from active_ignore a
         where a.expires_at < now() - interval '1 hour';
    end if;

    if checkpoints_make(budget) * 256 >= budget then
        status := 200;
    end if;
end $$;


-- Is this task due, so long after it was last? Then it counts as done now.

create or replace function keeper_due(task text, every interval)
returns boolean language plpgsql as $$
begin
    insert into keeper as k (task, done_at) values (task, now())
    on conflict on constraint keeper_pkey do update set done_at = now()
        where k.done_at < now() - every;
    return found;
end $$;
