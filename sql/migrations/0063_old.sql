-- What a store of before had in the place of blocks and log_arrival.

\set tables '{log_head,forgotten_person,log_entry,log_event}'
\ir ../lock.sql

do $$
declare
    name  text;
begin
    for name in
        select r.name from log_rewrite r
         where r.step <> 'done' and to_regclass(r.name) is not null
    loop
        execute format('drop table %I cascade', name);
    end loop;
end $$;

drop table log_entry, log_event, held_entry, log_checkpoint, log_correction,
    log_uncounted, log_rewrite, log_change, log_left_out, search_gone, summary
    cascade;
drop function if exists log_changed() cascade;
drop type if exists log_span, log_total, rebuild_entry;

alter table log_head drop column counted, drop column days;
alter table forgotten_person drop column bot, drop column at_id;

delete from keeper where task in ('checkpoints', 'corrections', 'rewrite');
delete from keeper_parked
 where task in ('checkpoints', 'corrections', 'rewrite');
