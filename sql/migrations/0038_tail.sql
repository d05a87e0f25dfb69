-- A live tail resumes by the events alone. Of the last days the number of the
-- first arrival is kept, so that it is known which arrivals these events are
-- of.

drop function if exists order_step();
drop function if exists order_from();
drop function if exists order_is_kept(timestamptz);
drop function if exists keeper_order(int);
drop function if exists order_server(bigint, smallint, date, int, int);
drop function if exists order_forget(bigint, smallint, int);
drop function if exists order_keep(bigint, smallint, date, int);
drop function if exists order_batch(bigint, smallint, bigint, date, int);
drop function if exists order_behind(bigint, smallint, bigint);
drop function if exists check_order(bigint, smallint, bigint);
drop function if exists types_mask(text[], int[]);
drop function if exists tail_has_events(bigint, smallint, bigint);
drop function if exists logs_resume(text, bigint, smallint, smallint, text,
    bigint, bigint, text[], int[], bigint, bigint, text, text, bigint);
drop function if exists logs_stream(text, bigint, smallint, smallint, text,
    bigint, bigint, text[], int[], bigint, bigint, text, text, bigint);
drop function if exists logs_tail(bigint, smallint, text, bigint, bigint,
    text[], int[], bigint, bigint, text, text, bigint, int);

do $$
begin
    if to_regtype('log_query') is not null then
        drop function if exists tail_rows(bigint, smallint, log_query,
                                          timestamptz, bigint, int);
    end if;
end $$;

-- with the functions that have rows of them as arguments

drop table log_order, log_late, order_round cascade;

delete from keeper where task = 'order';
delete from keeper_parked where task = 'order';

alter table log_head add column days bigint[];
