-- Channels and members have no checkpoints of their own any more: what is asked
-- about them is found by the index of searches.

drop view if exists status_servers;
drop table log_key;
drop type if exists key_entry, log_count;

delete from log_checkpoint where kind > 0;
alter table log_checkpoint drop column kind, drop column key;
alter table log_checkpoint add primary key (guild_id, bot, last_id);

delete from log_correction where kind > 0;
alter table log_correction drop column kind, drop column key;
alter table log_correction add primary key (guild_id, bot, id, place);

alter table log_head drop column keyed_id, drop column keyed;

delete from keeper where task = 'keys';
delete from keeper_parked where task = 'keys';
