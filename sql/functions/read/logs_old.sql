-- What the module of version 0.2 asks for a page by: rows of entries behind a
-- head with the counts. It goes with the next release.


-- Entries of pieces by type: of the window, and below the position.

create or replace function pieces_counted(pieces log_piece[], out type int,
    out n bigint, out rest bigint)
returns setof record language plpgsql stable as $$
begin
    return query
        select c.type, sum(c.n * (c.flags & 1))::bigint,
               sum(c.n * (c.flags >> 1))::bigint
          from (select mark_type(u.type)::int as type, 1::bigint as n,
                       p.n as flags
                  from unnest(pieces) p
                 cross join lateral unnest(string_to_array(p.types, null))
                       u (type)
                 where p.what = 'c'
                 union all
                select (v & 127)::int, v >> 7, p.n
                  from unnest(pieces) p
                 cross join lateral unnest(string_to_array(p.doc, E'\n')) d
                 cross join lateral unnest(d::bigint[]) v
                 where p.what = 'd') c
         group by c.type;
end $$;


create or replace function logs_page(token text, guild bigint, bot smallint,
    kind smallint, after bigint, before bigint, category text[], type int[],
    most int, below bigint, known text default null)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
declare
    pieces  constant log_piece[] := array(
        select p from logs_pieces(token, guild, bot, kind, after, before,
                     category, type, most, below, known, false) p);
    head    constant log_piece := pieces[1];
    want    text;
    all_of  bigint;
begin
    if head.n <> 200 then
        return next row(head.n, null, null, null, null, null, null, null, null,
                        null)::log_row;
        return;
    end if;

    want := (select p.types from unnest(pieces) p where p.what = 'w');
    all_of := (select coalesce(sum(c.rest), 0) from pieces_counted(pieces) c
                where want is null or strpos(want, type_mark(c.type)) > 0);

    return next row(200, all_of > most, null, head.types, null, null, format(
        '{"total":%s,%s,"categoryCounts":{%s}', all_of, head.doc, (
            select coalesce(string_agg('"' || s.category || '":' || s.n, ','
                                       order by s.category), '')
              from (select t.category, sum(c.n) as n
                      from pieces_counted(pieces) c
                      join log_type t on t.id = c.type
                     where logs_page.type is null
                        or c.type = any (logs_page.type)
                     group by 1 having sum(c.n) > 0) s)),
        null, null, all_of)::log_row;

    return query
        select e.id, null::boolean, delivery_word(h.dstatus), h.dreason,
               h.dchannel_id, h.dmessage_id, e.doc, null::smallint,
               null::bigint, null::bigint
          from (select (regexp_match(u.doc, '^{"id":"([0-9]+)"'))[1]::bigint
                           as id, u.doc, u.said
                  from unnest(pieces) p
                 cross join lateral unnest(string_to_array(p.doc, E'\n'),
                           string_to_array(p.said, E'\n'),
                           string_to_array(p.types, null))
                           with ordinality u (doc, said, type, place)
                 where p.what = 'h'
                    or p.what = 'e' and u.place > p.n >> 16
                       and u.place <= p.n & 65535
                       and (want is null or p.types is null
                            or strpos(want, u.type) > 0)
                 order by 1 desc limit most) e
         cross join lateral log_heard(e.id, null, e.said, null) h
         order by e.id desc;
end $$;


create or replace function logs_plain(token text, guild bigint, bot smallint,
    kind smallint, after bigint, before bigint, most int, below bigint,
    ranges boolean default false, known text default null,
    joined boolean default false, bytes int default 2147483647)
returns setof log_row language plpgsql stable security definer
set search_path = guildlog, pg_temp as $$
begin
    return query select p.* from logs_page(token, guild, bot, kind, after,
                                     before, null, null, most, below, known) p;
end $$;
