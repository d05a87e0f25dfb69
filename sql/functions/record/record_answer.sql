-- What became of the entries, as the operator is told.


create or replace function record_answer(errors jsonb, counts jsonb,
    ids bigint[])
returns jsonb language plpgsql immutable as $$
begin
    return jsonb_build_object(
        'recorded', coalesce(counts -> 'recorded', '0'),
        'duplicates', coalesce(counts -> 'duplicate', '0'),
        'dropped', counts - '{recorded,duplicate,error,postponed}'::text[],
        'errors', errors,
        'ids', to_jsonb(ids::text[]));
end $$;


-- What became of an entry, in a word.

create or replace function record_word(verdict text)
returns text language sql immutable as $$
    select case when verdict is null then 'recorded'
                when verdict = 'time' then 'error'
                else verdict end
$$;


create or replace function record_words(verdicts text[])
returns jsonb language plpgsql immutable as $$
begin
    return to_jsonb(array(
        select record_word(v.verdict)
          from unnest(verdicts) with ordinality v (verdict, place)
         order by v.place));
end $$;


-- How many entries came to which end: {"recorded": 5, …}.

create or replace function record_counts(verdicts text[])
returns jsonb language plpgsql immutable as $$
begin
    if array_remove(verdicts, null) = '{}' and verdicts <> '{}' then
        return jsonb_build_object('recorded', cardinality(verdicts));
    end if;

    return (
        select coalesce(jsonb_object_agg(v.outcome, v.n), '{}')
          from (select record_word(u.verdict) as outcome, count(*) as n
                  from unnest(verdicts) u (verdict) group by 1) v);
end $$;


create or replace function record_error(place int, sentence text, code text)
returns jsonb language plpgsql immutable as $$
begin
    return jsonb_build_object('index', place - 1, 'error', sentence,
                              'code', code);
end $$;


create or replace function record_errors(entries jsonb, verdicts text[])
returns jsonb language plpgsql immutable as $$
declare
    told  jsonb := '[]';
begin
    if array_position(verdicts, 'error') is not null then
        told := (
            select jsonb_agg(case jsonb_typeof(entries -> (place - 1))
                   when 'string' then record_error(place,
                       entries ->> (place - 1), 'refused')
                   else record_error(place, 'event_id: is required',
                                     'required') end order by place)
              from generate_subscripts(verdicts, 1) place
             where verdicts[place] = 'error');
    end if;

    return record_told(told, verdicts);
end $$;


-- With the errors that were told before those that were found here, in the
-- order of their places. What is to be sent again has "retry".

create or replace function record_told(errors jsonb, verdicts text[])
returns jsonb language plpgsql immutable as $$
begin
    if array_position(verdicts, 'time') is null
       and array_position(verdicts, 'postponed') is null
    then
        return errors;
    end if;

    return record_sorted(errors || (
        select jsonb_agg(case v.verdict
                   when 'time' then record_error(v.place::int,
                       'timestamp: must be within the last 30 days '
                       'and at most 60 s ahead', 'entry_too_old')
                       || '{"field": "timestamp"}'
                   else record_error(v.place::int,
                       'entry: was not recorded in time, send it again',
                       'send_again') || '{"retry": true}' end)
          from unnest(verdicts) with ordinality v (verdict, place)
         where v.verdict in ('time', 'postponed')));
end $$;


create or replace function record_sorted(errors jsonb)
returns jsonb language plpgsql immutable as $$
begin
    return (
        select coalesce(jsonb_agg(e order by (e ->> 'index')::int), '[]')
          from jsonb_array_elements(errors) e);
end $$;
